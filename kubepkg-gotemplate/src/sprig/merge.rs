//! Merging of maps as `mergo` 1.0.1 does it for Sprig: nested maps are merged in place, what is empty
//! (`0`, `""`, `false`, empty containers, nil) counts as absent in the target.

use super::args::panic;
use crate::collection::Map;
use crate::context::Context;
use crate::func::FuncError;
use crate::gotype::Kind;
use crate::value::{MAX_VALUE_DEPTH, Value};

/// What `mergo` takes for an empty value.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Complex(..) => false,
        Value::Object(object) => object.underlying().is_some_and(|inner| is_empty(&inner)),
        other => !other.is_true(),
    }
}

fn put(target: &Map, key: &crate::GoString, value: Value) -> Result<(), FuncError> {
    let elem = target.elem_type();
    let fits = value
        .go_type()
        .map_or(elem.kind == Kind::Interface, |ty| ty.assignable_to(elem));
    if !fits {
        return Err(panic(format!(
            "reflect.Value.SetMapIndex: value of type interface {{}} is not assignable to type {}",
            elem.name
        )));
    }
    target.insert(key.clone(), value);
    Ok(())
}

/// Merges `source` into `target`.
pub(super) fn merge(
    ctx: &mut Context<'_>,
    target: &Map,
    source: &Map,
    overwrite: bool,
    depth: usize,
) -> Result<(), FuncError> {
    if depth > MAX_VALUE_DEPTH {
        return Err(FuncError::new("maps are nested too deep to be merged"));
    }
    // The two may be one map, or share parts.
    let entries: Vec<_> = source
        .borrow()
        .iter()
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    for (key, value) in entries {
        ctx.charge(1)?;
        let old = target.get(&key);
        if value.is_nil() && matches!(value, Value::Nil) {
            if overwrite {
                put(target, &key, Value::Nil)?;
            }
            continue;
        }
        match (&value, &old) {
            (Value::Map(from), Some(Value::Map(into))) if !into.is_nil() => {
                merge(ctx, into, from, overwrite, depth + 1)?;
            }
            (Value::List(_) | Value::Bytes(_), _) if overwrite || target.is_empty() => {
                put(target, &key, value.clone())?;
            }
            _ => {}
        }
        let old_kind = old.as_ref().map(Value::kind);
        if old.as_ref().is_some_and(|old| !is_empty(old)) {
            let kept = value.kind() == Kind::Slice
                || value.kind() == Kind::Map && old_kind == Some(Kind::Map);
            if kept {
                continue;
            }
        }
        if overwrite || old.as_ref().is_none_or(is_empty) {
            put(target, &key, value)?;
        }
    }
    Ok(())
}
