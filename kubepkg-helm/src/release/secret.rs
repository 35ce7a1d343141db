//! The Secret or `ConfigMap` that holds a record: its name, type and labels.
//! Source of the rules: Helm 4.3.1 `pkg/storage/driver/{secrets,cfgmaps}.go`.

use super::record::{RecordError, Release, SYSTEM_LABELS};
use crate::storage::RECORD_BYTES;
use base64::Engine as _;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The type of record Secrets.
pub(crate) const SECRET_TYPE: &str = "helm.sh/release.v1";

/// The kind of object that holds a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    Secret,
    ConfigMap,
}

/// Name of the Secret of a revision.
pub(crate) fn key(name: &str, revision: u32) -> String {
    format!("sh.helm.release.v1.{name}.v{revision}")
}

impl Holder {
    /// The resource in paths.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Holder::Secret => "secrets",
            Holder::ConfigMap => "configmaps",
        }
    }

    /// The payload in the object's data: encoded once more in a Secret, as it is in a `ConfigMap`.
    pub(crate) fn open(self, data: &str) -> Result<Vec<u8>, String> {
        match self {
            Holder::Secret => base64::engine::general_purpose::STANDARD
                .decode(data)
                .map_err(|error| error.to_string()),
            Holder::ConfigMap => Ok(data.as_bytes().to_vec()),
        }
    }

    /// The object of a release. `stamp` is the text of the label `createdAt`, or of `modifiedAt` when a
    /// resource version says that the object is being replaced.
    pub(crate) fn object_of(
        self,
        release: &Release,
        stamp: &str,
        resource_version: Option<&str>,
        annotations: Option<&BTreeMap<String, String>>,
    ) -> Result<Value, RecordError> {
        let payload = release.to_payload()?;
        if payload.len() > RECORD_BYTES {
            return Err(release.too_large(payload.len(), RECORD_BYTES));
        }
        let labels = labels_of(release, stamp, resource_version.is_some());
        let mut metadata = json!({
            "name": key(&release.name, release.revision),
            "namespace": release.namespace,
            "labels": labels,
        });
        if let (Some(version), Some(map)) = (resource_version, metadata.as_object_mut()) {
            map.insert("resourceVersion".to_owned(), json!(version));
        }
        if let (Some(annotations), Some(map)) = (annotations, metadata.as_object_mut()) {
            map.insert("annotations".to_owned(), json!(annotations));
        }
        Ok(match self {
            Holder::Secret => json!({
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": metadata,
                "type": SECRET_TYPE,
                "data": {"release": base64::engine::general_purpose::STANDARD.encode(payload)},
            }),
            Holder::ConfigMap => json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": metadata,
                "data": {"release": payload},
            }),
        })
    }
}

/// The labels of a record.
pub(crate) fn labels_of(
    release: &Release,
    stamp: &str,
    replaced: bool,
) -> BTreeMap<String, String> {
    let mut labels = release.labels.clone();
    let stamp_label = if replaced { "modifiedAt" } else { "createdAt" };
    labels.insert(stamp_label.to_owned(), stamp.to_owned());
    labels.insert("name".to_owned(), release.name.clone());
    labels.insert("owner".to_owned(), "helm".to_owned());
    labels.insert("status".to_owned(), release.info.status.as_str().to_owned());
    labels.insert("version".to_owned(), release.revision.to_string());
    labels
}

/// The labels that are not Helm's own.
pub(crate) fn user_labels(labels: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    labels
        .iter()
        .filter(|(key, _)| !SYSTEM_LABELS.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Refuses labels that are Helm's own.
pub(crate) fn check_labels(labels: &BTreeMap<String, String>) -> Result<(), RecordError> {
    match labels
        .keys()
        .find(|key| SYSTEM_LABELS.contains(&key.as_str()))
    {
        Some(label) => Err(RecordError::SystemLabel {
            label: label.clone(),
        }),
        None => Ok(()),
    }
}
