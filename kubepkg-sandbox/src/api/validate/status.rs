//! Whether a status that somebody writes can be: counts of workloads, and what a Job may say of itself
//! (`pkg/apis/apps/validation`, `pkg/apis/batch/validation` and `getStatusValidationOptions` of Kubernetes).

use serde_json::{Value, json};

use crate::api::failure::Cause;
use crate::api::kind::Kind;
use crate::api::object::{list, text};

/// What is wrong with a status.
pub(super) fn changed(kind: &Kind, old: &Value, new: &Value) -> Vec<Cause> {
    let status = &new["status"];
    let mut causes = Vec::new();
    match (kind.group.as_str(), kind.plural.as_str()) {
        _ if kind.custom.is_some() => {}
        ("apps", "deployments") => {
            let fields = [
                "observedGeneration",
                "replicas",
                "updatedReplicas",
                "readyReplicas",
                "availableReplicas",
                "unavailableReplicas",
                "terminatingReplicas",
                "collisionCount",
            ];
            not_negative(status, &fields, &mut causes);
            let parts = ["updatedReplicas", "readyReplicas", "availableReplicas"];
            at_most_all(status, &parts, "readyReplicas", &mut causes);
            not_less(old, new, "collisionCount", &mut causes);
        }
        ("apps", "replicasets") | ("", "replicationcontrollers") => {
            let fields = [
                "replicas",
                "fullyLabeledReplicas",
                "readyReplicas",
                "availableReplicas",
                "observedGeneration",
                "terminatingReplicas",
            ];
            not_negative(status, &fields, &mut causes);
            let parts = ["fullyLabeledReplicas", "readyReplicas", "availableReplicas"];
            at_most_all(status, &parts, "readyReplicas", &mut causes);
        }
        ("apps", "statefulsets") => {
            let fields = [
                "replicas",
                "readyReplicas",
                "currentReplicas",
                "updatedReplicas",
                "availableReplicas",
                "observedGeneration",
                "collisionCount",
            ];
            not_negative(status, &fields, &mut causes);
            let parts = [
                "readyReplicas",
                "currentReplicas",
                "updatedReplicas",
                "availableReplicas",
            ];
            at_most_all(status, &parts, "status.readyReplicas", &mut causes);
            not_less(old, new, "collisionCount", &mut causes);
        }
        ("apps", "daemonsets") => {
            let fields = [
                "currentNumberScheduled",
                "numberMisscheduled",
                "desiredNumberScheduled",
                "numberReady",
                "observedGeneration",
                "updatedNumberScheduled",
                "numberAvailable",
                "numberUnavailable",
                "collisionCount",
            ];
            not_negative(status, &fields, &mut causes);
            not_less(old, new, "collisionCount", &mut causes);
        }
        ("batch", "jobs") => job(old, new, &mut causes),
        ("", "namespaces") => namespace(new, &mut causes),
        _ => {}
    }
    causes
}

fn count(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0)
}

fn not_negative(status: &Value, fields: &[&str], causes: &mut Vec<Cause>) {
    for field in fields {
        let found = &status[field];
        if count(found) < 0 {
            let why = "must be greater than or equal to 0";
            causes.push(Cause::invalid(format!("status.{field}"), found, why));
        }
    }
}

/// Parts are no more than the whole, and who is available is ready.
fn at_most_all(status: &Value, parts: &[&str], ready: &str, causes: &mut Vec<Cause>) {
    for part in parts {
        let found = &status[part];
        if count(found) > count(&status["replicas"]) {
            let why = "cannot be greater than status.replicas";
            causes.push(Cause::invalid(format!("status.{part}"), found, why));
        }
    }
    let available = &status["availableReplicas"];
    if count(available) > count(&status["readyReplicas"]) {
        let why = format!("cannot be greater than {ready}");
        causes.push(Cause::invalid("status.availableReplicas", available, &why));
    }
}

fn not_less(old: &Value, new: &Value, field: &str, causes: &mut Vec<Cause>) {
    let (before, after) = (&old["status"][field], &new["status"][field]);
    if !before.is_null() && count(after) < count(before) {
        let shown = json!(count(after));
        causes.push(Cause::invalid(
            format!("status.{field}"),
            &shown,
            "cannot be decremented",
        ));
    }
}

fn namespace(new: &Value, causes: &mut Vec<Cause>) {
    let going = !new["metadata"]["deletionTimestamp"].is_null();
    let phase = &new["status"]["phase"];
    let why = match (going, phase.as_str()) {
        (false, Some("Active")) | (true, Some("Terminating")) => return,
        (false, _) => "may only be 'Active' if `deletionTimestamp` is empty",
        (true, _) => "may only be 'Terminating' if `deletionTimestamp` is not empty",
    };
    causes.push(Cause::invalid("status.Phase", phase, why));
}

/// Whether a condition of a Job is true.
fn is(job: &Value, kind: &str) -> bool {
    list(&job["status"]["conditions"]).any(|one| one["type"] == kind && one["status"] == "True")
}

fn is_over(job: &Value) -> bool {
    is(job, "Complete") || is(job, "Failed")
}

