//! How a chart's defaults, its parents' values and the user's values become one tree.
//!
//! Higher charts win over lower ones, the user over all; maps are merged, everything else is replaced. A null
//! of the user removes a default and stays where there is none; a null of a chart is dropped; globals flow
//! down. Each step is Helm's own, order and sharing of maps included, because both show in the result.

use kubepkg_gotemplate::GoString;

use super::tree::{Table, Tree, deep_copy, printed, to_values};
use super::{Values, ValuesError};
use crate::chart::Chart;
use crate::go::text::quote;

const GLOBAL: &str = "global";

/// Values with what Helm would have logged while putting them together.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Coalesced {
    /// The values.
    pub values: Values,
    /// Things that were skipped, in the order in which they were met.
    pub warnings: Vec<String>,
}

/// Puts a chart's (and its subcharts') defaults under the user's values; nulls remove.
///
/// # Errors
/// [`ValuesError::TypeMismatch`] when the values of a subchart are no map.
pub fn coalesce_values(chart: &Chart, user: &Values) -> Result<Coalesced, ValuesError> {
    coalesce_with(chart, user, false)
}

/// As [`coalesce_values`], but nulls stay, so that a later step can still act on them.
///
/// # Errors
/// As [`coalesce_values`].
pub fn merge_values(chart: &Chart, user: &Values) -> Result<Coalesced, ValuesError> {
    coalesce_with(chart, user, true)
}

/// Puts `under` below `over`: what only `under` has is taken over, maps are merged, a null in `over` removes.
pub fn coalesce_tables(over: &Values, under: &Values) -> Values {
    let over = over.to_tree();
    Tables {
        warnings: &mut Vec::new(),
        merge: false,
    }
    .lay(&over, &under.to_tree(), "");
    to_values(&over)
}

/// As [`coalesce_tables`] on shared maps, nulls staying.
pub(crate) fn merge_tables(over: &Table, under: &Table, warnings: &mut Vec<String>) {
    Tables {
        warnings,
        merge: true,
    }
    .lay(over, under, "");
}

fn coalesce_with(chart: &Chart, user: &Values, merge: bool) -> Result<Coalesced, ValuesError> {
    let mut warnings = Vec::new();
    let values = coalesce(chart, &user.to_tree(), merge, &mut warnings)?;
    Ok(Coalesced {
        values: to_values(&values),
        warnings,
    })
}

/// Coalesces over a copy of `user`.
pub(crate) fn coalesce(
    chart: &Chart,
    user: &Table,
    merge: bool,
    warnings: &mut Vec<String>,
) -> Result<Table, ValuesError> {
    let values = deep_copy(user);
    chart_and_below(chart, &values, "", merge, warnings)?;
    Ok(values)
}

fn join(prefix: &str, name: &str) -> String {
    if prefix.is_empty() {
        name.to_owned()
    } else {
        format!("{prefix}.{name}")
    }
}

fn chart_and_below(
    chart: &Chart,
    over: &Table,
    prefix: &str,
    merge: bool,
    warnings: &mut Vec<String>,
) -> Result<(), ValuesError> {
    let prefix_here = join(prefix, chart.name());
    own_defaults(chart, over, &prefix_here, merge, warnings);
    for subchart in &chart.dependencies {
        let name = subchart.name();
        let table = match over.get(name.as_bytes()) {
            None => {
                let table = Table::default();
                over.insert(name.into(), Tree::Map(table.clone()));
                table
            }
            Some(Tree::Map(table)) => table,
            Some(other) => {
                return Err(ValuesError::TypeMismatch {
                    chart: name.to_owned(),
                    found: printed("%t", &other),
                });
            }
        };
        globals(&table, over, &prefix_here, warnings);
        chart_and_below(subchart, &table, &prefix_here, merge, warnings)?;
    }
    Ok(())
}

