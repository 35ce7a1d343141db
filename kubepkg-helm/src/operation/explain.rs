//! Why is it not ready? Asked when an operation has failed (the last events of the object and of its Pods, and
//! what their containers wait for, as data for front ends), and while waiting, from time to time, of workloads
//! that are not ready: an image that can't be pulled for long ends the waiting. Nothing here fails an operation
//! by itself going wrong: what can't be asked is left out.

use super::error::{Failure, ObjectEvent, ObjectStatus};
use super::{FailureReason, Operation};
use crate::cluster::{Call, Cluster, Verb};
use crate::readiness::Status;
use jiff::SignedDuration;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// Objects that are explained; a failure with more has one cause mostly.
const OBJECTS: usize = 5;
/// Pods of a workload that are looked at.
const PODS: &str = "50";
/// Pods whose events are asked for.
const BAD_PODS: usize = 2;
/// Events kept of one object.
const EVENTS: usize = 10;
/// How long all questions of one failure may take.
const TIME: Duration = Duration::from_secs(3);

/// What containers say whose image can't be had.
const NO_IMAGE: [&str; 4] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "RegistryUnavailable",
    "ImageInspectError",
];
/// What will never change.
const NEVER: [&str; 2] = ["InvalidImageName", "ErrImageNeverPull"];

/// A container that waits for something.
struct Held {
    pod: String,
    container: String,
    image: String,
    reason: String,
    message: String,
}

impl Held {
    fn event(&self) -> ObjectEvent {
        ObjectEvent {
            kind: "Pod".to_owned(),
            name: self.pod.clone(),
            reason: self.reason.clone(),
            message: self.message.clone(),
            count: 1,
            last: None,
        }
    }
}

impl Operation {
    /// Adds what the cluster has to say about objects that are not ready.
    pub(super) async fn explain(&self, objects: &mut [ObjectStatus]) {
        // What was told in time is kept.
        let _ = tokio::time::timeout(TIME, async {
            for object in objects.iter_mut().take(OBJECTS) {
                if object.events.is_empty() && !object.namespace.is_empty() {
                    self.explain_one(object).await;
                }
            }
        })
        .await;
    }

    async fn explain_one(&self, object: &mut ObjectStatus) {
        let cluster = self.helm.cluster();
        let mut events = events_of(cluster, &object.namespace, &object.kind, &object.name).await;
        if let Some(live) = live(cluster, object).await {
            let held = if object.kind == "Pod" {
                held_by(&live)
            } else {
                held_containers(cluster, &object.namespace, &live).await
            };
            let mut pods: Vec<&str> = held.iter().map(|one| one.pod.as_str()).collect();
            pods.dedup();
            for pod in pods
                .into_iter()
                .filter(|pod| *pod != object.name)
                .take(BAD_PODS)
            {
                events.extend(events_of(cluster, &object.namespace, "Pod", pod).await);
            }
            events.sort_by_key(|event| event.last);
            events.extend(held.iter().map(Held::event));
        }
        let surplus = events.len().saturating_sub(EVENTS);
        events.drain(..surplus);
        object.events = events;
    }

    /// Adds what the containers of workloads were last seen to wait for.
    pub(super) fn tell_held(&self, objects: &mut [ObjectStatus]) {
        for object in objects {
            if let Some(events) = self.held.get(&key_of(object)) {
                object.events.clone_from(events);
            }
        }
    }

    /// The failure of workloads whose images have been missing for longer than the caller is patient.
    pub(super) async fn image_failure(
        &mut self,
        workloads: &[(ObjectStatus, Value)],
    ) -> Option<Failure> {
        let patience = SignedDuration::from_secs(
            i64::try_from(self.progress.settings.image_patience?).unwrap_or(i64::MAX),
        );
        let now = self.helm.now();
        let pause =
            (patience / 4).clamp(SignedDuration::from_secs(1), SignedDuration::from_secs(10));
        let began = *self.pods_seen.get_or_insert(now);
        if now.duration_since(began) < pause {
            return None;
        }
        self.pods_seen = Some(now);
        self.held.clear();
        let mut failed = Vec::new();
        let mut still = BTreeMap::new();
        for (status, live) in workloads {
            let cluster = self.helm.cluster();
            let mut held = held_containers(cluster, &status.namespace, live).await;
            held.retain(|one| wants(live, one));
            let events = held.iter().take(EVENTS).map(Held::event).collect();
            self.held.insert(key_of(status), events);
            for one in held {
                let never = NEVER.contains(&one.reason.as_str());
                if !never && !NO_IMAGE.contains(&one.reason.as_str()) {
                    continue;
                }
                let key = (one.pod.clone(), one.container.clone());
                let since = self.imageless.get(&key).copied().unwrap_or(now);
                let long = now.duration_since(since) >= patience;
                still.insert(key, since);
                if (never || long) && !failed.iter().any(|known| same(known, status)) {
                    failed.push(ObjectStatus {
                        status: Status::Failed,
                        reason: one.reason.clone(),
                        message: format!(
                            "image {:?} of container {:?} of Pod {} can't be pulled: {}",
                            one.image, one.container, one.pod, one.reason
                        ),
                        events: vec![one.event()],
                        ..status.clone()
                    });
                }
            }
        }
        self.imageless = still;
        (!failed.is_empty()).then(|| Failure {
            reason: FailureReason::NotReady,
            ..Failure::not_ready(failed)
        })
    }
}

/// Kind, namespace and name.
pub(super) type StatusKey = (String, String, String);

