//! What is rendered: the charts below folders, each with the values that it is tried with.
//!
//! A chart is a folder with a `Chart.yaml`; what stands in its `charts/` belongs to it and is no case of its own.
//! Hidden folders are passed over. Charts and files come in the order of their paths.

use std::path::{Path, PathBuf};

use crate::Failure;

/// One rendering.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    /// The row of the table.
    pub(crate) repository: String,
    /// The chart's path below its repository.
    pub(crate) name: String,
    /// The chart's folder.
    pub(crate) chart: PathBuf,
    /// A values file, absolute; none for the chart's own values.
    pub(crate) values: Option<PathBuf>,
}

/// All cases below the folders.
pub(crate) fn find(folders: &[PathBuf]) -> Result<Vec<Case>, Failure> {
    let repositories = match folders {
        [one] if !one.join("Chart.yaml").is_file() => {
            let below: Vec<PathBuf> = entries(one)?
                .into_iter()
                .filter(|path| is_folder(path))
                .collect();
            below
        }
        several => several.to_vec(),
    };
    let mut cases = Vec::new();
    for repository in &repositories {
        let root = std::path::absolute(repository).map_err(read(repository))?;
        let title = root
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let mut charts = Vec::new();
        collect(
            &root,
            &mut |path| path.join("Chart.yaml").is_file(),
            &mut charts,
        )?;
        for chart in charts {
            let name = chart.strip_prefix(&root).unwrap_or(&chart);
            let name = match name.to_string_lossy().into_owned() {
                empty if empty.is_empty() => title.clone(),
                name => name,
            };
            let mut values = vec![None];
            values.extend(values_files(&chart.join("ci"))?.into_iter().map(Some));
            cases.extend(values.into_iter().map(|values| Case {
                repository: title.clone(),
                name: name.clone(),
                chart: chart.clone(),
                values,
            }));
        }
    }
    Ok(cases)
}

/// Folders for which `is_chart` holds, parents before what is in them.
fn collect(
    folder: &Path,
    is_chart: &mut dyn FnMut(&Path) -> bool,
    found: &mut Vec<PathBuf>,
) -> Result<(), Failure> {
    let chart = is_chart(folder);
    if chart {
        found.push(folder.to_owned());
    }
    for path in entries(folder)? {
        let subcharts = chart && path.ends_with("charts");
        if is_folder(&path) && !subcharts {
            collect(&path, is_chart, found)?;
        }
    }
    Ok(())
}

/// The YAML files below a chart's `ci/`.
fn values_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    if !is_folder(folder) {
        return Ok(found);
    }
    for path in entries(folder)? {
        if is_folder(&path) {
            found.extend(values_files(&path)?);
        } else if path
            .extension()
            .is_some_and(|end| end == "yaml" || end == "yml")
        {
            found.push(path);
        }
    }
    Ok(found)
}

/// Whether a path is a folder that is neither hidden nor reached through a link.
fn is_folder(path: &Path) -> bool {
    let hidden = path
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with('.'));
    !hidden && !path.is_symlink() && path.is_dir()
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(read(folder))? {
        found.push(entry.map_err(read(folder))?.path());
    }
    found.sort();
    Ok(found)
}

fn read(path: &Path) -> impl Fn(std::io::Error) -> Failure + use<> {
    let path = path.to_owned();
    move |source| Failure::Read {
        path: path.clone(),
        source,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn lay(paths: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for path in paths {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        folder
    }

    fn shown(cases: &[Case]) -> Vec<String> {
        let values = |case: &Case| {
            let name = case.values.as_ref().and_then(|path| path.file_name());
            name.map(|name| format!(" {}", name.to_string_lossy()))
                .unwrap_or_default()
        };
        cases
            .iter()
            .map(|case| format!("{} {}{}", case.repository, case.name, values(case)))
            .collect()
    }

    #[test]
    fn of_one_folder_each_in_it_is_a_repository() {
        let folder = lay(&[
            "one/charts/a/Chart.yaml",
            "one/charts/a/ci/x-values.yaml",
            "one/charts/a/ci/deep/y.yml",
            "one/charts/a/ci/notes.txt",
            "one/charts/a/charts/sub/Chart.yaml",
            "one/.hidden/b/Chart.yaml",
            "two/Chart.yaml",
            "three/readme.md",
        ]);
        let cases = find(&[folder.path().to_owned()]).unwrap();
        let wanted = [
            "one charts/a",
            "one charts/a y.yml",
            "one charts/a x-values.yaml",
            "two two",
        ];
        assert_eq!(shown(&cases), wanted);
    }

    #[test]
    fn of_several_folders_each_is_a_repository() {
        let folder = lay(&["one/charts/a/Chart.yaml", "two/b/Chart.yaml"]);
        let folders = [folder.path().join("one"), folder.path().join("two")];
        assert_eq!(shown(&find(&folders).unwrap()), ["one charts/a", "two b"]);
    }
}
