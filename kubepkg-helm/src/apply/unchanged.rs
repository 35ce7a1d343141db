//! Would applying an object change anything? The server tells, in `managedFields`, which fields our last apply
//! set; when those are exactly the fields of the object and each still has the object's value, an apply would
//! be an empty one, and need not be asked for. Whatever can't be compared for certain (a value that the server
//! writes in another form, such as `1000m` for a processor; a list entry that two keys fit) counts as a
//! difference, and costs one apply. Fields that others own as well, or alone, do not matter, as in an apply.
//! Source of the rules: Kubernetes' `FieldsV1` and structured-merge-diff v6.

use serde_json::{Map, Value};

/// The parts of an object that no field manager owns.
const IDENTITY: [&str; 2] = ["apiVersion", "kind"];
const METADATA_IDENTITY: [&str; 8] = [
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "generation",
    "managedFields",
    "resourceVersion",
];

/// Levels that are followed; deeper objects count as different.
const DEPTH: usize = 100;

/// True when applying `desired` as `manager` would leave `live` as it is.
pub(crate) fn is_as_wanted(desired: &Value, live: &Value, manager: &str) -> bool {
    own_fields(live, manager, desired.get("apiVersion")).is_some_and(|fields| {
        let (Some(wanted), Some(live)) = (stripped(desired), live.as_object()) else {
            return false;
        };
        map(&wanted, live, fields, DEPTH)
    })
}

/// The fields that the manager's last apply set, when there was one in this API version and the object stays.
fn own_fields<'a>(
    live: &'a Value,
    manager: &str,
    api_version: Option<&Value>,
) -> Option<&'a Map<String, Value>> {
    let metadata = live.get("metadata")?;
    if metadata.get("deletionTimestamp").is_some() {
        return None;
    }
    let mut own = metadata
        .get("managedFields")?
        .as_array()?
        .iter()
        .filter(|entry| {
            entry["manager"] == manager
                && entry["operation"] == "Apply"
                && entry.get("subresource").is_none_or(|name| name == "")
        });
    let (entry, none) = (own.next()?, own.next());
    // Several entries would be those of several versions.
    if none.is_some() || entry.get("apiVersion") != api_version {
        return None;
    }
    entry.get("fieldsV1")?.as_object()
}

/// The object without what identifies it.
fn stripped(desired: &Value) -> Option<Map<String, Value>> {
    let mut wanted = desired.as_object()?.clone();
    for key in IDENTITY {
        wanted.remove(key);
    }
    let metadata = wanted.get_mut("metadata").and_then(Value::as_object_mut)?;
    for key in METADATA_IDENTITY {
        metadata.remove(key);
    }
    if metadata.is_empty() {
        wanted.remove("metadata");
    }
    Some(wanted)
}

/// A field that is owned as a whole has an empty node; others have children.
fn value(wanted: &Value, live: &Value, fields: &Value, depth: usize) -> bool {
    let Some(fields) = fields.as_object() else {
        return false;
    };
    if fields.is_empty() {
        return wanted == live;
    }
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    match (wanted, live) {
        (Value::Object(wanted), Value::Object(live)) => map(wanted, live, fields, depth),
        (Value::Array(wanted), Value::Array(live)) => list(wanted, live, fields, depth),
        _ => false,
    }
}

fn map(
    wanted: &Map<String, Value>,
    live: &Map<String, Value>,
    fields: &Map<String, Value>,
    depth: usize,
) -> bool {
    let owned = fields.keys().filter(|key| *key != ".").count();
    owned == wanted.len()
        && wanted.iter().all(|(key, want)| {
            let node = fields.get(&format!("f:{key}"));
            match (node, live.get(key)) {
                (Some(node), Some(have)) => value(want, have, node, depth),
                _ => false,
            }
        })
}

fn list(wanted: &[Value], live: &[Value], fields: &Map<String, Value>, depth: usize) -> bool {
    let mut places = Vec::with_capacity(wanted.len());
    for (key, node) in fields.iter().filter(|(key, _)| *key != ".") {
        let Some(item) = Item::of(key) else {
            return false;
        };
        let (Some((at, want)), Some((there, have))) = (item.only(wanted), item.only(live)) else {
            return false;
        };
        // A set's entry is its own value; a map's entry has at least its keys.
        if matches!(item, Item::Keys(_)) && !value(want, have, node, depth) {
            return false;
        }
        places.push((at, there));
    }
    // An apply puts its entries into its own order, so another order is a difference.
    places.sort_unstable();
    places.len() == wanted.len() && places.is_sorted_by(|a, b| a.1 < b.1)
}

/// Which entry of a list a field is about.
enum Item {
    /// `v:"x"`: the entry x.
    Value(Value),
    /// `k:{"name":"x"}`: an entry whose name is x; a key that an entry leaves out is one with a default, which the
    /// live entry has.
    Keys(Map<String, Value>),
}

impl Item {
    fn of(key: &str) -> Option<Self> {
        if let Some(text) = key.strip_prefix("v:") {
            return serde_json::from_str(text).ok().map(Self::Value);
        }
        serde_json::from_str(key.strip_prefix("k:")?)
            .ok()
            .map(Self::Keys)
    }

