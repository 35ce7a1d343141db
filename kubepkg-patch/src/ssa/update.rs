//! What a write means for the owners of fields, and what an apply makes of an object: the rules of
//! structured-merge-diff's updater.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::error::{Conflict, Conflicts, ObjectName, SsaError};
use super::fields::{Comparison, compared, mentioned};
use super::merge::{merged, without};
use super::owners::{Manager, Operation, Owned};
use super::reconcile::reconciled;
use super::set::FieldSet;
use super::validate::validate;
use super::versions::Versions;
use crate::schema::{GroupVersionKind, Type};

/// Managers and what they own.
pub(super) type Owners = BTreeMap<Manager, Owned>;

/// A value and its type.
#[derive(Clone)]
pub(super) struct Typed<'v> {
    pub(super) value: Cow<'v, Value>,
    pub(super) kind: Type,
}

impl Typed<'_> {
    fn mentioned(&self) -> FieldSet {
        mentioned(&self.value, &self.kind)
    }

    fn without(&self, fields: &FieldSet) -> Typed<'static> {
        Typed {
            value: Cow::Owned(without(self.value.clone().into_owned(), fields, &self.kind)),
            kind: self.kind.clone(),
        }
    }

    fn named(&self, fields: &FieldSet) -> FieldSet {
        fields.with_named_fields(&self.kind)
    }
}

/// The rules, for one kind and the version that is written.
pub(super) struct Updater<'a> {
    pub(super) versions: &'a dyn Versions,
    pub(super) api_version: &'a str,
    /// Fields by version that nobody owns here, because a write through this resource doesn't change them.
    pub(super) reset: &'a BTreeMap<String, FieldSet>,
}

