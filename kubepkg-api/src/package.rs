//! Package: the wish that a package is installed, and what became of it (design, *Package*; reference §1.3).
//!
//! The name of the object is the name of the package. Defaults are filled in by the API server where they are the
//! same in every cluster; the variant has none, because packages that require this one may choose it.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kubepkg_resolve::{Constraint, ConstraintError, SatisfiesError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::duration::{GoDuration, POSITIVE_DURATION_RULE};
use crate::pattern::{CAPABILITY, SUBDOMAIN};
use crate::revision::Phase;
use crate::schema::{Rule, free_object, rules};
use crate::serial::is_zero_64;

crate::kind::kind! {
    /// The desired state: this package is installed, in this variant, at a version that matches this constraint.
    Package {
        plural: "packages", singular: "package", short: ["pkg", "pkgs"],
        #[serde(default)]
        spec: PackageSpec, status: PackageStatus
    }
}

/// Revisions that are kept when a Package says nothing.
pub const DEFAULT_REVISION_HISTORY_LIMIT: i32 = 10;
/// How long a component may take to become healthy when a Package says nothing.
pub const DEFAULT_UPGRADE_TIMEOUT: GoDuration = GoDuration::from_secs(600);
/// The most entries of `status.history`.
pub const STATUS_HISTORY_LIMIT: usize = 10;

/// The package's name is a label on everything that it consists of.
pub const NAME_LENGTH_RULE: Rule = Rule {
    rule: "self.metadata.name.size() <= 63",
    message: "a package name has at most 63 characters",
};

/// What the user wants of a package.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PackageSpec {
    /// Variant to install; when empty, the one that requiring packages ask for, else `default`.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 63))]
    pub variant: String,
    /// Constraint that the installed version satisfies, such as `~1.16`; empty is any version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Take the package from this Repository only; ignored when the PackageSource is hand-written.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 253), regex(pattern = SUBDOMAIN))]
    pub repository: String,
    /// Required packages or capabilities that are not waited for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(max = 253), regex(pattern = CAPABILITY)))]
    pub ignore_dependencies: Vec<String>,
    /// Overrides by component name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub components: BTreeMap<String, ComponentOverride>,
    /// How a new revision is applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upgrade: Option<Upgrade>,
    /// Revisions that are kept; 10 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = DEFAULT_REVISION_HISTORY_LIMIT))]
    pub revision_history_limit: Option<i32>,
    /// What happens to the package's CRDs when it is removed; Retain by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = CrdPolicy::default()))]
    pub crd_policy: Option<CrdPolicy>,
}

/// What a Package changes about one component.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ComponentOverride {
    /// Whether the component is installed; true by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Values of the component's chart, over all other layers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "free_object")]
    pub values: Option<Map<String, Value>>,
    /// Another release name, to adopt what is installed already.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 53))]
    pub release_name: String,
    /// Another namespace, to adopt what is installed already.
    #[serde(skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 63))]
    pub namespace: String,
}

/// How a new revision is applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Upgrade {
    /// Roll back the whole package on failure, if the version is rollback-safe; true by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = true))]
    pub atomic: Option<bool>,
    /// How long each component may take to become healthy, in Go's syntax; 10m by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend(
        "default" = "10m",
        "x-kubernetes-validations" = rules(&[POSITIVE_DURATION_RULE])
    ))]
    pub timeout: Option<GoDuration>,
}

/// What happens to a package's CRDs when it is removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CrdPolicy {
    /// They and their objects are kept.
    #[default]
    Retain,
    /// They are deleted, and every object of their kinds with them.
    Delete,
}

/// What became of a Package.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PackageStatus {
    /// Generation of the Package that the operator acted on last.
    #[serde(skip_serializing_if = "is_zero_64")]
    pub observed_generation: i64,
    /// Ready, with Reconciling or Stalled while it is not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
    /// Required packages and whether each is ready.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub dependencies: BTreeMap<String, DependencyStatus>,
    /// The version that is applied.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The variant that is applied.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// Number of the revision that is applied or being applied.
    #[serde(skip_serializing_if = "is_zero_64")]
    pub current_revision: i64,
    /// The last revisions, newest first, at most ten.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistoryEntry>,
    /// The next attempt after a failure; absent when nothing is tried again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
}

/// Whether a required package is ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DependencyStatus {
    /// It is.
    pub ready: bool,
}

/// One revision in short.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryEntry {
    /// Number of the revision.
    pub revision: i64,
    /// Version of the package.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// What became of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
}

/// When a failed revision is tried again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Retry {
    /// Failures in a row.
    pub attempts: i32,
    /// When the next attempt is due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt: Option<Time>,
}

impl PackageSpec {
    /// What the installed version must satisfy; `None` when any version will do.
    ///
    /// # Errors
    /// [`ConstraintError`] when the text is no constraint.
    pub fn constraint(&self) -> Result<Option<Constraint>, ConstraintError> {
        let text = self.version.trim();
        if text.is_empty() {
            Ok(None)
        } else {
            Constraint::parse(text).map(Some)
        }
    }

    /// Whether the installed version may be this one.
    ///
    /// # Errors
    /// [`SatisfiesError`] when the version or the constraint cannot be parsed.
    pub fn accepts(&self, version: &str) -> Result<bool, SatisfiesError> {
        kubepkg_resolve::satisfies(version, &self.version)
    }

    /// Whether a failed revision is rolled back as a whole.
    pub fn atomic(&self) -> bool {
        self.upgrade
            .as_ref()
            .and_then(|upgrade| upgrade.atomic)
            .unwrap_or(true)
    }

