//! Workloads by rules: Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs, claims, Pods,
//! budgets for their disruption and the addresses of Services, on the time of the world.
//!
//! Pods have the fates of [`crate::fate`], as on the real control plane with its pretend node: the
//! same annotations decide. Controllers do what those of Kubernetes do as far as clients see it:
//! who owns what, how many there are, and what the status says.

mod budgets;
mod crons;
mod daemons;
mod deployments;
mod endpoints;
mod events;
mod jobs;
mod pod_events;
mod pods;
mod replicas;
mod revisions;
mod slices;
mod stateful;
mod volumes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use self::events::{About, Said};
use super::alarms::Subject;
use super::encode;
use super::failure::Failure;
use super::object;
use super::players::Player;
use super::store::{Event, Key};
use super::world::World;
use super::write::Writer;

pub(crate) use pods::Kubelet;

/// The name that controllers write under.
const MANAGER: &str = "kube-controller-manager";

/// Does the next thing with an object.
type Controller = fn(&mut World, &Arc<Value>, Timestamp);

/// What a controller looks at: a table and the controller itself.
const CONTROLLERS: [(&str, Controller); 11] = [
    ("deployments.apps", deployments::settle),
    ("replicasets.apps", replicas::settle),
    ("statefulsets.apps", stateful::settle),
    ("daemonsets.apps", daemons::settle),
    ("jobs.batch", jobs::settle),
    ("cronjobs.batch", crons::settle),
    ("persistentvolumeclaims", volumes::settle),
    ("persistentvolumes", volumes::settle_volume),
    ("pods", pods::settle),
    ("poddisruptionbudgets.policy", budgets::settle),
    ("services", endpoints::settle),
];

/// Whether an object selects a pod.
type Selects = fn(&Value, &Value) -> bool;

/// Tables whose objects select pods, which are news for them.
const SELECTORS: [(&str, Selects); 2] = [
    ("poddisruptionbudgets.policy", budgets::selects),
    ("services", endpoints::selects),
];

/// Takes one step with everything that the news concern, and with pods whose time has come.
pub(crate) fn settle(world: &mut World, news: &[Event], now: Timestamp) {
    if !world.plays && world.players.is_empty() {
        return;
    }
    let mut concerned: BTreeSet<Subject> = BTreeSet::new();
    for event in news {
        let table = &event.table;
        concerned.insert((Arc::clone(table), event.key.clone()));
        if &**table == "pods" {
            for (table, selects) in SELECTORS {
                selecting(world, event, table, selects, &mut concerned);
            }
        }
        endpoints::concern(world, event, &mut concerned);
        for seen in [Some(&event.object), event.before.as_ref()]
            .into_iter()
            .flatten()
        {
            for owner in object::owners(seen) {
                if let Some((table, key, _)) = world.store.by_uid(object::text(owner, "uid")) {
                    concerned.insert((Arc::clone(table), key.clone()));
                }
            }
        }
    }
    concerned.extend(world.alarms.take_due(now));
    let own: &[_] = if world.plays { &CONTROLLERS } else { &[] };
    for (table, controller) in own {
        for subject in concerned.iter().filter(|(name, _)| &**name == *table) {
            let (_, key) = subject;
            let found = world.store.get(table, &key.0, &key.1).map(Arc::clone);
            if let Some(found) = found {
                controller(world, &found, now);
                after_refusal(world, subject, now);
            }
        }
    }
    for subject in &concerned {
        let (table, key) = subject;
        if let Some(player) = world.players.of(table) {
            play(world, table, key, &player, now);
            after_refusal(world, subject, now);
        }
    }
}

/// What controllers were refused: they look again, and wait twice as long each time, as those of Kubernetes do.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refused {
    /// Whether the controller that runs was refused something.
    now: bool,
    /// How often that happened, by what it looked at.
    times: BTreeMap<Subject, u32>,
}

impl Refused {
    fn note(&mut self) {
        self.now = true;
    }

    /// How long a controller waits that has looked at this object; none where it got what it wanted.
    fn wait(&mut self, subject: &Subject) -> Option<SignedDuration> {
        if !std::mem::take(&mut self.now) {
            self.times.remove(subject);
            return None;
        }
        let times = self.times.entry(subject.clone()).or_default();
        let seconds = 1_i64 << (*times).min(10);
        *times += 1;
        Some(SignedDuration::from_secs(seconds.min(1000)))
    }
}

/// Has the controller of an object look again later, if it was refused something.
fn after_refusal(world: &mut World, subject: &Subject, now: Timestamp) {
    if let Some(wait) = world.refused.wait(subject) {
        let at = now.saturating_add(wait).unwrap_or(now);
        world.alarms.set(subject.clone(), at);
    }
}

