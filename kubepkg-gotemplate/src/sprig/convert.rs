//! Conversions between kinds: `int`, `float64`, `toString`, `toDecimal` and what arithmetic makes of
//! other kinds (the rules of the `cast` library that Sprig uses).

use super::args::{any, bytes, strslice, strval, text};
use crate::context::Context;
use crate::fmt;
use crate::func::{FuncResult, Function, Signature};
use crate::gotype::{ANY, FLOAT64, INT, INT64, SLICE_STRING, STRING};
use crate::strconv::{NumErrorKind, atoi, parse_float, parse_int};
use crate::value::Value;

/// Functions of this module.
pub(super) fn table() -> Vec<Function> {
    vec![
        Function::plain("atoi", Signature::new(types!(STRING), &INT), |_, args| {
            Ok(Value::int(atoi_or_limit(text(args, 0))))
        }),
        Function::plain(
            "float64",
            Signature::new(types!(ANY), &FLOAT64),
            |_, args| Ok(Value::float64(to_float64(any(args, 0)))),
        ),
        Function::plain("int", Signature::new(types!(ANY), &INT), |_, args| {
            Ok(Value::int(to_int64(any(args, 0))))
        }),
        Function::plain("int64", Signature::new(types!(ANY), &INT64), |_, args| {
            Ok(Value::int64(to_int64(any(args, 0))))
        }),
        Function::plain("toDecimal", Signature::new(types!(ANY), &INT64), to_decimal),
        Function::plain(
            "toString",
            Signature::new(types!(ANY), &STRING),
            |_, args| Ok(bytes(strval(any(args, 0))?)),
        ),
        Function::plain(
            "toStrings",
            Signature::new(types!(ANY), &SLICE_STRING),
            |_, args| {
                if let Value::List(list) = any(args, 0)
                    && list.go_type().is(&SLICE_STRING)
                {
                    return Ok(Value::List(list.clone()));
                }
                Ok(Value::string_list(strslice(any(args, 0))?))
            },
        ),
    ]
}

/// Go's `strconv.Atoi` with the error dropped: out of range gives the limit.
fn atoi_or_limit(text: &[u8]) -> i64 {
    let text = String::from_utf8_lossy(text);
    match atoi(&text) {
        Ok(n) => n,
        Err(error) if error.kind == NumErrorKind::Range => {
            if text.starts_with('-') {
                i64::MIN
            } else {
                i64::MAX
            }
        }
        Err(_) => 0,
    }
}

/// A float as an int64 on amd64: what does not fit is the smallest number.
pub(super) fn float_to_int(x: f64) -> i64 {
    let whole = x.trunc();
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&whole) {
        #[allow(clippy::cast_possible_truncation, reason = "the range is checked")]
        let n = whole as i64;
        n
    } else {
        i64::MIN
    }
}

/// `5.0` and `5.00` are read as 5.
fn trim_zero_decimal(text: &str) -> &str {
    match text.rsplit_once('.') {
        Some((whole, zeros)) if !zeros.is_empty() && zeros.bytes().all(|b| b == b'0') => whole,
        _ => text,
    }
}

/// `cast.ToInt64`.
pub(super) fn to_int64(value: &Value) -> i64 {
    match value {
        Value::Int(_, n) => *n,
        Value::Uint(crate::value::UintKind::Uintptr, _) => 0,
        Value::Uint(_, n) => n.cast_signed(),
        Value::Float(_, x) => float_to_int(*x),
        Value::Bool(flag) => i64::from(*flag),
        Value::String(text) => text
            .as_str()
            .and_then(|text| parse_int(trim_zero_decimal(text), 0, 64).ok())
            .unwrap_or(0),
        _ => 0,
    }
}

/// `cast.ToFloat64`.
pub(super) fn to_float64(value: &Value) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "Go converts to float64")]
    match value {
        Value::Int(_, n) => *n as f64,
        Value::Uint(crate::value::UintKind::Uintptr, _) => 0.0,
        Value::Uint(_, n) => *n as f64,
        Value::Float(_, x) => *x,
        Value::Bool(flag) => f64::from(u8::from(*flag)),
        Value::String(text) => text
            .as_str()
            .and_then(|text| parse_float(text).ok())
            .unwrap_or(0.0),
        _ => 0.0,
    }
}

fn to_decimal(_: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let text = fmt::display(any(args, 0))?;
    let text = String::from_utf8_lossy(&text);
    Ok(Value::int64(parse_int(&text, 8, 64).unwrap_or(0)))
}
