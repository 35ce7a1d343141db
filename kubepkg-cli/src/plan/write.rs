//! From a chosen package to the step that a person sees and the write that follows (reference §3.3).

use std::cmp::Ordering;

use kubepkg_api::UNVERSIONED;

use super::check::Passed;
use super::notes::notes;
use super::walk::{Choice, dependency};
use super::{Action, Step, Write};
use crate::versions;
use crate::view::{View, dependency_reason};

pub(super) fn step(view: &View, choice: &Choice<'_>, passed: Option<&Passed>) -> Step {
    let from = view.installed_version(&choice.package);
    let to = choice.version().to_owned();
    let action = match &from {
        None => Action::Install,
        Some(from) => match versions::compare(from, &to) {
            Ordering::Less => Action::Upgrade,
            Ordering::Equal => Action::Keep,
            Ordering::Greater => Action::Downgrade,
        },
    };
    let mut step = Step {
        action,
        package: choice.package.clone(),
        from,
        to,
        build: choice.source.spec.build,
        variant: choice.variant.name.clone(),
        origin: choice.origin(),
        why: choice.why.clone(),
        notes: Vec::new(),
        write: write(view, choice),
    };
    step.notes = notes(view, choice, &step, passed);
    step
}

fn write(view: &View, choice: &Choice<'_>) -> Option<Write> {
    let variant = choice.asked_variant.clone();
    let Some(package) = view.packages.get(&choice.package) else {
        return Some(Write::Create {
            constraint: constraint(choice),
            variant,
            dependency: dependency(view, choice),
        });
    };
    let current = package.spec.version.as_str();
    let is_dependency = dependency_reason(package).is_some();
    let joined = joined(choice);
    let wanted = match &choice.asked {
        Some(typed) if !typed.is_empty() => typed.clone(),
        None if is_dependency && !joined.is_empty() => joined,
        // Without a word about it the constraint changes only when the version of the plan breaks it.
        _ if versions::satisfies(choice.version(), current).unwrap_or(false) => current.to_owned(),
        _ => constraint(choice),
    };
    let constraint = (wanted != current).then_some(wanted);
    let variant = variant.filter(|variant| *variant != package.spec.variant);
    let asked_for = choice.asked.is_some() && is_dependency;
    (constraint.is_some() || variant.is_some() || asked_for).then_some(Write::Update {
        constraint,
        variant,
        asked_for,
    })
}

/// The constraint of a new Package: what was typed; for a dependency everything that the plan puts on it; else
/// the patch releases of the version.
fn constraint(choice: &Choice<'_>) -> String {
    let said = match &choice.asked {
        Some(typed) => typed.clone(),
        None => joined(choice),
    };
    if !said.is_empty() {
        said
    } else if choice.version() == UNVERSIONED {
        String::new()
    } else {
        versions::patch_releases(choice.version())
    }
}

/// Every constraint that packages of the plan put on this one; all of them must hold.
fn joined(choice: &Choice<'_>) -> String {
    let mut constraints: Vec<&str> = choice
        .wanted
        .iter()
        .map(|(need, _)| need.version.trim())
        .filter(|version| !version.is_empty())
        .collect();
    constraints.sort_unstable();
    constraints.dedup();
    constraints.join(", ")
}
