//! Operators of cel-go: equality, order, parts of values, arithmetic.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::Key;

use super::super::{together, typed};
use super::{Fault, Meter, Outcome, as_optional};

/// Whether values are equal: numbers by what they count.
pub(crate) fn equal(a: &Value, b: &Value, meter: &mut Meter) -> Result<bool, Fault> {
    meter.look(1)?;
    if let (Value::Opaque(_), _) | (_, Value::Opaque(_)) = (a, b)
        && let Some(found) = together::equals(a, b, meter)
    {
        return found;
    }
    Ok(match (a, b) {
        (Value::Int(_) | Value::UInt(_) | Value::Float(_), Value::Float(_))
        | (Value::Float(_) | Value::UInt(_), Value::Int(_))
        | (Value::Float(_) | Value::Int(_), Value::UInt(_)) => {
            ordered(a, b) == Some(Ordering::Equal)
        }
        (Value::String(a), Value::String(b)) => {
            meter.look(a.len().min(b.len()) / 16)?;
            a == b
        }
        (Value::List(a), Value::List(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (a, b) in a.iter().zip(b.iter()) {
                if !equal(a, b, meter)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Map(a), Value::Map(b)) => {
            if a.map.len() != b.map.len() {
                return Ok(false);
            }
            for (key, value) in a.map.iter() {
                let Some(other) = entry(&b.map, &super::of_key(key)) else {
                    return Ok(false);
                };
                if !equal(value, other, meter)? {
                    return Ok(false);
                }
            }
            true
        }
        (a, b) => match (as_optional(a), as_optional(b)) {
            (Some(a), Some(b)) => match (a.value(), b.value()) {
                (Some(a), Some(b)) => equal(a, b, meter)?,
                (a, b) => a.is_none() && b.is_none(),
            },
            _ => a == b,
        },
    })
}

/// The order of two numbers; none with what is not a number.
#[expect(
    clippy::cast_precision_loss,
    reason = "as Go compares numbers of different types, but for those beyond the ends"
)]
fn ordered(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::UInt(a), Value::UInt(b)) => Some(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
        (Value::Int(a), Value::UInt(b)) => {
            Some(u64::try_from(*a).map_or(Ordering::Less, |a| a.cmp(b)))
        }
        (Value::Int(a), Value::Float(b)) => (*a as f64).partial_cmp(b),
        (Value::UInt(a), Value::Float(b)) => (*a as f64).partial_cmp(b),
        (Value::UInt(_) | Value::Float(_), Value::Int(_)) | (Value::Float(_), Value::UInt(_)) => {
            ordered(b, a).map(Ordering::reverse)
        }
        _ => None,
    }
}

/// The order of two values.
pub(crate) fn compared(a: &Value, b: &Value) -> Result<Ordering, Fault> {
    let is_nan = |value: &Value| matches!(value, Value::Float(number) if number.is_nan());
    match (a, b) {
        (
            Value::Int(_) | Value::UInt(_) | Value::Float(_),
            Value::Int(_) | Value::UInt(_) | Value::Float(_),
        ) => {
            if is_nan(a) || is_nan(b) {
                return Err(Fault::error("NaN values cannot be ordered"));
            }
            Ok(ordered(a, b).unwrap_or(Ordering::Equal))
        }
        (Value::String(a), Value::String(b)) => Ok(a.cmp(b)),
        (Value::Bytes(a), Value::Bytes(b)) => Ok(a.cmp(b)),
        (Value::Bool(a), Value::Bool(b)) => Ok(a.cmp(b)),
        (Value::Duration(a), Value::Duration(b)) => Ok(a.cmp(b)),
        (Value::Timestamp(a), Value::Timestamp(b)) => Ok(a.cmp(b)),
        _ => Err(Fault::no_overload()),
    }
}

