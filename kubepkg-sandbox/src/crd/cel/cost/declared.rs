//! How large the values of a schema may be, by `pkg/cel/common/schemas.go` of `k8s.io/apiserver`.
//!
//! What has no limit of its own may be as large as a request, divided by the smallest that an item can be in JSON.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::values::escaped;
use super::MAX_REQUEST;
use crate::crd::MAX_DEPTH;

/// What a schema says of the sizes of a value and of what is in it.
#[derive(Debug, Default)]
pub(crate) struct Declared {
    /// Characters, items or entries at most.
    max: u64,
    /// The bytes of the shortest JSON.
    shortest: u64,
    fields: BTreeMap<String, Declared>,
    /// What is in a list, or what the values of a map are.
    items: Option<Box<Declared>>,
    has_keys: bool,
}

/// Quotation marks.
const EMPTY_TEXT: u64 = 2;
const DATE: u64 = 12;
const LONGEST_TIME: u64 = 32;

impl Declared {
    /// None for what rules can't look at.
    pub(crate) fn of_schema(schema: &Value, resource: bool) -> Option<Self> {
        at(schema, resource, 0)
    }

    /// How often such a value may stand in an object.
    pub(crate) fn occurrences(&self) -> u64 {
        MAX_REQUEST / (self.shortest + 1)
    }

    /// How large what a path leads to may be. The first step, a variable, leads here.
    pub(super) fn at_path(&self, path: &[String]) -> Option<u64> {
        let mut at = self;
        let keys = Self::default();
        for step in path.iter().skip(1) {
            at = match step.as_str() {
                "@items" | "@values" => at.items.as_deref()?,
                "@keys" if at.has_keys => &keys,
                name => at.fields.get(name)?,
            };
        }
        Some(at.max)
    }

    fn plain(max: u64, shortest: u64) -> Self {
        Self {
            max,
            shortest,
            ..Self::default()
        }
    }
}

fn at(schema: &Value, resource: bool, depth: usize) -> Option<Declared> {
    if depth > MAX_DEPTH {
        return None;
    }
    let flag = |schema: &Value, key: &str| schema.get(key) == Some(&Value::Bool(true));
    let embedded = |schema: &Value| flag(schema, "x-kubernetes-embedded-resource");
    let text = |key: &str| schema.get(key).and_then(Value::as_str).unwrap_or_default();
    let limit = |key: &str| {
        let limit = schema.get(key).filter(|limit| !limit.is_null())?;
        Some(
            limit
                .as_i64()
                .map_or(0, |limit| u64::try_from(limit).unwrap_or(0)),
        )
    };
    // A character may have four bytes.
    let characters = || limit("maxLength").map(|most| most.saturating_mul(4));
    let unlimited = MAX_REQUEST - EMPTY_TEXT;
    if flag(schema, "x-kubernetes-int-or-string") {
        return Some(Declared::plain(characters().unwrap_or(unlimited), 1));
    }
    Some(match text("type") {
        "array" => {
            let items = schema.get("items").filter(|it| it.is_object())?;
            let items = at(items, embedded(items), depth + 1)?;
            let most = limit("maxItems");
            Declared {
                max: most.unwrap_or_else(|| unlimited / (items.shortest + 1)),
                shortest: 2,
                items: Some(Box::new(items)),
                ..Declared::default()
            }
        }
        "object" => {
            let additional = schema.get("additionalProperties");
            if let Some(values) = additional.filter(|it| it.is_object()) {
                let values = at(values, embedded(values), depth + 1)?;
                let most = limit("maxProperties");
                return Some(Declared {
                    // Besides a value an entry has a colon, a comma and a key, which is taken to have two bytes.
                    max: most.unwrap_or_else(|| unlimited / (values.shortest + 6)),
                    shortest: 2,
                    items: Some(Box::new(values)),
                    has_keys: true,
                    ..Declared::default()
                });
            }
            object(schema, resource, depth)
        }
        "string" => match text("format") {
            "byte" => Declared::plain(limit("maxLength").unwrap_or(unlimited), EMPTY_TEXT),
            "duration" => Declared::plain(LONGEST_TIME, 3),
            "date" => Declared::plain(DATE, DATE),
            "date-time" => Declared::plain(LONGEST_TIME, 21),
            _ => {
                let listed = schema.get("enum").and_then(Value::as_array);
                let longest = listed.filter(|all| !all.is_empty()).map(|all| {
                    let lengths = all.iter().filter_map(Value::as_str).map(str::len);
                    lengths.max().unwrap_or(0) as u64
                });
                let most = characters().or(longest).unwrap_or(unlimited);
                Declared::plain(most, EMPTY_TEXT)
            }
        },
        "boolean" => Declared::plain(0, 4),
        "number" | "integer" => Declared::plain(0, 1),
        _ => return None,
    })
}

fn object(schema: &Value, resource: bool, depth: usize) -> Declared {
    let mut object = Declared::plain(0, 2);
    let required = schema.get("required").and_then(Value::as_array);
    let required = |name: &str| {
        required.is_some_and(|all| all.iter().any(|required| required.as_str() == Some(name)))
    };
    let text = || Declared::plain(MAX_REQUEST - EMPTY_TEXT, EMPTY_TEXT);
    let mut add = |name: &str, declared: Declared, has_default: bool| {
        if required(name) && !has_default {
            object.shortest += name.len() as u64 + declared.shortest + 4;
        }
        if let Some(name) = escaped(name) {
            object.fields.insert(name, declared);
        }
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, schema) in properties.into_iter().flatten() {
        if resource && matches!(name.as_str(), "kind" | "apiVersion" | "metadata") {
            continue;
        }
        let flag = schema.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true));
        if let Some(declared) = at(schema, flag, depth + 1) {
            let default = schema.get("default").filter(|default| !default.is_null());
            add(name, declared, default.is_some());
        }
    }
    if resource {
        add("kind", text(), false);
        add("apiVersion", text(), false);
        let mut metadata = Declared::plain(0, 2);
        for name in ["name", "generateName"] {
            metadata.fields.insert(name.to_owned(), text());
        }
        add("metadata", metadata, false);
    }
    object
}
