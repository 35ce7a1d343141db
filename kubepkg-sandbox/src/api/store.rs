//! The objects and their recent past.
//!
//! One counter of resource versions for everything, as etcd has it; one table for each resource,
//! with its objects and a bounded log of what happened to them. A watch is a place in the log. A
//! log that is full forgets its oldest events, and who asks for them gets 410.
//!
//! Objects are kept without `kind` and `apiVersion`: every version of a resource shows the same
//! objects.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use super::object;

/// How many events of one resource are remembered.
const WINDOW: usize = 10_000;

/// Namespace (empty for cluster-scoped objects) and name.
pub(crate) type Key = (String, String);

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Added,
    Modified,
    Deleted,
}

/// One entry of the log.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) version: u64,
    pub(crate) change: Change,
    pub(crate) table: Arc<str>,
    pub(crate) key: Key,
    /// The object after the change; its last state, with the version of the deletion, when it
    /// was deleted.
    pub(crate) object: Arc<Value>,
    /// The object before the change.
    pub(crate) before: Option<Arc<Value>>,
}

/// A custom resource as it was written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Written {
    /// The version in which it was stored.
    pub(crate) version: Arc<str>,
    pub(crate) object: Arc<Value>,
}

/// The objects of one resource.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) objects: BTreeMap<Key, Arc<Value>>,
    /// Of these, what was written under a definition that has changed since, and shows otherwise now.
    written: BTreeMap<Key, Written>,
    log: VecDeque<Event>,
    /// Everything up to this version is forgotten.
    forgotten: u64,
}

/// All objects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    version: u64,
    tables: BTreeMap<Arc<str>, Table>,
    /// Table and key by UID.
    by_uid: BTreeMap<String, (Arc<str>, Key)>,
    /// UIDs of dependents by the UID of their owner.
    dependents: BTreeMap<String, BTreeSet<String>>,
    /// Everything up to this version is forgotten in every table.
    forgotten: u64,
}

