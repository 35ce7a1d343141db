//! The state that a Package and its PackageSource ask for, before any chart was fetched.
//!
//! Refused here, each with the field at fault: a component without a namespace, two components in one place, a
//! dependency on a component that is not there, a cycle, an override of a component that does not exist. Rules from the
//! design document ("PackageSource", "Applying a revision") and reference §2.3 (digests), §4.3 (order of components).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use kube::ResourceExt;
use kubepkg_api::{
    ComponentOverride, CrdPolicy, DEFAULT_UPGRADE_TIMEOUT, Digest, Install, Package,
    PackageSourceSpec, Variant, canonical::CanonicalError, keys, values_digest,
};
use kubepkg_backend::{ChartSource, Component, Placement, Target, UpgradeCrds};
use serde_json::{Map, Value};

use super::revision::RecordedComponent;

/// The fewest revisions of its own a backend keeps: what Helm's own default is doubled to, so that attempts and
/// rollbacks between two good revisions never push out the one to go back to.
const BACKEND_HISTORY: u32 = 20;

/// What a package should be.
#[derive(Debug, Clone, PartialEq)]
pub struct Desired {
    /// Digest of all that was asked for.
    pub digest: String,
    /// The version of the package.
    pub version: String,
    /// The variant of the package.
    pub variant: String,
    /// Whether the version declares that rolling it back loses nothing.
    pub rollback_safe: bool,
    /// The components, each after those it depends on; ties in the order of the source.
    pub components: Vec<DesiredComponent>,
}

/// One component of it.
#[derive(Debug, Clone, PartialEq)]
pub struct DesiredComponent {
    /// Its name.
    pub name: String,
    /// Its release.
    pub placement: Placement,
    /// Where its chart comes from.
    pub chart: ChartSource,
    /// Its values.
    pub values: Map<String, Value>,
    /// The digest of its values.
    pub values_digest: String,
    /// The components before it.
    pub depends_on: Vec<String>,
    /// What happens to the chart's `crds/`.
    pub upgrade_crds: UpgradeCrds,
    /// Labels of its release.
    pub labels: BTreeMap<String, String>,
}

