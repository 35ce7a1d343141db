//! Objects followed by watches, so that whoever waits for them learns of a change at once and asks nothing in
//! between. One watch a collection, from the version at which its objects were last seen, with a selector: the
//! name of the only object, or the label that all objects of releases bear. A state never goes back behind the
//! one that is known, and a watch that ends for good (forbidden, too old, broken) takes its states with it, so
//! that the objects are read again. Nothing here outlives its owner; watches are ended when it is dropped.
//! Source of the rules: Kubernetes API concepts, "Efficient detection of changes".

use super::Cluster;
use super::http::{ApiError, escape};
use crate::guard::{MANAGED_BY, MANAGED_BY_LABEL};
use futures::{Stream, TryStreamExt as _};
use kube::core::WatchEvent;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// The server ends a watch after this time, and it is begun again.
const SECONDS: u32 = 290;

/// After this time all objects are read again, whatever the watches say: a connection may be dead.
const TRUSTED: Duration = Duration::from_mins(1);

/// How often in a row a watch is begun again before the objects are read instead.
const TRIES: u32 = 3;

/// An object to be followed, as it was last seen.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) path: String,
    pub(crate) collection: String,
    pub(crate) name: String,
    pub(crate) live: Value,
}

/// What is known of a followed object.
#[derive(Clone, Debug)]
pub(crate) enum Seen {
    /// Its last state.
    There(Value),
    /// Its last state before it was removed, or lost the label by which it is followed.
    Lost(Value),
}

#[derive(Debug, Default)]
struct Shared {
    states: Mutex<BTreeMap<String, Seen>>,
    changed: Notify,
}

