//! Our rendering beside that of `helm template`, byte for byte.
//!
//! A chart may draw random passwords or certificates, or tell the time: then Helm differs from itself. Lines in which two
//! runs of Helm differ are left out of the comparison, and counted.

use std::fmt;
use std::path::Path;

use kubepkg_e2e::{Error, Stage};
use kubepkg_helm::{
    Capabilities, Chart, ChartLimits, ReleaseFacts, RenderOptions, Rendered, Values, render,
};

/// How the two renderings compare.
pub(crate) enum Comparison {
    /// They are the same.
    Equal {
        /// Lines that are random, so that Helm differs from itself in them.
        random: usize,
    },
    /// They differ.
    Different {
        /// Where first, and how.
        first: String,
    },
    /// Helm refuses the chart, and so do we.
    BothRefuse {
        /// What Helm says.
        helm: String,
        /// What we say.
        ours: String,
    },
}

impl Comparison {
    /// Whether a person would be content.
    pub(crate) fn is_equal(&self) -> bool {
        !matches!(self, Self::Different { .. })
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal { random: 0 } => write!(f, "yes"),
            Self::Equal { random } => write!(f, "yes, but for {random} random lines"),
            Self::Different { first } => write!(f, "NO: {first}"),
            Self::BothRefuse { .. } => write!(f, "both refuse"),
        }
    }
}

/// Loads a chart from a folder or an archive.
pub(crate) fn load(path: &Path) -> Result<Chart, kubepkg_helm::ChartError> {
    let limits = ChartLimits::default();
    if path.is_dir() {
        Chart::load_dir(path, &limits)
    } else {
        Chart::load_file(path, &limits)
    }
}

/// Renders the chart at `path` with Helm and with our engine. What we rendered is `None` when we refuse it.
pub(crate) fn compare(
    stage: &Stage,
    path: &Path,
    chart: &Chart,
    namespace: &str,
    set: &[String],
) -> Result<(Comparison, Option<Rendered>), Error> {
    let release = chart.metadata.name.clone();
    let shown = path.to_string_lossy();
    let mut arguments = vec!["template", release.as_str(), &shown];
    arguments.extend(set.iter().flat_map(|text| ["--set", text.as_str()]));
    let ours = ours(chart, namespace, set);
    let theirs = stage.helm_in(namespace, &arguments)?;
    if theirs.code != 0 {
        let helm = theirs.err.trim().to_owned();
        return Ok(match ours {
            Err(ours) => (Comparison::BothRefuse { helm, ours }, None),
            Ok((_, rendered)) => {
                let first = format!("we render what Helm refuses: {helm}");
                (Comparison::Different { first }, Some(rendered))
            }
        });
    }
    let (text, rendered) = match ours {
        Ok(rendered) => rendered,
        Err(error) => {
            let first = format!("we refuse it: {error}");
            return Ok((Comparison::Different { first }, None));
        }
    };
    if text == theirs.out {
        return Ok((Comparison::Equal { random: 0 }, Some(rendered)));
    }
    let again = stage.helm_in(namespace, &arguments)?;
    Ok((
        but_for_random(&text, &theirs.out, &again.out),
        Some(rendered),
    ))
}

/// What `helm template` prints, made by our engine.
fn ours(chart: &Chart, namespace: &str, set: &[String]) -> Result<(String, Rendered), String> {
    let values = values(set)?;
    let facts = ReleaseFacts::install(&chart.metadata.name, namespace);
    let rendered = render(
        chart,
        &values,
        &facts,
        &Capabilities::default(),
        &RenderOptions::default(),
    )
    .map_err(|error| error.to_string())?;
    let mut text = format!("{}\n", rendered.manifest.trim());
    for hook in &rendered.hooks {
        text.extend(["---\n# Source: ", &hook.path, "\n", &hook.manifest, "\n"]);
    }
    Ok((text, rendered))
}

/// The values of `--set` flags.
pub(crate) fn values(set: &[String]) -> Result<Values, String> {
    let mut values = Values::default();
    for argument in set {
        kubepkg_helm::set(&mut values, argument).map_err(|error| error.to_string())?;
    }
    Ok(values)
}

fn but_for_random(ours: &str, theirs: &str, again: &str) -> Comparison {
    let (a, b, c): (Vec<_>, Vec<_>, Vec<_>) = (
        ours.split('\n').collect(),
        theirs.split('\n').collect(),
        again.split('\n').collect(),
    );
    let mut random = 0;
    for (index, want) in b.iter().enumerate() {
        let got = a.get(index).copied();
        if c.get(index) == Some(want) {
            if got != Some(want) {
                return different(index, got, Some(want));
            }
        } else {
            random += 1;
        }
    }
    if a.len() > b.len() {
        return different(b.len(), a.get(b.len()).copied(), None);
    }
    Comparison::Equal { random }
}

fn different(index: usize, ours: Option<&str>, theirs: Option<&str>) -> Comparison {
    let first = format!(
        "line {}: ours {}, Helm's {}",
        index + 1,
        ours.map_or("ends".to_owned(), |text| format!("{text:?}")),
        theirs.map_or("ends".to_owned(), |text| format!("{text:?}")),
    );
    Comparison::Different { first }
}
