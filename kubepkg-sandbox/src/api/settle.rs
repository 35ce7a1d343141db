//! The controllers that every cluster has, as steps that are taken until there is nothing to do:
//! namespaces, garbage collection, definitions, and the workloads.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::bootstrap;
use super::crds;
use super::delete::{Options, Policy};
use super::managed;
use super::object;
use super::store::{Change, Event};
use super::world::World;
use super::write::Writer;

/// Rounds after which something must be wrong.
const ROUNDS: usize = 1000;

/// Takes steps until nothing is left to do.
pub(crate) fn settle(world: &mut World, now: Timestamp) {
    for _ in 0..ROUNDS {
        let before = world.store.version();
        if before == world.settled && world.due().is_none_or(|due| due > now) {
            return;
        }
        let news = news(world);
        world.settled = before;
        namespaces(world, &news, now);
        if crds::concern(world, &news) {
            crds::settle(world, now);
        }
        collect(world, &news, now);
        super::workloads::settle(world, &news, now);
        if world.store.version() == before && world.due().is_none_or(|due| due > now) {
            return;
        }
    }
    tracing::warn!("the controllers of the sandbox find no end");
}

/// What happened since the controllers last looked.
fn news(world: &World) -> Vec<Event> {
    world.store.all_since(world.settled)
}

fn namespaces(world: &mut World, news: &[Event], now: Timestamp) {
    let all: Vec<Arc<Value>> = world
        .store
        .list("namespaces", "", None)
        .map(|(_, namespace)| Arc::clone(namespace))
        .collect();
    let _ = news;
    for namespace in all {
        let name = object::name(&namespace).to_owned();
        if object::terminating(&namespace) {
            empty(world, &namespace, now);
            continue;
        }
        if world
            .store
            .get("serviceaccounts", &name, "default")
            .is_none()
        {
            let account = json!({"metadata": {"name": "default"}});
            bootstrap::make(world, ("", "v1", "serviceaccounts"), &name, account, now);
        }
        if world
            .store
            .get("configmaps", &name, "kube-root-ca.crt")
            .is_none()
        {
            let certificate = json!({
                "metadata": {"name": "kube-root-ca.crt", "annotations": {
                    "kubernetes.io/description":
                        "Contains a CA bundle that can be used to verify the kube-apiserver when using internal \
                         endpoints such as the internal service IP or kubernetes.default.svc. No other usage is \
                         guaranteed across distributions of Kubernetes clusters.",
                }},
                "data": {"ca.crt": world.certificate.clone()},
            });
            let fields = json!({
                "f:data": {".": {}, "f:ca.crt": {}},
                "f:metadata": {"f:annotations": {".": {}, "f:kubernetes.io/description": {}}},
            });
            let managed = managed::written_by("kube-controller-manager", "v1", fields, now);
            let kind = ("", "v1", "configmaps");
            bootstrap::make_managed(world, kind, &name, (certificate, managed), now);
        }
    }
}

/// Empties a namespace that is going, then lets it go.
fn empty(world: &mut World, namespace: &Arc<Value>, now: Timestamp) {
    let name = object::name(namespace).to_owned();
    let mut left = 0;
    for table in world.store.tables() {
        let namespaced = world
            .registry
            .of_table(&table)
            .is_some_and(|kind| kind.namespaced);
        if namespaced {
            left += clear(world, &table, &name, now);
        }
    }
    if left > 0
        || object::list(&namespace["spec"]["finalizers"])
            .next()
            .is_none()
    {
        return;
    }
    let Some(kind) = world.registry.of_table("namespaces").map(Arc::clone) else {
        return;
    };
    let mut new = Value::clone(namespace);
    new["spec"] = json!({});
    let mut writer = Writer::internal("kube-controller-manager", "finalize", now);
    if let Err(failure) = world.commit_change(&kind, namespace, new, &mut writer) {
        tracing::debug!(%failure, "a namespace could not be finalized");
    }
}

/// Deletes everything of a table in a namespace (in all when it is empty) and says how much is
/// left.
pub(crate) fn clear(world: &mut World, table: &Arc<str>, namespace: &str, now: Timestamp) -> usize {
    let Some(kind) = world.registry.of_table(table).map(Arc::clone) else {
        return 0;
    };
    let all: Vec<Arc<Value>> = world
        .store
        .list(table, namespace, None)
        .map(|(_, object)| Arc::clone(object))
        .collect();
    for object in all {
        if !object::terminating(&object) {
            world.begin_delete(&kind, &object, &Options::default(), now);
        }
    }
    world.store.list(table, namespace, None).count()
}