    fn fits(&self, entry: &Value) -> bool {
        match self {
            Self::Value(value) => value == entry,
            Self::Keys(keys) => {
                entry.is_object()
                    && keys.iter().any(|(name, _)| entry.get(name).is_some())
                    && keys
                        .iter()
                        .all(|(name, value)| entry.get(name).is_none_or(|found| found == value))
            }
        }
    }

    /// The only entry that is meant, and its place.
    fn only<'a>(&self, list: &'a [Value]) -> Option<(usize, &'a Value)> {
        let mut found = list
            .iter()
            .enumerate()
            .filter(|(_, entry)| self.fits(entry));
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::is_as_wanted;
    use serde_json::{Value, json};

    fn wanted() -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "x", "namespace": "ns", "labels": {"a": "1"}, "finalizers": ["f/1"]},
            "spec": {"selector": {"matchLabels": {"a": "1"}}, "template": {"spec": {"containers": [
                {"name": "c", "image": "i:1", "ports": [{"containerPort": 80}], "command": ["a", "b"]}]}}}})
    }

    /// As an API server 1.36.3 answers an apply of `wanted`, with the fields of others beside it.
    fn live() -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "x", "namespace": "ns", "uid": "u", "resourceVersion": "7",
                "labels": {"a": "1", "other": "o"}, "finalizers": ["f/1"],
                "managedFields": [
                    {"manager": "kubectl", "operation": "Update", "apiVersion": "apps/v1",
                        "fieldsV1": {"f:metadata": {"f:labels": {"f:other": {}}}}},
                    {"manager": "helm", "operation": "Apply", "apiVersion": "apps/v1", "fieldsV1": {
                        "f:metadata": {"f:labels": {"f:a": {}}, "f:finalizers": {"v:\"f/1\"": {}}},
                        "f:spec": {"f:selector": {}, "f:template": {"f:spec": {"f:containers": {
                            "k:{\"name\":\"c\"}": {".": {}, "f:name": {}, "f:image": {}, "f:command": {},
                                "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":
                                    {".": {}, "f:containerPort": {}}}}}}}}}}]},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "1"}},
                "template": {"spec": {"containers": [
                    {"name": "c", "image": "i:1", "command": ["a", "b"], "imagePullPolicy": "Always",
                        "ports": [{"containerPort": 80, "protocol": "TCP"}]}]}}}})
    }

    #[test]
    fn an_object_as_it_was_applied_is_as_wanted() {
        assert!(is_as_wanted(&wanted(), &live(), "helm"));
        assert!(!is_as_wanted(&wanted(), &live(), "other"));
    }

    /// Each row changes one value of the live or of the wanted object.
    #[test]
    fn any_difference_in_an_own_field_is_one() {
        let container = "/spec/template/spec/containers/0";
        let live_rows = [
            (format!("{container}/image"), json!("i:2")),
            (format!("{container}/command/1"), json!("c")),
            ("/metadata/labels/a".to_owned(), json!("2")),
            ("/metadata/finalizers".to_owned(), json!([])),
            ("/spec/selector/matchLabels/b".to_owned(), json!("2")),
            (
                "/metadata/managedFields/1/operation".to_owned(),
                json!("Update"),
            ),
            (
                "/metadata/managedFields/1/apiVersion".to_owned(),
                json!("apps/v1beta1"),
            ),
            (
                "/metadata/managedFields/1/fieldsV1/f:spec/f:selector/f:x".to_owned(),
                json!({}),
            ),
            (
                "/metadata/deletionTimestamp".to_owned(),
                json!("2026-01-01T00:00:00Z"),
            ),
        ];
        for (path, value) in live_rows {
            let mut live = live();
            put(&mut live, &path, value);
            assert!(!is_as_wanted(&wanted(), &live, "helm"), "{path}");
        }
        let wanted_rows = [
            ("/metadata/labels/b", json!("2")),
            ("/spec/replicas", json!(1)),
            (
                "/spec/template/spec/containers/0/ports/0/protocol",
                json!("TCP"),
            ),
            ("/metadata/labels", json!(null)),
        ];
        for (path, value) in wanted_rows {
            let mut wanted = wanted();
            put(&mut wanted, path, value);
            assert!(!is_as_wanted(&wanted, &live(), "helm"), "{path}");
        }
    }

    #[test]
    fn the_values_of_others_do_not_matter() {
        for (path, value) in [
            ("/spec/replicas", json!(5)),
            ("/metadata/labels/other", json!("x")),
            ("/metadata/labels/third", json!("x")),
        ] {
            let mut live = live();
            put(&mut live, path, value);
            assert!(is_as_wanted(&wanted(), &live, "helm"), "{path}");
        }
    }

    fn put(object: &mut Value, path: &str, value: Value) {
        let (parent, key) = path.rsplit_once('/').expect("path");
        match object.pointer_mut(parent).expect("parent") {
            Value::Array(list) => list[key.parse::<usize>().expect("index")] = value,
            other => other[key] = value,
        }
    }
}
