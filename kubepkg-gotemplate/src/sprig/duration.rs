//! Helm 4's duration functions: anything that can be a duration, in the unit of the name.

use super::args::any;
use super::date::{DURATION, DurationValue};
use crate::func::{FuncError, Function, Signature};
use crate::gotype::{ANY, FLOAT64, INT64, Kind};
use crate::strconv::{format_float, parse_float, quote};
use crate::time::Duration;
use crate::value::Value;

/// Functions of this module.
pub(super) fn table() -> Vec<Function> {
    let float = Signature::new(types!(ANY), &FLOAT64);
    let whole = Signature::new(types!(ANY), &INT64);
    let rounding = Signature::new(types!(ANY, ANY), &DURATION);
    vec![
        Function::plain("durationDays", float, |_, args| {
            Ok(Value::float64(of(any(args, 0)).hours() / 24.0))
        }),
        Function::plain("durationHours", float, |_, args| {
            Ok(Value::float64(of(any(args, 0)).hours()))
        }),
        Function::plain("durationMicroseconds", whole, |_, args| {
            Ok(Value::int64(of(any(args, 0)).0 / 1_000))
        }),
        Function::plain("durationMilliseconds", whole, |_, args| {
            Ok(Value::int64(of(any(args, 0)).0 / 1_000_000))
        }),
        Function::plain("durationMinutes", float, |_, args| {
            Ok(Value::float64(of(any(args, 0)).minutes()))
        }),
        Function::plain("durationNanoseconds", whole, |_, args| {
            Ok(Value::int64(of(any(args, 0)).0))
        }),
        Function::plain("durationRoundTo", rounding, |_, args| {
            Ok(stepped(args, Duration::round))
        }),
        Function::plain("durationSeconds", float, |_, args| {
            Ok(Value::float64(of(any(args, 0)).seconds()))
        }),
        Function::plain("durationTruncateTo", rounding, |_, args| {
            Ok(stepped(args, Duration::truncate))
        }),
        Function::plain("durationWeeks", float, |_, args| {
            Ok(Value::float64(of(any(args, 0)).hours() / 24.0 / 7.0))
        }),
        Function::plain(
            "mustToDuration",
            Signature::new(types!(ANY), &DURATION),
            |_, args| {
                as_duration(any(args, 0))
                    .map(DurationValue::value)
                    .map_err(FuncError::new)
            },
        ),
    ]
}

/// The duration, zero for what is none.
fn of(value: &Value) -> Duration {
    as_duration(value).unwrap_or_default()
}

fn stepped(args: &[Value], step: fn(Duration, Duration) -> Duration) -> Value {
    let Ok(duration) = as_duration(any(args, 0)) else {
        return DurationValue::value(Duration(0));
    };
    DurationValue::value(match as_duration(any(args, 1)) {
        Ok(unit) => step(duration, unit),
        Err(_) => duration,
    })
}

const NANOS: i64 = 1_000_000_000;

fn from_seconds(seconds: f64) -> Result<Duration, String> {
    let text = || format_float(seconds, b'g', None, 64);
    if !seconds.is_finite() {
        return Err(format!("invalid duration seconds: {}", text()));
    }
    #[allow(clippy::cast_precision_loss, reason = "Go compares in float64")]
    let limit = i64::MAX as f64;
    if seconds.abs() > limit / 1e9 {
        return Err(format!("duration seconds overflow: {}", text()));
    }
    let nanos = seconds * 1e9;
    if nanos.abs() > limit {
        return Err(format!(
            "duration nanoseconds overflow: {}",
            format_float(nanos, b'g', None, 64)
        ));
    }
    Ok(Duration(super::convert::float_to_int(nanos)))
}

/// Helm's `asDuration`: a duration, a text (`1h`, or seconds), or a number of seconds.
fn as_duration(value: &Value) -> Result<Duration, String> {
    match value {
        Value::Nil => Err("invalid duration".to_owned()),
        Value::String(whole) => {
            let text = whole.to_str_lossy();
            let trimmed = text.trim_matches(char::is_whitespace);
            if trimmed.is_empty() {
                return Err("empty duration".to_owned());
            }
            if let Ok(duration) = Duration::parse(trimmed.as_bytes()) {
                return Ok(duration);
            }
            match parse_float(trimmed) {
                Ok(seconds) => from_seconds(seconds),
                Err(_) => Err(format!("could not parse duration {}", quote(whole))),
            }
        }
        Value::Int(_, seconds) => seconds
            .checked_mul(NANOS)
            .filter(|_| seconds.unsigned_abs() <= i64::MAX.unsigned_abs() / NANOS.unsigned_abs())
            .map(Duration)
            .ok_or_else(|| format!("duration seconds overflow: {seconds}")),
        Value::Uint(_, seconds) => i64::try_from(*seconds)
            .ok()
            .filter(|s| *s <= i64::MAX / NANOS)
            .map(|s| Duration(s * NANOS))
            .ok_or_else(|| format!("duration seconds overflow: {seconds}")),
        Value::Float(_, seconds) => from_seconds(*seconds),
        Value::Object(object) => {
            if let Some(duration) = value.as_object::<DurationValue>() {
                return Ok(duration.0);
            }
            match object.underlying() {
                Some(inner) if inner.kind() != Kind::String => as_duration(&inner),
                _ => Err(format!("unsupported duration type {}", value.type_name())),
            }
        }
        other => Err(format!("unsupported duration type {}", other.type_name())),
    }
}
