//! Events: what the controllers, the scheduler and the kubelet tell people of what they do, in the words of
//! Kubernetes, for `kubectl describe` and `kubectl get events`.
//!
//! The same words of the same object are one event with a count. Events live for an hour, as on a real cluster.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::MANAGER;
use crate::api::managed;
use crate::api::object;
use crate::api::world::World;

const TABLE: &str = "events";
/// How long an event stays.
const LIFE: SignedDuration = SignedDuration::from_hours(1);
/// How often old ones are looked for.
const SWEEP: SignedDuration = SignedDuration::from_mins(10);

/// Whom an event is about: what an owner reference says, and a part of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct About<'a> {
    pub(super) api_version: &'a str,
    pub(super) kind: &'a str,
    pub(super) object: &'a Value,
    /// Path of a part, such as a container.
    pub(super) part: &'a str,
}

/// What is said.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said<'a> {
    /// Who says it, and on which node.
    pub(super) from: (&'a str, &'a str),
    pub(super) warning: bool,
    pub(super) reason: &'a str,
    pub(super) message: &'a str,
}

/// Writes an event.
pub(super) fn record(world: &mut World, about: &About<'_>, said: &Said<'_>, now: Timestamp) {
    sweep(world, now);
    let namespace = match object::namespace(about.object) {
        "" => "default",
        namespace => namespace,
    };
    // Nothing is written into a namespace that is going.
    let home = world.store.get("namespaces", "", namespace);
    if home.is_none_or(|home| object::terminating(home)) {
        return;
    }
    let table: Arc<str> = TABLE.into();
    let time = object::time(now);
    if let Some(known) = known(world, namespace, about, said) {
        let mut event = Value::clone(&known);
        event["count"] = (event["count"].as_i64().unwrap_or(0) + 1).into();
        event["lastTimestamp"] = time.clone().into();
        if let Some(entry) = event.pointer_mut("/metadata/managedFields/0") {
            entry["time"] = time.into();
        }
        world.store.put(&table, event);
        return;
    }
    let (name, uid) = identity(world, namespace, about, now);
    let (component, host) = said.from;
    let mut event = json!({
        "metadata": {
            "name": name, "namespace": namespace, "uid": uid, "creationTimestamp": time,
        },
        "involvedObject": {
            "apiVersion": about.api_version, "kind": about.kind,
            "name": object::name(about.object), "uid": object::uid(about.object),
            "resourceVersion": object::meta(about.object, "resourceVersion"),
        },
        "type": if said.warning { "Warning" } else { "Normal" },
        "reason": said.reason, "message": said.message,
        "source": {"component": component},
        "firstTimestamp": time, "lastTimestamp": time, "count": 1, "eventTime": null,
        "reportingComponent": component, "reportingInstance": host,
    });
    let managed = managed(said.from, now);
    object::set(&mut event, "managedFields", managed);
    if !host.is_empty() {
        event["source"]["host"] = host.into();
    }
    if !about.part.is_empty() {
        event["involvedObject"]["fieldPath"] = about.part.into();
    }
    if !object::namespace(about.object).is_empty() {
        event["involvedObject"]["namespace"] = namespace.into();
    }
    world.store.put(&table, event);
}

/// Who wrote an event, as client-go's recorder leaves it.
fn managed((component, host): (&str, &str), now: Timestamp) -> Value {
    let manager = match component {
        "kubelet" => "kubelet",
        "default-scheduler" => "kube-scheduler",
        _ => MANAGER,
    };
    let mut fields = json!({
        "f:count": {}, "f:firstTimestamp": {}, "f:involvedObject": {}, "f:lastTimestamp": {},
        "f:message": {}, "f:reason": {}, "f:reportingComponent": {},
        "f:source": {"f:component": {}}, "f:type": {},
    });
    if !host.is_empty() {
        fields["f:source"]["f:host"] = json!({});
        fields["f:reportingInstance"] = json!({});
    }
    managed::written_by(manager, "v1", fields, now)
}

/// The event that says the same already.
fn known(world: &World, namespace: &str, about: &About<'_>, said: &Said<'_>) -> Option<Arc<Value>> {
    let prefix = format!("{}.", object::name(about.object));
    let before = (namespace.to_owned(), prefix.clone());
    let named = world.store.list(TABLE, namespace, Some(&before));
    let mut named = named.take_while(|(key, _)| key.1.starts_with(&prefix));
    let same = |event: &Value| {
        let target = &event["involvedObject"];
        target["uid"] == object::uid(about.object)
            && object::text(target, "fieldPath") == about.part
            && event["reason"] == said.reason
            && event["message"] == said.message
            && event["source"]["component"] == said.from.0
    };
    named
        .find(|(_, event)| same(event))
        .map(|(_, event)| Arc::clone(event))
}

/// A name after the time, as client-go gives it, and a UID that follows from it: events take nothing from what the
/// server invents for others.
fn identity(world: &World, namespace: &str, about: &About<'_>, now: Timestamp) -> (String, String) {
    let mut moment = now.as_nanosecond();
    let name = loop {
        let name = format!("{}.{moment:x}", object::name(about.object));
        if world.store.get(TABLE, namespace, &name).is_none() {
            break name;
        }
        moment += 1;
    };
    let uid = uid_of(&[namespace, &name]);
    (name, uid)
}

/// A UID that follows from words: what the server writes by itself takes nothing from what it invents for others.
pub(super) fn uid_of(words: &[&str]) -> String {
    let mut digest = Sha256::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            digest.update([0]);
        }
        digest.update(word);
    }
    let words: Vec<String> = digest
        .finalize()
        .chunks(8)
        .map(|bytes| {
            let number = bytes
                .iter()
                .fold(0, |number: u64, byte| (number << 8) | u64::from(*byte));
            format!("{number:016x}")
        })
        .collect();
    let digits = words.concat();
    format!(
        "{}-{}-4{}-8{}-{}",
        &digits[..8],
        &digits[8..12],
        &digits[12..15],
        &digits[15..18],
        &digits[18..30]
    )
}

/// Takes away what is older than an hour.
fn sweep(world: &mut World, now: Timestamp) {
    let due = world
        .swept
        .is_none_or(|swept| now.duration_since(swept) >= SWEEP);
    if !due {
        return;
    }
    world.swept = Some(now);
    let old: Vec<_> = world
        .store
        .list(TABLE, "", None)
        .filter(|(_, event)| {
            let last = ["lastTimestamp", "eventTime"].map(|field| &event[field]);
            let times = last
                .into_iter()
                .chain([&event["metadata"]["creationTimestamp"]]);
            let last = times.filter_map(object::parse_time).max();
            last.is_some_and(|last| now.duration_since(last) > LIFE)
        })
        .map(|(key, _)| key.clone())
        .collect();
    for key in old {
        world.store.remove(&TABLE.into(), &key);
    }
}
