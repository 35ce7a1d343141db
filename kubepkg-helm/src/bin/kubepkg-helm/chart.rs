//! `kubepkg-helm lint`, `show`, `package` and `dependency list`.

use std::path::{Path, PathBuf};

use kubepkg_helm::{
    ArchiveTimes, Chart, ChartError, ChartLimits, KubeVersion, LintOptions, PackageOptions,
    ShowPart, lint_all, list_dependencies, show_values_at,
};

use super::arguments::{Arguments, Flags, Kind};
use super::{Error, Output};

pub(super) const LINT_FLAGS: Flags = &[
    ("strict", None, Kind::Switch),
    ("with-subcharts", None, Kind::Switch),
    ("quiet", None, Kind::Switch),
    ("skip-schema-validation", None, Kind::Switch),
    ("kube-version", None, Kind::Text),
];
pub(super) const SHOW_VALUES_FLAGS: Flags = &[("jsonpath", None, Kind::Text)];
pub(super) const PACKAGE_FLAGS: Flags = &[
    ("version", None, Kind::Text),
    ("app-version", None, Kind::Text),
    ("destination", Some('d'), Kind::Text),
];
pub(super) const DEPENDENCY_LIST_FLAGS: Flags = &[("max-col-width", None, Kind::Text)];

/// The chart that a command names: a folder or an archive that is here.
pub(super) fn find(name: &str) -> Result<PathBuf, Error> {
    let name = name.trim();
    let path = PathBuf::from(name);
    if path.exists() {
        let folder = std::env::current_dir()?;
        // Without dots and doubled separators, as Go joins paths.
        return Ok(folder.join(path).components().collect());
    }
    if name.starts_with(['/', '.']) {
        return Err(format!("path {name:?} not found").into());
    }
    match name.split_once('/') {
        Some((repository, _)) if !name.contains("://") => {
            Err(format!("repo {repository} not found").into())
        }
        Some(_) => Err(format!("{name}: nothing is fetched here").into()),
        None => Err(format!(
            "non-absolute URLs should be in form of repo_name/path_to_chart, got: {name}"
        )
        .into()),
    }
}

pub(super) fn load(path: &Path) -> Result<Chart, ChartError> {
    let limits = ChartLimits::default();
    if path.is_dir() {
        // As Helm does, follow links anywhere.
        Chart::load_dir_within(path, Path::new("/"), &limits)
    } else {
        Chart::load_file(path, &limits)
    }
}

pub(super) fn lint(arguments: &Arguments, output: &mut Output) -> Result<(), Error> {
    let mut kube_version = None;
    if let Some(version) = arguments
        .text("kube-version")
        .filter(|text| !text.is_empty())
    {
        let parsed = KubeVersion::parse(version)
            .map_err(|error| format!("invalid kube version '{version}': {error}"))?;
        kube_version = Some(parsed);
    }
    let options = LintOptions {
        namespace: arguments.namespace(),
        kube_version,
        skip_schema: arguments.is_on("skip-schema-validation"),
        ..LintOptions::default()
    };
    let paths: Vec<PathBuf> = arguments.plain.iter().map(PathBuf::from).collect();
    let (strict, quiet) = (arguments.is_on("strict"), arguments.is_on("quiet"));
    let values = arguments.values()?;
    let report = lint_all(&paths, arguments.is_on("with-subcharts"), &values, &options);
    output.print(&report.to_text(quiet));
    let summary = report.summary(strict);
    if report.failed(strict) > 0 {
        return Err(summary.into());
    }
    if !quiet || report.failed(true) > 0 {
        output.print(&format!("{summary}\n"));
    }
    Ok(())
}

pub(super) fn show(
    arguments: &Arguments,
    output: &mut Output,
    part: ShowPart,
) -> Result<(), Error> {
    let [name] = arguments.plain.as_slice() else {
        return Err("no chart".into());
    };
    let chart = Chart::load_known(&find(name)?, &ChartLimits::default())?;
    match arguments.text("jsonpath").filter(|text| !text.is_empty()) {
        Some(template) => output.print(&show_values_at(&chart, template)?),
        None => output.stdout.extend(kubepkg_helm::show(&chart, part)?),
    }
    Ok(())
}

pub(super) fn package(arguments: &Arguments, output: &mut Output) -> Result<(), Error> {
    if arguments.plain.is_empty() {
        return Err("need at least one argument, the path to the chart".into());
    }
    let stamp = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) if !text.is_empty() => Some(
            text.parse()
                .map_err(|error| format!("failed to parse SOURCE_DATE_EPOCH {text:?}: {error}"))?,
        ),
        _ => None,
    };
    let given = |flag| arguments.text(flag).filter(|text| !text.is_empty());
    let options = PackageOptions {
        version: given("version").map(str::to_owned),
        app_version: given("app-version").map(str::to_owned),
        stamp,
        times: ArchiveTimes::default(),
        limits: ChartLimits::default(),
    };
    let destination = match given("destination") {
        None | Some(".") => std::env::current_dir()?,
        Some(folder) => PathBuf::from(folder),
    };
    for path in &arguments.plain {
        let chart = std::env::current_dir()?.join(path);
        let archive = kubepkg_helm::package(&chart, &destination, &options)?;
        let archive = archive.display();
        output.print(&format!(
            "Successfully packaged chart and saved it to: {archive}\n"
        ));
    }
    Ok(())
}

pub(super) fn dependency_list(arguments: &Arguments, output: &mut Output) -> Result<(), Error> {
    let path = arguments.plain.first().map_or(".", String::as_str);
    let width = match arguments.text("max-col-width") {
        Some(text) => text.parse()?,
        None => 80,
    };
    let list = list_dependencies(Path::new(path), &ChartLimits::default())?;
    output.print(&list.to_text(width));
    Ok(())
}
