//! Template sets: parsed once, executed many times, from any thread.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use foldhash::fast::RandomState;

use crate::budget::{Budget, Meter};
use crate::bytestring::GoString;
use crate::code::Template;
use crate::context::Context;
use crate::env::Env;
use crate::error::{ExecError, ParseError};
use crate::exec;
use crate::func::FuncTable;
use crate::parse::parse;
use crate::pool::Pool;
use crate::value::Value;

/// What a key that a map does not have gives: Go's `missingkey` option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MissingKey {
    /// No value, printed as `<no value>`: Go's default.
    #[default]
    Invalid,
    /// The zero value of the element type; for `interface {}` that still prints `<no value>`. What
    /// Helm uses.
    Zero,
    /// An error. What `helm --strict` uses.
    Error,
}

/// Templates that can invoke each other, with the functions they may call.
///
/// A set is `Send + Sync`; executing does not change it.
#[derive(Debug)]
pub struct TemplateSet {
    name: String,
    funcs: FuncTable,
    missing_key: MissingKey,
    templates: HashMap<GoString, Arc<Template>, RandomState>,
    pool: Pool,
}

impl TemplateSet {
    /// An empty set. `name` shows in errors about unknown templates, and is the name under which
    /// texts given to `tpl` run; Helm's engine uses `gotpl`.
    pub fn new(name: impl Into<String>, funcs: FuncTable) -> Self {
        Self {
            name: name.into(),
            funcs,
            missing_key: MissingKey::default(),
            templates: HashMap::default(),
            pool: Pool::default(),
        }
    }

    /// The same set with another answer to missing keys.
    #[must_use]
    pub fn with_missing_key(mut self, missing_key: MissingKey) -> Self {
        self.missing_key = missing_key;
        self
    }

    /// The name of the set.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The answer to missing keys.
    pub fn missing_key(&self) -> MissingKey {
        self.missing_key
    }

    /// Parses a text as the template `name`; its `define` and `block` actions add further templates.
    /// The last definition of a name wins, but one that holds only white space replaces nothing.
    ///
    /// # Errors
    /// The text is not a template, or calls an unknown function. The set is unchanged then.
    pub fn parse(&mut self, name: &str, text: impl Into<GoString>) -> Result<(), ParseError> {
        for template in compile(name, &text.into(), &self.funcs, &mut self.pool)? {
            self.add(template);
        }
        Ok(())
    }

    /// Adds the templates of another set as if its texts had been parsed here, behind those of this one: a program may
    /// parse texts on several threads.
    pub fn extend(&mut self, other: Self) {
        for template in other.templates.into_values() {
            self.add(template);
        }
    }

    fn add(&mut self, template: Arc<Template>) {
        if !(template.is_empty && self.templates.contains_key(&template.name)) {
            self.templates.insert(template.name.clone(), template);
        }
    }

    /// The names of all templates, sorted.
    pub fn names(&self) -> Vec<GoString> {
        let mut names: Vec<_> = self.templates.keys().cloned().collect();
        names.sort();
        names
    }

    /// Whether there is a template of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.templates.contains_key(name.as_bytes())
    }

    /// Executes a template with `data` as dot, under the default [`Budget`].
    ///
    /// # Errors
    /// There is no such template, or it fails; nothing of its output is kept.
    pub fn execute(
        &self,
        name: &str,
        data: &Value,
        env: &mut dyn Env,
    ) -> Result<Vec<u8>, ExecError> {
        self.session(env, Budget::default()).execute(name, data)
    }

    /// A session: several executions that share one budget, one environment and what `tpl` has parsed.
    pub fn session<'e>(&'e self, env: &'e mut dyn Env, budget: Budget) -> Session<'e> {
        Session {
            context: Context::new(self, env, Meter::new(budget)),
        }
    }

    pub(crate) fn lookup(&self, name: &[u8]) -> Option<&Arc<Template>> {
        self.templates.get(name)
    }

    /// The templates of a text given to `tpl`, in the order of their names.
    pub(crate) fn compile_text(
        &self,
        text: &GoString,
        pool: &mut Pool,
    ) -> Result<Vec<Arc<Template>>, ParseError> {
        compile(&self.name, text, &self.funcs, pool)
    }
}

fn compile(
    name: &str,
    text: &GoString,
    funcs: &FuncTable,
    pool: &mut Pool,
) -> Result<Vec<Arc<Template>>, ParseError> {
    let parsed = parse(name, text, funcs, pool)?;
    let source = Arc::new(parsed.source);
    let templates = parsed.roots.into_iter().map(|(name, root)| {
        Arc::new(Template {
            is_empty: source.is_empty_tree(root),
            name,
            source: source.clone(),
            root,
            ops: OnceLock::new(),
        })
    });
    Ok(templates.collect())
}

/// Executions that share a budget, an environment and parsed texts.
pub struct Session<'e> {
    context: Context<'e>,
}

impl Session<'_> {
    /// Executes a template with `data` as dot.
    ///
    /// # Errors
    /// There is no such template, it fails, or the budget of the session is used up.
    pub fn execute(&mut self, name: &str, data: &Value) -> Result<Vec<u8>, ExecError> {
        exec::execute(&mut self.context, name, data)
    }

    /// As [`Session::execute`]; beside the output, for each of its lines the line of the template, from 1, that it
    /// comes from. What a definition in another text wrote comes from the line that asked for it.
    ///
    /// # Errors
    /// As [`Session::execute`].
    pub fn execute_with_lines(
        &mut self,
        name: &str,
        data: &Value,
    ) -> Result<(Vec<u8>, Vec<usize>), ExecError> {
        exec::execute_with_lines(&mut self.context, name, data)
    }

    /// Starts a new budget for what follows.
    pub fn renew_budget(&mut self, budget: Budget) {
        self.context.meter = Meter::new(budget);
    }
}
