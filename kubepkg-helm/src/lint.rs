//! What `helm lint` says about a chart: rules about `Chart.yaml`, `values.yaml`, templates, dependencies and CRDs.
//!
//! Rules, their order, severities and words are Helm 4.3.1's. An archive is looked at in memory; Helm unpacks it into a
//! temporary folder, whose name it prints where the archive's stands here. Nothing is refused but what is no chart at
//! all ([`LintError`]); everything else is a [`LintMessage`].

mod address;
mod chart_file;
mod crds;
mod dependencies;
mod deprecations;
mod documents;
mod name;
mod report;
mod templates;
mod tree;
mod values;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::capabilities::KubeVersion;
use crate::chart::{Chart, ChartError, ChartLimits};
use crate::go::path::clean;
use crate::render::RenderLimits;
use crate::values::Values;
pub use report::{LintReport, LintedChart, lint_all};
use tree::Tree;

/// How grave a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// For information.
    Info,
    /// Against convention, but it will likely work.
    Warning,
    /// It will likely not work.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Info => "INFO",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
        })
    }
}

/// Something to say about a chart. `Display` is the line that `helm lint` prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LintMessage {
    /// How grave it is.
    pub severity: Severity,
    /// The file or folder in the chart; the chart's own folder for its dependencies, empty when the chart can't be read.
    pub path: String,
    /// What is wrong.
    pub text: String,
}

impl fmt::Display for LintMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}: {}", self.severity, self.path, self.text)
    }
}

/// The flags of `helm lint`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LintOptions {
    /// What `.Release.Namespace` says; empty for `default`.
    pub namespace: String,
    /// The cluster's version, for capabilities and deprecated kinds; Helm's default when `None`.
    pub kube_version: Option<KubeVersion>,
    /// Values are not checked against `values.schema.json`.
    pub skip_schema: bool,
    /// What is read at most.
    pub limits: ChartLimits,
    /// What rendering may cost.
    pub render_limits: RenderLimits,
}

/// Why something is no chart that could be looked at.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LintError {
    /// There is no `Chart.yaml`.
    #[error(
        "unable to check Chart.yaml file in chart: {}",
        crate::go::os::path_error("stat", &path.display(), source)
    )]
    NoChartYaml {
        /// Where it was looked for.
        path: PathBuf,
        /// Why it was not found.
        source: std::io::Error,
    },
    /// An archive can't be opened.
    #[error("unable to open tarball: {}", crate::go::os::path_error("open", &path.display(), source))]
    Open {
        /// The archive.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// An archive can't be unpacked.
    #[error("unable to extract tarball: {0}")]
    Extract(#[source] ChartError),
    /// An archive's `Chart.yaml` has no name, or there is none.
    #[error("unable to extract tarball: chart name not specified")]
    NoName,
}

/// Looks at the chart in a folder, or in an archive when the name ends in `.tgz` or `.tar.gz`, with the user's values.
///
/// # Errors
/// [`LintError`] when there is nothing to look at.
pub fn lint(
    path: &Path,
    values: &Values,
    options: &LintOptions,
) -> Result<Vec<LintMessage>, LintError> {
    let tree = Tree::open(path, &options.limits)?;
    let mut found = Found::default();
    chart_file::check(&tree, &mut found);
    values::check(&tree, values, options, &mut found);
    let chart = tree.load(&options.limits);
    templates::check(&tree, &chart, values, options, &mut found);
    dependencies::check(&tree, &chart, &mut found);
    crds::check(&tree, &chart, &mut found);
    Ok(found.messages)
}

/// Charts in the `charts` folder of a chart, at any depth: what `--with-subcharts` looks at too. Folders with a
/// `Chart.yaml`, and archives, in the order in which Go walks them.
pub fn charts_below(chart: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let folder = clean(&format!("{}/charts", chart.display()));
    walk(Path::new(&folder), 0, &mut found);
    found
}

/// Folders in folders that are walked.
const MAX_DEPTH: usize = 64;

fn walk(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.to_string_lossy();
        if path.file_name().is_some_and(|name| name == "Chart.yaml") {
            found.push(folder.to_owned());
        } else if tree::is_archive(&name) {
            found.push(path);
        } else if depth < MAX_DEPTH && path.symlink_metadata().is_ok_and(|kind| kind.is_dir()) {
            walk(&path, depth + 1, found);
        }
    }
}

/// Collects messages.
#[derive(Default)]
struct Found {
    messages: Vec<LintMessage>,
}

impl Found {
    /// Takes the outcome of a rule; answers whether it was kept.
    fn rule(&mut self, severity: Severity, path: &str, outcome: Result<(), String>) -> bool {
        match outcome {
            Ok(()) => true,
            Err(text) => {
                let path = path.to_owned();
                self.messages.push(LintMessage {
                    severity,
                    path,
                    text,
                });
                false
            }
        }
    }

    /// The chart, when it could be loaded; else that it could not is said of `path`.
    fn loaded<'c>(
        &mut self,
        path: &str,
        chart: &'c Result<Chart, ChartError>,
    ) -> Option<&'c Chart> {
        let outcome = chart.as_ref().map_err(ToString::to_string);
        self.rule(Severity::Error, path, outcome.map(drop));
        chart.as_ref().ok()
    }
}
