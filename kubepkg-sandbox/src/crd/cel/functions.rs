//! Functions that the API server has otherwise than `kube-cel`: conversions, parts of times, the words of errors.
//!
//! Each looks at what it is called with, and hands on what `kube-cel` does as well.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};
use kube_cel::KubeCelExt as _;
use kube_cel::cel::objects::{Key, Map, OptionalValue};
use kube_cel::cel::{Context, ExecutionError, FunctionContext, ResolveResult, Value};
use kubepkg_yaml::go_quote;

use super::typed;
use crate::crd::pattern;

pub(super) const EQUAL: &str = "@equal";
pub(super) const UNEQUAL: &str = "@unequal";
pub(super) const INDEX: &str = "@index";
pub(super) const PERHAPS: &str = "@perhaps";

const QUANTITY: &str = "quantities must match the regular expression \
    '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

thread_local! {
    /// The functions as `kube-cel` has them.
    static PLAIN: Context<'static> = Context::default().with_all();
}

pub(super) fn register(context: &mut Context<'_>) {
    context.add_function(EQUAL, |a: Value, b: Value| -> ResolveResult {
        Ok(Value::Bool(equal(&a, &b)))
    });
    context.add_function(UNEQUAL, |a: Value, b: Value| -> ResolveResult {
        Ok(Value::Bool(!equal(&a, &b)))
    });
    context.add_function(INDEX, |of: Value, key: Value| -> ResolveResult {
        match optional(&of) {
            Some(inner) => perhaps(inner.value(), &key),
            None => index(&of, &key),
        }
    });
    context.add_function(PERHAPS, |of: Value, key: Value| -> ResolveResult {
        match optional(&of) {
            Some(inner) => perhaps(inner.value(), &key),
            None => perhaps(Some(&of), &key),
        }
    });
    context.add_function("size", size);
    context.add_function("bool", to_bool);
    context.add_function("string", to_string);
    context.add_function("int", to_int);
    context.add_function("timestamp", to_timestamp);
    context.add_function("sum", sum);
    context.add_function("split", split);
    context.add_function("matches", matches);
    context.add_function("format.named", named_format);
    for name in [
        "getFullYear",
        "getMonth",
        "getDayOfYear",
        "getDayOfMonth",
        "getDate",
        "getDayOfWeek",
        "getHours",
        "getMinutes",
        "getSeconds",
        "getMilliseconds",
    ] {
        context.add_function(name, part_of_time);
    }
    for name in [
        "asInteger",
        "charAt",
        "cidr",
        "find",
        "findAll",
        "ip",
        "max",
        "min",
        "quantity",
        "substring",
        "url",
    ] {
        context.add_function(name, reworded);
    }
}

/// What a function is called with: what stands before the dot, then the arguments.
fn called(call: &FunctionContext<'_, '_>) -> Result<Vec<Value>, ExecutionError> {
    let mut values: Vec<Value> = call.this.iter().cloned().collect();
    for argument in call.args {
        values.push(Value::resolve(argument, call.ptx)?);
    }
    Ok(values)
}

/// Does what `kube-cel` does.
fn hand_on(call: &FunctionContext<'_, '_>, values: &[Value]) -> ResolveResult {
    let names: Vec<String> = (0..values.len()).map(|index| format!("a{index}")).collect();
    let name = call.name;
    let source = match names.split_first() {
        Some((target, others)) if call.this.is_some() => {
            format!("{target}.{name}({})", others.join(", "))
        }
        _ => format!("{name}({})", names.join(", ")),
    };
    let program = super::program(&source).map_err(|why| failure(call, why))?;
    PLAIN.with(|plain| {
        let mut scope = plain.new_inner_scope();
        for (name, value) in names.iter().zip(values) {
            scope.add_variable_from_value(name.as_str(), value.clone());
        }
        Value::resolve(&program.0, &scope)
    })
}

fn failure(call: &FunctionContext<'_, '_>, why: impl ToString) -> ExecutionError {
    ExecutionError::function_error(call.name, why)
}

