//! What a template function gets beside its arguments: the outside world, the budget, and the
//! running execution, so that it can execute other templates of the same set.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::budget::{LimitExceeded, Meter};
use crate::bytestring::GoString;
use crate::code::Template;
use crate::env::Env;
use crate::error::ParseError;
use crate::exec;
use crate::func::FuncError;
use crate::overlay::Overlay;
use crate::pool::Pool;
use crate::set::TemplateSet;
use crate::value::Value;

/// How many executions a function may start inside each other through [`Context::execute`]; these
/// nest on the native stack. `include` and `tpl` do not.
const MAX_NATIVE_DEPTH: usize = 16;

/// How many texts given to `tpl` are kept parsed.
const MAX_PARSED_TEXTS: usize = 1_024;

/// The templates of one text given to `tpl`.
pub(crate) type ParsedText = Rc<[Arc<Template>]>;

/// The running execution, as a function sees it.
pub struct Context<'e> {
    pub(crate) env: &'e mut dyn Env,
    pub(crate) meter: Meter,
    pub(crate) set: &'e TemplateSet,
    /// What the enclosing `tpl` calls have defined.
    pub(crate) overlay: Option<Rc<Overlay>>,
    /// How deep `include` stands in each name.
    pub(crate) includes: HashMap<GoString, usize, RandomState>,
    parsed: HashMap<GoString, ParsedText, RandomState>,
    pool: Pool,
    /// Regular expressions compiled by functions.
    pub(crate) regexes: crate::regexp::Cache,
    native_depth: usize,
}

impl<'e> Context<'e> {
    pub(crate) fn new(set: &'e TemplateSet, env: &'e mut dyn Env, meter: Meter) -> Self {
        Self {
            env,
            meter,
            set,
            overlay: None,
            includes: HashMap::default(),
            parsed: HashMap::default(),
            pool: Pool::default(),
            regexes: crate::regexp::Cache::default(),
            native_depth: 0,
        }
    }

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

    /// Executes a template of the running set with `data` as dot and gives what it writes.
    ///
    /// This is for functions of the host that are not `include` or `tpl`: it nests on the native
    /// stack and stops at a small depth.
    ///
    /// # Errors
    /// The template is unknown or fails, or executions nest too deep.
    pub fn execute(&mut self, name: &str, data: &Value) -> Result<GoString, FuncError> {
        if self.native_depth >= MAX_NATIVE_DEPTH {
            return Err(LimitExceeded::Depth(MAX_NATIVE_DEPTH).into());
        }
        self.native_depth += 1;
        let result = exec::execute(self, name, data);
        self.native_depth -= 1;
        match result {
            Ok(output) => Ok(GoString::from(output)),
            Err(error) => Err(FuncError::Template {
                context: String::new(),
                source: Box::new(error),
            }),
        }
    }

    /// The template that a name stands for right now.
    pub(crate) fn lookup(&self, name: &[u8]) -> Option<Arc<Template>> {
        self.overlay
            .as_ref()
            .and_then(|overlay| overlay.lookup(name))
            .or_else(|| self.set.lookup(name))
            .cloned()
    }

    /// Parses a text for `tpl`, once for equal texts.
    pub(crate) fn parse_text(&mut self, text: &GoString) -> Result<ParsedText, ParseError> {
        if let Some(parsed) = self.parsed.get(text) {
            return Ok(parsed.clone());
        }
        let parsed: ParsedText = self.set.compile_text(text, &mut self.pool)?.into();
        if self.parsed.len() >= MAX_PARSED_TEXTS {
            self.parsed.clear();
            self.pool = Pool::default();
        }
        self.parsed.insert(text.clone(), parsed.clone());
        Ok(parsed)
    }
}
