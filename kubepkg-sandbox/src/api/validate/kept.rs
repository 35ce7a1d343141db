//! What of a pod and of a claim may not change: `ValidatePodUpdate` and `ValidatePersistentVolumeClaimUpdate` of
//! Kubernetes.
//!
//! The server shows the difference of two objects in its own form.

use serde_json::{Value, json};

use super::placement;
use crate::api::failure::Cause;
use crate::api::internal_form;
use crate::api::line_diff;
use crate::api::object::{list, text};

/// What is wrong with a changed pod.
pub(super) fn pod(old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let (before, after) = (&old["spec"], &new["spec"]);
    for field in ["containers", "initContainers"] {
        if list(&before[field]).count() != list(&after[field]).count() {
            let why = "pod updates may not add or remove containers";
            causes.push(Cause::forbidden(format!("spec.{field}"), why));
            return causes;
        }
        for (index, container) in list(&after[field]).enumerate() {
            let image = text(container, "image");
            let at = format!("spec.{field}[{index}].image");
            if image.is_empty() {
                causes.push(Cause::required(at, ""));
            } else if image.trim() != image {
                let why = "must not have leading or trailing whitespace";
                causes.push(Cause::invalid(at, &json!(image), why));
            }
        }
    }
    if before == after {
        return causes;
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
    if list(&before["tolerations"]).all(|one| tolerated.contains(&without_time(one))) {
        placement::tolerations(&mut causes, "spec.tolerations", after);
    } else {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        causes.push(Cause::forbidden("spec.tolerations", why));
    }
    let gates: Vec<&str> = list(&before["schedulingGates"])
        .map(|gate| text(gate, "name"))
        .collect();
    for (index, gate) in list(&after["schedulingGates"]).enumerate() {
        let gate = text(gate, "name");
        if !gates.contains(&gate) {
            let why = format!("only deletion is allowed, but found new scheduling gate '{gate}'");
            let at = format!("spec.schedulingGates[{index}].name");
            causes.push(Cause::forbidden(at, &why));
        }
    }
    let mut rest = with_what_may_change(before, after);
    if !gates.is_empty() {
        gated(&mut causes, before, &mut rest);
    }
    if rest != *before {
        let (before, rest) = (
            internal_form::lines("PodSpec", before),
            internal_form::lines("PodSpec", &rest),
        );
        let why = format!(
            "pod updates may not change fields other than \
             `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` \
             (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it \
             was previously negative)\n{}",
            line_diff::unified(&before, &rest)
        );
        causes.push(Cause::forbidden("spec", &why));
    }
    causes
}

/// The changed specification, with the old values where change is allowed.
fn with_what_may_change(before: &Value, after: &Value) -> Value {
    let mut rest = after.clone();
    for field in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
        keep(&mut rest, before, field);
    }
    for field in ["containers", "initContainers"] {
        let containers = rest.get_mut(field).and_then(Value::as_array_mut);
        let old = list(&before[field]);
        for (container, old) in containers.into_iter().flatten().zip(old) {
            keep(container, old, "image");
        }
    }
    let grace = "terminationGracePeriodSeconds";
    let negative = before[grace].as_i64().is_some_and(|seconds| seconds < 0);
    if negative && rest[grace] == 1 {
        keep(&mut rest, before, grace);
    }
    rest
}

/// A pod that is held back may still be told more of where it has to run.
fn gated(causes: &mut Vec<Cause>, before: &Value, rest: &mut Value) {
    let wanted = &rest["nodeSelector"];
    let mut pairs = before["nodeSelector"].as_object().into_iter().flatten();
    if pairs.any(|(key, value)| wanted.get(key) != Some(value)) {
        let why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        causes.push(Cause::invalid("spec.nodeSelector", wanted, why));
    }
    keep(rest, before, "nodeSelector");
    let old = &before["affinity"];
    let nodes = "nodeAffinity";
    if rest["affinity"][nodes] == old[nodes] {
        return;
    }
    more_affinity(causes, &old[nodes], &rest["affinity"][nodes]);
    let alone = rest["affinity"]
        .as_object()
        .is_some_and(|all| all.keys().all(|key| key == nodes));
    if old.is_null() && alone {
        keep(rest, before, "affinity");
    } else {
        if rest["affinity"].is_null() {
            rest["affinity"] = json!({});
        }
        keep(&mut rest["affinity"], old, nodes);
    }
}

/// Terms stay, and get more requirements behind those that they have.
fn more_affinity(causes: &mut Vec<Cause>, old: &Value, new: &Value) {
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let at = format!("spec.affinity.nodeAffinity.{required}.nodeSelectorTerms");
    let terms = |affinity: &Value| -> Vec<Value> {
        list(&affinity[required]["nodeSelectorTerms"])
            .cloned()
            .collect()
    };
    let (before, after) = (terms(old), terms(new));
    if before.is_empty() {
        return;
    }
    if before.len() != after.len() {
        let why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        let shown = match after.as_slice() {
            [] => "null".to_owned(),
            _ => internal_form::line("NodeSelectorTerm", &after.into()),
        };
        causes.push(Cause::shown(at, &shown, why));
        return;
    }
    for (index, (before, after)) in before.iter().zip(&after).enumerate() {
        let fields = ["matchExpressions", "matchFields"];
        let grown = fields.iter().all(|field| {
            let (before, after) = (&before[*field], &after[*field]);
            let all = list(before).count();
            list(after).count() >= all && list(before).eq(list(after).take(all))
        });
        // A term without requirements matches nothing.
        let nothing = |term: &Value| fields.iter().all(|field| list(&term[*field]).count() == 0);
        if !grown || nothing(before) != nothing(after) {
            let why = "only additions are allowed (no mutations or deletions)";
            let shown = internal_form::line("NodeSelectorTerm", after);
            causes.push(Cause::shown(format!("{at}[{index}]"), &shown, why));
        }
    }
}

/// Gives a field the value that it has in another object.
pub(super) fn keep(object: &mut Value, old: &Value, field: &str) {
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    match old.get(field) {
        Some(value) => drop(fields.insert(field.to_owned(), value.clone())),
        None => drop(fields.remove(field)),
    }
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
    let form = |spec: &Value| internal_form::lines("PersistentVolumeClaimSpec", spec);
    let (before, after) = (form(&before), form(&after));
    if before != after {
        let why = format!(
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound \
             claims\n{}",
            line_diff::unified(&before, &after)
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
