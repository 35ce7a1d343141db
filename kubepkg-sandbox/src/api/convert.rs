//! Versions of built-in resources that differ in more than their name.
//!
//! Events have two groups with other field names for the same objects; they are kept as those of
//! the group without a name. Custom resources are converted by changing `apiVersion` alone, the
//! strategy `None`, and by dropping what the other version has no field for; `autoscaling/v1` is shown
//! as far as it has a place for what `v2` says.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::kind::Kind;
use crate::crd;

/// Field in the group without a name, field in `events.k8s.io`.
const EVENT_FIELDS: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// The object as a version shows it.
pub(crate) fn shown<'a>(kind: &Kind, object: &'a Value) -> Cow<'a, Value> {
    if let Some(custom) = &kind.custom {
        if !custom.has_others {
            return Cow::Borrowed(object);
        }
        let mut object = object.clone();
        crd::prune(&mut object, &custom.schema);
        return Cow::Owned(object);
    }
    match (kind.group.as_str(), kind.version.as_str()) {
        ("events.k8s.io", _) => Cow::Owned(renamed(object, true)),
        ("autoscaling", "v1") => Cow::Owned(autoscaler_v1(object)),
        _ => Cow::Borrowed(object),
    }
}

/// The object as it is kept, from what a client of this version sent.
pub(crate) fn stored(kind: &Kind, object: Value) -> Value {
    match (kind.group.as_str(), kind.version.as_str()) {
        ("events.k8s.io", _) => renamed(&object, false),
        ("autoscaling", "v1") => autoscaler_v2(object),
        _ => object,
    }
}

/// The object as a change of it through this version begins.
pub(crate) fn read(kind: &Kind, object: &Arc<Value>) -> Arc<Value> {
    match kind.custom.as_ref().map(|_| shown(kind, object)) {
        Some(Cow::Owned(shown)) => Arc::new(shown),
        _ => Arc::clone(object),
    }
}

/// A custom resource as it is read back once it is stored: with the fields of the version in which it is stored, and
/// with what that one has for those that are missing.
pub(crate) fn read_back(kind: &Kind, object: &mut Value) {
    let Some(custom) = &kind.custom else { return };
    match &custom.stored {
        Some(stored) => read_by(stored, object),
        None => crd::set_defaults(object, &custom.schema),
    }
}

/// A custom resource as it is read from where it is stored, by the schema of the version that it is stored in.
pub(crate) fn read_by(schema: &Value, object: &mut Value) {
    crd::prune(object, schema);
    crd::set_defaults(object, schema);
}

fn renamed(object: &Value, outwards: bool) -> Value {
    let Some(fields) = object.as_object() else {
        return object.clone();
    };
    let fields = fields.iter().filter_map(|(field, value)| {
        let pair = EVENT_FIELDS
            .iter()
            .map(|(inner, outer)| {
                if outwards {
                    (inner, outer)
                } else {
                    (outer, inner)
                }
            })
            .find(|(from, _)| *from == field);
        let name = pair.map_or(field.as_str(), |(_, to)| to);
        let empty = value.as_str() == Some("");
        // The new group leaves out who reports when nobody does.
        let left_out = outwards && empty && name.starts_with("reporting");
        (!left_out).then(|| (name.to_owned(), value.clone()))
    });
    Value::Object(fields.collect::<Map<_, _>>())
}

fn autoscaler_v1(object: &Value) -> Value {
    let mut object = object.clone();
    let target = object["spec"]["metrics"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|metric| metric["resource"]["name"] == "cpu")
        .map(|metric| metric["resource"]["target"]["averageUtilization"].clone());
    if let Some(spec) = object["spec"].as_object_mut() {
        spec.remove("metrics");
        spec.remove("behavior");
        if let Some(target) = target.filter(|target| !target.is_null()) {
            spec.insert("targetCPUUtilizationPercentage".into(), target);
        }
    }
    if let Some(status) = object["status"].as_object_mut() {
        status.remove("currentMetrics");
        status.remove("conditions");
        status.entry("currentReplicas").or_insert(json!(0));
    }
    object
}

fn autoscaler_v2(mut object: Value) -> Value {
    if let Some(spec) = object["spec"].as_object_mut()
        && let Some(target) = spec.remove("targetCPUUtilizationPercentage")
    {
        spec.insert(
            "metrics".into(),
            json!([{"type": "Resource", "resource": {
                "name": "cpu", "target": {"type": "Utilization", "averageUtilization": target},
            }}]),
        );
    }
    object
}