/// Garbage collection: dependents of what is gone, and of what waits for them.
fn collect(world: &mut World, news: &[Event], now: Timestamp) {
    let mut suspects: BTreeSet<String> = BTreeSet::new();
    for event in news {
        let uid = object::uid(&event.object).to_owned();
        if event.change == Change::Deleted {
            suspects.extend(world.store.dependents(&uid));
        } else {
            let finalizers = object::finalizers(&event.object);
            if object::terminating(&event.object) {
                if finalizers.iter().any(|one| one == "orphan") {
                    orphan(world, &uid, now);
                } else if finalizers.iter().any(|one| one == "foregroundDeletion") {
                    suspects.extend(world.store.dependents(&uid));
                    suspects.insert(uid);
                    continue;
                }
            }
            suspects.insert(uid);
        }
        for owner in object::owners(&event.object) {
            suspects.insert(object::text(owner, "uid").to_owned());
        }
    }
    for uid in suspects {
        attend(world, &uid, now);
    }
}

/// Looks whether an object has lost its owners, or its last dependent.
fn attend(world: &mut World, uid: &str, now: Timestamp) {
    let Some((table, _, found)) = world.store.by_uid(uid) else {
        return;
    };
    let (table, found) = (Arc::clone(table), Arc::clone(found));
    let Some(kind) = world.registry.of_table(&table).map(Arc::clone) else {
        return;
    };
    let waits = object::finalizers(&found)
        .iter()
        .any(|one| one == "foregroundDeletion");
    if object::terminating(&found) && waits {
        let blocking = world.store.dependents(uid).into_iter().any(|dependent| {
            world
                .store
                .by_uid(&dependent)
                .is_some_and(|(_, _, object)| {
                    object::owners(object)
                        .any(|owner| owner["uid"] == uid && owner["blockOwnerDeletion"] == true)
                })
        });
        if !blocking {
            drop_finalizer(world, &table, &found, "foregroundDeletion", now);
        }
        return;
    }
    if object::terminating(&found) {
        return;
    }
    let mut owners = object::owners(&found).peekable();
    if owners.peek().is_none() {
        return;
    }
    let (mut solid, mut waiting) = (0, 0);
    for owner in owners {
        match world.store.by_uid(object::text(owner, "uid")) {
            None => {}
            Some((_, key, object)) => {
                // An owner in another namespace is no owner.
                let elsewhere = !key.0.is_empty() && key.0 != object::namespace(&found);
                let going = object::terminating(object)
                    && object::finalizers(object)
                        .iter()
                        .any(|one| one == "foregroundDeletion");
                match (elsewhere, going) {
                    (true, _) => {}
                    (false, true) => waiting += 1,
                    (false, false) => solid += 1,
                }
            }
        }
    }
    if solid > 0 {
        return;
    }
    let policy = if waiting > 0 && !world.store.dependents(uid).is_empty() {
        Policy::Foreground
    } else {
        Policy::Background
    };
    let options = Options {
        policy: Some(policy),
        ..Options::default()
    };
    world.begin_delete(&kind, &found, &options, now);
}

/// Takes the owner out of its dependents, then lets it go.
fn orphan(world: &mut World, uid: &str, now: Timestamp) {
    for dependent in world.store.dependents(uid) {
        let Some((table, _, found)) = world.store.by_uid(&dependent) else {
            continue;
        };
        let (table, found) = (Arc::clone(table), Arc::clone(found));
        let mut new = Value::clone(&found);
        let owners: Vec<Value> = object::owners(&new)
            .filter(|owner| owner["uid"] != uid)
            .cloned()
            .collect();
        if owners.is_empty() {
            object::unset(&mut new, "ownerReferences");
        } else {
            object::set(&mut new, "ownerReferences", owners);
        }
        commit(world, &table, &found, new, now);
    }
    if let Some((table, _, found)) = world.store.by_uid(uid) {
        let (table, found) = (Arc::clone(table), Arc::clone(found));
        drop_finalizer(world, &table, &found, "orphan", now);
    }
}

fn drop_finalizer(
    world: &mut World,
    table: &Arc<str>,
    found: &Arc<Value>,
    finalizer: &str,
    now: Timestamp,
) {
    let mut new = Value::clone(found);
    let mut finalizers = object::finalizers(&new);
    finalizers.retain(|one| one != finalizer);
    object::set_finalizers(&mut new, finalizers);
    commit(world, table, found, new, now);
}

fn commit(world: &mut World, table: &Arc<str>, old: &Arc<Value>, new: Value, now: Timestamp) {
    let Some(kind) = world.registry.of_table(table).map(Arc::clone) else {
        return;
    };
    let mut writer = Writer::internal("kube-controller-manager", "", now);
    if let Err(failure) = world.commit_change(&kind, old, new, &mut writer) {
        tracing::debug!(%failure, "the garbage collector was refused");
    }
}
