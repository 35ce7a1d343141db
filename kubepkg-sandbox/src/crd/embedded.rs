//! Objects in an object that have a type of their own.

use serde_json::Value;

use super::MAX_DEPTH;
use super::path::FieldError;
use super::prune::is_true;
use crate::api::{names, object_meta};

/// What is wrong with type and metadata of embedded objects, and with those of the object itself if it is one too.
pub(super) fn check(object: &Value, schema: &Value, root: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if root && object.is_object() {
        identity("", object, &mut errors);
    }
    walk("", object, schema, 0, &mut errors);
    errors
}

fn walk(path: &str, value: &Value, schema: &Value, depth: usize, errors: &mut Vec<FieldError>) {
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::Object(fields) => {
            // The object itself is looked at elsewhere.
            if depth > 0 && is_true(schema, "x-kubernetes-embedded-resource") {
                identity(path, value, errors);
            }
            for (key, value) in fields {
                if let Some(schema) = schema.get("properties").and_then(|it| it.get(key)) {
                    walk(&format!("{path}.{key}"), value, schema, depth + 1, errors);
                } else if let Some(schema) = schema.get("additionalProperties") {
                    walk(&format!("{path}[{key}]"), value, schema, depth + 1, errors);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for (index, item) in items.iter().enumerate() {
                    walk(&format!("{path}[{index}]"), item, schema, depth + 1, errors);
                }
            }
        }
        _ => {}
    }
}

fn identity(path: &str, value: &Value, errors: &mut Vec<FieldError>) {
    for field in ["apiVersion", "kind"] {
        let at = format!("{path}.{field}");
        let Some(found) = value.get(field) else {
            errors.push(FieldError::required(&at));
            continue;
        };
        let wrong = match found.as_str() {
            None => Some("must be a string".to_owned()),
            Some("") => Some("must not be empty".to_owned()),
            Some(text) if field == "apiVersion" => (text.matches('/').count() > 1)
                .then(|| format!("unexpected GroupVersion string: {text}")),
            Some(text) => Some(names::old_label(&text.to_lowercase()).join(","))
                .filter(|why| !why.is_empty())
                .map(|why| format!("may have mixed case, but should otherwise match: {why}")),
        };
        if let Some(wrong) = wrong {
            errors.push(FieldError::invalid(&at, found, &wrong));
        }
    }
    metadata(path, value, errors);
}

/// Names of embedded objects are parts of paths.
fn metadata(path: &str, value: &Value, errors: &mut Vec<FieldError>) {
    let Some(meta) = value.get("metadata").filter(|meta| meta.is_object()) else {
        return;
    };
    let rules = object_meta::Rules {
        name: &names::path_segment,
        named: false,
        finalizers: false,
    };
    let causes = object_meta::causes(meta, &format!("{path}.metadata"), &rules);
    errors.extend(causes.into_iter().map(FieldError::from));
}

/// Goes through the objects in an object, with their paths, until one is refused.
pub(crate) fn each(
    object: &mut Value,
    schema: &Value,
    act: &mut dyn FnMut(&str, &mut Value) -> Result<(), String>,
) -> Result<(), String> {
    each_at("", object, schema, 0, act)
}

fn each_at(
    path: &str,
    value: &mut Value,
    schema: &Value,
    depth: usize,
    act: &mut dyn FnMut(&str, &mut Value) -> Result<(), String>,
) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Ok(());
    }
    if depth > 0 && value.is_object() && is_true(schema, "x-kubernetes-embedded-resource") {
        act(path.trim_start_matches('.'), value)?;
    }
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let property = schema.get("properties").and_then(|it| it.get(key));
                if let Some(schema) = property.or_else(|| schema.get("additionalProperties")) {
                    each_at(&format!("{path}.{key}"), value, schema, depth + 1, act)?;
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for (index, item) in items.iter_mut().enumerate() {
                    each_at(&format!("{path}[{index}]"), item, schema, depth + 1, act)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}
