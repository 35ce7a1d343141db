//! A chart in memory: its metadata, default values, templates, other files and subcharts.
//!
//! Charts come from a folder ([`Chart::load_dir`]) or an archive ([`Chart::load_archive`]); both read their
//! files into a checked list first, and one function makes a chart of the list, as Helm does. Refused are
//! archives that reach outside themselves, hold links or devices, or pass the [`ChartLimits`].

mod archive;
mod error;
mod folder;
mod ignore;
mod load;
mod metadata;
mod package;
mod read;
mod record;
mod validate;

use std::sync::Arc;

pub(crate) use archive::{NamedFile, archive_files};
pub use error::ChartError;
pub use ignore::IgnoreRules;
pub(crate) use metadata::API_VERSION_V1;
pub use metadata::{Dependency, Lock, Maintainer, Metadata};
pub use package::{ArchiveTimes, PackageError, PackageOptions, SaveError, package};

use crate::go::path::extension;
use crate::values::Values;

/// A file of a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartFile {
    /// Path inside the chart, with `/`.
    pub name: String,
    /// Contents, without a leading byte order mark.
    pub data: Arc<[u8]>,
    /// Modification time as a release record of Helm holds it (RFC 3339); loading leaves it out, so that two
    /// loads of one chart are equal.
    pub modified: Option<String>,
}

impl ChartFile {
    /// Whether it is a file of `crds/` that Helm takes for a manifest.
    pub(crate) fn is_crd(&self) -> bool {
        let extension = extension(&self.name);
        let known = [".yaml", ".yml", ".json"];
        let is_manifest = known
            .iter()
            .any(|known| extension.eq_ignore_ascii_case(known));
        self.name.starts_with("crds/") && is_manifest
    }
}

/// A custom resource definition file: a file below `crds/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrdFile {
    /// Path from the top chart's name, `top/charts/sub/crds/x.yaml`.
    pub path: String,
    /// Contents.
    pub data: Arc<[u8]>,
}

/// A chart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chart {
    /// `Chart.yaml`.
    pub metadata: Metadata,
    /// The lock file, if there is one.
    pub lock: Option<Lock>,
    /// Default values; `None` when there is no `values.yaml`.
    pub values: Option<Values>,
    /// Files below `templates/`.
    pub templates: Vec<ChartFile>,
    /// All other files but `Chart.yaml`, the lock, `values.yaml`, the schema and subcharts.
    pub files: Vec<ChartFile>,
    /// `values.schema.json`.
    pub schema: Option<Arc<[u8]>>,
    /// Subcharts, in the order of their folders until dependencies are processed, then in that of `Chart.yaml`.
    pub dependencies: Vec<Chart>,
    /// The text of `values.yaml`, comments and all; not part of a release record.
    pub raw_values: Option<Arc<[u8]>>,
    /// When the schema was written, as a release record of Helm holds it.
    pub(crate) schema_modified: Option<String>,
    /// When `values.yaml` was written; not part of a release record.
    pub(crate) values_modified: Option<String>,
    /// When `Chart.yaml` was written, as a release record of Helm holds it.
    pub(crate) modified: Option<String>,
    /// Whether a record held `[]` rather than `null` for templates and files.
    pub(crate) empty_lists: (bool, bool),
}

/// How much of a chart is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartLimits {
    /// Bytes of all files together, decompressed. An archive must stay below, a folder may reach it.
    pub max_bytes: u64,
    /// Files and folders.
    pub max_files: usize,
    /// How deep subcharts may stand in subcharts.
    pub max_depth: usize,
}

impl Default for ChartLimits {
    /// 100 MiB as Helm, 20,000 files, 32 levels of subcharts.
    fn default() -> Self {
        Self {
            max_bytes: 100 * 1024 * 1024,
            max_files: 20_000,
            max_depth: 32,
        }
    }
}

impl Chart {
    /// The chart's name.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }

    /// All files below `crds/` of this chart, then of its subcharts, that end in `.yaml`, `.yml` or `.json`.
    pub fn crds(&self) -> Vec<CrdFile> {
        let mut found = Vec::new();
        self.collect_crds(self.name(), &mut found);
        found
    }

    fn collect_crds(&self, path: &str, found: &mut Vec<CrdFile>) {
        for file in &self.files {
            if file.is_crd() {
                let path = crate::go::path::clean(&format!("{path}/{}", file.name));
                found.push(CrdFile {
                    path,
                    data: Arc::clone(&file.data),
                });
            }
        }
        for dependency in &self.dependencies {
            dependency.collect_crds(&format!("{path}/charts/{}", dependency.name()), found);
        }
    }

    /// Names of declared dependencies that are not among the subcharts.
    ///
    /// Helm checks this before it installs: a chart whose dependencies were not fetched is refused.
    pub fn missing_dependencies(&self) -> Vec<&str> {
        let declared = self.metadata.dependencies.iter().flatten();
        declared
            .map(|dependency| dependency.name.as_str())
            .filter(|name| {
                !self
                    .dependencies
                    .iter()
                    .any(|present| present.name() == *name)
            })
            .collect()
    }

    /// Default values, empty when there is no `values.yaml`.
    pub fn default_values(&self) -> Values {
        self.values.clone().unwrap_or_default()
    }
}
