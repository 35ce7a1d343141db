//! Records in the memory of the process, packed as in a cluster, so that what is read is what was written.
//! Helm's `memory` driver; for tests, and for dry runs that must leave nothing behind.

use super::{RecordHead, Storage, StorageError, StoredRelease};
use crate::release::secret::{self, user_labels};
use crate::release::{RecordLimits, Release};
use async_trait::async_trait;
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Namespace, name, revision.
type Key = (String, String, u32);

#[derive(Debug)]
struct Kept {
    payload: String,
    head: RecordHead,
}

/// A store in memory.
#[derive(Debug, Default)]
pub struct Memory {
    records: Mutex<(u64, BTreeMap<Key, Kept>)>,
    limits: RecordLimits,
}

impl Memory {
    fn records(&self) -> MutexGuard<'_, (u64, BTreeMap<Key, Kept>)> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(
        &self,
        release: &Release,
        progress: Option<&str>,
        now: Timestamp,
        allowed: impl FnOnce(Option<&RecordHead>) -> Result<(), StorageError>,
    ) -> Result<RecordHead, StorageError> {
        let payload = release.to_payload()?;
        let key = (
            release.namespace.clone(),
            release.name.clone(),
            release.revision,
        );
        let mut records = self.records();
        allowed(records.1.get(&key).map(|kept| &kept.head))?;
        records.0 += 1;
        let head = RecordHead {
            name: release.name.clone(),
            namespace: release.namespace.clone(),
            revision: release.revision,
            status: release.info.status.clone(),
            labels: user_labels(&release.labels),
            written: Timestamp::from_second(now.as_second()).ok(),
            progress: progress.map(str::to_owned),
            resource_version: records.0.to_string(),
        };
        let kept = Kept {
            payload,
            head: head.clone(),
        };
        records.1.insert(key, kept);
        Ok(head)
    }
}

#[async_trait]
impl Storage for Memory {
    async fn list(&self, namespace: &str, name: &str) -> Result<Vec<RecordHead>, StorageError> {
        let mut heads = self.list_all(namespace).await?;
        heads.retain(|head| head.name == name);
        Ok(heads)
    }

    async fn list_all(&self, namespace: &str) -> Result<Vec<RecordHead>, StorageError> {
        let records = self.records();
        let heads = records.1.values().map(|kept| kept.head.clone());
        Ok(heads
            .filter(|head| namespace.is_empty() || head.namespace == namespace)
            .collect())
    }

    async fn get(
        &self,
        namespace: &str,
        name: &str,
        revision: u32,
    ) -> Result<Option<StoredRelease>, StorageError> {
        let records = self.records();
        let key = (namespace.to_owned(), name.to_owned(), revision);
        let Some(kept) = records.1.get(&key) else {
            return Ok(None);
        };
        let key = secret::key(name, revision);
        let mut release = Release::from_payload(kept.payload.as_bytes(), &key, &self.limits)?;
        release.labels.clone_from(&kept.head.labels);
        let head = kept.head.clone();
        Ok(Some(StoredRelease { release, head }))
    }

    async fn create(
        &self,
        release: &Release,
        progress: Option<&str>,
        now: Timestamp,
    ) -> Result<RecordHead, StorageError> {
        let key = secret::key(&release.name, release.revision);
        self.put(release, progress, now, |known| match known {
            None => Ok(()),
            Some(_) => Err(StorageError::Exists { key }),
        })
    }

    async fn update(
        &self,
        release: &Release,
        progress: Option<&str>,
        resource_version: &str,
        now: Timestamp,
    ) -> Result<RecordHead, StorageError> {
        let key = secret::key(&release.name, release.revision);
        self.put(release, progress, now, |known| match known {
            Some(head) if head.resource_version == resource_version => Ok(()),
            _ => Err(StorageError::Changed { key }),
        })
    }

    async fn delete(&self, namespace: &str, name: &str, revision: u32) -> Result<(), StorageError> {
        let key = (namespace.to_owned(), name.to_owned(), revision);
        self.records().1.remove(&key);
        Ok(())
    }

    fn limit(&self) -> Option<usize> {
        None
    }
}
