//! Functions of lists, sets and optional values: `ext/lists.go` and `ext/sets.go` of cel-go, `lists.go` of the API
//! server. `indexOf` and `lastIndexOf` of texts are here, too.

use std::cmp::Ordering;
use std::sync::Arc;

use kube_cel::cel::Value;

use super::super::run::{
    Fault, Meter, Outcome, as_optional, calculated, compared, equal, optional,
};
use super::super::typed;
use super::{Called, Function, int};

pub(super) fn named(name: &str) -> Option<Function> {
    Some(match name {
        "isSorted" => is_sorted,
        "sum" => sum,
        "min" => |called| extreme(called, Ordering::Greater),
        "max" => |called| extreme(called, Ordering::Less),
        "indexOf" => |called| place(called, false),
        "lastIndexOf" => |called| place(called, true),
        "slice" => slice,
        "flatten" => flatten,
        "sort" | super::super::parse::SORT_BY_KEYS => sort,
        "lists.range" => range,
        "reverse" => reverse,
        "distinct" => distinct,
        "first" => |called| end(called, <[Value]>::first),
        "last" => |called| end(called, <[Value]>::last),
        "sets.contains" => |called| sets(called, has_all),
        "sets.equivalent" => |called| {
            sets(called, |a, b, meter| {
                Ok(has_all(a, b, meter)? && has_all(b, a, meter)?)
            })
        },
        "sets.intersects" => |called| {
            sets(called, |a, b, meter| {
                for item in a {
                    if has(b, item, meter)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            })
        },
        "optional.of" => |called| match called.values {
            [value] => Ok(optional(Some(value.clone()))),
            _ => Err(called.no_overload()),
        },
        "optional.ofNonZeroValue" => |called| match called.values {
            [value] => Ok(optional(
                Some(value).filter(|value| !is_zero(value)).cloned(),
            )),
            _ => Err(called.no_overload()),
        },
        "optional.none" => |_| Ok(optional(None)),
        "hasValue" => |called| Ok(Value::Bool(inner(called)?.is_some())),
        "value" => |called| {
            let missing = || Fault::error("optional.none() dereference");
            inner(called)?.cloned().ok_or_else(missing)
        },
        "optional.unwrap" | "unwrapOpt" => unwrap,
        _ => return None,
    })
}

fn list(items: Vec<Value>) -> Value {
    Value::List(Arc::new(items))
}

fn items<'c>(called: &Called<'c>) -> Result<&'c [Value], Fault> {
    match called.values {
        [Value::List(items), ..] => Ok(items.as_slice()),
        _ => Err(called.no_overload()),
    }
}

fn inner<'c>(called: &Called<'c>) -> Result<Option<&'c Value>, Fault> {
    let optional = called.values.first().and_then(as_optional);
    Ok(optional.ok_or_else(|| called.no_overload())?.value())
}

fn is_sorted(called: &mut Called<'_>) -> Outcome {
    for pair in items(called)?.windows(2) {
        if let [a, b] = pair
            && compared(a, b) == Ok(Ordering::Greater)
        {
            return Ok(Value::Bool(false));
        }
    }
    Ok(Value::Bool(true))
}

fn sum(called: &mut Called<'_>) -> Outcome {
    let mut rest = items(called)?.iter();
    let Some(first) = rest.next() else {
        // The list is of numbers, or of anything.
        return Ok(Value::Int(0));
    };
    let mut total = first.clone();
    for next in rest {
        total = calculated("_+_", &[total, next.clone()], called.meter)?;
    }
    Ok(total)
}

fn extreme(called: &mut Called<'_>, replaced: Ordering) -> Outcome {
    let mut rest = items(called)?.iter();
    let empty = || Fault::error(format!("{} called on empty list", called.name));
    let mut found = rest.next().ok_or_else(empty)?;
    for next in rest {
        // What can't be compared stays behind.
        if compared(found, next) == Ok(replaced) {
            found = next;
        }
    }
    Ok(found.clone())
}

fn place(called: &mut Called<'_>, last: bool) -> Outcome {
    let found = match called.values {
        [Value::List(items), wanted] => {
            let mut found = None;
            for index in 0..items.len() {
                let index = if last { items.len() - 1 - index } else { index };
                if let Some(item) = items.get(index)
                    && equal(item, wanted, called.meter)?
                {
                    found = Some(index);
                    break;
                }
            }
            found
        }
        [Value::String(text), Value::String(part)] => {
            called.meter.look(text.len() / 16)?;
            let before = |at: usize| text.get(..at).map_or(0, |before| before.chars().count());
            if part.is_empty() {
                Some(if last { text.chars().count() } else { 0 })
            } else if last {
                text.rfind(part.as_str()).map(before)
            } else {
                text.find(part.as_str()).map(before)
            }
        }
        [Value::String(text), Value::String(part), Value::Int(from)] => {
            called.meter.look(text.len() / 16)?;
            return place_from(text, part, *from, last);
        }
        _ => return Err(called.no_overload()),
    };
    Ok(found.map_or(Value::Int(-1), int))
}

fn place_from(text: &str, part: &str, from: i64, last: bool) -> Outcome {
    if part.is_empty() {
        return Ok(Value::Int(from));
    }
    let Ok(start) = usize::try_from(from) else {
        return Err(Fault::error(format!("index out of range: {from}")));
    };
    let Some((at, _)) = text.char_indices().nth(start) else {
        return Ok(Value::Int(-1));
    };
    let before = |at: usize| text.get(..at).map_or(0, |before| before.chars().count());
    let found = if last {
        // What begins there or before may end after it.
        let end = at.saturating_add(part.len()).min(text.len());
        let end = (end..=text.len()).find(|end| text.is_char_boundary(*end));
        let range = end.and_then(|end| text.get(..end)).unwrap_or(text);
        let found = range.rfind(part);
        found
            .filter(|found| *found <= at)
            .or_else(|| text.get(..at)?.rfind(part))
    } else {
        let after = text.get(at..).unwrap_or_default();
        after.find(part).map(|found| at + found)
    };
    Ok(found.map(before).map_or(Value::Int(-1), int))
}

