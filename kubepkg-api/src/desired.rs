//! The digests that tell one state of a package from another (reference §2.3).
//!
//! A field that is added to a kind is left out while it is empty and a value equal to its default is dropped, so
//! neither a newer operator nor a default filled in by the API server makes new revisions everywhere (reference
//! §10, O13). A test pins the digests of old objects.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::canonical::{self, CanonicalError};
use crate::digest::Digest;
use crate::package::PackageSpec;
use crate::package_set::{PackageSetSpec, SetPackage, SetRepository};
use crate::source::PackageSourceSpec;

/// Everything that decides what is installed of a package.
#[derive(Clone, Copy, Debug)]
pub struct Desired<'a> {
    /// What the user wants.
    pub package: &'a PackageSpec,
    /// The source that was chosen.
    pub source: &'a PackageSourceSpec,
    /// The value of the [`RETRY`](crate::keys::RETRY) annotation, empty without one.
    pub retry: &'a str,
    /// The variant that requiring packages chose; empty when the Package's own or the default one holds.
    pub passed_variant: &'a str,
    /// Values that requiring packages pass, by component.
    pub passed_values: &'a BTreeMap<String, Map<String, Value>>,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct DesiredDocument<'a> {
    package: &'a PackageSpec,
    retry: &'a str,
    source: &'a PackageSourceSpec,
    #[serde(skip_serializing_if = "str::is_empty")]
    variant: &'a str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    values: &'a BTreeMap<String, Map<String, Value>>,
}

impl Desired<'_> {
    /// The desired digest, which a revision carries as
    /// [`DESIRED_DIGEST`](crate::keys::DESIRED_DIGEST).
    ///
    /// # Errors
    /// Never for values that came from JSON; see [`CanonicalError`].
    pub fn digest(&self) -> Result<Digest, CanonicalError> {
        canonical::digest(&DesiredDocument {
            package: &self.package.without_defaults(),
            retry: self.retry,
            source: self.source,
            variant: self.passed_variant,
            values: self.passed_values,
        })
    }
}

/// The digest of a package version's spec, by which an index pins it.
///
/// # Errors
/// Never for values that came from JSON; see [`CanonicalError`].
pub fn spec_digest(spec: &PackageSourceSpec) -> Result<Digest, CanonicalError> {
    canonical::digest(spec)
}

/// The digest of a component's values.
///
/// # Errors
/// Never for values that came from JSON; see [`CanonicalError`].
pub fn values_digest(values: &Map<String, Value>) -> Result<Digest, CanonicalError> {
    canonical::digest(values)
}

