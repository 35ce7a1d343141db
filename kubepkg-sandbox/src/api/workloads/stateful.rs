//! StatefulSets: pods with numbers, one after the other, and a claim for each template.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    Maker, controlled, create, hash, is_ready, number, pod_of, reference, revisions, write_status,
};
use crate::api::failure::Failure;
use crate::api::object;
use crate::api::world::World;

const TABLE: &str = "statefulsets.apps";
const REVISION: &str = "controller-revision-hash";

pub(super) fn settle(world: &mut World, set: &Arc<Value>, now: Timestamp) {
    let revision = format!("{}-{}", object::name(set), hash(&set["spec"]["template"]));
    if !object::terminating(set) {
        revisions::keep(world, set, "StatefulSet", &revision, now);
        step(world, set, &revision, now);
    }
    let pods = living(world, set);
    let of_revision = |pod: &&Arc<Value>| pod["metadata"]["labels"][REVISION] == revision.as_str();
    let ready = pods.iter().filter(|pod| is_ready(pod)).count();
    let updated = pods.iter().filter(of_revision).count();
    let wanted = usize::try_from(number(&set["spec"]["replicas"])).unwrap_or(0);
    let complete = updated == wanted && ready == wanted;
    let old = set["status"]["currentRevision"].as_str();
    let current = if complete { None } else { old }.unwrap_or(&revision);
    let mut status = json!({
        "observedGeneration": set["metadata"]["generation"], "replicas": pods.len(),
        "availableReplicas": ready, "collisionCount": 0, "currentRevision": current,
        "updateRevision": revision,
    });
    let of_current = if current == revision {
        updated
    } else {
        pods.len() - updated
    };
    for (field, count) in [
        ("readyReplicas", ready),
        ("currentReplicas", of_current),
        ("updatedReplicas", updated),
    ] {
        if count > 0 {
            status[field] = count.into();
        }
    }
    write_status(world, TABLE, set, status, now);
}

fn living(world: &World, set: &Value) -> Vec<Arc<Value>> {
    let mut pods = controlled(world, set, "pods");
    pods.retain(|pod| !object::terminating(pod));
    pods
}

fn step(world: &mut World, set: &Arc<Value>, revision: &str, now: Timestamp) {
    let wanted = number(&set["spec"]["replicas"]);
    let start = number(&set["spec"]["ordinals"]["start"]);
    let parallel = set["spec"]["podManagementPolicy"] == "Parallel";
    let all = controlled(world, set, "pods");
    let find = |ordinal: i64| {
        let name = format!("{}-{ordinal}", object::name(set));
        all.iter()
            .find(|pod| object::name(pod) == name)
            .map(Arc::clone)
    };
    for ordinal in start..start + wanted {
        match find(ordinal) {
            None => {
                make(world, set, ordinal, revision, now);
                if !parallel {
                    return;
                }
            }
            Some(pod) if object::terminating(&pod) && !parallel => return,
            Some(pod)
                if matches!(
                    pod["status"]["phase"].as_str(),
                    Some("Failed" | "Succeeded")
                ) =>
            {
                delete(world, set, &pod, now);
                return;
            }
            Some(pod) if !is_ready(&pod) && !parallel => {
                // A broken pod of an old revision would hold the rollout up for ever.
                if pod["metadata"]["labels"][REVISION] != revision && rolls(set) {
                    delete(world, set, &pod, now);
                }
                return;
            }
            Some(_) => {}
        }
    }
    // Too many: the last one goes first.
    let ordinal_of = |pod: &Value| -> i64 {
        let name = object::name(pod);
        name.rsplit_once('-')
            .and_then(|(_, n)| n.parse().ok())
            .unwrap_or(0)
    };
    if let Some(last) = all
        .iter()
        .filter(|pod| ordinal_of(pod) >= start + wanted)
        .max_by_key(|pod| ordinal_of(pod))
    {
        delete(world, set, last, now);
        return;
    }
    if !rolls(set) {
        return;
    }
    let partition = number(&set["spec"]["updateStrategy"]["rollingUpdate"]["partition"]);
    for ordinal in (start + partition.max(0)..start + wanted).rev() {
        let Some(pod) = find(ordinal) else { return };
        if pod["metadata"]["labels"][REVISION] != revision {
            delete(world, set, &pod, now);
            return;
        }
        if !is_ready(&pod) {
            return;
        }
    }
}

