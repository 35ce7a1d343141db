//! Parts of definitions as the API server's messages show them: its own types, printed as JSON with the names of
//! their fields in Go.

use kubepkg_yaml::{go_float, to_go_json};
use serde_json::Value;

use super::hoisted::{Definition, Part};
use super::{flag, list, some, text};
use crate::crd::MAX_DEPTH;

/// The fields of one object, in order.
struct Object(String);

impl Object {
    fn new() -> Self {
        Self("{".to_owned())
    }

    fn field(mut self, name: &str, shown: &str) -> Self {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        self.0.push_str(&json(&name.into()));
        self.0.push(':');
        self.0.push_str(shown);
        self
    }

    /// A field that is a text, empty when it is not there.
    fn text(self, name: &str, value: &Value, key: &str) -> Self {
        self.field(name, &json(&text(value, key).into()))
    }

    fn flag(self, name: &str, value: &Value, key: &str) -> Self {
        self.field(name, if flag(value, key) { "true" } else { "false" })
    }

    /// A field that is null when it is not there.
    fn maybe(self, name: &str, value: &Value, key: &str) -> Self {
        let shown = some(value, key).map_or_else(null, json);
        self.field(name, &shown)
    }

    fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

fn json(value: &Value) -> String {
    to_go_json(value).unwrap_or_default()
}

fn null() -> String {
    "null".to_owned()
}

fn array(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

/// `spec.versions`.
pub(super) fn versions(definition: &Definition<'_>) -> String {
    if definition.versions.is_empty() {
        return match &definition.spec["versions"] {
            Value::Array(_) => "[]".to_owned(),
            _ => null(),
        };
    }
    array(definition.versions.iter().map(|(version, parts)| {
        let schema = parts.get(Part::Schema).map_or_else(null, |_| {
            let schema = parts.schema().map_or_else(null, schema);
            Object::new().field("OpenAPIV3Schema", &schema).end()
        });
        let subresources = parts
            .get(Part::Subresources)
            .map_or_else(null, subresources);
        let columns = match parts.get(Part::Columns) {
            None => null(),
            Some(columns) => array(list(columns).iter().map(column)),
        };
        let selectable = match parts.get(Part::Selectable) {
            None => null(),
            Some(fields) => array(
                list(fields)
                    .iter()
                    .map(|field| Object::new().text("JSONPath", field, "jsonPath").end()),
            ),
        };
        Object::new()
            .text("Name", version, "name")
            .flag("Served", version, "served")
            .flag("Storage", version, "storage")
            .flag("Deprecated", version, "deprecated")
            .maybe("DeprecationWarning", version, "deprecationWarning")
            .field("Schema", &schema)
            .field("Subresources", &subresources)
            .field("AdditionalPrinterColumns", &columns)
            .field("SelectableFields", &selectable)
            .end()
    }))
}

fn subresources(all: &Value) -> String {
    let status = some(all, "status").map_or_else(null, |_| "{}".to_owned());
    let scale = some(all, "scale").map_or_else(null, |scale| {
        Object::new()
            .text("SpecReplicasPath", scale, "specReplicasPath")
            .text("StatusReplicasPath", scale, "statusReplicasPath")
            .maybe("LabelSelectorPath", scale, "labelSelectorPath")
            .end()
    });
    Object::new()
        .field("Status", &status)
        .field("Scale", &scale)
        .end()
}

fn column(column: &Value) -> String {
    Object::new()
        .text("Name", column, "name")
        .text("Type", column, "type")
        .text("Format", column, "format")
        .text("Description", column, "description")
        .field(
            "Priority",
            &column["priority"].as_i64().unwrap_or_default().to_string(),
        )
        .text("JSONPath", column, "jsonPath")
        .end()
}

/// A rule of `x-kubernetes-validations`.
pub(super) fn rule(rule: &Value) -> String {
    Object::new()
        .text("Rule", rule, "rule")
        .text("Message", rule, "message")
        .text("MessageExpression", rule, "messageExpression")
        .maybe("Reason", rule, "reason")
        .text("FieldPath", rule, "fieldPath")
        .maybe("OptionalOldSelf", rule, "optionalOldSelf")
        .end()
}

/// A schema.
pub(super) fn schema(schema: &Value) -> String {
    schema_at(schema, 0)
}

/// The schema of items, or a list of them.
pub(super) fn items(items: &Value) -> String {
    items_at(items, 0)
}

fn items_at(items: &Value, depth: usize) -> String {
    let one = |value: &Value| schema_at(value, depth + 1);
    let (schema, schemas) = match items {
        Value::Array(all) => (null(), array(all.iter().map(one))),
        schema => (one(schema), null()),
    };
    Object::new()
        .field("Schema", &schema)
        .field("JSONSchemas", &schemas)
        .end()
}

/// How a field of a schema is shown.
#[derive(Clone, Copy)]
enum Shown {
    Text,
    Flag,
    /// Null when it is not there.
    Maybe,
    Float,
    One,
    Many,
    Named,
    OrBool,
    Texts,
    Items,
    Docs,
    Values,
    Rules,
}

/// The fields of a schema: their name in Go, in JSON, and how they are shown.
const FIELDS: &[(&str, &str, Shown)] = &[
    ("ID", "id", Shown::Text),
    ("Schema", "$schema", Shown::Text),
    ("Ref", "$ref", Shown::Maybe),
    ("Description", "description", Shown::Text),
    ("Type", "type", Shown::Text),
    ("Nullable", "nullable", Shown::Flag),
    ("Format", "format", Shown::Text),
    ("Title", "title", Shown::Text),
    ("Default", "default", Shown::Maybe),
    ("Maximum", "maximum", Shown::Float),
    ("ExclusiveMaximum", "exclusiveMaximum", Shown::Flag),
    ("Minimum", "minimum", Shown::Float),
    ("ExclusiveMinimum", "exclusiveMinimum", Shown::Flag),
    ("MaxLength", "maxLength", Shown::Maybe),
    ("MinLength", "minLength", Shown::Maybe),
    ("Pattern", "pattern", Shown::Text),
    ("MaxItems", "maxItems", Shown::Maybe),
    ("MinItems", "minItems", Shown::Maybe),
    ("UniqueItems", "uniqueItems", Shown::Flag),
    ("MultipleOf", "multipleOf", Shown::Float),
    ("Enum", "enum", Shown::Values),
    ("MaxProperties", "maxProperties", Shown::Maybe),
    ("MinProperties", "minProperties", Shown::Maybe),
    ("Required", "required", Shown::Texts),
    ("Items", "items", Shown::Items),
    ("AllOf", "allOf", Shown::Many),
    ("OneOf", "oneOf", Shown::Many),
    ("AnyOf", "anyOf", Shown::Many),
    ("Not", "not", Shown::One),
    ("Properties", "properties", Shown::Named),
    (
        "AdditionalProperties",
        "additionalProperties",
        Shown::OrBool,
    ),
    ("PatternProperties", "patternProperties", Shown::Named),
    ("Dependencies", "dependencies", Shown::Named),
    ("AdditionalItems", "additionalItems", Shown::OrBool),
    ("Definitions", "definitions", Shown::Named),
    ("ExternalDocs", "externalDocs", Shown::Docs),
    ("Example", "example", Shown::Maybe),
    (
        "XPreserveUnknownFields",
        "x-kubernetes-preserve-unknown-fields",
        Shown::Maybe,
    ),
    (
        "XEmbeddedResource",
        "x-kubernetes-embedded-resource",
        Shown::Flag,
    ),
    ("XIntOrString", "x-kubernetes-int-or-string", Shown::Flag),
    ("XListMapKeys", "x-kubernetes-list-map-keys", Shown::Texts),
    ("XListType", "x-kubernetes-list-type", Shown::Maybe),
    ("XMapType", "x-kubernetes-map-type", Shown::Maybe),
    ("XValidations", "x-kubernetes-validations", Shown::Rules),
];

fn schema_at(schema: &Value, depth: usize) -> String {
    if depth > MAX_DEPTH {
        return null();
    }
    let mut object = Object::new();
    for (name, key, shown) in FIELDS {
        object = match shown {
            Shown::Text => object.text(name, schema, key),
            Shown::Flag => object.flag(name, schema, key),
            shown => {
                let value = some(schema, key);
                let shown = value.map_or_else(null, |value| part(value, *shown, depth));
                object.field(name, &shown)
            }
        };
    }
    object.end()
}

fn part(value: &Value, shown: Shown, depth: usize) -> String {
    let one = |value: &Value| schema_at(value, depth + 1);
    let many = |show: &dyn Fn(&Value) -> String| {
        let all = list(value);
        if all.is_empty() {
            null()
        } else {
            array(all.iter().map(show))
        }
    };
    match shown {
        Shown::Text | Shown::Flag | Shown::Maybe => json(value),
        Shown::Float => value.as_f64().map_or_else(null, go_float),
        Shown::One => one(value),
        Shown::Many => many(&one),
        Shown::Texts | Shown::Values => many(&json),
        Shown::Rules => many(&rule),
        Shown::Items => items_at(value, depth),
        Shown::Named => match value.as_object() {
            Some(all) if !all.is_empty() => {
                let mut object = Object::new();
                for (name, value) in all {
                    object = object.field(name, &one(value));
                }
                object.end()
            }
            _ => null(),
        },
        Shown::OrBool => {
            let (allowed, schema) = match value {
                Value::Bool(allowed) => (*allowed, null()),
                schema => (true, one(schema)),
            };
            Object::new()
                .field("Allows", &allowed.to_string())
                .field("Schema", &schema)
                .end()
        }
        Shown::Docs => Object::new()
            .text("Description", value, "description")
            .text("URL", value, "url")
            .end(),
    }
}