/// Whether values are equal: numbers by what they count.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Int(_) | Value::UInt(_) | Value::Float(_), Value::Float(_))
        | (Value::Float(_), Value::Int(_) | Value::UInt(_)) => float(a) == float(b),
        (Value::Int(a), Value::UInt(b)) | (Value::UInt(b), Value::Int(a)) => {
            u64::try_from(*a).is_ok_and(|a| a == *b)
        }
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| equal(a, b))
        }
        (Value::Map(a), Value::Map(b)) => {
            let same = |(key, value)| b.map.get(key).is_some_and(|other| equal(value, other));
            a.map.len() == b.map.len() && a.map.iter().all(same)
        }
        (a, b) => a == b,
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "as Go compares numbers of different types"
)]
fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Int(number) => Some(*number as f64),
        Value::UInt(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

/// A value as an optional.
fn optional(value: &Value) -> Option<&OptionalValue> {
    match value {
        Value::Opaque(opaque) => opaque.downcast_ref(),
        _ => None,
    }
}

/// `of[key]`.
fn index(of: &Value, key: &Value) -> ResolveResult {
    match of {
        Value::List(items) => {
            let place = match key {
                Value::Int(_) | Value::UInt(_) | Value::Float(_) => whole(key),
                other => {
                    let why = format!("unsupported index type '{}' in list", typed::name(other));
                    return Err(ExecutionError::function_error(INDEX, why));
                }
            };
            let item = place.and_then(|place| items.get(usize::try_from(place).ok()?));
            item.cloned().ok_or_else(|| {
                let shown = typed::shown(key);
                let place = shown["value"].as_str().unwrap_or_default();
                ExecutionError::function_error(INDEX, format!("index out of bounds: {place}"))
            })
        }
        Value::Map(map) => {
            let found = entry(map, key);
            found.cloned().ok_or_else(|| {
                let shown = typed::shown(key);
                let key = match &shown["value"] {
                    serde_json::Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                ExecutionError::NoSuchKey(Arc::new(key))
            })
        }
        _ => Err(ExecutionError::NoSuchOverload),
    }
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

/// The entry of a map, by a key or a number equal to it.
fn entry<'m>(map: &'m Map, key: &Value) -> Option<&'m Value> {
    let key = match key {
        Value::String(text) => Key::String(Arc::clone(text)),
        Value::Bool(flag) => Key::Bool(*flag),
        number => {
            let number = whole(number)?;
            let unsigned = u64::try_from(number).ok().map(Key::Uint);
            let found = map.map.get(&Key::Int(number));
            return found.or_else(|| map.map.get(&unsigned?));
        }
    };
    map.map.get(&key)
}

/// `of[?key]` and `of.?key`.
fn perhaps(of: Option<&Value>, key: &Value) -> ResolveResult {
    let found = match of {
        Some(of) => match index(of, key) {
            Ok(found) => OptionalValue::of(found),
            Err(ExecutionError::NoSuchOverload) => return Err(ExecutionError::NoSuchOverload),
            Err(_) => OptionalValue::none(),
        },
        None => OptionalValue::none(),
    };
    Ok(Value::Opaque(Arc::new(found)))
}

/// A value of a library as text, where that library makes one.
pub(super) fn text_of(value: &Value) -> Option<String> {
    let program = super::program("string(self)").ok()?;
    PLAIN.with(|plain| {
        let mut scope = plain.new_inner_scope();
        scope.add_variable_from_value("self", value.clone());
        match Value::resolve(&program.0, &scope) {
            Ok(Value::String(text)) => Some(text.as_str().to_owned()),
            _ => None,
        }
    })
}

fn size(call: &FunctionContext<'_, '_>) -> ResolveResult {
    let values = called(call)?;
    let count = match values.as_slice() {
        [Value::String(text)] => text.chars().count(),
        [Value::Bytes(bytes)] => bytes.len(),
        [Value::List(items)] => items.len(),
        [Value::Map(map)] => map.map.len(),
        _ => return Err(failure(call, "no such overload: size")),
    };
    Ok(Value::Int(i64::try_from(count).unwrap_or(i64::MAX)))
}

fn no_conversion(call: &FunctionContext<'_, '_>, from: &Value) -> ExecutionError {
    let (from, to) = (typed::name(from), call.name);
    failure(
        call,
        format!("type conversion error from '{from}' to '{to}'"),
    )
}

fn to_bool(call: &FunctionContext<'_, '_>) -> ResolveResult {
    match called(call)?.as_slice() {
        [Value::Bool(flag)] => Ok(Value::Bool(*flag)),
        [from @ Value::String(text)] => match text.as_str() {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(Value::Bool(false)),
            _ => Err(no_conversion(call, from)),
        },
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

fn to_string(call: &FunctionContext<'_, '_>) -> ResolveResult {
    let values = called(call)?;
    let text = match values.as_slice() {
        [Value::Bool(flag)] => flag.to_string(),
        [value @ (Value::Float(_) | Value::Duration(_) | Value::Timestamp(_))] => {
            let shown = typed::shown(value);
            shown["value"].as_str().unwrap_or_default().to_owned()
        }
        [Value::Null] => return Err(failure(call, "no such overload: string(null_type)")),
        _ => return hand_on(call, &values),
    };
    Ok(Value::String(Arc::new(text)))
}

fn to_int(call: &FunctionContext<'_, '_>) -> ResolveResult {
    let values = called(call)?;
    match values.as_slice() {
        [Value::Timestamp(time)] => Ok(Value::Int(time.timestamp())),
        [from @ Value::String(text)] => match text.parse() {
            Ok(number) => Ok(Value::Int(number)),
            Err(_) => Err(no_conversion(call, from)),
        },
        _ => hand_on(call, &values),
    }
}

fn to_timestamp(call: &FunctionContext<'_, '_>) -> ResolveResult {
    let values = called(call)?;
    match values.as_slice() {
        [Value::Timestamp(_)] => Ok(values.first().cloned().unwrap_or(Value::Null)),
        [Value::Int(seconds)] => {
            let time = Timestamp::from_second(*seconds)
                .map_err(|_| failure(call, "timestamp overflow"))?;
            hand_on(call, &[Value::String(Arc::new(time.to_string()))])
        }
        _ => hand_on(call, &values),
    }
}

fn sum(call: &FunctionContext<'_, '_>) -> ResolveResult {
    let values = called(call)?;
    let [Value::List(items)] = values.as_slice() else {
        return Err(ExecutionError::NoSuchOverload);
    };
    let Some(Value::Duration(first)) = items.first() else {
        return hand_on(call, &values);
    };
    let mut total = *first;
    for item in items.iter().skip(1) {
        let Value::Duration(next) = item else {
            return Err(ExecutionError::NoSuchOverload);
        };
        total = total
            .checked_add(next)
            .ok_or_else(|| failure(call, "duration overflow"))?;
    }
    Ok(Value::Duration(total))
}

/// A text without separators falls apart into its characters.
fn split(call: &FunctionContext<'_, '_>) -> ResolveResult {
    let values = called(call)?;
    let (text, limit) = match values.as_slice() {
        [Value::String(text), Value::String(by)] if by.is_empty() => (text, -1),
        [Value::String(text), Value::String(by), Value::Int(limit)] if by.is_empty() => {
            (text, *limit)
        }
        _ => return hand_on(call, &values),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut parts = Vec::new();
    let mut rest = text.as_str();
    while let Some(sign) = rest.chars().next() {
        if parts.len() == limit {
            break;
        }
        let width = if parts.len() + 1 == limit {
            rest.len()
        } else {
            sign.len_utf8()
        };
        let (part, after) = rest.split_at(width);
        parts.push(Value::String(Arc::new(part.to_owned())));
        rest = after;
    }
    Ok(Value::List(Arc::new(parts)))
}

fn matches(call: &FunctionContext<'_, '_>) -> ResolveResult {
    match called(call)?.as_slice() {
        [Value::String(text), Value::String(source)] => match pattern::offence(source) {
            None => Ok(Value::Bool(pattern::matches(source, text))),
            Some(why) => Err(failure(call, why)),
        },
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

fn named_format(call: &FunctionContext<'_, '_>) -> ResolveResult {
    let [name] = call.args else {
        return Err(ExecutionError::NoSuchOverload);
    };
    let name = Value::resolve(name, call.ptx)?;
    let program = super::program("format.named(self)").map_err(|why| failure(call, why))?;
    let found = PLAIN.with(|plain| {
        let mut scope = plain.new_inner_scope();
        scope.add_variable_from_value("self", name);
        Value::resolve(&program.0, &scope)
    });
    let found = match found? {
        Value::Null => OptionalValue::none(),
        format => OptionalValue::of(format),
    };
    Ok(Value::Opaque(Arc::new(found)))
}

/// `getHours` and its like, in UTC or in a time zone.
fn part_of_time(call: &FunctionContext<'_, '_>) -> ResolveResult {
    let values = called(call)?;
    let (time, zone) = match values.as_slice() {
        [Value::Timestamp(time)] => (time, TimeZone::UTC),
        [Value::Timestamp(time), Value::String(zone)] => {
            let found = zone_of(zone);
            let unknown = || failure(call, format!("unknown time zone {zone}"));
            (time, found.ok_or_else(unknown)?)
        }
        _ => return hand_on(call, &values),
    };
    let nanosecond = i32::try_from(time.timestamp_subsec_nanos()).unwrap_or(0);
    let time = Timestamp::new(time.timestamp(), nanosecond)
        .map_err(|_| failure(call, "timestamp overflow"))?
        .to_zoned(zone);
    let part = match call.name {
        "getFullYear" => i64::from(time.year()),
        "getMonth" => i64::from(time.month()) - 1,
        "getDayOfYear" => i64::from(time.day_of_year()) - 1,
        "getDayOfMonth" => i64::from(time.day()) - 1,
        "getDate" => i64::from(time.day()),
        "getDayOfWeek" => i64::from(time.weekday().to_sunday_zero_offset()),
        "getHours" => i64::from(time.hour()),
        "getMinutes" => i64::from(time.minute()),
        "getSeconds" => i64::from(time.second()),
        _ => i64::from(time.millisecond()),
    };
    Ok(Value::Int(part))
}

/// A zone by its name, or by its hours and minutes from UTC.
fn zone_of(text: &str) -> Option<TimeZone> {
    if let Some((hours, minutes)) = text.split_once(':') {
        let negative = hours.starts_with('-');
        let hours: i32 = hours.trim_start_matches(['+', '-']).parse().ok()?;
        let minutes: i32 = minutes.parse().ok()?;
        let seconds = hours
            .checked_mul(3600)?
            .checked_add(minutes.checked_mul(60)?)?;
        let offset = Offset::from_seconds(if negative { -seconds } else { seconds }).ok()?;
        return Some(TimeZone::fixed(offset));
    }
    if text.is_empty() {
        return Some(TimeZone::UTC);
    }
    TimeZone::get(text).ok()
}

/// Functions whose errors read otherwise on the API server.
fn reworded(call: &FunctionContext<'_, '_>) -> ResolveResult {
    let values = called(call)?;
    let invalid_pattern = match (call.name, values.as_slice()) {
        ("find" | "findAll", [_, Value::String(source), ..]) => pattern::offence(source),
        _ => None,
    };
    if let Some(why) = invalid_pattern {
        return Err(failure(call, why));
    }
    hand_on(call, &values).map_err(|error| match words(call.name, &values) {
        Some(words) if matches!(error, ExecutionError::FunctionError { .. }) => {
            failure(call, words)
        }
        _ => error,
    })
}

fn words(name: &str, values: &[Value]) -> Option<String> {
    Some(match (name, values) {
        ("asInteger", _) => "cannot convert value to integer".to_owned(),
        ("charAt", [_, Value::Int(index)]) => format!("index out of range: {index}"),
        ("min" | "max", [Value::List(_)]) => format!("{name} called on empty list"),
        ("quantity", _) => QUANTITY.to_owned(),
        ("substring", [_, Value::Int(start), Value::Int(end)]) if end < start => {
            format!("invalid substring range. start: {start}, end: {end}")
        }
        ("substring", [_, Value::Int(start), ..]) => format!("index out of range: {start}"),
        ("ip", [Value::String(text)]) => {
            let numbers: Vec<&str> = text.split('.').collect();
            let plain =
                |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            let why = if numbers.len() == 4 && numbers.iter().all(plain) {
                "IPv4 field has value >255"
            } else {
                "unable to parse IP"
            };
            let quoted = go_quote(text);
            format!(
                "IP Address {quoted} parse error during conversion from string: ParseAddr({quoted}): {why}"
            )
        }
        ("cidr", [Value::String(text)]) => {
            let why = match text.rsplit_once('/') {
                None => "no '/'",
                Some((address, _)) if address.parse::<std::net::IpAddr>().is_ok() => {
                    "prefix length out of range"
                }
                Some(_) => "unable to parse IP",
            };
            let words = "network address parse error during conversion from string";
            format!(
                "{words}: {words}: netip.ParsePrefix({}): {why}",
                go_quote(text)
            )
        }
        ("url", [Value::String(text)]) => {
            let why = if text.starts_with(':') {
                "missing protocol scheme"
            } else {
                "invalid URI for request"
            };
            let quoted = go_quote(text);
            format!("URL parse error during conversion from string: parse {quoted}: {why}")
        }
        _ => return None,
    })
}