impl Updater<'_> {
    /// The object in another version; none if that isn't there.
    fn convert<'v>(
        &self,
        object: &Typed<'v>,
        api_version: &str,
    ) -> Result<Option<Typed<'v>>, SsaError> {
        let from = object.value.get("apiVersion").and_then(Value::as_str);
        if from == Some(api_version) {
            return Ok(Some(object.clone()));
        }
        let converted = self.versions.convert(&object.value, api_version);
        let converted = converted.map_err(|reason| SsaError::Conversion {
            api_version: api_version.to_owned(),
            reason,
        })?;
        let (Some(value), Some(kind)) = (converted, self.versions.type_in(api_version)) else {
            return Ok(None);
        };
        validate(&value, &kind, false).map_err(|errors| SsaError::TypedVersion {
            object: Box::new(ObjectName::of(&object.value)),
            api_version: api_version.to_owned(),
            errors,
        })?;
        Ok(Some(Typed {
            value: Cow::Owned(value),
            kind,
        }))
    }

    fn no_type(&self, object: &Typed<'_>) -> SsaError {
        let kind = GroupVersionKind::of(&object.value).kind;
        SsaError::NoType {
            kind: GroupVersionKind::new(self.api_version, &kind),
        }
    }

    /// Owners as they are for today's schemas; those of versions that are gone are forgotten.
    fn reconcile(&self, live: &Typed<'_>, owners: Owners) -> Result<Owners, SsaError> {
        let mut kept = Owners::new();
        for (owner, mut owned) in owners {
            if let Some(live) = self.convert(live, &owned.api_version)? {
                owned.fields = reconciled(&owned.fields, &live.kind);
                kept.insert(owner, owned);
            }
        }
        Ok(kept)
    }

    /// Takes from all owners but the writer what the write changes or removes.
    fn take(
        &self,
        live: &Typed<'_>,
        new: &Typed<'_>,
        owners: &mut Owners,
        writer: &Manager,
        force: bool,
    ) -> Result<Comparison, SsaError> {
        let comparison = self.compare(live, new, self.api_version);
        let mut versions = BTreeMap::from([(self.api_version.to_owned(), comparison.clone())]);
        let (mut gone, mut conflicts, mut removed) = (Vec::new(), Vec::new(), Vec::new());
        for (owner, owned) in owners.iter() {
            if owner == writer {
                continue;
            }
            let version = &owned.api_version;
            if !versions.contains_key(version) {
                let (live, new) = (self.convert(live, version)?, self.convert(new, version)?);
                let (Some(live), Some(new)) = (live, new) else {
                    gone.push(owner.clone());
                    continue;
                };
                versions.insert(version.clone(), self.compare(&live, &new, version));
            }
            let Some(change) = versions.get(version) else {
                continue;
            };
            let touched = change.modified.union(&change.added);
            let lost = owned.fields.intersection(&touched);
            if !lost.is_empty() {
                conflicts.push((owner.clone(), lost));
            }
            if !change.removed.is_empty() {
                removed.push((owner.clone(), change.removed.clone()));
            }
        }
        if !force && !conflicts.is_empty() {
            return Err(SsaError::Conflict(listed(&conflicts)));
        }
        for owner in gone {
            owners.remove(&owner);
        }
        for (owner, fields) in conflicts.into_iter().chain(removed) {
            if let Some(owned) = owners.get_mut(&owner) {
                owned.fields = owned.fields.difference(&fields);
            }
        }
        owners.retain(|_, owned| !owned.fields.is_empty());
        Ok(comparison)
    }

    fn compare(&self, old: &Typed<'_>, new: &Typed<'_>, api_version: &str) -> Comparison {
        compared(&old.value, &new.value, &old.kind).without(self.reset.get(api_version))
    }

    /// An update has been made: `writer` owns what it changed.
    pub(super) fn update(
        &self,
        live: &Typed<'_>,
        new: &Typed<'_>,
        owners: Owners,
        writer: &Manager,
    ) -> Result<Owners, SsaError> {
        let mut owners = self.reconcile(live, owners)?;
        let change = self.take(live, new, &mut owners, writer, true)?;
        let previous = owners.remove(writer);
        let previous = previous.map(|owned| owned.fields).unwrap_or_default();
        let mut fields = previous
            .difference(&change.removed)
            .union(&change.modified)
            .union(&change.added);
        if let Some(reset) = self.reset.get(self.api_version) {
            fields = fields.recursive_difference(reset);
        }
        if !fields.is_empty() {
            owners.insert(writer.clone(), self.owned(fields));
        }
        Ok(owners)
    }

    fn owned(&self, fields: FieldSet) -> Owned {
        Owned {
            fields,
            api_version: self.api_version.to_owned(),
            time: None,
        }
    }

    /// What becomes of an object by an apply; none if it stays as it is.
    pub(super) fn apply(
        &self,
        live: &Typed<'_>,
        applied: &Typed<'_>,
        owners: Owners,
        writer: &Manager,
        force: bool,
    ) -> Result<(Option<Value>, Owners), SsaError> {
        let mut owners = self.reconcile(live, owners)?;
        let new = Typed {
            value: Cow::Owned(merged(&live.value, &applied.value, &live.kind)),
            kind: live.kind.clone(),
        };
        let mut fields = applied.mentioned();
        if let Some(reset) = self.reset.get(self.api_version) {
            fields = fields.recursive_difference(reset);
        }
        let time = owners.get(writer).and_then(|owned| owned.time);
        let owned = Owned {
            time,
            ..self.owned(fields)
        };
        let last = owners.insert(writer.clone(), owned);
        let new = self.prune(new, &owners, last.as_ref())?;
        self.take(live, &new, &mut owners, writer, force)?;
        let same = crate::value::equal(&live.value, &new.value);
        Ok(((!same).then(|| new.value.into_owned()), owners))
    }

    /// Takes out what the writer applied last time and nobody owns any more.
    fn prune<'v>(
        &self,
        merged: Typed<'v>,
        owners: &Owners,
        last: Option<&Owned>,
    ) -> Result<Typed<'v>, SsaError> {
        let Some(last) = last.filter(|last| !last.fields.is_empty()) else {
            return Ok(merged);
        };
        let Some(old) = self.convert(&merged, &last.api_version)? else {
            return Ok(merged);
        };
        let pruned = old.without(&old.named(&last.fields));
        let pruned = self.add_back_owned(&old, pruned, &last.api_version, owners)?;
        let pruned = self.add_back_dangling(&old, &pruned, last)?;
        let back = self.convert(&pruned, self.api_version)?;
        back.ok_or_else(|| self.no_type(&merged))
    }

    /// Puts back what others, or the writer's new configuration, own.
    fn add_back_owned<'v>(
        &self,
        merged: &Typed<'v>,
        pruned: Typed<'v>,
        version: &str,
        owners: &Owners,
    ) -> Result<Typed<'v>, SsaError> {
        let mut by_version: BTreeMap<&str, FieldSet> = BTreeMap::new();
        for owned in owners.values() {
            let all = by_version.entry(&owned.api_version).or_default();
            *all = all.union(&owned.fields);
        }
        // The version of the pruned object comes first: conversion to another may need a field.
        let first = by_version.remove_entry(version);
        let (mut merged, mut pruned) = (merged.clone(), pruned);
        for (version, owned) in first.into_iter().chain(by_version) {
            let Some(whole) = self.convert(&merged, version)? else {
                continue;
            };
            merged = whole;
            let Some(part) = self.convert(&pruned, version)? else {
                continue;
            };
            let kept = part.named(&part.mentioned()).union(&merged.named(&owned));
            let all = merged.named(&merged.mentioned());
            pruned = merged.without(&all.difference(&kept));
        }
        Ok(pruned)
    }

    /// Puts back what the writer never owned.
    fn add_back_dangling<'v>(
        &self,
        merged: &Typed<'v>,
        pruned: &Typed<'v>,
        last: &Owned,
    ) -> Result<Typed<'v>, SsaError> {
        let Some(pruned) = self.convert(pruned, &last.api_version)? else {
            return Ok(merged.clone());
        };
        let kept = merged.named(&pruned.mentioned());
        let all = merged.named(&merged.mentioned());
        let gone = all
            .difference(&kept)
            .intersection(&merged.named(&last.fields));
        Ok(merged.without(&gone))
    }
}

