//! Values of objects as rules see them.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube_cel::cel;
use kube_cel::cel::objects::{Key, Map};
use serde_json::Value;

use super::run::Meter;
use super::{functions, together};
use crate::crd::MAX_DEPTH;

/// Words that no variable may have for a name.
pub(crate) const RESERVED: &[&str] = &[
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// A value as rules see it: fields whose names mean something in CEL are escaped, and texts of some formats are more
/// than texts.
pub(crate) fn as_cel(value: &Value, schema: Option<&Value>) -> cel::Value {
    at(value, schema, 0)
}

fn at(value: &Value, schema: Option<&Value>, depth: usize) -> cel::Value {
    let text = |key: &str| schema.and_then(|it| it.get(key)).and_then(Value::as_str);
    match value {
        _ if depth > MAX_DEPTH => cel::Value::Null,
        Value::Null => cel::Value::Null,
        Value::Bool(flag) => cel::Value::Bool(*flag),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(int), _) if text("type") != Some("number") => cel::Value::Int(int),
            (_, Some(float)) => cel::Value::Float(float),
            _ => cel::Value::Null,
        },
        Value::String(plain) => {
            let plain_text = || cel::Value::String(Arc::new(plain.clone()));
            match text("format") {
                Some("byte") => STANDARD
                    .decode(plain)
                    .map_or_else(|_| plain_text(), |bytes| cel::Value::Bytes(Arc::new(bytes))),
                Some("date-time") => {
                    converted("timestamp", plain_text()).unwrap_or_else(plain_text)
                }
                Some("date") => {
                    let midnight = format!("{plain}T00:00:00Z");
                    converted("timestamp", cel::Value::String(Arc::new(midnight)))
                        .unwrap_or_else(plain_text)
                }
                Some("duration") => converted("duration", plain_text()).unwrap_or_else(plain_text),
                _ => plain_text(),
            }
        }
        Value::Array(items) => {
            let inner = schema.and_then(|it| it.get("items"));
            let items = items.iter().map(|item| at(item, inner, depth + 1));
            match text("x-kubernetes-list-type") {
                Some("set") => together::list(items.collect(), None),
                Some("map") => {
                    let keys =
                        schema.and_then(|it| it.get("x-kubernetes-list-map-keys")?.as_array());
                    let keys = keys.into_iter().flatten().filter_map(Value::as_str);
                    together::list(items.collect(), Some(keys.filter_map(escaped).collect()))
                }
                _ => cel::Value::List(Arc::new(items.collect())),
            }
        }
        Value::Object(fields) => {
            let property = |key: &str| schema.and_then(|it| it.get("properties")?.get(key));
            let additional = schema.and_then(|it| it.get("additionalProperties"));
            let map: HashMap<Key, cel::Value> = fields
                .iter()
                .filter_map(|(key, value)| {
                    let (name, schema) = match property(key) {
                        Some(schema) => (escaped(key)?, Some(schema)),
                        // Keys of maps are data.
                        None if additional.is_some() => (key.clone(), additional),
                        None if schema.is_none() => (key.clone(), None),
                        None => (escaped(key)?, None),
                    };
                    Some((Key::from(name), at(value, schema, depth + 1)))
                })
                .collect();
            cel::Value::Map(Map { map: Arc::new(map) })
        }
    }
}

/// The key of a map as a value.
pub(super) fn of_key(key: &Key) -> cel::Value {
    match key {
        Key::Int(number) => cel::Value::Int(*number),
        Key::Uint(number) => cel::Value::UInt(*number),
        Key::Bool(flag) => cel::Value::Bool(*flag),
        Key::String(text) => cel::Value::String(Arc::clone(text)),
    }
}

/// What a value is to a function of CEL.
pub(super) fn converted(name: &str, value: cel::Value) -> Option<cel::Value> {
    functions::named(name)(&mut functions::Called {
        name,
        member: false,
        values: &[value],
        meter: &mut Meter::default(),
    })
    .ok()
}

/// The name of a field in CEL; none for a field that no expression can name.
pub(crate) fn escaped(name: &str) -> Option<String> {
    if RESERVED.contains(&name) {
        return Some(format!("__{name}__"));
    }
    let plain = |sign: char| sign.is_ascii_alphanumeric() || matches!(sign, '_' | '.' | '-' | '/');
    if !name.chars().all(plain) || name.chars().next().is_none_or(|sign| sign.is_ascii_digit()) {
        return None;
    }
    let name = name.replace("__", "__underscores__");
    let name = name.replace('.', "__dot__").replace('-', "__dash__");
    Some(name.replace('/', "__slash__"))
}
