//! Go text/template, Go formatting and the Sprig functions.
#![deny(missing_docs)]

mod budget;
mod bytestring;
mod collection;
mod context;
mod env;
pub mod error;
pub mod fmt;
mod func;
pub mod gotype;
mod json;
mod object;
mod quote;
mod regexp;
mod rune_tables;
mod runes;
mod strconv;
pub mod time;
mod unicode;
mod value;

pub use budget::{Budget, LimitExceeded};
pub use bytestring::GoString;
pub use collection::{Entries, EntriesGuard, GoBytes, List, Map};
pub use context::Context;
pub use env::{Env, SeededEnv};
pub use error::{ExecError, ParseError};
pub use func::{
    Callable, FuncClosure, FuncError, FuncPtr, FuncResult, FuncTable, Function, Signature,
};
pub use gotype::{Kind, Type};
pub use object::{Field, Method, Object};
pub use quote::{InvalidSyntax, quote, unquote};
pub use value::{
    ComplexKind, FloatKind, FuncValue, IntKind, MAX_VALUE_DEPTH, Sequence, ToJsonError, UintKind,
    Value,
};