/// The rules look at what has changed only: a Job may stay as odd as it is.
fn job(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    const CONDITIONS: &str = "status.conditions";
    let status = &new["status"];
    let fields = ["active", "succeeded", "failed", "ready", "terminating"];
    not_negative(status, &fields, causes);
    let differs = |field: &str| old["status"][field] != status[field];
    let turned = |kind: &str| is(old, kind) != is(new, kind);
    let complete = is(new, "Complete");
    let over = is_over(new);
    let over_changed = is_over(old) != over;
    let met = is(new, "SuccessCriteriaMet");
    let completion = &status["completionTime"];
    if (turned("Complete") || turned("Failed")) && complete && is(new, "Failed") {
        causes.push(Cause::bare(
            CONDITIONS,
            "cannot set Complete=True and Failed=true conditions",
        ));
    }
    if (turned("Complete") || turned("FailureTarget")) && complete && is(new, "FailureTarget") {
        causes.push(Cause::bare(
            CONDITIONS,
            "cannot set Complete=True and FailureTarget=true conditions",
        ));
    }
    let end_changed = turned("Complete") || differs("completionTime");
    if end_changed && !completion.is_null() && !complete {
        let why = "cannot set completionTime when there is no Complete=True condition";
        causes.push(Cause::invalid("status.completionTime", completion, why));
    }
    if end_changed && completion.is_null() && complete {
        let why = "completionTime is required for Complete jobs";
        causes.push(Cause::required("status.completionTime", why));
    }
    let times = (text(status, "startTime"), text(status, "completionTime"));
    if (differs("startTime") || differs("completionTime"))
        && !times.0.is_empty()
        && !times.1.is_empty()
        && times.1 < times.0
    {
        let why = "must be equal to or after `startTime`";
        causes.push(Cause::invalid("status.completionTime", completion, why));
    }
    if (turned("Failed") || differs("failedIndexes"))
        && is(new, "Failed")
        && !is(new, "FailureTarget")
    {
        causes.push(Cause::bare(
            CONDITIONS,
            "cannot set Failed=True condition without the FailureTarget=true condition",
        ));
    }
    if (turned("Complete") || turned("SuccessCriteriaMet")) && complete && !met {
        causes.push(Cause::bare(
            CONDITIONS,
            "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
        ));
    }
    if (over_changed || differs("active")) && over && count(&status["active"]) > 0 {
        let why = "active>0 is invalid for finished job";
        causes.push(Cause::invalid("status.active", &status["active"], why));
    }
    let idle = new["spec"]["suspend"] == true && new["spec"]["completions"] == 0;
    if (over_changed || differs("startTime")) && !idle && over && status["startTime"].is_null() {
        let why = "startTime is required for finished job";
        causes.push(Cause::required("status.startTime", why));
    }
    if (over_changed || differs("terminating")) && over && count(&status["terminating"]) > 0 {
        let why = "terminating>0 is invalid for finished job";
        causes.push(Cause::invalid(
            "status.terminating",
            &status["terminating"],
            why,
        ));
    }
    if (differs("ready") || differs("active")) && count(&status["ready"]) > count(&status["active"])
    {
        let why = "cannot set more ready pods than active";
        causes.push(Cause::invalid("status.ready", &status["ready"], why));
    }
    for other in ["Failed", "FailureTarget"] {
        if met && is(new, other) {
            let shown = if other == "Failed" {
                "Failed=true"
            } else {
                "FailureTarget=true"
            };
            causes.push(Cause::bare(
                CONDITIONS,
                &format!("cannot set SuccessCriteriaMet=True and {shown} conditions"),
            ));
        }
    }
    changed_job(old, new, causes);
}

/// What a Job may not take back.
fn changed_job(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let status = &new["status"];
    for kind in ["Failed", "Complete", "FailureTarget"] {
        if is(old, kind) && !is(new, kind) {
            let why = format!("cannot disable the terminal {kind}=True condition");
            causes.push(Cause::bare("status.conditions", &why));
        }
    }
    let indexed = new["spec"]["completionMode"] == "Indexed"
        && new["spec"]["completions"] == new["spec"]["parallelism"];
    for field in ["failed", "succeeded"] {
        let less = count(&status[field]) < count(&old["status"][field]);
        if less && (field == "failed" || !indexed) {
            let why = format!("cannot decrease the {field} counter");
            let shown = json!(count(&status[field]));
            causes.push(Cause::invalid(format!("status.{field}"), &shown, &why));
        }
    }
    let (before, after) = (&old["status"]["completionTime"], &status["completionTime"]);
    if !before.is_null() && !after.is_null() && before != after {
        causes.push(Cause::invalid(
            "status.completionTime",
            after,
            "field is immutable",
        ));
    }
    let resumes = is(old, "Suspended")
        && list(&status["conditions"])
            .any(|one| one["type"] == "Suspended" && one["status"] == "False");
    let before = &old["status"]["startTime"];
    if !before.is_null()
        && *before != status["startTime"]
        && !resumes
        && new["spec"]["suspend"] != true
    {
        let why = "field is immutable for unsuspended job once set";
        causes.push(Cause::invalid(
            "status.startTime",
            &status["startTime"],
            why,
        ));
    }
}
