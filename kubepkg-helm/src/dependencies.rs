//! Which subcharts take part, under which name, and what parents import from them: Helm's
//! `ProcessDependencies`.
//!
//! Conditions and tags read the coalesced values; a condition that is no boolean is skipped with a warning, the
//! first that is one decides, over the tags. A declared dependency whose version does not fit its subchart leaves
//! that subchart as if it were undeclared. Imported values have the parent's as master.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::chart::{Chart, Dependency};
use crate::values::{
    Table, Tree, Values, ValuesError, coalesce, deep_copy, merge_tables, printed, table_at,
    to_values, tree_of, value_at,
};
use crate::version::is_compatible;

/// Switches the chart's dependencies on and off, gives them their aliases and imports values, in place: what
/// comes out is what a release record holds and what is rendered. Answers with the warnings Helm would log.
///
/// # Errors
/// [`ValuesError::TypeMismatch`] when the values of a subchart are no map.
pub fn process_dependencies(chart: &mut Chart, user: &Values) -> Result<Vec<String>, ValuesError> {
    let mut warnings = Vec::new();
    enable(chart, &user.to_tree(), "", &mut warnings)?;
    import_below(chart, &mut warnings)?;
    Ok(warnings)
}

fn enable(
    chart: &mut Chart,
    values: &Table,
    path: &str,
    warnings: &mut Vec<String>,
) -> Result<(), ValuesError> {
    if chart.metadata.dependencies.is_empty() && !chart.metadata.lists_dependencies {
        return Ok(());
    }
    chart.dependencies = named(
        &chart.dependencies,
        chart.metadata.dependencies.iter().flatten(),
    );
    for dependency in chart.metadata.dependencies.iter_mut().flatten() {
        if !dependency.alias.is_empty() {
            dependency.name.clone_from(&dependency.alias);
        }
        dependency.enabled = true;
    }
    let values = coalesce(chart, values, false, warnings)?;
    let tags = table_at(&values, "tags").ok();
    for dependency in chart.metadata.dependencies.iter_mut().flatten() {
        if let Some(tags) = &tags {
            apply_tags(dependency, tags, warnings);
        }
        apply_condition(dependency, &values, path, warnings);
    }
    let off: BTreeSet<String> = chart
        .metadata
        .dependencies
        .iter()
        .flatten()
        .filter(|dependency| !dependency.enabled)
        .map(|dependency| dependency.name.clone())
        .collect();
    chart
        .dependencies
        .retain(|subchart| !off.contains(subchart.name()));
    chart.metadata.dependencies.retain(|dependency| {
        dependency
            .as_ref()
            .is_none_or(|kept| !off.contains(&kept.name))
    });
    for subchart in &mut chart.dependencies {
        let path = format!("{path}{}.", subchart.name());
        enable(subchart, &values, &path, warnings)?;
    }
    Ok(())
}

/// The subcharts nobody declared, then for each declared dependency its subchart under its alias.
fn named<'a>(
    present: &[Chart],
    declared: impl Iterator<Item = &'a Dependency> + Clone,
) -> Vec<Chart> {
    let fits = |dependency: &Dependency, subchart: &Chart| {
        dependency.name == subchart.name()
            && is_compatible(&dependency.version, &subchart.metadata.version)
    };
    let mut charts: Vec<Chart> = present
        .iter()
        .filter(|subchart| {
            !declared
                .clone()
                .any(|dependency| fits(dependency, subchart))
        })
        .cloned()
        .collect();
    for dependency in declared {
        let Some(found) = present.iter().find(|subchart| fits(dependency, subchart)) else {
            continue;
        };
        let mut subchart = found.clone();
        if !dependency.alias.is_empty() {
            subchart.metadata.name.clone_from(&dependency.alias);
        }
        charts.push(subchart);
    }
    charts
}

fn apply_tags(dependency: &mut Dependency, tags: &Table, warnings: &mut Vec<String>) {
    let (mut on, mut off) = (false, false);
    for tag in &dependency.tags {
        match tags.get(tag.as_bytes()) {
            Some(Tree::Bool(true)) => on = true,
            Some(Tree::Bool(false)) => off = true,
            Some(_) => warnings.push(format!(
                "returned non-bool value: tag {tag} of chart {}",
                dependency.name
            )),
            None => {}
        }
    }
    dependency.enabled = on || !off;
}

fn apply_condition(
    dependency: &mut Dependency,
    values: &Table,
    path: &str,
    warnings: &mut Vec<String>,
) {
    for condition in dependency
        .condition
        .trim()
        .split(',')
        .filter(|condition| !condition.is_empty())
    {
        match value_at(values, &format!("{path}{condition}")) {
            Some(Tree::Bool(enabled)) => {
                dependency.enabled = enabled;
                return;
            }
            Some(_) => {
                warnings.push(format!(
                    "returned non-bool value: path {condition} of chart {}",
                    dependency.name
                ));
            }
            None => {}
        }
    }
}

fn import_below(chart: &mut Chart, warnings: &mut Vec<String>) -> Result<(), ValuesError> {
    for subchart in &mut chart.dependencies {
        import_below(subchart, warnings)?;
    }
    import(chart, warnings)
}

fn import(chart: &mut Chart, warnings: &mut Vec<String>) -> Result<(), ValuesError> {
    if chart.metadata.dependencies.is_empty() {
        return Ok(());
    }
    let values = coalesce(chart, &Table::default(), true, warnings)?;
    // What is merged here still shares maps with `values`; Helm copies only afterwards, and so does this.
    let imported = Table::default();
    for dependency in chart.metadata.dependencies.iter_mut().flatten() {
        let mut written = Vec::new();
        for import in &dependency.import_values {
            let (child, parent) = match import {
                Value::String(name) => (format!("exports.{name}"), ".".to_owned()),
                Value::Object(map) => {
                    let text = |key| printed("%v", &map.get(key).map_or(Tree::Nil, tree_of));
                    (text("child"), text("parent"))
                }
                _ => continue,
            };
            match table_at(&values, &format!("{}.{child}", dependency.name)) {
                Ok(table) => merge_tables(&imported, &nested(&parent, table), warnings),
                Err(part) => warnings.push(format!(
                    "ImportValues missing table from chart {}: {} is not a table",
                    dependency.name,
                    crate::go::text::quote(&part)
                )),
            }
            written.push(json!({"child": child, "parent": parent}));
        }
        dependency.import_values = written;
    }
    if imported.is_empty() {
        chart.values = Some(to_values(&values));
        return Ok(());
    }
    let values = deep_copy(&values);
    merge_tables(&values, &imported, warnings);
    chart.values = Some(to_values(&values));
    Ok(())
}

/// `table` below a dotted path; `.` is the table itself.
fn nested(path: &str, table: Table) -> Table {
    if path == "." {
        return table;
    }
    path.split('.').rev().fold(table, |inner, part| {
        let outer = Table::default();
        outer.insert(part.into(), Tree::Map(inner));
        outer
    })
}
