//! Dictionaries. `set`, `unset` and the merges change the map they are given.

use super::args::{any, bytes, list, map, panic, strval, text};
use super::merge;
use crate::bytestring::GoString;
use crate::collection::Map;
use crate::context::Context;
use crate::func::{FuncError, FuncResult, Function, Signature};
use crate::gotype::{ANY, BOOL, MAP_ANY, SLICE_ANY, SLICE_STRING, STRING};
use crate::value::{MAX_VALUE_DEPTH, Value};

/// Functions of this module.
pub(super) fn table() -> Vec<Function> {
    let merging = Signature::variadic(types!(MAP_ANY), &MAP_ANY, &ANY);
    let choosing = Signature::variadic(types!(MAP_ANY), &STRING, &MAP_ANY);
    vec![
        Function::plain(
            "deepCopy",
            Signature::new(types!(ANY), &ANY),
            |ctx, args| {
                if matches!(any(args, 0), Value::Nil) {
                    return Err(panic("reflect: call of reflect.Value.Type on zero Value"));
                }
                deep_copy(ctx, any(args, 0), 0)
            },
        ),
        Function::plain("dict", Signature::variadic(&[], &ANY, &MAP_ANY), dict),
        Function::plain("dig", Signature::variadic(&[], &ANY, &ANY), dig),
        Function::plain(
            "get",
            Signature::new(types!(MAP_ANY, STRING), &ANY),
            |_, args| Ok(map(args, 0).get(text(args, 1)).unwrap_or_else(|| bytes(""))),
        ),
        Function::plain(
            "hasKey",
            Signature::new(types!(MAP_ANY, STRING), &BOOL),
            |_, args| Ok(Value::Bool(map(args, 0).contains_key(text(args, 1)))),
        ),
        Function::plain(
            "keys",
            Signature::variadic(&[], &MAP_ANY, &SLICE_STRING),
            |ctx, args| {
                let keys = (0..args.len()).flat_map(|i| map(args, i).keys());
                let mut keys: Vec<GoString> = keys.collect();
                ctx.env().order(&mut keys);
                Ok(Value::string_list(keys))
            },
        ),
        Function::plain("merge", merging, |ctx, args| merge_all(ctx, args, false)),
        Function::plain("mergeOverwrite", merging, |ctx, args| {
            merge_all(ctx, args, true)
        }),
        Function::plain(
            "mustDeepCopy",
            Signature::new(types!(ANY), &ANY),
            |ctx, args| {
                if matches!(any(args, 0), Value::Nil) {
                    return Err(panic("reflect: call of reflect.Value.Type on zero Value"));
                }
                deep_copy(ctx, any(args, 0), 0)
            },
        ),
        Function::plain("mustMerge", merging, |ctx, args| {
            merge_all(ctx, args, false)
        }),
        Function::plain("mustMergeOverwrite", merging, |ctx, args| {
            merge_all(ctx, args, true)
        }),
        Function::plain("omit", choosing, omit),
        Function::plain("pick", choosing, pick),
        Function::plain(
            "pluck",
            Signature::variadic(types!(STRING), &MAP_ANY, &SLICE_ANY),
            |_, args| {
                let found = (1..args.len()).filter_map(|i| map(args, i).get(text(args, 0)));
                Ok(list(found.collect()))
            },
        ),
        Function::plain(
            "set",
            Signature::new(types!(MAP_ANY, STRING, ANY), &MAP_ANY),
            |_, args| {
                let target = map(args, 0);
                if !target.insert(GoString::from(text(args, 1)), any(args, 2).clone()) {
                    return Err(panic("assignment to entry in nil map"));
                }
                Ok(Value::Map(target))
            },
        ),
        Function::plain(
            "unset",
            Signature::new(types!(MAP_ANY, STRING), &MAP_ANY),
            |_, args| {
                let target = map(args, 0);
                target.remove(text(args, 1));
                Ok(Value::Map(target))
            },
        ),
        Function::plain(
            "values",
            Signature::new(types!(MAP_ANY), &SLICE_ANY),
            |ctx, args| {
                let source = map(args, 0);
                let mut keys = source.keys();
                ctx.env().order(&mut keys);
                let values = keys.iter().filter_map(|key| source.get(key));
                Ok(list(values.collect()))
            },
        ),
    ]
}

