//! Repository: a subscription to a package index (design, *Installing from repositories*; reference §1.5).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::duration::{GoDuration, POSITIVE_DURATION_RULE};
use crate::schema::{Rule, rules};
use crate::serial::{is_false, is_zero, is_zero_64};

crate::kind::kind! {
    /// A package index that the cluster takes packages from.
    Repository {
        plural: "repositories", singular: "repository", short: ["pkgrepo"],
        spec: RepositorySpec, status: RepositoryStatus
    }
}

/// How often an index is fetched when a Repository says nothing.
pub const DEFAULT_INTERVAL: GoDuration = GoDuration::from_secs(600);

/// Where the index is and whom to trust.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RepositorySpec {
    /// Address of the index.
    #[schemars(length(min = 1))]
    pub url: String,
    /// Of the repositories that carry a package the one with the highest priority shadows the others.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub priority: i32,
    /// How often the index is fetched, in Go's syntax; 10m by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "default" = "10m",
        "x-kubernetes-validations" = rules(&[POSITIVE_DURATION_RULE])
    ))]
    pub interval: Option<GoDuration>,
    /// Public keys in PEM, any one of which signs the index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub public_keys: Vec<String>,
    /// A pinned root of trust.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// Accept an index that nobody signed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub allow_unsigned: bool,
}

/// A threshold that can be met.
pub const THRESHOLD_RULE: Rule = Rule {
    rule: "self.rootThreshold <= self.rootKeys.size()",
    message: "rootThreshold must not exceed the number of rootKeys",
};

/// The keys of root version 1, by which the chain of roots is checked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules(&[THRESHOLD_RULE])))]
pub struct Trust {
    /// Public keys in PEM.
    #[schemars(length(min = 1))]
    pub root_keys: Vec<String>,
    /// How many of them must sign; 1 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = 1))]
    pub root_threshold: Option<i32>,
}

/// What was accepted last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RepositoryStatus {
    /// Generation of the Repository that the operator acted on last.
    #[serde(skip_serializing_if = "is_zero_64")]
    pub observed_generation: i64,
    /// Ready.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// Packages in the accepted index.
    #[serde(skip_serializing_if = "is_zero")]
    pub packages: i32,
    /// Digest of the accepted index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index_digest: Option<Digest>,
    /// When the index was fetched last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_fetched: Option<Time>,
    /// When the accepted index was made; an older one is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index_generated: Option<Time>,
    /// Version of the accepted root; an older one is refused.
    #[serde(skip_serializing_if = "is_zero")]
    pub root_version: i32,
    /// Digest of the accepted root; another one of the same version is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root_digest: Option<Digest>,
}

impl RepositorySpec {
    /// How often the index is fetched.
    pub fn interval(&self) -> GoDuration {
        self.interval.unwrap_or(DEFAULT_INTERVAL)
    }

    /// The spec without what is equal to a default; the form that digests are taken over.
    #[must_use]
    pub fn without_defaults(&self) -> Self {
        let mut spec = self.clone();
        spec.interval = spec
            .interval
            .filter(|interval| *interval != DEFAULT_INTERVAL);
        if let Some(trust) = &mut spec.trust {
            trust.root_threshold = trust.root_threshold.filter(|threshold| *threshold != 1);
        }
        spec
    }
}

impl Trust {
    /// How many of the pinned keys must sign.
    pub fn root_threshold(&self) -> i32 {
        self.root_threshold.unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_round_trips_under_its_name() {
        let hex = "0".repeat(64);
        let document = json!({
            "apiVersion": "kubepkg.dev/v1", "kind": "Repository", "metadata": { "name": "main" },
            "spec": {
                "url": "https://packages.example.org/index.yaml", "priority": 10, "interval": "5m0s",
                "publicKeys": ["pem"], "trust": { "rootKeys": ["pem"], "rootThreshold": 2 }, "allowUnsigned": true
            },
            "status": {
                "observedGeneration": 1, "packages": 42, "indexDigest": format!("sha256:{hex}"),
                "lastFetched": "2026-01-02T03:04:05Z", "indexGenerated": "2026-01-02T03:04:05Z",
                "rootVersion": 3, "rootDigest": format!("sha256:{hex}")
            }
        });
        let repository: Repository = serde_json::from_value(document.clone()).unwrap();
        assert_eq!(serde_json::to_value(&repository).unwrap(), document);
        assert_eq!(repository.spec.without_defaults(), repository.spec);
    }

    #[test]
    fn defaults() {
        let spec: RepositorySpec =
            serde_json::from_value(json!({ "url": "u", "interval": "10m", "trust": { "rootKeys": ["k"], "rootThreshold": 1 } }))
                .unwrap();
        assert_eq!(
            serde_json::to_value(spec.without_defaults()).unwrap(),
            json!({ "url": "u", "trust": { "rootKeys": ["k"] } })
        );
        let spec: RepositorySpec = serde_json::from_value(json!({ "url": "u" })).unwrap();
        assert_eq!(spec.interval().to_string(), "10m0s");
    }
}
