#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod access;
mod budget;
mod bytestring;
mod code;
mod collection;
mod compile;
mod constant;
mod context;
mod env;
pub mod error;
mod exec;
mod fault;
pub mod fmt;
mod func;
mod funcs;
pub mod gotype;
pub mod helm_funcs;
mod iterate;
mod json;
mod lex;
pub mod message;
mod node;
mod number;
mod object;
mod overlay;
mod parse;
mod pattern;
mod pool;
mod quote;
mod regexp;
mod rune_tables;
mod runes;
mod set;
pub mod sprig;
mod stack;
mod strconv;
pub mod time;
mod toml;
mod unicode;
mod value;
mod yaml;

pub use budget::{Budget, LimitExceeded};
pub use bytestring::{GoString, encoded};
pub use collection::{Entries, EntriesGuard, GoBytes, List, Map};
pub use context::Context;
pub use env::{Env, SeededEnv};
pub use error::{ExecError, ParseError};
pub use func::{
    Callable, FuncClosure, FuncError, FuncPtr, FuncResult, FuncTable, Function, Signature,
};
pub use gotype::{Kind, Type};
pub use object::{Field, Method, Object};
pub use pattern::{Pattern, PatternError};
pub use quote::{InvalidSyntax, quote, unquote};
pub use set::{MissingKey, Session, TemplateSet};
pub use value::{
    ComplexKind, FloatKind, FuncBody, FuncValue, IntKind, MAX_VALUE_DEPTH, Sequence, ToJsonError,
    UintKind, Value,
};
