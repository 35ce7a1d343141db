//! Watches: a place in the log of a resource, and who may see what lies behind it.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::encode::{self, Form};
use super::failure::Failure;
use super::list::{Filter, integer};
use super::request::Query;
use super::store::{Change, Event};
use super::world::World;

/// How often a watch is told where it stands when nothing happens.
const BOOKMARK_EVERY: SignedDuration = SignedDuration::from_secs(60);
/// How long a watch lives that names no time.
const LIFE: SignedDuration = SignedDuration::from_mins(45);

/// A watch that goes on.
#[derive(Debug)]
pub(crate) struct Watch {
    filter: Filter,
    form: Form,
    /// Everything up to this version was sent.
    seen: u64,
    /// What was there at the start.
    initial: Vec<Arc<Value>>,
    /// Whether the end of the start is told.
    tell_end: bool,
    bookmarks: bool,
    next_bookmark: Timestamp,
    until: Timestamp,
    ended: bool,
}

/// What a watch sends now.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    pub(crate) bytes: Vec<u8>,
    pub(crate) ended: bool,
}

impl Watch {
    pub(crate) fn start(
        world: &World,
        filter: Filter,
        query: &Query,
        form: Form,
        now: Timestamp,
    ) -> Result<Self, Failure> {
        let asked = query.get("resourceVersion");
        let version: u64 = if asked.is_empty() {
            0
        } else {
            asked.parse().map_err(|_| {
                Failure::plain(
                    500,
                    format!(
                        "resourceVersion: Invalid value: \"{asked}\": strconv.ParseUint: \
                         parsing \"{asked}\": invalid syntax"
                    ),
                )
            })?
        };
        let bookmarks = query.flag("allowWatchBookmarks");
        let send_initial = query.flag("sendInitialEvents");
        let from_now = query.has("sendInitialEvents") && !send_initial && version == 0;
        let seconds = integer(query.get("timeoutSeconds"))?;
        let life = if seconds > 0 {
            SignedDuration::from_secs(seconds.min(24 * 3600))
        } else {
            LIFE
        };
        let mut watch = Self {
            filter,
            form,
            seen: version,
            initial: Vec::new(),
            tell_end: send_initial && bookmarks,
            bookmarks,
            next_bookmark: now + BOOKMARK_EVERY,
            until: now + life,
            ended: false,
        };
        if from_now {
            watch.seen = world.store.version();
        } else if version == 0 || send_initial {
            let all = world
                .store
                .list(&watch.filter.kind.stored_in, &watch.filter.namespace, None);
            watch.initial = all
                .filter(|(key, object)| watch.filter.matches(key, object))
                .map(|(_, object)| Arc::clone(object))
                .collect();
            watch.seen = world.store.version();
        }
        Ok(watch)
    }

    /// When it has something to say without being told.
    pub(crate) fn wakes(&self) -> Timestamp {
        if self.bookmarks {
            self.until.min(self.next_bookmark)
        } else {
            self.until
        }
    }

    /// What is to be sent now. Events come out once, in order.
    pub(crate) fn next(&mut self, world: &World, now: Timestamp) -> Sent {
        let mut sent = Sent::default();
        if self.ended {
            sent.ended = true;
            return sent;
        }
        for object in std::mem::take(&mut self.initial) {
            self.send(&mut sent.bytes, "ADDED", &object, now);
        }
        if std::mem::take(&mut self.tell_end) {
            let end = json!({"k8s.io/initial-events-end": "true"});
            self.bookmark(&mut sent.bytes, Some(end));
        }
        if now >= self.until {
            self.ended = true;
        } else {
            self.follow(&mut sent.bytes, world, now);
        }
        if self.bookmarks && !self.ended && now >= self.next_bookmark {
            self.bookmark(&mut sent.bytes, None);
            self.next_bookmark = now + BOOKMARK_EVERY;
        }
        sent.ended = self.ended;
        sent
    }

    fn follow(&mut self, bytes: &mut Vec<u8>, world: &World, now: Timestamp) {
        let kind = &self.filter.kind;
        if kind.custom.is_some()
            && world
                .registry
                .find(&kind.group, &kind.version, &kind.plural)
                .is_none()
        {
            self.ended = true;
            return;
        }
        match world.store.since(&kind.stored_in, self.seen) {
            Ok(events) => {
                for event in events {
                    if let Some((change, object)) = self.visible(event) {
                        self.send(bytes, change, &object, now);
                    }
                }
                self.seen = self.seen.max(world.store.version());
            }
            Err(forgotten) => {
                let failure = Failure::expired(format!(
                    "too old resource version: {} ({forgotten})",
                    self.seen
                ));
                line(bytes, "ERROR", &failure.status().to_string().into_bytes());
                self.ended = true;
            }
        }
    }

    /// The event as this watch sees it: an object that begins to match is new, one that ends to
    /// match is gone.
    fn visible(&self, event: &Event) -> Option<(&'static str, Arc<Value>)> {
        let matches = |object: &Value| self.filter.matches(&event.key, object);
        let was = event.before.as_ref().is_some_and(|before| matches(before));
        let is = event.change != Change::Deleted && matches(&event.object);
        match (was, is) {
            (false, false) => None,
            (false, true) => Some(("ADDED", Arc::clone(&event.object))),
            (true, true) => Some(("MODIFIED", Arc::clone(&event.object))),
            (true, false) => {
                let mut last = Value::clone(event.before.as_ref().unwrap_or(&event.object));
                super::object::set(&mut last, "resourceVersion", event.version.to_string());
                Some(("DELETED", Arc::new(last)))
            }
        }
    }

    fn send(&self, bytes: &mut Vec<u8>, change: &str, object: &Arc<Value>, now: Timestamp) {
        let encoded = encode::one(&self.filter.kind, object, self.form, now);
        line(bytes, change, &encoded);
    }

    fn bookmark(&self, bytes: &mut Vec<u8>, annotations: Option<Value>) {
        let mut metadata = json!({"resourceVersion": self.seen.to_string()});
        if let Some(annotations) = annotations {
            metadata["annotations"] = annotations;
        }
        let kind = &self.filter.kind;
        let object = match self.form {
            Form::Metadata => json!({
                "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
                "metadata": metadata,
            }),
            Form::Table(_) => json!({
                "kind": "Table", "apiVersion": "meta.k8s.io/v1", "columnDefinitions": null,
                "metadata": {"resourceVersion": self.seen.to_string()},
                "rows": [{"cells": null, "object": {
                    "kind": kind.kind, "apiVersion": kind.api_version(), "metadata": metadata,
                }}],
            }),
            Form::Plain => json!({
                "kind": kind.kind, "apiVersion": kind.api_version(), "metadata": metadata,
            }),
        };
        line(bytes, "BOOKMARK", object.to_string().as_bytes());
    }
}

fn line(bytes: &mut Vec<u8>, change: &str, object: &[u8]) {
    bytes.extend_from_slice(b"{\"type\":\"");
    bytes.extend_from_slice(change.as_bytes());
    bytes.extend_from_slice(b"\",\"object\":");
    bytes.extend_from_slice(object);
    bytes.extend_from_slice(b"}\n");
}