fn rolls(set: &Value) -> bool {
    set["spec"]["updateStrategy"]["type"] == "RollingUpdate"
}

fn make(world: &mut World, set: &Arc<Value>, ordinal: i64, revision: &str, now: Timestamp) {
    let namespace = object::namespace(set).to_owned();
    let name = format!("{}-{ordinal}", object::name(set));
    let owners = reference("apps/v1", "StatefulSet", set);
    let names = json!({"generateName": format!("{}-", object::name(set)), "name": name});
    let mut pod = pod_of(&set["spec"]["template"], &names, owners);
    for (label, value) in [
        (REVISION, revision),
        ("statefulset.kubernetes.io/pod-name", name.as_str()),
        ("apps.kubernetes.io/pod-index", &ordinal.to_string()),
    ] {
        pod["metadata"]["labels"][label] = value.into();
    }
    pod["spec"]["hostname"] = name.clone().into();
    let service = object::text(&set["spec"], "serviceName");
    if !service.is_empty() {
        pod["spec"]["subdomain"] = service.into();
    }
    let mut claims: Vec<Value> = Vec::new();
    let mut volumes: Vec<Value> = object::list(&pod["spec"]["volumes"]).cloned().collect();
    for template in object::list(&set["spec"]["volumeClaimTemplates"]) {
        let claim_name = format!("{}-{name}", object::name(template));
        volumes.retain(|volume| volume["name"] != template["metadata"]["name"]);
        claims.push(json!({
            "name": template["metadata"]["name"],
            "persistentVolumeClaim": {"claimName": claim_name},
        }));
        if world
            .store
            .get("persistentvolumeclaims", &namespace, &claim_name)
            .is_none()
        {
            let mut metadata = template["metadata"].clone();
            metadata["name"] = claim_name.into();
            let labels = set["spec"]["selector"]["matchLabels"].as_object();
            for (label, value) in labels.into_iter().flatten() {
                metadata["labels"][label] = value.clone();
            }
            let claim = json!({"metadata": metadata, "spec": template["spec"]});
            let claimed = claim["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            let made = create(world, "persistentvolumeclaims", &namespace, claim, now);
            let what = format!(
                "Claim {claimed} Pod {name} in StatefulSet {}",
                object::name(set)
            );
            tell(world, set, "Create", &what, made.err().as_ref(), now);
        }
    }
    claims.extend(volumes);
    if !claims.is_empty() {
        pod["spec"]["volumes"] = claims.into();
    }
    let made = create(world, "pods", &namespace, pod, now);
    let what = format!("Pod {name} in StatefulSet {}", object::name(set));
    tell(world, set, "Create", &what, made.err().as_ref(), now);
}

/// Deletes a pod and tells it.
fn delete(world: &mut World, set: &Value, pod: &Arc<Value>, now: Timestamp) {
    if object::terminating(pod) {
        return;
    }
    super::delete(world, "pods", pod, now);
    let what = format!(
        "Pod {} in StatefulSet {}",
        object::name(pod),
        object::name(set)
    );
    tell(world, set, "Delete", &what, None, now);
}

fn tell(
    world: &mut World,
    set: &Value,
    verb: &str,
    what: &str,
    failure: Option<&Failure>,
    now: Timestamp,
) {
    let maker = Maker {
        api_version: "apps/v1",
        kind: "StatefulSet",
        component: "statefulset-controller",
        owner: set,
    };
    match failure {
        None => {
            // Kubernetes has two words for it.
            let done = if what.starts_with("Claim") {
                "success"
            } else {
                "successful"
            };
            let message = format!("{verb} {what} {done}");
            maker.say(world, false, &format!("Successful{verb}"), &message, now);
        }
        Some(failure) => {
            let message = format!("{verb} {what} failed error: {failure}");
            maker.say(world, true, &format!("Failed{verb}"), &message, now);
        }
    }
}
