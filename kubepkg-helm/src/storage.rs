//! Where release records are kept. [`Storage`] is the seam; [`Secrets`] is Helm's default store, one Secret
//! a revision. Listing asks for metadata only, because labels say all that deciding needs and payloads are
//! large. Every replacement carries the resource version that was read, so that two writers never undo each
//! other; a record that can't be decoded is reported and left as it is.

use crate::cluster::{ApiError, Call, Cluster, Verb};
use crate::release::secret::{self, SECRET_TYPE};
use crate::release::{RecordError, RecordLimits, Release, ReleaseStatus};
use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The annotation of a record that holds the progress of its operation. Helm ignores it, and drops it when
/// it writes the record itself.
pub const PROGRESS_ANNOTATION: &str = "helm.kubepkg.dev/progress";

/// Records listed in one answer.
const PAGE: &str = "500";

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
}

/// Helm's default store: Secrets in the namespace of the release.
#[derive(Clone, Debug)]
pub struct Secrets {
    cluster: Arc<Cluster>,
    limits: RecordLimits,
    field_manager: String,
}

impl Secrets {
    /// A store in a cluster.
    pub fn new(cluster: Arc<Cluster>, limits: RecordLimits, field_manager: &str) -> Self {
        Self {
            cluster,
            limits,
            field_manager: field_manager.to_owned(),
        }
    }

    fn path(namespace: &str, key: Option<&str>) -> String {
        use crate::cluster::escape;
        let collection = if namespace.is_empty() {
            "/api/v1/secrets".to_owned()
        } else {
            format!("/api/v1/namespaces/{}/secrets", escape(namespace))
        };
        match key {
            Some(key) => format!("{collection}/{}", escape(key)),
            None => collection,
        }
    }

    async fn heads(
        &self,
        namespace: &str,
        selector: &str,
    ) -> Result<Vec<RecordHead>, StorageError> {
        let mut heads = Vec::new();
        let mut next = String::new();
        loop {
            let fields = format!("type={SECRET_TYPE}");
            let query = [
                ("labelSelector", selector),
                ("fieldSelector", fields.as_str()),
                ("limit", PAGE),
                ("continue", next.as_str()),
            ];
            let shown = if next.is_empty() {
                query.get(..3)
            } else {
                query.get(..)
            };
            let call = Call::new(Verb::Get, Self::path(namespace, None))
                .query(shown.unwrap_or_default())
                .metadata_list();
            let answer = self
                .cluster
                .call(call)
                .await
                .map_err(|source| api(namespace, source))?;
            let items = answer.body.get("items").and_then(Value::as_array);
            heads.extend(items.into_iter().flatten().filter_map(head));
            match answer
                .body
                .pointer("/metadata/continue")
                .and_then(Value::as_str)
            {
                Some(token) if !token.is_empty() => token.clone_into(&mut next),
                _ => break,
            }
        }
        heads.sort_by(|a, b| {
            (&a.namespace, &a.name, a.revision).cmp(&(&b.namespace, &b.name, b.revision))
        });
        Ok(heads)
    }
}

