//! Kinds, types and deep equality.

use super::args::{any, bytes, text};
use crate::context::Context;
use crate::func::{FuncError, Function, Signature};
use crate::gotype::{ANY, BOOL, STRING};
use crate::value::{MAX_VALUE_DEPTH, Value};

/// Functions of this module.
pub(super) fn table() -> Vec<Function> {
    let name = Signature::new(types!(ANY), &STRING);
    let check = Signature::new(types!(STRING, ANY), &BOOL);
    vec![
        Function::plain(
            "deepEqual",
            Signature::new(types!(ANY, ANY), &BOOL),
            |ctx, args| Ok(Value::Bool(deep_equal(ctx, any(args, 0), any(args, 1))?)),
        ),
        Function::plain("kindIs", check, |_, args| {
            Ok(Value::Bool(
                any(args, 1).kind().name().as_bytes() == text(args, 0),
            ))
        }),
        Function::plain("kindOf", name, |_, args| {
            Ok(bytes(any(args, 0).kind().name()))
        }),
        Function::plain("typeIs", check, |_, args| {
            Ok(Value::Bool(
                any(args, 1).type_name().as_bytes() == text(args, 0),
            ))
        }),
        Function::plain("typeIsLike", check, |_, args| {
            let (name, wanted) = (any(args, 1).type_name().as_bytes(), text(args, 0));
            Ok(Value::Bool(
                name == wanted || name.strip_prefix(b"*") == Some(wanted),
            ))
        }),
        Function::plain("typeOf", name, |_, args| {
            Ok(bytes(any(args, 0).type_name()))
        }),
    ]
}

/// `reflect.DeepEqual`.
///
/// # Errors
/// Values nested too deep, maps that contain themselves.
pub(super) fn deep_equal(ctx: &mut Context<'_>, a: &Value, b: &Value) -> Result<bool, FuncError> {
    equal(ctx, a, b, 0)
}

fn equal(ctx: &mut Context<'_>, a: &Value, b: &Value, depth: usize) -> Result<bool, FuncError> {
    if depth > MAX_VALUE_DEPTH {
        return Err(FuncError::new("values are nested too deep to be compared"));
    }
    if depth > 0 {
        ctx.charge(1)?;
    }
    let same_type = match (a.go_type(), b.go_type()) {
        (Some(a), Some(b)) => a.is(b),
        (None, None) => return Ok(true),
        _ => false,
    };
    if !same_type {
        return Ok(false);
    }
    #[allow(clippy::float_cmp, reason = "Go compares floats with ==")]
    Ok(match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(_, a), Value::Int(_, b)) => a == b,
        (Value::Uint(_, a), Value::Uint(_, b)) => a == b,
        (Value::Float(_, a), Value::Float(_, b)) => a == b,
        (Value::Complex(_, a), Value::Complex(_, b)) => a == b,
        (Value::String(a), Value::String(b)) => a == b,
        (Value::Bytes(a), Value::Bytes(b)) => {
            a.is_nil() == b.is_nil() && a.as_bytes() == b.as_bytes()
        }
        (Value::List(a), Value::List(b)) => {
            if a.is_nil() != b.is_nil() || a.len() != b.len() {
                return Ok(false);
            }
            if a.same(b) {
                return Ok(true);
            }
            for (x, y) in a.iter().zip(b.iter()) {
                if !equal(ctx, x, y, depth + 1)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Map(a), Value::Map(b)) => {
            if a.is_nil() != b.is_nil() || a.len() != b.len() {
                return Ok(false);
            }
            if a.same(b) {
                return Ok(true);
            }
            for ((ka, x), (kb, y)) in a.borrow().iter().zip(b.borrow().iter()) {
                if ka != kb || !equal(ctx, x, y, depth + 1)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Object(a), Value::Object(b)) => {
            if std::rc::Rc::ptr_eq(a, b) {
                return Ok(true);
            }
            if let (Some(x), Some(y)) = (a.underlying(), b.underlying()) {
                return equal(ctx, &x, &y, depth + 1);
            }
            if let Some(same) = a.go_eq(b.as_ref()) {
                return Ok(same);
            }
            for ((_, x), (_, y)) in a.fields().iter().zip(b.fields().iter()) {
                if !equal(ctx, x, y, depth + 1)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::TypedNil(_), Value::TypedNil(_)) => true,
        _ => false,
    })
}
