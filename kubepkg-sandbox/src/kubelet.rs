//! The acting half of scheduler and kubelet: one pretend node that takes every pod.
//!
//! It watches all pods, asks [`fate::next`](crate::fate) what to do with each, and does it, one
//! request per pod at a time. Nothing is remembered that the pods do not say themselves, except
//! when each was first seen bound, for delays.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use futures::TryStreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::runtime::watcher::{self, Event};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::error::{Result, SandboxError};
use crate::fate::{self, Place, Step};
use crate::pods::Rules;

/// Name of the pretend node.
pub const NODE: &str = "sandbox-0";
/// Its address. Endpoints must not be in the loopback range.
pub(crate) const HOST_IP: &str = "10.2.0.1";
/// How often rules and delays are looked at.
const TICK: Duration = Duration::from_millis(25);

/// Namespace and name.
type Key = (String, String);
/// Requests under way: the pod, the version that was acted on, and how it went.
type Actions = JoinSet<(Key, String, std::result::Result<(), kube::Error>)>;

#[derive(Debug)]
struct Entry {
    pod: Pod,
    pod_ip: String,
    first_seen_bound: Option<Instant>,
    in_flight: bool,
    /// The version that was already acted on successfully; a newer one follows.
    acted_on: Option<String>,
}

/// The pretend node.
pub(crate) struct Kubelet {
    client: Client,
    rules_folder: PathBuf,
    rules: Rules,
    /// The rules have changed since all pods were looked at.
    rules_changed: bool,
    labels: BTreeMap<String, String>,
    pods: HashMap<Key, Entry>,
    /// Pods to look at again at the next tick.
    due: BTreeSet<Key>,
    addresses: u32,
}

impl Kubelet {
    /// Creates the node. Pods are played while [`Kubelet::run`] is polled.
    pub(crate) async fn start(client: Client, rules_folder: PathBuf) -> Result<Self> {
        let labels = node_labels();
        create_node(&client, &labels)
            .await
            .map_err(SandboxError::request("create the node"))?;
        Ok(Self {
            client,
            rules_folder,
            rules: Rules::default(),
            rules_changed: false,
            labels,
            pods: HashMap::new(),
            due: BTreeSet::new(),
            addresses: 0,
        })
    }

    /// Plays until the future is dropped.
    pub(crate) async fn run(mut self) {
        let api: Api<Pod> = Api::all(self.client.clone());
        let mut events = std::pin::pin!(watcher::watcher(api, watcher::Config::default()));
        let mut actions = Actions::new();
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                event = events.try_next() => match event {
                    Ok(Some(event)) => self.observe(event, &mut actions),
                    Ok(None) => return,
                    Err(error) => {
                        // The watcher starts again by itself; do not spin meanwhile.
                        tracing::debug!(%error, "pod watch");
                        tokio::time::sleep(TICK).await;
                    }
                },
                Some(done) = actions.join_next() => {
                    if let Ok((key, version, result)) = done {
                        self.settle(&key, version, result, &mut actions);
                    }
                }
                _ = tick.tick() => {
                    self.refresh_rules();
                    let keys: Vec<Key> = if std::mem::take(&mut self.rules_changed) {
                        self.pods.keys().cloned().collect()
                    } else {
                        std::mem::take(&mut self.due).into_iter().collect()
                    };
                    for key in keys {
                        self.look(&key, &mut actions);
                    }
                }
            }
        }
    }

    fn observe(&mut self, event: Event<Pod>, actions: &mut Actions) {
        match event {
            Event::Apply(pod) | Event::InitApply(pod) => {
                let key = (pod.namespace().unwrap_or_default(), pod.name_any());
                if let Some(entry) = self.pods.get_mut(&key) {
                    if entry.pod.metadata.uid != pod.metadata.uid {
                        entry.first_seen_bound = None;
                    }
                    entry.pod = pod;
                } else {
                    let pod_ip = self.next_address();
                    self.pods.insert(
                        key.clone(),
                        Entry {
                            pod,
                            pod_ip,
                            first_seen_bound: None,
                            in_flight: false,
                            acted_on: None,
                        },
                    );
                }
                self.look(&key, actions);
            }
            Event::Delete(pod) => {
                self.pods
                    .remove(&(pod.namespace().unwrap_or_default(), pod.name_any()));
            }
            Event::Init | Event::InitDone => {}
        }
    }

    fn refresh_rules(&mut self) {
        self.rules_changed |= self.rules.refresh(&self.rules_folder);
    }

    /// An unused address in 10.1.0.0/16.
    fn next_address(&mut self) -> String {
        self.addresses = self.addresses % 65_000 + 1;
        format!("10.1.{}.{}", self.addresses / 256, self.addresses % 256)
    }

    /// Decides about one pod and starts what is to be done.
    fn look(&mut self, key: &Key, actions: &mut Actions) {
        // A rule is in force as soon as it is written, so look before every decision.
        self.refresh_rules();
        let Some(entry) = self.pods.get_mut(key) else {
            return;
        };
        let version = entry.pod.resource_version().unwrap_or_default();
        if entry.in_flight || entry.acted_on.as_deref() == Some(version.as_str()) {
            return;
        }
        let is_bound = entry
            .pod
            .spec
            .as_ref()
            .is_some_and(|spec| spec.node_name.is_some());
        if is_bound && entry.first_seen_bound.is_none() {
            entry.first_seen_bound = Some(Instant::now());
        }
        let age = entry
            .first_seen_bound
            .map(|time| time.elapsed())
            .unwrap_or_default();
        let place = Place {
            node: NODE,
            host_ip: HOST_IP,
            pod_ip: entry.pod_ip.clone(),
            labels: self.labels.clone(),
        };
        let plan = self.rules.plan(&entry.pod);
        match fate::next(&entry.pod, plan, &place, age, Timestamp::now()) {
            Step::Nothing => {}
            Step::Wait => {
                self.due.insert(key.clone());
            }
            step => {
                entry.in_flight = true;
                let client = self.client.clone();
                let uid = entry.pod.metadata.uid.clone();
                let key = key.clone();
                actions.spawn(async move {
                    let result = act(client, &key, uid, step, &place).await;
                    (key, version, result)
                });
            }
        }
    }

    fn settle(
        &mut self,
        key: &Key,
        version: String,
        result: std::result::Result<(), kube::Error>,
        actions: &mut Actions,
    ) {
        let Some(entry) = self.pods.get_mut(key) else {
            return;
        };
        entry.in_flight = false;
        match result {
            Ok(()) => {
                entry.acted_on = Some(version);
                self.look(key, actions);
            }
            Err(error) => {
                tracing::debug!(%error, namespace = key.0, pod = key.1, "pod step");
                self.due.insert(key.clone());
            }
        }
    }
}

