//! The same work through `kubepkg-helm`: load a chart, render it, and the text that `helm template` prints.

use std::path::Path;

use kubepkg_helm::{
    Capabilities, Chart, ChartLimits, ReleaseFacts, RenderLimits, RenderOptions, Values, render,
};

use crate::{NAME, NAMESPACE};

/// Loads a folder or an archive.
pub(crate) fn load(path: &Path) -> Result<Chart, String> {
    let limits = ChartLimits::default();
    let chart = if path.is_dir() {
        Chart::load_dir(path, &limits)
    } else {
        Chart::load_file(path, &limits)
    };
    chart.map_err(|error| error.to_string())
}

/// Renders a chart with its own values.
pub(crate) fn text(chart: &Chart) -> Result<String, String> {
    let limits = RenderLimits {
        wall_time: None,
        ..RenderLimits::default()
    };
    let options = RenderOptions {
        include_crds: true,
        limits: Some(&limits),
        ..RenderOptions::default()
    };
    let release = ReleaseFacts::install(NAME, NAMESPACE);
    let rendered = render(
        chart,
        &Values::default(),
        &release,
        &Capabilities::default(),
        &options,
    )
    .map_err(|error| error.to_string())?;
    let mut text = format!("{}\n", rendered.manifest.trim());
    for hook in &rendered.hooks {
        for part in ["---\n# Source: ", &hook.path, "\n", &hook.manifest, "\n"] {
            text.push_str(part);
        }
    }
    Ok(text)
}

/// Loads and renders.
pub(crate) fn template(path: &Path) -> Result<String, String> {
    text(&load(path)?)
}