fn listed(conflicts: &[(Manager, FieldSet)]) -> Conflicts {
    let mut list = Vec::new();
    for (owner, fields) in conflicts {
        list.extend(fields.paths().into_iter().map(|path| Conflict {
            manager: owner.clone(),
            path,
        }));
    }
    Conflicts(list)
}

/// How many managers of updates an object keeps.
const MAX_UPDATERS: usize = 10;

/// Joins the oldest updaters of each version into one, when there are too many.
pub(super) fn cap(owners: &mut Owners) {
    let updaters = owners
        .keys()
        .filter(|manager| manager.operation == Operation::Update);
    let mut updaters: Vec<Manager> = updaters.cloned().collect();
    let mut count = updaters.len();
    let seconds = |owners: &Owners, manager: &Manager| {
        let time = owners.get(manager).and_then(|owned| owned.time);
        time.map(jiff::Timestamp::as_second).unwrap_or_default()
    };
    updaters.sort_by_cached_key(|manager| (seconds(owners, manager), manager.identifier()));
    let mut first: BTreeMap<String, Manager> = BTreeMap::new();
    for manager in updaters {
        if count <= MAX_UPDATERS {
            break;
        }
        let Some(version) = owners.get(&manager).map(|owned| owned.api_version.clone()) else {
            continue;
        };
        let Some(oldest) = first.get(&version) else {
            first.insert(version, manager);
            continue;
        };
        let bucket = Manager {
            name: "ancient-changes".to_owned(),
            operation: Operation::Update,
            api_version: version,
            subresource: String::new(),
        };
        if !owners.contains_key(&bucket)
            && let Some(owned) = owners.remove(oldest)
        {
            owners.insert(bucket.clone(), owned);
        }
        if bucket == manager {
            continue;
        }
        let Some(joined) = owners.remove(&manager) else {
            continue;
        };
        if let Some(owned) = owners.get_mut(&bucket) {
            owned.fields = joined.fields.union(&owned.fields);
            owned.time = joined.time;
        }
        count -= 1;
    }
}
