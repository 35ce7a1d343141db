//! Components: the charts of a package's variant and how each is installed (reference §1.2).
//!
//! The same rules about field order hold as in [`source`](crate::PackageSourceSpec). A component has exactly one
//! of `chart` and `path`; one without `install` is never installed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::digest::{Digest, InvalidDigest};
use crate::location::{ChartRepository, InvalidLocation};
use crate::pattern::{CHART_REPOSITORY, DIGEST};
use crate::schema::{Rule, rules};
use crate::serial::is_false;

/// A chart has one origin.
pub const ONE_CHART_RULE: Rule = Rule {
    rule: "has(self.path) != has(self.chart)",
    message: "set exactly one of path and chart",
};
/// A published chart is used as is.
pub const TREE_ONLY_RULE: Rule = Rule {
    rule: "!has(self.chart) || (!has(self.libraries) && !has(self.valuesFiles))",
    message: "libraries and valuesFiles apply to charts in the package tree only",
};

/// One chart of a package.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules(&[ONE_CHART_RULE, TREE_ONLY_RULE])))]
pub struct Component {
    /// Name of the component, unique in its variant.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// Chart folder inside the package tree.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// A published chart at an exact version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chart: Option<ChartRef>,
    /// How it is installed; a component without it never is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<Install>,
    /// Libraries of the variant that the chart uses, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub libraries: Vec<String>,
    /// Values files inside the chart: the first replaces values.yaml, later ones are merged over it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values_files: Vec<String>,
}

/// A chart in a Helm repository or an OCI registry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChartRef {
    /// Address of the repository: `https://...`, `http://...` or `oci://...`.
    #[schemars(regex(pattern = CHART_REPOSITORY))]
    pub repository: String,
    /// Name of the chart.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Exact version.
    #[schemars(length(min = 1))]
    pub version: String,
    /// Digest of the chart archive; an archive with another one is refused.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(regex(pattern = DIGEST))]
    pub digest: String,
}

impl ChartRef {
    /// Where the chart is published.
    ///
    /// # Errors
    /// [`InvalidLocation`] when the address has another scheme or no host.
    pub fn location(&self) -> Result<ChartRepository, InvalidLocation> {
        ChartRepository::new(&self.repository)
    }

    /// The digest the archive must have; `None` when it is not pinned.
    ///
    /// # Errors
    /// [`InvalidDigest`] when the text is not a digest.
    pub fn pinned(&self) -> Result<Option<Digest>, InvalidDigest> {
        if self.digest.is_empty() {
            Ok(None)
        } else {
            Digest::new(&self.digest).map(Some)
        }
    }
}

impl std::fmt::Display for ChartRef {
    /// `<repository>/<name> <version>`, for messages.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}/{} {}",
            self.repository.trim_end_matches('/'),
            self.name,
            self.version
        )
    }
}

/// How a component is installed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Install {
    /// Name of the release; the component's name when empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 53))]
    pub release_name: String,
    /// Namespace of the release.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 63))]
    pub namespace: String,
    /// The namespace is set to the privileged pod security level.
    #[serde(skip_serializing_if = "is_false")]
    pub privileged: bool,
    /// Components of the same variant that must be ready first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// What happens to the chart's `crds/` folder on upgrades; Skip when absent.
    #[serde(rename = "upgradeCRDs", skip_serializing_if = "Option::is_none")]
    pub upgrade_crds: Option<UpgradeCrds>,
    /// How Flux waits; ignored by other backends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_strategy: Option<WaitStrategy>,
    /// CEL expressions over custom resources that count for the component's health.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub health_check_exprs: Vec<HealthCheckExpr>,
    /// Makes the component a hook.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<InstallPhase>,
    /// Conditions of objects that must hold before the component counts as ready.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ready_when: Vec<ReadyWhen>,
}

/// What happens to CRDs in a chart's `crds/` folder on upgrades.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum UpgradeCrds {
    /// Nothing.
    Skip,
    /// New ones are created.
    Create,
    /// New ones are created, existing ones replaced.
    CreateReplace,
}

