//! PackageRevision: an immutable record of one state of a package that was applied (design, *PackageRevision*;
//! reference §1.4).
//!
//! The operator writes it, users read it. The spec never changes; the API server enforces that.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema::Rule;
use crate::serial::{is_false, is_zero_64};

crate::kind::kind! {
    /// One applied state of a package. Named `<package>-<revision>`.
    PackageRevision {
        plural: "packagerevisions", singular: "packagerevision", short: ["pkgrev"],
        spec: PackageRevisionSpec, status: PackageRevisionStatus
    }
}

/// History is never rewritten.
pub const IMMUTABLE_RULE: Rule = Rule {
    rule: "self.spec == oldSelf.spec",
    message: "spec is immutable",
};

/// The name of the revision object of this number.
pub fn revision_name(package: &str, revision: i64) -> String {
    format!("{package}-{revision}")
}

/// What was applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PackageRevisionSpec {
    /// Name of the package.
    #[schemars(length(min = 1, max = 63))]
    pub package: String,
    /// Number of the revision, from 1 on.
    #[schemars(range(min = 1))]
    pub revision: i64,
    /// Version of the package.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Variant of the package.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// Going back from this revision to the one before loses no data.
    #[serde(default, skip_serializing_if = "is_false")]
    pub rollback_safe: bool,
    /// Number of the revision whose state this one applied again.
    #[serde(default, skip_serializing_if = "is_zero_64")]
    pub restored_from: i64,
    /// The components, in the order in which they are applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub components: Vec<RevisionComponent>,
}

/// One component of a revision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RevisionComponent {
    /// Name of the component.
    pub name: String,
    /// Name of its release.
    pub release_name: String,
    /// Namespace of its release.
    pub namespace: String,
    /// Components that are applied before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// Digest of the chart that was rendered.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub chart_digest: String,
    /// Digest of the effective values.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub values_digest: String,
}

/// How far a revision has come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PackageRevisionStatus {
    /// Where the revision is in its life; absent right after its creation, which counts as Applying.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Why it failed, or what it waits for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When the phase became Applied or Failed; the wait before the next attempt counts from here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Time>,
    /// The failure is one that the same charts and values will always end in; it is not tried again by itself.
    #[serde(skip_serializing_if = "is_false")]
    pub permanent: bool,
    /// Components that were applied in this revision.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub components: Vec<RevisionComponentStatus>,
}

/// What one component of a revision became.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RevisionComponentStatus {
    /// Name of the component.
    pub name: String,
    /// The backend's own revision that this revision made or found; absent while there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_revision: Option<i64>,
    /// When this revision began to apply the component; its timeout counts from here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,
    /// The component became ready in this revision.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ready: bool,
}

/// Where a revision is in its life.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub enum Phase {
    /// Recorded, nothing done yet.
    Pending,
    /// Being applied.
    Applying,
    /// Applied; every component was ready.
    Applied,
    /// Given up.
    Failed,
    /// Given up and rolled back.
    RolledBack,
    /// Was applied; a later revision took its place.
    Superseded,
}

impl Phase {
    /// The phase as objects and tables show it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Applying => "Applying",
            Self::Applied => "Applied",
            Self::Failed => "Failed",
            Self::RolledBack => "RolledBack",
            Self::Superseded => "Superseded",
        }
    }

    /// Whether the state of the revision was in force at some time, so that one can go back to it.
    pub const fn was_applied(self) -> bool {
        matches!(self, Self::Applied | Self::Superseded)
    }
}

impl std::fmt::Display for Phase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl PackageRevision {
    /// The phase; a revision without one is being applied (reference §10, R7).
    pub fn phase(&self) -> Phase {
        self.status
            .as_ref()
            .and_then(|status| status.phase)
            .unwrap_or(Phase::Applying)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_round_trips_under_its_name() {
        let document = json!({
            "apiVersion": "kubepkg.dev/v1",
            "kind": "PackageRevision",
            "metadata": { "name": "cert-manager-3" },
            "spec": {
                "package": "cert-manager", "revision": 3, "version": "1.16.2", "variant": "default",
                "rollbackSafe": true, "restoredFrom": 1,
                "components": [{
                    "name": "c", "releaseName": "r", "namespace": "n", "dependsOn": ["a"],
                    "chartDigest": "sha256:1", "valuesDigest": "sha256:2"
                }]
            },
            "status": {
                "phase": "Applied", "message": "m", "finishedAt": "2026-01-02T03:04:05Z",
                "components": [{ "name": "c", "backendRevision": 7, "startedAt": "2026-01-02T03:04:05Z", "ready": true }]
            }
        });
        let revision: PackageRevision = serde_json::from_value(document.clone()).unwrap();
        assert_eq!(revision.phase(), Phase::Applied);
        assert_eq!(serde_json::to_value(&revision).unwrap(), document);
    }

    #[test]
    fn a_revision_without_a_phase_is_being_applied() {
        let revision: PackageRevision = serde_json::from_value(
            json!({ "metadata": {}, "spec": { "package": "a", "revision": 1 } }),
        )
        .unwrap();
        assert_eq!(revision.phase(), Phase::Applying);
        assert_eq!(revision_name("cert-manager", 3), "cert-manager-3");
    }

    #[test]
    fn only_states_that_were_in_force_can_be_restored() {
        let can: Vec<Phase> = [
            Phase::Pending,
            Phase::Applying,
            Phase::Applied,
            Phase::Failed,
            Phase::RolledBack,
            Phase::Superseded,
        ]
        .into_iter()
        .filter(|phase| phase.was_applied())
        .collect();
        assert_eq!(can, [Phase::Applied, Phase::Superseded]);
    }
}
