//! The Secret that holds a record: its name, type and labels.
//! Source of the rules: Helm 4.3.1 `pkg/storage/driver/secrets.go`.

use super::record::{RecordError, Release, SYSTEM_LABELS};
use base64::Engine as _;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The type of record Secrets.
pub(crate) const SECRET_TYPE: &str = "helm.sh/release.v1";

/// Bytes that the API server accepts in one Secret.
const SECRET_BYTES: usize = 1 << 20;

/// Name of the Secret of a revision.
pub(crate) fn key(name: &str, revision: u32) -> String {
    format!("sh.helm.release.v1.{name}.v{revision}")
}

/// The Secret of a release. `stamp` is the text of the label `createdAt`, or of `modifiedAt` when a
/// resource version says that the Secret is being replaced.
pub(crate) fn secret_of(
    release: &Release,
    stamp: &str,
    resource_version: Option<&str>,
    annotations: Option<&BTreeMap<String, String>>,
) -> Result<Value, RecordError> {
    let payload = release.to_payload()?;
    if payload.len() > SECRET_BYTES {
        return Err(RecordError::TooLarge {
            bytes: payload.len(),
            limit: SECRET_BYTES,
        });
    }
    let mut labels = release.labels.clone();
    let stamp_label = if resource_version.is_some() {
        "modifiedAt"
    } else {
        "createdAt"
    };
    labels.insert(stamp_label.to_owned(), stamp.to_owned());
    labels.insert("name".to_owned(), release.name.clone());
    labels.insert("owner".to_owned(), "helm".to_owned());
    labels.insert("status".to_owned(), release.info.status.as_str().to_owned());
    labels.insert("version".to_owned(), release.revision.to_string());
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
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "type": SECRET_TYPE,
        "data": {"release": base64::engine::general_purpose::STANDARD.encode(payload)},
    }))
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
