//! Records in objects of the cluster, as Helm's `secret` and `configmap` drivers keep them.
//! Source of the rules: Helm 4.3.1 `pkg/storage/driver/{secrets,cfgmaps}.go`.

use super::{PROGRESS_ANNOTATION, RecordHead, Storage, StorageError, StoredRelease, head};
use crate::cluster::{ApiError, Call, Cluster, Verb};
use crate::release::secret::{self, Holder, SECRET_TYPE};
use crate::release::{RecordError, RecordLimits, Release};
use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Records listed in one answer.
const PAGE: &str = "500";

/// Records in objects of one kind.
#[derive(Clone, Debug)]
struct Objects {
    holder: Holder,
    cluster: Arc<Cluster>,
    limits: RecordLimits,
    field_manager: String,
}

macro_rules! store {
    ($(#[$doc:meta])* $name:ident, $holder:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name(Objects);

        impl $name {
            /// A store in a cluster.
            pub fn new(cluster: Arc<Cluster>, limits: RecordLimits, field_manager: &str) -> Self {
                Self(Objects {
                    holder: $holder,
                    cluster,
                    limits,
                    field_manager: field_manager.to_owned(),
                })
            }
        }

        #[async_trait]
        impl Storage for $name {
            async fn list(&self, namespace: &str, name: &str) -> Result<Vec<RecordHead>, StorageError> {
                self.0.list(namespace, name).await
            }

            async fn list_all(&self, namespace: &str) -> Result<Vec<RecordHead>, StorageError> {
                self.0.heads(namespace, "owner=helm").await
            }

            async fn list_labelled(
                &self,
                namespace: &str,
                label: &str,
                value: &str,
            ) -> Result<Vec<RecordHead>, StorageError> {
                self.0.list_labelled(namespace, label, value).await
            }

            async fn get(
                &self,
                namespace: &str,
                name: &str,
                revision: u32,
            ) -> Result<Option<StoredRelease>, StorageError> {
                self.0.get(namespace, name, revision).await
            }

            async fn create(
                &self,
                release: &Release,
                progress: Option<&str>,
                now: Timestamp,
            ) -> Result<RecordHead, StorageError> {
                self.0.put(release, progress, None, now).await
            }

            async fn update(
                &self,
                release: &Release,
                progress: Option<&str>,
                resource_version: &str,
                now: Timestamp,
            ) -> Result<RecordHead, StorageError> {
                self.0.put(release, progress, Some(resource_version), now).await
            }

            async fn delete(
                &self,
                namespace: &str,
                name: &str,
                revision: u32,
            ) -> Result<(), StorageError> {
                self.0.delete(namespace, name, revision).await
            }
        }
    };
}

store! {
    /// Helm's default store: Secrets in the namespace of the release.
    Secrets, Holder::Secret
}

store! {
    /// `ConfigMap`s in the namespace of the release: Helm with `HELM_DRIVER=configmap`.
    ConfigMaps, Holder::ConfigMap
}

impl Objects {
    fn path(&self, namespace: &str, key: Option<&str>) -> String {
        use crate::cluster::escape;
        let collection = if namespace.is_empty() {
            format!("/api/v1/{}", self.holder.plural())
        } else {
            format!(
                "/api/v1/namespaces/{}/{}",
                escape(namespace),
                self.holder.plural()
            )
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
            let mut query = vec![("labelSelector", selector), ("limit", PAGE)];
            if self.holder == Holder::Secret {
                query.push(("fieldSelector", fields.as_str()));
            }
            if !next.is_empty() {
                query.push(("continue", next.as_str()));
            }
            let call = Call::new(Verb::Get, self.path(namespace, None))
                .query(&query)
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

    async fn list(&self, namespace: &str, name: &str) -> Result<Vec<RecordHead>, StorageError> {
        // What is no name of a release has no records, and must not become part of a selector.
        if crate::validate_release_name(name).is_err() {
            return Ok(Vec::new());
        }
        self.heads(namespace, &format!("name={name},owner=helm"))
            .await
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
        let call = Call::new(Verb::Get, self.path(namespace, Some(&key)));
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
        let payload = self.holder.open(payload).map_err(damaged)?;
        let mut release = Release::from_payload(&payload, &key, &self.limits)?;
        let head = head(&body).ok_or_else(|| damaged("its labels are missing".to_owned()))?;
        release.labels.clone_from(&head.labels);
        Ok(Some(StoredRelease { release, head }))
    }

    /// Creates the record, or replaces the one that has this version.
    async fn put(
        &self,
        release: &Release,
        progress: Option<&str>,
        resource_version: Option<&str>,
        now: Timestamp,
    ) -> Result<RecordHead, StorageError> {
        let key = secret::key(&release.name, release.revision);
        let stamp = now.as_second().to_string();
        let body = self.holder.object_of(
            release,
            &stamp,
            resource_version,
            annotations(progress).as_ref(),
        )?;
        let (verb, target) = match resource_version {
            None => (Verb::Post, None),
            Some(_) => (Verb::Put, Some(key.as_str())),
        };
        let query = [("fieldManager", self.field_manager.as_str())];
        let call = Call::new(verb, self.path(&release.namespace, target))
            .query(&query)
            .metadata_only()
            .body(&body);
        match (self.cluster.call(call).await, resource_version) {
            (Ok(answer), _) => written(&answer.body, &key),
            (Err(error), None) if error.reason() == "AlreadyExists" => {
                Err(StorageError::Exists { key })
            }
            (Err(error), Some(_)) if error.is_conflict() || error.is_not_found() => {
                Err(StorageError::Changed { key })
            }
            (Err(source), _) => Err(api(&release.namespace, source)),
        }
    }

    async fn delete(&self, namespace: &str, name: &str, revision: u32) -> Result<(), StorageError> {
        let key = secret::key(name, revision);
        let call = Call::new(Verb::Delete, self.path(namespace, Some(&key)));
        match self.cluster.call(call).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_not_found() => Ok(()),
            Err(source) => Err(api(namespace, source)),
        }
    }
}

fn api(namespace: &str, source: ApiError) -> StorageError {
    StorageError::Api {
        namespace: namespace.to_owned(),
        source,
    }
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
