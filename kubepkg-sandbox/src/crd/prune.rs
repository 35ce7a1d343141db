//! Fields that a schema doesn't know are dropped.

use serde_json::Value;

use super::MAX_DEPTH;

/// Drops the fields that the schema doesn't name, and gives their paths, sorted. Type and metadata of the object, and
/// of objects embedded in it, stay.
pub fn prune(object: &mut Value, schema: &Value) -> Vec<String> {
    let mut walk = Walk {
        path: Vec::new(),
        dropped: Vec::new(),
    };
    walk.value(object, Some(schema), true);
    walk.dropped.sort();
    walk.dropped
}

/// The same for a value, which is an object with type and metadata or not.
pub(super) fn prune_value(value: &mut Value, schema: &Value, embedded: bool) {
    let mut walk = Walk {
        path: Vec::new(),
        dropped: Vec::new(),
    };
    walk.value(value, Some(schema), embedded);
}

struct Walk {
    path: Vec<String>,
    dropped: Vec<String>,
}

pub(super) fn is_meta(key: &str) -> bool {
    matches!(key, "apiVersion" | "kind" | "metadata")
}

pub(super) fn is_true(schema: &Value, key: &str) -> bool {
    schema.get(key) == Some(&Value::Bool(true))
}

/// What a schema says of a key.
enum Known<'s> {
    Schema(&'s Value),
    /// It may be there, and nothing in it is known.
    Blank,
    Unknown,
}

fn known<'s>(schema: Option<&'s Value>, key: &str) -> Known<'s> {
    let Some(schema) = schema else {
        return Known::Unknown;
    };
    if let Some(property) = schema.get("properties").and_then(|it| it.get(key)) {
        return Known::Schema(property);
    }
    match schema.get("additionalProperties") {
        None | Some(Value::Null) => Known::Unknown,
        Some(schema @ Value::Object(_)) => Known::Schema(schema),
        Some(_) => Known::Blank,
    }
}

impl Walk {
    fn at(&mut self, step: String, act: impl FnOnce(&mut Self)) {
        self.path.push(step);
        act(self);
        self.path.pop();
    }

    fn record(&mut self, key: &str) {
        let mut path = self.path.concat();
        path.push('.');
        path.push_str(key);
        self.dropped.push(path.trim_start_matches('.').to_owned());
    }

    fn value(&mut self, value: &mut Value, schema: Option<&Value>, embedded: bool) {
        if self.path.len() > MAX_DEPTH {
            *value = Value::Null;
            return;
        }
        let keeps = schema.is_some_and(|it| is_true(it, "x-kubernetes-preserve-unknown-fields"));
        let embedded =
            embedded || schema.is_some_and(|it| is_true(it, "x-kubernetes-embedded-resource"));
        match value {
            Value::Object(fields) => {
                let keys: Vec<String> = fields.keys().cloned().collect();
                for key in keys {
                    if embedded && is_meta(&key) {
                        continue;
                    }
                    let Some(field) = fields.get_mut(&key) else {
                        continue;
                    };
                    match known(schema, &key) {
                        Known::Schema(schema) => {
                            self.at(format!(".{key}"), |walk| {
                                walk.value(field, Some(schema), false);
                            });
                        }
                        Known::Blank => {
                            self.at(format!(".{key}"), |walk| walk.value(field, None, false));
                        }
                        Known::Unknown if keeps => {}
                        Known::Unknown => {
                            if !is_meta(&key) || !self.path.is_empty() || schema.is_none() {
                                self.record(&key);
                            }
                            fields.remove(&key);
                        }
                    }
                }
            }
            Value::Array(items) => {
                let schema = schema.and_then(|it| it.get("items"));
                // Below a value whose unknown fields stay, items without a schema stay as they are.
                if keeps && schema.is_none() {
                    return;
                }
                for (index, item) in items.iter_mut().enumerate() {
                    self.at(format!("[{index}]"), |walk| walk.value(item, schema, false));
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn unknown_fields_go_and_are_named() {
        let schema = json!({"properties": {"spec": {"properties": {
            "a": {"type": "string"},
            "l": {"items": {"properties": {"b": {}}}},
            "keep": {"x-kubernetes-preserve-unknown-fields": true},
        }}}});
        let mut object = json!({
            "kind": "K", "metadata": {"x": 1},
            "spec": {"a": "x", "z": 1, "l": [{"b": 1, "c": 2}], "keep": {"any": [1]}},
        });
        assert_eq!(prune(&mut object, &schema), ["spec.l[0].c", "spec.z"]);
        assert_eq!(
            object["spec"],
            json!({"a": "x", "l": [{"b": 1}], "keep": {"any": [1]}})
        );
        assert_eq!(object["metadata"], json!({"x": 1}));
    }
}
