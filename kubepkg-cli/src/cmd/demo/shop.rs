//! The package of the demonstration: its charts served on loopback, its PackageSources in a folder.

use std::path::Path;

use kubepkg_api::ApiGroup;
use kubepkg_sandbox::{ChartServer, FATE_ANNOTATION};

use crate::sandbox::SandboxFailure;

/// Where the PackageSources say that the charts are.
const REPOSITORY: &str = "https://charts.example.org";

/// A chart's files.
type Files = [(&'static str, &'static str)];

const STORE: &Files = &[
    (
        "Chart.yaml",
        include_str!("../../../demo/charts/store/Chart.yaml"),
    ),
    (
        "values.yaml",
        include_str!("../../../demo/charts/store/values.yaml"),
    ),
    (
        "templates/_labels.tpl",
        include_str!("../../../demo/charts/store/templates/_labels.tpl"),
    ),
    (
        "templates/store.yaml",
        include_str!("../../../demo/charts/store/templates/store.yaml"),
    ),
];

const WEB: &Files = &[
    (
        "Chart.yaml",
        include_str!("../../../demo/charts/web/Chart.yaml"),
    ),
    (
        "values.yaml",
        include_str!("../../../demo/charts/web/values.yaml"),
    ),
    (
        "templates/_labels.tpl",
        include_str!("../../../demo/charts/web/templates/_labels.tpl"),
    ),
    (
        "templates/web.yaml",
        include_str!("../../../demo/charts/web/templates/web.yaml"),
    ),
];

const SOURCES: [(&str, &str); 3] = [
    (
        "1.0.0",
        include_str!("../../../demo/packages/shop/1.0.0.yaml"),
    ),
    (
        "1.0.1",
        include_str!("../../../demo/packages/shop/1.0.1.yaml"),
    ),
    (
        "1.0.2",
        include_str!("../../../demo/packages/shop/1.0.2.yaml"),
    ),
];

/// The version of the web front whose pods never get ready.
const BROKEN: &str = "1.0.2";

/// The charts, served as long as this lives.
#[derive(Debug)]
pub(super) struct Shop {
    _charts: ChartServer,
}

impl Shop {
    /// Serves the charts and writes `shop-VERSION.yaml` into a folder.
    pub(super) fn open(folder: &Path, group: &ApiGroup) -> Result<Self, SandboxFailure> {
        let charts = ChartServer::builder()
            .chart("store", "1.0.0", STORE.iter().copied())
            .start()?;
        for (version, source) in SOURCES {
            let files = WEB
                .iter()
                .map(|(path, text)| (*path, web(path, text, version)));
            charts.add_chart("web", version, files)?;
            let text = source
                .replace(REPOSITORY, &charts.repository_url())
                .replace(&ApiGroup::default().api_version(), &group.api_version());
            let path = folder.join(format!("shop-{version}.yaml"));
            std::fs::write(&path, text)
                .map_err(|source| SandboxFailure::Folder { path, source })?;
        }
        Ok(Self { _charts: charts })
    }
}

/// A file of the web front at a version.
fn web(path: &str, text: &str, version: &str) -> String {
    match path {
        "Chart.yaml" => text.replace("1.0.0", version),
        "values.yaml" if version == BROKEN => {
            // Nobody who watches should wait for ten minutes until the Deployment gives up.
            let text = text.replace("progressDeadlineSeconds: 600", "progressDeadlineSeconds: 3");
            format!("{text}podAnnotations:\n  {FATE_ANNOTATION}: pull-error\n")
        }
        _ => text.to_owned(),
    }
}