impl Store {
    /// The version of the last change.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn get(&self, table: &str, namespace: &str, name: &str) -> Option<&Arc<Value>> {
        let key = (namespace.to_owned(), name.to_owned());
        self.tables.get(table)?.objects.get(&key)
    }

    pub(crate) fn by_uid(&self, uid: &str) -> Option<(&Arc<str>, &Key, &Arc<Value>)> {
        let (table, key) = self.by_uid.get(uid)?;
        let object = self.tables.get(table)?.objects.get(key)?;
        Some((table, key, object))
    }

    /// UIDs of the objects that name this UID as an owner.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<String> {
        self.dependents
            .get(uid)
            .map(|all| all.iter().cloned().collect())
            .unwrap_or_default()
    }

    /// The objects of a table in one namespace, or in all when it is empty.
    pub(crate) fn list<'a>(
        &'a self,
        table: &str,
        namespace: &str,
        after: Option<&Key>,
    ) -> impl Iterator<Item = (&'a Key, &'a Arc<Value>)> + use<'a> {
        use std::ops::Bound::{Excluded, Included, Unbounded};
        let namespace = namespace.to_owned();
        let from = match after {
            Some(key) => Excluded(key.clone()),
            None => Included((namespace.clone(), String::new())),
        };
        self.tables
            .get(table)
            .into_iter()
            .flat_map(move |table| table.objects.range((from.clone(), Unbounded)))
            .take_while(move |(key, _)| namespace.is_empty() || key.0 == namespace)
    }

    /// Names of the tables that hold anything.
    pub(crate) fn tables(&self) -> Vec<Arc<str>> {
        let filled = self.tables.iter().filter(|(_, t)| !t.objects.is_empty());
        filled.map(|(name, _)| Arc::clone(name)).collect()
    }

    /// Writes an object, giving it the next version.
    pub(crate) fn put(&mut self, table: &Arc<str>, mut object: Value) -> Arc<Value> {
        self.version += 1;
        object::set(&mut object, "resourceVersion", self.version.to_string());
        let key = object::key(&object);
        let object = Arc::new(object);
        let entry = self.tables.entry(Arc::clone(table)).or_default();
        let before = entry.objects.insert(key.clone(), Arc::clone(&object));
        entry.written.remove(&key);
        let change = if before.is_some() {
            Change::Modified
        } else {
            Change::Added
        };
        entry.record(Event {
            version: self.version,
            change,
            table: Arc::clone(table),
            key: key.clone(),
            object: Arc::clone(&object),
            before: before.clone(),
        });
        if let Some(before) = before {
            self.unlink(&before);
        }
        self.link(table, key, &object);
        object
    }

    /// Removes an object and gives its last state, with the version of the removal.
    pub(crate) fn remove(&mut self, table: &Arc<str>, key: &Key) -> Option<Arc<Value>> {
        let entry = self.tables.get_mut(table)?;
        let before = entry.objects.remove(key)?;
        entry.written.remove(key);
        self.version += 1;
        let mut last = Value::clone(&before);
        object::set(&mut last, "resourceVersion", self.version.to_string());
        let last = Arc::new(last);
        entry.record(Event {
            version: self.version,
            change: Change::Deleted,
            table: Arc::clone(table),
            key: key.clone(),
            object: Arc::clone(&last),
            before: Some(Arc::clone(&before)),
        });
        self.unlink(&before);
        Some(last)
    }

    fn link(&mut self, table: &Arc<str>, key: Key, value: &Value) {
        let uid = object::uid(value).to_owned();
        for owner in object::owners(value) {
            let all = self.dependents.entry(object::text(owner, "uid").to_owned());
            all.or_default().insert(uid.clone());
        }
        self.by_uid.insert(uid, (Arc::clone(table), key));
    }

    fn unlink(&mut self, value: &Value) {
        let uid = object::uid(value);
        self.by_uid.remove(uid);
        for owner in object::owners(value) {
            let owner = object::text(owner, "uid");
            if let Some(all) = self.dependents.get_mut(owner) {
                all.remove(uid);
                if all.is_empty() {
                    self.dependents.remove(owner);
                }
            }
        }
    }

    /// The events of a table after a version, or the version up to which they are forgotten.
    pub(crate) fn since(&self, table: &str, version: u64) -> Result<Vec<&Event>, u64> {
        let table = self.tables.get(table);
        let forgotten = table.map_or(0, |table| table.forgotten).max(self.forgotten);
        if version < forgotten {
            return Err(forgotten);
        }
        let Some(table) = table else {
            return Ok(Vec::new());
        };
        let start = table.log.partition_point(|event| event.version <= version);
        Ok(table.log.range(start..).collect())
    }

    /// The events of all tables after a version, in order.
    pub(crate) fn all_since(&self, version: u64) -> Vec<Event> {
        let mut all = Vec::new();
        for table in self.tables.values() {
            let start = table.log.partition_point(|event| event.version <= version);
            all.extend(table.log.range(start..).cloned());
        }
        all.sort_by_key(|event| event.version);
        all
    }

    /// The objects of a table as they were at a version, or the version up to which the past is
    /// forgotten.
    pub(crate) fn at(&self, table: &str, version: u64) -> Result<BTreeMap<Key, Arc<Value>>, u64> {
        let later = self.since(table, version)?;
        let mut objects = self
            .tables
            .get(table)
            .map(|table| table.objects.clone())
            .unwrap_or_default();
        for event in later.into_iter().rev() {
            match &event.before {
                Some(before) => objects.insert(event.key.clone(), Arc::clone(before)),
                None => objects.remove(&event.key),
            };
        }
        Ok(objects)
    }

    /// Puts an object that was kept elsewhere back, as it was. What happened to it is not known.
    pub(crate) fn restore(&mut self, table: &Arc<str>, object: Value) {
        let key = object::key(&object);
        self.discard(table, &key);
        self.link(table, key.clone(), &object);
        let entry = self.tables.entry(Arc::clone(table)).or_default();
        entry.objects.insert(key, Arc::new(object));
    }

    /// Removes an object without a trace.
    pub(crate) fn discard(&mut self, table: &str, key: &Key) {
        let Some(entry) = self.tables.get_mut(table) else {
            return;
        };
        entry.written.remove(key);
        if let Some(before) = entry.objects.remove(key) {
            self.unlink(&before);
        }
    }

    /// Shows the objects of a table as a definition has it from now on. What was written stays what it was, in the
    /// version in which it was stored; until now that was `before`, and what is written from now on is stored in
    /// `after`.
    pub(crate) fn show_anew(
        &mut self,
        table: &str,
        (before, after): (&Arc<str>, &Arc<str>),
        show: impl Fn(&str, &Value) -> Value,
    ) {
        let Some(table) = self.tables.get_mut(table) else {
            return;
        };
        for (key, object) in &mut table.objects {
            let written = table.written.remove(key).unwrap_or_else(|| Written {
                version: Arc::clone(before),
                object: Arc::clone(object),
            });
            let shown = show(&written.version, &written.object);
            if shown == *written.object {
                *object = Arc::clone(&written.object);
            } else {
                *object = Arc::new(shown);
            }
            if written.version != *after || !Arc::ptr_eq(object, &written.object) {
                table.written.insert(key.clone(), written);
            }
        }
    }

    /// What a table holds, and how its objects were written where that is something else.
    pub(crate) fn as_written(
        &self,
        table: &str,
    ) -> impl Iterator<Item = (&Arc<Value>, Option<&Written>)> {
        let table = self.tables.get(table).into_iter();
        table.flat_map(|table| {
            let objects = table.objects.iter();
            objects.map(|(key, object)| (object, table.written.get(key)))
        })
    }

    /// Puts an object back that was written under another definition.
    pub(crate) fn restore_written(&mut self, table: &Arc<str>, version: Arc<str>, object: Value) {
        let key = object::key(&object);
        self.restore(table, object);
        if let Some(table) = self.tables.get_mut(table)
            && let Some(object) = table.objects.get(&key)
        {
            let object = Arc::clone(object);
            table.written.insert(key, Written { version, object });
        }
    }

    /// Goes on from a version that was kept elsewhere; what was before it is forgotten.
    pub(crate) fn restore_version(&mut self, version: u64) {
        self.version = version;
        self.forgotten = version;
    }

    /// The version of a table before its last `changes` changes, as far as they are remembered.
    pub(crate) fn version_before(&self, table: &str, changes: usize) -> u64 {
        let Some(table) = self.tables.get(table).filter(|_| changes > 0) else {
            return self.version;
        };
        let first = table.log.len().saturating_sub(changes);
        let undone = table.log.get(first).map(|event| event.version);
        undone.map_or(self.version, |version| version - 1)
    }

    /// Forgets the past: watches and lists of versions before now get 410.
    pub(crate) fn forget(&mut self) {
        self.forgotten = self.version;
        for table in self.tables.values_mut() {
            table.log.clear();
        }
    }
}