/// Why no state can be made of what was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigurationError {
    /// A component does not say where it goes.
    #[error("component {component} has no install.namespace; set it in the PackageSource")]
    NoNamespace {
        /// The component.
        component: String,
    },
    /// Two components would be one release.
    #[error(
        "components {first} and {second} are both release {placement}; give one another install.releaseName or namespace"
    )]
    SamePlace {
        /// The one that comes first.
        first: String,
        /// The other.
        second: String,
        /// The release.
        placement: Placement,
    },
    /// Two components have one name.
    #[error("component {component} is there twice in variant {variant}")]
    Twice {
        /// The component.
        component: String,
        /// The variant.
        variant: String,
    },
    /// A dependency is not among the components that are installed.
    #[error("component {component} has install.dependsOn {dependency}, {why}")]
    UnknownDependency {
        /// The component that depends.
        component: String,
        /// What it depends on.
        dependency: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Components depend on each other.
    #[error("components depend on each other: {}; remove one install.dependsOn", .cycle.join(" -> "))]
    Cycle {
        /// The components, the first one again at the end.
        cycle: Vec<String>,
    },
    /// An override names no component.
    #[error(
        "spec.components.{component} of the Package names no component of variant {variant}; it has {}",
        .known.join(", ")
    )]
    UnknownOverride {
        /// The name.
        component: String,
        /// The variant.
        variant: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// A component has no chart, or one that cannot be used.
    #[error("component {component}: {why}")]
    NoChart {
        /// The component.
        component: String,
        /// What is wrong.
        why: &'static str,
    },
    /// What was asked for has no canonical form.
    #[error("the desired state has no digest")]
    Digest(#[from] CanonicalError),
    /// Pre-upgrade hooks cannot be run by this version.
    #[error("component {component} has install.phase PreUpgrade, which this version does not run")]
    Hook {
        /// The component.
        component: String,
    },
}

/// The state that `package` asks for of `variant` of `source`.
///
/// # Errors
///
/// [`ConfigurationError`] with the component and the field at fault.
pub fn desired(
    package: &Package,
    source: &PackageSourceSpec,
    variant: &Variant,
) -> Result<Desired, ConfigurationError> {
    let known: Vec<String> = variant.components.iter().map(|c| c.name.clone()).collect();
    for name in package.spec.components.keys() {
        if !known.contains(name) {
            return Err(ConfigurationError::UnknownOverride {
                component: name.clone(),
                variant: variant.name.clone(),
                known,
            });
        }
    }
    let mut components: Vec<DesiredComponent> = Vec::new();
    for component in &variant.components {
        let Some(install) = &component.install else {
            continue;
        };
        let overrides = package.spec.components.get(&component.name);
        if !package.spec.is_enabled(&component.name) {
            continue;
        }
        if component.is_hook() {
            return Err(ConfigurationError::Hook {
                component: component.name.clone(),
            });
        }
        if components.iter().any(|c| c.name == component.name) {
            return Err(ConfigurationError::Twice {
                component: component.name.clone(),
                variant: variant.name.clone(),
            });
        }
        let placement = placement(&component.name, install, overrides)?;
        if let Some(other) = components.iter().find(|c| c.placement == placement) {
            return Err(ConfigurationError::SamePlace {
                first: other.name.clone(),
                second: component.name.clone(),
                placement,
            });
        }
        let values = overrides.and_then(|o| o.values.clone()).unwrap_or_default();
        components.push(DesiredComponent {
            name: component.name.clone(),
            placement,
            chart: chart(component, source)?,
            values_digest: values_digest(&values)?.to_string(),
            values,
            depends_on: install.depends_on.clone(),
            upgrade_crds: match install.upgrade_crds {
                None | Some(kubepkg_api::UpgradeCrds::Skip) => UpgradeCrds::Skip,
                Some(kubepkg_api::UpgradeCrds::Create) => UpgradeCrds::Create,
                Some(kubepkg_api::UpgradeCrds::CreateReplace) => UpgradeCrds::CreateReplace,
            },
            labels: BTreeMap::new(),
        });
    }
    Ok(Desired {
        digest: digest(package, source)?,
        version: source.version.clone(),
        variant: variant.name.clone(),
        rollback_safe: source.rollback.as_ref().is_some_and(|r| r.safe),
        components: in_order(components, variant)?,
    })
}

/// The digest of what is asked for: the Package, its retry annotation and its source. What requiring packages pass will
/// be part of it.
pub(super) fn digest(
    package: &Package,
    source: &PackageSourceSpec,
) -> Result<String, CanonicalError> {
    let desired = kubepkg_api::Desired {
        package: &package.spec,
        source,
        retry: package
            .annotations()
            .get(keys::RETRY)
            .map_or("", String::as_str),
        passed_variant: "",
        passed_values: &BTreeMap::new(),
    };
    Ok(desired.digest()?.to_string())
}

fn placement(
    component: &str,
    install: &Install,
    overrides: Option<&ComponentOverride>,
) -> Result<Placement, ConfigurationError> {
    let chosen = |own: Option<&String>, source: &str| {
        own.filter(|text| !text.is_empty())
            .map_or(source, String::as_str)
            .to_owned()
    };
    let namespace = chosen(overrides.map(|o| &o.namespace), &install.namespace);
    if namespace.is_empty() {
        return Err(ConfigurationError::NoNamespace {
            component: component.to_owned(),
        });
    }
    let declared = if install.release_name.is_empty() {
        component
    } else {
        &install.release_name
    };
    let release = chosen(overrides.map(|o| &o.release_name), declared);
    Ok(Placement { namespace, release })
}

fn chart(
    component: &kubepkg_api::Component,
    source: &PackageSourceSpec,
) -> Result<ChartSource, ConfigurationError> {
    let refuse = |why| ConfigurationError::NoChart {
        component: component.name.clone(),
        why,
    };
    match (
        &component.chart,
        Some(&component.path).filter(|path| !path.is_empty()),
    ) {
        (Some(chart), None) => Ok(ChartSource::Published(chart.clone())),
        (None, Some(path)) => {
            let url = source
                .source_ref
                .as_ref()
                .map(|tree| tree.url.clone())
                .filter(|url| !url.is_empty())
                .ok_or_else(|| refuse("path needs sourceRef.url in the PackageSource"))?;
            Ok(ChartSource::Tree {
                url,
                path: path.clone(),
            })
        }
        (None, None) | (Some(_), Some(_)) => Err(refuse("set exactly one of path and chart")),
    }
}

/// Sorts components behind those they depend on. Stable: what does not depend on each other keeps the source's order.
fn in_order(
    components: Vec<DesiredComponent>,
    variant: &Variant,
) -> Result<Vec<DesiredComponent>, ConfigurationError> {
    let names: BTreeSet<String> = components.iter().map(|c| c.name.clone()).collect();
    for component in &components {
        for dependency in &component.depends_on {
            if names.contains(dependency) {
                continue;
            }
            let why = if variant.components.iter().any(|c| c.name == *dependency) {
                "which is not installed: it is disabled or has no install"
            } else {
                "which is no component of the variant"
            };
            return Err(ConfigurationError::UnknownDependency {
                component: component.name.clone(),
                dependency: dependency.clone(),
                why,
            });
        }
    }
    let mut waiting = components;
    let mut sorted: Vec<DesiredComponent> = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let ready = waiting.iter().position(|c| {
            c.depends_on
                .iter()
                .all(|d| sorted.iter().any(|s| s.name == *d))
        });
        match ready {
            Some(index) => sorted.push(waiting.remove(index)),
            None => {
                return Err(ConfigurationError::Cycle {
                    cycle: cycle(&waiting),
                });
            }
        }
    }
    Ok(sorted)
}

