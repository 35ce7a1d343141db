//! Whether a value is of its type.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use super::path::PathElement;
use super::typed::{Atom, Part, element_of};
use crate::go;
use crate::schema::{Items, List, Map, Scalar, Type, TypeId, Types};

/// Offences against a type, as structured-merge-diff lists them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypeErrors(pub Vec<TypeError>);

/// One offence against a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeError {
    /// The path of the field, as it is printed.
    pub path: String,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for TypeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            out.write_str(&self.message)
        } else {
            write!(out, "{}: {}", self.path, self.message)
        }
    }
}

impl fmt::Display for TypeErrors {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [only] => only.fmt(out),
            several => {
                out.write_str("errors:")?;
                several
                    .iter()
                    .try_for_each(|error| write!(out, "\n  {error}"))
            }
        }
    }
}

impl std::error::Error for TypeErrors {}

/// Checks a value. Lists may hold two items of one key where `duplicates` says so: an update can leave such.
pub(super) fn validate(value: &Value, kind: &Type, duplicates: bool) -> Result<(), TypeErrors> {
    let mut walk = Walk {
        types: kind.types(),
        duplicates,
        errors: Vec::new(),
    };
    walk.value(value, kind.id(), Trail::ROOT);
    if walk.errors.is_empty() {
        Ok(())
    } else {
        Err(TypeErrors(walk.errors))
    }
}

/// The way from the object to a value; only written down for an error.
#[derive(Clone, Copy)]
struct Trail<'a> {
    step: Option<(Step<'a>, &'a Trail<'a>)>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Field(&'a str),
    Element(&'a PathElement),
    Index(usize),
}

impl Trail<'_> {
    const ROOT: Trail<'static> = Trail { step: None };
}

impl<'a> Trail<'a> {
    fn then(&'a self, step: Step<'a>) -> Self {
        Trail {
            step: Some((step, self)),
        }
    }
}

impl fmt::Display for Trail<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((step, parent)) = self.step else {
            return Ok(());
        };
        parent.fmt(out)?;
        match step {
            Step::Field(name) => write!(out, ".{name}"),
            Step::Element(element) => element.fmt(out),
            Step::Index(index) => write!(out, "[{index}]"),
        }
    }
}

struct Walk<'t> {
    types: &'t Types,
    duplicates: bool,
    errors: Vec<TypeError>,
}

impl Walk<'_> {
    fn error(&mut self, at: Trail<'_>, message: String) {
        let path = at.to_string();
        self.errors.push(TypeError { path, message });
    }

    fn value(&mut self, value: &Value, id: TypeId, at: Trail<'_>) {
        match Atom::at(self.types, id).deduced(Some(value)).part() {
            Part::Map(map) => self.map(map, value, at),
            Part::Scalar(scalar) => {
                if let Some(message) = scalar_offence(scalar, value) {
                    self.error(at, message);
                }
            }
            Part::List(list) => self.list(list, value, at),
            Part::Nothing => self.error(at, "schema error: invalid atom: inlined".to_owned()),
        }
    }

    fn list(&mut self, list: &List, value: &Value, at: Trail<'_>) {
        let items = match value {
            Value::Null => return,
            Value::Array(items) => items,
            other => {
                return self.error(at, format!("expected list, got &{{{}}}", go::plain(other)));
            }
        };
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            if list.items == Items::Atomic {
                self.value(item, list.element, at.then(Step::Index(index)));
                continue;
            }
            let element = match element_of(self.types, list, item) {
                Ok(element) => element,
                // Without knowing which item it is, nothing more can be said about the list.
                Err(error) => return self.error(at, format!("element {index}: {error}")),
            };
            if seen.contains(&element) && !self.duplicates {
                self.error(at, format!("duplicate entries for key {element}"));
            }
            self.value(item, list.element, at.then(Step::Element(&element)));
            seen.insert(element);
        }
    }

    fn map(&mut self, map: &Map, value: &Value, at: Trail<'_>) {
        let fields = match value {
            Value::Null => return,
            Value::Object(fields) => fields,
            other => return self.error(at, format!("expected map, got &{{{}}}", go::plain(other))),
        };
        let mut unknown = None;
        for (key, value) in fields {
            match map.type_of(key) {
                Some(id) => self.value(value, id, at.then(Step::Field(key))),
                None => unknown = unknown.or(Some(key)),
            }
        }
        // One unknown field is named, with whatever else is wrong. The API server ends there, having looked at the
        // fields in any order.
        if let Some(key) = unknown {
            let at = at.then(Step::Field(key));
            self.error(at, "field not declared in schema".to_owned());
        }
    }
}

/// The three styles of the texts are those of structured-merge-diff.
fn scalar_offence(scalar: Scalar, value: &Value) -> Option<String> {
    if value.is_null() {
        return None;
    }
    match scalar {
        Scalar::Numeric if !value.is_number() => Some(format!(
            "expected numeric (int or float), got {}",
            go::type_name(value)
        )),
        Scalar::String if !value.is_string() => Some(format!(
            "expected string, got &value.valueUnstructured{{Value:{}}}",
            go::syntax(value)
        )),
        Scalar::Boolean if !value.is_boolean() => {
            Some(format!("expected boolean, got &{{{}}}", go::plain(value)))
        }
        Scalar::Untyped if value.is_array() || value.is_object() => Some(format!(
            "expected any scalar, got &{{{}}}",
            go::plain(value)
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;
    use crate::schema::GroupVersionKind;
    use serde_json::json;

    #[test]
    fn an_unknown_field_hides_no_wrong_type() {
        let kind = GroupVersionKind::new("apps/v1", "Deployment");
        let kind = builtin::model().kind(&kind).unwrap();
        let object = json!({"extra": 1, "other": 2, "spec": {"replicas": "two"}});
        let wrong = validate(&object, &kind, false).unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "errors:\n  .spec.replicas: expected numeric (int or float), got string\n  .extra: field not declared in \
             schema"
        );
    }
}