/// Lets the controller of a test look at an object, as clients see it.
fn play(world: &mut World, table: &str, (namespace, name): &Key, player: &Player, now: Timestamp) {
    let found = world.store.get(table, namespace, name).map(Arc::clone);
    let kind = world.registry.of_table(table).map(Arc::clone);
    let (Some(found), Some(kind)) = (found, kind) else {
        return;
    };
    let wish = player(&encode::with_type(&kind, &found), now);
    if let Some(status) = wish.status {
        write_status(world, table, &found, status, now);
    }
    if let Some(after) = wish.look_again {
        world.wake(table, &found, now.saturating_add(after).unwrap_or(now));
    }
}

/// The objects of a table that select a pod, or did before.
fn selecting(
    world: &World,
    event: &Event,
    table: &str,
    selects: Selects,
    concerned: &mut BTreeSet<Subject>,
) {
    let seen = [Some(&event.object), event.before.as_ref()];
    for (key, object) in world.store.list(table, &event.key.0, None) {
        if seen.iter().flatten().any(|pod| selects(object, pod)) {
            concerned.insert((table.into(), key.clone()));
        }
    }
}

/// Has every controller look at every object, and the kubelet remember its pods.
pub(crate) fn recall(world: &mut World, now: Timestamp) {
    for (table, _) in CONTROLLERS {
        let objects = world.store.list(table, "", None);
        let all: Vec<Arc<Value>> = objects.map(|(_, object)| Arc::clone(object)).collect();
        for object in all {
            if table == "pods" {
                world.kubelet.recall(&object, now);
            }
            world.wake(table, &object, now);
        }
    }
}

/// The objects of a table that an object controls, those that are going left out.
fn controlled(world: &World, owner: &Value, table: &str) -> Vec<Arc<Value>> {
    let uid = object::uid(owner);
    let mut all: Vec<Arc<Value>> = world
        .store
        .dependents(uid)
        .into_iter()
        .filter_map(|dependent| {
            let (found, _, value) = world.store.by_uid(&dependent)?;
            let mine = &**found == table
                && object::controller(value).is_some_and(|owner| owner["uid"] == uid);
            mine.then(|| Arc::clone(value))
        })
        .collect();
    all.sort_by(|a, b| object::name(a).cmp(object::name(b)));
    all
}

/// An owner reference that controls.
fn reference(api_version: &str, kind: &str, owner: &Value) -> Value {
    json!([{
        "apiVersion": api_version, "kind": kind, "name": object::name(owner),
        "uid": object::uid(owner), "controller": true, "blockOwnerDeletion": true,
    }])
}

/// A pod of a template.
fn pod_of(template: &Value, name: &Value, owners: Value) -> Value {
    let mut metadata = json!({});
    for field in ["labels", "annotations", "finalizers"] {
        if let Some(value) = template["metadata"].get(field) {
            metadata[field] = value.clone();
        }
    }
    if let Some(fields) = name.as_object() {
        for (field, value) in fields {
            metadata[field] = value.clone();
        }
    }
    metadata["ownerReferences"] = owners;
    json!({"metadata": metadata, "spec": template["spec"]})
}

/// Creates an object.
fn create(
    world: &mut World,
    table: &str,
    namespace: &str,
    mut object: Value,
    now: Timestamp,
) -> Result<Arc<Value>, Failure> {
    let Some(kind) = world.registry.of_table(table).map(Arc::clone) else {
        return Err(Failure::no_resource());
    };
    super::fields::complete(&kind, &mut object);
    let mut writer = Writer::internal(MANAGER, "", now);
    let made = world.commit_new(&kind, namespace, object, &mut writer);
    if let Err(failure) = &made {
        world.refused.note();
        tracing::debug!(%failure, table, "a controller was refused");
    }
    made
}

/// Whose pods a controller makes.
#[derive(Clone, Copy)]
struct Maker<'a> {
    api_version: &'a str,
    kind: &'a str,
    /// Who says what is done.
    component: &'a str,
    owner: &'a Value,
}

