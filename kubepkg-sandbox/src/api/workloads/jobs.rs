//! Jobs: pods until enough have succeeded or too many failed.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Maker, controlled, delete, number, pod_of, reference, write_status};
use crate::api::crds::condition;
use crate::api::object;
use crate::api::world::World;

const TABLE: &str = "jobs.batch";

/// The condition in which a Job ended.
pub(super) fn end(job: &Value) -> Option<&'static str> {
    let is = |name: &&str| condition(job, name) == Some(true);
    ["Complete", "Failed"].into_iter().find(is)
}

#[expect(clippy::too_many_lines, reason = "one decision after the other")]
pub(super) fn settle(world: &mut World, job: &Arc<Value>, now: Timestamp) {
    if object::terminating(job) {
        return;
    }
    if end(job).is_some() {
        expire(world, job, now);
        return;
    }
    let spec = &job["spec"];
    let maker = Maker {
        api_version: "batch/v1",
        kind: "Job",
        component: "job-controller",
        owner: job,
    };
    let pods = controlled(world, job, "pods");
    let phase = |pod: &Value, wanted: &str| pod["status"]["phase"] == wanted;
    let succeeded = pods.iter().filter(|pod| phase(pod, "Succeeded")).count();
    let failed = pods.iter().filter(|pod| phase(pod, "Failed")).count();
    let active: Vec<&Arc<Value>> = pods
        .iter()
        .filter(|pod| {
            !phase(pod, "Succeeded") && !phase(pod, "Failed") && !object::terminating(pod)
        })
        .collect();
    let completions = spec["completions"].as_i64().unwrap_or(1);
    let parallelism = number(&spec["parallelism"]);
    let done = i64::try_from(succeeded).unwrap_or(0);
    let broken = i64::try_from(failed).unwrap_or(0);
    let mut running = i64::try_from(active.len()).unwrap_or(0);

    let started = job["status"]["startTime"].clone();
    let started_at = object::parse_time(&started);
    let suspended = spec["suspend"] == true;
    let known = object::list(&job["status"]["conditions"]).find(|one| one["type"] == "Suspended");
    let was = known.map(|one| one["status"] == "True");
    let deadline = spec["activeDeadlineSeconds"]
        .as_i64()
        .filter(|_| !suspended && was != Some(true))
        .zip(started_at)
        .map(|(limit, since)| since + SignedDuration::from_secs(limit.clamp(0, 1 << 32)));
    let end = if done >= completions {
        Some((
            "Complete",
            "CompletionsReached",
            "Reached expected number of succeeded pods",
        ))
    } else if broken > number(&spec["backoffLimit"]) {
        let message = "Job has reached the specified backoff limit";
        Some(("Failed", "BackoffLimitExceeded", message))
    } else if deadline.is_some_and(|at| at <= now) {
        let message = "Job was active longer than specified deadline";
        Some(("Failed", "DeadlineExceeded", message))
    } else {
        None
    };
    if end.is_some() || suspended {
        for pod in &active {
            maker.delete_pod(world, pod, now);
        }
        running = 0;
    } else {
        let wanted = parallelism.min(completions - done);
        while running < wanted {
            let name = json!({"generateName": format!("{}-", object::name(job))});
            let owners = reference("batch/v1", "Job", job);
            let pod = pod_of(&spec["template"], &name, owners);
            if !maker.make_pod(world, pod, now) {
                break;
            }
            running += 1;
        }
    }
    let time = object::time(now);
    let condition = |kind: &str, status: &str, reason: &str, message: &str| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastProbeTime": time, "lastTransitionTime": time,
        })
    };
    let mut status = json!({"terminating": 0, "uncountedTerminatedPods": {}});
    let mut conditions: Vec<Value> = known.into_iter().cloned().collect();
    let mut since = started;
    if end.is_none() && suspended && was != Some(true) {
        conditions = vec![condition(
            "Suspended",
            "True",
            "JobSuspended",
            "Job suspended",
        )];
        maker.say(world, false, "Suspended", "Job suspended", now);
    } else if end.is_none() && !suspended && was == Some(true) {
        // The time that a job may take begins anew.
        conditions = vec![condition("Suspended", "False", "JobResumed", "Job resumed")];
        maker.say(world, false, "Resumed", "Job resumed", now);
        since = json!(time);
    }
    if since.is_null() && !suspended {
        since = json!(time);
    }
    if !since.is_null() {
        status["startTime"] = since;
    }
    let ready = active.iter().filter(|pod| super::is_ready(pod)).count();
    status["ready"] = if end.is_some() {
        json!(0)
    } else {
        json!(ready)
    };
    for (field, count) in [("active", running), ("succeeded", done), ("failed", broken)] {
        if count > 0 {
            status[field] = count.into();
        }
    }
    if let Some((kind, reason, message)) = end {
        let first = match kind {
            "Complete" => "SuccessCriteriaMet",
            _ => "FailureTarget",
        };
        conditions.extend([first, kind].map(|kind| condition(kind, "True", reason, message)));
        if kind == "Complete" {
            status["completionTime"] = json!(time);
            maker.say(world, false, "Completed", "Job completed", now);
        } else {
            maker.say(world, true, reason, message, now);
        }
    } else if let Some(at) = deadline {
        world.wake(TABLE, job, at);
    }
    if !conditions.is_empty() {
        status["conditions"] = conditions.into();
    }
    write_status(world, TABLE, job, status, now);
}

/// A finished Job goes when its time to live has passed.
fn expire(world: &mut World, job: &Arc<Value>, now: Timestamp) {
    let Some(seconds) = job["spec"]["ttlSecondsAfterFinished"].as_i64() else {
        return;
    };
    let finished = object::list(&job["status"]["conditions"])
        .filter_map(|one| object::parse_time(&one["lastTransitionTime"]))
        .max();
    let Some(finished) = finished else { return };
    let at = finished + SignedDuration::from_secs(seconds.clamp(0, 1 << 32));
    if at <= now {
        delete(world, TABLE, job, now);
    } else {
        world.wake(TABLE, job, at);
    }
}
