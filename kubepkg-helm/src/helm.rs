//! The front door: a [`Helm`] is a cluster, a store of release records and a few choices. It answers what
//! there is (`latest`, `history`, `get`, `list`), begins and resumes operations, and offers the calls that a
//! program without its own loop wants (`install`, `upgrade`, `rollback`, `uninstall`).

use crate::apply::Writer;
use crate::clock::{Clock, SystemClock};
use crate::cluster::Cluster;
use crate::operation::{OperationError, Outcome, RollbackRequest, UninstallRequest};
use crate::progress::Progress;
use crate::release::{RecordLimits, Release, ReleaseStatus};
use crate::storage::{RecordHead, Secrets, Storage};
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Duration;

/// Choices that hold for all operations of a [`Helm`].
#[derive(Clone)]
pub struct HelmOptions {
    /// Field manager of objects; `helm`, so that Helm itself can go on with a release.
    pub field_manager: String,
    /// Field manager of the chart's `crds/` when they are replaced; the same as `field_manager` when none.
    pub crd_field_manager: Option<String>,
    /// `User-Agent` of requests; the client's own when none.
    pub user_agent: Option<String>,
    /// Bounds on records that are read.
    pub record_limits: RecordLimits,
    /// Requests under way at a time in one step of one operation; at least 1.
    pub concurrency: usize,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Renders where it is called from and not on a thread that may block, for simulations in which one thread does
    /// everything in an order that can be repeated. Templates that call `lookup` fail then.
    pub inline: bool,
}

impl Default for HelmOptions {
    fn default() -> Self {
        Self {
            field_manager: "helm".to_owned(),
            crd_field_manager: None,
            user_agent: None,
            record_limits: RecordLimits::default(),
            concurrency: 8,
            clock: Arc::new(SystemClock),
            inline: false,
        }
    }
}

impl std::fmt::Debug for HelmOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HelmOptions")
            .field("field_manager", &self.field_manager)
            .field("user_agent", &self.user_agent)
            .field("concurrency", &self.concurrency)
            .finish_non_exhaustive()
    }
}

struct Inner {
    cluster: Arc<Cluster>,
    storage: Arc<dyn Storage>,
    options: HelmOptions,
}

/// Helm on one cluster. Cheap to clone; discovery is shared between clones.
#[derive(Clone)]
pub struct Helm(Arc<Inner>);

impl std::fmt::Debug for Helm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Helm").field(&self.0.options).finish()
    }
}

impl Helm {
    /// Helm behind a client, with records in Secrets.
    pub fn new(client: kube::Client, options: HelmOptions) -> Self {
        let cluster = Arc::new(Cluster::new(client, options.user_agent.as_deref()));
        let storage = Secrets::new(
            Arc::clone(&cluster),
            options.record_limits,
            &options.field_manager,
        );
        Self::with_storage(cluster, Arc::new(storage), options)
    }

    /// Helm on a cluster, with records in a store of the caller's.
    pub fn with_storage(
        cluster: Arc<Cluster>,
        storage: Arc<dyn Storage>,
        options: HelmOptions,
    ) -> Self {
        Self(Arc::new(Inner {
            cluster,
            storage,
            options,
        }))
    }

    /// The cluster and what is known about its kinds.
    pub fn cluster(&self) -> &Cluster {
        &self.0.cluster
    }

    pub(crate) fn shared_cluster(&self) -> Arc<Cluster> {
        Arc::clone(&self.0.cluster)
    }

    /// The store of release records.
    pub fn storage(&self) -> &dyn Storage {
        &*self.0.storage
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.0.options.clock.now()
    }

    pub(crate) fn is_inline(&self) -> bool {
        self.0.options.inline
    }

    pub(crate) fn field_manager(&self) -> &str {
        &self.0.options.field_manager
    }

    pub(crate) fn concurrency(&self) -> usize {
        self.0.options.concurrency.max(1)
    }

