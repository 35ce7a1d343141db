//! Lists whose items should differ: sets, and lists with keys.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::MAX_DEPTH;
use super::path::FieldError;

pub(super) fn check(object: &Value, schema: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    walk("", object, schema, 0, &mut errors);
    errors
}

fn walk(path: &str, value: &Value, schema: &Value, depth: usize, errors: &mut Vec<FieldError>) {
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::Object(fields) => {
            if let Some(schema) = schema
                .get("additionalProperties")
                .filter(|it| it.is_object())
            {
                for (key, value) in fields {
                    walk(&format!("{path}[{key}]"), value, schema, depth + 1, errors);
                }
            }
            for (key, value) in fields {
                if let Some(schema) = schema.get("properties").and_then(|it| it.get(key)) {
                    walk(&format!("{path}.{key}"), value, schema, depth + 1, errors);
                }
            }
        }
        Value::Array(items) => {
            match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
                Some("set") => {
                    for index in repeated(items.iter().map(Value::to_string)) {
                        if let Some(item) = items.get(index) {
                            errors.push(FieldError::duplicate(&format!("{path}[{index}]"), item));
                        }
                    }
                }
                Some("map") => errors.extend(keyed(path, items, schema)),
                _ => {}
            }
            if let Some(schema) = schema.get("items") {
                for (index, item) in items.iter().enumerate() {
                    walk(&format!("{path}[{index}]"), item, schema, depth + 1, errors);
                }
            }
        }
        _ => {}
    }
}

/// The places where a value stands for the second time.
fn repeated(values: impl Iterator<Item = String>) -> Vec<usize> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for (index, value) in values.enumerate() {
        let times = seen.entry(value).or_default();
        *times += 1;
        if *times == 2 {
            found.push(index);
        }
    }
    found
}

fn keyed(path: &str, items: &[Value], schema: &Value) -> Vec<FieldError> {
    let odd = |(_, item): &(usize, &Value)| !item.is_object() && !item.is_null();
    if let Some((index, item)) = items.iter().enumerate().find(odd) {
        return vec![FieldError::invalid(
            &format!("{path}[{index}]"),
            item,
            "must be an object for an array of list-type map",
        )];
    }
    let keys = schema
        .get("x-kubernetes-list-map-keys")
        .and_then(Value::as_array);
    let keys: Vec<&str> = keys
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let identities: Vec<Value> = items
        .iter()
        .map(|item| {
            let fields = keys
                .iter()
                .filter_map(|key| Some(((*key).to_owned(), item.get(key)?.clone())));
            Value::Object(fields.collect::<Map<_, _>>())
        })
        .collect();
    let places = repeated(identities.iter().map(Value::to_string));
    places
        .into_iter()
        .filter_map(|index| {
            let identity = identities.get(index)?;
            Some(FieldError::duplicate(&format!("{path}[{index}]"), identity))
        })
        .collect()
}
