//! What a plan is made from: the Packages and PackageSources of a cluster and the group versions it serves, as
//! plain data. Reading it from a cluster is [`cluster`](crate::cluster)'s part.

use std::collections::{BTreeMap, BTreeSet};

use kubepkg_api::{
    Capability, DEFAULT_VARIANT, Package, PackageSource, Requirement, Variant, keys,
};

/// A cluster as a plan sees it.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Packages by name; those that are being deleted included.
    pub packages: BTreeMap<String, Package>,
    /// PackageSources by name.
    pub sources: BTreeMap<String, PackageSource>,
    /// Served group versions, as `<group>/<version>`.
    pub served: BTreeSet<String>,
}

impl View {
    /// Whether a Package of this name exists and stays.
    pub fn is_installed(&self, name: &str) -> bool {
        self.packages.get(name).is_some_and(stays)
    }

    /// The version that a Package runs: the applied one, else the one of its source.
    pub fn installed_version(&self, name: &str) -> Option<String> {
        let package = self.packages.get(name)?;
        let applied = package
            .status
            .as_ref()
            .map(|status| status.version.clone())
            .filter(|version| !version.is_empty());
        applied.or_else(|| {
            Some(
                self.sources
                    .get(name)?
                    .spec
                    .version_or_unversioned()
                    .to_owned(),
            )
        })
    }

    /// The variant of a package's source that its Package runs.
    pub fn installed_variant(&self, name: &str) -> Option<&Variant> {
        let package = self.packages.get(name)?;
        let applied = package
            .status
            .as_ref()
            .map(|status| status.variant.as_str())
            .unwrap_or_default();
        let chosen = [package.spec.variant.as_str(), applied]
            .into_iter()
            .find(|variant| !variant.is_empty());
        self.sources
            .get(name)?
            .spec
            .variant(chosen.unwrap_or(DEFAULT_VARIANT))
    }

    /// What an installed package needs: the requirements of its variant that are not optional and that it does
    /// not ignore.
    pub fn installed_needs(&self, name: &str) -> Vec<Requirement> {
        let Some(package) = self.packages.get(name) else {
            return Vec::new();
        };
        self.installed_variant(name)
            .map_or_else(Vec::new, |variant| needs(package, variant))
    }

    /// Whether a package's source offers this name or capability.
    pub fn provides(&self, package: &str, capability: &str) -> bool {
        package == capability
            || self
                .sources
                .get(package)
                .is_some_and(|source| source.spec.provides.iter().any(|text| text == capability))
    }

    /// Whether the API server itself provides the capability.
    pub fn serves(&self, capability: &str) -> bool {
        match Capability::new(capability) {
            Ok(Capability::Api(group_version)) => self.served.contains(&group_version.to_string()),
            Ok(Capability::Plain(_)) | Err(_) => false,
        }
    }
}

/// The requirements of a variant that a Package has to have met.
pub(crate) fn needs(package: &Package, variant: &Variant) -> Vec<Requirement> {
    let ignored = &package.spec.ignore_dependencies;
    let mut needs = variant.requirements();
    needs.retain(|need| {
        !need.optional && !ignored.contains(&need.package) && !ignored.contains(&need.capability)
    });
    needs
}

/// Whether a Package is not being deleted.
pub(crate) fn stays(package: &Package) -> bool {
    package.metadata.deletion_timestamp.is_none()
}

/// Why a Package was installed along with others; `None` for one that someone asked for.
pub(crate) fn dependency_reason(package: &Package) -> Option<&str> {
    package
        .metadata
        .annotations
        .as_ref()?
        .get(keys::DEPENDENCY)
        .map(String::as_str)
}

/// The repository that a PackageSource came from; `None` for a hand-written one.
pub(crate) fn repository_of(source: &PackageSource) -> Option<&str> {
    source
        .metadata
        .labels
        .as_ref()?
        .get(keys::REPOSITORY_LABEL)
        .map(String::as_str)
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A view of `(name, package spec, package status)` and `(name, source spec)`.
    pub(crate) fn view(packages: &[(&str, Value, Value)], sources: &[(&str, Value)]) -> View {
        let mut view = View::default();
        for (name, spec, status) in packages {
            let object = json!({ "metadata": { "name": name }, "spec": spec, "status": status });
            view.packages
                .insert((*name).to_owned(), serde_json::from_value(object).unwrap());
        }
        for (name, spec) in sources {
            let object = json!({ "metadata": { "name": name }, "spec": spec });
            view.sources
                .insert((*name).to_owned(), serde_json::from_value(object).unwrap());
        }
        view
    }

    /// A source spec with one variant `default` that has these requirements and one component.
    #[expect(clippy::needless_pass_by_value, reason = "call sites read json!(...)")]
    pub(crate) fn source(version: &str, requires: Value) -> Value {
        json!({
            "version": version,
            "rollback": { "safe": true },
            "variants": [{
                "name": "default", "requires": requires,
                "components": [{ "name": "c", "path": "c", "install": { "namespace": "n" } }]
            }]
        })
    }

    #[test]
    fn the_applied_version_counts_before_the_offered_one() {
        let view = view(
            &[
                ("a", json!({}), json!({ "version": "1.0.0" })),
                ("b", json!({}), json!({})),
            ],
            &[
                ("a", source("2.0.0", json!([]))),
                ("b", source("3.0.0", json!([]))),
            ],
        );
        assert_eq!(view.installed_version("a").as_deref(), Some("1.0.0"));
        assert_eq!(view.installed_version("b").as_deref(), Some("3.0.0"));
        assert_eq!(view.installed_version("c"), None);
    }

    #[test]
    fn optional_and_ignored_requirements_are_not_needed() {
        let requires = json!([{ "package": "x" }, { "package": "y", "optional": true }, { "capability": "ingress" }]);
        let view = view(
            &[("a", json!({ "ignoreDependencies": ["ingress"] }), json!({}))],
            &[("a", source("1.0.0", requires))],
        );
        let needs: Vec<String> = view
            .installed_needs("a")
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(needs, ["package x"]);
    }

    #[test]
    fn served_apis_are_capabilities() {
        let mut view = View::default();
        view.served.insert("cert-manager.io/v1".into());
        assert!(view.serves("api:cert-manager.io/v1"));
        assert!(!view.serves("api:cert-manager.io/v2"));
        assert!(!view.serves("cert-manager.io/v1"));
    }
}
