//! Taking a deleted package apart.
//!
//! Every release that any retained revision had is removed, newest revision and last component first, each once; what
//! belongs to somebody else is left alone. Records may have been lost: somebody deleted them, or the garbage collector did,
//! which takes them first when a Package is deleted with foreground propagation. So the releases that bear the package's
//! mark are asked for too. Only when nothing is left does the finalizer go. Reference §4.11.

use kubepkg_api::PackageReason;
use kubepkg_backend::Placement;

use super::super::observed::{Observed, Question};
use super::{Action, Decision, apply, has_finalizer, retry};
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
        if let Some(decision) = apply::remove(o, name, placement, *revision, "") {
            return decision;
        }
    }
    leftovers(o, &releases).unwrap_or(Decision::Act(Action::RemoveFinalizer))
}

/// The next step of removing what bears the package's mark and is on no record; `None` when there is nothing.
fn leftovers(o: &Observed, known: &[(String, Placement, u64)]) -> Option<Decision> {
    let marked = match &o.marked {
        None => return Some(Decision::Ask(Question::Marked)),
        Some(Ok(marked)) => marked,
        Some(Err(problem)) if problem.transient => {
            return Some(Decision::Settle(Settled::progressing(
                problem.message.clone(),
                retry::growing(o, PackageReason::Progressing),
            )));
        }
        // An operator that may not look everywhere removes what is on record.
        Some(Err(_)) => return None,
    };
    let newest = o.latest().map_or(0, |r| r.number);
    let unknown: Vec<&Placement> = marked
        .iter()
        .filter(|marked| !known.iter().any(|(_, placement, _)| placement == *marked))
        .collect();
    if let Some(question) = o.unasked(unknown.iter().copied()) {
        return Some(Decision::Ask(question));
    }
    unknown
        .into_iter()
        .find_map(|at| apply::remove(o, &at.release, at, newest, ""))
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
