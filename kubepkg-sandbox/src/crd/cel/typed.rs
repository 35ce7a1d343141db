//! Values with their types: `type()`, and values as people read them.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube_cel::cel::Value;
use kube_cel::cel::objects::{Opaque, OptionalValue};
use serde_json::json;

use super::fit;
use super::together;
use super::values::of_key;

/// What a library keeps in a value, when it is of this type.
pub(super) fn held<T: Opaque>(value: &Value) -> Option<&T> {
    match value {
        Value::Opaque(opaque) => opaque.downcast_ref(),
        _ => None,
    }
}

/// A type, as a value.
#[derive(Debug, PartialEq, Eq)]
struct Type(String);

impl Opaque for Type {
    fn runtime_type_name(&self) -> &'static str {
        "type"
    }
}

/// Types that expressions can name.
const NAMES: &[&str] = &[
    "bool",
    "bytes",
    "double",
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
    "int",
    "list",
    "map",
    "null_type",
    "optional_type",
    "string",
    "type",
    "uint",
];

/// The type that a name stands for.
pub(super) fn named(name: &str) -> Option<Value> {
    NAMES
        .contains(&name)
        .then(|| Value::Opaque(Arc::new(Type(name.to_owned()))))
}

/// The type of a value, as a value.
pub(super) fn of(value: &Value) -> Value {
    Value::Opaque(Arc::new(Type(name(value).to_owned())))
}

/// The name that cel-go gives to a type without its parts.
pub(super) fn name_of_type(of: &fit::Type) -> String {
    match of {
        fit::Type::Of(name, _) => (*name).to_owned(),
        fit::Type::Plain("null") => "null_type".to_owned(),
        fit::Type::Plain("duration") => "google.protobuf.Duration".to_owned(),
        fit::Type::Plain("timestamp") => "google.protobuf.Timestamp".to_owned(),
        other => other.to_string(),
    }
}

/// A value as text, without quotation marks.
pub(super) fn plain(value: &Value) -> String {
    match &shown(value)["value"] {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The name of the type of a value.
pub(super) fn name(value: &Value) -> &str {
    match value {
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Function(..) => "function",
        Value::Int(_) => "int",
        Value::UInt(_) => "uint",
        Value::Float(_) => "double",
        Value::String(_) => "string",
        Value::Bytes(_) => "bytes",
        Value::Bool(_) => "bool",
        Value::Duration(_) => "google.protobuf.Duration",
        Value::Timestamp(_) => "google.protobuf.Timestamp",
        Value::Opaque(opaque) => opaque.runtime_type_name(),
        Value::Null => "null_type",
    }
}

/// A value with its type.
pub(super) fn shown(value: &Value) -> serde_json::Value {
    let plain = match value {
        Value::List(items) => items.iter().map(shown).collect(),
        Value::Map(map) => {
            let mut pairs: Vec<serde_json::Value> = map
                .map
                .iter()
                .map(|(key, value)| json!([shown(&of_key(key)), shown(value)]))
                .collect();
            pairs.sort_by_cached_key(|pair| pair[0].to_string());
            pairs.into()
        }
        Value::Function(name, _) => json!(name.as_str()),
        Value::Int(number) => json!(number.to_string()),
        Value::UInt(number) => json!(number.to_string()),
        Value::Float(number) => json!(float(*number)),
        Value::String(text) => json!(text.as_str()),
        Value::Bytes(bytes) => json!(STANDARD.encode(bytes.as_slice())),
        Value::Bool(flag) => json!(flag),
        Value::Duration(duration) => json!(seconds(duration.num_nanoseconds())),
        Value::Timestamp(time) => json!(rfc3339(&time.to_rfc3339())),
        Value::Opaque(opaque) => match together::plain(value) {
            list @ Value::List(_) => return shown(&list),
            _ => in_opaque(value, opaque.as_ref()),
        },
        Value::Null => json!(null),
    };
    json!({"type": name(value), "value": plain})
}

fn in_opaque(value: &Value, opaque: &dyn Opaque) -> serde_json::Value {
    if let Some(kind) = opaque.downcast_ref::<Type>() {
        return json!(kind.0);
    }
    match opaque.downcast_ref::<OptionalValue>() {
        Some(optional) => optional.value().map_or(json!(null), shown),
        // Libraries keep what is in their values to themselves, but for addresses.
        None => json!(
            super::functions::text_of(value).unwrap_or_else(|| format!("{:?}", opaque.as_debug()))
        ),
    }
}

/// A time as Go writes it: no zeros at the end of a fraction, `Z` for UTC.
fn rfc3339(text: &str) -> String {
    let (head, zone) = match text.strip_suffix("+00:00") {
        Some(head) => (head, "Z"),
        None => text.split_at(text.len().saturating_sub(6)),
    };
    let head = if head.contains('.') {
        head.trim_end_matches('0')
    } else {
        head
    };
    format!("{head}{zone}")
}

/// A span in seconds, as exactly as a floating point number is.
#[expect(clippy::cast_precision_loss, reason = "as Go shows spans")]
fn seconds(nanoseconds: Option<i64>) -> String {
    let Some(all) = nanoseconds else {
        return "?".to_owned();
    };
    let (whole, rest) = (all / 1_000_000_000, all % 1_000_000_000);
    format!("{}s", whole as f64 + rest as f64 / 1e9)
}

/// A float as `strconv.FormatFloat` writes it with the verb `g`.
fn float(number: f64) -> String {
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let text = format!("{number:e}");
    let Some((digits, exponent)) = text.split_once('e') else {
        return text;
    };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    format!("{number}")
}
