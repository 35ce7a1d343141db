//! Budgets for disruptions: how many of their pods are well, and how many may go.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{is_ready, number, share, write_status};
use crate::api::object;
use crate::api::selector::Labels;
use crate::api::world::World;

const TABLE: &str = "poddisruptionbudgets.policy";

pub(super) fn selects(budget: &Value, pod: &Value) -> bool {
    Labels::of(&budget["spec"]["selector"]).is_some_and(|labels| labels.matches(pod))
}

pub(super) fn settle(world: &mut World, budget: &Arc<Value>, now: Timestamp) {
    if object::terminating(budget) {
        return;
    }
    let spec = &budget["spec"];
    let namespace = object::namespace(budget);
    let selector = Labels::of(&spec["selector"]);
    let pods: Vec<Arc<Value>> = world
        .store
        .list("pods", namespace, None)
        .filter(|(_, pod)| selector.as_ref().is_some_and(|labels| labels.matches(pod)))
        .map(|(_, pod)| Arc::clone(pod))
        .collect();
    let healthy = pods
        .iter()
        .filter(|pod| is_ready(pod) && !object::terminating(pod))
        .count();
    let healthy = i64::try_from(healthy).unwrap_or(i64::MAX);
    let (least, most) = (&spec["minAvailable"], &spec["maxUnavailable"]);
    let (expected, desired) = if !most.is_null() {
        let expected = expected(world, &pods);
        (expected, (expected - share(most, expected, true)).max(0))
    } else if least.is_string() {
        let expected = expected(world, &pods);
        (expected, share(least, expected, true))
    } else {
        (i64::try_from(pods.len()).unwrap_or(i64::MAX), number(least))
    };
    let allowed = if expected <= 0 {
        0
    } else {
        (healthy - desired).max(0)
    };
    let (state, reason) = if allowed > 0 {
        ("True", "SufficientPods")
    } else {
        ("False", "InsufficientPods")
    };
    let before = object::list(&budget["status"]["conditions"])
        .find(|one| one["type"] == "DisruptionAllowed" && one["status"] == state);
    let since = before.map_or(json!(object::time(now)), |one| {
        one["lastTransitionTime"].clone()
    });
    let generation = &budget["metadata"]["generation"];
    let status = json!({
        "currentHealthy": healthy, "desiredHealthy": desired, "disruptionsAllowed": allowed,
        "expectedPods": expected, "observedGeneration": generation,
        "conditions": [{
            "type": "DisruptionAllowed", "status": state, "reason": reason, "message": "",
            "observedGeneration": generation, "lastTransitionTime": since,
        }],
    });
    write_status(world, TABLE, budget, status, now);
}

/// How many pods their controllers want.
fn expected(world: &World, pods: &[Arc<Value>]) -> i64 {
    let mut wanted: BTreeMap<String, i64> = BTreeMap::new();
    for pod in pods {
        let mut owner = object::controller(pod).cloned();
        // Above a ReplicaSet stands a Deployment.
        while let Some(reference) = owner {
            let uid = object::text(&reference, "uid").to_owned();
            let Some((_, _, found)) = world.store.by_uid(&uid) else {
                break;
            };
            owner = object::controller(found).cloned();
            if owner.is_none() {
                wanted.insert(uid, number(&found["spec"]["replicas"]));
            }
        }
    }
    wanted.values().sum()
}
