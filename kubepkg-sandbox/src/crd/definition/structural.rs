//! Whether a schema is structural: the type of every field is said outside of `allOf`, `anyOf`, `oneOf` and `not`,
//! and those say nothing but what narrows values.

use serde_json::{Map, Value, json};

use super::super::path::FieldError;
use super::super::{MAX_DEPTH, pattern};
use super::{flag, list, named, some, text};

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// Why a schema can't even be looked at.
pub(super) fn unsupported(schema: &Value) -> Option<String> {
    unsupported_at(schema, 0)
}

fn unsupported_at(schema: &Value, depth: usize) -> Option<String> {
    if depth > MAX_DEPTH {
        return Some("nested too deeply".to_owned());
    }
    let empty = |key: &str| match some(schema, key) {
        None => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Object(fields)) => fields.is_empty(),
        Some(_) => false,
    };
    for (key, name) in [
        ("id", "id"),
        ("$schema", "schema"),
        ("$ref", "$ref"),
        ("patternProperties", "patternProperties"),
        ("dependencies", "dependencies"),
    ] {
        if !empty(key) {
            return Some(format!("OpenAPIV3Schema '{name}' is not supported"));
        }
    }
    if some(schema, "additionalItems").is_some() {
        return Some("OpenAPIV3Schema 'additionalItems' is not supported".to_owned());
    }
    if !empty("definitions") {
        return Some("OpenAPIV3Schema 'definitions' is not supported".to_owned());
    }
    let mut below = some(schema, "not").into_iter().collect::<Vec<_>>();
    for key in ["allOf", "anyOf", "oneOf"] {
        below.extend(list(&schema[key]));
    }
    for schema in below {
        if let Some(why) = unsupported_at(schema, depth + 1) {
            return Some(why);
        }
    }
    if some(schema, PRESERVE) == Some(&Value::Bool(false)) {
        return Some(format!(
            "internal error: '{PRESERVE}' must be true or undefined"
        ));
    }
    if schema["items"]
        .as_array()
        .is_some_and(|all| !all.is_empty())
    {
        return Some("OpenAPIV3Schema 'items' must be a schema, but is an array".to_owned());
    }
    let parts = ["items", "additionalProperties"]
        .into_iter()
        .filter_map(|key| schema.get(key).filter(|it| it.is_object()));
    parts
        .chain(named(schema, "properties").map(|(_, schema)| schema))
        .find_map(|schema| unsupported_at(schema, depth + 1))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// What keeps a schema from being structural, sorted.
pub(super) fn check(schema: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    invariants(schema, Level::Root, at, 0, &mut errors);
    complete(schema, Some(schema), at, at, 0, &mut errors);
    errors.sort_by_cached_key(|error| format!("{}: {}", error.field, error.message));
    errors
}

