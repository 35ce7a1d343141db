//! OpenAPI v2: the kinds with their fields, as kubectl and helm want them for lists of kind `List` and for
//! `kubectl explain -o plaintext-openapiv2`, in JSON and in the protobuf form of `gnostic`.
//!
//! The schemas are those of v3 without what v2 cannot say. Of custom resources is left out, too, what clients of v2 cannot
//! read (`ToStructuralOpenAPIV2` of `k8s.io/apiextensions-apiserver`).

use serde_json::{Map, Value, json};

use super::{RELEASE, add_embedded, operations, schemas};
use crate::api::request::Call;
use crate::api::world::{Answer, World};

const PROTOBUF: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

pub(super) fn document(world: &World, call: &Call) -> Answer {
    let definitions = definitions(world);
    let paths = paths(world);
    if call.accept.contains("proto-openapi.spec.v2") {
        return Answer {
            content_type: PROTOBUF,
            ..Answer::bytes(200, encoded(&paths, &definitions))
        };
    }
    Answer::json(
        200,
        &json!({
            "swagger": "2.0", "info": {"title": "Kubernetes", "version": RELEASE},
            "paths": paths, "definitions": definitions,
        }),
    )
}

/// The versions of all groups: as a path has them, group, version.
fn places(world: &World) -> Vec<(String, String, String)> {
    let mut places = Vec::new();
    for (group, versions) in world.registry.groups() {
        for version in versions {
            let place = super::place(group, version);
            places.push((place, group.clone(), version.clone()));
        }
    }
    places
}

fn definitions(world: &World) -> Map<String, Value> {
    let mut all = Map::new();
    for (place, group, version) in places(world) {
        for (name, (mut schema, custom)) in schemas(world, &place, &group, &version) {
            if custom {
                add_embedded(&mut schema, true);
            }
            all.entry(name).or_insert_with(|| older(&schema, custom));
        }
    }
    crate::api::descriptions::describe(&mut all);
    all
}

fn paths(world: &World) -> Map<String, Value> {
    let mut paths = Map::new();
    for (place, group, version) in places(world) {
        for kind in world.registry.in_version(&group, &version) {
            for (path, mut item) in operations(kind, &place) {
                for operation in item.as_object_mut().into_iter().flat_map(Map::values_mut) {
                    let parameters = operation["parameters"].as_array_mut();
                    for parameter in parameters.into_iter().flatten() {
                        *parameter = json!({
                            "name": parameter["name"], "in": "query", "type": "string",
                            "uniqueItems": true,
                        });
                    }
                    operation["responses"] = json!({"200": {"description": "OK"}});
                }
                paths.insert(path, item);
            }
        }
    }
    paths
}

/// A schema of v3 as v2 says it.
fn older(schema: &Value, custom: bool) -> Value {
    let Some(fields) = schema.as_object() else {
        return schema.clone();
    };
    let mut out = Map::new();
    for (field, value) in fields {
        let value = match field.as_str() {
            "default" | "anyOf" | "not" | "nullable" => continue,
            // A quantity is a text in v2.
            "oneOf" if custom => continue,
            "oneOf" => {
                out.insert("type".to_owned(), "string".into());
                continue;
            }
            // A reference that has a description beside it.
            "allOf" => match value.as_array().map(Vec::as_slice) {
                Some([one]) if one["$ref"].is_string() => {
                    out.insert("$ref".to_owned(), reference(&one["$ref"]));
                    continue;
                }
                _ => continue,
            },
            "$ref" => reference(value),
            "properties" => {
                let properties = value.as_object().into_iter().flatten();
                let properties =
                    properties.map(|(name, schema)| (name.clone(), older(schema, custom)));
                Value::Object(properties.collect())
            }
            "items" | "additionalProperties" => older(value, custom),
            _ => value.clone(),
        };
        out.insert(field.clone(), value);
    }
    if custom {
        simplify(schema, &mut out);
    }
    Value::Object(out)
}

fn reference(to: &Value) -> Value {
    let to = to.as_str().unwrap_or_default();
    to.replace("#/components/schemas/", "#/definitions/").into()
}

/// Says less where clients would read something wrong.
fn simplify(schema: &Value, out: &mut Map<String, Value>) {
    let nullable = schema["nullable"] == true;
    let open = schema["x-kubernetes-preserve-unknown-fields"] == true;
    if nullable || open {
        out.remove("items");
        out.remove("properties");
    }
    let bare = out.get("type").is_some_and(|kind| {
        nullable || (kind == "array" && !out.contains_key("items")) || (kind == "object" && open)
    });
    if bare {
        out.remove("type");
    }
    let optional = |name: &Value| {
        let name = name.as_str().unwrap_or_default();
        schema["properties"][name]["nullable"] == true
    };
    if let Some(required) = out.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| !optional(name));
        if required.is_empty() || schema["additionalProperties"]["nullable"] == true {
            out.remove("required");
        }
    }
}