fn slice(called: &mut Called<'_>) -> Outcome {
    let [Value::List(items), Value::Int(start), Value::Int(end)] = called.values else {
        return Err(called.no_overload());
    };
    let refused = |why: String| Err(Fault::error(format!("cannot slice({start}, {end}), {why}")));
    if *start < 0 || *end < 0 {
        return refused("negative indexes not supported".to_owned());
    }
    if start > end {
        return refused("start index must be less than or equal to end index".to_owned());
    }
    let place = |index: i64| usize::try_from(index).unwrap_or(usize::MAX);
    match items.get(place(*start)..place(*end)) {
        Some(part) => Ok(list(part.to_vec())),
        None => refused(format!("list is length {}", items.len())),
    }
}

fn flatten(called: &mut Called<'_>) -> Outcome {
    let depth = match called.values {
        [Value::List(_)] => 1,
        [Value::List(_), Value::Int(depth)] => *depth,
        [other, ..] => {
            let of = typed::name(other);
            return Err(Fault::error(format!("no such overload: {of}.flatten()")));
        }
        [] => return Err(called.no_overload()),
    };
    if depth < 0 {
        return Err(Fault::error("level must be non-negative"));
    }
    let mut flat = items(called)?.to_vec();
    for _ in 0..depth {
        called.meter.look(flat.len())?;
        let mut next = Vec::with_capacity(flat.len());
        let mut deeper = false;
        for item in flat {
            match item {
                Value::List(inner) => {
                    deeper = true;
                    called.meter.look(inner.len())?;
                    next.extend(inner.iter().cloned());
                }
                other => next.push(other),
            }
        }
        flat = next;
        if !deeper {
            break;
        }
    }
    Ok(list(flat))
}

/// Items in the order of their keys, or of themselves.
fn sort(called: &mut Called<'_>) -> Outcome {
    let (items, keys) = match called.values {
        [Value::List(items)] => (items, items),
        [Value::List(items), Value::List(keys)] => (items, keys),
        _ => return Err(Fault::error(format!("no such overload: {}", called.name))),
    };
    if let Some(first) = keys.first() {
        if compared(first, first).is_err() && !matches!(first, Value::Float(_)) {
            return Err(Fault::error("list elements must be comparable"));
        }
        if keys
            .iter()
            .any(|key| typed::name(key) != typed::name(first))
        {
            return Err(Fault::error("list elements must have the same type"));
        }
    }
    called.meter.look(items.len())?;
    let mut both: Vec<(&Value, &Value)> = keys.iter().zip(items.iter()).collect();
    both.sort_by(|a, b| compared(a.0, b.0).unwrap_or(Ordering::Equal));
    Ok(list(
        both.into_iter().map(|(_, item)| item.clone()).collect(),
    ))
}

fn range(called: &mut Called<'_>) -> Outcome {
    let [Value::Int(count)] = called.values else {
        return Err(called.no_overload());
    };
    called.meter.look(usize::try_from(*count).unwrap_or(0))?;
    Ok(list((0..*count).map(Value::Int).collect()))
}

fn reverse(called: &mut Called<'_>) -> Outcome {
    Ok(list(items(called)?.iter().rev().cloned().collect()))
}

fn distinct(called: &mut Called<'_>) -> Outcome {
    let mut found: Vec<Value> = Vec::new();
    for item in items(called)? {
        if !has(&found, item, called.meter)? {
            found.push(item.clone());
        }
    }
    Ok(list(found))
}

fn end(called: &mut Called<'_>, of: fn(&[Value]) -> Option<&Value>) -> Outcome {
    Ok(optional(of(items(called)?).cloned()))
}

fn has(items: &[Value], wanted: &Value, meter: &mut Meter) -> Result<bool, Fault> {
    for item in items {
        if equal(item, wanted, meter)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn has_all(items: &[Value], wanted: &[Value], meter: &mut Meter) -> Result<bool, Fault> {
    for item in wanted {
        if !has(items, item, meter)? {
            return Ok(false);
        }
    }
    Ok(true)
}

type Test = fn(&[Value], &[Value], &mut Meter) -> Result<bool, Fault>;

fn sets(called: &mut Called<'_>, test: Test) -> Outcome {
    match called.values {
        [Value::List(a), Value::List(b)] => Ok(Value::Bool(test(a, b, called.meter)?)),
        _ => Err(called.no_overload()),
    }
}

/// Whether a value is the one that a type has when nothing is said.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Int(number) => *number == 0,
        Value::UInt(number) => *number == 0,
        Value::Float(number) => *number == 0.0,
        Value::String(text) => text.is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Map(map) => map.map.is_empty(),
        Value::Duration(span) => span.is_zero(),
        Value::Opaque(_) => as_optional(value).is_some_and(|optional| optional.value().is_none()),
        _ => false,
    }
}

fn unwrap(called: &mut Called<'_>) -> Outcome {
    let mut found = Vec::new();
    for item in items(called)? {
        let Some(optional) = as_optional(item) else {
            let shown = typed::plain(item);
            return Err(Fault::error(format!("value {shown} is not optional")));
        };
        found.extend(optional.value().cloned());
    }
    Ok(list(found))
}