fn invariants(schema: &Value, level: Level, at: &str, depth: usize, errors: &mut Vec<FieldError>) {
    if depth > MAX_DEPTH {
        return;
    }
    let field = |name: &str| format!("{at}.{name}");
    let kind = text(schema, "type");
    let items = schema.get("items").filter(|it| it.is_object());
    if kind == "array" && items.is_none() {
        let why = "must be specified";
        errors.push(FieldError::required_because(&field("items"), why));
    }
    if let Some(items) = items {
        invariants(items, Level::Item, &field("items"), depth + 1, errors);
    }
    for (name, schema) in named(schema, "properties") {
        let at = format!("{at}.properties[{name}]");
        invariants(schema, Level::Field, &at, depth + 1, errors);
    }
    let additional = some(schema, "additionalProperties");
    if let Some(additional) = additional {
        let at = field("additionalProperties");
        if level == Level::Root {
            errors.push(FieldError::forbidden(&at, "must not be used at the root"));
        }
        if additional.is_object() {
            invariants(additional, Level::Field, &at, depth + 1, errors);
        }
    }
    let (embedded, preserves) = (flag(schema, EMBEDDED), flag(schema, PRESERVE));
    let int_or_string = flag(schema, INT_OR_STRING);
    for (key, set) in [(PRESERVE, preserves), (EMBEDDED, embedded)] {
        if int_or_string && set {
            let why = "must be false if x-kubernetes-int-or-string is true";
            errors.push(FieldError::invalid(&field(key), &true.into(), why));
        }
    }
    let skips = Skips {
        any_of: is_int_or_string(&schema["anyOf"]),
        first_all_of: is_int_or_string(&schema["allOf"][0]["anyOf"]),
    };
    value_validation(schema, skips, at, depth, errors);
    let at_type = field("type");
    let shown = Value::from(kind);
    if embedded && kind != "object" {
        let why = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(if kind.is_empty() {
            FieldError::required_because(&at_type, why)
        } else {
            FieldError::invalid(&at_type, &shown, why)
        });
    } else if kind.is_empty() && !int_or_string && !preserves {
        let why = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required_because(&at_type, why));
    }
    if embedded && additional.is_some() {
        let why = "must not be used if x-kubernetes-embedded-resource is set";
        let at = field("additionalProperties");
        errors.push(FieldError::forbidden(&at, why));
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        let why = "must be object at the root";
        errors.push(FieldError::invalid(&at_type, &shown, why));
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let checks_metadata = level == Level::Root || embedded;
    let property = |name: &str| properties.and_then(|all| all.get(name));
    for name in ["kind", "apiVersion"] {
        if let Some(schema) = property(name).filter(|_| checks_metadata) {
            let kind = text(schema, "type");
            if kind != "string" {
                let at = format!("{at}.properties[{name}].type");
                errors.push(FieldError::invalid(&at, &kind.into(), "must be string"));
            }
        }
    }
    if let Some(metadata) = property("metadata") {
        let at = format!("{at}.properties[metadata]");
        let kind = text(metadata, "type");
        if checks_metadata && kind != "object" {
            let why = "must be object";
            let at = format!("{at}.type");
            errors.push(FieldError::invalid(&at, &kind.into(), why));
        }
        if level == Level::Root && says_more(metadata) {
            let why = "must not specify anything other than name and generateName, but metadata is implicitly \
                specified";
            errors.push(FieldError::forbidden(&at, why));
        }
    }
    if embedded && !preserves && properties.is_none_or(Map::is_empty) {
        let why = "must not be empty if x-kubernetes-embedded-resource is true without \
            x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required_because(&field("properties"), why));
    }
}

