//! ReplicaSets: as many pods as wanted.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Maker, controlled, is_ready, number, pod_of, reference, write_status};
use crate::api::object;
use crate::api::world::World;

const TABLE: &str = "replicasets.apps";

pub(super) fn settle(world: &mut World, set: &Arc<Value>, now: Timestamp) {
    let pods: Vec<Arc<Value>> = controlled(world, set, "pods")
        .into_iter()
        .filter(|pod| !is_over(pod))
        .collect();
    let living: Vec<Arc<Value>> = pods
        .iter()
        .filter(|pod| !object::terminating(pod))
        .map(Arc::clone)
        .collect();
    let wanted = number(&set["spec"]["replicas"]);
    let maker = Maker {
        api_version: "apps/v1",
        kind: "ReplicaSet",
        component: "replicaset-controller",
        owner: set,
    };
    if !object::terminating(set) {
        let have = i64::try_from(living.len()).unwrap_or(i64::MAX);
        for _ in have..wanted {
            let template = &set["spec"]["template"];
            let name = json!({"generateName": format!("{}-", object::name(set))});
            let pod = pod_of(template, &name, reference("apps/v1", "ReplicaSet", set));
            if !maker.make_pod(world, pod, now) {
                break;
            }
        }
        if have > wanted {
            // Those that are not ready go first, then the youngest.
            let mut order = living.clone();
            order.sort_by_key(|pod| {
                let version: u64 = object::meta(pod, "resourceVersion").parse().unwrap_or(0);
                (is_ready(pod), std::cmp::Reverse(version))
            });
            let surplus = usize::try_from(have - wanted).unwrap_or(0);
            for pod in order.iter().take(surplus) {
                maker.delete_pod(world, pod, now);
            }
        }
    }
    let current: Vec<Arc<Value>> = controlled(world, set, "pods")
        .into_iter()
        .filter(|pod| !object::terminating(pod) && !is_over(pod))
        .collect();
    let ready = current.iter().filter(|pod| is_ready(pod)).count();
    let mut status = json!({
        "replicas": current.len(),
        "observedGeneration": set["metadata"]["generation"],
        "terminatingReplicas": pods.len() - living.len(),
    });
    if !current.is_empty() {
        status["fullyLabeledReplicas"] = current.len().into();
    }
    if ready > 0 {
        status["readyReplicas"] = ready.into();
        status["availableReplicas"] = ready.into();
    }
    write_status(world, TABLE, set, status, now);
}

/// Pods that ended do not count.
fn is_over(pod: &Value) -> bool {
    matches!(
        pod["status"]["phase"].as_str(),
        Some("Succeeded" | "Failed")
    )
}