impl Maker<'_> {
    /// Tells what was done.
    fn say(&self, world: &mut World, warning: bool, reason: &str, message: &str, now: Timestamp) {
        let about = About {
            api_version: self.api_version,
            kind: self.kind,
            object: self.owner,
            part: "",
        };
        let said = Said {
            from: (self.component, ""),
            warning,
            reason,
            message,
        };
        events::record(world, &about, &said, now);
    }

    /// Creates a pod and tells it; `false` when it is refused.
    fn make_pod(&self, world: &mut World, pod: Value, now: Timestamp) -> bool {
        match create(world, "pods", object::namespace(self.owner), pod, now) {
            Ok(pod) => {
                let message = format!("Created pod: {}", object::name(&pod));
                self.say(world, false, "SuccessfulCreate", &message, now);
                true
            }
            Err(failure) => {
                let message = format!("Error creating: {failure}");
                self.say(world, true, "FailedCreate", &message, now);
                false
            }
        }
    }

    /// Deletes a pod and tells it.
    fn delete_pod(&self, world: &mut World, pod: &Arc<Value>, now: Timestamp) {
        if object::terminating(pod) {
            return;
        }
        delete(world, "pods", pod, now);
        let message = format!("Deleted pod: {}", object::name(pod));
        self.say(world, false, "SuccessfulDelete", &message, now);
    }
}

/// Writes an object or, with `status`, its status; `false` when it is another one by now, or refused.
fn write(
    world: &mut World,
    table: &str,
    old: &Arc<Value>,
    mut new: Value,
    subresource: &str,
    now: Timestamp,
) -> bool {
    let Some(kind) = world.registry.of_table(table).map(Arc::clone) else {
        return false;
    };
    // Somebody may have been faster within the same round: then the next one looks again.
    let mut writer = Writer::internal(MANAGER, subresource, now);
    let current = world
        .store
        .get(table, object::namespace(old), object::name(old));
    let Some(current) = current.map(Arc::clone) else {
        return false;
    };
    if object::meta(&current, "resourceVersion") != object::meta(old, "resourceVersion") {
        return false;
    }
    super::fields::complete(&kind, &mut new);
    let written = world.commit_change(&kind, &current, new, &mut writer);
    if let Err(failure) = &written {
        world.refused.note();
        tracing::debug!(%failure, table, "a controller was refused");
    }
    written.is_ok()
}

/// Writes a status when it is another one.
fn write_status(world: &mut World, table: &str, old: &Arc<Value>, status: Value, now: Timestamp) {
    if old["status"] == status {
        return;
    }
    let mut new = Value::clone(old);
    new["status"] = status;
    write(world, table, old, new, "status", now);
}

/// Deletes an object with the default policy.
fn delete(world: &mut World, table: &str, object: &Arc<Value>, now: Timestamp) {
    if object::terminating(object) {
        return;
    }
    if let Some(kind) = world.registry.of_table(table).map(Arc::clone) {
        let options = super::delete::Options::default();
        world.begin_delete(&kind, object, &options, now);
    }
}

/// Whether a pod is ready.
fn is_ready(pod: &Value) -> bool {
    super::crds::condition(pod, "Ready") == Some(true)
}

/// A number, or a share of all: rounded up or down.
fn share(value: &Value, of: i64, up: bool) -> i64 {
    let Some(text) = value.as_str() else {
        return number(value);
    };
    let percent: i64 = text.trim_end_matches('%').parse().unwrap_or(0);
    let product = percent.saturating_mul(of);
    product.saturating_add(if up { 99 } else { 0 }) / 100
}

/// A number, zero when it is not there.
fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0)
}

/// A short hash of a template, in the form of Kubernetes: a number of 32 bits in the letters of its
/// `SafeEncodeString`. Its value is not that of Kubernetes, whose hash follows Go's memory.
fn hash(template: &Value) -> String {
    use sha2::{Digest as _, Sha256};
    const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    let digest = Sha256::digest(template.to_string());
    let first = digest.iter().take(4);
    let number = first.fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
    let digits = number.to_string();
    let letters = digits
        .bytes()
        .filter_map(|digit| LETTERS.get(usize::from(digit) % LETTERS.len()));
    letters.map(|letter| char::from(*letter)).collect()
}

/// A condition; its time stays while its status does.
fn condition(
    old: &Value,
    kind: &str,
    (status, reason, message): (bool, &str, &str),
    now: Timestamp,
) -> Value {
    let status = if status { "True" } else { "False" };
    let before = object::list(&old["status"]["conditions"]).find(|one| one["type"] == kind);
    let time = object::time(now);
    let transition = before
        .filter(|one| one["status"] == status)
        .map_or(json!(time), |one| one["lastTransitionTime"].clone());
    let update = before
        .filter(|one| {
            one["status"] == status && one["reason"] == reason && one["message"] == message
        })
        .map_or(json!(time), |one| one["lastUpdateTime"].clone());
    json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastUpdateTime": update, "lastTransitionTime": transition,
    })
}
