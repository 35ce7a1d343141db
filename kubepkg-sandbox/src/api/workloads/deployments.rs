//! Deployments: one ReplicaSet for each template, rolled over as far as availability allows.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{
    Maker, condition, controlled, create, hash, number, reference, share, write, write_status,
};
use crate::api::object;
use crate::api::world::World;

const TABLE: &str = "deployments.apps";
const SETS: &str = "replicasets.apps";
const REVISION: &str = "deployment.kubernetes.io/revision";
const HASH: &str = "pod-template-hash";

pub(super) fn settle(world: &mut World, deployment: &Arc<Value>, now: Timestamp) {
    if object::terminating(deployment) {
        return;
    }
    let sets = controlled(world, deployment, SETS);
    let template = &deployment["spec"]["template"];
    let current = sets
        .iter()
        .filter(|set| same_template(template, &set["spec"]["template"]))
        .max_by_key(|set| revision(set))
        .map(Arc::clone);
    let newest = sets.iter().map(|set| revision(set)).max().unwrap_or(0);
    let wanted = number(&deployment["spec"]["replicas"]);
    let paused = deployment["spec"]["paused"] == true;
    match &current {
        None if paused => {}
        None => {
            make_set(
                world,
                deployment,
                newest + 1,
                first_size(deployment, &sets),
                now,
            );
            return;
        }
        Some(set) if revision(set) < newest => {
            // An old template again: a rollback makes its set the newest.
            let mut new = Value::clone(set);
            new["metadata"]["annotations"][REVISION] = (newest + 1).to_string().into();
            write(world, SETS, set, new, "", now);
            return;
        }
        Some(set) => scale(world, deployment, set, &sets, now),
    }
    let revision = current
        .as_ref()
        .map_or(newest, |set| revision(set))
        .to_string();
    if deployment["metadata"]["annotations"][REVISION] != revision.as_str() && !paused {
        let mut new = Value::clone(deployment);
        if !new["metadata"]["annotations"].is_object() {
            object::set(&mut new, "annotations", json!({}));
        }
        new["metadata"]["annotations"][REVISION] = revision.into();
        // The controller of Kubernetes writes both with the status.
        write(world, TABLE, deployment, new, "status", now);
        return;
    }
    clean(world, deployment, current.as_ref(), &sets, now);
    let sets = controlled(world, deployment, SETS);
    let status = status(deployment, current.as_ref(), &sets, wanted, now);
    if let Some(at) = deadline(deployment, &status, now) {
        world.wake(TABLE, deployment, at);
    }
    write_status(world, TABLE, deployment, status, now);
}

