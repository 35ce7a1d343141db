//! What `helm dependency list` says: each dependency of a chart and whether it is there.

use std::path::{Path, PathBuf};

use kubepkg_resolve::{Constraint, Version};

use crate::chart::{Chart, ChartError, ChartLimits, Dependency};
use crate::go::path::{clean, matches};
use crate::go::text::quote;

/// A dependency and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DependencyState {
    /// Its name.
    pub name: String,
    /// The version that is asked for.
    pub version: String,
    /// Where it comes from.
    pub repository: String,
    /// Helm's word: `ok` (an archive), `unpacked` (a folder), `missing`, `wrong version`, `invalid version`, `corrupt`,
    /// `misnamed`, `too many matches`, `bad pattern`.
    pub status: &'static str,
}

/// The dependencies of a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DependencyList {
    /// Whether `Chart.yaml` has a list of dependencies, and be it an empty one.
    pub is_declared: bool,
    /// Those that `Chart.yaml` declares.
    pub dependencies: Vec<DependencyState>,
    /// Lines about what stands in `charts/` and is declared by nobody; the one that there is none when there is none.
    pub warnings: Vec<String>,
}

/// Looks at the dependencies of the chart at `path`, a folder or an archive.
///
/// # Errors
/// [`ChartError`] when the chart can't be loaded.
pub fn list_dependencies(path: &Path, limits: &ChartLimits) -> Result<DependencyList, ChartError> {
    let path = PathBuf::from(clean(&path.to_string_lossy()));
    let chart = Chart::load_known(&path, limits)?;
    let folder = clean(&format!("{}/charts", path.display()));
    let declared: Vec<&Dependency> = chart.metadata.dependencies.iter().flatten().collect();
    if !chart.metadata.lists_dependencies {
        return Ok(DependencyList {
            is_declared: false,
            dependencies: Vec::new(),
            warnings: vec![format!("WARNING: no dependencies at {folder}")],
        });
    }
    let names = entries(&folder);
    let state = |dependency: &&Dependency| DependencyState {
        name: dependency.name.clone(),
        version: dependency.version.clone(),
        repository: dependency.repository.clone(),
        status: status(&folder, &names, dependency, &chart, limits),
    };
    let mut warnings = Vec::new();
    for name in &names {
        let path = PathBuf::from(format!("{folder}/{name}"));
        if !path.is_dir() && crate::go::path::extension(name) != ".tgz" {
            continue;
        }
        let shown = quote(&path.to_string_lossy());
        match Chart::load_known(&path, limits) {
            Err(_) => warnings.push(format!("WARNING: {shown} is not a chart.")),
            Ok(found) if declared.iter().all(|one| one.name != found.name()) => {
                warnings.push(format!("WARNING: {shown} is not in Chart.yaml."));
            }
            Ok(_) => {}
        }
    }
    Ok(DependencyList {
        is_declared: true,
        dependencies: declared.iter().map(state).collect(),
        warnings,
    })
}

fn entries(folder: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn status(
    folder: &str,
    names: &[String],
    dependency: &Dependency,
    parent: &Chart,
    limits: &ChartLimits,
) -> &'static str {
    let pattern = format!("{}-*.tgz", dependency.name);
    if matches(&pattern, "").is_err() {
        return "bad pattern";
    }
    let is_archive = |name: &&String| matches(&pattern, name).unwrap_or(false);
    let mut archives: Vec<&String> = names.iter().filter(is_archive).collect();
    if archives.len() > 1 {
        // Of several, those count whose name goes on with a version.
        archives.retain(|name| {
            let name = name.strip_suffix(".tgz").unwrap_or(name);
            let version = name.strip_prefix(&format!("{}-", dependency.name));
            Version::parse_strict(version.unwrap_or(name)).is_ok()
        });
        if archives.len() > 1 {
            return "too many matches";
        }
    }
    if let Some(archive) = archives.first() {
        let path = PathBuf::from(format!("{folder}/{archive}"));
        return match Chart::load_known(&path, limits) {
            Err(_) => "corrupt",
            Ok(found) if found.name() != dependency.name => "misnamed",
            Ok(found) => fits(&found, dependency).unwrap_or("ok"),
        };
    }
    let mut present = parent.dependencies.iter().rev();
    match present.find(|subchart| subchart.name() == dependency.name) {
        None => "missing",
        Some(found) => fits(found, dependency).unwrap_or("unpacked"),
    }
}

/// Why a chart is not the one that is asked for, if it is not.
fn fits(found: &Chart, dependency: &Dependency) -> Option<&'static str> {
    let version = &found.metadata.version;
    if *version == dependency.version {
        return None;
    }
    match (
        Constraint::parse(&dependency.version),
        Version::parse(version),
    ) {
        (Ok(constraint), Ok(version)) if constraint.matches(&version) => None,
        (Ok(_), Ok(_)) => Some("wrong version"),
        _ => Some("invalid version"),
    }
}

impl DependencyList {
    /// The table that `helm dependency list` prints, no cell wider than `longest` (0 for any width), and the warnings.
    pub fn to_text(&self, longest: usize) -> String {
        let mut lines = Vec::new();
        if self.is_declared {
            let head = ["NAME", "VERSION", "REPOSITORY", "STATUS"];
            let mut rows = vec![head.map(str::to_owned)];
            rows.extend(self.dependencies.iter().map(|one| {
                let status = one.status.to_owned();
                let (version, repository) = (one.version.clone(), one.repository.clone());
                [one.name.clone(), version, repository, status]
            }));
            let mut widths = [0; 4];
            for row in &rows {
                for (width, cell) in widths.iter_mut().zip(row) {
                    *width = (*width).max(cell.chars().count());
                }
            }
            if longest > 0 {
                widths = widths.map(|width: usize| width.min(longest));
            }
            for row in rows {
                let cells: Vec<String> = row
                    .iter()
                    .zip(widths)
                    .map(|(cell, width)| resize(cell, width))
                    .collect();
                lines.push(cells.join("\t"));
            }
            lines.push(String::new());
        }
        lines.extend(self.warnings.iter().cloned());
        let mut text = lines.join("\n");
        text.push('\n');
        text
    }
}

/// A cell of this width: padded, or cut with dots at its end.
fn resize(cell: &str, width: usize) -> String {
    let length = cell.chars().count();
    if length <= width {
        return format!("{cell:width$}");
    }
    // The library that Helm uses keeps the sign that passes the mark.
    let kept = width.saturating_sub(3).max(1);
    let mut text: String = cell.chars().take(kept).collect();
    text.push_str("...");
    text
}