/// Whether a schema of metadata says more than what names may be.
fn says_more(metadata: &Value) -> bool {
    let fields = metadata.as_object().into_iter().flatten();
    fields
        .filter(|(_, value)| !is_zero(value))
        .any(|(key, value)| match key.as_str() {
            "type" | "default" => false,
            "properties" => {
                let mut names = value.as_object().into_iter().flat_map(Map::keys);
                names.any(|name| !matches!(name.as_str(), "name" | "generateName"))
            }
            _ => true,
        })
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

/// Whether a list of schemas is the one by which integers and strings are told from all else.
fn is_int_or_string(any_of: &Value) -> bool {
    let plain = |schema: &Value| {
        let mut fields = schema.as_object().cloned().unwrap_or_default();
        fields.retain(|_, value| !is_zero(value));
        Value::Object(fields)
    };
    let all: Vec<Value> = list(any_of).iter().map(plain).collect();
    all == [json!({"type": "integer"}), json!({"type": "string"})]
}

/// Which schemas may say types: those that make integers or strings.
#[derive(Clone, Copy, Default)]
struct Skips {
    any_of: bool,
    first_all_of: bool,
}

fn value_validation(
    schema: &Value,
    skips: Skips,
    at: &str,
    depth: usize,
    errors: &mut Vec<FieldError>,
) {
    for key in ["anyOf", "allOf", "oneOf"] {
        if key == "anyOf" && skips.any_of {
            continue;
        }
        for (index, schema) in list(&schema[key]).iter().enumerate() {
            let skips = Skips {
                any_of: key == "allOf" && index == 0 && skips.first_all_of,
                first_all_of: false,
            };
            nested(
                schema,
                skips,
                &format!("{at}.{key}[{index}]"),
                depth + 1,
                errors,
            );
        }
    }
    if let Some(not) = some(schema, "not") {
        nested(
            not,
            Skips::default(),
            &format!("{at}.not"),
            depth + 1,
            errors,
        );
    }
    let source = text(schema, "pattern");
    if let Some(why) = pattern::offence(source) {
        let why = format!("must be a valid regular expression, but isn't: {why}");
        let at = format!("{at}.pattern");
        errors.push(FieldError::invalid(&at, &source.into(), &why));
    }
}

/// A schema in `allOf` and its like.
fn nested(schema: &Value, skips: Skips, at: &str, depth: usize, errors: &mut Vec<FieldError>) {
    if depth > MAX_DEPTH {
        return;
    }
    value_validation(schema, skips, at, depth, errors);
    if let Some(items) = schema.get("items").filter(|it| it.is_object()) {
        let at = format!("{at}.items");
        nested(items, Skips::default(), &at, depth + 1, errors);
    }
    for (name, schema) in named(schema, "properties") {
        let at = format!("{at}.properties[{name}]");
        nested(schema, Skips::default(), &at, depth + 1, errors);
    }
    for (key, why) in [
        ("type", "must be empty to be structural"),
        ("additionalProperties", "must be undefined to be structural"),
        ("default", "must be undefined to be structural"),
        ("title", "must be empty to be structural"),
        ("description", "must be empty to be structural"),
        ("nullable", "must be false to be structural"),
        (PRESERVE, "must be false to be structural"),
        (EMBEDDED, "must be false to be structural"),
        (INT_OR_STRING, "must be false to be structural"),
        (
            "x-kubernetes-list-map-keys",
            "must be empty to be structural",
        ),
        (
            "x-kubernetes-list-type",
            "must be undefined to be structural",
        ),
        (
            "x-kubernetes-map-type",
            "must be undefined to be structural",
        ),
        ("x-kubernetes-validations", "must be empty to be structural"),
    ] {
        let defined = why.contains("undefined") && key != "additionalProperties";
        let said = some(schema, key).is_some_and(|value| {
            defined || (key == "additionalProperties" && value.is_object()) || !is_zero(value)
        });
        if said {
            errors.push(FieldError::forbidden(&format!("{at}.{key}"), why));
        }
    }
    if schema.pointer("/properties/metadata").is_some() {
        let why = "must not be specified in a nested context";
        let at = format!("{at}.properties[metadata]");
        errors.push(FieldError::forbidden(&at, why));
    }
}

/// What `allOf` and its like speak of must be there outside of them.
fn complete(
    schema: &Value,
    outside: Option<&Value>,
    at: &str,
    said_at: &str,
    depth: usize,
    errors: &mut Vec<FieldError>,
) {
    if depth > MAX_DEPTH {
        return;
    }
    if let Some(not) = some(schema, "not") {
        let said_at = format!("{said_at}.not");
        complete_nested(not, outside, at, &said_at, depth + 1, errors);
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        for (index, schema) in list(&schema[key]).iter().enumerate() {
            let said_at = format!("{said_at}.{key}[{index}]");
            complete_nested(schema, outside, at, &said_at, depth + 1, errors);
        }
    }
}

fn complete_nested(
    schema: &Value,
    outside: Option<&Value>,
    at: &str,
    said_at: &str,
    depth: usize,
    errors: &mut Vec<FieldError>,
) {
    let missing = |at: &str, said_at: &str| {
        FieldError::required_because(at, &format!("because it is defined in {said_at}"))
    };
    let Some(outside) = outside else {
        errors.push(missing(at, said_at));
        return;
    };
    if depth > MAX_DEPTH {
        return;
    }
    complete(schema, Some(outside), at, said_at, depth + 1, errors);
    if let Some(items) = schema.get("items").filter(|it| it.is_object()) {
        let outside = outside.get("items").filter(|it| it.is_object());
        let (at, said_at) = (format!("{at}.items"), format!("{said_at}.items"));
        complete_nested(items, outside, &at, &said_at, depth + 1, errors);
    }
    for (name, schema) in named(schema, "properties") {
        let below = |at: &str| format!("{at}.properties[{name}]");
        let outside = outside.get("properties").and_then(|all| all.get(name));
        if outside.is_none() {
            errors.push(missing(&below(at), &below(said_at)));
        } else {
            complete_nested(
                schema,
                outside,
                &below(at),
                &below(said_at),
                depth + 1,
                errors,
            );
        }
    }
}
