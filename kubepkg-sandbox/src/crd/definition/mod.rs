//! CustomResourceDefinitions: whether one is valid, in the API server's words.
//!
//! [`complete`] sets what a client may leave out, [`check`] says what is wrong with a new definition and
//! [`check_update`] with a changed one, and [`unknown_formats`] names the formats that nobody looks at. Pure functions
//! over JSON. The order of the checks is that of `ValidateCustomResourceDefinition` in `apiextensions-apiserver` 0.36:
//! names and versions (`spec`), whether schemas are structural (`structural`), whether their defaults are values of
//! them (`defaulting`), what else a schema may not say (`openapi`), whether its rules compile (`rules`), and what they may
//! cost (`budget`).
//!
//! The API server checks definitions in a form of its own, where what all versions have in common stands once
//! (`hoisted`). Its messages show that form, so these do.

mod budget;
mod conversion;
mod defaulting;
mod field_path;
mod hoisted;
mod openapi;
mod print;
mod rules;
mod spec;
mod structural;

use serde_json::{Value, json};

use super::path::FieldError;
use super::{MAX_DEPTH, formats};

/// Sets what a definition says when nobody says it: names made from the kind, no conversion, and which versions are
/// stored.
pub fn complete(definition: &mut Value) {
    let stored: Vec<Value> = list(&definition["spec"]["versions"])
        .iter()
        .filter(|version| flag(version, "storage"))
        .map(|version| version["name"].clone())
        .take(1)
        .collect();
    if let Some(spec) = definition.get_mut("spec").filter(|spec| spec.is_object()) {
        if spec["conversion"].is_null() {
            spec["conversion"] = json!({"strategy": "None"});
        }
        if let Some(service) = spec.pointer_mut("/conversion/webhook/clientConfig/service")
            && service.is_object()
            && service["port"].is_null()
        {
            service["port"] = json!(443);
        }
        if spec["names"].is_object() {
            let kind = text(&spec["names"], "kind").to_owned();
            let names = &mut spec["names"];
            if text(names, "singular").is_empty() && !kind.is_empty() {
                names["singular"] = kind.to_lowercase().into();
            }
            if text(names, "listKind").is_empty() && !kind.is_empty() {
                names["listKind"] = format!("{kind}List").into();
            }
        }
    }
    if let Some(fields) = definition.as_object_mut() {
        let status = fields.entry("status").or_insert_with(|| json!({}));
        if status.is_null() {
            *status = json!({});
        }
        if status.is_object() && list(&status["storedVersions"]).is_empty() {
            status["storedVersions"] = if stored.is_empty() {
                Value::Null
            } else {
                Value::Array(stored)
            };
        }
    }
}

pub(crate) use conversion::{address_of_webhook, has_valid_bundle};

/// What is wrong with a new definition, but for its metadata.
#[must_use]
pub fn check(definition: &Value) -> Vec<FieldError> {
    spec::check(definition, None)
}

/// What is wrong with a definition that takes the place of another, but for its metadata.
#[must_use]
pub fn check_update(old: &Value, new: &Value) -> Vec<FieldError> {
    spec::check(new, Some(old))
}

/// What is wrong with the name of a definition, beside being no name at all.
pub(crate) fn name_offence(definition: &Value, name: &str) -> Option<&'static str> {
    let spec = &definition["spec"];
    let wanted = format!("{}.{}", text(&spec["names"], "plural"), text(spec, "group"));
    (name != wanted).then_some("must be spec.names.plural+\".\"+spec.group")
}

/// The path of a rule as errors show it; none for one that leads nowhere.
pub(super) fn shown_path(path: &str, schema: &Value) -> Option<String> {
    let found = field_path::follow(path, schema, true).ok()?;
    Some(found.path).filter(|path| !path.is_empty())
}

/// The formats in the schemas of a definition that are passed over, each as often as it stands there; without those
/// of the definition whose place it takes.
#[must_use]
pub fn unknown_formats(definition: &Value, old: Option<&Value>) -> Vec<String> {
    let of = |definition: &Value| {
        let mut found = Vec::new();
        let hoisted = hoisted::Definition::of(definition);
        for schema in hoisted.schemas() {
            let _ = has(schema, 0, &mut |schema| {
                if is_unknown(schema) {
                    found.push(text(schema, "format").to_owned());
                }
                false
            });
        }
        found
    };
    let mut found = of(definition);
    if let Some(old) = old {
        let known = of(old);
        found.retain(|format| !known.contains(format));
    }
    found
}

fn is_unknown(schema: &Value) -> bool {
    let format = text(schema, "format");
    if format.is_empty() {
        return false;
    }
    match text(schema, "type") {
        "" | "string" => !formats::is_known(format),
        "integer" => !matches!(format, "int32" | "int64"),
        "number" => !matches!(format, "float" | "double"),
        _ => true,
    }
}

/// Whether a schema or one in it is as asked for.
fn has(schema: &Value, depth: usize, is: &mut dyn FnMut(&Value) -> bool) -> bool {
    if depth > MAX_DEPTH || !schema.is_object() {
        return false;
    }
    if is(schema) {
        return true;
    }
    let one_or_many = |key: &str| match &schema[key] {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    for key in [
        "items",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
        "additionalProperties",
        "additionalItems",
    ] {
        if one_or_many(key)
            .iter()
            .any(|schema| has(schema, depth + 1, is))
        {
            return true;
        }
    }
    for key in [
        "properties",
        "patternProperties",
        "definitions",
        "dependencies",
    ] {
        let Some(named) = schema[key].as_object() else {
            continue;
        };
        if named.values().any(|schema| has(schema, depth + 1, is)) {
            return true;
        }
    }
    false
}

/// A field that holds text; else none.
fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A field that is true.
fn flag(value: &Value, key: &str) -> bool {
    value.get(key) == Some(&Value::Bool(true))
}

/// A field that is there, and not null.
fn some<'v>(value: &'v Value, key: &str) -> Option<&'v Value> {
    value.get(key).filter(|value| !value.is_null())
}

/// The items of a list, or none.
fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The texts of a list.
fn texts<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v str> {
    let all = value.get(key).map(list).unwrap_or_default();
    all.iter().filter_map(Value::as_str)
}

/// A schema's parts by name, those that are schemas.
fn named<'v>(schema: &'v Value, key: &str) -> impl Iterator<Item = (&'v String, &'v Value)> {
    let all = schema.get(key).and_then(Value::as_object);
    all.into_iter()
        .flatten()
        .filter(|(_, schema)| schema.is_object())
}
