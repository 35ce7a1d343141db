//! PackageSource: one package at one version (design, *PackageSource*; reference §1.2).
//!
//! The order of the fields of every struct here is part of the format: the digest of a repository's entry is
//! taken over the JSON with the fields in this order and empty ones left out (reference §2.3). New fields go to
//! the end of their struct and must be left out when empty. Nothing in a PackageSource has a default in the CRD,
//! because a default that the API server fills in would change that digest.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kubepkg_resolve::{UNVERSIONED, Version, VersionError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::capability::{Capability, InvalidCapability};
use crate::component::Component;
use crate::pattern::{CAPABILITY, DOTTED, OCI_URL, PINNED_IMAGE, SUBDOMAIN};
use crate::requirement::Requirement;
use crate::schema::{Rule, rules};
use crate::serial::{is_false, is_zero};

crate::kind::kind! {
    /// One package at one version: where its charts come from and how they are installed. The name is the
    /// package's name.
    PackageSource {
        plural: "packagesources", singular: "packagesource", short: ["pks"],
        #[serde(default)]
        spec: PackageSourceSpec, status: PackageSourceStatus
    }
}

/// The variant that is used when a Package names none.
pub const DEFAULT_VARIANT: &str = "default";

/// A tree needs its address.
pub const SOURCE_REF_RULE: Rule = Rule {
    rule: "self.kind == 'OCIArtifact' ? has(self.url) : has(self.name) && has(self.__namespace__)",
    message: "OCIArtifact needs url; GitRepository and OCIRepository need name and namespace",
};
/// What one version of a package consists of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PackageSourceSpec {
    /// Semantic version of this package; empty means unversioned, which satisfies only an empty constraint.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Number of this packaging of the version; of two builds of one version the higher is newer.
    #[serde(skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0))]
    pub build: i32,
    /// The package tree that components with a path are taken from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_ref: Option<SourceRef>,
    /// Capabilities that this package offers; its own name is always one of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(max = 253), regex(pattern = CAPABILITY)))]
    pub provides: Vec<String>,
    /// Package names or capabilities that must not be installed beside this package.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(max = 253), regex(pattern = CAPABILITY)))]
    pub conflicts: Vec<String>,
    /// Names of the CustomResourceDefinitions that this package owns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(max = 253), regex(pattern = DOTTED)))]
    pub crds: Vec<String>,
    /// Permissions that the package's workloads ask for; shown in plans, not enforced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// Whether a failed upgrade to this version may be rolled back; absent means that it may not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback: Option<Rollback>,
    /// The variants a Package can choose from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub variants: Vec<Variant>,
    /// Images that the package runs, each as `registry/path:tag@sha256:...`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(regex(pattern = PINNED_IMAGE)))]
    pub images: Vec<String>,
}

/// Where the package tree is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules(&[SOURCE_REF_RULE])))]
pub struct SourceRef {
    /// The kind of the source; only OCIArtifact can be installed.
    pub kind: SourceKind,
    /// Name of the Flux source, for the two Flux kinds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Namespace of the Flux source, for the two Flux kinds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Address of the tree, `oci://host/path[:tag][@sha256:...]`, for OCIArtifact.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(regex(pattern = OCI_URL))]
    pub url: String,
    /// Folder inside the tree that component paths start from; the root by default (`packages` for
    /// GitRepository).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
}

/// The kinds of source a tree can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SourceKind {
    /// A Flux source of earlier versions; accepted, not installable.
    GitRepository,
    /// A Flux source of earlier versions; accepted, not installable.
    OCIRepository,
    /// A package tree in an OCI registry.
    OCIArtifact,
}

/// What the package's workloads may do, as its author declares it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Permissions {
    /// Whether the rules hold in the whole cluster.
    #[serde(skip_serializing_if = "is_false")]
    pub cluster_wide: bool,
    /// RBAC rules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<PolicyRule>,
}

/// An RBAC rule, in the field order of Kubernetes' own type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(extend("required" = ["verbs"]))]
pub struct PolicyRule {
    /// Verbs; `*` is all. An entry without verbs is written as null, as Kubernetes' own type is.
    #[schemars(with = "Vec<String>")]
    pub verbs: Option<Vec<String>>,
    /// API groups; the empty string is the core group.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub api_groups: Vec<String>,
    /// Resources.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// Names of objects; empty is all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_names: Vec<String>,
    /// URL paths that are not resources.
    #[serde(rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    pub non_resource_urls: Vec<String>,
}

/// What going back from this version means.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Rollback {
    /// Rolling back from this version to the one before loses no data.
    #[serde(skip_serializing_if = "is_false")]
    pub safe: bool,
}

/// One way to install the package.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Variant {
    /// Name of the variant; `default` is used when a Package names none.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// Package names; the same as requirements without a version.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(max = 63), regex(pattern = SUBDOMAIN)))]
    pub depends_on: Vec<String>,
    /// What must be there before this package is installed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<Requirement>,
    /// Library charts in the tree that components share.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub libraries: Vec<Library>,
    /// The charts of this variant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub components: Vec<Component>,
}