/// How Flux waits for a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WaitStrategy {
    /// The status of every object is polled.
    Poller,
    /// Helm's own wait.
    Legacy,
}

/// When a hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum InstallPhase {
    /// Before everything else, when a revision moves the package to another version.
    PreUpgrade,
}

/// Health of the custom resources of one kind, in CEL over their top-level fields.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthCheckExpr {
    /// API version of the resource.
    #[schemars(length(min = 1))]
    pub api_version: String,
    /// Kind of the resource.
    #[schemars(length(min = 1))]
    pub kind: String,
    /// True when the resource is healthy.
    #[schemars(length(min = 1))]
    pub current: String,
    /// True while the resource is getting there.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub in_progress: String,
    /// True when the resource failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failed: String,
}

/// A condition of one object that must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadyWhen {
    /// API version of the object.
    #[schemars(length(min = 1))]
    pub api_version: String,
    /// Kind of the object.
    #[schemars(length(min = 1))]
    pub kind: String,
    /// Name of the object.
    #[schemars(length(min = 1))]
    pub name: String,
    /// Namespace of the object; the component's by default, ignored for cluster-scoped kinds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Type of the condition.
    #[schemars(length(min = 1))]
    pub condition: String,
    /// Status that the condition must have; "True" when empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub status: String,
}

impl ReadyWhen {
    /// The status that the condition must have.
    pub fn wanted_status(&self) -> &str {
        if self.status.is_empty() {
            "True"
        } else {
            &self.status
        }
    }
}

impl Component {
    /// The name of the release this component makes; `None` for a component that is never installed.
    pub fn release_name(&self) -> Option<&str> {
        let install = self.install.as_ref()?;
        Some(if install.release_name.is_empty() {
            &self.name
        } else {
            &install.release_name
        })
    }

    /// Whether the component runs as a pre-upgrade hook.
    pub fn is_hook(&self) -> bool {
        self.install
            .as_ref()
            .is_some_and(|install| install.phase == Some(InstallPhase::PreUpgrade))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_round_trips_under_its_name() {
        let document = json!({
            "name": "c",
            "path": "charts/c",
            "install": {
                "releaseName": "r", "namespace": "n", "privileged": true, "dependsOn": ["a"],
                "upgradeCRDs": "CreateReplace", "waitStrategy": "poller",
                "healthCheckExprs": [{ "apiVersion": "v1", "kind": "X", "current": "true", "inProgress": "false", "failed": "false" }],
                "phase": "PreUpgrade",
                "readyWhen": [{ "apiVersion": "v1", "kind": "X", "name": "x", "namespace": "n", "condition": "Available", "status": "False" }]
            },
            "libraries": ["l"],
            "valuesFiles": ["values-ha.yaml"]
        });
        let component: Component = serde_json::from_value(document.clone()).unwrap();
        assert!(component.is_hook());
        assert_eq!(component.release_name(), Some("r"));
        assert_eq!(serde_json::to_value(&component).unwrap(), document);
    }

    #[test]
    fn defaults_of_names_and_states() {
        let component: Component = serde_json::from_value(json!({
            "name": "c", "path": "p",
            "install": { "readyWhen": [{ "apiVersion": "v1", "kind": "X", "name": "x", "condition": "Ready" }] }
        }))
        .unwrap();
        assert_eq!(component.release_name(), Some("c"));
        assert_eq!(
            component.install.unwrap().ready_when[0].wanted_status(),
            "True"
        );
        assert_eq!(Component::default().release_name(), None);
    }

    #[test]
    fn a_chart_reference_has_typed_parts() {
        let chart = ChartRef {
            repository: "https://charts.jetstack.io/".into(),
            name: "cert-manager".into(),
            version: "v1.16.2".into(),
            digest: String::new(),
        };
        assert_eq!(
            chart.to_string(),
            "https://charts.jetstack.io/cert-manager v1.16.2"
        );
        assert_eq!(chart.pinned(), Ok(None));
        assert!(
            ChartRef {
                digest: "sha256:1".into(),
                ..chart
            }
            .pinned()
            .is_err()
        );
    }
}
