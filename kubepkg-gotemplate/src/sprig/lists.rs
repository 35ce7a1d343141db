//! Lists. What is no slice is refused in Sprig's words; nil panics, as reflection does in Go.

use super::args::{NIL_DEREFERENCE, Sequence, any, int, is_empty, list, panic, sequence, size};
use super::reflect::deep_equal;
use crate::collection::List;
use crate::context::Context;
use crate::func::{FuncError, FuncResult, Function, Signature};
use crate::gotype::{ANY, BOOL, INT, SLICE_ANY, SLICE_SLICE_ANY};
use crate::value::Value;

/// Functions of this module.
pub(super) fn table() -> Vec<Function> {
    let to_list = Signature::new(types!(ANY), &SLICE_ANY);
    let to_any = Signature::new(types!(ANY), &ANY);
    let adding = Signature::new(types!(ANY, ANY), &SLICE_ANY);
    let chunks = Signature::new(types!(INT, ANY), &SLICE_SLICE_ANY);
    let having = Signature::new(types!(ANY, ANY), &BOOL);
    let omitting = Signature::variadic(types!(ANY), &ANY, &SLICE_ANY);
    let slicing = Signature::variadic(types!(ANY), &ANY, &ANY);
    let making = Signature::variadic(&[], &ANY, &SLICE_ANY);
    let mut table = Vec::new();
    let mut add = |names: &[&'static str], signature: Signature, call: crate::func::FuncPtr| {
        for name in names {
            table.push(Function::plain(name, signature, call));
        }
    };
    add(&["list", "tuple"], making, |_, args| {
        Ok(list(args.to_vec()))
    });
    add(&["append", "push", "mustAppend", "mustPush"], adding, push);
    add(&["prepend", "mustPrepend"], adding, prepend);
    add(&["chunk", "mustChunk"], chunks, chunk);
    add(&["first", "mustFirst"], to_any, |_, args| {
        Ok(items(any(args, 0), "Cannot find first on type")?
            .first()
            .cloned()
            .unwrap_or_default())
    });
    add(&["last", "mustLast"], to_any, |_, args| {
        Ok(items(any(args, 0), "Cannot find last on type")?
            .last()
            .cloned()
            .unwrap_or_default())
    });
    add(&["rest", "mustRest"], to_list, |_, args| {
        let all = items(any(args, 0), "Cannot find rest on type")?;
        Ok(all
            .split_first()
            .map_or_else(nil_list, |(_, rest)| list(rest.to_vec())))
    });
    add(&["initial", "mustInitial"], to_list, |_, args| {
        let all = items(any(args, 0), "Cannot find initial on type")?;
        Ok(all
            .split_last()
            .map_or_else(nil_list, |(_, rest)| list(rest.to_vec())))
    });
    add(&["reverse", "mustReverse"], to_list, |_, args| {
        let mut all = items(any(args, 0), "Cannot find reverse on type")?;
        all.reverse();
        Ok(list(all))
    });
    add(&["compact", "mustCompact"], to_list, |_, args| {
        let mut all = items(any(args, 0), "Cannot compact on type")?;
        all.retain(|item| !is_empty(item));
        Ok(list(all))
    });
    add(&["uniq", "mustUniq"], to_list, uniq);
    add(&["without", "mustWithout"], omitting, without);
    add(&["has", "mustHas"], having, has);
    add(&["slice", "mustSlice"], slicing, slice);
    add(&["concat"], Signature::variadic(&[], &ANY, &ANY), concat);
    table
}

fn nil_list() -> Value {
    Value::List(List::nil(&SLICE_ANY))
}

/// The items of a slice, or the complaint with the name of the kind.
fn items(value: &Value, complaint: &str) -> Result<Vec<Value>, FuncError> {
    match sequence(value)? {
        Sequence::Items(items) => Ok(items.into_owned()),
        Sequence::Kind(kind) => Err(FuncError::new(format!("{complaint} {kind}"))),
    }
}

/// Go's capacity after one item is appended to a full slice of 16-byte items.
fn grown(len: usize) -> usize {
    crate::collection::grown(len, len + 1)
}

fn push(_: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let mut all = items(any(args, 0), "Cannot push on type")?;
    let capacity = grown(all.len());
    all.push(any(args, 1).clone());
    Ok(Value::List(List::with_capacity(&SLICE_ANY, all, capacity)))
}

