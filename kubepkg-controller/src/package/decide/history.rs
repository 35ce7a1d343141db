//! Housekeeping of the history: at most one revision is `Applied`, and no more are kept than asked for.
//!
//! Both are decided from what is there, not from what was just done, so that a crash in the middle is made good by the
//! next pass. Never pruned: the newest revision, the newest good one, which is what a rollback goes back to, and a failed one
//! that still is the only record of a release.

use kubepkg_api::Phase;

use super::super::observed::Observed;
use super::super::revision::Revision;
use super::Action;

/// The next thing to put in order, if any.
pub(super) fn housekeeping(o: &Observed) -> Option<Action> {
    supersede(o).or_else(|| prune(o))
}

fn supersede(o: &Observed) -> Option<Action> {
    let settled = o.revisions.iter().rev().find(|r| !r.is_in_flight())?;
    let stale = o
        .revisions
        .iter()
        .find(|r| r.number < settled.number && r.phase == Phase::Applied)?;
    Some(Action::SetPhase {
        revision: stale.number,
        phase: Phase::Superseded,
        message: String::new(),
        permanent: false,
    })
}

fn prune(o: &Observed) -> Option<Action> {
    if o.revisions.len() <= o.package.spec.history_limit() {
        return None;
    }
    let newest = o.latest()?.number;
    let good = o
        .revisions
        .iter()
        .rev()
        .find(|r| r.is_good())
        .map(|r| r.number);
    let restoring = o.latest()?.restored_from;
    let candidate = o.revisions.iter().find(|r| {
        r.number != newest
            && Some(r.number) != good
            && Some(r.number) != restoring
            && (good.is_some_and(|good| r.number < good) || is_covered(o, r, good))
    })?;
    Some(Action::Prune {
        revision: candidate.number,
    })
}

/// Whether every release that `revision` may have left behind is also on record elsewhere: in a newer revision or in the
/// newest good one. Otherwise its record is all that tells of a release that is yet to be removed.
fn is_covered(o: &Observed, revision: &Revision, good: Option<u64>) -> bool {
    revision.components.iter().all(|component| {
        o.revisions
            .iter()
            .filter(|r| r.number > revision.number || Some(r.number) == good)
            .any(|r| r.owns(&component.placement))
    })
}
