//! Conversions from one type to another, and the names of types.

use std::sync::Arc;

use jiff::Timestamp;
use kube_cel::cel::Value;
use kubepkg_gotemplate::time::Duration;

use super::super::run::{Fault, Outcome};
use super::super::typed;
use super::{Called, Function, hand_on};

pub(super) fn named(name: &str) -> Option<Function> {
    Some(match name {
        "bool" => to_bool,
        "bytes" => to_bytes,
        "double" => to_double,
        "dyn" => |called| {
            called
                .values
                .first()
                .cloned()
                .ok_or_else(Fault::no_overload)
        },
        "duration" => to_duration,
        "int" => to_int,
        "string" => to_string,
        "timestamp" => to_timestamp,
        "type" => |called| {
            let value = called.values.first().ok_or_else(Fault::no_overload)?;
            Ok(typed::of(value))
        },
        "uint" => to_uint,
        _ => return None,
    })
}

fn no_conversion(called: &Called<'_>, from: &Value) -> Fault {
    let from = typed::name(from);
    let to = match called.name {
        "duration" => "google.protobuf.Duration",
        "timestamp" => "google.protobuf.Timestamp",
        name => name,
    };
    Fault::error(format!("type conversion error from '{from}' to '{to}'"))
}

fn to_bool(called: &mut Called<'_>) -> Outcome {
    match called.values {
        [Value::Bool(flag)] => Ok(Value::Bool(*flag)),
        [from @ Value::String(text)] => match text.as_str() {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(Value::Bool(false)),
            _ => Err(no_conversion(called, from)),
        },
        _ => Err(called.no_overload()),
    }
}

fn to_bytes(called: &mut Called<'_>) -> Outcome {
    match called.values {
        [Value::Bytes(bytes)] => Ok(Value::Bytes(Arc::clone(bytes))),
        [Value::String(text)] => Ok(Value::Bytes(Arc::new(text.as_bytes().to_vec()))),
        _ => Err(called.no_overload()),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "as Go converts numbers to floating point"
)]
fn to_double(called: &mut Called<'_>) -> Outcome {
    match called.values {
        [Value::Float(number)] => Ok(Value::Float(*number)),
        [Value::Int(number)] => Ok(Value::Float(*number as f64)),
        [Value::UInt(number)] => Ok(Value::Float(*number as f64)),
        [from @ Value::String(text)] => float(text)
            .map(Value::Float)
            .ok_or_else(|| no_conversion(called, from)),
        _ => Err(called.no_overload()),
    }
}

/// A number as Go's `strconv.ParseFloat` reads it, but for those in base sixteen.
fn float(text: &str) -> Option<f64> {
    let bytes = text.as_bytes();
    let digit = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at))
            .is_some_and(u8::is_ascii_digit)
    };
    let between =
        |(index, _): (usize, &str)| digit(index.checked_sub(1)) && digit(index.checked_add(1));
    if !text.match_indices('_').all(between) {
        return None;
    }
    let text = &text.replace('_', "");
    let plain = |sign: char| sign.is_ascii_digit() || matches!(sign, '+' | '-' | '.' | 'e' | 'E');
    let known = matches!(
        text.trim_start_matches(['+', '-'])
            .to_ascii_lowercase()
            .as_str(),
        "inf" | "infinity" | "nan"
    );
    let number: f64 = (known || text.chars().all(plain))
        .then(|| text.parse().ok())
        .flatten()?;
    // What is too large is an error to Go.
    (known || number.is_finite()).then_some(number)
}

fn to_int(called: &mut Called<'_>) -> Outcome {
    let found = match called.values {
        [Value::Int(number)] => Some(*number),
        [Value::UInt(number)] => i64::try_from(*number).ok(),
        #[expect(clippy::cast_possible_truncation, reason = "checked")]
        [Value::Float(number)] => {
            let limit = 9_223_372_036_854_775_808.0;
            (number.abs() < limit).then_some(*number as i64)
        }
        [Value::Timestamp(time)] => Some(time.timestamp()),
        [Value::Duration(span)] => span.num_nanoseconds(),
        [from @ Value::String(text)] => {
            let number = text.parse().map_err(|_| no_conversion(called, from))?;
            Some(number)
        }
        _ => return Err(called.no_overload()),
    };
    found
        .map(Value::Int)
        .ok_or_else(|| Fault::error("integer overflow"))
}