/// A cycle among components of which each depends on another one of them.
fn cycle(waiting: &[DesiredComponent]) -> Vec<String> {
    let mut path: Vec<String> = Vec::new();
    let mut at = waiting.first();
    while let Some(component) = at {
        if let Some(start) = path.iter().position(|name| *name == component.name) {
            path.drain(..start);
            path.push(component.name.clone());
            break;
        }
        path.push(component.name.clone());
        at = component
            .depends_on
            .iter()
            .find_map(|d| waiting.iter().find(|c| c.name == *d));
    }
    path
}

impl DesiredComponent {
    /// What is recorded of it.
    pub(super) fn record(&self, chart: &Digest) -> RecordedComponent {
        RecordedComponent {
            name: self.name.clone(),
            placement: self.placement.clone(),
            depends_on: self.depends_on.clone(),
            chart_digest: chart.to_string(),
            values_digest: self.values_digest.clone(),
            backend_revision: None,
        }
    }

    /// What the backend is handed, on behalf of revision `revision`.
    pub(super) fn component(
        &self,
        package: &Package,
        chart_digest: Digest,
        revision: u64,
    ) -> Component {
        Component {
            target: target(package, &self.name, &self.placement, revision),
            chart: self.chart.clone(),
            chart_digest,
            values: self.values.clone(),
            labels: self.labels.clone(),
            upgrade_crds: self.upgrade_crds,
            adopt: package
                .annotations()
                .get(keys::ADOPT)
                .is_some_and(|v| v == "true"),
            history: backend_history(package),
        }
    }
}

/// The release of `component` of `package`, for an operation on behalf of revision `revision`.
pub(super) fn target(
    package: &Package,
    component: &str,
    placement: &Placement,
    revision: u64,
) -> Target {
    Target {
        package: package.metadata.name.clone().unwrap_or_default(),
        uid: package.metadata.uid.clone().unwrap_or_default(),
        component: component.to_owned(),
        placement: placement.clone(),
        revision,
        timeout: timeout(package),
        keep_crds: package.spec.crd_policy() != CrdPolicy::Delete,
    }
}

/// How long each component may take.
pub(super) fn timeout(package: &Package) -> Duration {
    package
        .spec
        .upgrade_timeout()
        .to_std()
        .filter(|timeout| !timeout.is_zero())
        .or_else(|| DEFAULT_UPGRADE_TIMEOUT.to_std())
        .unwrap_or_default()
}

/// How many revisions of its own a backend keeps for the package.
fn backend_history(package: &Package) -> u32 {
    let wanted = u32::try_from(package.spec.history_limit()).unwrap_or(u32::MAX);
    BACKEND_HISTORY.max(wanted.saturating_mul(2))
}
