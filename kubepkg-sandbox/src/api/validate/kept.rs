//! What of a pod and of a claim may not change: `ValidatePodUpdate` and `ValidatePersistentVolumeClaimUpdate` of
//! Kubernetes.
//!
//! The server shows the difference of two objects in its own form. A claim's is written here; a pod's is left out.

use serde::Serialize as _;
use serde_json::{Value, json};
use similar::TextDiff;

use crate::api::failure::Cause;
use crate::api::object::{list, text};

/// What is wrong with a changed pod.
pub(super) fn pod(old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let (before, after) = (&old["spec"], &new["spec"]);
    if before == after {
        return causes;
    }
    for field in ["containers", "initContainers"] {
        if list(&before[field]).count() != list(&after[field]).count() {
            let why = "pod updates may not add or remove containers";
            causes.push(Cause::forbidden(format!("spec.{field}"), why));
            return causes;
        }
        for (index, container) in list(&after[field]).enumerate() {
            if text(container, "image").is_empty() {
                let at = format!("spec.{field}[{index}].image");
                causes.push(Cause::required(at, ""));
            }
        }
    }
    let (deadline, wanted) = (
        before["activeDeadlineSeconds"].as_i64(),
        &after["activeDeadlineSeconds"],
    );
    let at = "spec.activeDeadlineSeconds";
    match (deadline, wanted.as_i64()) {
        (Some(deadline), Some(seconds)) if deadline < seconds => {
            let why = "must be less than or equal to previous value";
            causes.push(Cause::invalid(at, wanted, why));
            return causes;
        }
        (Some(_), None) => {
            let why = "must not update from a positive integer to nil value";
            causes.push(Cause::invalid(at, &Value::Null, why));
        }
        _ => {}
    }
    let without_time = |toleration: &Value| {
        let mut toleration = toleration.clone();
        if let Some(fields) = toleration.as_object_mut() {
            fields.remove("tolerationSeconds");
        }
        toleration
    };
    let tolerated: Vec<Value> = list(&after["tolerations"]).map(without_time).collect();
    if !list(&before["tolerations"]).all(|one| tolerated.contains(&without_time(one))) {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        causes.push(Cause::forbidden("spec.tolerations", why));
    }
    if fixed(before) != fixed(after) && !softer_end(before, after) {
        causes.push(Cause::forbidden(
            "spec",
            "pod updates may not change fields other than \
             `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` \
             (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it \
             was previously negative)\n",
        ));
    }
    causes
}

/// A pod without what may change.
fn fixed(spec: &Value) -> Value {
    let mut spec = spec.clone();
    if let Some(fields) = spec.as_object_mut() {
        for field in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
            fields.remove(field);
        }
        for field in ["containers", "initContainers"] {
            let containers = fields.get_mut(field).and_then(Value::as_array_mut);
            for container in containers.into_iter().flatten() {
                container["image"] = Value::Null;
            }
        }
    }
    spec
}

/// A time to end that was none becomes the shortest.
fn softer_end(before: &Value, after: &Value) -> bool {
    const FIELD: &str = "terminationGracePeriodSeconds";
    let mut old = fixed(before);
    let negative = old[FIELD].as_i64().is_some_and(|seconds| seconds < 0);
    old[FIELD] = 1.into();
    negative && old == fixed(after)
}

/// What is wrong with a changed claim.
pub(super) fn claim(old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let (mut before, mut after) = (old["spec"].clone(), new["spec"].clone());
    if text(&before, "volumeName").is_empty() {
        // A volume is chosen once.
        before["volumeName"] = after["volumeName"].clone();
    }
    let size = |spec: &Value| spec["resources"]["requests"]["storage"].clone();
    if new["status"]["phase"] == "Bound" {
        if after["resources"]["requests"].is_object() {
            after["resources"]["requests"]["storage"] = size(&before);
        }
        after["volumeAttributesClassName"] = before["volumeAttributesClassName"].clone();
    }
    let (before, after) = (own_form(&before), own_form(&after));
    if before != after {
        let why = format!(
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound \
             claims\n{}",
            TextDiff::from_lines(&before, &after).unified_diff()
        );
        causes.push(Cause::forbidden("spec", &why));
    }
    if old["spec"]["volumeMode"] != new["spec"]["volumeMode"] {
        let why = "field is immutable";
        causes.push(Cause::invalid(
            "volumeMode",
            &new["spec"]["volumeMode"],
            why,
        ));
    }
    causes
}

/// The spec of a claim as the server prints its own structure.
fn own_form(spec: &Value) -> String {
    let text_of = |field: &str| json!(text(spec, field));
    let reference = |field: &str, more: bool| {
        let value = &spec[field];
        if value.is_null() {
            return Value::Null;
        }
        let mut shown = json!({
            "APIGroup": value["apiGroup"], "Kind": text(value, "kind"), "Name": text(value, "name"),
        });
        if more {
            shown["Namespace"] = value["namespace"].clone();
        }
        shown
    };
    let resources = &spec["resources"];
    let fields = [
        ("AccessModes", spec["accessModes"].clone()),
        ("Selector", spec["selector"].clone()),
        (
            "Resources",
            json!({"Limits": resources["limits"], "Requests": resources["requests"]}),
        ),
        ("VolumeName", text_of("volumeName")),
        ("StorageClassName", spec["storageClassName"].clone()),
        ("VolumeMode", spec["volumeMode"].clone()),
        ("DataSource", reference("dataSource", false)),
        ("DataSourceRef", reference("dataSourceRef", true)),
        (
            "VolumeAttributesClassName",
            spec["volumeAttributesClassName"].clone(),
        ),
    ];
    let lines = fields.map(|(name, value)| {
        let value = pretty(&value).replace('\n', "\n ");
        format!(" \"{name}\": {value}")
    });
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

/// JSON with one blank for each level.
fn pretty(value: &Value) -> String {
    let mut out = Vec::new();
    let style = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let mut writer = serde_json::Serializer::with_formatter(&mut out, style);
    // Writing into memory does not fail.
    let _ = value.serialize(&mut writer);
    String::from_utf8(out).unwrap_or_default()
}
