//! Pods: the scheduler and the kubelet in one, as the fates of [`crate::fate`] have it.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::pod_events;
use crate::api::object;
use crate::api::world::World;
use crate::fate::{self, Place, Step};
use crate::kubelet::{HOST_IP, NODE};

const TABLE: &str = "pods";

/// What the kubelet remembers of pods, by UID: when each was bound, and its address.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kubelet {
    bound: BTreeMap<String, (Timestamp, String)>,
    addresses: u32,
}

impl Kubelet {
    /// Remembers a pod by what its status says.
    pub(super) fn recall(&mut self, pod: &Value, now: Timestamp) {
        let bound = pod["spec"]["nodeName"].is_string();
        let status = &pod["status"];
        let address: Option<Ipv4Addr> = status["podIP"].as_str().and_then(|ip| ip.parse().ok());
        let (true, Some(address)) = (bound, address) else {
            // A pod that has no address yet gets one when it is looked at.
            return;
        };
        let [.., high, low] = address.octets();
        let number = (u32::from(high) << 8) | u32::from(low);
        self.addresses = self.addresses.max(number);
        let since = object::parse_time(&status["startTime"]).unwrap_or(now);
        let known = (since, address.to_string());
        self.bound.insert(object::uid(pod).to_owned(), known);
    }
}

/// Does the next thing with a pod, and the one after that, until it must wait.
pub(super) fn settle(world: &mut World, pod: &Arc<Value>, now: Timestamp) {
    let Ok(typed) = serde_json::from_value::<Pod>(Value::clone(pod)) else {
        return;
    };
    let plan = world.rules.plan(&typed);
    let uid = object::uid(pod).to_owned();
    let bound = typed
        .spec
        .as_ref()
        .is_some_and(|spec| spec.node_name.is_some());
    if bound && !world.kubelet.bound.contains_key(&uid) {
        world.kubelet.addresses += 1;
        let number = world.kubelet.addresses;
        let address = format!("10.1.{}.{}", (number >> 8) & 255, number & 255);
        world.kubelet.bound.insert(uid.clone(), (now, address));
    }
    let (since, address) = world
        .kubelet
        .bound
        .get(&uid)
        .cloned()
        .unwrap_or((now, String::new()));
    let place = Place {
        node: NODE,
        host_ip: HOST_IP,
        pod_ip: address,
        labels: labels(world),
    };
    let age = Duration::try_from(now.duration_since(since)).unwrap_or_default();
    let step = fate::next(&typed, plan, &place, age, now);
    let waits = matches!(step, Step::Wait) || age < plan.ready_after;
    match step {
        Step::Nothing | Step::Wait => {}
        Step::Bind => {
            let mut new = Value::clone(pod);
            new["spec"]["nodeName"] = NODE.into();
            new["status"]["conditions"] = json!([{
                "type": "PodScheduled", "status": "True", "lastProbeTime": null,
                "lastTransitionTime": object::time(now),
            }]);
            if super::write(world, TABLE, pod, new, "binding", now) {
                pod_events::scheduled(world, pod, now);
            }
        }
        Step::Status(patch) => {
            let patch = json!({"status": patch["status"]});
            let Ok(new) = kubepkg_patch::merge::apply(pod, &patch) else {
                return;
            };
            if super::write(world, TABLE, pod, new.clone(), "status", now) {
                pod_events::changed(world, pod, &new, now);
            }
        }
        Step::Delete => {
            world.kubelet.bound.remove(&uid);
            pod_events::killed(world, pod, now);
            let mut new = Value::clone(pod);
            object::set(&mut new, "deletionGracePeriodSeconds", 0);
            let key = object::key(pod);
            let table: Arc<str> = TABLE.into();
            if object::finalizers(pod).is_empty() {
                world.store.remove(&table, &key);
            } else {
                world.store.put(&table, new);
            }
            return;
        }
    }
    if bound && waits {
        let at = since + SignedDuration::try_from(plan.ready_after).unwrap_or_default();
        if at > now {
            world.wake(TABLE, pod, at);
        }
    }
}

/// The labels of the node.
fn labels(world: &World) -> BTreeMap<String, String> {
    let node = world.store.get("nodes", "", NODE);
    let labels = node.and_then(|node| node["metadata"]["labels"].as_object());
    labels
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()))
        .collect()
}
