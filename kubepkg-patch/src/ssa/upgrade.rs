//! Moving fields from a client that wrote them itself to server-side apply. What was written with updates before
//! would otherwise be the field of another manager for ever, and stay when it is dropped from a configuration.
//!
//! Source of the rules: `k8s.io/client-go/util/csaupgrade`, which Helm 4.3.1 uses for the same purpose.

use serde_json::{Map, Value, json};

/// The managers of an object after the fields of `old` ones, written by updates, were given to `new`, which
/// applies. None when there is nothing to do.
pub fn moved(entries: &[Value], old: &[&str], new: &str) -> Option<Vec<Value>> {
    let mut moved = entries.to_vec();
    for name in old {
        moved = moved_one(moved, name, new);
    }
    (moved != entries).then_some(moved)
}

/// The JSON patch that stores moved managers, unless the object has changed since it was read.
pub fn patch_of(object: &Value, old: &[&str], new: &str) -> Option<Value> {
    let metadata = object.get("metadata")?;
    let moved = moved(metadata.get("managedFields")?.as_array()?, old, new)?;
    Some(json!([
        {"op": "replace", "path": "/metadata/managedFields", "value": moved},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": metadata.get("resourceVersion")?},
    ]))
}

fn is(entry: &Value, manager: &str, operation: &str) -> bool {
    entry["manager"] == manager
        && entry["operation"] == operation
        && entry
            .get("subresource")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .is_empty()
}

fn moved_one(mut entries: Vec<Value>, old: &str, new: &str) -> Vec<Value> {
    let applies = entries.iter().position(|entry| is(entry, new, "Apply"));
    // The first is the newest: entries are sorted by time, newest first.
    let updates = entries.iter().position(|entry| is(entry, old, "Update"));
    let Some(target) = applies.or(updates) else {
        return entries;
    };
    if applies.is_none()
        && let Some(entry) = entries.get_mut(target).and_then(Value::as_object_mut)
    {
        entry.insert("operation".to_owned(), json!("Apply"));
        entry.insert("manager".to_owned(), json!(new));
    }
    // Fields of another API version can't be merged; they are let go.
    let version = entries
        .get(target)
        .and_then(|entry| entry.get("apiVersion"))
        .cloned();
    let donor = entries
        .iter()
        .find(|entry| is(entry, old, "Update") && entry.get("apiVersion") == version.as_ref())
        .and_then(|entry| entry.get("fieldsV1"))
        .and_then(Value::as_object)
        .cloned();
    if let Some(donor) = donor
        && let Some(entry) = entries.get_mut(target).and_then(Value::as_object_mut)
    {
        let own = entry
            .get("fieldsV1")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        entry.insert("fieldsV1".to_owned(), Value::Object(root_union(own, donor)));
    }
    entries.retain(|entry| !is(entry, old, "Update"));
    entries
}

/// The root is no field, so an empty one adds nothing.
fn root_union(mut own: Map<String, Value>, donor: Map<String, Value>) -> Map<String, Value> {
    for (key, value) in donor {
        match own.remove(&key) {
            None => {
                own.insert(key, value);
            }
            Some(mine) => {
                own.insert(key, union(mine, value));
            }
        }
    }
    own
}

/// An empty node is a field itself; a node with children is one when it holds `.`.
fn union(mine: Value, theirs: Value) -> Value {
    match (mine, theirs) {
        (Value::Object(mine), Value::Object(theirs)) => {
            let leaf = mine.is_empty() != theirs.is_empty();
            let mut both = root_union(mine, theirs);
            if leaf {
                both.entry(".").or_insert_with(|| json!({}));
            }
            Value::Object(both)
        }
        (mine, _) => mine,
    }
}
