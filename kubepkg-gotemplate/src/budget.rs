//! Limits of one execution: a hostile template ends in an error, not in a dead process.

use std::time::{Duration, Instant};

/// What one execution may use. Counted over everything that is executed, `include` and `tpl` too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Executed instructions; functions that work on large values charge more.
    pub steps: u64,
    /// Nested `template` actions; Go's own limit is 100,000.
    pub template_depth: usize,
    /// Levels of one name that `include` may nest; Helm's own limit is about 1,000.
    pub include_depth: usize,
    /// Nested executions of every kind (`template`, `include`, `tpl`) together.
    pub total_depth: usize,
    /// Bytes written, those of captured outputs included.
    pub output_bytes: usize,
    /// Wall time. `None`: unlimited.
    pub wall_time: Option<Duration>,
}

impl Default for Budget {
    /// Limits that no honest chart meets.
    fn default() -> Self {
        Self {
            steps: 500_000_000,
            template_depth: 100_000,
            include_depth: 1_000,
            total_depth: 200_000,
            output_bytes: 512 << 20,
            wall_time: Some(Duration::from_mins(1)),
        }
    }
}

/// A limit of the [`Budget`] that was passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitExceeded {
    /// More steps than [`Budget::steps`].
    #[error("execution takes more than {0} steps")]
    Steps(u64),
    /// Deeper than [`Budget::total_depth`].
    #[error("templates nest deeper than {0}")]
    Depth(usize),
    /// More output than [`Budget::output_bytes`].
    #[error("output is larger than {0} bytes")]
    Output(usize),
    /// Longer than [`Budget::wall_time`].
    #[error("execution takes longer than {0:?}")]
    WallTime(Duration),
}

/// How often the clock is read: once in this many steps.
const CLOCK_INTERVAL: u64 = 4096;

/// What is left of a budget.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    pub(crate) budget: Budget,
    steps_left: u64,
    until_clock: u64,
    output_left: usize,
    deadline: Option<Instant>,
}

impl Meter {
    pub(crate) fn new(budget: Budget) -> Self {
        Self {
            budget,
            steps_left: budget.steps,
            until_clock: CLOCK_INTERVAL,
            output_left: budget.output_bytes,
            deadline: budget
                .wall_time
                .and_then(|limit| Instant::now().checked_add(limit)),
        }
    }

    pub(crate) fn step(&mut self, count: u64) -> Result<(), LimitExceeded> {
        match self.steps_left.checked_sub(count) {
            Some(left) => self.steps_left = left,
            None => return Err(LimitExceeded::Steps(self.budget.steps)),
        }
        if let Some(left) = self.until_clock.checked_sub(count) {
            self.until_clock = left;
            return Ok(());
        }
        self.until_clock = CLOCK_INTERVAL;
        match (self.deadline, self.budget.wall_time) {
            (Some(deadline), Some(limit)) if Instant::now() >= deadline => {
                Err(LimitExceeded::WallTime(limit))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn output(&mut self, bytes: usize) -> Result<(), LimitExceeded> {
        match self.output_left.checked_sub(bytes) {
            Some(left) => {
                self.output_left = left;
                Ok(())
            }
            None => Err(LimitExceeded::Output(self.budget.output_bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_output_run_out() {
        let mut meter = Meter::new(Budget {
            steps: 10,
            output_bytes: 4,
            ..Budget::default()
        });
        assert!(meter.step(10).is_ok());
        assert_eq!(meter.step(1), Err(LimitExceeded::Steps(10)));
        assert!(meter.output(4).is_ok());
        assert_eq!(meter.output(1), Err(LimitExceeded::Output(4)));
    }

    #[test]
    fn wall_time_runs_out() {
        let mut meter = Meter::new(Budget {
            wall_time: Some(Duration::ZERO),
            ..Budget::default()
        });
        assert!(matches!(
            meter.step(CLOCK_INTERVAL + 1),
            Err(LimitExceeded::WallTime(_))
        ));
    }
}
