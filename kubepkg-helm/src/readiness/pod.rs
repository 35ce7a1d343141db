//! Pods. kstatus calls an ended Pod ready however it ended; Helm's reader for hooks tells success from
//! failure.

use super::fields::{Conditions, strict_list, text};
use super::{AssessError, Cause, Readiness, Status};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// How long a Pod may stay unscheduled before that counts as failed.
const SCHEDULE_WINDOW: SignedDuration = SignedDuration::from_secs(15);

pub(super) fn pod(object: &Value, now: Timestamp) -> Result<Readiness, AssessError> {
    let conditions = Conditions::of(object)?;
    match text(object, &["status", "phase"]).unwrap_or_default() {
        "Succeeded" => Ok(Readiness::current("Pod has completed successfully")),
        "Failed" => Ok(Readiness::current(
            "Pod has completed, but not successfully",
        )),
        "Running" => {
            if conditions.find("Ready", "True").is_some() {
                return Ok(Readiness::current("Pod is Ready"));
            }
            let looping = crash_looping(object)?;
            Ok(if looping.is_empty() {
                Readiness::in_progress("PodRunningNotReady", "Pod is running but is not Ready")
            } else {
                Readiness::failed(
                    "ContainerCrashLooping",
                    format!("Containers in CrashLoop state: {}", looping.join(",")),
                )
            })
        }
        "Pending" => {
            let unschedulable = conditions
                .find("PodScheduled", "False")
                .is_some_and(|condition| condition.reason == "Unschedulable");
            if !unschedulable {
                return Ok(Readiness::in_progress(
                    "PodPending",
                    "Pod is in the Pending phase",
                ));
            }
            // A Pod without a creation time is long unscheduled.
            let young = text(object, &["metadata", "creationTimestamp"])
                .and_then(|created| created.parse::<Timestamp>().ok())
                .is_some_and(|created| now.duration_since(created) < SCHEDULE_WINDOW);
            Ok(if young {
                Readiness::in_progress("PodNotScheduled", "Pod has not been scheduled")
            } else {
                Readiness::failed("PodUnschedulable", "Pod could not be scheduled")
            })
        }
        "" => Ok(Readiness::in_progress(
            "PodNotObserved",
            "Pod phase not available",
        )),
        other => Err(AssessError::UnknownPhase(other.to_owned())),
    }
}

fn crash_looping(object: &Value) -> Result<Vec<&str>, AssessError> {
    let statuses = strict_list(object, &["status", "containerStatuses"])?.unwrap_or_default();
    Ok(statuses
        .iter()
        .filter(|status| text(status, &["state", "waiting", "reason"]) == Some("CrashLoopBackOff"))
        .filter_map(|status| text(status, &["name"]))
        .collect())
}

pub(super) fn completed_pod(object: &Value) -> Readiness {
    let name = text(object, &["metadata", "name"]).unwrap_or_default();
    match text(object, &["status", "phase"]).unwrap_or_default() {
        "Succeeded" => {
            let message = format!("pod {name} succeeded");
            let cause = Cause {
                kind: "Stalled",
                reason: String::new(),
                message: message.clone(),
            };
            Readiness {
                status: Status::Current,
                message,
                cause: Some(cause),
            }
        }
        "Failed" => Readiness::failed("PodFailed", format!("pod {name} failed")),
        _ => Readiness::in_progress("PodInProgress", "Pod in progress"),
    }
}