fn to_uint(called: &mut Called<'_>) -> Outcome {
    let found = match called.values {
        [Value::UInt(number)] => Some(*number),
        [Value::Int(number)] => u64::try_from(*number).ok(),
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "checked"
        )]
        [Value::Float(number)] => {
            let limit = 18_446_744_073_709_551_616.0;
            (*number >= 0.0 && *number < limit).then_some(*number as u64)
        }
        [from @ Value::String(text)] => {
            let plain = text.bytes().all(|sign| sign.is_ascii_digit());
            let number = plain.then(|| text.parse().ok()).flatten();
            return number
                .map(Value::UInt)
                .ok_or_else(|| no_conversion(called, from));
        }
        _ => return Err(called.no_overload()),
    };
    found
        .map(Value::UInt)
        .ok_or_else(|| Fault::error("unsigned integer overflow"))
}

fn to_string(called: &mut Called<'_>) -> Outcome {
    let text = match called.values {
        [Value::String(text)] => return Ok(Value::String(Arc::clone(text))),
        [Value::Bytes(bytes)] => String::from_utf8(bytes.as_ref().clone())
            .map_err(|_| Fault::error("invalid UTF-8 in bytes, cannot convert to string"))?,
        [
            value @ (Value::Bool(_)
            | Value::Int(_)
            | Value::UInt(_)
            | Value::Float(_)
            | Value::Duration(_)
            | Value::Timestamp(_)),
        ] => typed::plain(value),
        [Value::Opaque(_)] => return hand_on(called),
        _ => return Err(called.no_overload()),
    };
    Ok(Value::String(Arc::new(text)))
}

fn to_timestamp(called: &mut Called<'_>) -> Outcome {
    match called.values {
        [time @ Value::Timestamp(_)] => Ok(time.clone()),
        [Value::Int(seconds)] => {
            let time = Timestamp::from_second(*seconds)
                .ok()
                .filter(|time| time.as_second() < END_OF_TIME);
            let time = time.ok_or_else(|| Fault::error("timestamp overflow"))?;
            let text = [Value::String(Arc::new(time.to_string()))];
            hand_on(&mut called.with(&text))
        }
        [from @ Value::String(text)] => {
            // Go takes a comma before a fraction, too.
            let plain = [Value::String(Arc::new(text.replace(',', ".")))];
            let time = is_strict(text).then(|| hand_on(&mut called.with(&plain)).ok());
            time.flatten().ok_or_else(|| no_conversion(called, from))
        }
        _ => Err(called.no_overload()),
    }
}

/// The first second of the year 10000.
const END_OF_TIME: i64 = 253_402_300_800;

/// Whether a time is written as RFC 3339 wants it, with capitals.
fn is_strict(text: &str) -> bool {
    let at = |index: usize, sign: u8| text.as_bytes().get(index) == Some(&sign);
    let dashes = at(4, b'-') && at(7, b'-') && at(10, b'T') && at(13, b':') && at(16, b':');
    // No leap seconds, and no year zero.
    dashes && text.get(17..19) != Some("60") && !text.starts_with("0000") && !text.ends_with('z')
}

fn to_duration(called: &mut Called<'_>) -> Outcome {
    match called.values {
        [span @ Value::Duration(_)] => Ok(span.clone()),
        [from @ Value::Int(_)] => Err(no_conversion(called, from)),
        [from @ Value::String(text)] => {
            let span = Duration::parse(text.as_bytes());
            let Duration(count) = span.map_err(|_| no_conversion(called, from))?;
            let text = [Value::String(Arc::new(format!("{count}ns")))];
            hand_on(&mut called.with(&text))
        }
        _ => Err(called.no_overload()),
    }
}