impl Shared {
    fn with<T>(&self, act: impl FnOnce(&mut BTreeMap<String, Seen>) -> T) -> T {
        act(&mut self.states.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Objects under watch.
#[derive(Debug)]
pub(crate) struct Following {
    shared: Arc<Shared>,
    tasks: Vec<JoinHandle<()>>,
    begun: Instant,
}

impl Drop for Following {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl Following {
    /// What is known of an object; none when it has to be read.
    pub(crate) fn state(&self, path: &str) -> Option<Seen> {
        if self.begun.elapsed() > TRUSTED {
            return None;
        }
        self.shared.with(|states| states.get(path).cloned())
    }

    /// True when the watches were begun too long ago to be believed.
    pub(crate) fn is_old(&self) -> bool {
        self.begun.elapsed() > TRUSTED
    }

    /// Tells when something has changed.
    pub(crate) fn changes(&self) -> Changes {
        Changes(Arc::clone(&self.shared))
    }
}

/// Tells when something that is awaited has changed. It can be kept and awaited apart from the operation, for
/// instance to wake a controller.
#[derive(Clone, Debug)]
pub struct Changes(Arc<Shared>);

impl Changes {
    /// Returns when something has changed since the last call. It may never return: give it a time limit.
    pub async fn next(&self) {
        self.0.changed.notified().await;
    }
}

/// Objects of one collection that share a watch.
struct Group {
    collection: String,
    selector: (&'static str, String),
    /// Paths by name.
    names: BTreeMap<String, String>,
    version: String,
}

impl Cluster {
    /// Follows objects. `labelled` when all of them bear Helm's label.
    pub(crate) fn follow(self: &Arc<Self>, subjects: &[Subject], labelled: bool) -> Following {
        let shared = Arc::new(Shared::default());
        let mut tasks = Vec::new();
        for group in groups(subjects, labelled) {
            // Without a slot the objects of the group are read at every look.
            let Ok(slot) = Arc::clone(&self.watches).try_acquire_owned() else {
                continue;
            };
            shared.with(|states| {
                for subject in subjects {
                    if group.names.get(&subject.name) == Some(&subject.path) {
                        states.insert(subject.path.clone(), Seen::There(subject.live.clone()));
                    }
                }
            });
            let pump = pump(Arc::clone(self), group, Arc::clone(&shared), slot);
            tasks.push(tokio::spawn(pump));
        }
        Following {
            shared,
            tasks,
            begun: Instant::now(),
        }
    }

    /// The events of a collection after a version.
    pub(super) async fn watch(
        &self,
        collection: &str,
        selector: (&str, &str),
        version: &str,
        seconds: u32,
    ) -> Result<impl Stream<Item = kube::Result<WatchEvent<Value>>> + use<>, kube::Error> {
        let uri = format!(
            "{collection}?watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}&resourceVersion={}&{}={}",
            escape(version),
            selector.0,
            escape(selector.1),
        );
        let mut request = ::http::Request::get(uri);
        if let Some(agent) = &self.user_agent {
            request = request.header(::http::header::USER_AGENT, agent.clone());
        }
        let request = request.body(Vec::new()).map_err(kube::Error::HttpError)?;
        self.client.request_events::<Value>(request).await
    }
}

fn groups(subjects: &[Subject], labelled: bool) -> Vec<Group> {
    let mut collections: BTreeMap<&str, Vec<&Subject>> = BTreeMap::new();
    for subject in subjects {
        collections
            .entry(&subject.collection)
            .or_default()
            .push(subject);
    }
    let mut groups = Vec::new();
    for (collection, subjects) in collections {
        let parts: Vec<Vec<&Subject>> = if labelled {
            vec![subjects]
        } else {
            subjects.into_iter().map(|subject| vec![subject]).collect()
        };
        for part in parts {
            // The oldest version, so that no change of any object is missed.
            let Some(version) = part.iter().filter_map(|one| version_of(&one.live)).min() else {
                continue;
            };
            let selector = match part.as_slice() {
                [one] => ("fieldSelector", format!("metadata.name={}", one.name)),
                _ => ("labelSelector", format!("{MANAGED_BY_LABEL}={MANAGED_BY}")),
            };
            groups.push(Group {
                collection: collection.to_owned(),
                selector,
                names: part
                    .iter()
                    .map(|one| (one.name.clone(), one.path.clone()))
                    .collect(),
                version: version.to_string(),
            });
        }
    }
    groups
}

/// Versions are numbers that grow (KEP-5504); objects whose version is none are not followed.
fn version_of(object: &Value) -> Option<u64> {
    object
        .pointer("/metadata/resourceVersion")?
        .as_str()?
        .parse()
        .ok()
}

async fn pump(
    cluster: Arc<Cluster>,
    mut group: Group,
    shared: Arc<Shared>,
    _slot: OwnedSemaphorePermit,
) {
    let mut tries = 0;
    while tries < TRIES {
        let selector = (group.selector.0, group.selector.1.as_str());
        let events = cluster
            .watch(&group.collection, selector, &group.version, SECONDS)
            .await;
        match events {
            Ok(events) => {
                let mut events = std::pin::pin!(events);
                loop {
                    match events.try_next().await {
                        Ok(Some(event)) => {
                            if !take(event, &mut group, &shared) {
                                return give_up(&group, &shared);
                            }
                            tries = 0;
                        }
                        Ok(None) => break,
                        Err(_) => {
                            tries += 1;
                            break;
                        }
                    }
                }
            }
            // Forbidden, or too old.
            Err(kube::Error::Api(_)) => return give_up(&group, &shared),
            Err(_) => {
                tries += 1;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
    }
    give_up(&group, &shared);
}

/// Takes in an event; false when the watch can't go on.
fn take(event: WatchEvent<Value>, group: &mut Group, shared: &Shared) -> bool {
    let (object, there) = match event {
        WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, true),
        WatchEvent::Deleted(object) => (object, false),
        WatchEvent::Bookmark(mark) => {
            group.version = mark.metadata.resource_version;
            return true;
        }
        WatchEvent::Error(_) => return false,
    };
    let Some(version) = version_of(&object) else {
        return false;
    };
    group.version = version.to_string();
    let name = object
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let Some(path) = group.names.get(name) else {
        return true;
    };
    let news = shared.with(|states| {
        let known = match states.get(path) {
            Some(Seen::There(known) | Seen::Lost(known)) => version_of(known),
            None => None,
        };
        if known.is_some_and(|known| version <= known) {
            return false;
        }
        let seen = if there {
            Seen::There(object)
        } else {
            Seen::Lost(object)
        };
        states.insert(path.clone(), seen);
        true
    });
    if news {
        shared.changed.notify_one();
    }
    true
}

/// Forgets the states of a group, so that its objects are read again.
fn give_up(group: &Group, shared: &Shared) {
    let paths: BTreeSet<&String> = group.names.values().collect();
    shared.with(|states| states.retain(|path, _| !paths.contains(path)));
    shared.changed.notify_one();
}

impl Cluster {
    /// The object `name` of a collection as it was when it was removed, if that was after `version`, without
    /// the mark of its deletion. A Job with `ttlSecondsAfterFinished: 0` is removed in the moment it is
    /// complete, so that whoever looks from time to time may never see it so; the server remembers the last
    /// minutes of every collection. Nothing is told when the version is too old, or watching is not allowed.
    pub(crate) async fn last_state(
        &self,
        collection: &str,
        name: &str,
        version: &str,
    ) -> Result<Option<Value>, ApiError> {
        /// How long the server is asked to tell; the past comes at once.
        const PAST: u32 = 2;
        let selector = ("fieldSelector", format!("metadata.name={name}"));
        let selector = (selector.0, selector.1.as_str());
        let events = match self.watch(collection, selector, version, PAST).await {
            Ok(events) => events,
            Err(kube::Error::Api(_)) => return Ok(None),
            Err(error) => return Err(ApiError::Transport(Box::new(error))),
        };
        let mut events = std::pin::pin!(events);
        loop {
            match events.try_next().await {
                Ok(Some(WatchEvent::Deleted(object))) => return Ok(Some(undeleted(object))),
                Ok(Some(WatchEvent::Error(_)) | None) => return Ok(None),
                Ok(Some(_)) => {}
                Err(error) => return Err(ApiError::Transport(Box::new(error))),
            }
        }
    }
}

/// A removed object without the mark of its deletion.
pub(crate) fn undeleted(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("deletionTimestamp");
    }
    object
}

#[cfg(test)]
mod tests {
    use super::{Group, Seen, Shared, Subject, groups, take};
    use kube::core::WatchEvent;
    use serde_json::{Value, json};
    use std::collections::BTreeMap;

    fn object(name: &str, version: &str) -> Value {
        json!({"metadata": {"name": name, "resourceVersion": version}})
    }

    fn subject(collection: &str, name: &str, version: &str) -> Subject {
        Subject {
            path: format!("{collection}/{name}"),
            collection: collection.to_owned(),
            name: name.to_owned(),
            live: object(name, version),
        }
    }

    #[test]
    fn one_watch_a_collection_begins_at_the_oldest_version() {
        let subjects = [
            subject("/a", "x", "9"),
            subject("/a", "y", "10"),
            subject("/b", "z", "7"),
        ];
        let told = |labelled| -> Vec<(String, String, String)> {
            groups(&subjects, labelled)
                .into_iter()
                .map(|group| (group.collection, group.selector.1, group.version))
                .collect()
        };
        let row = |a: &str, b: &str, c: &str| (a.to_owned(), b.to_owned(), c.to_owned());
        assert_eq!(
            told(true),
            [
                row("/a", "app.kubernetes.io/managed-by=Helm", "9"),
                row("/b", "metadata.name=z", "7")
            ]
        );
        assert_eq!(
            told(false),
            [
                row("/a", "metadata.name=x", "9"),
                row("/a", "metadata.name=y", "10"),
                row("/b", "metadata.name=z", "7")
            ]
        );
    }

    #[test]
    fn a_state_never_goes_back() {
        let shared = Shared::default();
        shared.with(|states| states.insert("/a/x".to_owned(), Seen::There(object("x", "10"))));
        let mut group = Group {
            collection: "/a".to_owned(),
            selector: ("fieldSelector", String::new()),
            names: BTreeMap::from([("x".to_owned(), "/a/x".to_owned())]),
            version: "9".to_owned(),
        };
        let version = || {
            shared.with(|states| match states.get("/a/x") {
                Some(Seen::There(known) | Seen::Lost(known)) => {
                    known["metadata"]["resourceVersion"].clone()
                }
                None => Value::Null,
            })
        };
        assert!(take(
            WatchEvent::Modified(object("x", "9")),
            &mut group,
            &shared
        ));
        assert_eq!(version(), "10");
        assert!(take(
            WatchEvent::Modified(object("x", "11")),
            &mut group,
            &shared
        ));
        assert_eq!((version(), group.version.as_str()), (json!("11"), "11"));
        assert!(take(
            WatchEvent::Deleted(object("x", "12")),
            &mut group,
            &shared
        ));
        assert!(shared.with(|states| matches!(states.get("/a/x"), Some(Seen::Lost(_)))));
    }
}