/// Does one step.
async fn act(
    client: Client,
    (namespace, name): &Key,
    uid: Option<String>,
    step: Step,
    place: &Place,
) -> std::result::Result<(), kube::Error> {
    let api: Api<Pod> = Api::namespaced(client, namespace);
    match step {
        Step::Nothing | Step::Wait => {}
        Step::Delete => {
            let parameters = DeleteParams {
                grace_period_seconds: Some(0),
                preconditions: Some(Preconditions {
                    uid,
                    resource_version: None,
                }),
                ..DeleteParams::default()
            };
            api.delete(name, &parameters).await?;
        }
        Step::Bind => {
            let binding = json!({
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": {"name": name, "uid": uid},
                "target": {"apiVersion": "v1", "kind": "Node", "name": place.node},
            });
            let parameters = PostParams::default();
            let _: Value = api
                .create_subresource("binding", name, &parameters, &binding)
                .await?;
        }
        Step::Status(patch) => {
            api.patch_status(name, &PatchParams::default(), &Patch::Merge(&patch))
                .await?;
        }
    }
    Ok(())
}

/// Creates the node and reports it ready.
async fn create_node(
    client: &Client,
    labels: &BTreeMap<String, String>,
) -> std::result::Result<(), kube::Error> {
    let api: Api<Node> = Api::all(client.clone());
    let node: Node = serde_json::from_value(json!({"metadata": {"name": NODE, "labels": labels}}))
        .map_err(kube::Error::SerdeError)?;
    api.create(&PostParams::default(), &node).await?;
    let status = json!({"status": node_status(Timestamp::now())});
    api.patch_status(NODE, &PatchParams::default(), &Patch::Merge(&status))
        .await?;
    Ok(())
}

/// The labels of the pretend node.
pub(crate) fn node_labels() -> BTreeMap<String, String> {
    BTreeMap::from([
        ("kubernetes.io/hostname".to_owned(), NODE.to_owned()),
        ("kubernetes.io/os".to_owned(), "linux".to_owned()),
        ("kubernetes.io/arch".to_owned(), "amd64".to_owned()),
    ])
}

/// What the pretend node says of itself.
pub(crate) fn node_status(now: Timestamp) -> Value {
    let time = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let room = json!({"cpu": "1k", "memory": "1Ti", "pods": "1M"});
    json!({
        "capacity": room,
        "allocatable": room,
        "addresses": [
            {"type": "InternalIP", "address": HOST_IP},
            {"type": "Hostname", "address": NODE},
        ],
        "conditions": [{
            "type": "Ready", "status": "True", "reason": "KubeletReady",
            "message": "pretend kubelet", "lastHeartbeatTime": time, "lastTransitionTime": time,
        }],
    })
}
