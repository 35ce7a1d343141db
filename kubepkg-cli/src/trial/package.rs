//! A package as it lies in a folder: a PackageSource in YAML, and `charts/` with its charts as folders or archives.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kubepkg_api::{ApiGroup, PackageSource, PackageSourceSpec};
use kubepkg_helm::{ArchiveTimes, Chart, ChartLimits};
use kubepkg_sandbox::ChartServer;
use serde_json::{Value, json};

use crate::error::CliError;
use crate::files;
use crate::sandbox::SandboxFailure;

/// One version of a package.
#[derive(Clone, Debug)]
pub(crate) struct Tried {
    /// The file of the PackageSource.
    pub(crate) file: PathBuf,
    /// The package.
    pub(crate) name: String,
    /// What the file says.
    pub(crate) spec: PackageSourceSpec,
    /// The document, with the charts of the folder where the sandbox serves them.
    pub(crate) document: Value,
}

/// The charts of all versions, served on loopback.
#[derive(Debug)]
pub(crate) struct Charts {
    server: ChartServer,
    loaded: BTreeMap<(String, String), (PathBuf, Chart)>,
}

fn problem(path: &Path, problem: impl Into<String>) -> CliError {
    CliError::Document {
        path: path.to_owned(),
        number: 1,
        problem: problem.into(),
    }
}

fn unreadable(path: &Path) -> impl FnOnce(std::io::Error) -> CliError {
    let path = path.to_owned();
    move |source| CliError::File { path, source }
}

impl Tried {
    /// Reads the package in a folder, or in a file of a folder, and adds its charts to those that are served.
    pub(crate) fn read(
        path: &Path,
        group: &ApiGroup,
        charts: &mut Charts,
    ) -> Result<Self, CliError> {
        let file = if path.is_dir() {
            only_source(path)?
        } else {
            path.to_owned()
        };
        let mut sources = files::read(std::slice::from_ref(&file), group)?;
        let (Some(source), true) = (sources.pop(), sources.is_empty()) else {
            return Err(problem(
                &file,
                "want one PackageSource, as the version of one package",
            ));
        };
        let name = source.name.clone();
        let mut document = source.document.clone();
        let parsed: PackageSource = serde_json::from_value(document.clone())
            .map_err(|error| source.problem(error.to_string()))?;
        charts.add(&file.parent().unwrap_or(Path::new(".")).join("charts"))?;
        charts.redirect(&mut document);
        Ok(Self {
            file,
            name,
            spec: parsed.spec,
            document,
        })
    }

    /// The version, in words.
    pub(crate) fn version(&self) -> &str {
        self.spec.version_or_unversioned()
    }
}

/// The one YAML file of a folder.
fn only_source(folder: &Path) -> Result<PathBuf, CliError> {
    let entries = std::fs::read_dir(folder).map_err(unreadable(folder))?;
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            path.is_file()
                && path
                    .extension()
                    .is_some_and(|end| end == "yaml" || end == "yml")
        })
        .collect();
    found.sort();
    match (found.pop(), found.pop()) {
        (Some(one), None) => Ok(one),
        (None, _) => Err(problem(folder, "no YAML file with a PackageSource in it")),
        (Some(b), Some(a)) => {
            let names = [a, b].map(|path| path.display().to_string()).join(" and ");
            let why = format!("several YAML files, such as {names}; name the one to test");
            Err(problem(folder, why))
        }
    }
}

impl Charts {
    /// No charts yet.
    pub(crate) fn new() -> Result<Self, SandboxFailure> {
        Ok(Self {
            server: ChartServer::builder().start()?,
            loaded: BTreeMap::new(),
        })
    }

    /// Adds the charts of a folder; one that is not there has none.
    fn add(&mut self, folder: &Path) -> Result<(), CliError> {
        if !folder.is_dir() {
            return Ok(());
        }
        let entries = std::fs::read_dir(folder).map_err(unreadable(folder))?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            self.add_chart(&path)?;
        }
        Ok(())
    }

    fn add_chart(&mut self, path: &Path) -> Result<(), CliError> {
        let limits = ChartLimits::default();
        let chart = if path.join("Chart.yaml").is_file() {
            Chart::load_dir(path, &limits)
        } else if path.extension().is_some_and(|end| end == "tgz") {
            Chart::load_file(path, &limits)
        } else {
            return Ok(());
        };
        let chart = chart.map_err(|error| problem(path, kubepkg_api::chain(&error)))?;
        let archive = if path.is_dir() {
            chart
                .to_archive(ArchiveTimes::default())
                .map_err(|error| problem(path, kubepkg_api::chain(&error)))?
        } else {
            Chart::read_archive(path, &limits)
                .map_err(|error| problem(path, kubepkg_api::chain(&error)))?
        };
        let (name, version) = (chart.metadata.name.clone(), chart.metadata.version.clone());
        if let Some((other, known)) = self.loaded.get(&(name.clone(), version.clone()))
            && *known != chart
        {
            let why = format!(
                "chart {name} {version} is another one than that in {}; a version never changes once it is published",
                other.display()
            );
            return Err(problem(path, why));
        }
        self.server.add_archive(&name, &version, archive);
        self.loaded
            .insert((name, version), (path.to_owned(), chart));
        Ok(())
    }

    /// The chart of this name and version, when a folder has it.
    pub(crate) fn get(&self, name: &str, version: &str) -> Option<&Chart> {
        let found = self.loaded.get(&(name.to_owned(), version.to_owned()));
        found.map(|(_, chart)| chart)
    }

    /// Has the components whose charts are here take them from here.
    fn redirect(&self, document: &mut Value) {
        let variants = document
            .pointer_mut("/spec/variants")
            .and_then(Value::as_array_mut);
        for variant in variants.into_iter().flatten() {
            let components = variant.get_mut("components").and_then(Value::as_array_mut);
            for component in components.into_iter().flatten() {
                let Some(chart) = component.get_mut("chart") else {
                    continue;
                };
                let text = |field: &str| chart[field].as_str().unwrap_or_default();
                if self.get(text("name"), text("version")).is_some() {
                    chart["repository"] = json!(self.server.repository_url());
                }
            }
        }
    }
}
