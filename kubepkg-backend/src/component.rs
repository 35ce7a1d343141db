//! What a backend is handed: one component of one revision of a package.
//!
//! Everything a backend needs is in here, so that it knows nothing of Packages, their conditions or their history.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use kubepkg_api::{ChartRef, Digest};
use serde_json::{Map, Value};

/// One component to deliver.
#[derive(Clone, PartialEq)]
pub struct Component {
    /// Which release, for whom.
    pub target: Target,
    /// Where its chart comes from.
    pub chart: ChartSource,
    /// The digest that the chart must have: the one [`Backend::prepare`](crate::Backend::prepare) answered when the
    /// revision was recorded.
    pub chart_digest: Digest,
    /// The values, all layers merged.
    pub values: Map<String, Value>,
    /// Labels for the release record, beside those that mark the owner.
    pub labels: BTreeMap<String, String>,
    /// What happens to the chart's `crds/` on an upgrade.
    pub upgrade_crds: UpgradeCrds,
    /// Objects and releases that exist and belong to nobody may be taken over.
    pub adopt: bool,
    /// How many of its own revisions the backend keeps, at least.
    pub history: u32,
}

/// Shows everything but the values, which may hold secrets and must not come into a log.
impl fmt::Debug for Component {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Component")
            .field("target", &self.target)
            .field("chart", &self.chart)
            .field("chart_digest", &self.chart_digest)
            .field("labels", &self.labels)
            .field("upgrade_crds", &self.upgrade_crds)
            .field("adopt", &self.adopt)
            .field("history", &self.history)
            .finish_non_exhaustive()
    }
}

/// Which release is meant, and on whose behalf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The package it belongs to; also the owner that a release is marked with.
    pub package: String,
    /// The identity of the package object. One of the same name that was made anew counts its revisions from 1 again, so
    /// that [`revision`](Self::revision) identifies an operation only together with it.
    pub uid: String,
    /// The component's name within the package.
    pub component: String,
    /// Where the release lives.
    pub placement: Placement,
    /// The revision of the package on whose behalf this is done; it identifies the operation.
    pub revision: u64,
    /// How long the operation may take until everything is healthy (or gone).
    pub timeout: Duration,
    /// Custom resource definitions are left alone when the release stops rendering them or is removed.
    pub keep_crds: bool,
}

/// Where a release lives: the identity that a package, a backend and a person share.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Placement {
    /// The release's namespace.
    pub namespace: String,
    /// The release's name.
    pub release: String,
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.release)
    }
}

/// Where the chart of a component comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChartSource {
    /// A published chart, in a Helm repository or an OCI registry.
    Published(ChartRef),
    /// A folder of a package tree, referred to by the tree's location and the path in it.
    Tree {
        /// The tree, `oci://...`.
        url: String,
        /// The chart's folder in it.
        path: String,
    },
}

impl fmt::Display for ChartSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Published(chart) => {
                write!(f, "{}/{} {}", chart.repository, chart.name, chart.version)
            }
            Self::Tree { url, path } => write!(f, "{path} of {url}"),
        }
    }
}

/// What happens to the objects of a chart's `crds/` folder when its release is upgraded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UpgradeCrds {
    /// They are left as they are, as Helm does.
    #[default]
    Skip,
    /// Missing ones are created.
    Create,
    /// Missing ones are created and existing ones replaced.
    CreateReplace,
}
