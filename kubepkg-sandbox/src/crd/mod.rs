//! Custom resources: what the API server does to an object by the schema of its CustomResourceDefinition.
//!
//! On every write, in this order: [`prune`] drops fields that the schema doesn't know, [`drop_nulls`] the nulls that
//! aren't allowed, [`set_defaults`] fills in what is missing, and [`validate`] says what is wrong, in the API
//! server's words. The schema is the `openAPIV3Schema` of the version that is written. Pure functions over JSON, made
//! after `apiextensions-apiserver` 0.36.

pub mod cel;
mod defaults;
pub mod definition;
mod embedded;
mod formats;
mod kept;
mod lists;
mod numbers;
mod path;
mod pattern;
mod prune;
mod rules;
mod schema;

use serde_json::Value;

pub use defaults::{drop_nulls, set_defaults};
pub(crate) use embedded::each as each_embedded;
pub use path::FieldError;
pub use prune::prune;

/// How deep objects may be nested.
const MAX_DEPTH: usize = 128;

/// What is wrong with a custom resource, by its schema: values, embedded objects, lists with items that should
/// differ, and rules in CEL.
pub fn validate(object: &Value, schema: &Value) -> Vec<FieldError> {
    finish(schema::check(object, schema), None, object, schema)
}

/// What is wrong with a custom resource that replaces another. What the old one already had is let through, as far as
/// values go.
pub fn validate_update(old: &Value, new: &Value, schema: &Value) -> Vec<FieldError> {
    finish(
        schema::check_update(old, new, schema),
        Some(old),
        new,
        schema,
    )
}

fn finish(
    mut errors: Vec<FieldError>,
    old: Option<&Value>,
    object: &Value,
    schema: &Value,
) -> Vec<FieldError> {
    errors.extend(embedded::check(object, schema, false));
    errors.extend(lists::check(object, schema));
    if has_rules(schema, 0) {
        if errors.iter().any(FieldError::keeps_rules_from_running) {
            errors.push(FieldError::rules_not_run());
        } else {
            errors.extend(rules::check(object, old, schema, true));
        }
    }
    errors
}

/// Whether a schema has rules in CEL.
fn has_rules(schema: &Value, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    let below = |key: &str| {
        schema
            .get(key)
            .is_some_and(|schema| has_rules(schema, depth + 1))
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    schema.get("x-kubernetes-validations").is_some()
        || below("items")
        || below("additionalProperties")
        || properties
            .into_iter()
            .flatten()
            .any(|(_, schema)| has_rules(schema, depth + 1))
}
