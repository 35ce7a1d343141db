//! Where release records are kept. [`Storage`] is the seam; [`Secrets`] is Helm's default store, one Secret
//! a revision; [`ConfigMaps`] is its other one, [`Memory`] one for tests and for rendering. Listing asks for metadata only, because labels say all that deciding needs and payloads are
//! large. Every replacement carries the resource version that was read, so that two writers never undo each
//! other; a record that can't be decoded is reported and left as it is.

mod memory;
mod objects;

pub use memory::Memory;
pub use objects::{ConfigMaps, Secrets};

use crate::cluster::ApiError;
use crate::release::secret;
use crate::release::{RecordError, Release, ReleaseStatus};
use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeMap;

/// The annotation of a record that holds the progress of its operation. Helm ignores it, and drops it when
/// it writes the record itself.
pub const PROGRESS_ANNOTATION: &str = "helm.kubepkg.dev/progress";

/// Bytes that the API server accepts in one Secret or `ConfigMap`.
pub(crate) const RECORD_BYTES: usize = 1 << 20;

/// Why records can't be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The API server said no, or nothing.
    #[error("release records of {namespace}: {source}")]
    Api {
        /// Namespace of the records.
        namespace: String,
        /// The failure.
        #[source]
        source: ApiError,
    },
    /// A record can't be decoded or encoded.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// There is such a revision already: somebody else was quicker.
    #[error("release: already exists")]
    Exists {
        /// Name of the Secret.
        key: String,
    },
    /// The record was changed since it was read.
    #[error("release record {key} was changed by somebody else")]
    Changed {
        /// Name of the Secret.
        key: String,
    },
}

impl StorageError {
    /// True when asking again later may help.
    pub fn is_transient(&self) -> bool {
        matches!(self, StorageError::Api { source, .. } if source.is_transient())
    }
}

/// What a record's labels and annotations say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordHead {
    /// Name of the release.
    pub name: String,
    /// Namespace of the record.
    pub namespace: String,
    /// Revision.
    pub revision: u32,
    /// Status.
    pub status: ReleaseStatus,
    /// Labels that a caller set.
    pub labels: BTreeMap<String, String>,
    /// When the record was last written, as far as its labels tell.
    pub written: Option<Timestamp>,
    /// Progress of an operation of this crate, still as text.
    pub progress: Option<String>,
    /// Resource version of the record.
    pub resource_version: String,
}

/// A record with its payload.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredRelease {
    /// The revision.
    pub release: Release,
    /// What stands around it.
    pub head: RecordHead,
}

/// A store of release records.
#[async_trait]
pub trait Storage: Send + Sync {
    /// The records of a release, oldest first, without payloads.
    async fn list(&self, namespace: &str, name: &str) -> Result<Vec<RecordHead>, StorageError>;
    /// The records of all releases in a namespace, or in all when it is empty, without payloads.
    async fn list_all(&self, namespace: &str) -> Result<Vec<RecordHead>, StorageError>;
    /// Those of them that bear a label with this value.
    async fn list_labelled(
        &self,
        namespace: &str,
        label: &str,
        value: &str,
    ) -> Result<Vec<RecordHead>, StorageError> {
        let mut heads = self.list_all(namespace).await?;
        heads.retain(|head| head.labels.get(label).is_some_and(|found| found == value));
        Ok(heads)
    }
    /// One record; `None` when there is none.
    async fn get(
        &self,
        namespace: &str,
        name: &str,
        revision: u32,
    ) -> Result<Option<StoredRelease>, StorageError>;
    /// Writes a record that must not exist yet.
    async fn create(
        &self,
        release: &Release,
        progress: Option<&str>,
        now: Timestamp,
    ) -> Result<RecordHead, StorageError>;
    /// Replaces a record that must still be at `resource_version`.
    async fn update(
        &self,
        release: &Release,
        progress: Option<&str>,
        resource_version: &str,
        now: Timestamp,
    ) -> Result<RecordHead, StorageError>;
    /// Removes a record; one that is gone already is fine.
    async fn delete(&self, namespace: &str, name: &str, revision: u32) -> Result<(), StorageError>;
    /// Bytes that the payload of a record may have; none when it does not matter.
    fn limit(&self) -> Option<usize> {
        Some(RECORD_BYTES)
    }
}

/// Reads what stands around a record. A Secret that has no revision in its labels is not one.
fn head(object: &Value) -> Option<RecordHead> {
    let metadata = object.get("metadata")?;
    let map = |key: &str| -> BTreeMap<String, String> {
        metadata
            .get(key)
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
            .collect()
    };
    let text = |key: &str| {
        metadata
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let labels = map("labels");
    let written = labels
        .get("modifiedAt")
        .or_else(|| labels.get("createdAt"))
        .and_then(|stamp| stamp.parse().ok())
        .and_then(|second| Timestamp::from_second(second).ok())
        .or_else(|| text("creationTimestamp").parse().ok());
    Some(RecordHead {
        name: labels.get("name")?.clone(),
        namespace: text("namespace"),
        revision: labels.get("version")?.parse().ok()?,
        status: labels
            .get("status")
            .map(String::as_str)
            .unwrap_or_default()
            .into(),
        labels: secret::user_labels(&labels),
        written,
        progress: map("annotations").remove(PROGRESS_ANNOTATION),
        resource_version: text("resourceVersion"),
    })
}