impl Table {
    fn record(&mut self, event: Event) {
        if self.log.len() >= WINDOW
            && let Some(oldest) = self.log.pop_front()
        {
            self.forgotten = oldest.version;
        }
        self.log.push_back(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn thing(name: &str, value: u64) -> Value {
        json!({"metadata": {"name": name, "namespace": "n", "uid": name}, "value": value})
    }

    #[test]
    fn the_past_can_be_read_until_it_is_forgotten() {
        let table: Arc<str> = "things".into();
        let mut store = Store::default();
        store.put(&table, thing("a", 1));
        store.put(&table, thing("b", 1));
        let then = store.version();
        store.put(&table, thing("a", 2));
        store.remove(&table, &("n".into(), "b".into()));
        let past = store.at("things", then).unwrap();
        assert_eq!(past.len(), 2);
        assert_eq!(past[&("n".to_owned(), "a".to_owned())]["value"], 1);
        assert_eq!(store.since("things", then).unwrap().len(), 2);
        assert_eq!(store.version_before("things", 2), then);
        assert_eq!(store.version_before("things", 99), 0);
        assert_eq!(store.version_before("others", 1), store.version());
        store.forget();
        assert_eq!(store.at("things", then).unwrap_err(), store.version());
    }

    #[test]
    fn dependents_follow_their_owner_references() {
        let table: Arc<str> = "things".into();
        let mut store = Store::default();
        let mut child = thing("child", 1);
        child["metadata"]["ownerReferences"] = json!([{"uid": "parent"}]);
        store.put(&table, child);
        assert_eq!(store.dependents("parent"), ["child"]);
        store.put(&table, thing("child", 2));
        assert!(store.dependents("parent").is_empty());
    }
}
