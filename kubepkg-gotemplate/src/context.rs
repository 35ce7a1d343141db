//! What a template function gets beside its arguments: the outside world, the budget, and the
//! running execution, so that it can execute other templates of the same set.

use crate::budget::{LimitExceeded, Meter};
use crate::env::Env;

/// The running execution, as a function sees it.
pub struct Context<'e> {
    pub(crate) env: &'e mut dyn Env,
    pub(crate) meter: Meter,
}

impl Context<'_> {
    /// Time, randomness, look-ups.
    pub fn env(&mut self) -> &mut dyn Env {
        self.env
    }

    /// Charges work to the step budget: one step for about a hundred bytes or ten items of work
    /// beyond the arguments' own size.
    ///
    /// # Errors
    /// The budget is used up; pass the error on with `?`.
    pub fn charge(&mut self, steps: u64) -> Result<(), LimitExceeded> {
        self.meter.step(steps)
    }

    /// Charges bytes that a function is about to produce (`repeat`, `indent`, `printf "%1000000d"`)
    /// to the output budget, before it allocates them.
    ///
    /// # Errors
    /// The budget is used up; pass the error on with `?`.
    pub fn charge_bytes(&mut self, bytes: usize) -> Result<(), LimitExceeded> {
        self.meter.output(bytes)
    }
}