fn api(namespace: &str, source: ApiError) -> StorageError {
    StorageError::Api {
        namespace: namespace.to_owned(),
        source,
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

fn annotations(progress: Option<&str>) -> Option<BTreeMap<String, String>> {
    progress.map(|text| BTreeMap::from([(PROGRESS_ANNOTATION.to_owned(), text.to_owned())]))
}

fn written(answer: &Value, key: &str) -> Result<RecordHead, StorageError> {
    head(answer).ok_or_else(|| {
        StorageError::Record(RecordError::Damaged {
            key: key.to_owned(),
            reason: "the server returned no labels".to_owned(),
        })
    })
}

#[async_trait]
impl Storage for Secrets {
    async fn list(&self, namespace: &str, name: &str) -> Result<Vec<RecordHead>, StorageError> {
        // What is no name of a release has no records, and must not become part of a selector.
        if crate::validate_release_name(name).is_err() {
            return Ok(Vec::new());
        }
        self.heads(namespace, &format!("name={name},owner=helm"))
            .await
    }

    async fn list_all(&self, namespace: &str) -> Result<Vec<RecordHead>, StorageError> {
        self.heads(namespace, "owner=helm").await
    }

    async fn list_labelled(
        &self,
        namespace: &str,
        label: &str,
        value: &str,
    ) -> Result<Vec<RecordHead>, StorageError> {
        // What is no value of a label must not become part of a selector.
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        if value.is_empty() || value.len() > 63 || !value.bytes().all(plain) {
            return Ok(Vec::new());
        }
        self.heads(namespace, &format!("owner=helm,{label}={value}"))
            .await
    }

    async fn get(
        &self,
        namespace: &str,
        name: &str,
        revision: u32,
    ) -> Result<Option<StoredRelease>, StorageError> {
        let key = secret::key(name, revision);
        let call = Call::new(Verb::Get, Self::path(namespace, Some(&key)));
        let body = match self.cluster.call(call).await {
            Ok(answer) => answer.body,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(source) => return Err(api(namespace, source)),
        };
        let payload = body
            .pointer("/data/release")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let damaged = |reason: String| RecordError::Damaged {
            key: key.clone(),
            reason,
        };
        let payload = {
            use base64::Engine as _;
            base64::engine::general_purpose::STANDARD
                .decode(payload)
                .map_err(|error| damaged(error.to_string()))?
        };
        let mut release = Release::from_payload(&payload, &key, &self.limits)?;
        let head = head(&body).ok_or_else(|| damaged("its labels are missing".to_owned()))?;
        release.labels.clone_from(&head.labels);
        Ok(Some(StoredRelease { release, head }))
    }

    async fn create(
        &self,
        release: &Release,
        progress: Option<&str>,
        now: Timestamp,
    ) -> Result<RecordHead, StorageError> {
        let key = secret::key(&release.name, release.revision);
        let stamp = now.as_second().to_string();
        let body = secret::secret_of(release, &stamp, None, annotations(progress).as_ref())?;
        let query = [("fieldManager", self.field_manager.as_str())];
        let call = Call::new(Verb::Post, Self::path(&release.namespace, None))
            .query(&query)
            .metadata_only()
            .body(&body);
        match self.cluster.call(call).await {
            Ok(answer) => written(&answer.body, &key),
            Err(error) if error.reason() == "AlreadyExists" => Err(StorageError::Exists { key }),
            Err(source) => Err(api(&release.namespace, source)),
        }
    }

    async fn update(
        &self,
        release: &Release,
        progress: Option<&str>,
        resource_version: &str,
        now: Timestamp,
    ) -> Result<RecordHead, StorageError> {
        let key = secret::key(&release.name, release.revision);
        let stamp = now.as_second().to_string();
        let body = secret::secret_of(
            release,
            &stamp,
            Some(resource_version),
            annotations(progress).as_ref(),
        )?;
        let query = [("fieldManager", self.field_manager.as_str())];
        let call = Call::new(Verb::Put, Self::path(&release.namespace, Some(&key)))
            .query(&query)
            .metadata_only()
            .body(&body);
        match self.cluster.call(call).await {
            Ok(answer) => written(&answer.body, &key),
            Err(error) if error.is_conflict() || error.is_not_found() => {
                Err(StorageError::Changed { key })
            }
            Err(source) => Err(api(&release.namespace, source)),
        }
    }

    async fn delete(&self, namespace: &str, name: &str, revision: u32) -> Result<(), StorageError> {
        let key = secret::key(name, revision);
        let call = Call::new(Verb::Delete, Self::path(namespace, Some(&key)));
        match self.cluster.call(call).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_not_found() => Ok(()),
            Err(source) => Err(api(namespace, source)),
        }
    }
}
