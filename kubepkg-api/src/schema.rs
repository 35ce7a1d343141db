//! Small pieces of OpenAPI schema that the kinds share, and the normalising of generated schemas to what the
//! API server calls structural.
//!
//! CEL rules stand as [`Rule`] constants beside the type they guard, so that documentation, schema and tests
//! name the same text.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

/// A CEL rule with the message that the API server answers when an object breaks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The CEL expression; `self` is the object it stands on.
    pub rule: &'static str,
    /// What a refused user reads.
    pub message: &'static str,
}

/// The value of `x-kubernetes-validations`.
pub(crate) fn rules(rules: &[Rule]) -> Value {
    rules
        .iter()
        .map(|rule| json!({ "rule": rule.rule, "message": rule.message }))
        .collect()
}

/// Free-form content below an object: kept as written, checked by nobody but the chart.
pub(crate) fn free_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

/// A map from a name (a component's) to free-form values.
pub(crate) fn map_of_free_objects(generator: &mut SchemaGenerator) -> Schema {
    let values = free_object(generator);
    json_schema!({ "type": "object", "additionalProperties": values })
}

/// The structural schema of one type, as a plain JSON object.
pub(crate) fn structural<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::openapi3()
        .with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    normalise(&mut schema);
    if let Some(object) = schema.as_object_mut() {
        object.remove("title");
    }
    schema
}

