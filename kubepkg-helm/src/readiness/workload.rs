//! Deployment, ReplicaSet, StatefulSet and DaemonSet. The comparisons have a fixed order; the first that
//! does not hold is the message.

use super::fields::{Conditions, int, strict_int, text};
use super::{AssessError, Cause, Readiness, Status};
use serde_json::Value;

/// The controller takes this value for "no deadline".
const NO_DEADLINE: i64 = i32::MAX as i64;

pub(super) fn deployment(object: &Value) -> Result<Readiness, AssessError> {
    // Without a deadline the controller sets no Progressing condition.
    let mut progressing =
        int(object, &["spec", "progressDeadlineSeconds"], NO_DEADLINE) == NO_DEADLINE;
    let mut available = false;
    for condition in &Conditions::of(object)?.0 {
        match condition.kind.as_str() {
            "Progressing" if condition.reason == "ProgressDeadlineExceeded" => {
                return Ok(Readiness {
                    status: Status::Failed,
                    message: "Progress deadline exceeded".to_owned(),
                    cause: Some(Cause {
                        kind: "Stalled",
                        reason: condition.reason.clone(),
                        message: condition.message.clone(),
                    }),
                });
            }
            "Progressing"
                if condition.status == "True" && condition.reason == "NewReplicaSetAvailable" =>
            {
                progressing = true;
            }
            "Available" if condition.status == "True" => available = true,
            _ => {}
        }
    }
    let wanted = int(object, &["spec", "replicas"], 1);
    let count = |key: &str| int(object, &["status", key], 0);
    let (replicas, updated) = (count("replicas"), count("updatedReplicas"));
    let (ready, free) = (count("readyReplicas"), count("availableReplicas"));
    Ok(if wanted > replicas {
        Readiness::in_progress("LessReplicas", format!("Replicas: {replicas}/{wanted}"))
    } else if wanted > updated {
        Readiness::in_progress("LessUpdated", format!("Updated: {updated}/{wanted}"))
    } else if replicas > wanted {
        Readiness::in_progress(
            "ExtraPods",
            format!("Pending termination: {}", replicas - wanted),
        )
    } else if updated > free {
        Readiness::in_progress("LessAvailable", format!("Available: {free}/{updated}"))
    } else if wanted > ready {
        Readiness::in_progress("LessReady", format!("Ready: {ready}/{wanted}"))
    } else if !progressing {
        Readiness::in_progress("ReplicaSetNotAvailable", "ReplicaSet not Available")
    } else if !available {
        Readiness::in_progress("DeploymentNotAvailable", "Deployment not Available")
    } else {
        Readiness::current(format!("Deployment is available. Replicas: {replicas}"))
    })
}

pub(super) fn replica_set(object: &Value) -> Result<Readiness, AssessError> {
    if Conditions::of(object)?
        .find("ReplicaFailure", "True")
        .is_some()
    {
        return Ok(Readiness::in_progress(
            "ReplicaFailure",
            "Replica Failure condition. Check Pods",
        ));
    }
    let wanted = int(object, &["spec", "replicas"], 1);
    let count = |key: &str| int(object, &["status", key], 0);
    let (replicas, labelled) = (count("replicas"), count("fullyLabeledReplicas"));
    let (ready, free) = (count("readyReplicas"), count("availableReplicas"));
    Ok(if wanted > labelled {
        Readiness::in_progress("LessLabelled", format!("Labelled: {labelled}/{wanted}"))
    } else if wanted > free {
        Readiness::in_progress("LessAvailable", format!("Available: {free}/{wanted}"))
    } else if wanted > ready {
        Readiness::in_progress("LessReady", format!("Ready: {ready}/{wanted}"))
    } else if replicas > wanted {
        Readiness::in_progress(
            "ExtraPods",
            format!("Pending termination: {}", replicas - wanted),
        )
    } else {
        Readiness::current(format!("ReplicaSet is available. Replicas: {replicas}"))
    })
}

pub(super) fn stateful_set(object: &Value) -> Readiness {
    if text(object, &["spec", "updateStrategy", "type"]) == Some("OnDelete") {
        return Readiness::current("StatefulSet is using the ondelete update strategy");
    }
    let wanted = int(object, &["spec", "replicas"], 1);
    let count = |key: &str| int(object, &["status", key], 0);
    let (replicas, ready) = (count("replicas"), count("readyReplicas"));
    let (current, updated) = (count("currentReplicas"), count("updatedReplicas"));
    if wanted > replicas {
        return Readiness::in_progress("LessReplicas", format!("Replicas: {replicas}/{wanted}"));
    }
    if wanted > ready {
        return Readiness::in_progress("LessReady", format!("Ready: {ready}/{wanted}"));
    }
    if replicas > wanted {
        return Readiness::in_progress(
            "ExtraPods",
            format!("Pending termination: {}", replicas - wanted),
        );
    }
    // With a partition the revisions never meet, so they are not looked at.
    let partition = int(
        object,
        &["spec", "updateStrategy", "rollingUpdate", "partition"],
        -1,
    );
    if partition != -1 {
        let expected = wanted.saturating_sub(partition);
        return if updated < expected {
            Readiness::in_progress("PartitionRollout", format!("updated: {updated}/{expected}"))
        } else {
            Readiness::current(format!("Partition rollout complete. updated: {updated}"))
        };
    }
    if wanted > current {
        return Readiness::in_progress("LessCurrent", format!("current: {current}/{wanted}"));
    }
    let revision = |key: &str| text(object, &["status", key]).unwrap_or_default();
    if revision("currentRevision") != revision("updateRevision") {
        return Readiness::in_progress(
            "RevisionMismatch",
            "Waiting for updated revision to match current",
        );
    }
    Readiness::current(format!(
        "All replicas scheduled as expected. Replicas: {replicas}"
    ))
}

pub(super) fn daemon_set(object: &Value) -> Result<Readiness, AssessError> {
    // Where other kinds may lack these fields, a DaemonSet that was acted on never does.
    let kind = text(object, &["kind"]).unwrap_or_default();
    if strict_int(object, &["metadata", "generation"])?.is_none() {
        let message = format!("{kind} metadata.generation not found");
        return Ok(Readiness::in_progress("NoGeneration", message));
    }
    if strict_int(object, &["status", "observedGeneration"])?.is_none() {
        let message = format!("{kind} status.observedGeneration not found");
        return Ok(Readiness::in_progress("NoObservedGeneration", message));
    }
    let wanted = int(object, &["status", "desiredNumberScheduled"], -1);
    let count = |key: &str| int(object, &["status", key], 0);
    let (current, updated) = (
        count("currentNumberScheduled"),
        count("updatedNumberScheduled"),
    );
    let (free, ready) = (count("numberAvailable"), count("numberReady"));
    Ok(if wanted == -1 {
        Readiness::in_progress("NoDesiredNumber", "Missing .status.desiredNumberScheduled")
    } else if wanted > current {
        Readiness::in_progress("LessCurrent", format!("Current: {current}/{wanted}"))
    } else if wanted > updated {
        Readiness::in_progress("LessUpdated", format!("Updated: {updated}/{wanted}"))
    } else if wanted > free {
        Readiness::in_progress("LessAvailable", format!("Available: {free}/{wanted}"))
    } else if wanted > ready {
        Readiness::in_progress("LessReady", format!("Ready: {ready}/{wanted}"))
    } else {
        Readiness::current(format!(
            "All replicas scheduled as expected. Replicas: {wanted}"
        ))
    })
}
