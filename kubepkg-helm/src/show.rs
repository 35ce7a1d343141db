//! What `helm show` prints of a chart: its metadata, the text of its values, its README, its CRDs.

mod jsonpath;

use crate::chart::{Chart, ChartError};
use crate::values::Values;

pub use jsonpath::{JsonPath, JsonPathError};

/// Which part of a chart is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShowPart {
    /// All of it.
    All,
    /// `Chart.yaml`, as Helm writes it.
    Chart,
    /// `values.yaml`, comments and all.
    Values,
    /// The README.
    Readme,
    /// The files of `crds/`, subcharts included.
    Crds,
}

const READMES: &[&str] = &["readme.md", "readme.txt", "readme"];

/// The text of a part, as `helm show` prints it.
///
/// # Errors
/// [`ChartError`] when the metadata has no YAML form.
pub fn show(chart: &Chart, part: ShowPart) -> Result<Vec<u8>, ChartError> {
    let mut out = Vec::new();
    let all = part == ShowPart::All;
    let mut print = |parts: &[&[u8]]| parts.iter().for_each(|part| out.extend_from_slice(part));
    if all || part == ShowPart::Chart {
        print(&[chart.metadata.to_yaml()?.as_bytes(), b"\n"]);
    }
    if (all || part == ShowPart::Values) && chart.values.is_some() {
        if all {
            print(&[b"---\n"]);
        }
        if let Some(text) = &chart.raw_values {
            print(&[text, b"\n"]);
        }
    }
    if all || part == ShowPart::Readme {
        let is_readme = |name: &str| READMES.iter().any(|one| one.eq_ignore_ascii_case(name));
        if let Some(readme) = chart.files.iter().find(|file| is_readme(&file.name)) {
            if all {
                print(&[b"---\n"]);
            }
            print(&[&readme.data, b"\n"]);
        }
    }
    if all || part == ShowPart::Crds {
        for crd in chart.crds() {
            if !crd.data.starts_with(b"---") {
                print(&[b"---\n"]);
            }
            print(&[&crd.data, b"\n"]);
        }
    }
    Ok(out)
}

/// What `helm show values --jsonpath` prints: the template filled with the chart's default values. What the template
/// looks for in vain prints nothing, as with Helm.
///
/// # Errors
/// [`JsonPathError`] when the template can't be read.
pub fn show_values_at(chart: &Chart, template: &str) -> Result<String, JsonPathError> {
    let template = JsonPath::parse(template)?;
    Ok(chart
        .values
        .as_ref()
        .map_or_else(String::new, |values: &Values| {
            template.print(&values.clone().into_json())
        }))
}
