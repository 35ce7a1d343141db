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
pub(crate) mod kept;
mod lists;
mod numbers;
mod path;
mod pattern;
mod prune;
mod ratchet;
mod rules;
mod schema;

use rules::Before;
use serde_json::Value;

pub use defaults::{drop_nulls, set_defaults};
pub(crate) use embedded::each as each_embedded;
pub use path::FieldError;
pub use prune::prune;
pub use rules::Verdict;

/// How deep objects may be nested.
const MAX_DEPTH: usize = 128;

/// What is wrong with a custom resource, by its schema: values, embedded objects, lists with items that should
/// differ, and rules in CEL.
pub fn validate(object: &Value, schema: &Value) -> Vec<FieldError> {
    finish(schema::check(object, schema), None, object, schema).errors
}

/// What is wrong with a custom resource that replaces another. What the old one already had is let through.
pub fn validate_update(old: &Value, new: &Value, schema: &Value) -> Verdict {
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
) -> Verdict {
    errors.extend(embedded::check(object, schema, false));
    // Lists that were wrong before may be so.
    if old.is_none_or(|old| lists::check(old, schema).is_empty()) {
        errors.extend(lists::check(object, schema));
    }
    let mut stays = Vec::new();
    if has_rules(schema, 0) {
        if errors.iter().any(FieldError::keeps_rules_from_running) {
            errors.push(FieldError::rules_not_run());
        } else {
            let verdict = rules::check(object, old, schema, (true, Before::MayStay));
            errors.extend(verdict.errors);
            stays = verdict.stays;
        }
    }
    Verdict { errors, stays }
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
