//! What the API server fills into workloads.

use serde_json::{Value, json};

use super::pod::pod;
use super::{at, items};
use crate::api::kind::Kind;
use crate::api::object::{self, default};

pub(super) fn workload(kind: &Kind, object: &mut Value) {
    let Some(spec) = object.pointer_mut("/spec").filter(|spec| spec.is_object()) else {
        return;
    };
    match kind.plural.as_str() {
        "deployments" => {
            default(spec, "replicas", 1);
            default(spec, "revisionHistoryLimit", 10);
            default(spec, "progressDeadlineSeconds", 600);
            default(spec, "strategy", json!({}));
            let strategy = &mut spec["strategy"];
            default(strategy, "type", "RollingUpdate");
            if strategy["type"] == "RollingUpdate" {
                default(strategy, "rollingUpdate", json!({}));
                default(&mut strategy["rollingUpdate"], "maxUnavailable", "25%");
                default(&mut strategy["rollingUpdate"], "maxSurge", "25%");
            }
        }
        "statefulsets" => {
            default(spec, "replicas", 1);
            default(spec, "revisionHistoryLimit", 10);
            default(spec, "podManagementPolicy", "OrderedReady");
            default(spec, "updateStrategy", json!({}));
            let update = &mut spec["updateStrategy"];
            if object::text(update, "type").is_empty() {
                update["type"] = "RollingUpdate".into();
                default(update, "rollingUpdate", json!({}));
            }
            if update["type"] == "RollingUpdate" && update["rollingUpdate"].is_object() {
                default(&mut update["rollingUpdate"], "partition", 0);
            }
            default(spec, "persistentVolumeClaimRetentionPolicy", json!({}));
            let policy = &mut spec["persistentVolumeClaimRetentionPolicy"];
            default(policy, "whenDeleted", "Retain");
            default(policy, "whenScaled", "Retain");
            for claim in items(spec, "/volumeClaimTemplates") {
                claim["kind"] = "PersistentVolumeClaim".into();
                claim["apiVersion"] = "v1".into();
                default(claim, "status", json!({}));
                at(claim, "/status", |status| {
                    default(status, "phase", "Pending");
                });
                at(claim, "/spec", |spec| {
                    default(spec, "volumeMode", "Filesystem");
                });
            }
            default(spec, "serviceName", "");
        }
        "daemonsets" => {
            default(spec, "revisionHistoryLimit", 10);
            default(spec, "updateStrategy", json!({}));
            default(&mut spec["updateStrategy"], "type", "RollingUpdate");
            if spec["updateStrategy"]["type"] == "RollingUpdate" {
                default(&mut spec["updateStrategy"], "rollingUpdate", json!({}));
                let rolling = &mut spec["updateStrategy"]["rollingUpdate"];
                default(rolling, "maxUnavailable", 1);
                default(rolling, "maxSurge", 0);
            }
        }
        "replicasets" => default(spec, "replicas", 1),
        _ => return,
    }
    template(spec);
}

/// A controller of the first days: its labels and its selector follow those of its pods.
pub(super) fn replication_controller(object: &mut Value) {
    let labels = object["spec"]["template"]["metadata"]["labels"].clone();
    at(object, "/spec", |spec| {
        if labels.as_object().is_some_and(|labels| !labels.is_empty()) {
            default(spec, "selector", labels.clone());
        }
        default(spec, "replicas", 1);
        template(spec);
    });
    let own = object["metadata"]["labels"].as_object();
    if own.is_none_or(serde_json::Map::is_empty) && labels.is_object() {
        object::set(object, "labels", labels);
    }
}

fn template(spec: &mut Value) {
    at(spec, "/template", |template| {
        default(template, "metadata", json!({}));
        at(template, "/spec", pod);
    });
}

pub(super) fn job(spec: &mut Value) {
    if spec["parallelism"].is_null() && spec["completions"].is_null() {
        default(spec, "completions", 1);
    }
    default(spec, "parallelism", 1);
    let failures = if spec["backoffLimitPerIndex"].is_null() {
        6
    } else {
        i32::MAX
    };
    default(spec, "backoffLimit", failures);
    failure_policy(spec);
    default(spec, "completionMode", "NonIndexed");
    default(spec, "suspend", false);
    default(spec, "manualSelector", false);
    let policy = if spec["podFailurePolicy"].is_null() {
        "TerminatingOrFailed"
    } else {
        "Failed"
    };
    default(spec, "podReplacementPolicy", policy);
    template(spec);
}

fn failure_policy(job: &mut Value) {
    for rule in items(job, "/podFailurePolicy/rules") {
        for condition in items(rule, "/onPodConditions") {
            if condition.is_object() && object::text(condition, "status").is_empty() {
                condition["status"] = "True".into();
            }
        }
    }
}

pub(super) fn cron_job(spec: &mut Value) {
    default(spec, "concurrencyPolicy", "Allow");
    default(spec, "suspend", false);
    default(spec, "successfulJobsHistoryLimit", 3);
    default(spec, "failedJobsHistoryLimit", 1);
    at(spec, "/jobTemplate", |job| {
        default(job, "metadata", json!({}));
        at(job, "/spec", |job| {
            failure_policy(job);
            template(job);
        });
    });
}