    /// How long each component may take to become healthy.
    pub fn upgrade_timeout(&self) -> GoDuration {
        self.upgrade
            .as_ref()
            .and_then(|upgrade| upgrade.timeout)
            .unwrap_or(DEFAULT_UPGRADE_TIMEOUT)
    }

    /// How many revisions are kept; at least one.
    pub fn history_limit(&self) -> usize {
        let limit = self
            .revision_history_limit
            .unwrap_or(DEFAULT_REVISION_HISTORY_LIMIT);
        usize::try_from(limit.max(1)).unwrap_or(1)
    }

    /// What happens to the package's CRDs when it is removed.
    pub fn crd_policy(&self) -> CrdPolicy {
        self.crd_policy.unwrap_or_default()
    }

    /// Whether the component is installed.
    pub fn is_enabled(&self, component: &str) -> bool {
        self.components
            .get(component)
            .and_then(|component| component.enabled)
            .unwrap_or(true)
    }

    /// The spec without what is equal to a default, so that a default that the API server filled in, or that a
    /// later version of the CRD adds, changes no digest (reference §10, O13).
    #[must_use]
    pub fn without_defaults(&self) -> Self {
        let mut spec = self.clone();
        spec.revision_history_limit = spec
            .revision_history_limit
            .filter(|n| *n != DEFAULT_REVISION_HISTORY_LIMIT);
        spec.crd_policy = spec
            .crd_policy
            .filter(|policy| *policy != CrdPolicy::default());
        if let Some(upgrade) = &mut spec.upgrade {
            upgrade.atomic = upgrade.atomic.filter(|atomic| !atomic);
            upgrade.timeout = upgrade
                .timeout
                .filter(|timeout| *timeout != DEFAULT_UPGRADE_TIMEOUT);
        }
        spec.upgrade = spec
            .upgrade
            .filter(|upgrade| *upgrade != Upgrade::default());
        for component in spec.components.values_mut() {
            component.enabled = component.enabled.filter(|enabled| !enabled);
            component.values = component.values.take().filter(|values| !values.is_empty());
        }
        spec.components
            .retain(|_, component| *component != ComponentOverride::default());
        spec
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_without_a_spec_is_a_package() {
        let package: Package =
            serde_json::from_value(json!({ "metadata": { "name": "cert-manager" } })).unwrap();
        assert_eq!(package.spec, PackageSpec::default());
        assert!(package.spec.atomic());
        assert_eq!(package.spec.upgrade_timeout().to_string(), "10m0s");
        assert_eq!(package.spec.history_limit(), 10);
        assert_eq!(package.spec.crd_policy(), CrdPolicy::Retain);
        assert!(package.spec.is_enabled("anything"));
    }

    #[test]
    fn every_field_round_trips_under_its_name() {
        let document = json!({
            "variant": "ha", "version": "~1.16", "repository": "main", "ignoreDependencies": ["ingress"],
            "components": { "c": { "enabled": false, "values": { "a": { "b": [1, "x", null] } }, "releaseName": "r", "namespace": "n" } },
            "upgrade": { "atomic": false, "timeout": "1h30m0s" },
            "revisionHistoryLimit": 3, "crdPolicy": "Delete"
        });
        let spec: PackageSpec = serde_json::from_value(document.clone()).unwrap();
        assert_eq!(serde_json::to_value(&spec).unwrap(), document);
        assert!(!spec.is_enabled("c"));
        assert_eq!(spec.without_defaults(), spec);

        let status = json!({
            "observedGeneration": 2,
            "conditions": [{ "type": "Ready", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "2026-01-02T03:04:05Z", "observedGeneration": 2 }],
            "dependencies": { "a": { "ready": true } },
            "version": "1.16.2", "variant": "ha", "currentRevision": 3,
            "history": [{ "revision": 3, "version": "1.16.2", "phase": "Applied" }],
            "retry": { "attempts": 2, "nextAttempt": "2026-01-02T03:04:05Z" }
        });
        let typed: PackageStatus = serde_json::from_value(status.clone()).unwrap();
        assert_eq!(serde_json::to_value(&typed).unwrap(), status);
    }

    #[test]
    fn what_equals_a_default_is_dropped() {
        let spec: PackageSpec = serde_json::from_value(json!({
            "revisionHistoryLimit": 10, "crdPolicy": "Retain", "upgrade": { "atomic": true, "timeout": "600s" },
            "components": { "c": { "enabled": true, "values": {} } }
        }))
        .unwrap();
        assert_eq!(spec.without_defaults(), PackageSpec::default());
    }

    #[test]
    fn versions_are_strings_with_typed_accessors() {
        let spec = PackageSpec {
            version: "~1.16".into(),
            ..PackageSpec::default()
        };
        assert_eq!(spec.accepts("1.16.2"), Ok(true));
        assert_eq!(spec.accepts("1.17.0"), Ok(false));
        assert!(spec.constraint().unwrap().is_some());
        assert!(PackageSpec::default().constraint().unwrap().is_none());
        assert!(
            PackageSpec {
                version: "=>=1".into(),
                ..spec
            }
            .constraint()
            .is_err()
        );
    }

    #[test]
    fn a_malformed_duration_is_an_error_with_its_text() {
        let error = serde_json::from_value::<PackageSpec>(
            json!({ "upgrade": { "timeout": "10 minutes" } }),
        )
        .unwrap_err();
        assert!(error.to_string().contains("10 minutes"), "{error}");
    }
}