/// Rewrites what schemars and serde emit into what a structural schema may hold.
///
/// * "this type or null" becomes the type: an absent optional field is left out, never null;
/// * whole numbers are written as integers, as they come back from the API server;
/// * formats that OpenAPI 3.0 does not know are dropped (the limits stand as minimum and maximum);
/// * `const` becomes a one-value `enum`, `oneOf` of constants becomes an `enum`;
/// * descriptions lose rustdoc's link brackets.
pub(crate) fn normalise(schema: &mut Value) {
    match schema {
        Value::Object(object) => normalise_object(object),
        Value::Array(items) => items.iter_mut().for_each(normalise),
        Value::Number(number) => {
            if let Some(whole) = whole_number(number) {
                *number = whole.into();
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn normalise_object(object: &mut Map<String, Value>) {
    unwrap_nullable(object);
    object.retain(|key, value| key != "default" || !value.is_null());
    collect_constants(object);
    if let Some(Value::String(format)) = object.get("format")
        && !matches!(format.as_str(), "int32" | "int64" | "date-time")
    {
        object.remove("format");
    }
    if let Some(Value::String(description)) = object.get_mut("description") {
        *description = plain_text(description);
    }
    for (key, value) in object.iter_mut() {
        // Names of properties are not keywords; their schemas are.
        if key == "properties" {
            if let Some(properties) = value.as_object_mut() {
                properties.values_mut().for_each(normalise);
            }
        } else {
            normalise(value);
        }
    }
}

/// `type: [T, null]`, `nullable: true` and `anyOf: [T, null]` mean an optional field; the schema of `T` remains.
fn unwrap_nullable(object: &mut Map<String, Value>) {
    object.remove("nullable");
    if let Some(Value::Array(types)) = object.get("type") {
        let mut kept: Vec<Value> = types.iter().filter(|t| *t != "null").cloned().collect();
        if kept.len() == 1
            && let Some(only) = kept.pop()
        {
            object.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let is_null = |branch: &Value| {
        branch.get("type").is_some_and(|t| t == "null")
            || branch.get("enum").is_some_and(|e| *e == json!([null]))
            || branch.get("const").is_some_and(Value::is_null)
    };
    if let Some(Value::Array(branches)) = object.get("anyOf") {
        let mut kept: Vec<Value> = branches
            .iter()
            .filter(|branch| !is_null(branch))
            .cloned()
            .collect();
        if kept.len() == 1
            && let Some(Value::Object(inner)) = kept.pop()
        {
            object.remove("anyOf");
            for (key, value) in inner {
                object.entry(key).or_insert(value);
            }
        }
    }
}

/// A documented enum arrives as `oneOf` constants; the API server wants one `enum`. The words of each value go
/// to the description.
fn collect_constants(object: &mut Map<String, Value>) {
    if let Some(constant) = object.remove("const") {
        object.insert("enum".into(), json!([constant]));
    }
    let Some(Value::Array(branches)) = object.get("oneOf") else {
        return;
    };
    let mut values = Vec::new();
    let mut words = Vec::new();
    for branch in branches {
        let listed = match (branch.get("const"), branch.get("enum")) {
            (Some(constant), _) => vec![constant.clone()],
            (None, Some(Value::Array(several))) => several.clone(),
            _ => return,
        };
        if let (Some(text), Some(Value::String(name))) = (
            branch.get("description").and_then(Value::as_str),
            listed.first(),
        ) {
            words.push(format!("{name}: {text}"));
        }
        values.extend(listed);
    }
    object.remove("oneOf");
    object.insert("type".into(), "string".into());
    object.insert("enum".into(), Value::Array(values));
    if !words.is_empty() {
        let head = object
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let text = format!("{head}\n\n{}", words.join("\n")).trim().to_owned();
        object.insert("description".into(), text.into());
    }
}

/// Rustdoc marks code and links with brackets and backquotes; `kubectl explain` shows text.
fn plain_text(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("[`") {
        let (before, link) = rest.split_at(start);
        plain.push_str(before);
        let Some((name, after)) = link.get(2..).and_then(|link| link.split_once("`]")) else {
            plain.push_str(link);
            return plain.replace('`', "");
        };
        plain.push_str(name);
        rest = match after
            .strip_prefix('(')
            .and_then(|target| target.split_once(')'))
        {
            Some((_, after)) => after,
            None => after,
        };
    }
    plain.push_str(rest);
    plain.replace('`', "")
}

/// The integer that a float such as `1.0` stands for.
fn whole_number(number: &serde_json::Number) -> Option<i64> {
    if !number.is_f64() {
        return None;
    }
    let value = number.as_f64()?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the value is whole and within 2^53"
    )]
    (value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0).then_some(value as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn optional_types_lose_their_null() {
        for mut schema in [
            json!({ "type": ["string", "null"] }),
            json!({ "type": "string", "nullable": true }),
            json!({ "anyOf": [{ "type": "string" }, { "enum": [null], "nullable": true }] }),
            json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }),
        ] {
            normalise(&mut schema);
            assert_eq!(schema, json!({ "type": "string" }));
        }
    }

    #[test]
    fn whole_floats_become_integers_everywhere() {
        let mut schema = json!({ "properties": { "a": { "minimum": 1.0, "maximum": 1.5 } } });
        normalise(&mut schema);
        assert_eq!(
            serde_json::to_string(&schema).unwrap(),
            r#"{"properties":{"a":{"maximum":1.5,"minimum":1}}}"#
        );
    }

    #[test]
    fn documented_enums_become_one_enum() {
        let mut schema = json!({
            "description": "What happens.",
            "oneOf": [
                { "const": "Retain", "type": "string", "description": "kept" },
                { "const": "Delete", "type": "string", "description": "deleted" }
            ]
        });
        normalise(&mut schema);
        assert_eq!(
            schema,
            json!({ "type": "string", "enum": ["Retain", "Delete"], "description": "What happens.\n\nRetain: kept\nDelete: deleted" })
        );
    }

    #[test]
    fn a_property_may_be_called_like_a_keyword() {
        let mut schema = json!({ "properties": { "format": { "type": "string" }, "const": { "type": "string" } } });
        normalise(&mut schema);
        assert_eq!(
            schema["properties"],
            json!({ "format": { "type": "string" }, "const": { "type": "string" } })
        );
    }

    #[test]
    fn descriptions_are_plain_text() {
        assert_eq!(
            plain_text("see [`a::B`](crate::B) and [`c`] or `d`"),
            "see a::B and c or d"
        );
    }
}
