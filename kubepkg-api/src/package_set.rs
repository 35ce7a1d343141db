//! PackageSet: what a hub writes into which member clusters, and at what pace (design, *Several clusters*;
//! reference §1.7).

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::package::PackageSpec;
use crate::pattern::SUBDOMAIN;
use crate::repository::RepositorySpec;
use crate::serial::{is_false, is_zero, is_zero_64};

crate::kind::kind! {
    /// Packages and repositories for a set of member clusters.
    PackageSet {
        plural: "packagesets", singular: "packageset", short: ["pkgset"],
        #[serde(default)]
        spec: PackageSetSpec, status: PackageSetStatus
    }
}

/// What goes where.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PackageSetSpec {
    /// Labels of the clusters; an empty selector selects all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_selector: Option<LabelSelector>,
    /// Repositories that each cluster gets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub repositories: Vec<SetRepository>,
    /// Packages that each cluster gets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub packages: Vec<SetPackage>,
    /// How a change goes through the clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollout: Option<Rollout>,
}

/// A repository of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetRepository {
    /// Name of the Repository in the members.
    #[schemars(length(max = 253), regex(pattern = SUBDOMAIN))]
    pub name: String,
    /// Its spec.
    pub spec: RepositorySpec,
}

/// A package of a set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetPackage {
    /// Name of the Package in the members.
    #[schemars(length(max = 63), regex(pattern = SUBDOMAIN))]
    pub name: String,
    /// Its spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<PackageSpec>,
}

/// How a change goes through the clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Rollout {
    /// The most clusters that take the change at once; 0 is no bound.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0))]
    pub max_in_progress: i32,
    /// Labels of the clusters that take the change before the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canary: Option<LabelSelector>,
    /// Stop once a cluster that took the change reports a failure; true by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = true))]
    pub pause_on_failure: Option<bool>,
}

impl Rollout {
    /// Whether a failure stops the rollout.
    pub fn pauses_on_failure(&self) -> bool {
        self.pause_on_failure.unwrap_or(true)
    }
}

/// How far the set has come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PackageSetStatus {
    /// Generation of the set that the hub acted on last.
    #[serde(skip_serializing_if = "is_zero_64")]
    pub observed_generation: i64,
    /// Ready and RolloutPaused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// The selected clusters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub clusters: Vec<SetCluster>,
    /// Clusters whose packages are all ready.
    #[serde(skip_serializing_if = "is_zero")]
    pub ready_clusters: i32,
    /// Clusters that have the current change.
    #[serde(skip_serializing_if = "is_zero")]
    pub updated_clusters: i32,
    /// The current change, 16 hexadecimal digits.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub change: String,
}

/// How far one cluster has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetCluster {
    /// Name of the cluster.
    pub name: String,
    /// Packages that are ready.
    pub ready: i32,
    /// Packages of the set.
    pub total: i32,
    /// What is wrong.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The cluster has the current change.
    #[serde(default, skip_serializing_if = "is_false")]
    pub updated: bool,
    /// Applied version of each package.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub versions: BTreeMap<String, String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_round_trips_under_its_name() {
        let document = json!({
            "apiVersion": "kubepkg.dev/v1", "kind": "PackageSet", "metadata": { "name": "base" },
            "spec": {
                "clusterSelector": { "matchLabels": { "env": "prod" } },
                "repositories": [{ "name": "main", "spec": { "url": "u" } }],
                "packages": [{ "name": "cert-manager", "spec": { "version": "~1.21" } }, { "name": "virtualization" }],
                "rollout": { "maxInProgress": 2, "canary": { "matchLabels": { "canary": "yes" } }, "pauseOnFailure": false }
            },
            "status": {
                "observedGeneration": 1,
                "clusters": [{ "name": "edge-1", "ready": 1, "total": 2, "message": "m", "updated": true, "versions": { "cert-manager": "1.21.2" } }],
                "readyClusters": 1, "updatedClusters": 1, "change": "0123456789abcdef"
            }
        });
        let set: PackageSet = serde_json::from_value(document.clone()).unwrap();
        assert_eq!(serde_json::to_value(&set).unwrap(), document);
        assert!(Rollout::default().pauses_on_failure());
    }
}
