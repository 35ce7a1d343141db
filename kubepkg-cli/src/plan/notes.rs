//! What a person should know before agreeing to a step, in the order of the reference (§3.3).

use kubepkg_api::{DEFAULT_VARIANT, PolicyRule};

use super::check::Passed;
use super::walk::Choice;
use super::{Action, Origin, Step, Write};
use crate::view::View;

pub(super) fn notes(
    view: &View,
    choice: &Choice<'_>,
    step: &Step,
    passed: Option<&Passed>,
) -> Vec<String> {
    let mut notes = if step.action == Action::Keep {
        Vec::new()
    } else {
        of_version(choice, step, passed)
    };
    if let Some(Write::Update {
        constraint,
        variant,
        asked_for,
    }) = &step.write
    {
        let package = view.packages.get(&choice.package);
        let old = package
            .map(|package| package.spec.clone())
            .unwrap_or_default();
        if let Some(constraint) = constraint {
            let (old, new) = (or(&old.version, "(any)"), or(constraint, "(any)"));
            notes.push(format!("constraint {old} becomes {new}"));
        }
        if let Some(variant) = variant {
            let old = or(&old.variant, DEFAULT_VARIANT);
            notes.push(format!("variant {old} becomes {variant}"));
        }
        if *asked_for {
            notes.push("was installed as a requirement, counts as asked for now".to_owned());
        }
    }
    notes
}

/// Notes about a version that is new to the cluster.
fn of_version(choice: &Choice<'_>, step: &Step, passed: Option<&Passed>) -> Vec<String> {
    let mut notes = Vec::new();
    let spec = &choice.source.spec;
    if !spec.crds.is_empty() {
        notes.push(format!("owns CRDs: {}", spec.crds.join(", ")));
    }
    if let Some(permissions) = &spec.permissions {
        if permissions.cluster_wide {
            notes.push("needs cluster-wide permissions".to_owned());
        }
        notes.extend(permissions.rules.iter().map(permission));
    }
    if !choice.variant.components.is_empty() && !spec.rollback_safe() {
        let note = "not rollback-safe: a failed upgrade is fixed forward, not rolled back";
        notes.push(note.to_owned());
    }
    if let (Action::Downgrade, Some(from)) = (step.action, &step.from) {
        notes.push(format!("DOWNGRADE from {from}"));
    }
    if matches!(step.action, Action::Upgrade | Action::Downgrade) {
        let components = choice.variant.components.iter();
        let hooks = components.filter(|component| component.is_hook());
        notes.extend(
            hooks.map(|hook| format!("runs pre-upgrade hook {} before anything else", hook.name)),
        );
    }
    if step.origin == Origin::Local {
        let note = "a hand-written PackageSource decides the version, not the repositories";
        notes.push(note.to_owned());
    }
    if step.variant != DEFAULT_VARIANT {
        notes.push(format!("runs variant {}", step.variant));
    }
    if let Some(passed) = passed {
        let paths: Vec<&str> = passed.leaves.keys().map(String::as_str).collect();
        notes.push(format!(
            "gets values {} from {}",
            paths.join(", "),
            passed.by.join(", ")
        ));
    }
    notes
}

fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

/// `may get, list pods` or `may get /metrics`.
fn permission(rule: &PolicyRule) -> String {
    let verbs = rule.verbs.as_deref().unwrap_or_default().join(", ");
    let groups: Vec<&str> = rule
        .api_groups
        .iter()
        .map(String::as_str)
        .filter(|group| !group.is_empty())
        .collect();
    let mut things = rule.resources.join(", ");
    if !groups.is_empty() {
        things = format!("{things} of {}", groups.join(", "));
    }
    let urls = rule.non_resource_urls.join(", ");
    if !urls.is_empty() {
        things = if things.is_empty() {
            urls
        } else {
            format!("{things}, {urls}")
        };
    }
    if !rule.resource_names.is_empty() {
        things = format!("{things} named {}", rule.resource_names.join(", "));
    }
    format!("may {verbs} {things}")
}
