//! What an operation would do to each object, without doing it: every object is applied as a dry run on the
//! server, with its defaulting, admission and conflicts, and compared with what is there. Hooks, `crds/` and
//! waiting are not tried.

use super::objects::resolve_expected;
use super::{Operation, OperationError};
use crate::apply::{ApplyError, Existing, Target};
use crate::guard;
use crate::objects::{ManifestObject, objects_of};
use crate::plan::OperationKind;
use crate::release::ApplyMethod;
use futures::StreamExt as _;
use serde_json::Value;
use std::collections::BTreeSet;

/// What would happen to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It would be made.
    Create,
    /// It would be changed.
    Change,
    /// It would stay as it is.
    Keep,
    /// It would be deleted.
    Delete,
    /// The operation would fail on it.
    Refuse,
}

/// An object before and after an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What would happen.
    pub what: ChangeKind,
    /// `apiVersion` of the object.
    pub api_version: String,
    /// Kind of the object.
    pub kind: String,
    /// Namespace of the object; empty when it lives in none.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// The live object as it is; none when there is none.
    pub before: Option<Value>,
    /// The live object as it would be; none when there would be none, or it can't be told.
    pub after: Option<Value>,
    /// Why the operation would fail on it.
    pub problem: Option<String>,
}

impl Change {
    fn of(target: &Target<'_>, what: ChangeKind) -> Self {
        Self {
            what,
            api_version: target.object.api_version.clone(),
            kind: target.object.kind.clone(),
            namespace: target.namespace.clone(),
            name: target.object.name.clone(),
            before: None,
            after: None,
            problem: None,
        }
    }
}

impl Operation {
    /// What this operation would do to each object of the release, in order, then what it would remove. Nothing
    /// is written. For a removal: what it would delete.
    ///
    /// # Errors
    /// When the server can't be asked.
    pub async fn preview(&self) -> Result<Vec<Change>, OperationError> {
        let helm = &self.helm;
        let this = self;
        let originals = &self.originals();
        let changes = (0..this.objects.len()).filter_map(|index| {
            let object = this.objects.get(index)?;
            let (expected, namespace) = (&this.expected, &this.release.namespace);
            Some(async move {
                let target = resolve_expected(helm, object, namespace, expected).await?;
                match this.progress.operation {
                    OperationKind::Uninstall => this.preview_removal(&target).await,
                    _ => this.preview_apply(&target, originals).await,
                }
            })
        });
        let results: Vec<Result<Change, OperationError>> = futures::stream::iter(changes)
            .buffered(helm.concurrency())
            .collect()
            .await;
        let mut changes = results.into_iter().collect::<Result<Vec<Change>, _>>()?;
        let mut known: BTreeSet<_> = changes.iter().map(identity).collect();
        for stored in this.previous.values() {
            let replaced = [this.progress.previous, this.progress.leftover];
            if !replaced.contains(&Some(stored.release.revision)) {
                continue;
            }
            for object in objects_of(&stored.release.manifest).unwrap_or_default() {
                let target =
                    match Target::resolve(helm.cluster(), &object, &this.release.namespace).await {
                        Ok(target) => target,
                        Err(ApplyError::NoKind { .. }) => continue,
                        Err(error) => return Err(error.into()),
                    };
                if known.insert(identity(&Change::of(&target, ChangeKind::Delete))) {
                    let change = this.preview_removal(&target).await?;
                    changes.extend(change.before.is_some().then_some(change));
                }
            }
        }
        Ok(changes)
    }

    async fn preview_removal(&self, target: &Target<'_>) -> Result<Change, OperationError> {
        let before = self.helm.writer().read(target).await?;
        let (name, namespace) = (&self.release.name, &self.release.namespace);
        let goes = before
            .as_ref()
            .is_some_and(|live| guard::may_delete(live, name, namespace));
        let what = if goes {
            ChangeKind::Delete
        } else {
            ChangeKind::Keep
        };
        Ok(Change {
            after: if goes { None } else { before.clone() },
            before,
            ..Change::of(target, what)
        })
    }

    /// What the revision that is replaced says, where that matters: a client merges by it.
    fn originals(&self) -> Vec<ManifestObject> {
        let is_client = self.release.apply_method != ApplyMethod::ServerSide;
        let previous = self.progress.previous.filter(|_| is_client);
        let stored = previous.and_then(|revision| self.previous.get(&revision));
        let objects = stored.and_then(|stored| objects_of(&stored.release.manifest).ok());
        objects.unwrap_or_default()
    }

    async fn preview_apply(
        &self,
        target: &Target<'_>,
        originals: &[ManifestObject],
    ) -> Result<Change, OperationError> {
        let writer = self.helm.writer();
        let before = writer.read(target).await?;
        let settings = &self.progress.settings;
        let tried = async {
            if !settings.take_ownership && before.is_some() {
                writer.require_ours(target, self.owner()).await?;
            }
            if self.release.apply_method == ApplyMethod::ServerSide {
                let force = settings.force_conflicts;
                return writer.try_apply(target, self.owner(), force).await;
            }
            let wanted = target.object;
            let original = originals.iter().find(|object| {
                (object.group(), &object.kind, &object.name)
                    == (wanted.group(), &wanted.kind, &wanted.name)
                    && (object.namespace == wanted.namespace || object.namespace.is_empty())
            });
            let existing = match original {
                Some(_) => Existing::Ours,
                None => Existing::Take,
            };
            let written = writer
                .write_as_client(target, self.owner(), existing, original, true)
                .await;
            Ok(written?.body)
        };
        match tried.await {
            Ok(after) => {
                let what = match &before {
                    None => ChangeKind::Create,
                    Some(before) if same(before, &after) => ChangeKind::Keep,
                    Some(_) => ChangeKind::Change,
                };
                Ok(Change {
                    before,
                    after: Some(after),
                    ..Change::of(target, what)
                })
            }
            Err(error) if error.is_transient() => Err(error.into()),
            // Made together with what it needs (a CRD, a namespace), it can't be tried alone.
            Err(error) if error.is_unserved() && before.is_none() => Ok(Change {
                after: Some(target.object.value.clone()),
                ..Change::of(target, ChangeKind::Create)
            }),
            Err(error) => Ok(Change {
                before,
                problem: Some(error.to_string()),
                ..Change::of(target, ChangeKind::Refuse)
            }),
        }
    }
}

fn identity(change: &Change) -> (String, String, String, String) {
    let group = change
        .api_version
        .split_once('/')
        .map_or("", |(group, _)| group);
    (
        group.to_owned(),
        change.kind.clone(),
        change.namespace.clone(),
        change.name.clone(),
    )
}

/// Equal but for what every write changes.
fn same(before: &Value, after: &Value) -> bool {
    let bare = |object: &Value| {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            for key in ["managedFields", "resourceVersion", "generation"] {
                metadata.remove(key);
            }
        }
        object
    };
    bare(before) == bare(after)
}
