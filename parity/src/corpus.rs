//! What is rendered: the charts below folders, each with the values that it is tried with.
//!
//! A chart is a folder with a `Chart.yaml`, or a `.tgz` archive; what stands in a chart's `charts/` belongs to it and is
//! no case of its own. Hidden folders are passed over. Charts and files come in the order of their paths. A repository
//! is called as its folder is; of `OWNER+NAME` it is `OWNER/NAME`.

use std::path::{Path, PathBuf};

use crate::Failure;
use crate::flip;

/// One rendering.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    /// The row of the table.
    pub(crate) repository: String,
    /// The chart's path below its repository.
    pub(crate) name: String,
    /// The chart's folder, or archive.
    pub(crate) chart: PathBuf,
    /// A values file, absolute; none for the chart's own values.
    pub(crate) values: Option<PathBuf>,
    /// Whether the values were made up.
    pub(crate) made_up: bool,
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
            .map(|name| name.to_string_lossy().replacen('+', "/", 1))
            .unwrap_or_default();
        let mut charts = Vec::new();
        collect(&root, &mut charts)?;
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
                made_up: false,
            }));
        }
    }
    Ok(cases)
}

/// Adds a case for every variant of a chart's own values; their files are written into a folder.
pub(crate) fn make_up(
    cases: &mut Vec<Case>,
    variants: usize,
    seed: u64,
    folder: &Path,
) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(read(folder))?;
    let mut made = Vec::new();
    for case in cases.iter().filter(|case| case.values.is_none()) {
        let Ok(own) = std::fs::read(case.chart.join("values.yaml")) else {
            continue;
        };
        let Ok(own) = kubepkg_yaml::load(&own) else {
            continue;
        };
        let name = format!("{}/{}", case.repository, case.name);
        for number in 1..=variants {
            let Some(values) = flip::variant(&own, &name, number, seed) else {
                continue;
            };
            let file = folder.join(format!("{}-{seed}-{number}.yaml", name.replace('/', "+")));
            // JSON is YAML, too, and no writer of ours is part of what is compared.
            std::fs::write(&file, values.to_string()).map_err(read(&file))?;
            made.push(Case {
                values: Some(std::path::absolute(&file).map_err(read(&file))?),
                made_up: true,
                ..case.clone()
            });
        }
    }
    cases.append(&mut made);
    Ok(())
}

/// Charts in a folder, parents before what is in them.
fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let chart = folder.join("Chart.yaml").is_file();
    if chart {
        found.push(folder.to_owned());
    }
    for path in entries(folder)? {
        let archive = path.extension().is_some_and(|end| end == "tgz");
        if is_folder(&path) {
            if !(chart && path.ends_with("charts")) {
                collect(&path, found)?;
            }
        } else if archive && path.is_file() {
            found.push(path);
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
            "one/charts/a/charts/sub-1.0.0.tgz",
            "one/packed/b-1.0.0.tgz",
            "one/.hidden/b/Chart.yaml",
            "two/Chart.yaml",
            "three/readme.md",
        ]);
        let cases = find(&[folder.path().to_owned()]).unwrap();
        let wanted = [
            "one charts/a",
            "one charts/a y.yml",
            "one charts/a x-values.yaml",
            "one packed/b-1.0.0.tgz",
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
