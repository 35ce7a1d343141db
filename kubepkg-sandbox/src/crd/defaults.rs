//! Nulls that aren't allowed, and values for what is missing.

use serde_json::Value;

use super::MAX_DEPTH;
use super::prune::is_true;

/// The schema of a field.
pub(super) fn property<'s>(schema: Option<&'s Value>, key: &str) -> Option<&'s Value> {
    let schema = schema?;
    let property = schema.get("properties").and_then(|it| it.get(key));
    property.or_else(|| {
        schema
            .get("additionalProperties")
            .filter(|it| it.is_object())
    })
}

fn default_of(schema: Option<&Value>) -> Option<&Value> {
    schema?.get("default").filter(|value| !value.is_null())
}

/// Whether a value is null where that is not allowed. Without a schema it is.
fn is_bad_null(value: &Value, schema: Option<&Value>) -> bool {
    value.is_null() && schema.is_some_and(|schema| !is_true(schema, "nullable"))
}

/// Drops the nulls that are not allowed, but for those that a default takes the place of.
pub fn drop_nulls(object: &mut Value, schema: &Value) {
    drop_at(object, Some(schema), 0);
}

fn drop_at(value: &mut Value, schema: Option<&Value>, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::Object(fields) => {
            fields.retain(|key, value| {
                let schema = property(schema, key);
                !is_bad_null(value, schema) || default_of(schema).is_some()
            });
            for (key, value) in fields {
                drop_at(value, property(schema, key), depth + 1);
            }
        }
        Value::Array(items) => {
            let schema = schema.and_then(|it| it.get("items"));
            for item in items {
                drop_at(item, schema, depth + 1);
            }
        }
        _ => {}
    }
}

/// Sets the defaults of what is missing, and of nulls that are not allowed.
pub fn set_defaults(object: &mut Value, schema: &Value) {
    set_at(object, schema, 0);
}

fn set_at(value: &mut Value, schema: &Value, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::Object(fields) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            for (key, schema) in properties.into_iter().flatten() {
                let Some(default) = default_of(Some(schema)) else {
                    continue;
                };
                let missing = fields
                    .get(key)
                    .is_none_or(|value| is_bad_null(value, Some(schema)));
                if missing {
                    fields.insert(key.clone(), default.clone());
                }
            }
            for (key, value) in fields {
                if let Some(schema) = property(Some(schema), key) {
                    replace_null(value, schema);
                    set_at(value, schema, depth + 1);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else {
                return;
            };
            for item in items {
                replace_null(item, schema);
                set_at(item, schema, depth + 1);
            }
        }
        _ => {}
    }
}

fn replace_null(value: &mut Value, schema: &Value) {
    if is_bad_null(value, Some(schema))
        && let Some(default) = default_of(Some(schema))
    {
        *value = default.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_null_gives_way_to_a_default_and_goes_without_one() {
        let schema = json!({"properties": {
            "d": {"type": "string", "default": "x"},
            "n": {"type": "string"},
            "ok": {"type": "string", "nullable": true},
            "o": {"type": "object", "properties": {"i": {"default": 1}}},
        }});
        let mut object = json!({"d": null, "n": null, "ok": null, "o": {}});
        drop_nulls(&mut object, &schema);
        set_defaults(&mut object, &schema);
        assert_eq!(object, json!({"d": "x", "ok": null, "o": {"i": 1}}));
        let mut empty = json!({});
        set_defaults(&mut empty, &schema);
        assert_eq!(empty, json!({"d": "x"}));
    }
}