/// A library chart of the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Library {
    /// Name that components use; the last element of the path when empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Folder inside the tree.
    #[schemars(length(min = 1))]
    pub path: String,
}

impl Library {
    /// The name that components use.
    pub fn known_as(&self) -> &str {
        if self.name.is_empty() {
            self.path
                .trim_end_matches('/')
                .rsplit('/')
                .next()
                .unwrap_or_default()
        } else {
            &self.name
        }
    }
}

/// What is known about a PackageSource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PackageSourceStatus {
    /// Standard conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    pub conditions: Vec<Condition>,
}

impl PackageSourceSpec {
    /// The version, with [`UNVERSIONED`] for a source that has none.
    pub fn version_or_unversioned(&self) -> &str {
        if self.version.is_empty() {
            UNVERSIONED
        } else {
            &self.version
        }
    }

    /// The version as a value to compare; [`UNVERSIONED`] for a source that has none.
    ///
    /// # Errors
    /// [`VersionError`] when the text is no version.
    pub fn parsed_version(&self) -> Result<Version, VersionError> {
        Version::parse(self.version_or_unversioned())
    }

    /// The variant of this name.
    pub fn variant(&self, name: &str) -> Option<&Variant> {
        self.variants.iter().find(|variant| variant.name == name)
    }

    /// Whether going back from this version is declared to lose no data.
    pub fn rollback_safe(&self) -> bool {
        self.rollback.as_ref().is_some_and(|rollback| rollback.safe)
    }

    /// What the package provides beside its own name.
    ///
    /// # Errors
    /// [`InvalidCapability`] for the first entry that is none.
    pub fn provided(&self) -> Result<Vec<Capability>, InvalidCapability> {
        self.provides
            .iter()
            .map(|text| Capability::new(text))
            .collect()
    }

    /// What the package does not tolerate beside it: names of packages or capabilities.
    ///
    /// # Errors
    /// [`InvalidCapability`] for the first entry that is neither.
    pub fn conflicting(&self) -> Result<Vec<Capability>, InvalidCapability> {
        self.conflicts
            .iter()
            .map(|text| Capability::new(text))
            .collect()
    }
}

impl Variant {
    /// Everything the variant requires: `dependsOn` first, each as a requirement without a version.
    pub fn requirements(&self) -> Vec<Requirement> {
        self.depends_on
            .iter()
            .map(|package| Requirement {
                package: package.clone(),
                ..Requirement::default()
            })
            .chain(self.requires.iter().cloned())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The example of the design document.
    #[test]
    fn the_designs_example_round_trips() {
        let document = json!({
            "version": "1.16.2",
            "provides": ["cert-manager", "api:cert-manager.io/v1"],
            "crds": ["certificates.cert-manager.io", "issuers.cert-manager.io"],
            "permissions": { "clusterWide": true, "rules": [{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }] },
            "rollback": { "safe": true },
            "variants": [{
                "name": "default",
                "requires": [
                    { "package": "networking", "version": ">=1.0.0 <2.0.0" },
                    { "capability": "api:monitoring.coreos.com/v1", "optional": true }
                ],
                "components": [{
                    "name": "cert-manager",
                    "chart": { "repository": "https://charts.jetstack.io", "name": "cert-manager", "version": "v1.16.2" },
                    "install": { "namespace": "cert-manager", "releaseName": "cert-manager" }
                }]
            }]
        });
        let spec: PackageSourceSpec = serde_json::from_value(document.clone()).unwrap();
        assert!(spec.rollback_safe());
        assert_eq!(serde_json::to_value(&spec).unwrap(), document);
    }

    #[test]
    fn empty_lists_and_strings_are_left_out() {
        let spec: PackageSourceSpec = serde_json::from_value(
            json!({ "conflicts": [], "version": "", "build": 0, "rollback": { "safe": false } }),
        )
        .unwrap();
        assert_eq!(serde_json::to_string(&spec).unwrap(), r#"{"rollback":{}}"#);
        assert_eq!(spec.version_or_unversioned(), "0.0.0-unversioned");
    }

    #[test]
    fn depends_on_is_a_requirement_without_a_version() {
        let variant: Variant = serde_json::from_value(
            json!({ "name": "default", "dependsOn": ["a"], "requires": [{ "capability": "x" }] }),
        )
        .unwrap();
        let texts: Vec<String> = variant
            .requirements()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(texts, ["package a", "capability x"]);
    }

    #[test]
    fn a_nameless_library_is_known_by_its_folder() {
        let library = |name: &str, path: &str| Library {
            name: name.into(),
            path: path.into(),
        };
        assert_eq!(library("", "libs/common/").known_as(), "common");
        assert_eq!(library("x", "libs/common").known_as(), "x");
    }
}