/// The document in protobuf: `openapi.v2.Document` of `gnostic`.
fn encoded(paths: &Map<String, Value>, definitions: &Map<String, Value>) -> Vec<u8> {
    let mut out = Message::default();
    out.text(1, "2.0");
    out.message(2, |info| {
        info.text(1, "Kubernetes");
        info.text(2, RELEASE);
    });
    out.message(8, |all| {
        for (path, item) in paths {
            all.named(2, path, |out| path_item(out, item));
        }
    });
    out.message(9, |all| {
        for (name, value) in definitions {
            all.named(1, name, |out| schema(out, value));
        }
    });
    out.0
}

fn path_item(out: &mut Message, item: &Value) {
    let verbs = [
        (2, "get"),
        (3, "put"),
        (4, "post"),
        (5, "delete"),
        (8, "patch"),
    ];
    for (number, verb) in verbs {
        if item[verb].is_object() {
            out.message(number, |out| operation(out, &item[verb]));
        }
    }
}

fn operation(out: &mut Message, operation: &Value) {
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        // The item, a parameter, not of the body, of the query.
        let numbers = (8, 1, 2, 3);
        out.message(numbers.0, |out| {
            out.message(numbers.1, |out| {
                out.message(numbers.2, |out| {
                    out.message(numbers.3, |out| {
                        out.text(2, "query");
                        out.text(4, parameter["name"].as_str().unwrap_or_default());
                        out.text(6, "string");
                    });
                });
            });
        });
    }
    out.extensions(13, operation);
}

fn schema(out: &mut Message, value: &Value) {
    for (number, field) in [
        (1, "$ref"),
        (2, "format"),
        (3, "title"),
        (4, "description"),
        (13, "pattern"),
    ] {
        out.text(number, value[field].as_str().unwrap_or_default());
    }
    for (number, field) in [(6, "multipleOf"), (7, "maximum"), (9, "minimum")] {
        if let Some(amount) = value[field].as_f64() {
            out.double(number, amount);
        }
    }
    for (number, field) in [
        (8, "exclusiveMaximum"),
        (10, "exclusiveMinimum"),
        (16, "uniqueItems"),
    ] {
        if value[field] == true {
            out.number(number, 1);
        }
    }
    for (number, field) in [
        (11, "maxLength"),
        (12, "minLength"),
        (14, "maxItems"),
        (15, "minItems"),
        (17, "maxProperties"),
        (18, "minProperties"),
    ] {
        if let Some(amount) = value[field].as_u64().filter(|amount| *amount > 0) {
            out.number(number, amount);
        }
    }
    let list = |field: &str| value[field].as_array().into_iter().flatten();
    for name in list("required").filter_map(Value::as_str) {
        out.text(19, name);
    }
    for one in list("enum") {
        out.message(20, |out| out.any(one));
    }
    match &value["additionalProperties"] {
        Value::Null => {}
        Value::Bool(open) => out.message(21, |out| out.number(2, u64::from(*open))),
        inner => out.message(21, |out| out.message(1, |out| schema(out, inner))),
    }
    if let Some(kind) = value["type"].as_str() {
        out.message(22, |out| out.text(1, kind));
    }
    if value["items"].is_object() {
        out.message(23, |out| out.message(1, |out| schema(out, &value["items"])));
    }
    if let Some(properties) = value["properties"].as_object() {
        out.message(25, |out| {
            for (name, property) in properties {
                out.named(1, name, |out| schema(out, property));
            }
        });
    }
    out.extensions(31, value);
}

/// A message that is being written.
#[derive(Debug, Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        loop {
            let [low, ..] = value.to_le_bytes();
            value >>= 7;
            if value == 0 {
                self.0.push(low & 0x7f);
                return;
            }
            self.0.push(low | 0x80);
        }
    }

    fn bytes(&mut self, number: u32, bytes: &[u8]) {
        self.varint(u64::from(number << 3 | 2));
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, number: u32, text: &str) {
        if !text.is_empty() {
            self.bytes(number, text.as_bytes());
        }
    }

    fn number(&mut self, number: u32, value: u64) {
        self.varint(u64::from(number << 3));
        self.varint(value);
    }

    fn double(&mut self, number: u32, value: f64) {
        self.varint(u64::from(number << 3 | 1));
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn message(&mut self, number: u32, write: impl FnOnce(&mut Self)) {
        let mut inner = Self::default();
        write(&mut inner);
        self.bytes(number, &inner.0);
    }

    /// A name and what has it.
    fn named(&mut self, number: u32, name: &str, write: impl FnOnce(&mut Self)) {
        self.message(number, |out| {
            out.text(1, name);
            out.message(2, write);
        });
    }

    /// Any value, as YAML: JSON is.
    fn any(&mut self, value: &Value) {
        self.text(2, &format!("{value}\n"));
    }

    /// What Kubernetes says beside the standard.
    fn extensions(&mut self, number: u32, of: &Value) {
        for (name, value) in of.as_object().into_iter().flatten() {
            if name.starts_with("x-") {
                self.named(number, name, |out| out.any(value));
            }
        }
    }
}
