//! What must hold of the packages of a plan together, and of the plan and the packages that are installed
//! already: no conflicts, no broken requirers, no circles, no two values for one key.

use std::collections::BTreeMap;

use kubepkg_api::Requirement;
use serde_json::{Map, Value};

use super::walk::{Choice, Chosen};
use super::{PlanError, Why};
use crate::versions;
use crate::view::{View, stays};

/// Values that requirers pass to a package: leaf path to the value and who passes it, and all who do.
#[derive(Clone, Debug, Default)]
pub(super) struct Passed {
    pub(super) leaves: BTreeMap<String, (Value, String)>,
    pub(super) by: Vec<String>,
}

/// Installed packages that stay and that the plan leaves alone.
fn left_alone<'v>(view: &'v View, chosen: &Chosen<'_>) -> Vec<&'v String> {
    let staying = view.packages.iter().filter(|(_, package)| stays(package));
    staying
        .map(|(name, _)| name)
        .filter(|name| !chosen.contains_key(*name))
        .collect()
}

/// No package of the plan excludes another one, or is excluded, by an entry of `conflicts` in either direction.
pub(super) fn conflicts(view: &View, chosen: &Chosen<'_>) -> Result<(), PlanError> {
    let installed = left_alone(view, chosen);
    let others: Vec<(&String, bool)> = chosen
        .keys()
        .map(|name| (name, false))
        .chain(installed.into_iter().map(|name| (name, true)))
        .collect();
    for package in chosen.keys() {
        for (other, is_installed) in &others {
            if *other == package {
                continue;
            }
            let rule = excludes(view, package, other).or_else(|| excludes(view, other, package));
            if let Some(rule) = rule {
                return Err(PlanError::Conflict {
                    package: package.clone(),
                    other: (*other).clone(),
                    installed: *is_installed,
                    rule,
                });
            }
        }
    }
    Ok(())
}

fn excludes(view: &View, package: &str, other: &str) -> Option<String> {
    let source = view.sources.get(package)?;
    let entry = source
        .spec
        .conflicts
        .iter()
        .find(|entry| view.provides(other, entry))?;
    Some(if entry == other {
        format!("{package} excludes {other}")
    } else {
        format!("{package} excludes {entry}, which {other} provides")
    })
}

/// No CRD of the plan is owned by another package, of the plan or installed.
pub(super) fn crd_owners(view: &View, chosen: &Chosen<'_>) -> Result<(), PlanError> {
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    for name in left_alone(view, chosen).into_iter().chain(chosen.keys()) {
        let crds = view
            .sources
            .get(name)
            .map(|source| source.spec.crds.as_slice());
        for crd in crds.unwrap_or_default() {
            if let Some(owner) = owners.insert(crd, name)
                && owner != name
            {
                return Err(PlanError::CrdOwner {
                    package: name.clone(),
                    crd: crd.clone(),
                    owner: owner.to_owned(),
                });
            }
        }
    }
    Ok(())
}

/// No installed package that the plan leaves alone loses what it requires (reference §10.4, C1).
pub(super) fn installed_requirers(view: &View, chosen: &Chosen<'_>) -> Result<(), PlanError> {
    for name in left_alone(view, chosen) {
        for need in view.installed_needs(name) {
            if let Some(choice) = chosen.get(&need.package)
                && !fits(choice, &need)
            {
                return Err(PlanError::Breaks {
                    package: choice.package.clone(),
                    version: choice.version().to_owned(),
                    requirer: name.clone(),
                    requirement: need.to_string(),
                });
            }
        }
    }
    Ok(())
}

fn fits(choice: &Choice<'_>, need: &Requirement) -> bool {
    // A constraint that cannot be parsed blocks the package that has it, not this plan.
    let version = versions::satisfies(choice.version(), &need.version).unwrap_or(true);
    version && (need.variant.is_empty() || need.variant == choice.variant.name)
}