/// The change that a set's objects carry: the first 16 digits of the digest of what the set writes.
///
/// # Errors
/// Never for values that came from JSON; see [`CanonicalError`].
pub fn set_change(set: &PackageSetSpec) -> Result<String, CanonicalError> {
    #[derive(Serialize)]
    #[serde(rename_all = "PascalCase")]
    struct Change {
        repositories: Vec<SetRepository>,
        packages: Vec<SetPackage>,
    }

    let repositories = set
        .repositories
        .iter()
        .map(|repository| SetRepository {
            name: repository.name.clone(),
            spec: repository.spec.without_defaults(),
        })
        .collect();
    let packages = set
        .packages
        .iter()
        .map(|package| SetPackage {
            name: package.name.clone(),
            spec: package
                .spec
                .as_ref()
                .map(PackageSpec::without_defaults)
                .filter(|spec| *spec != PackageSpec::default()),
        })
        .collect();
    let digest = canonical::digest(&Change {
        repositories,
        packages,
    })?;
    Ok(digest.hex().chars().take(16).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Test vector A of the reference.
    #[test]
    fn spec_digest_of_vector_a() {
        let spec: PackageSourceSpec = serde_json::from_value(json!({
            "variants": [{
                "components": [{
                    "install": {
                        "readyWhen": [{ "condition": "Available", "name": "x", "kind": "X", "apiVersion": "v1" }],
                        "namespace": "cert-manager"
                    },
                    "chart": {
                        "digest": "sha256:0000000000000000000000000000000000000000000000000000000000000000",
                        "version": "v1.16.2", "name": "cert-manager", "repository": "https://charts.jetstack.io"
                    },
                    "name": "cert-manager"
                }],
                "requires": [
                    { "version": ">=1.0.0 <2.0.0", "package": "networking" },
                    { "optional": true, "capability": "api:monitoring.coreos.com/v1" }
                ],
                "name": "default"
            }],
            "rollback": { "safe": false },
            "permissions": { "rules": [{ "resources": ["*"], "apiGroups": ["*"], "verbs": ["*"] }], "clusterWide": true },
            "crds": ["issuers.cert-manager.io"],
            "provides": ["cert-manager", "api:cert-manager.io/v1"],
            "build": 1,
            "version": "1.16.2"
        }))
        .unwrap();
        let bytes = String::from_utf8(canonical::to_vec(&spec).unwrap()).unwrap();
        assert_eq!(
            bytes,
            r#"{"version":"1.16.2","build":1,"provides":["cert-manager","api:cert-manager.io/v1"],"crds":["issuers.cert-manager.io"],"permissions":{"clusterWide":true,"rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]},"rollback":{},"variants":[{"name":"default","requires":[{"package":"networking","version":"\u003e=1.0.0 \u003c2.0.0"},{"capability":"api:monitoring.coreos.com/v1","optional":true}],"components":[{"name":"cert-manager","chart":{"repository":"https://charts.jetstack.io","name":"cert-manager","version":"v1.16.2","digest":"sha256:0000000000000000000000000000000000000000000000000000000000000000"},"install":{"namespace":"cert-manager","readyWhen":[{"apiVersion":"v1","kind":"X","name":"x","condition":"Available"}]}}]}]}"#
        );
        assert_eq!(
            spec_digest(&spec).unwrap().as_str(),
            "sha256:85110e319686ca5892cbd217967eb1c01fdb757f0bce1f24c4ff5162cb394e59"
        );
    }

    /// The digest of `{}` in the reference.
    #[test]
    fn values_digest_of_no_values() {
        assert_eq!(
            values_digest(&Map::new()).unwrap().as_str(),
            "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
        );
    }

    #[test]
    fn verbs_that_are_missing_are_null() {
        let rule: crate::source::PolicyRule =
            serde_json::from_value(json!({ "resources": ["pods"] })).unwrap();
        assert_eq!(
            canonical::to_vec(&rule).unwrap(),
            br#"{"verbs":null,"resources":["pods"]}"#
        );
    }

    /// All fields of a spec, to pin the order of declaration (reference §2.3) with the new fields at the end.
    #[test]
    fn field_order_is_the_order_of_the_reference() {
        let spec: PackageSourceSpec = serde_json::from_value(json!({
            "version": "1.0.0", "build": 1,
            "sourceRef": { "kind": "OCIArtifact", "name": "n", "namespace": "ns", "url": "oci://h/p", "path": "p" },
            "provides": ["a"], "conflicts": ["b"], "crds": ["c.d"],
            "permissions": { "rules": [{ "verbs": [], "apiGroups": [""], "resources": ["r"], "resourceNames": ["n"], "nonResourceURLs": ["/u"] }] },
            "rollback": { "safe": true },
            "variants": [{
                "name": "default", "dependsOn": ["x"],
                "requires": [{ "package": "p", "version": "*", "optional": true, "variant": "v", "values": { "c": {} } }],
                "libraries": [{ "name": "l", "path": "p" }],
                "components": [{
                    "name": "c", "path": "p", "libraries": ["l"], "valuesFiles": ["f"],
                    "install": {
                        "releaseName": "r", "namespace": "n", "privileged": true, "dependsOn": ["d"], "upgradeCRDs": "Skip",
                        "waitStrategy": "poller", "phase": "PreUpgrade",
                        "healthCheckExprs": [{ "apiVersion": "v1", "kind": "K", "current": "c", "inProgress": "i", "failed": "f" }],
                        "readyWhen": [{ "apiVersion": "v1", "kind": "K", "name": "n", "namespace": "ns", "condition": "c", "status": "s" }]
                    }
                }]
            }],
            "images": ["i"]
        }))
        .unwrap();
        assert_eq!(
            String::from_utf8(canonical::to_vec(&spec).unwrap()).unwrap(),
            concat!(
                r#"{"version":"1.0.0","build":1,"#,
                r#""sourceRef":{"kind":"OCIArtifact","name":"n","namespace":"ns","url":"oci://h/p","path":"p"},"#,
                r#""provides":["a"],"conflicts":["b"],"crds":["c.d"],"#,
                r#""permissions":{"rules":[{"verbs":[],"apiGroups":[""],"resources":["r"],"resourceNames":["n"],"nonResourceURLs":["/u"]}]},"#,
                r#""rollback":{"safe":true},"#,
                r#""variants":[{"name":"default","dependsOn":["x"],"#,
                r#""requires":[{"package":"p","version":"*","optional":true,"variant":"v","values":{"c":{}}}],"#,
                r#""libraries":[{"name":"l","path":"p"}],"#,
                r#""components":[{"name":"c","path":"p","install":{"releaseName":"r","namespace":"n","privileged":true,"dependsOn":["d"],"#,
                r#""upgradeCRDs":"Skip","waitStrategy":"poller","#,
                r#""healthCheckExprs":[{"apiVersion":"v1","kind":"K","current":"c","inProgress":"i","failed":"f"}],"#,
                r#""phase":"PreUpgrade","#,
                r#""readyWhen":[{"apiVersion":"v1","kind":"K","name":"n","namespace":"ns","condition":"c","status":"s"}]},"#,
                r#""libraries":["l"],"valuesFiles":["f"]}]}],"images":["i"]}"#
            )
        );
    }

    fn desired_digest(package: &PackageSpec, source: &PackageSourceSpec) -> String {
        Desired {
            package,
            source,
            retry: "",
            passed_variant: "",
            passed_values: &BTreeMap::new(),
        }
        .digest()
        .unwrap()
        .to_string()
    }

    /// `printf '{"Package":{},"Retry":"","Source":{}}' | sha256sum`: adding fields must not change it.
    #[test]
    fn desired_digest_of_empty_objects_never_changes() {
        assert_eq!(
            desired_digest(&PackageSpec::default(), &PackageSourceSpec::default()),
            Digest::of(br#"{"Package":{},"Retry":"","Source":{}}"#).to_string()
        );
    }

    #[test]
    fn defaults_that_the_api_server_fills_in_change_no_digest() {
        let written: PackageSpec =
            serde_json::from_value(json!({ "version": "~1.16", "upgrade": {} })).unwrap();
        let stored: PackageSpec = serde_json::from_value(json!({
            "version": "~1.16", "upgrade": { "atomic": true, "timeout": "10m" }, "revisionHistoryLimit": 10, "crdPolicy": "Retain"
        }))
        .unwrap();
        let source = PackageSourceSpec::default();
        assert_eq!(
            desired_digest(&written, &source),
            desired_digest(&stored, &source)
        );
    }

    #[test]
    fn everything_that_shapes_a_package_changes_the_digest() {
        let (package, source) = (PackageSpec::default(), PackageSourceSpec::default());
        let none = BTreeMap::new();
        let plain = Desired {
            package: &package,
            source: &source,
            retry: "",
            passed_variant: "",
            passed_values: &none,
        };
        let values =
            BTreeMap::from([("c".to_owned(), Map::from_iter([("a".to_owned(), json!(1))]))]);
        let other = PackageSpec {
            version: "~1".into(),
            ..PackageSpec::default()
        };
        let newer = PackageSourceSpec {
            build: 1,
            ..PackageSourceSpec::default()
        };
        let digests = [
            plain,
            Desired {
                retry: "x",
                ..plain
            },
            Desired {
                passed_variant: "ha",
                ..plain
            },
            Desired {
                passed_values: &values,
                ..plain
            },
            Desired {
                package: &other,
                ..plain
            },
            Desired {
                source: &newer,
                ..plain
            },
        ]
        .map(|desired| desired.digest().unwrap());
        let distinct: std::collections::BTreeSet<_> = digests.iter().collect();
        assert_eq!(distinct.len(), digests.len());
    }

    #[test]
    fn a_set_change_is_sixteen_digits_of_what_it_writes() {
        let set: PackageSetSpec =
            serde_json::from_value(json!({ "packages": [{ "name": "a", "spec": { "crdPolicy": "Retain" } }], "rollout": { "maxInProgress": 1 } }))
                .unwrap();
        let expected = Digest::of(br#"{"Repositories":[],"Packages":[{"name":"a"}]}"#);
        assert_eq!(set_change(&set).unwrap(), expected.hex().get(..16).unwrap());
    }
}