/// Brings the globals of `from` into those of the subchart values `into`.
fn globals(into: &Table, from: &Table, prefix: &str, warnings: &mut Vec<String>) {
    let global = |table: &Table| match table.borrow().get(GLOBAL.as_bytes()) {
        None => Some(Table::default()),
        Some(value) => value.as_map().cloned(),
    };
    let Some(lower) = global(into) else {
        return warnings.push(format!(
            "warning: skipping globals because destination {GLOBAL} is not a table."
        ));
    };
    let Some(upper) = global(from) else {
        return warnings.push(format!(
            "warning: skipping globals because source {GLOBAL} is not a table."
        ));
    };
    for (key, value) in entries(&upper) {
        let present = lower.get(&key);
        let value = match (value, present) {
            (Tree::Map(table), present) => {
                // A copy of the first level only: deeper maps are the parent's own, and what is merged into
                // them below shows in the parent too.
                let copy = table.shallow_copy();
                match present {
                    None => {}
                    Some(Tree::Map(present)) => {
                        Tables {
                            warnings,
                            merge: true,
                        }
                        .lay(
                            &copy,
                            &present,
                            &join(prefix, &key.to_str_lossy()),
                        );
                    }
                    Some(_) => {
                        let key = quote(&key.to_str_lossy());
                        warnings.push(format!(
                            "Conflict: cannot merge map onto non-map for {key}. Skipping."
                        ));
                        continue;
                    }
                }
                Tree::Map(copy)
            }
            (_, Some(Tree::Map(_))) => {
                warnings.push(format!("key {key} is table. Skipping"));
                continue;
            }
            (value, _) => value,
        };
        lower.insert(key, value);
    }
    into.insert(GLOBAL.into(), Tree::Map(lower));
}

/// Lays the chart's own defaults under `over`.
fn own_defaults(
    chart: &Chart,
    over: &Table,
    prefix: &str,
    merge: bool,
    warnings: &mut Vec<String>,
) {
    let Some(defaults) = &chart.values else {
        return;
    };
    for (key, default) in entries(&defaults.to_tree()) {
        match over.get(&key) {
            Some(Tree::Nil) if !merge => {
                over.remove(&key);
            }
            Some(Tree::Map(present)) => match default {
                Tree::Map(default) => {
                    let is_subchart = chart
                        .dependencies
                        .iter()
                        .any(|subchart| key == *subchart.name());
                    let merge = merge || is_subchart;
                    if !merge {
                        drop_nulls(&default);
                    }
                    let prefix = join(prefix, &key.to_str_lossy());
                    Tables { warnings, merge }.lay(&present, &default, &prefix);
                }
                Tree::Nil => {}
                _ => warnings.push(format!(
                    "warning: skipped value for {prefix}.{key}: Not a table."
                )),
            },
            Some(_) => {}
            None => {
                if !merge {
                    match &default {
                        Tree::Nil => continue,
                        Tree::Map(table) => drop_nulls(table),
                        _ => {}
                    }
                }
                over.insert(key, default);
            }
        }
    }
}

/// The entries of a map that may change meanwhile.
fn entries(table: &Table) -> Vec<(GoString, Tree)> {
    let entries = table.borrow();
    entries
        .iter()
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn drop_nulls(table: &Table) {
    if let Some(mut entries) = table.borrow_mut() {
        entries.retain(|_, value| !value.is_nil());
    }
    for (_, value) in table.borrow().iter() {
        value.as_map().into_iter().for_each(drop_nulls);
    }
}

struct Tables<'a> {
    warnings: &'a mut Vec<String>,
    merge: bool,
}

impl Tables<'_> {
    /// `coalesceTablesFullKey` of Helm: what `over` lacks comes from `under`.
    fn lay(&mut self, over: &Table, under: &Table, prefix: &str) {
        if over.same(under) {
            return;
        }
        // Helm writes the nulls of the upper map into the lower one first; only their effect matters here.
        let full = |key: &GoString| join(prefix, &key.to_str_lossy());
        for (key, default) in entries(under) {
            match (over.get(&key), default) {
                (Some(Tree::Nil), default) if !self.merge && !default.is_nil() => {
                    over.remove(&key);
                }
                (Some(Tree::Nil), _) => {}
                (None, default) => {
                    over.insert(key, default);
                }
                (Some(Tree::Map(present)), Tree::Map(default)) => {
                    self.lay(&present, &default, &full(&key));
                }
                (Some(_), Tree::Map(default)) => {
                    let (full, printed) = (full(&key), printed("%v", &Tree::Map(default)));
                    self.warnings.push(format!(
                        "warning: cannot overwrite table with non table for {full} ({printed})"
                    ));
                }
                (Some(Tree::Map(_)), default) if !default.is_nil() => {
                    let (full, printed) = (full(&key), printed("%v", &default));
                    self.warnings.push(format!(
                        "warning: destination for {full} is a table. Ignoring non-table value ({printed})"
                    ));
                }
                _ => {}
            }
        }
        // The lower map keeps the upper one's nulls: it may be part of another chart's values.
        for (key, _) in over.borrow().iter().filter(|(_, value)| value.is_nil()) {
            under.insert(key.clone(), Tree::Nil);
        }
    }
}
