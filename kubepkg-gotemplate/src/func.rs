//! The function table: what a template may call, with Go signatures.
//!
//! The executor checks argument counts and types against the [`Signature`], so that it can give
//! Go's own error texts before the function runs; the function then receives exactly as many
//! arguments of exactly those types (`interface {}` parameters receive anything, nil included).
//! Functions are found by name once, when a template is parsed.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::budget::LimitExceeded;
use crate::context::Context;
use crate::error::ExecError;
use crate::gotype::{ANY, Type};
use crate::value::Value;

/// Parameter and result types of a function or method.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// The fixed parameters.
    pub params: &'static [&'static Type],
    /// The element type of the variadic parameter, when there is one.
    pub variadic: Option<&'static Type>,
    /// The declared type of the (first) result.
    pub result: &'static Type,
}

impl Signature {
    /// A signature with fixed parameters only.
    pub const fn new(params: &'static [&'static Type], result: &'static Type) -> Self {
        Self {
            params,
            variadic: None,
            result,
        }
    }

    /// A signature that ends in `...elem`.
    pub const fn variadic(
        params: &'static [&'static Type],
        elem: &'static Type,
        result: &'static Type,
    ) -> Self {
        Self {
            params,
            variadic: Some(elem),
            result,
        }
    }

    /// The type that the argument at `index` must have.
    pub fn param(&self, index: usize) -> &'static Type {
        self.params
            .get(index)
            .copied()
            .or(self.variadic)
            .unwrap_or(&ANY)
    }
}

/// Why a function did not return a value.
#[derive(Debug)]
#[non_exhaustive]
pub enum FuncError {
    /// An ordinary Go error.
    Message(String),
    /// The text of a Go run-time panic that `text/template` catches (`runtime error: index out of range ...`).
    Panic(String),
    /// The text given to `fail` or `required`: Helm reports it alone, with the outermost place.
    Fail(String),
    /// A template executed by the function failed; `context` is the text that the function put before it.
    Template {
        /// Text before the inner error, ending in `: `, or empty.
        context: String,
        /// The failure of the inner execution.
        source: Box<ExecError>,
    },
    /// A limit of the [`Budget`](crate::Budget) was passed; the whole execution ends.
    Limit(LimitExceeded),
}

impl FuncError {
    /// An ordinary error with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self::Message(text.into())
    }
}

impl From<LimitExceeded> for FuncError {
    fn from(limit: LimitExceeded) -> Self {
        Self::Limit(limit)
    }
}

/// What a function returns.
pub type FuncResult = Result<Value, FuncError>;

/// The plain form of a template function.
pub type FuncPtr = fn(&mut Context<'_>, &[Value]) -> FuncResult;

/// The closure form of a template function.
pub type FuncClosure = dyn Fn(&mut Context<'_>, &[Value]) -> FuncResult + Send + Sync;

/// The code of a function.
#[derive(Clone)]
#[non_exhaustive]
pub enum Callable {
    /// A plain function.
    Plain(FuncPtr),
    /// A closure.
    Closure(Arc<FuncClosure>),
    /// Helm's `include NAME DATA`: run by the executor itself, without native recursion.
    Include,
    /// Helm's `tpl TEXT DATA`: parsed into an overlay and run by the executor itself.
    Tpl,
}

impl Callable {
    /// A callable made of a closure.
    pub fn closure(
        f: impl Fn(&mut Context<'_>, &[Value]) -> FuncResult + Send + Sync + 'static,
    ) -> Self {
        Self::Closure(Arc::new(f))
    }
}

impl fmt::Debug for Callable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain(_) => "Plain",
            Self::Closure(_) => "Closure",
            Self::Include => "Include",
            Self::Tpl => "Tpl",
        })
    }
}

/// A named template function.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name in templates.
    pub name: &'static str,
    /// The Go signature.
    pub signature: Signature,
    /// The code.
    pub call: Callable,
}

impl Function {
    /// An entry for a plain function.
    pub const fn plain(name: &'static str, signature: Signature, call: FuncPtr) -> Self {
        Self {
            name,
            signature,
            call: Callable::Plain(call),
        }
    }
}

/// The functions that templates may call, beside the built-ins of the language.
///
/// A function of the same name as a built-in (`slice`) hides it. A clone shares the functions until one of the two is
/// changed.
#[derive(Clone, Debug, Default)]
pub struct FuncTable {
    functions: Arc<HashMap<&'static str, Arc<Function>, RandomState>>,
}

impl FuncTable {
    /// Adds a function; one of the same name is replaced.
    pub fn insert(&mut self, function: Function) {
        Arc::make_mut(&mut self.functions).insert(function.name, Arc::new(function));
    }

    /// Adds every function of a list.
    pub fn extend(&mut self, functions: impl IntoIterator<Item = Function>) {
        for function in functions {
            self.insert(function);
        }
    }

    /// Removes a function.
    pub fn remove(&mut self, name: &str) {
        Arc::make_mut(&mut self.functions).remove(name);
    }

    /// The function of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<Function>> {
        self.functions.get(name)
    }

    /// All names in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        let mut names: Vec<_> = self.functions.keys().copied().collect();
        names.sort_unstable();
        names.into_iter()
    }
}
