//! Reading and writing the metadata of an object.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::store::Key;

/// A text below `metadata`; empty when it is not there.
pub(crate) fn meta<'a>(object: &'a Value, field: &str) -> &'a str {
    text(&object["metadata"], field)
}

/// A text; empty when it is not there.
pub(crate) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

pub(crate) fn name(object: &Value) -> &str {
    meta(object, "name")
}

pub(crate) fn namespace(object: &Value) -> &str {
    meta(object, "namespace")
}

pub(crate) fn uid(object: &Value) -> &str {
    meta(object, "uid")
}

pub(crate) fn key(object: &Value) -> Key {
    (namespace(object).to_owned(), name(object).to_owned())
}

/// The owner references.
pub(crate) fn owners(object: &Value) -> impl Iterator<Item = &Value> {
    list(&object["metadata"]["ownerReferences"])
}

/// The items of a list; nothing when it is none.
pub(crate) fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The owner reference with `controller: true`.
pub(crate) fn controller(object: &Value) -> Option<&Value> {
    owners(object).find(|owner| owner["controller"] == true)
}

/// Sets a field of `metadata`.
pub(crate) fn set(object: &mut Value, field: &str, value: impl Into<Value>) {
    if let Some(fields) = metadata(object) {
        fields.insert(field.to_owned(), value.into());
    }
}

/// Removes a field of `metadata`.
pub(crate) fn unset(object: &mut Value, field: &str) {
    if let Some(fields) = metadata(object) {
        fields.remove(field);
    }
}

/// `metadata`, made when it is not there.
pub(crate) fn metadata(object: &mut Value) -> Option<&mut Map<String, Value>> {
    entry(object, "metadata")
}

/// An object below an object, made when it is not there or null.
pub(crate) fn entry<'a>(value: &'a mut Value, field: &str) -> Option<&'a mut Map<String, Value>> {
    let slot = value
        .as_object_mut()?
        .entry(field.to_owned())
        .or_insert_with(|| Value::Object(Map::new()));
    if slot.is_null() {
        *slot = Value::Object(Map::new());
    }
    slot.as_object_mut()
}

/// Sets a field that is absent or null.
pub(crate) fn default(value: &mut Value, field: &str, default: impl Into<Value>) {
    if let Some(fields) = value.as_object_mut() {
        let slot = fields.entry(field.to_owned()).or_insert(Value::Null);
        if slot.is_null() {
            *slot = default.into();
        }
    }
}

/// Whether it is being deleted.
pub(crate) fn terminating(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

pub(crate) fn finalizers(object: &Value) -> Vec<String> {
    list(&object["metadata"]["finalizers"])
        .filter_map(|one| one.as_str().map(str::to_owned))
        .collect()
}

pub(crate) fn set_finalizers(object: &mut Value, finalizers: Vec<String>) {
    if finalizers.is_empty() {
        unset(object, "finalizers");
    } else {
        set(object, "finalizers", finalizers);
    }
}

/// A time as `metadata` writes it.
pub(crate) fn time(now: Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Reads a time.
pub(crate) fn parse_time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

/// Whether labels select: every pair of `matchLabels` is there.
pub(crate) fn has_labels(object: &Value, wanted: &Value) -> bool {
    let labels = &object["metadata"]["labels"];
    wanted
        .as_object()
        .into_iter()
        .flatten()
        .all(|(key, value)| labels.get(key) == Some(value))
}