fn revision(set: &Value) -> i64 {
    let text = set["metadata"]["annotations"][REVISION].as_str();
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Whether a set was made from a template: the label that the set adds does not count.
fn same_template(template: &Value, of_set: &Value) -> bool {
    let mut of_set = of_set.clone();
    if let Some(labels) = of_set
        .pointer_mut("/metadata/labels")
        .and_then(Value::as_object_mut)
    {
        labels.remove(HASH);
    }
    *template == of_set
}

/// How many pods there may be beyond the wanted, and how many may be missing.
fn room(deployment: &Value) -> (i64, i64) {
    let wanted = number(&deployment["spec"]["replicas"]);
    let rolling = &deployment["spec"]["strategy"]["rollingUpdate"];
    let surge = share(&rolling["maxSurge"], wanted, true);
    let missing = share(&rolling["maxUnavailable"], wanted, false);
    if surge == 0 && missing == 0 {
        (0, 1)
    } else {
        (surge, missing)
    }
}

fn recreates(deployment: &Value) -> bool {
    deployment["spec"]["strategy"]["type"] == "Recreate"
}

fn size(set: &Value) -> i64 {
    number(&set["spec"]["replicas"])
}

/// The size of a set when it is made.
fn first_size(deployment: &Value, sets: &[Arc<Value>]) -> i64 {
    let wanted = number(&deployment["spec"]["replicas"]);
    let others: i64 = sets.iter().map(|set| size(set)).sum();
    if recreates(deployment) {
        return if others == 0 { wanted } else { 0 };
    }
    let (surge, _) = room(deployment);
    wanted.min((wanted + surge - others).max(0))
}

fn make_set(
    world: &mut World,
    deployment: &Arc<Value>,
    revision: i64,
    replicas: i64,
    now: Timestamp,
) {
    let mut template = deployment["spec"]["template"].clone();
    let hash = hash(&template);
    template["metadata"]["labels"][HASH] = hash.clone().into();
    let mut selector = deployment["spec"]["selector"].clone();
    selector["matchLabels"][HASH] = hash.clone().into();
    let mut annotations = deployment["metadata"]["annotations"].clone();
    if !annotations.is_object() {
        annotations = json!({});
    }
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
    annotations[REVISION] = revision.to_string().into();
    annotations["deployment.kubernetes.io/desired-replicas"] =
        number(&deployment["spec"]["replicas"]).to_string().into();
    let (surge, _) = room(deployment);
    let most = number(&deployment["spec"]["replicas"]) + surge;
    annotations["deployment.kubernetes.io/max-replicas"] = most.to_string().into();
    let set = json!({
        "metadata": {
            "name": format!("{}-{hash}", object::name(deployment)),
            "labels": template["metadata"]["labels"],
            "annotations": annotations,
            "ownerReferences": reference("apps/v1", "Deployment", deployment),
        },
        "spec": {"replicas": replicas, "selector": selector, "template": template},
    });
    let made = create(world, SETS, object::namespace(deployment), set, now);
    if let Ok(set) = made.as_deref()
        && replicas > 0
    {
        tell(world, deployment, set, (0, replicas), now);
    }
}

/// Tells that a set got another size.
fn tell(
    world: &mut World,
    deployment: &Value,
    set: &Value,
    (from, to): (i64, i64),
    now: Timestamp,
) {
    let way = if to > from { "up" } else { "down" };
    let name = object::name(set);
    let message = format!("Scaled {way} replica set {name} from {from} to {to}");
    let maker = Maker {
        api_version: "apps/v1",
        kind: "Deployment",
        component: "deployment-controller",
        owner: deployment,
    };
    maker.say(world, false, "ScalingReplicaSet", &message, now);
}

/// Moves pods from the old sets to the current one.
fn scale(
    world: &mut World,
    deployment: &Arc<Value>,
    current: &Arc<Value>,
    sets: &[Arc<Value>],
    now: Timestamp,
) {
    let wanted = number(&deployment["spec"]["replicas"]);
    let old: Vec<&Arc<Value>> = sets
        .iter()
        .filter(|set| object::uid(set) != object::uid(current))
        .collect();
    let of_old: i64 = old.iter().map(|set| size(set)).sum();
    if recreates(deployment) {
        let running: i64 = old
            .iter()
            .map(|set| number(&set["status"]["replicas"]))
            .sum();
        for set in &old {
            resize(world, deployment, set, 0, now);
        }
        if of_old == 0 && running == 0 {
            resize(world, deployment, current, wanted, now);
        }
        return;
    }
    let (surge, missing) = room(deployment);
    let grown = wanted.min((wanted + surge - of_old).max(size(current)));
    resize(world, deployment, current, grown, now);
    let available: i64 = sets
        .iter()
        .map(|set| number(&set["status"]["availableReplicas"]))
        .sum();
    let fresh = number(&current["status"]["availableReplicas"]);
    // As many as can be missed when none of the new ones that are not available yet ever is; those that are broken go
    // first.
    let least = wanted - missing;
    let mut most = (of_old + grown - least - (grown - fresh)).max(0);
    let mut spare = (available - least).max(0);
    for set in old {
        let healthy = number(&set["status"]["availableReplicas"]);
        let broken = (size(set) - healthy).max(0);
        let go = if fresh >= wanted {
            size(set)
        } else {
            // What is not yet available of a set that grew a moment ago is no failure.
            let observed = set["status"]["observedGeneration"] == set["metadata"]["generation"];
            let broken_go = if observed { broken.min(most) } else { 0 };
            let healthy_go = spare.min(healthy).min(most - broken_go);
            spare -= healthy_go;
            most -= broken_go + healthy_go;
            broken_go + healthy_go
        };
        resize(world, deployment, set, (size(set) - go).max(0), now);
    }
}

fn resize(world: &mut World, deployment: &Value, set: &Arc<Value>, replicas: i64, now: Timestamp) {
    if size(set) != replicas {
        let mut new = Value::clone(set);
        new["spec"]["replicas"] = replicas.into();
        if write(world, SETS, set, new, "", now) {
            tell(world, deployment, set, (size(set), replicas), now);
        }
    }
}

/// Old sets beyond the history limit.
fn clean(
    world: &mut World,
    deployment: &Value,
    current: Option<&Arc<Value>>,
    sets: &[Arc<Value>],
    now: Timestamp,
) {
    let limit = number(&deployment["spec"]["revisionHistoryLimit"]);
    let limit = usize::try_from(limit).unwrap_or(0);
    let mut old: Vec<&Arc<Value>> = sets
        .iter()
        .filter(|set| current.is_none_or(|current| object::uid(current) != object::uid(set)))
        .filter(|set| size(set) == 0 && number(&set["status"]["replicas"]) == 0)
        .collect();
    old.sort_by_key(|set| revision(set));
    let surplus = old.len().saturating_sub(limit);
    for set in old.into_iter().take(surplus) {
        super::delete(world, SETS, set, now);
    }
}

fn status(
    deployment: &Value,
    current: Option<&Arc<Value>>,
    sets: &[Arc<Value>],
    wanted: i64,
    now: Timestamp,
) -> Value {
    let sum = |field: &str| -> i64 { sets.iter().map(|set| number(&set["status"][field])).sum() };
    let current = current.and_then(|current| {
        let mut all = sets.iter();
        all.find(|set| object::uid(set) == object::uid(current))
    });
    let total = sum("replicas");
    let updated = current.map_or(0, |set| number(&set["status"]["replicas"]));
    let (ready, available) = (sum("readyReplicas"), sum("availableReplicas"));
    let mut status = json!({
        "observedGeneration": deployment["metadata"]["generation"],
        "terminatingReplicas": sum("terminatingReplicas"),
    });
    let unavailable = (wanted.max(total) - available).max(0);
    for (field, value) in [
        ("replicas", total),
        ("updatedReplicas", updated),
        ("readyReplicas", ready),
        ("availableReplicas", available),
        ("unavailableReplicas", unavailable),
    ] {
        if value > 0 {
            status[field] = value.into();
        }
    }
    let (_, missing) = room(deployment);
    let least = if recreates(deployment) {
        wanted
    } else {
        wanted - missing
    };
    let has_minimum = available >= least;
    let availability = if has_minimum {
        (
            true,
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.",
        )
    } else {
        (
            false,
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
        )
    };
    let mut conditions = vec![condition(deployment, "Available", availability, now)];
    conditions.extend(progress(
        deployment,
        current,
        (wanted, total, updated, available),
        now,
    ));
    status["conditions"] = json!(conditions);
    status
}

fn progress(
    deployment: &Value,
    current: Option<&Arc<Value>>,
    (wanted, total, updated, available): (i64, i64, i64, i64),
    now: Timestamp,
) -> Option<Value> {
    let limit = deployment["spec"]["progressDeadlineSeconds"].as_i64()?;
    let set = current.map_or("", |set| object::name(set));
    let before =
        object::list(&deployment["status"]["conditions"]).find(|one| one["type"] == "Progressing");
    let complete = updated == wanted && total == wanted && available == wanted;
    if complete {
        let message = format!("ReplicaSet \"{set}\" has successfully progressed.");
        let word = (true, "NewReplicaSetAvailable", message.as_str());
        return Some(condition(deployment, "Progressing", word, now));
    }
    let moved = {
        let old = |field: &str| number(&deployment["status"][field]);
        updated > old("updatedReplicas")
            || total - updated < old("replicas") - old("updatedReplicas")
            || available > old("availableReplicas")
    };
    let observed =
        deployment["status"]["observedGeneration"] == deployment["metadata"]["generation"];
    let since = before.and_then(|one| object::parse_time(&one["lastUpdateTime"]));
    let late = observed
        && !moved
        && since.is_some_and(|since| now.duration_since(since) >= SignedDuration::from_secs(limit));
    if late
        || (observed
            && !moved
            && before.is_some_and(|one| one["reason"] == "ProgressDeadlineExceeded"))
    {
        let message = format!("ReplicaSet \"{set}\" has timed out progressing.");
        let word = (false, "ProgressDeadlineExceeded", message.as_str());
        return Some(condition(deployment, "Progressing", word, now));
    }
    let message = format!("ReplicaSet \"{set}\" is progressing.");
    let word = (true, "ReplicaSetUpdated", message.as_str());
    let mut made = condition(deployment, "Progressing", word, now);
    if moved || !observed {
        made["lastUpdateTime"] = object::time(now).into();
    }
    Some(made)
}

/// When the deadline of a rollout passes that is under way.
fn deadline(deployment: &Value, status: &Value, now: Timestamp) -> Option<Timestamp> {
    let limit = deployment["spec"]["progressDeadlineSeconds"].as_i64()?;
    let found = object::list(&status["conditions"])
        .find(|one| one["type"] == "Progressing" && one["reason"] == "ReplicaSetUpdated")?;
    let since = object::parse_time(&found["lastUpdateTime"])?;
    let at = since + SignedDuration::from_secs(limit);
    (at > now).then_some(at)
}
