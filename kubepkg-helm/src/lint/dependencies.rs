//! Rules about dependencies: what `Chart.yaml` declares and what `charts/` holds are the same.

use std::collections::BTreeSet;

use super::tree::Tree;
use super::{Found, Severity};
use crate::chart::{Chart, ChartError};

pub(super) fn check(tree: &Tree, chart: &Result<Chart, ChartError>, found: &mut Found) {
    let chart = match chart {
        Ok(chart) => chart,
        Err(error) => {
            let why = format!("unable to load chart\n\t{error}");
            found.rule(Severity::Error, "", Err(why));
            return;
        }
    };
    let place = tree.place();
    let declared = || chart.metadata.dependencies.iter().flatten();
    let names: BTreeSet<&str> = declared().map(|one| one.name.as_str()).collect();
    let present: BTreeSet<&str> = chart.dependencies.iter().map(Chart::name).collect();

    let undeclared = chart.dependencies.iter().map(Chart::name);
    let undeclared: Vec<&str> = undeclared.filter(|name| !names.contains(name)).collect();
    let outcome = none(&undeclared, "chart metadata is missing these dependencies");
    found.rule(Severity::Error, &place, outcome);

    let mut seen = BTreeSet::new();
    let keys = declared().map(|one| match one.alias.as_str() {
        "" => one.name.as_str(),
        alias => alias,
    });
    let twice: Vec<&str> = keys.filter(|key| !seen.insert(*key)).collect();
    let outcome = none(&twice, "multiple dependencies with name or alias");
    found.rule(Severity::Error, &place, outcome);

    let missing = declared().map(|one| one.name.as_str());
    let missing: Vec<&str> = missing.filter(|name| !present.contains(name)).collect();
    let outcome = none(&missing, "chart directory is missing these dependencies");
    found.rule(Severity::Warning, &place, outcome);
}

fn none(names: &[&str], complaint: &str) -> Result<(), String> {
    if names.is_empty() {
        Ok(())
    } else {
        Err(format!("{complaint}: {}", names.join(",")))
    }
}
