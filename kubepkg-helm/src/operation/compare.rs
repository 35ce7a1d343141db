//! What an upgrade or rollback need not do. Objects that stand in the new manifest as they stood in the one
//! before are read, all at once, and those that an apply would leave as they are are not applied. When that is
//! so of every object, and there is nothing to wait for, nothing to remove and no hook to run, only records are
//! written. Whether an object is as wanted is decided on its live state, so drift is met as if all were applied
//! (`apply/unchanged.rs`).

use super::objects::resolve_expected;
use super::request::Unchanged;
use super::wait::{is_paused, reading_of};
use super::{Operation, OperationError};
use crate::apply::{ApplyError, Owner};
use crate::objects::{ManifestObject, objects_of};
use crate::progress::Wait;
use crate::readiness::{Status, assess_as};
use crate::release::{ApplyMethod, ReleaseStatus};
use futures::StreamExt as _;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What identifies an object within manifests, its version apart.
type Name<'a> = (&'a str, &'a str, &'a str, &'a str);

fn name_of(object: &ManifestObject) -> Name<'_> {
    (
        object.group(),
        &object.kind,
        &object.namespace,
        &object.name,
    )
}

/// The objects of the revision before.
struct Before {
    objects: Vec<ManifestObject>,
    /// It is deployed, and no failed one came after it.
    sound: bool,
}

impl Operation {
    /// Finds the objects that need not be applied, and makes the plan shorter when that leaves nothing to do.
    pub(super) async fn compare(&mut self, choice: Unchanged) -> Result<(), OperationError> {
        if choice == Unchanged::Apply {
            return Ok(());
        }
        let Some(before) = self.before() else {
            return Ok(());
        };
        let old: BTreeMap<Name<'_>, &Value> = before
            .objects
            .iter()
            .map(|object| (name_of(object), &object.value))
            .collect();
        let same: Vec<usize> = self
            .objects
            .iter()
            .enumerate()
            .filter(|(_, object)| old.get(&name_of(object)) == Some(&&object.value))
            .map(|(index, _)| index)
            .collect();
        if choice == Unchanged::Trust && before.sound {
            self.unchanged = same.into_iter().collect();
        } else {
            let found = self.as_wanted(&same).await?;
            self.unchanged = found.keys().copied().collect();
            self.live = found;
        }
        let new: BTreeSet<Name<'_>> = self.objects.iter().map(name_of).collect();
        let settled = before.sound
            && self.unchanged.len() == self.objects.len()
            && old.keys().all(|name| new.contains(name))
            && self.nothing_to_await();
        self.plan = self.make_plan(settled);
        Ok(())
    }

    /// The revision whose objects are replaced; none when there is none to compare with.
    fn before(&self) -> Option<Before> {
        let stored = self.previous.get(&self.progress.previous?)?;
        let by_server = ApplyMethod::ServerSide;
        if stored.release.apply_method != by_server || self.release.apply_method != by_server {
            return None;
        }
        Some(Before {
            objects: objects_of(&stored.release.manifest).ok()?,
            sound: stored.head.status == ReleaseStatus::Deployed
                && self.progress.leftover.is_none(),
        })
    }

    /// The live objects, of these, that an apply would leave as they are.
    async fn as_wanted(&self, indices: &[usize]) -> Result<BTreeMap<usize, Value>, OperationError> {
        let owner = self.owner();
        // By position, so that the future is not bound to one lifetime.
        let reads = (0..indices.len()).filter_map(|place| {
            let index = *indices.get(place)?;
            let object = self.objects.get(index)?;
            let helm = &self.helm;
            let (expected, namespace) = (&self.expected, &self.release.namespace);
            Some(async move {
                let live = match resolve_expected(helm, object, namespace, expected).await {
                    Ok(target) => helm.writer().unchanged(&target, owner).await?,
                    Err(ApplyError::Api(error)) => return Err(error.into()),
                    // The apply will say so.
                    Err(_) => None,
                };
                Ok::<_, OperationError>((index, live))
            })
        });
        let results: Vec<_> = futures::stream::iter(reads)
            .buffered(self.helm.concurrency())
            .collect()
            .await;
        let mut found = BTreeMap::new();
        for result in results {
            if let (index, Some(live)) = result? {
                found.insert(index, live);
            }
        }
        Ok(found)
    }

    fn nothing_to_await(&self) -> bool {
        let wait = self.progress.settings.wait;
        wait == Wait::Hooks
            || self.objects.iter().enumerate().all(|(index, object)| {
                let ready = |live| {
                    assess_as(live, reading_of(wait), self.helm.now())
                        .is_ok_and(|found| found.status == Status::Current)
                };
                is_paused(object) || self.live.get(&index).is_some_and(ready)
            })
    }

    /// In whose name objects are written.
    pub(super) fn owner(&self) -> Owner<'_> {
        Owner {
            release: &self.release.name,
            namespace: &self.release.namespace,
            operation: match self.progress.operation {
                crate::plan::OperationKind::Install => "install",
                _ => "update",
            },
        }
    }
}
