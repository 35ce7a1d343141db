//! `eq`, `ne`, `lt`, `le`, `gt`, `ge`.

use std::rc::Rc;

use crate::fmt::printf;
use crate::func::FuncError;
use crate::gotype::Kind;
use crate::value::Value;

/// The classes of values that compare with each other.
#[derive(Clone, Copy)]
enum Basic<'a> {
    Other,
    Bool(bool),
    Complex(f64, f64),
    Int(i64),
    Float(f64),
    String(&'a [u8]),
    Uint(u64),
}

/// A defined scalar type compares as its underlying value.
fn plain(value: &Value) -> Option<Value> {
    match value {
        Value::Object(object) => object.underlying(),
        _ => None,
    }
}

fn basic(value: &Value) -> Basic<'_> {
    match value {
        Value::Bool(b) => Basic::Bool(*b),
        Value::Int(_, n) => Basic::Int(*n),
        Value::Uint(_, n) => Basic::Uint(*n),
        Value::Float(_, x) => Basic::Float(*x),
        Value::Complex(_, parts) => Basic::Complex(parts.0, parts.1),
        Value::String(s) => Basic::String(s),
        _ => Basic::Other,
    }
}

fn incompatible(a: &Value, b: &Value) -> FuncError {
    FuncError::Message(format!(
        "incompatible types for comparison: {} and {}",
        a.type_name(),
        b.type_name()
    ))
}

fn complain(format: &str, args: &[Value]) -> FuncError {
    match printf(format.as_bytes(), args) {
        Ok(text) => FuncError::Message(String::from_utf8_lossy(&text).into_owned()),
        Err(error) => error.into(),
    }
}

/// Whether the first equals one of the others.
pub(super) fn eq(first: &Value, others: &[Value]) -> Result<bool, FuncError> {
    if others.is_empty() {
        return Err(FuncError::new("missing argument for comparison"));
    }
    let first_plain = plain(first);
    let a = basic(first_plain.as_ref().unwrap_or(first));
    for other in others {
        let other_plain = plain(other);
        let b = basic(other_plain.as_ref().unwrap_or(other));
        if eq_one(first, a, other, b)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn eq_one(first: &Value, a: Basic<'_>, other: &Value, b: Basic<'_>) -> Result<bool, FuncError> {
    Ok(match (a, b) {
        (Basic::Bool(a), Basic::Bool(b)) => a == b,
        (Basic::Complex(ar, ai), Basic::Complex(br, bi)) => ar == br && ai == bi,
        (Basic::Float(a), Basic::Float(b)) => a == b,
        (Basic::Int(a), Basic::Int(b)) => a == b,
        (Basic::Uint(a), Basic::Uint(b)) => a == b,
        (Basic::String(a), Basic::String(b)) => a == b,
        (Basic::Int(i), Basic::Uint(u)) | (Basic::Uint(u), Basic::Int(i)) => {
            u64::try_from(i).is_ok_and(|i| i == u)
        }
        (Basic::Other, Basic::Other) => return eq_other(first, other),
        // A nil of no type is unlike every basic value.
        _ if matches!(first, Value::Nil) || matches!(other, Value::Nil) => false,
        _ => return Err(incompatible(first, other)),
    })
}

fn eq_other(first: &Value, other: &Value) -> Result<bool, FuncError> {
    let (ka, kb) = (first.kind(), other.kind());
    if ka != kb && ka != Kind::Invalid && kb != Kind::Invalid {
        return Err(complain(
            "non-comparable types %s: %v, %s: %v",
            &[
                first.clone(),
                Value::string(first.type_name()),
                Value::string(other.type_name()),
                other.clone(),
            ],
        ));
    }
    if first.is_nil() || other.is_nil() {
        return Ok(first.is_nil() == other.is_nil());
    }
    let not_comparable = || {
        complain(
            "non-comparable type %s: %v",
            &[other.clone(), Value::string(other.type_name())],
        )
    };
    match (first, other) {
        (Value::Object(a), Value::Object(b)) => {
            if !a.go_type().is(b.go_type()) {
                return Ok(false);
            }
            match a.go_eq(b.as_ref()) {
                Some(equal) => Ok(equal),
                None if a.go_type().kind == Kind::Pointer => Ok(Rc::ptr_eq(a, b)),
                None => Err(not_comparable()),
            }
        }
        _ => Err(not_comparable()),
    }
}

/// Whether the first is less than the second.
pub(super) fn lt(first: &Value, second: &Value) -> Result<bool, FuncError> {
    let bad = || FuncError::new("invalid type for comparison");
    let (first_plain, second_plain) = (plain(first), plain(second));
    let a = basic(first_plain.as_ref().unwrap_or(first));
    let b = basic(second_plain.as_ref().unwrap_or(second));
    Ok(match (a, b) {
        (Basic::Other, _) | (_, Basic::Other) => return Err(bad()),
        (Basic::Bool(_), Basic::Bool(_)) | (Basic::Complex(..), Basic::Complex(..)) => {
            return Err(bad());
        }
        (Basic::Float(a), Basic::Float(b)) => a < b,
        (Basic::Int(a), Basic::Int(b)) => a < b,
        (Basic::Uint(a), Basic::Uint(b)) => a < b,
        (Basic::String(a), Basic::String(b)) => a < b,
        (Basic::Int(i), Basic::Uint(u)) => u64::try_from(i).map_or(true, |i| i < u),
        (Basic::Uint(u), Basic::Int(i)) => u64::try_from(i).is_ok_and(|i| u < i),
        _ => return Err(incompatible(first, second)),
    })
}

/// Less, or equal.
pub(super) fn le(first: &Value, second: &Value) -> Result<bool, FuncError> {
    Ok(lt(first, second)? || eq(first, std::slice::from_ref(second))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::UintKind;

    #[test]
    fn signed_and_unsigned_compare_by_value() {
        let u = Value::Uint(UintKind::Uint, 3);
        assert!(eq(&Value::int(3), std::slice::from_ref(&u)).unwrap());
        assert!(lt(&Value::int(-1), &u).unwrap());
        assert!(!lt(&u, &Value::int(-1)).unwrap());
    }

    #[test]
    fn kinds_that_do_not_fit_are_refused() {
        let error = eq(&Value::int(1), &[Value::float64(1.0)]).unwrap_err();
        assert!(matches!(error, FuncError::Message(m)
            if m == "incompatible types for comparison: int and float64"));
        assert!(!eq(&Value::int(1), &[Value::Nil]).unwrap());
        assert!(lt(&Value::Bool(true), &Value::Bool(false)).is_err());
    }
}
