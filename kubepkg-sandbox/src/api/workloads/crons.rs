//! CronJobs: a Job for each time of their schedule, on the time of the world.

use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::jobs::end;
use super::{Maker, controlled, create, delete, reference, write_status};
use crate::api::object;
use crate::api::schedule::{self, Schedule};
use crate::api::world::World;

const TABLE: &str = "cronjobs.batch";
const JOBS: &str = "jobs.batch";

pub(super) fn settle(world: &mut World, cron: &Arc<Value>, now: Timestamp) {
    let maker = Maker {
        api_version: "batch/v1",
        kind: "CronJob",
        component: "cronjob-controller",
        owner: cron,
    };
    let mut status = cron["status"].clone();
    if !status.is_object() {
        status = json!({});
    }
    let jobs = controlled(world, cron, JOBS);
    look_at(world, &maker, &jobs, &mut status, now);
    clean(world, &maker, &jobs, now);
    if !object::terminating(cron) && cron["spec"]["suspend"] != true {
        run(world, &maker, &jobs, &mut status, now);
    }
    write_status(world, TABLE, cron, status, now);
}

/// Which Jobs are under way, and when one ended well.
fn look_at(
    world: &mut World,
    maker: &Maker<'_>,
    jobs: &[Arc<Value>],
    status: &mut Value,
    now: Timestamp,
) {
    let mut active: Vec<Value> = object::list(&status["active"]).cloned().collect();
    let last = object::parse_time(&status["lastSuccessfulTime"]);
    let mut success = last;
    active.retain(|one| {
        let job = jobs
            .iter()
            .find(|job| object::uid(job) == object::text(one, "uid"));
        let Some(job) = job else { return false };
        let Some(how) = end(job) else { return true };
        let name = object::name(job);
        let message = format!("Saw completed job: {name}, condition: {how}");
        maker.say(world, false, "SawCompletedJob", &message, now);
        false
    });
    for job in jobs.iter().filter(|job| end(job) == Some("Complete")) {
        success = success.max(object::parse_time(&job["status"]["completionTime"]));
    }
    set_active(status, active);
    if success > last
        && let Some(success) = success
    {
        status["lastSuccessfulTime"] = object::time(success).into();
    }
}

fn set_active(status: &mut Value, active: Vec<Value>) {
    if let Some(fields) = status.as_object_mut() {
        if active.is_empty() {
            fields.remove("active");
        } else {
            fields.insert("active".to_owned(), active.into());
        }
    }
}

/// Ended Jobs beyond what is kept.
fn clean(world: &mut World, maker: &Maker<'_>, jobs: &[Arc<Value>], now: Timestamp) {
    for (how, field) in [
        ("Complete", "successfulJobsHistoryLimit"),
        ("Failed", "failedJobsHistoryLimit"),
    ] {
        let Some(limit) = maker.owner["spec"][field].as_i64() else {
            continue;
        };
        let mut ended: Vec<&Arc<Value>> = jobs
            .iter()
            .filter(|job| end(job) == Some(how) && !object::terminating(job))
            .collect();
        ended.sort_by_key(|job| {
            let started = object::parse_time(&job["status"]["startTime"]);
            (started, object::name(job).to_owned())
        });
        let surplus = ended
            .len()
            .saturating_sub(usize::try_from(limit).unwrap_or(0));
        for job in ended.into_iter().take(surplus) {
            delete(world, JOBS, job, now);
            let message = format!("Deleted job {}", object::name(job));
            maker.say(world, false, "SuccessfulDelete", &message, now);
        }
    }
}

/// Starts a Job whose time has come, and sets the alarm for the next.
fn run(
    world: &mut World,
    maker: &Maker<'_>,
    jobs: &[Arc<Value>],
    status: &mut Value,
    now: Timestamp,
) {
    let cron = maker.owner;
    let spec = &cron["spec"];
    let Ok(times) = Schedule::parse(schedule::zoneless(object::text(spec, "schedule"))) else {
        return;
    };
    let zone = spec["timeZone"]
        .as_str()
        .map_or(Ok(TimeZone::UTC), TimeZone::get);
    let Ok(zone) = zone else { return };
    if let Some(next) = times.next(now, &zone) {
        world.wake(TABLE, cron, next);
    }
    let since = object::parse_time(&status["lastScheduleTime"])
        .or_else(|| object::parse_time(&cron["metadata"]["creationTimestamp"]));
    let due = since.and_then(|since| times.last(since, now, &zone));
    let Some(due) = due else { return };
    let late = spec["startingDeadlineSeconds"]
        .as_i64()
        .is_some_and(|limit| due + SignedDuration::from_secs(limit.clamp(0, 1 << 32)) < now);
    if late {
        let time = due.strftime("%a, %d %b %Y %H:%M:%S +0000");
        let message = format!("Missed scheduled time to start a job: {time}");
        maker.say(world, true, "MissSchedule", &message, now);
        return;
    }
    let mut active: Vec<Value> = object::list(&status["active"]).cloned().collect();
    let name = format!("{}-{}", object::name(cron), due.as_second().div_euclid(60));
    let running = |one: &Value, name: &str| object::text(one, "name") == name;
    if active.iter().any(|one| running(one, &name)) {
        return;
    }
    match object::text(spec, "concurrencyPolicy") {
        "Forbid" if !active.is_empty() => {
            let message = "Not starting job because prior execution is running and concurrency policy is Forbid";
            maker.say(world, false, "JobAlreadyActive", message, now);
            return;
        }
        "Replace" => {
            for job in jobs {
                if active.iter().any(|one| running(one, object::name(job))) {
                    delete(world, JOBS, job, now);
                    let message = format!("Deleted job {}", object::name(job));
                    maker.say(world, false, "SuccessfulDelete", &message, now);
                }
            }
            active.clear();
        }
        _ => {}
    }
    match create(
        world,
        JOBS,
        object::namespace(cron),
        job_of(cron, &name, due),
        now,
    ) {
        Ok(job) => {
            maker.say(
                world,
                false,
                "SuccessfulCreate",
                &format!("Created job {name}"),
                now,
            );
            active.push(json!({
                "apiVersion": "batch/v1", "kind": "Job", "name": name,
                "namespace": object::namespace(&job), "uid": object::uid(&job),
                "resourceVersion": object::meta(&job, "resourceVersion"),
            }));
        }
        // It was made before, and nobody knew.
        Err(failure) if failure.code == 409 => {}
        Err(failure) => {
            let message = format!("Error creating job: {failure}");
            maker.say(world, true, "FailedCreate", &message, now);
            return;
        }
    }
    set_active(status, active);
    status["lastScheduleTime"] = object::time(due).into();
}

fn job_of(cron: &Value, name: &str, due: Timestamp) -> Value {
    let template = &cron["spec"]["jobTemplate"];
    let mut annotations = template["metadata"]["annotations"].clone();
    if !annotations.is_object() {
        annotations = json!({});
    }
    annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"] = object::time(due).into();
    let mut metadata = json!({
        "name": name, "annotations": annotations,
        "ownerReferences": reference("batch/v1", "CronJob", cron),
    });
    if let Some(labels) = template["metadata"].get("labels") {
        metadata["labels"] = labels.clone();
    }
    json!({"metadata": metadata, "spec": template["spec"]})
}
