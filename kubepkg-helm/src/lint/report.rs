//! The outcome of a `helm lint` over several charts, as it is printed.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::{LintError, LintMessage, LintOptions, Severity, charts_below, lint};
use crate::values::Values;

/// A chart that was looked at.
#[derive(Debug)]
pub struct LintedChart {
    /// Where it is, as it was named.
    pub path: PathBuf,
    /// What there is to say.
    pub outcome: Result<Vec<LintMessage>, LintError>,
}

/// Charts that were looked at.
#[derive(Debug, Default)]
pub struct LintReport {
    /// In the order in which they were named, their subcharts behind them all.
    pub charts: Vec<LintedChart>,
}

/// Looks at charts one after the other, and with `subcharts` at those in their `charts` folders too.
pub fn lint_all(
    paths: &[PathBuf],
    subcharts: bool,
    values: &Values,
    options: &LintOptions,
) -> LintReport {
    let mut all = paths.to_vec();
    if subcharts {
        all.extend(paths.iter().flat_map(|path| charts_below(path)));
    }
    let charts = all.into_iter().map(|path| LintedChart {
        outcome: lint(&path, values, options),
        path,
    });
    LintReport {
        charts: charts.collect(),
    }
}

impl LintedChart {
    /// Whether there is an error, or with `strict` a warning.
    pub fn failed(&self, strict: bool) -> bool {
        let tolerated = if strict {
            Severity::Info
        } else {
            Severity::Warning
        };
        match &self.outcome {
            Ok(messages) => messages.iter().any(|message| message.severity > tolerated),
            Err(_) => true,
        }
    }
}

impl LintReport {
    /// How many charts failed.
    pub fn failed(&self, strict: bool) -> usize {
        self.charts
            .iter()
            .filter(|chart| chart.failed(strict))
            .count()
    }

    /// The last line: how many charts were looked at, and how many failed.
    pub fn summary(&self, strict: bool) -> String {
        let (all, failed) = (self.charts.len(), self.failed(strict));
        format!("{all} chart(s) linted, {failed} chart(s) failed")
    }

    /// What `helm lint` prints before the last line; with `quiet` warnings and errors only.
    pub fn to_text(&self, quiet: bool) -> String {
        let mut text = String::new();
        for chart in &self.charts {
            if quiet && !chart.failed(true) {
                continue;
            }
            let _ = writeln!(text, "==> Linting {}", chart.path.display());
            match &chart.outcome {
                Err(error) => {
                    let _ = writeln!(text, "Error {error}");
                }
                Ok(messages) => {
                    let shown =
                        |message: &&LintMessage| !quiet || message.severity > Severity::Info;
                    for message in messages.iter().filter(shown) {
                        let _ = writeln!(text, "{message}");
                    }
                }
            }
            text.push('\n');
        }
        text
    }
}
