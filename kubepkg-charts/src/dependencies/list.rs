//! The dependencies of a chart and what there is of them, as `helm dependency list` shows it.

use std::path::Path;

use kubepkg_helm::{Chart, ChartError, ChartLimits, Dependency};
use kubepkg_resolve::{Constraint, Version};

/// A dependency in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedDependency {
    /// Its name.
    pub name: String,
    /// What is asked for.
    pub version: String,
    /// Where it comes from.
    pub repository: String,
    /// Helm's words: `ok`, `unpacked`, `missing`, `wrong version`, `invalid version`, `misnamed`, `corrupt`,
    /// `too many matches`.
    pub status: &'static str,
}

/// What a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing {
    /// The dependencies, in the order of `Chart.yaml`.
    pub dependencies: Vec<ListedDependency>,
    /// Charts in `charts/` that nobody asks for.
    pub unasked: Vec<String>,
    /// What looks like a chart in `charts/` and is none.
    pub not_charts: Vec<String>,
}

/// Lists the dependencies of the chart in a folder. Blocks.
///
/// # Errors
/// The chart can't be read.
pub fn list(folder: &Path, limits: &ChartLimits) -> Result<Listing, ChartError> {
    let chart = Chart::load_dir(folder, limits)?;
    let mut listing = Listing::default();
    let requested = || chart.metadata.dependencies.iter().flatten();
    if requested().next().is_none() {
        return Ok(listing);
    }
    let there = there(&folder.join("charts"));
    for dependency in requested() {
        listing.dependencies.push(ListedDependency {
            name: dependency.name.clone(),
            version: dependency.version.clone(),
            repository: dependency.repository.clone(),
            status: status(dependency, &chart, folder, &there, limits),
        });
    }
    for name in there {
        let path = folder.join("charts").join(&name);
        let loaded = if path.is_dir() {
            Chart::load_dir(&path, limits)
        } else if path.extension().is_some_and(|extension| extension == "tgz") {
            Chart::load_file(&path, limits)
        } else {
            continue;
        };
        match loaded {
            Err(_) => listing.not_charts.push(name),
            Ok(found) if requested().any(|dependency| dependency.name == found.name()) => {}
            Ok(_) => listing.unasked.push(name),
        }
    }
    Ok(listing)
}

/// The names in a folder, sorted.
fn there(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

fn status(
    dependency: &Dependency,
    parent: &Chart,
    folder: &Path,
    there: &[String],
    limits: &ChartLimits,
) -> &'static str {
    let start = format!("{}-", dependency.name);
    let version = |name: &str| Some(name.strip_prefix(&start)?.strip_suffix(".tgz")?.to_owned());
    let archives: Vec<(&String, String)> = there
        .iter()
        .filter_map(|name| Some((name, version(name)?)))
        .collect();
    // Of several, those count whose name goes on with a version and not with another word.
    let archives: Vec<&String> = match archives.len() {
        0 | 1 => archives.into_iter().map(|(name, _)| name).collect(),
        _ => archives
            .into_iter()
            .filter(|(_, version)| Version::parse_strict(version).is_ok())
            .map(|(name, _)| name)
            .collect(),
    };
    match archives.as_slice() {
        [] => {}
        [archive] => {
            let path = folder.join("charts").join(archive);
            return match Chart::load_file(&path, limits) {
                Err(_) => "corrupt",
                Ok(found) if found.name() != dependency.name => "misnamed",
                Ok(found) => fits(dependency, &found).unwrap_or("ok"),
            };
        }
        _ => return "too many matches",
    }
    match parent
        .dependencies
        .iter()
        .rev()
        .find(|chart| chart.name() == dependency.name)
    {
        None => "missing",
        Some(found) => fits(dependency, found).unwrap_or("unpacked"),
    }
}

/// What is wrong with a version.
fn fits(dependency: &Dependency, found: &Chart) -> Option<&'static str> {
    if found.metadata.version == dependency.version {
        return None;
    }
    let constraint = Constraint::parse(&dependency.version).ok();
    let version = Version::parse(&found.metadata.version).ok();
    match constraint.zip(version) {
        None => Some("invalid version"),
        Some((constraint, version)) if constraint.matches(&version) => None,
        Some(_) => Some("wrong version"),
    }
}
