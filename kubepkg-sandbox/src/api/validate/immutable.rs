//! What of an object may not change. The difference that the server shows of two sources of a volume is left out.

use serde_json::{Value, json};

use super::storage::KINDS;
use crate::api::failure::Cause;
use crate::api::kind::Kind;

/// Fields that may not change.
pub(super) fn immutable(kind: &Kind, old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut fixed = |field: &str, pointer: &str| {
        let none = Value::Null;
        let before = old.pointer(pointer).unwrap_or(&none);
        let after = new.pointer(pointer).unwrap_or(&none);
        if before != after {
            causes.push(Cause::invalid(field, after, "field is immutable"));
        }
    };
    match (kind.group.as_str(), kind.plural.as_str()) {
        _ if kind.custom.is_some() => {}
        ("apps", "deployments" | "replicasets" | "daemonsets") => {
            fixed("spec.selector", "/spec/selector");
        }
        ("batch", "jobs") => {
            if !(resizes(old) && resizes(new)) {
                fixed("spec.completions", "/spec/completions");
            }
            fixed("spec.selector", "/spec/selector");
            fixed("spec.template", "/spec/template");
            fixed("spec.completionMode", "/spec/completionMode");
        }
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings")
            if old["roleRef"] != new["roleRef"] =>
        {
            let why = "cannot change roleRef";
            // As the server prints its own type.
            let role = &new["roleRef"];
            let shown = json!({
                "APIGroup": role["apiGroup"], "Kind": role["kind"], "Name": role["name"],
            });
            causes.push(Cause::invalid("roleRef", &shown, why));
        }
        ("", "secrets") if old["type"] != new["type"] => fixed("type", "/type"),
        ("networking.k8s.io", "ingressclasses") => fixed("spec.controller", "/spec/controller"),
        ("node.k8s.io", "runtimeclasses") => fixed("handler", "/handler"),
        ("discovery.k8s.io", "endpointslices") => fixed("addressType", "/addressType"),
        ("", "resourcequotas") => fixed("spec.scopes", "/spec/scopes"),
        ("storage.k8s.io", "storageclasses") => {
            for field in [
                "parameters",
                "provisioner",
                "reclaimPolicy",
                "volumeBindingMode",
            ] {
                fixed(field, &format!("/{field}"));
            }
        }
        ("storage.k8s.io", "csidrivers") => {
            // The name is the server's.
            fixed("spec.attachedRequired", "/spec/attachRequired");
            fixed("spec.volumeLifecycleModes", "/spec/volumeLifecycleModes");
        }
        ("scheduling.k8s.io", "priorityclasses") => {
            fixed("preemptionPolicy", "/preemptionPolicy");
            if old["value"] != new["value"] {
                causes.push(Cause::forbidden(
                    "value",
                    "may not be changed in an update.",
                ));
            }
        }
        ("", "persistentvolumes") => {
            fixed("volumeMode", "/spec/volumeMode");
            let source = |object: &Value| KINDS.map(|kind| object["spec"][kind].clone());
            if source(old) != source(new) {
                let why = "spec.persistentvolumesource is immutable after creation";
                causes.push(Cause::forbidden("spec.persistentvolumesource", why));
            }
        }
        ("apps", "statefulsets") => stateful_set(&mut causes, old, new),
        _ => {}
    }
    if kind.group.is_empty()
        && matches!(kind.plural.as_str(), "configmaps" | "secrets")
        && old["immutable"] == true
    {
        for field in ["immutable", "data", "binaryData"] {
            if old[field] != new[field] {
                let why = "field is immutable when `immutable` is set";
                causes.push(Cause::forbidden(field, why));
            }
        }
    }
    causes
}

/// What of a StatefulSet may not change: everything but what is named.
fn stateful_set(causes: &mut Vec<Cause>, old: &Value, new: &Value) {
    let changeable = [
        "minReadySeconds",
        "ordinals",
        "persistentVolumeClaimRetentionPolicy",
        "replicas",
        "revisionHistoryLimit",
        "template",
        "updateStrategy",
    ];
    let rest = |object: &Value| {
        let mut spec = object["spec"].as_object().cloned().unwrap_or_default();
        spec.retain(|field, _| !changeable.contains(&field.as_str()));
        spec
    };
    if rest(old) != rest(new) {
        causes.push(Cause::forbidden(
            "spec",
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', \
             'template', 'updateStrategy', 'revisionHistoryLimit', \
             'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        ));
    }
}

/// Whether the number of completions of a Job goes with the number of its pods.
fn resizes(job: &Value) -> bool {
    let spec = &job["spec"];
    spec["completionMode"] == "Indexed" && spec["completions"] == spec["parallelism"]
}