    pub(crate) fn writer(&self) -> Writer<'_> {
        Writer {
            cluster: self.cluster(),
            field_manager: self.field_manager(),
        }
    }

    pub(crate) fn crd_writer(&self) -> Writer<'_> {
        let manager = self.0.options.crd_field_manager.as_deref();
        Writer {
            cluster: self.cluster(),
            field_manager: manager.unwrap_or(&self.0.options.field_manager),
        }
    }

    /// The newest record of a release, without its payload: revision, status, labels, progress. One request.
    ///
    /// # Errors
    /// When records can't be listed.
    pub async fn latest(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<RecordHead>, OperationError> {
        Ok(self.storage().list(namespace, name).await?.pop())
    }

    /// All records of a release, oldest first, without payloads. One request.
    ///
    /// # Errors
    /// When records can't be listed.
    pub async fn history(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Vec<RecordHead>, OperationError> {
        Ok(self.storage().list(namespace, name).await?)
    }

    /// The newest records of all releases of a namespace (of all namespaces when it is empty).
    ///
    /// # Errors
    /// When records can't be listed.
    pub async fn list(&self, namespace: &str) -> Result<Vec<RecordHead>, OperationError> {
        let mut newest: Vec<RecordHead> = Vec::new();
        for head in self.storage().list_all(namespace).await? {
            match newest.last_mut() {
                Some(last) if last.name == head.name && last.namespace == head.namespace => {
                    *last = head;
                }
                _ => newest.push(head),
            }
        }
        Ok(newest)
    }

    /// The records, of all releases of a namespace (of all namespaces when it is empty), that bear a label with this
    /// value; without payloads. None bears a value that is no value of a label.
    ///
    /// # Errors
    /// When records can't be listed.
    pub async fn list_labelled(
        &self,
        namespace: &str,
        label: &str,
        value: &str,
    ) -> Result<Vec<RecordHead>, OperationError> {
        Ok(self
            .storage()
            .list_labelled(namespace, label, value)
            .await?)
    }

    /// One revision with everything that is recorded; the newest when `revision` is none.
    ///
    /// # Errors
    /// When there is none, or its record is damaged or can't be read.
    pub async fn get(
        &self,
        namespace: &str,
        name: &str,
        revision: Option<u32>,
    ) -> Result<Release, OperationError> {
        let not_found = || OperationError::NotFound {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
        };
        let revision = match revision {
            Some(revision) => revision,
            None => {
                self.latest(namespace, name)
                    .await?
                    .ok_or_else(not_found)?
                    .revision
            }
        };
        let stored = self.storage().get(namespace, name, revision).await?;
        Ok(stored.ok_or_else(not_found)?.release)
    }

    /// The newest revision with everything that is recorded.
    ///
    /// # Errors
    /// When there is none, or its record is damaged or can't be read.
    pub async fn status(&self, namespace: &str, name: &str) -> Result<Release, OperationError> {
        self.get(namespace, name, None).await
    }

    /// Rolls back and waits for the end.
    ///
    /// # Errors
    /// When it can't begin or its record can't be kept; a failed rollback is an [`Outcome`].
    pub async fn rollback(&self, request: RollbackRequest) -> Result<Outcome, OperationError> {
        self.begin_rollback(request).await?.run().await
    }

    /// Removes a release and waits for the end.
    ///
    /// # Errors
    /// When it can't begin or its record can't be kept; a failed removal is an [`Outcome`].
    pub async fn uninstall(&self, request: UninstallRequest) -> Result<Outcome, OperationError> {
        self.begin_uninstall(request).await?.run().await
    }

    /// Gives up an operation that ended with its process: a record that is pending without progress of this
    /// crate (or with it) and was last written at least `older_than` ago is marked as failed.
    ///
    /// # Errors
    /// When the newest revision is not pending, or too young, or can't be written.
    pub async fn recover_interrupted(
        &self,
        namespace: &str,
        name: &str,
        older_than: Duration,
    ) -> Result<Release, OperationError> {
        let Some(head) = self.latest(namespace, name).await? else {
            return Err(OperationError::NotFound {
                name: name.to_owned(),
                namespace: namespace.to_owned(),
            });
        };
        if !head.status.is_pending() {
            return Err(OperationError::NothingToResume {
                name: name.to_owned(),
                revision: head.revision,
                status: head.status,
            });
        }
        let age = head.written.map_or(jiff::SignedDuration::MAX, |since| {
            self.now().duration_since(since)
        });
        let needed =
            jiff::SignedDuration::try_from(older_than).unwrap_or(jiff::SignedDuration::MAX);
        if age < needed {
            return Err(OperationError::TooYoung {
                name: name.to_owned(),
                status: head.status,
                since: head.written,
                wait_seconds: needed.saturating_sub(age).as_secs().saturating_add(1),
            });
        }
        let stored = self.storage().get(namespace, name, head.revision).await?;
        let Some(stored) = stored else {
            return Err(OperationError::Overtaken {
                name: name.to_owned(),
            });
        };
        let mut release = stored.release;
        let since = head
            .written
            .map(|since| since.to_string())
            .unwrap_or_default();
        release.info.description = format!(
            "the process that ran this operation ended ({} since {since})",
            release.info.status
        );
        release.info.status = ReleaseStatus::Failed;
        let version = &stored.head.resource_version;
        self.storage()
            .update(&release, None, version, self.now())
            .await?;
        Ok(release)
    }
}

impl RecordHead {
    /// The operation of this crate that is under way on this revision, if any.
    pub fn operation(&self) -> Option<Progress> {
        self.progress.as_deref().and_then(Progress::parse)
    }
}