/// A value as the key of a map.
pub(crate) fn key(value: &Value) -> Option<Key> {
    match value {
        Value::Int(number) => Some(Key::Int(*number)),
        Value::UInt(number) => Some(Key::Uint(*number)),
        Value::Bool(flag) => Some(Key::Bool(*flag)),
        Value::String(text) => Some(Key::String(Arc::clone(text))),
        _ => None,
    }
}

/// The entry of a map, by a key or a number equal to it.
pub(crate) fn entry<'m>(map: &'m HashMap<Key, Value>, by: &Value) -> Option<&'m Value> {
    let number = match by {
        Value::Int(_) | Value::UInt(_) | Value::Float(_) => whole(by)?,
        other => return map.get(&key(other)?),
    };
    let unsigned = || u64::try_from(number).ok().map(Key::Uint);
    map.get(&Key::Int(number)).or_else(|| map.get(&unsigned()?))
}

/// A number as a whole one.
fn whole(number: &Value) -> Option<i64> {
    match number {
        Value::Int(number) => Some(*number),
        Value::UInt(number) => i64::try_from(*number).ok(),
        #[expect(clippy::cast_possible_truncation, reason = "whole, and checked")]
        Value::Float(number) if number.fract() == 0.0 && number.abs() < 9e15 => {
            Some(*number as i64)
        }
        _ => None,
    }
}

/// A part of a value: an entry of a map, an item of a list. That there is none is an error unless it may be so.
pub(super) fn part(of: &Value, by: &Value, perhaps: bool) -> Result<Option<Value>, Fault> {
    let shown = || typed::plain(by);
    let (found, missing) = match of {
        Value::Map(map) => (entry(&map.map, by), "no such key"),
        Value::List(items) => {
            let Some(place) = whole(by) else {
                return Err(Fault::error(match by {
                    Value::UInt(_) | Value::Float(_) => {
                        format!("unsupported index value {} in list", shown())
                    }
                    other => format!("unsupported index type '{}' in list", typed::name(other)),
                }));
            };
            let item = usize::try_from(place)
                .ok()
                .and_then(|place| items.get(place));
            (item, "index out of bounds")
        }
        _ => (None, "no such key"),
    };
    match found {
        Some(found) => Ok(Some(found.clone())),
        None if perhaps => Ok(None),
        None => Err(Fault::error(format!("{missing}: {}", shown()))),
    }
}

/// `a + b` and its like.
pub(crate) fn calculated(name: &str, values: &[Value], meter: &mut Meter) -> Outcome {
    if let ("_+_", [a, b]) = (name, values)
        && let Some(sum) = together::sum(a, b, meter)
    {
        return sum;
    }
    match values {
        [a @ Value::List(_), b @ Value::Opaque(_)] if typed::name(b) == "list" => {
            calculated(name, &[a.clone(), together::plain(b)], meter)
        }
        [Value::Int(a), Value::Int(b)] => whole_numbers(name, *a, *b),
        [Value::UInt(a), Value::UInt(b)] => unsigned(name, *a, *b),
        [Value::Float(a), Value::Float(b)] => Ok(Value::Float(match name {
            "_+_" => a + b,
            "_-_" => a - b,
            "_*_" => a * b,
            "_/_" => a / b,
            _ => return Err(no_operator(name, &Value::Float(*a))),
        })),
        [Value::Int(a)] if name == "-_" => match a.checked_neg() {
            Some(negated) => Ok(Value::Int(negated)),
            None => Err(Fault::error("integer overflow")),
        },
        [Value::Float(a)] if name == "-_" => Ok(Value::Float(-a)),
        [Value::String(a), Value::String(b)] if name == "_+_" => {
            meter.look((a.len() + b.len()) / 16)?;
            Ok(Value::String(Arc::new(format!("{a}{b}"))))
        }
        [Value::Bytes(a), Value::Bytes(b)] if name == "_+_" => {
            meter.look((a.len() + b.len()) / 16)?;
            Ok(Value::Bytes(Arc::new(
                [a.as_slice(), b.as_slice()].concat(),
            )))
        }
        [Value::List(a), Value::List(b)] if name == "_+_" => {
            meter.look(a.len() + b.len())?;
            Ok(Value::List(Arc::new([a.as_slice(), b.as_slice()].concat())))
        }
        [a, b] => times(name, a, b),
        [a] => Err(no_operator(name, a)),
        _ => Err(Fault::no_overload()),
    }
}

