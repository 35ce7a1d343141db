//! Fields, keys and methods: what `.Name` means on a value, and whether a value fits a parameter.
//!
//! Source: `evalField`, `validateType` and `printableValue` of `text/template/exec.go` in Go 1.26.

use crate::bytestring::GoString;
use crate::fault::{Fault, Step};
use crate::fmt::{FormatError, display};
use crate::gotype::{Kind, REFLECT_VALUE, Type};
use crate::object::{Field, Method};
use crate::set::MissingKey;
use crate::stack::Slot;
use crate::value::Value;

/// What a name stands for on a receiver.
pub(crate) enum Member {
    Value(Slot),
    Method(&'static Method),
}

/// Looks for a method, a field or a key. `has_args`: the name is called with arguments.
pub(crate) fn member(
    receiver: &Value,
    is_interface: bool,
    name: &GoString,
    has_args: bool,
    missing_key: MissingKey,
) -> Step<Member> {
    let type_name = || {
        if is_interface {
            "interface {}"
        } else {
            receiver.type_name()
        }
    };
    match receiver {
        Value::Nil if !is_interface => {
            if missing_key == MissingKey::Error {
                return Err(Fault::message(format!(
                    "nil data; no entry for key {}",
                    crate::quote::quote(name)
                )));
            }
            Ok(Member::Value(Slot::invalid()))
        }
        Value::Nil => Err(Fault::message(format!(
            "nil pointer evaluating interface {{}}.{name}"
        ))),
        Value::Map(map) => {
            if let Some(method) = method(map.go_type(), name) {
                return Ok(Member::Method(method));
            }
            if has_args {
                return Err(Fault::message(format!(
                    "{name} is not a method but has arguments"
                )));
            }
            let elem_is_interface = map.elem_type().is_empty_interface();
            if let Some(value) = map.get(name) {
                return Ok(Member::Value(Slot {
                    value,
                    is_interface: elem_is_interface,
                }));
            }
            match missing_key {
                MissingKey::Invalid => Ok(Member::Value(Slot::invalid())),
                MissingKey::Zero => Ok(Member::Value(Slot {
                    value: Value::zero(map.elem_type()),
                    is_interface: elem_is_interface,
                })),
                MissingKey::Error => Err(Fault::message(format!(
                    "map has no entry for key {}",
                    crate::quote::quote(name)
                ))),
            }
        }
        Value::Object(object) => {
            if let Some(method) = method(object.go_type(), name) {
                return Ok(Member::Method(method));
            }
            let field = name.as_str().and_then(|name| object.field(name));
            let (value, field_is_interface) = match field {
                None => return Err(no_field(name, type_name())),
                Some(Field::Unexported) => {
                    return Err(Fault::message(format!(
                        "{name} is an unexported field of struct type {}",
                        type_name()
                    )));
                }
                Some(Field::Value(value)) => (value, false),
                Some(Field::Interface(value)) => (value, true),
            };
            if has_args {
                return Err(Fault::message(format!(
                    "{name} has arguments but cannot be invoked as function"
                )));
            }
            Ok(Member::Value(Slot {
                value,
                is_interface: field_is_interface,
            }))
        }
        Value::TypedNil(ty) if ty.kind == Kind::Pointer => Err(Fault::message(format!(
            "nil pointer evaluating {}.{name}",
            type_name()
        ))),
        other => match other.go_type().and_then(|ty| method(ty, name)) {
            Some(method) => Ok(Member::Method(method)),
            None => Err(no_field(name, type_name())),
        },
    }
}

fn method(ty: &'static Type, name: &GoString) -> Option<&'static Method> {
    if ty.methods.is_empty() {
        return None;
    }
    ty.method(name.as_str()?)
}

fn no_field(name: &GoString, type_name: &str) -> Box<Fault> {
    Fault::message(format!("can't evaluate field {name} in type {type_name}"))
}

/// Checks a value against a parameter type; gives a replacement when the value itself does not
/// fit but its zero value or what it points to does.
pub(crate) fn fit(value: &Value, is_interface: bool, ty: &'static Type) -> Step<Option<Value>> {
    let Some(own) = value.go_type() else {
        if !is_interface {
            if ty.kind.is_nillable() || ty.is(&REFLECT_VALUE) {
                return Ok(Some(Value::zero(ty)));
            }
            return Err(Fault::message(format!("invalid value; expected {ty}")));
        }
        if ty.is_empty_interface() || ty.is(&REFLECT_VALUE) {
            return Ok(None);
        }
        return Err(wrong_type(ty, "interface {}"));
    };
    if own.assignable_to(ty) || ty.is(&REFLECT_VALUE) {
        // A defined map or slice type given to a parameter of the plain type becomes the plain type.
        return Ok(match value {
            Value::Map(map) if ty.kind == Kind::Map && !own.is(ty) => {
                Some(Value::Map(map.with_type(ty)))
            }
            Value::List(list) if ty.kind == Kind::Slice && !own.is(ty) => {
                Some(Value::List(list.with_type(ty)))
            }
            Value::Object(object) if ty.is_empty_interface() => object.copied(),
            _ => None,
        });
    }
    if let Value::Object(object) = value
        && let Some(pointed) = object.deref()
        && pointed.go_type().is_some_and(|t| t.assignable_to(ty))
    {
        return Ok(Some(pointed));
    }
    Err(wrong_type(ty, own.name))
}

fn wrong_type(wanted: &Type, got: &str) -> Box<Fault> {
    Fault::message(format!(
        "wrong type for value; expected {wanted}; got {got}"
    ))
}

/// What is printed for a value: a pointer without `String` or `Error` prints what it points to.
pub(crate) fn printable(value: &Value) -> Result<Value, FormatError> {
    if let Value::Object(object) = value
        && object.go_type().kind == Kind::Pointer
        && object.text().is_none()
    {
        if let Some(pointed) = object.deref() {
            return Ok(pointed);
        }
        // Printed by itself a pointer to a struct is the struct with an ampersand.
        let text = display(value)?;
        let text = text.strip_prefix(b"&").unwrap_or(&text);
        return Ok(Value::string(text));
    }
    Ok(value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collection::Map;
    use crate::gotype::{ANY, MAP_ANY, STRING};

    static VALUES: Type = Type::defined("common.Values", &MAP_ANY, &[]);

    #[test]
    fn a_defined_map_becomes_the_plain_type_of_a_parameter() {
        let map = Map::typed(&VALUES);
        let value = Value::Map(map.clone());
        assert!(fit(&value, false, &ANY).unwrap().is_none());
        let plain = fit(&value, false, &MAP_ANY).unwrap().unwrap();
        assert_eq!(plain.type_name(), "map[string]interface {}");
        assert!(plain.as_map().unwrap().same(&map));
    }

    #[test]
    fn nil_has_three_wordings() {
        // Text of validateType in Go 1.26; the third wording, of a literal nil, is in `constant`.
        let text = |result: Step<Option<Value>>| match result.unwrap_err().root {
            crate::error::Root::Message(text) => text,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            text(fit(&Value::Nil, true, &STRING)),
            "wrong type for value; expected string; got interface {}"
        );
        assert_eq!(
            text(fit(&Value::Nil, false, &STRING)),
            "invalid value; expected string"
        );
    }
}
