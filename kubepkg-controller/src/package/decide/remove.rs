//! Taking a deleted package apart.
//!
//! Every release that any retained revision had is removed, newest revision and last component first, each once; what
//! belongs to somebody else is left alone. Only when nothing is left does the finalizer go. Reference §4.11.

use kubepkg_backend::Placement;

use super::super::observed::Observed;
use super::{Action, Decision, apply, has_finalizer};
use crate::package::report::Settled;

/// The next step of taking the package apart.
pub(super) fn decide(o: &Observed) -> Decision {
    if !has_finalizer(o) {
        return Decision::Settle(Settled {
            look_again: None,
            ..Settled::progressing("being removed".to_owned(), std::time::Duration::ZERO)
        });
    }
    let releases = releases(o);
    if let Some(question) = o.unasked(releases.iter().map(|(_, placement, _)| placement)) {
        return Decision::Ask(question);
    }
    for (name, placement, revision) in &releases {
        if let Some(decision) = apply::remove(o, name, placement, *revision, "removal") {
            return decision;
        }
    }
    Decision::Act(Action::RemoveFinalizer)
}

fn releases(o: &Observed) -> Vec<(String, Placement, u64)> {
    let newest = o.latest().map_or(0, |r| r.number);
    let mut found: Vec<(String, Placement, u64)> = Vec::new();
    for component in o
        .revisions
        .iter()
        .rev()
        .flat_map(|r| r.components.iter().rev())
    {
        if !found
            .iter()
            .any(|(_, known, _)| *known == component.placement)
        {
            found.push((component.name.clone(), component.placement.clone(), newest));
        }
    }
    found
}
