//! `index`, `slice` and `len`.

use super::Answer;
use crate::bytestring::GoString;
use crate::collection::{GoBytes, List};
use crate::func::FuncError;
use crate::gotype::Kind;
use crate::value::{UintKind, Value};

fn fail<T>(text: impl Into<String>) -> Result<T, FuncError> {
    Err(FuncError::Message(text.into()))
}

/// The name of the type, of what is pointed to when the value is a pointer.
fn pointed_to(value: &Value) -> &'static str {
    match value.go_type() {
        Some(ty) if ty.kind == Kind::Pointer => ty.elem.unwrap_or(ty).name,
        _ => value.type_name(),
    }
}

/// The index as Go's `indexArg` reads it: an integer not above `bound` (equal passes here and
/// fails when the element is taken).
fn index_arg(index: &Value, bound: usize) -> Result<usize, FuncError> {
    let plain = match index {
        Value::Object(object) => object.underlying(),
        _ => None,
    };
    let n = match plain.as_ref().unwrap_or(index) {
        Value::Int(_, n) => *n,
        Value::Uint(_, n) => n.cast_signed(),
        Value::Nil => return fail("cannot index slice/array with nil"),
        other => {
            return fail(format!(
                "cannot index slice/array with type {}",
                other.type_name()
            ));
        }
    };
    match usize::try_from(n) {
        Ok(at) if at <= bound => Ok(at),
        _ => fail(format!("index out of range: {n}")),
    }
}

/// `index ITEM INDEX...`
pub(super) fn index(item: &Value, indexes: &[Value]) -> Result<Answer, FuncError> {
    if matches!(item, Value::Nil) {
        return fail("index of untyped nil");
    }
    let mut current = Answer::from(item.clone());
    for index in indexes {
        current = match &current.value {
            Value::Nil | Value::TypedNil(_) => return fail("index of nil pointer"),
            Value::List(list) => {
                let at = index_arg(index, list.len())?;
                match list.get(at) {
                    Some(value) => Answer {
                        value: value.clone(),
                        is_interface: list.elem_type().is_empty_interface(),
                    },
                    None => return out_of_range("slice"),
                }
            }
            Value::String(text) => byte_at(text, index, "string")?,
            Value::Bytes(bytes) => byte_at(bytes.as_bytes(), index, "slice")?,
            Value::Map(map) => {
                let key = match index {
                    Value::String(key) => key,
                    Value::Nil => return fail("value is nil; should be of type string"),
                    other => {
                        return fail(format!(
                            "value has type {}; should be string",
                            other.type_name()
                        ));
                    }
                };
                Answer {
                    value: map.get(key).unwrap_or_else(|| Value::zero(map.elem_type())),
                    is_interface: map.elem_type().is_empty_interface(),
                }
            }
            other => {
                return fail(format!("can't index item of type {}", pointed_to(other)));
            }
        };
    }
    Ok(current)
}

fn byte_at(bytes: &[u8], index: &Value, what: &str) -> Result<Answer, FuncError> {
    let at = index_arg(index, bytes.len())?;
    match bytes.get(at) {
        Some(byte) => Ok(Answer::from(Value::Uint(UintKind::Uint8, u64::from(*byte)))),
        None => out_of_range(what),
    }
}

fn out_of_range<T>(what: &str) -> Result<T, FuncError> {
    Err(FuncError::Panic(format!(
        "reflect: {what} index out of range"
    )))
}

/// `slice ITEM [FROM [TO [CAPACITY]]]`
///
/// Unlike `index`, Go's `slice` does not look into an `interface {}` for a bound: only literals,
/// results and variables will do. `marks` tells which bounds came through one.
pub(super) fn slice(item: &Value, indexes: &[Value], marks: &[bool]) -> Result<Value, FuncError> {
    let (len, capacity) = match item {
        Value::Nil => return fail("slice of untyped nil"),
        Value::TypedNil(_) => return fail("slice of nil pointer"),
        _ if indexes.len() > 3 => {
            return fail(format!("too many slice indexes: {}", indexes.len()));
        }
        Value::String(text) => {
            if indexes.len() == 3 {
                return fail("cannot 3-index slice a string");
            }
            (text.len(), text.len())
        }
        Value::Bytes(bytes) => (bytes.len(), bytes.len()),
        Value::List(list) => (list.len(), list.capacity()),
        other => return fail(format!("can't slice item of type {}", pointed_to(other))),
    };
    let mut bounds = [0, len, capacity];
    for (i, (bound, index)) in bounds.iter_mut().zip(indexes).enumerate() {
        if marks.get(i) == Some(&true) {
            return fail("cannot index slice/array with type interface {}");
        }
        *bound = index_arg(index, capacity)?;
    }
    let [from, to, end] = bounds;
    if from > to {
        return fail(format!("invalid slice index: {from} > {to}"));
    }
    if indexes.len() == 3 && to > end {
        return fail(format!("invalid slice index: {to} > {end}"));
    }
    Ok(match item {
        Value::String(text) => {
            Value::String(GoString::from(text.get(from..to).unwrap_or_default()))
        }
        Value::Bytes(bytes) => Value::Bytes(GoBytes::new(
            bytes.as_bytes().get(from..to).unwrap_or_default(),
        )),
        Value::List(list) => {
            let mut items: Vec<Value> = list
                .items()
                .get(from..to.min(len))
                .unwrap_or_default()
                .to_vec();
            // Beyond the length, up to the capacity, Go shows zero elements.
            items.resize_with(to - from, || Value::zero(list.elem_type()));
            Value::List(List::with_capacity(list.go_type(), items, end - from))
        }
        other => other.clone(),
    })
}

/// `len ITEM`
pub(super) fn len(item: &Value, through_interface: bool) -> Result<Value, FuncError> {
    let n = match item {
        Value::Nil if !through_interface => {
            return Err(FuncError::Panic(
                "reflect: call of reflect.Value.Type on zero Value".to_owned(),
            ));
        }
        Value::Nil | Value::TypedNil(_) => return fail("len of nil pointer"),
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(list) => list.len(),
        Value::Map(map) => map.len(),
        other => return fail(format!("len of type {}", pointed_to(other))),
    };
    Ok(Value::int(i64::try_from(n).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_key_of_a_missing_key_is_a_nil_pointer() {
        let map = Value::map([("a", Value::Bool(true))]);
        assert!(index(&map, &["x".into()]).is_ok());
        let error = index(&map, &["x".into(), "y".into()]).err().unwrap();
        assert!(matches!(error, FuncError::Message(m) if m == "index of nil pointer"));
    }

    #[test]
    fn slicing_checks_its_bounds() {
        let cut = |from, to| slice(&"hello".into(), &[Value::int(from), Value::int(to)], &[]);
        assert_eq!(cut(1, 3).unwrap().as_string().unwrap(), "el");
        assert!(cut(3, 1).is_err() && cut(0, 6).is_err() && cut(-1, 2).is_err());
    }
}