fn prepend(_: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let mut all = items(any(args, 0), "Cannot prepend on type")?;
    all.insert(0, any(args, 1).clone());
    Ok(list(all))
}

fn chunk(_: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let width = int(args, 0);
    let all = items(any(args, 1), "Cannot chunk type")?;
    if width <= 0 {
        // The number of chunks is computed in floating point: none, one, or out of range.
        let last = i64::try_from(all.len()).unwrap_or(i64::MAX) - 1;
        let chunks = match last {
            0 if width < -1 => vec![list(all)],
            1.. if last <= width.saturating_neg() => Vec::new(),
            _ => return Err(panic("runtime error: makeslice: len out of range")),
        };
        return Ok(Value::List(List::typed(&SLICE_SLICE_ANY, chunks)));
    }
    let chunks = all
        .chunks(size(width))
        .map(|part| list(part.to_vec()))
        .collect();
    Ok(Value::List(List::typed(&SLICE_SLICE_ANY, chunks)))
}

fn contains(ctx: &mut Context<'_>, haystack: &[Value], needle: &Value) -> Result<bool, FuncError> {
    for item in haystack {
        if deep_equal(ctx, needle, item)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn uniq(ctx: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let all = items(any(args, 0), "Cannot find uniq on type")?;
    let mut kept: Vec<Value> = Vec::new();
    for item in all {
        ctx.charge(kept.len() as u64 / 10)?;
        if !contains(ctx, &kept, &item)? {
            kept.push(item);
        }
    }
    Ok(list(kept))
}

fn without(ctx: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let all = items(any(args, 0), "Cannot find without on type")?;
    let omitted = args.get(1..).unwrap_or_default();
    let mut kept = Vec::new();
    for item in all {
        ctx.charge(omitted.len() as u64 / 10)?;
        if !contains(ctx, omitted, &item)? {
            kept.push(item);
        }
    }
    Ok(list(kept))
}

fn has(ctx: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let haystack = any(args, 1);
    if matches!(haystack, Value::Nil) {
        return Ok(Value::Bool(false));
    }
    let all = items(haystack, "Cannot find has on type")?;
    Ok(Value::Bool(contains(ctx, &all, any(args, 0))?))
}

fn slice(_: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let value = any(args, 0);
    let (len, capacity) = match value {
        Value::Nil => return Err(panic(NIL_DEREFERENCE)),
        Value::List(list) => (list.len(), list.capacity()),
        Value::Bytes(bytes) => (bytes.len(), bytes.len()),
        other => {
            return Err(FuncError::new(format!(
                "list should be type of slice or array but {}",
                other.kind().name()
            )));
        }
    };
    if len == 0 {
        return Ok(Value::Nil);
    }
    let index = |at: usize| args.get(at).map(super::convert::to_int64);
    let start = index(1).unwrap_or(0);
    let end = index(2).unwrap_or(i64::try_from(len).unwrap_or(i64::MAX));
    let (Ok(from), Ok(to)) = (usize::try_from(start), usize::try_from(end)) else {
        return Err(panic("reflect.Value.Slice: slice index out of bounds"));
    };
    if from > to || to > capacity {
        return Err(panic("reflect.Value.Slice: slice index out of bounds"));
    }
    match value {
        Value::Bytes(data) => Ok(Value::Bytes(crate::collection::GoBytes::new(
            data.as_bytes().get(from..to).unwrap_or_default(),
        ))),
        Value::List(list) => {
            let mut kept: Vec<Value> = list
                .items()
                .get(from..to.min(len))
                .unwrap_or_default()
                .to_vec();
            // Between length and capacity lie zero values.
            let zero = Value::zero(list.elem_type());
            kept.resize(to - from, zero);
            Ok(Value::List(List::with_capacity(
                list.go_type(),
                kept,
                capacity - from,
            )))
        }
        _ => Ok(Value::Nil),
    }
}

fn concat(_: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let mut all: Vec<Value> = Vec::new();
    for value in args {
        match sequence(value)? {
            Sequence::Items(items) => all.extend(items.iter().cloned()),
            Sequence::Kind(kind) => {
                return Err(panic(format!("Cannot concat type {kind} as list")));
            }
        }
    }
    if all.is_empty() {
        Ok(nil_list())
    } else {
        Ok(list(all))
    }
}