/// That there is no such operator for a value. Values that know of no such operator at all get its name.
pub(crate) fn no_operator(name: &str, value: &Value) -> Fault {
    let is_comparison = matches!(name, "_<_" | "_<=_" | "_>_" | "_>=_");
    let lacks = match value {
        Value::Map(_) | Value::Null | Value::Opaque(_) => true,
        Value::Bool(_) => name != "-_" && !is_comparison,
        Value::Float(_) => name == "_%_",
        Value::List(_) => name != "_+_",
        Value::Bytes(_) => name != "_+_" && !is_comparison,
        _ => false,
    };
    if lacks {
        Fault::error(format!("no such overload: {name}"))
    } else {
        Fault::no_overload()
    }
}

/// What both kinds of whole numbers have in common.
macro_rules! checked {
    ($name:expr, $a:expr, $b:expr) => {
        match $name {
            "_+_" => $a.checked_add($b),
            "_-_" => $a.checked_sub($b),
            "_*_" => $a.checked_mul($b),
            "_/_" if $b == 0 => return Err(Fault::error("division by zero")),
            "_/_" => $a.checked_div($b),
            "_%_" if $b == 0 => return Err(Fault::error("modulus by zero")),
            "_%_" => $a.checked_rem($b),
            _ => return Err(Fault::no_overload()),
        }
    };
}

fn whole_numbers(name: &str, a: i64, b: i64) -> Outcome {
    let found = checked!(name, a, b).map(Value::Int);
    found.ok_or_else(|| Fault::error("integer overflow"))
}

fn unsigned(name: &str, a: u64, b: u64) -> Outcome {
    let found = checked!(name, a, b).map(Value::UInt);
    found.ok_or_else(|| Fault::error("unsigned integer overflow"))
}

/// Sums and differences of times. The library's own operators refuse what is beyond the ends of times.
fn times(name: &str, a: &Value, b: &Value) -> Outcome {
    let is_time = |value: &Value| matches!(value, Value::Timestamp(_));
    let is_span = |value: &Value| matches!(value, Value::Duration(_));
    let (a, b) = (a.clone(), b.clone());
    let spans = is_span(&a) && is_span(&b) || is_time(&a) && is_time(&b);
    let known = match name {
        "_+_" => is_span(&a) && (is_span(&b) || is_time(&b)) || is_time(&a) && is_span(&b),
        "_-_" => is_span(&a) && is_span(&b) || is_time(&a) && (is_span(&b) || is_time(&b)),
        _ => false,
    };
    if !known {
        return Err(no_operator(name, &a));
    }
    let found = if name == "_+_" { a + b } else { a - b };
    let overflow = || {
        Fault::error(if spans {
            "integer overflow"
        } else {
            "timestamp overflow"
        })
    };
    match found.map_err(|_| overflow())? {
        // Go's durations are nanoseconds in 64 bits.
        Value::Duration(span) if span.num_nanoseconds().is_none() => Err(overflow()),
        found => Ok(found),
    }
}

/// The Go type of a value that should have been a list or a map.
pub(super) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Int(_) => "types.Int",
        Value::UInt(_) => "types.Uint",
        Value::Float(_) => "types.Double",
        Value::String(_) => "types.String",
        Value::Bytes(_) => "types.Bytes",
        Value::Bool(_) => "types.Bool",
        Value::Duration(_) => "types.Duration",
        Value::Timestamp(_) => "types.Timestamp",
        Value::Null => "types.Null",
        _ if as_optional(value).is_some() => "*types.Optional",
        _ => "types.Unknown",
    }
}
