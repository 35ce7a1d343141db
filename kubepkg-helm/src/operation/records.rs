//! Steps that write release records: making the namespace and the record, checkpoints, superseding older
//! revisions, the final state, and the removal of all records. A write whose answer was lost is recognised
//! by what it would have written.

use super::error::{Failure, FailureReason, StepError};
use super::{Done, Operation, OperationError};
use crate::cluster::{Call, Verb};
use crate::plan::OperationKind;
use crate::release::{ReleaseStatus, ReleaseTime};
use crate::storage::{RecordHead, StorageError};
use futures::{StreamExt as _, TryStreamExt as _};
use serde_json::json;

impl Operation {
    pub(super) async fn make_namespace(&mut self) -> Result<Done, StepError> {
        let Some(spec) = self.namespace.clone() else {
            return Ok(Done::Yes);
        };
        let name = &self.release.namespace;
        let mut labels = spec.labels;
        labels
            .entry("name".to_owned())
            .or_insert_with(|| name.clone());
        let body = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": labels, "annotations": spec.annotations},
        });
        let query = [("fieldManager", self.helm.field_manager())];
        let call = Call::new(Verb::Post, "/api/v1/namespaces".to_owned())
            .query(&query)
            .body(&body);
        match self.helm.cluster().call(call).await {
            Ok(_) => Ok(Done::Yes),
            Err(error) if error.reason() == "AlreadyExists" => Ok(Done::Yes),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes the record in its final state. A crash before the older revisions are marked leaves two that are
    /// deployed; the next operation marks them.
    pub(super) async fn record_only(&mut self) -> Result<Done, StepError> {
        self.prune_records().await?;
        self.succeed();
        let created = self
            .helm
            .storage()
            .create(&self.release, None, self.helm.now())
            .await;
        self.head = Some(self.created(created, None).await?);
        Ok(Done::Yes)
    }

    async fn prune_records(&mut self) -> Result<(), StepError> {
        while let Some(revision) = self.prune_history.last().copied() {
            let (namespace, name) = (&self.release.namespace, &self.release.name);
            self.helm
                .storage()
                .delete(namespace, name, revision)
                .await?;
            self.prune_history.pop();
        }
        Ok(())
    }

    /// The record that was made, by this try or by an earlier one whose answer was lost.
    async fn created(
        &self,
        created: Result<RecordHead, StorageError>,
        progress: Option<&str>,
    ) -> Result<RecordHead, StepError> {
        let Err(StorageError::Exists { key }) = created else {
            return created.map_err(StepError::from);
        };
        let (namespace, name) = (&self.release.namespace, &self.release.name);
        let revision = self.release.revision;
        let found = self.helm.storage().get(namespace, name, revision).await?;
        match found {
            Some(found)
                if found.head.progress.as_deref() == progress
                    && found.release.info == self.release.info =>
            {
                Ok(found.head)
            }
            _ => Err(StorageError::Exists { key }.into()),
        }
    }

    /// Makes the record, or marks the existing one when the release is removed.
    pub(super) async fn record(&mut self) -> Result<Done, StepError> {
        if self.head.is_some() {
            self.checkpoint_at(self.cursor + 1).await?;
            return Ok(Done::Yes);
        }
        self.prune_records().await?;
        let text = self.progress_at(self.cursor + 1);
        let created = self
            .helm
            .storage()
            .create(&self.release, Some(&text), self.helm.now())
            .await;
        let head = self.created(created, Some(&text)).await?;
        self.head = Some(head);
        self.saved = Some(self.cursor + 1);
        Ok(Done::Yes)
    }

    /// Positions are counted from the step after the record, so that the steps before it, which a resumed
    /// operation does not have, do not matter.
    fn record_position(&self) -> usize {
        self.plan
            .iter()
            .position(|step| *step == crate::plan::Step::Record)
            .unwrap_or(0)
    }

    fn progress_at(&mut self, cursor: usize) -> String {
        self.progress.step = cursor.saturating_sub(self.record_position() + 1);
        self.progress.to_text()
    }

    /// Lets the record know the present position, once.
    pub(super) async fn checkpoint(&mut self) -> Result<Done, StepError> {
        self.checkpoint_at(self.cursor).await
    }

    async fn checkpoint_at(&mut self, cursor: usize) -> Result<Done, StepError> {
        if self.saved != Some(cursor) {
            let text = self.progress_at(cursor);
            self.write_record(Some(text)).await?;
            self.saved = Some(cursor);
        }
        Ok(Done::Yes)
    }

    /// Replaces the record. Nothing happens when it says so already; somebody else's change stops us.
    pub(super) async fn write_record(&mut self, progress: Option<String>) -> Result<(), StepError> {
        let Some(head) = &self.head else {
            return Ok(());
        };
        let written = self
            .helm
            .storage()
            .update(
                &self.release,
                progress.as_deref(),
                &head.resource_version,
                self.helm.now(),
            )
            .await;
        match written {
            Ok(head) => {
                self.head = Some(head);
                Ok(())
            }
            Err(StorageError::Changed { .. }) => {
                let (namespace, name) = (&self.release.namespace, &self.release.name);
                let found = self
                    .helm
                    .storage()
                    .get(namespace, name, self.release.revision)
                    .await?;
                match found {
                    // The answer to an earlier try of this very write was lost.
                    Some(found)
                        if found.head.progress == progress
                            && found.release.info == self.release.info =>
                    {
                        self.head = Some(found.head);
                        Ok(())
                    }
                    _ => Err(StepError::Stopped(OperationError::Overtaken {
                        name: self.release.name.clone(),
                    })),
                }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Marks the revisions that this one replaces.
    pub(super) async fn supersede(&mut self) -> Result<Done, StepError> {
        let replaced = self.progress.operation == OperationKind::Install;
        for revision in self.progress.supersede.clone() {
            for last_try in [false, true] {
                let Some(stored) = self.stored(revision).await? else {
                    break;
                };
                let mut release = stored.release.clone();
                if release.info.status == ReleaseStatus::Superseded {
                    break;
                }
                release.info.status = ReleaseStatus::Superseded;
                if replaced {
                    "superseded by new release".clone_into(&mut release.info.description);
                }
                let version = stored.head.resource_version.clone();
                let written = self
                    .helm
                    .storage()
                    .update(&release, None, &version, self.helm.now())
                    .await;
                match written {
                    Ok(_) => break,
                    Err(StorageError::Changed { .. }) if !last_try => {
                        self.previous.remove(&revision);
                    }
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(Done::Yes)
    }

    pub(super) async fn record_success(&mut self) -> Result<Done, StepError> {
        self.succeed();
        self.write_record(None).await?;
        Ok(Done::Yes)
    }

    /// Says in the release that all went well.
    fn succeed(&mut self) {
        let description = match self.progress.operation {
            OperationKind::Install => "Install complete".to_owned(),
            OperationKind::Upgrade => "Upgrade complete".to_owned(),
            OperationKind::Rollback => {
                format!("Rollback to {}", self.release.info.rollback_revision)
            }
            OperationKind::Uninstall => "Uninstallation complete".to_owned(),
            OperationKind::Test => return,
        };
        self.release.info.description = self
            .progress
            .settings
            .description
            .clone()
            .unwrap_or(description);
        self.release.info.status = match self.progress.operation {
            OperationKind::Uninstall => ReleaseStatus::Uninstalled,
            _ => ReleaseStatus::Deployed,
        };
    }

    /// Removes all records, the newest last, so that a crash leaves the one that can be resumed.
    pub(super) async fn purge(&mut self) -> Result<Done, StepError> {
        let storage = self.helm.storage();
        let (namespace, name) = (&self.release.namespace, &self.release.name);
        let mut revisions: Vec<u32> = self.prune_history.clone();
        if revisions.is_empty() {
            revisions = storage
                .list(namespace, name)
                .await?
                .iter()
                .map(|head| head.revision)
                .collect();
        }
        revisions.retain(|revision| *revision != self.release.revision);
        futures::stream::iter(revisions)
            .map(|revision| storage.delete(namespace, name, revision))
            .buffered(self.helm.concurrency())
            .try_collect::<()>()
            .await?;
        storage
            .delete(namespace, name, self.release.revision)
            .await?;
        self.release.info.status = ReleaseStatus::Uninstalled;
        self.release.info.description = self
            .progress
            .settings
            .description
            .clone()
            .unwrap_or_else(|| "Uninstallation complete".to_owned());
        self.release.info.deleted = Some(ReleaseTime::from(self.helm.now()));
        Ok(Done::Yes)
    }

    /// An older revision, read once.
    pub(super) async fn stored(
        &mut self,
        revision: u32,
    ) -> Result<Option<&crate::storage::StoredRelease>, StepError> {
        if !self.previous.contains_key(&revision) {
            let (namespace, name) = (&self.release.namespace, &self.release.name);
            match self.helm.storage().get(namespace, name, revision).await {
                Ok(Some(found)) => {
                    self.previous.insert(revision, found);
                }
                Ok(None) => return Ok(None),
                Err(StorageError::Record(error)) => {
                    return Err(StepError::Failed(Failure::new(
                        FailureReason::Record,
                        error.to_string(),
                    )));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.previous.get(&revision))
    }
}
