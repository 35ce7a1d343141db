//! Arguments as functions take them, and conversions between Go values.
//!
//! The executor has checked the types, so a reader that meets another type answers with the zero
//! value of its own.

use std::borrow::Cow;

use crate::bytestring::GoString;
use crate::collection::{List, Map};
use crate::fmt;
use crate::func::FuncError;
use crate::value::{UintKind, Value};

/// What Go says when a nil interface is used through reflection.
pub(super) const NIL_DEREFERENCE: &str =
    "runtime error: invalid memory address or nil pointer dereference";

/// A caught Go panic.
pub(super) fn panic(text: impl Into<String>) -> FuncError {
    FuncError::Panic(text.into())
}

const NIL: Value = Value::Nil;

/// The argument at `index`, nil past the end.
pub(super) fn any(args: &[Value], index: usize) -> &Value {
    args.get(index).unwrap_or(&NIL)
}

/// A `string` argument.
pub(super) fn text(args: &[Value], index: usize) -> &[u8] {
    match args.get(index) {
        Some(Value::String(text)) => text,
        _ => b"",
    }
}

/// An `int` or `int64` argument.
pub(super) fn int(args: &[Value], index: usize) -> i64 {
    match args.get(index) {
        Some(Value::Int(_, n)) => *n,
        _ => 0,
    }
}

/// A map argument, shared.
pub(super) fn map(args: &[Value], index: usize) -> Map {
    match args.get(index) {
        Some(Value::Map(map)) => map.clone(),
        _ => Map::nil(&crate::gotype::MAP_ANY),
    }
}

/// Items of a slice argument; bytes are `uint8` values. Nil is a Go panic, another kind is `Err`
/// with its name.
pub(super) enum Sequence<'a> {
    /// The items.
    Items(Cow<'a, [Value]>),
    /// No slice: the name of the kind.
    Kind(&'static str),
}

/// The items of anything that Go's reflection sees as a slice.
pub(super) fn sequence(value: &Value) -> Result<Sequence<'_>, FuncError> {
    Ok(match value {
        Value::Nil => return Err(panic(NIL_DEREFERENCE)),
        Value::List(list) => Sequence::Items(Cow::Borrowed(list.items())),
        Value::Bytes(bytes) => Sequence::Items(Cow::Owned(
            bytes
                .as_bytes()
                .iter()
                .map(|byte| Value::Uint(UintKind::Uint8, u64::from(*byte)))
                .collect(),
        )),
        other => Sequence::Kind(other.kind().name()),
    })
}

/// Sprig's `strval`: strings and bytes as they are, then `Error()`, `String()`, `%v`.
pub(super) fn strval(value: &Value) -> Result<GoString, FuncError> {
    Ok(match value {
        Value::String(text) => text.clone(),
        Value::Bytes(bytes) => bytes.to_go_string(),
        Value::Object(object) => match object.text() {
            Some(text) => text,
            None => GoString::from(fmt::display(value)?),
        },
        other => GoString::from(fmt::display(other)?),
    })
}

/// Sprig's `strslice`: every item that is not nil as a string.
pub(super) fn strslice(value: &Value) -> Result<Vec<GoString>, FuncError> {
    match value {
        Value::Nil => Ok(Vec::new()),
        Value::List(list) => list
            .iter()
            .filter(|item| !matches!(item, Value::Nil))
            .map(strval)
            .collect(),
        Value::Bytes(bytes) => Ok(bytes
            .as_bytes()
            .iter()
            .map(|byte| GoString::from(byte.to_string()))
            .collect()),
        other => Ok(vec![strval(other)?]),
    }
}

/// Sprig's `empty`.
pub(super) fn is_empty(value: &Value) -> bool {
    !value.is_true()
}

/// Bytes as a string value.
pub(super) fn bytes(text: impl Into<GoString>) -> Value {
    Value::String(text.into())
}

/// A list of the given items, `[]interface{}`.
pub(super) fn list(items: Vec<Value>) -> Value {
    Value::List(List::new(items))
}

/// `%v` of a value, for error texts.
pub(super) fn shown(value: &Value) -> String {
    fmt::display(value)
        .map(|text| String::from_utf8_lossy(&text).into_owned())
        .unwrap_or_default()
}

/// `usize` from a Go `int`, negative ones as 0.
pub(super) fn size(n: i64) -> usize {
    usize::try_from(n).unwrap_or(0)
}
