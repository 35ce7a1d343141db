//! Cluster: a member that a hub installs packages into (design, *Several clusters*; reference §1.6).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::serial::is_zero_64;

crate::kind::kind! {
    /// A member cluster of a hub.
    Cluster {
        plural: "clusters", singular: "cluster", short: [],
        spec: ClusterSpec, status: ClusterStatus
    }
}

/// The key of the kubeconfig in its Secret when a Cluster says nothing.
pub const DEFAULT_KUBECONFIG_KEY: &str = "kubeconfig";

/// How the hub reaches the member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterSpec {
    /// Secret that holds the member's kubeconfig.
    pub kubeconfig_secret_ref: SecretKeyRef,
}

/// One key of a Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretKeyRef {
    /// Namespace of the Secret.
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Key in the Secret; `kubeconfig` by default.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(extend("default" = DEFAULT_KUBECONFIG_KEY))]
    pub key: String,
}

impl SecretKeyRef {
    /// The key, [`DEFAULT_KUBECONFIG_KEY`] when none is set.
    pub fn key(&self) -> &str {
        if self.key.is_empty() {
            DEFAULT_KUBECONFIG_KEY
        } else {
            &self.key
        }
    }
}

/// What the hub found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterStatus {
    /// Generation of the Cluster that the hub acted on last.
    #[serde(skip_serializing_if = "is_zero_64")]
    pub observed_generation: i64,
    /// Ready.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The member's Kubernetes version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kubernetes_version: String,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_round_trips_under_its_name() {
        let document = json!({
            "apiVersion": "kubepkg.dev/v1", "kind": "Cluster", "metadata": { "name": "edge-1", "labels": { "env": "prod" } },
            "spec": { "kubeconfigSecretRef": { "namespace": "kubepkg-system", "name": "cluster-edge-1", "key": "config" } },
            "status": { "observedGeneration": 1, "kubernetesVersion": "v1.36.0" }
        });
        let cluster: Cluster = serde_json::from_value(document.clone()).unwrap();
        assert_eq!(serde_json::to_value(&cluster).unwrap(), document);
        assert_eq!(SecretKeyRef::default().key(), "kubeconfig");
    }
}
