//! Keeping custom resource definitions when their release lets go of them.
//!
//! Deleting a CRD deletes every object of its kind, so a release that stops rendering one, or is removed, leaves it in
//! place unless the package says otherwise: the operation is told so (`keep_crds`). For whoever removes the release with
//! another program, the live object bears the mark that Helm itself honours, `helm.sh/resource-policy: keep` (reference
//! §1.8), before the operation begins. CRDs that do not bear the release's own marks are not touched.

use std::collections::BTreeSet;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, Patch, PatchParams};
use kube::core::ObjectMeta;
use kube::core::PartialObjectMetaExt as _;
use kube::core::metadata::PartialObjectMeta;
use kubepkg_api::keys;
use kubepkg_helm::{RELEASE_NAME_ANNOTATION, RELEASE_NAMESPACE_ANNOTATION};
use serde_json::Value;

use super::MANAGER;
use crate::{BackendError, Placement};

/// The names of the CRDs in a release's manifest.
pub(super) fn names(manifest: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    // Helm separates documents at `---` at the beginning of a line.
    for document in format!("\n{manifest}").split("\n---") {
        if !document.contains("CustomResourceDefinition") {
            continue;
        }
        // A document that can't be read was not applied either.
        let Ok(object) = kubepkg_yaml::load(document.as_bytes()) else {
            continue;
        };
        let is_crd = object.get("kind").and_then(Value::as_str) == Some("CustomResourceDefinition");
        let name = object.pointer("/metadata/name").and_then(Value::as_str);
        if let (true, Some(name)) = (is_crd, name) {
            names.insert(name.to_owned());
        }
    }
    names
}

/// Marks CRDs of a release to be kept.
pub(super) async fn keep(
    client: &kube::Client,
    placement: &Placement,
    names: &BTreeSet<String>,
) -> Result<(), BackendError> {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    for name in names {
        let failed = |error: kube::Error| refused(name, &error);
        let Some(live) = crds.get_metadata_opt(name).await.map_err(failed)? else {
            continue;
        };
        if !ours(&live, placement) || kept(&live) {
            continue;
        }
        let patch = ObjectMeta {
            annotations: Some(
                [(
                    keys::HELM_RESOURCE_POLICY.to_owned(),
                    keys::HELM_KEEP.to_owned(),
                )]
                .into(),
            ),
            resource_version: live.metadata.resource_version.clone(),
            ..ObjectMeta::default()
        }
        .into_request_partial::<CustomResourceDefinition>();
        let parameters = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        crds.patch_metadata(name, &parameters, &Patch::Merge(&patch))
            .await
            .map_err(failed)?;
    }
    Ok(())
}

fn annotation<'a>(
    live: &'a PartialObjectMeta<CustomResourceDefinition>,
    key: &str,
) -> Option<&'a str> {
    live.metadata
        .annotations
        .as_ref()?
        .get(key)
        .map(String::as_str)
}

fn ours(live: &PartialObjectMeta<CustomResourceDefinition>, placement: &Placement) -> bool {
    annotation(live, RELEASE_NAME_ANNOTATION) == Some(&placement.release)
        && annotation(live, RELEASE_NAMESPACE_ANNOTATION) == Some(&placement.namespace)
}

fn kept(live: &PartialObjectMeta<CustomResourceDefinition>) -> bool {
    annotation(live, keys::HELM_RESOURCE_POLICY) == Some(keys::HELM_KEEP)
}

fn refused(name: &str, error: &kube::Error) -> BackendError {
    let what = format!("marking CRD {name} to be kept");
    let message = error.to_string();
    match error {
        kube::Error::Api(status) if status.code == 403 || status.code == 422 => {
            BackendError::Refused { what, message }
        }
        _ => BackendError::Unavailable { what, message },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_crds_among_other_documents() {
        let manifest = "---\n# Source: a/templates/crd.yaml\napiVersion: apiextensions.k8s.io/v1\n\
                        kind: CustomResourceDefinition\nmetadata:\n  name: widgets.example.org\n\
                        ---\nkind: ConfigMap\nmetadata:\n  name: CustomResourceDefinition\n\
                        ---\nkind: [CustomResourceDefinition\n";
        assert_eq!(
            names(manifest),
            BTreeSet::from(["widgets.example.org".to_owned()])
        );
    }
}
