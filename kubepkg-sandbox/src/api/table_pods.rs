//! The row of a pod: `printPod` in `pkg/printers/internalversion/printers.go` of Kubernetes.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::object::{self, list, text};
use super::table::{age_of, or_none};

/// The cells of a pod.
pub(crate) fn cells(pod: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&pod["spec"], &pod["status"]);
    let total = list(&spec["containers"]).count();
    let mut reason = match text(status, "reason") {
        "" => text(status, "phase").to_owned(),
        reason => reason.to_owned(),
    };
    let gated = list(&status["conditions"])
        .any(|one| one["type"] == "PodScheduled" && one["reason"] == "SchedulingGated");
    if gated {
        "SchedulingGated".clone_into(&mut reason);
    }
    let mut restarts = 0;
    let mut ready = 0;
    let initializing = initializing(pod, &mut restarts);
    if let Some(text) = initializing {
        reason = text;
    } else {
        restarts = 0;
        let mut running = false;
        let containers: Vec<&Value> = list(&status["containerStatuses"]).collect();
        for container in containers.into_iter().rev() {
            restarts += container["restartCount"].as_i64().unwrap_or(0);
            let state = &container["state"];
            let waiting = text(&state["waiting"], "reason");
            let terminated = &state["terminated"];
            if !waiting.is_empty() {
                waiting.clone_into(&mut reason);
            } else if !text(terminated, "reason").is_empty() {
                text(terminated, "reason").clone_into(&mut reason);
            } else if terminated.is_object() {
                reason = ended(terminated);
            } else if container["ready"] == true && state["running"].is_object() {
                running = true;
                ready += 1;
            }
        }
        let condition = list(&status["conditions"]).find(|one| one["type"] == "Ready");
        if reason == "Completed" && running {
            let is_ready = condition.is_some_and(|one| one["status"] == "True");
            if is_ready { "Running" } else { "NotReady" }.clone_into(&mut reason);
        }
    }
    if object::terminating(pod) {
        reason = if text(status, "reason") == "NodeLost" {
            "Unknown"
        } else if matches!(text(status, "phase"), "Succeeded" | "Failed") {
            &reason
        } else {
            "Terminating"
        }
        .to_owned();
    }
    let all_gates = list(&spec["readinessGates"]).count();
    let open_gates = list(&spec["readinessGates"])
        .filter(|gate| {
            list(&status["conditions"])
                .any(|one| one["type"] == gate["conditionType"] && one["status"] == "True")
        })
        .count();
    vec![
        json!(object::name(pod)),
        json!(format!("{ready}/{total}")),
        json!(reason),
        json!(restarted(pod, restarts, now)),
        json!(age_of(&pod["metadata"]["creationTimestamp"], now)),
        json!(or_none(text(status, "podIP"))),
        json!(or_none(text(spec, "nodeName"))),
        json!(or_none(text(status, "nominatedNodeName"))),
        json!(if all_gates == 0 {
            "<none>".to_owned()
        } else {
            format!("{open_gates}/{all_gates}")
        }),
    ]
}

/// `Init:…` while an init container has not done its work.
fn initializing(pod: &Value, restarts: &mut i64) -> Option<String> {
    let statuses: Vec<&Value> = list(&pod["status"]["initContainerStatuses"]).collect();
    for (index, container) in statuses.iter().enumerate() {
        *restarts += container["restartCount"].as_i64().unwrap_or(0);
        let state = &container["state"];
        let terminated = &state["terminated"];
        if terminated["exitCode"] == 0 {
            continue;
        }
        let waiting = text(&state["waiting"], "reason");
        return Some(if terminated.is_object() {
            match text(terminated, "reason") {
                "" => format!("Init:{}", ended(terminated)),
                reason => format!("Init:{reason}"),
            }
        } else if !waiting.is_empty() && waiting != "PodInitializing" {
            format!("Init:{waiting}")
        } else {
            let all = list(&pod["spec"]["initContainers"]).count();
            format!("Init:{index}/{all}")
        });
    }
    None
}

fn ended(terminated: &Value) -> String {
    match terminated["signal"].as_i64().filter(|signal| *signal != 0) {
        Some(signal) => format!("Signal:{signal}"),
        None => format!("ExitCode:{}", terminated["exitCode"].as_i64().unwrap_or(0)),
    }
}

/// `3 (5s ago)`, with the end of the last run.
fn restarted(pod: &Value, restarts: i64, now: Timestamp) -> String {
    let last = list(&pod["status"]["containerStatuses"])
        .filter_map(|one| object::parse_time(&one["lastState"]["terminated"]["finishedAt"]))
        .max();
    match last {
        Some(last) if restarts > 0 => {
            let ago = super::table::human(now.duration_since(last).as_secs());
            format!("{restarts} ({ago} ago)")
        }
        _ => restarts.to_string(),
    }
}