fn dict(_: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let result = Map::default();
    for pair in args.chunks(2) {
        let key = strval(any(pair, 0))?;
        result.insert(key, pair.get(1).cloned().unwrap_or_else(|| bytes("")));
    }
    Ok(Value::Map(result))
}

fn strings_from(args: &[Value]) -> impl Iterator<Item = &[u8]> {
    (1..args.len()).map(|i| text(args, i))
}

fn pick(_: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let source = map(args, 0);
    let result = Map::default();
    for key in strings_from(args) {
        if let Some(value) = source.get(key) {
            result.insert(GoString::from(key), value);
        }
    }
    Ok(Value::Map(result))
}

fn omit(_: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let result = Map::default();
    for (key, value) in map(args, 0).borrow().iter() {
        if !strings_from(args).any(|omitted| omitted == key.as_bytes()) {
            result.insert(key.clone(), value.clone());
        }
    }
    Ok(Value::Map(result))
}

fn merge_all(ctx: &mut Context<'_>, args: &[Value], overwrite: bool) -> FuncResult {
    let mut target = map(args, 0);
    for i in 1..args.len() {
        let source = map(args, i);
        if target.is_nil() && !source.is_nil() {
            target = Map::typed(target.go_type());
        }
        merge::merge(ctx, &target, &source, overwrite, 0)?;
    }
    Ok(Value::Map(target))
}

/// What Go says when an interface holds another type than asked for.
fn conversion(value: &Value, wanted: &str) -> FuncError {
    let held = if matches!(value, Value::Nil) {
        "nil"
    } else {
        value.type_name()
    };
    panic(format!(
        "interface conversion: interface {{}} is {held}, not {wanted}"
    ))
}

fn dig(_: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let [keys @ .., default, source] = args else {
        return Err(panic("dig needs at least three arguments"));
    };
    if keys.is_empty() {
        return Err(panic("dig needs at least three arguments"));
    }
    let as_map = |value: &Value| match value {
        Value::Map(map) if map.go_type().is(&MAP_ANY) => Ok(map.clone()),
        other => Err(conversion(other, "map[string]interface {}")),
    };
    let mut current = as_map(source)?;
    for key in keys {
        if !matches!(key, Value::String(_)) {
            return Err(conversion(key, "string"));
        }
    }
    for (i, key) in keys.iter().enumerate() {
        let Value::String(key) = key else {
            continue;
        };
        let Some(step) = current.get(key) else {
            return Ok(default.clone());
        };
        if i + 1 == keys.len() {
            return Ok(step);
        }
        current = as_map(&step)?;
    }
    Ok(Value::Nil)
}

/// A copy that shares no map or list with `value`.
fn deep_copy(ctx: &mut Context<'_>, value: &Value, depth: usize) -> FuncResult {
    ctx.charge(1)?;
    if depth > MAX_VALUE_DEPTH {
        return Err(FuncError::new("value is nested too deep to be copied"));
    }
    Ok(match value {
        Value::Map(source) if !source.is_nil() => {
            let copy = Map::typed(source.go_type());
            for (key, item) in source.borrow().iter() {
                copy.insert(key.clone(), deep_copy(ctx, item, depth + 1)?);
            }
            Value::Map(copy)
        }
        Value::List(source) if !source.is_nil() => {
            let items: Result<Vec<Value>, FuncError> = source
                .iter()
                .map(|item| deep_copy(ctx, item, depth + 1))
                .collect();
            Value::List(crate::collection::List::typed(source.go_type(), items?))
        }
        other => other.clone(),
    })
}
