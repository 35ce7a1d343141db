//! `call FUNCTION ARGUMENT...`

use crate::context::Context;
use crate::func::{FuncError, FuncResult};
use crate::gotype::{Kind, Type};
use crate::value::{IntKind, UintKind, Value};

/// Calls a function value. `name` is how the template wrote it.
pub(crate) fn call(ctx: &mut Context<'_>, name: &str, args: &[Value]) -> FuncResult {
    let (fun, args) = match args.split_first() {
        Some((fun, args)) => (fun, args),
        None => (&Value::Nil, args),
    };
    let func = match fun {
        Value::Nil => return Err(FuncError::new("call of nil")),
        Value::Func(func) => func,
        other => {
            return Err(FuncError::Message(format!(
                "non-function {name} of type {}",
                other.type_name()
            )));
        }
    };
    let signature = &func.signature;
    let wanted = signature.params.len();
    if signature.variadic.is_some() && args.len() < wanted {
        return Err(FuncError::Message(format!(
            "wrong number of args for {name}: got {} want at least {wanted}",
            args.len()
        )));
    }
    if signature.variadic.is_none() && args.len() != wanted {
        return Err(FuncError::Message(format!(
            "wrong number of args for {name}: got {} want {wanted}",
            args.len()
        )));
    }
    let prepared = args
        .iter()
        .enumerate()
        .map(|(i, arg)| {
            prepare(arg, signature.param(i))
                .map_err(|e| FuncError::Message(format!("arg {i}: {e}")))
        })
        .collect::<Result<Vec<_>, _>>()?;
    (func.call)(ctx, &prepared)
}

/// Go's `prepareArg`: the value as the parameter's type, integers converted.
fn prepare(value: &Value, ty: &'static Type) -> Result<Value, String> {
    let Some(own) = value.go_type() else {
        if ty.kind.is_nillable() {
            return Ok(Value::zero(ty));
        }
        return Err(format!("value is nil; should be of type {ty}"));
    };
    if own.assignable_to(ty) {
        return Ok(value.clone());
    }
    let bits = match value {
        Value::Int(_, n) => Some(*n),
        Value::Uint(_, n) => Some(n.cast_signed()),
        _ => None,
    };
    bits.and_then(|bits| convert_int(bits, ty.kind))
        .ok_or_else(|| format!("value has type {own}; should be {ty}"))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "Go's integer conversions keep the low bits"
)]
fn convert_int(n: i64, kind: Kind) -> Option<Value> {
    Some(match kind {
        Kind::Int => Value::Int(IntKind::Int, n),
        Kind::Int8 => Value::Int(IntKind::Int8, i64::from(n as i8)),
        Kind::Int16 => Value::Int(IntKind::Int16, i64::from(n as i16)),
        Kind::Int32 => Value::Int(IntKind::Int32, i64::from(n as i32)),
        Kind::Int64 => Value::Int(IntKind::Int64, n),
        Kind::Uint => Value::Uint(UintKind::Uint, n as u64),
        Kind::Uint8 => Value::Uint(UintKind::Uint8, u64::from(n as u8)),
        Kind::Uint16 => Value::Uint(UintKind::Uint16, u64::from(n as u16)),
        Kind::Uint32 => Value::Uint(UintKind::Uint32, u64::from(n as u32)),
        Kind::Uint64 => Value::Uint(UintKind::Uint64, n as u64),
        Kind::Uintptr => Value::Uint(UintKind::Uintptr, n as u64),
        _ => return None,
    })
}
