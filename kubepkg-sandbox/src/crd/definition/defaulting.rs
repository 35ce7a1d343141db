//! Whether the defaults of a schema are values of it.

use serde_json::{Map, Value, json};

use super::super::path::FieldError;
use super::super::prune::prune_value;
use super::super::rules::Before;
use super::super::{MAX_DEPTH, embedded, rules, schema as values};
use super::{flag, named, some};

const EMBEDDED: &str = "x-kubernetes-embedded-resource";

/// What is wrong with the defaults of a structural schema.
pub(super) fn check(schema: &Value, at: &str) -> Vec<FieldError> {
    let mut walk = Walk {
        errors: Vec::new(),
        steps: Vec::new(),
    };
    walk.schema(schema, at, true, false, 0);
    walk.errors
}

/// A step from a resource to a field of its metadata.
#[derive(Clone)]
enum Step {
    Field(String),
    Item,
}

struct Walk {
    errors: Vec<FieldError>,
    /// The way from the resource that one is in.
    steps: Vec<Step>,
}

impl Walk {
    /// `root` is true for resources, `meta` in their type and metadata.
    fn schema(&mut self, schema: &Value, at: &str, root: bool, meta: bool, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        let root = root || flag(schema, EMBEDDED);
        let meta = meta && !root;
        let outer = if root {
            std::mem::take(&mut self.steps)
        } else {
            Vec::new()
        };
        if let Some(default) = some(schema, "default") {
            let at = format!("{at}.default");
            let found = if meta {
                self.in_metadata(schema, default, &at)
            } else {
                of_value(schema, default, root, &at)
            };
            self.errors.extend(found);
        }
        if let Some(items) = schema.get("items").filter(|it| it.is_object()) {
            self.steps.push(Step::Item);
            self.schema(items, &format!("{at}.items"), false, meta, depth + 1);
            self.steps.pop();
        }
        for (name, schema) in named(schema, "properties") {
            let meta =
                meta || (root && matches!(name.as_str(), "metadata" | "apiVersion" | "kind"));
            self.steps.push(Step::Field(name.clone()));
            let at = format!("{at}.properties[{name}]");
            self.schema(schema, &at, false, meta, depth + 1);
            self.steps.pop();
        }
        if root {
            self.steps = outer;
        }
    }

    /// A default in the metadata of a resource makes metadata of it.
    fn in_metadata(&self, schema: &Value, default: &Value, at: &str) -> Vec<FieldError> {
        let mut object = self
            .steps
            .iter()
            .rev()
            .fold(default.clone(), |inner, step| match step {
                Step::Field(name) => Value::Object(Map::from_iter([(name.clone(), inner)])),
                Step::Item => Value::Array(vec![inner]),
            });
        if let Some(fields) = object.as_object_mut() {
            fields.entry("kind").or_insert(json!("Validation"));
            fields.entry("apiVersion").or_insert(json!("validation/v1"));
        }
        let wrong = embedded::check(&object, &json!({}), true);
        if !wrong.is_empty() {
            let texts: Vec<String> = wrong
                .iter()
                .map(|error| format!("{}: {}", error.field, error.message))
                .collect();
            let text = match texts.as_slice() {
                [one] => one.clone(),
                several => format!("[{}]", several.join(", ")),
            };
            let why = format!("must result in valid metadata: {text}");
            return vec![FieldError::invalid(at, default, &why)];
        }
        let errors = below(values::check(default, &untyped(schema, 0)), at);
        if errors.is_empty() {
            return below(of_rules(schema, default), at);
        }
        errors
    }
}

fn of_value(schema: &Value, default: &Value, root: bool, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut pruned = default.clone();
    prune_value(&mut pruned, schema, root);
    if pruned != *default {
        let why = "must not have unknown fields";
        errors.push(FieldError::invalid(at, default, why));
    }
    let mut wrong = embedded::check(default, schema, root);
    if wrong.is_empty() {
        wrong = values::check(default, &untyped(schema, 0));
    }
    if wrong.is_empty() {
        wrong = of_rules(schema, default);
    }
    errors.extend(below(wrong, at));
    errors
}

/// The schema without the types that `x-kubernetes-int-or-string` stands for: defaults are checked without them.
fn untyped(schema: &Value, depth: usize) -> Value {
    let mut schema = schema.clone();
    let Some(fields) = schema.as_object_mut().filter(|_| depth <= MAX_DEPTH) else {
        return schema;
    };
    fields.remove("x-kubernetes-int-or-string");
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("properties", Value::Object(named)) => {
                for schema in named.values_mut() {
                    *schema = untyped(schema, depth + 1);
                }
            }
            ("items" | "additionalProperties" | "not", one) => *one = untyped(one, depth + 1),
            ("allOf" | "anyOf" | "oneOf", Value::Array(all)) => {
                for schema in all {
                    *schema = untyped(schema, depth + 1);
                }
            }
            _ => {}
        }
    }
    schema
}

/// Rules are run as if the default came from nothing, and as if it had been there before.
fn of_rules(schema: &Value, default: &Value) -> Vec<FieldError> {
    if !super::super::has_rules(schema, 0) {
        return Vec::new();
    }
    let resource = flag(schema, "x-kubernetes-embedded-resource");
    let check = |old| rules::check(default, old, schema, (resource, Before::MustFit)).errors;
    let errors = check(Some(default));
    if errors.is_empty() {
        return check(None);
    }
    errors
}

fn below(errors: Vec<FieldError>, at: &str) -> Vec<FieldError> {
    errors.into_iter().map(|error| error.below(at)).collect()
}
