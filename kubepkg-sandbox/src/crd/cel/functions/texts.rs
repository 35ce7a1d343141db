//! Functions of texts (`ext/strings.go` of cel-go), and `size`. Places in texts count characters.

use std::sync::Arc;

use kube_cel::cel::Value;

use super::super::run::{Fault, Outcome};
use super::{Called, Function, format, int};
use crate::crd::pattern;

pub(super) fn named(name: &str) -> Option<Function> {
    Some(match name {
        "size" => size,
        "contains" => |called| test(called, |text, part| text.contains(part)),
        "startsWith" => |called| test(called, |text, part| text.starts_with(part)),
        "endsWith" => |called| test(called, |text, part| text.ends_with(part)),
        "charAt" => char_at,
        "substring" => substring,
        "lowerAscii" => |called| changed(called, str::to_ascii_lowercase),
        "upperAscii" => |called| changed(called, str::to_ascii_uppercase),
        "trim" => |called| changed(called, |text| text.trim().to_owned()),
        "strings.quote" => |called| changed(called, quoted),
        "replace" => replace,
        "split" => split,
        "join" => join,
        "find" | "findAll" => find,
        "format" => format::format,
        _ => return None,
    })
}

fn text(text: impl Into<String>) -> Value {
    Value::String(Arc::new(text.into()))
}

fn texts(parts: impl IntoIterator<Item = String>) -> Value {
    Value::List(Arc::new(parts.into_iter().map(text).collect()))
}

fn size(called: &mut Called<'_>) -> Outcome {
    Ok(int(match called.values {
        [Value::String(text)] => {
            called.meter.look(text.len() / 16)?;
            text.chars().count()
        }
        [Value::Bytes(bytes)] => bytes.len(),
        [Value::List(items)] => items.len(),
        [Value::Map(map)] => map.map.len(),
        // As cel-go has it, since its own function is found by the value.
        _ => return Err(Fault::error("no such overload: size")),
    }))
}

fn test(called: &mut Called<'_>, is: fn(&str, &str) -> bool) -> Outcome {
    match called.values {
        [Value::String(text), Value::String(part)] => Ok(Value::Bool(is(text, part))),
        _ => Err(Fault::no_overload()),
    }
}

fn changed(called: &mut Called<'_>, change: fn(&str) -> String) -> Outcome {
    match called.values {
        [Value::String(plain)] => Ok(text(change(plain))),
        _ => Err(called.no_overload()),
    }
}

fn quoted(plain: &str) -> String {
    let mut quoted = String::with_capacity(plain.len() + 2);
    quoted.push('"');
    for sign in plain.chars() {
        match sign {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            plain => quoted.push(plain),
        }
    }
    quoted.push('"');
    quoted
}

fn out_of_range(index: i64) -> Fault {
    Fault::error(format!("index out of range: {index}"))
}

fn char_at(called: &mut Called<'_>) -> Outcome {
    let [Value::String(plain), Value::Int(index)] = called.values else {
        return Err(called.no_overload());
    };
    let place = usize::try_from(*index).map_err(|_| out_of_range(*index))?;
    match plain.chars().nth(place) {
        Some(sign) => Ok(text(sign)),
        None if place == plain.chars().count() => Ok(text("")),
        None => Err(out_of_range(*index)),
    }
}

fn substring(called: &mut Called<'_>) -> Outcome {
    let (plain, start, end) = match called.values {
        [Value::String(plain), Value::Int(start)] => (plain, *start, None),
        [Value::String(plain), Value::Int(start), Value::Int(end)] => (plain, *start, Some(*end)),
        _ => return Err(called.no_overload()),
    };
    let count = plain.chars().count();
    if let Some(end) = end.filter(|end| start > *end) {
        let why = format!("invalid substring range. start: {start}, end: {end}");
        return Err(Fault::error(why));
    }
    let place = |index: i64| {
        let place = usize::try_from(index).ok().filter(|place| *place <= count);
        place.ok_or_else(|| out_of_range(index))
    };
    let from = place(start)?;
    let to = end.map_or(Ok(count), place)?;
    let part: String = plain.chars().skip(from).take(to - from).collect();
    Ok(text(part))
}

fn replace(called: &mut Called<'_>) -> Outcome {
    let (plain, from, to, limit) = match called.values {
        [Value::String(plain), Value::String(from), Value::String(to)] => (plain, from, to, -1),
        [
            Value::String(plain),
            Value::String(from),
            Value::String(to),
            Value::Int(limit),
        ] => (plain, from, to, *limit),
        _ => return Err(called.no_overload()),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let most = if from.is_empty() {
        plain.len() + 1
    } else {
        plain.len() / from.len()
    };
    let grown = most.min(limit).saturating_mul(to.len());
    called
        .meter
        .look((plain.len().saturating_add(grown)) / 16)?;
    Ok(text(plain.replacen(from.as_str(), to, limit)))
}

/// A text without separators falls apart into its characters.
fn split(called: &mut Called<'_>) -> Outcome {
    let (plain, by, limit) = match called.values {
        [Value::String(plain), Value::String(by)] => (plain, by, -1),
        [Value::String(plain), Value::String(by), Value::Int(limit)] => (plain, by, *limit),
        _ => return Err(called.no_overload()),
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if limit == 0 {
        return Ok(texts([]));
    }
    if !by.is_empty() {
        let parts = plain.splitn(limit, by.as_str());
        return Ok(texts(parts.map(str::to_owned)));
    }
    let mut parts = Vec::new();
    let mut rest = plain.as_str();
    while let Some(sign) = rest.chars().next() {
        let width = if parts.len() + 1 == limit {
            rest.len()
        } else {
            sign.len_utf8()
        };
        let (part, after) = rest.split_at(width);
        parts.push(part.to_owned());
        rest = after;
    }
    Ok(texts(parts))
}

fn join(called: &mut Called<'_>) -> Outcome {
    let (items, by) = match called.values {
        [Value::List(items)] => (items, ""),
        [Value::List(items), Value::String(by)] => (items, by.as_str()),
        _ => return Err(called.no_overload()),
    };
    let mut joined = String::new();
    for (index, item) in items.iter().enumerate() {
        let Value::String(item) = item else {
            let shown = super::super::typed::plain(item);
            return Err(Fault::error(format!("join: invalid input: {shown}")));
        };
        called.meter.look(1 + (item.len() + by.len()) / 16)?;
        if index > 0 {
            joined.push_str(by);
        }
        joined.push_str(item);
    }
    Ok(text(joined))
}

fn find(called: &mut Called<'_>) -> Outcome {
    let (plain, source, limit) = match called.values {
        [Value::String(plain), Value::String(source)] => (plain, source, -1),
        [
            Value::String(plain),
            Value::String(source),
            Value::Int(limit),
        ] => (plain, source, *limit),
        _ => return Err(Fault::no_overload()),
    };
    let one = called.name == "find";
    let found = pattern::find_all(source, plain, if one { 1 } else { limit });
    let found = found.map_err(|why| Fault::error(format!("Illegal regex: {why}")))?;
    Ok(if one {
        text(found.into_iter().next().unwrap_or_default())
    } else {
        texts(found)
    })
}
