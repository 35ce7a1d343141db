//! The built-in functions of the template language.
//!
//! `and`, `or` and `call` are run by the executor; the others are here, one file for each kind of
//! question. A function of the host's table hides a built-in of the same name. Source:
//! `text/template/funcs.go` of Go 1.26.

mod call;
mod compare;
mod escape;
mod index;

use crate::fmt::{FormatError, print, printf, println};
use crate::func::{FuncError, Signature};
use crate::gotype::{ANY, BOOL, INT, REFLECT_VALUE, STRING};
use crate::types;
use crate::value::Value;

pub(crate) use call::call;

/// A built-in function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Builtin {
    And,
    Call,
    Eq,
    Ge,
    Gt,
    Html,
    Index,
    Js,
    Le,
    Len,
    Lt,
    Ne,
    Not,
    Or,
    Print,
    Printf,
    Println,
    Slice,
    UrlQuery,
}

impl Builtin {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "and" => Self::And,
            "call" => Self::Call,
            "eq" => Self::Eq,
            "ge" => Self::Ge,
            "gt" => Self::Gt,
            "html" => Self::Html,
            "index" => Self::Index,
            "js" => Self::Js,
            "le" => Self::Le,
            "len" => Self::Len,
            "lt" => Self::Lt,
            "ne" => Self::Ne,
            "not" => Self::Not,
            "or" => Self::Or,
            "print" => Self::Print,
            "printf" => Self::Printf,
            "println" => Self::Println,
            "slice" => Self::Slice,
            "urlquery" => Self::UrlQuery,
            _ => return None,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::And => "and",
            Self::Call => "call",
            Self::Eq => "eq",
            Self::Ge => "ge",
            Self::Gt => "gt",
            Self::Html => "html",
            Self::Index => "index",
            Self::Js => "js",
            Self::Le => "le",
            Self::Len => "len",
            Self::Lt => "lt",
            Self::Ne => "ne",
            Self::Not => "not",
            Self::Or => "or",
            Self::Print => "print",
            Self::Printf => "printf",
            Self::Println => "println",
            Self::Slice => "slice",
            Self::UrlQuery => "urlquery",
        }
    }

    pub(crate) fn signature(self) -> Signature {
        match self {
            Self::And | Self::Or | Self::Call | Self::Index | Self::Slice => {
                Signature::variadic(types!(REFLECT_VALUE), &REFLECT_VALUE, &REFLECT_VALUE)
            }
            Self::Eq => Signature::variadic(types!(REFLECT_VALUE), &REFLECT_VALUE, &BOOL),
            Self::Ge | Self::Gt | Self::Le | Self::Lt | Self::Ne => {
                Signature::new(types!(REFLECT_VALUE, REFLECT_VALUE), &BOOL)
            }
            Self::Len => Signature::new(types!(REFLECT_VALUE), &INT),
            Self::Not => Signature::new(types!(REFLECT_VALUE), &BOOL),
            Self::Html | Self::Js | Self::UrlQuery | Self::Print | Self::Println => {
                Signature::variadic(&[], &ANY, &STRING)
            }
            Self::Printf => Signature::variadic(types!(STRING), &ANY, &STRING),
        }
    }
}

/// What a built-in answers: the value, and whether it is seen through an `interface {}`.
pub(crate) struct Answer {
    pub(crate) value: Value,
    pub(crate) is_interface: bool,
}

impl From<Value> for Answer {
    fn from(value: Value) -> Self {
        Self {
            value,
            is_interface: false,
        }
    }
}

impl From<FormatError> for FuncError {
    fn from(error: FormatError) -> Self {
        Self::Message(error.to_string())
    }
}

/// Runs a built-in. `marks` tells of each argument whether it came through an `interface {}` (a nil
/// then is a nil interface, not the absence of a value).
pub(crate) fn run(builtin: Builtin, args: &[Value], marks: &[bool]) -> Result<Answer, FuncError> {
    let (first, rest) = match args.split_first() {
        Some((first, rest)) => (first, rest),
        None => (&Value::Nil, args),
    };
    let second = rest.first().unwrap_or(&Value::Nil);
    let text = |bytes: Vec<u8>| Answer::from(Value::string(bytes));
    let truth = |b: bool| Answer::from(Value::Bool(b));
    Ok(match builtin {
        Builtin::Eq => truth(compare::eq(first, rest)?),
        Builtin::Ne => truth(!compare::eq(first, std::slice::from_ref(second))?),
        Builtin::Lt => truth(compare::lt(first, second)?),
        Builtin::Le => truth(compare::le(first, second)?),
        Builtin::Gt => truth(!compare::le(first, second)?),
        Builtin::Ge => truth(!compare::lt(first, second)?),
        Builtin::Not => truth(!first.is_true()),
        Builtin::Len => Answer::from(index::len(first, marks.first() == Some(&true))?),
        Builtin::Index => index::index(first, rest)?,
        Builtin::Slice => Answer::from(index::slice(
            first,
            rest,
            marks.get(1..).unwrap_or_default(),
        )?),
        Builtin::Print => text(print(args)?),
        Builtin::Println => text(println(args)?),
        Builtin::Printf => match first {
            Value::String(format) => text(printf(format, rest)?),
            _ => return Err(FuncError::new("printf needs a format")),
        },
        Builtin::Html => text(escape::html(&escape::plain_text(args)?)),
        Builtin::Js => text(escape::js(&escape::plain_text(args)?)),
        Builtin::UrlQuery => text(escape::url_query(&escape::plain_text(args)?)),
        // Run by the executor.
        Builtin::And | Builtin::Or | Builtin::Call => {
            return Err(FuncError::new("not callable as a value"));
        }
    })
}
