//! DaemonSets: one pod on the one node.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Maker, controlled, hash, is_ready, pod_of, reference, revisions, write_status};
use crate::api::object;
use crate::api::world::World;
use crate::kubelet::NODE;

const TABLE: &str = "daemonsets.apps";
const REVISION: &str = "controller-revision-hash";

pub(super) fn settle(world: &mut World, set: &Arc<Value>, now: Timestamp) {
    let revision = hash(&set["spec"]["template"]);
    let fits = fits(world, set);
    let pods = controlled(world, set, "pods");
    if !object::terminating(set) {
        let name = format!("{}-{revision}", object::name(set));
        revisions::keep(world, set, "DaemonSet", &name, now);
        let current = |pod: &Value| pod["metadata"]["labels"][REVISION] == revision.as_str();
        if fits && pods.is_empty() {
            make(world, set, &revision, now);
        }
        let rolls = set["spec"]["updateStrategy"]["type"] == "RollingUpdate";
        for pod in &pods {
            let over = matches!(
                pod["status"]["phase"].as_str(),
                Some("Failed" | "Succeeded")
            );
            if !fits || over || (rolls && !current(pod)) {
                maker(set).delete_pod(world, pod, now);
            }
        }
    }
    let living: Vec<Arc<Value>> = controlled(world, set, "pods")
        .into_iter()
        .filter(|pod| !object::terminating(pod))
        .collect();
    let ready = living.iter().filter(|pod| is_ready(pod)).count();
    let updated = living
        .iter()
        .filter(|pod| pod["metadata"]["labels"][REVISION] == revision.as_str())
        .count();
    let desired = usize::from(fits);
    let mut status = json!({
        "currentNumberScheduled": living.len().min(1), "numberMisscheduled": 0,
        "desiredNumberScheduled": desired, "numberReady": ready,
        "observedGeneration": set["metadata"]["generation"],
    });
    for (field, count) in [
        ("updatedNumberScheduled", updated),
        ("numberAvailable", ready),
        ("numberUnavailable", desired.saturating_sub(ready)),
    ] {
        if count > 0 {
            status[field] = count.into();
        }
    }
    write_status(world, TABLE, set, status, now);
}

/// Whether the node is one that the set wants.
fn fits(world: &World, set: &Value) -> bool {
    let Some(node) = world.store.get("nodes", "", NODE) else {
        return false;
    };
    let selector = &set["spec"]["template"]["spec"]["nodeSelector"];
    object::has_labels(node, selector)
}

fn make(world: &mut World, set: &Arc<Value>, revision: &str, now: Timestamp) {
    let name = json!({"generateName": format!("{}-", object::name(set))});
    let owners = reference("apps/v1", "DaemonSet", set);
    let mut pod = pod_of(&set["spec"]["template"], &name, owners);
    pod["metadata"]["labels"][REVISION] = revision.into();
    pod["metadata"]["labels"]["pod-template-generation"] =
        set["metadata"]["generation"].to_string().into();
    maker(set).make_pod(world, pod, now);
}

fn maker(set: &Value) -> Maker<'_> {
    Maker {
        api_version: "apps/v1",
        kind: "DaemonSet",
        component: "daemonset-controller",
        owner: set,
    }
}