fn key_of(status: &ObjectStatus) -> StatusKey {
    let ObjectStatus {
        kind,
        namespace,
        name,
        ..
    } = status;
    (kind.clone(), namespace.clone(), name.clone())
}

fn same(a: &ObjectStatus, b: &ObjectStatus) -> bool {
    (&a.kind, &a.namespace, &a.name) == (&b.kind, &b.namespace, &b.name)
}

async fn live(cluster: &Cluster, object: &ObjectStatus) -> Option<Value> {
    let kind = cluster.resource(&object.api_version, &object.kind).await;
    let path = kind.ok()??.object(&object.namespace, &object.name);
    Some(cluster.call(Call::new(Verb::Get, path)).await.ok()?.body)
}

/// The events of an object, oldest first.
async fn events_of(cluster: &Cluster, namespace: &str, kind: &str, name: &str) -> Vec<ObjectEvent> {
    let selector = format!("involvedObject.kind={kind},involvedObject.name={name}");
    let query = [("fieldSelector", selector.as_str()), ("limit", "100")];
    let path = format!(
        "/api/v1/namespaces/{}/events",
        crate::cluster::escape(namespace)
    );
    let Ok(answer) = cluster.call(Call::new(Verb::Get, path).query(&query)).await else {
        return Vec::new();
    };
    let items = answer.body.get("items").and_then(Value::as_array);
    let mut events: Vec<ObjectEvent> = items
        .into_iter()
        .flatten()
        .map(|item| {
            let text = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
            let last = ["lastTimestamp", "eventTime", "firstTimestamp"]
                .iter()
                .find_map(|key| text(key).parse().ok());
            ObjectEvent {
                kind: kind.to_owned(),
                name: name.to_owned(),
                reason: text("reason").to_owned(),
                message: text("message").to_owned(),
                count: item.get("count").and_then(Value::as_u64).unwrap_or(1),
                last,
            }
        })
        .collect();
    events.sort_by_key(|event| event.last);
    events
}

/// The waiting containers of a workload's Pods. A selector with expressions is passed over.
async fn held_containers(cluster: &Cluster, namespace: &str, workload: &Value) -> Vec<Held> {
    let Some(labels) = workload
        .pointer("/spec/selector/matchLabels")
        .and_then(Value::as_object)
    else {
        return Vec::new();
    };
    let selector: Vec<String> = labels
        .iter()
        .filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?)))
        .collect();
    let expressions = workload.pointer("/spec/selector/matchExpressions");
    if selector.is_empty() || expressions.is_some_and(|list| *list != Value::Array(Vec::new())) {
        return Vec::new();
    }
    let selector = selector.join(",");
    let query = [("labelSelector", selector.as_str()), ("limit", PODS)];
    let path = format!(
        "/api/v1/namespaces/{}/pods",
        crate::cluster::escape(namespace)
    );
    match cluster.call(Call::new(Verb::Get, path).query(&query)).await {
        Ok(answer) => {
            let pods = answer.body.get("items").and_then(Value::as_array);
            pods.into_iter().flatten().flat_map(held_by).collect()
        }
        Err(_) => Vec::new(),
    }
}

/// The waiting containers of a Pod.
fn held_by(pod: &Value) -> Vec<Held> {
    let name = pod
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let statuses = ["initContainerStatuses", "containerStatuses"]
        .iter()
        .filter_map(|key| pod.get("status")?.get(*key)?.as_array())
        .flatten();
    let text = |value: &Value, path: &str| {
        value
            .pointer(path)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    statuses
        .filter(|status| status.pointer("/state/waiting").is_some())
        .map(|status| {
            let container = text(status, "/name");
            Held {
                pod: name.to_owned(),
                image: image_of(pod.get("spec"), &container).unwrap_or_default(),
                container,
                reason: text(status, "/state/waiting/reason"),
                message: text(status, "/state/waiting/message"),
            }
        })
        .filter(|held| {
            !["", "ContainerCreating", "PodInitializing"].contains(&held.reason.as_str())
        })
        .collect()
}

fn image_of(spec: Option<&Value>, container: &str) -> Option<String> {
    ["initContainers", "containers"]
        .iter()
        .filter_map(|key| spec?.get(*key)?.as_array())
        .flatten()
        .find(|found| found["name"] == container)
        .and_then(|found| Some(found.get("image")?.as_str()?.to_owned()))
}

/// Whether a Pod's container is one of the present template: Pods of an older one don't matter.
fn wants(workload: &Value, held: &Held) -> bool {
    image_of(workload.pointer("/spec/template/spec"), &held.container)
        .is_some_and(|image| image == held.image)
}

#[cfg(test)]
mod tests {
    use super::{held_by, wants};
    use serde_json::json;

    #[test]
    fn a_container_without_its_image_counts_when_the_template_still_wants_it() {
        let pod = json!({"metadata": {"name": "web-1"},
            "spec": {"containers": [{"name": "c", "image": "i:2"}, {"name": "d", "image": "d"}]},
            "status": {"containerStatuses": [
                {"name": "c", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off"}}},
                {"name": "d", "state": {"waiting": {"reason": "ContainerCreating"}}}]}});
        let held = held_by(&pod);
        assert_eq!(held.len(), 1);
        assert_eq!(
            (held[0].reason.as_str(), held[0].image.as_str()),
            ("ImagePullBackOff", "i:2")
        );
        let workload = |image: &str| json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}});
        assert!(wants(&workload("i:2"), &held[0]));
        assert!(!wants(&workload("i:3"), &held[0]));
    }
}