/// Packages of the plan do not wait for each other in a circle.
pub(super) fn cycles(chosen: &Chosen<'_>) -> Result<(), PlanError> {
    let mut done = std::collections::BTreeSet::new();
    for choice in chosen.values() {
        visit(chosen, choice, &mut done, &mut Vec::new())?;
    }
    Ok(())
}

fn visit<'c>(
    chosen: &'c Chosen<'_>,
    choice: &'c Choice<'_>,
    done: &mut std::collections::BTreeSet<&'c str>,
    path: &mut Vec<&'c str>,
) -> Result<(), PlanError> {
    let name = choice.package.as_str();
    if done.contains(name) {
        return Ok(());
    }
    if let Some(start) = path.iter().position(|step| *step == name) {
        let circle = path.iter().skip(start).copied().chain([name]);
        return Err(PlanError::Cycle {
            path: circle.map(str::to_owned).collect(),
        });
    }
    path.push(name);
    for need in &choice.needs {
        if let Some(next) = chosen.get(&need.package) {
            visit(chosen, next, done, path)?;
        }
    }
    path.pop();
    done.insert(name);
    Ok(())
}

/// The values that requirers pass to each package of the plan. Equal values for one key agree; different ones, or
/// a value against a map, are a conflict, which nothing decides (reference §4.5).
pub(super) fn passed_values(
    view: &View,
    chosen: &Chosen<'_>,
) -> Result<BTreeMap<String, Passed>, PlanError> {
    let mut all = BTreeMap::new();
    for choice in chosen.values() {
        let mut passed = Passed::default();
        for (need, why) in &choice.wanted {
            if let Why::Required { by, .. } = why {
                add(
                    &choice.package,
                    &mut passed,
                    &need.values,
                    by,
                    &why.to_string(),
                )?;
            }
        }
        for name in left_alone(view, chosen) {
            let why = format!("required by installed {name}");
            for need in view.installed_needs(name) {
                if need.package == choice.package {
                    add(&choice.package, &mut passed, &need.values, name, &why)?;
                }
            }
        }
        if !passed.leaves.is_empty() {
            all.insert(choice.package.clone(), passed);
        }
    }
    Ok(all)
}

fn add(
    package: &str,
    passed: &mut Passed,
    values: &BTreeMap<String, Map<String, Value>>,
    by: &str,
    why: &str,
) -> Result<(), PlanError> {
    for (component, values) in values {
        let mut leaves = Vec::new();
        flatten(component, &Value::Object(values.clone()), &mut leaves);
        for (path, value) in leaves {
            let disagrees = |(other, (known, _)): &(&String, &(Value, String))| {
                (**other == path && *known != value)
                    || is_above(other, &path)
                    || is_above(&path, other)
            };
            if let Some((other, (known, known_by))) = passed.leaves.iter().find(disagrees) {
                return Err(PlanError::ValuesConflict {
                    package: package.to_owned(),
                    path: if other.len() < path.len() {
                        other.clone()
                    } else {
                        path.clone()
                    },
                    first_value: known.to_string(),
                    first_by: known_by.clone(),
                    second_value: value.to_string(),
                    second_by: why.to_owned(),
                });
            }
            passed
                .leaves
                .entry(path)
                .or_insert_with(|| (value, why.to_owned()));
            if !passed.by.iter().any(|known| known == by) {
                passed.by.push(by.to_owned());
            }
        }
    }
    Ok(())
}

/// Whether `upper` is a path to something that holds `lower`.
fn is_above(upper: &str, lower: &str) -> bool {
    lower
        .strip_prefix(upper)
        .is_some_and(|rest| rest.starts_with('.'))
}

fn flatten(path: &str, value: &Value, leaves: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(object) if !object.is_empty() => {
            for (key, value) in object {
                flatten(&format!("{path}.{key}"), value, leaves);
            }
        }
        leaf => leaves.push((path.to_owned(), leaf.clone())),
    }
}
