//! What of an object may not change.

use serde_json::{Value, json};

use super::job::of_its_own;
use super::kept::keep;
use crate::api::failure::Cause;
use crate::api::internal_form;
use crate::api::kind::Kind;
use crate::api::line_diff;
use crate::api::object::list;

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
        ("batch", "jobs") => job(&mut causes, old, new),
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
            let form = |object| internal_form::lines("PersistentVolumeSource", object);
            let mut source = new["spec"].clone();
            let secret = "controllerExpandSecretRef";
            // May still be told.
            if old["spec"]["csi"].is_object()
                && old["spec"]["csi"][secret].is_null()
                && let Some(driver) = source.get_mut("csi").and_then(Value::as_object_mut)
            {
                driver.remove(secret);
            }
            let (before, after) = (form(&old["spec"]), form(&source));
            if before != after {
                let why = format!(
                    "spec.persistentvolumesource is immutable after creation\n{}",
                    line_diff::unified(&before, &after)
                );
                causes.push(Cause::forbidden("spec.persistentvolumesource", &why));
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

/// What of a Job may not change: `ValidateJobSpecUpdate`. A Job that waits may still be told where and with what its
/// pods run.
fn job(causes: &mut Vec<Cause>, old_job: &Value, new_job: &Value) {
    let (old, new) = (&old_job["spec"], &new_job["spec"]);
    let fixed = "field is immutable";
    // The server looks once more.
    of_its_own(causes, new);
    if old["completions"] != new["completions"] {
        let (at, wanted) = ("spec.completions", &new["completions"]);
        if new["completionMode"] != "Indexed" {
            causes.push(Cause::invalid(at, wanted, fixed));
        } else if !wanted.is_null() && *wanted != new["parallelism"] {
            let why = "can only be modified in tandem with spec.parallelism";
            causes.push(Cause::invalid(at, wanted, why));
        }
    }
    let simple = |field: &str, of: &str, causes: &mut Vec<Cause>| {
        if old[field] != new[field] {
            let shown = internal_form::line(of, &new[field]);
            causes.push(Cause::shown(format!("spec.{field}"), &shown, fixed));
        }
    };
    simple("selector", "LabelSelector", causes);
    template(causes, old_job, new);
    simple("completionMode", "", causes);
    simple("podFailurePolicy", "PodFailurePolicy", causes);
    simple("backoffLimitPerIndex", "", causes);
    simple("managedBy", "", causes);
    simple("successPolicy", "SuccessPolicy", causes);
}

fn template(causes: &mut Vec<Cause>, old_job: &Value, new: &Value) {
    let old = &old_job["spec"];
    let status = &old_job["status"];
    let stopped = list(&status["conditions"])
        .any(|one| one["type"] == "Suspended" && one["status"] == "True");
    let waits = old["suspend"] == true
        && (status["startTime"].is_null() || stopped)
        && status["active"].as_i64().unwrap_or(0) == 0;
    let (mut before, after) = (old["template"].clone(), &new["template"]);
    if !waits {
        if before != *after {
            let shown = internal_form::line("PodTemplateSpec", after);
            causes.push(Cause::shown("spec.template", &shown, "field is immutable"));
        }
        return;
    }
    for field in ["nodeSelector", "tolerations", "schedulingGates"] {
        keep(&mut before["spec"], &after["spec"], field);
    }
    // Of where it goes, what is about nodes.
    let nodes = "nodeAffinity";
    let wanted = &after["spec"]["affinity"];
    if wanted.is_object() && before["spec"]["affinity"].is_null() {
        before["spec"]["affinity"] = json!({});
    }
    keep(&mut before["spec"]["affinity"], wanted, nodes);
    let affinity = before["spec"]["affinity"].as_object();
    if affinity.is_none_or(serde_json::Map::is_empty) && wanted.is_null() {
        keep(&mut before["spec"], &after["spec"], "affinity");
    }
    for field in ["containers", "initContainers"] {
        let containers = before["spec"].get_mut(field).and_then(Value::as_array_mut);
        let wanted: Vec<&Value> = list(&after["spec"][field]).collect();
        let Some(containers) = containers.filter(|all| all.len() == wanted.len()) else {
            continue;
        };
        for (container, wanted) in containers.iter_mut().zip(wanted) {
            if container["name"] == wanted["name"] {
                keep(container, wanted, "resources");
            }
        }
    }
    if before["spec"] != after["spec"] {
        let shown = internal_form::line("PodSpec", &after["spec"]);
        let at = "spec.template.spec";
        causes.push(Cause::shown(at, &shown, "field is immutable"));
    }
}
