//! Housekeeping of the history: at most one revision is `Applied`, and no more are kept than asked for.
//!
//! Both are decided from what is there, not from what was just done, so that a crash in the middle is made good by the
//! next pass. Never pruned: the newest revision, and the newest good one, which is what a rollback goes back to.

use kubepkg_api::Phase;

use super::super::observed::Observed;
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
    let candidate = o
        .revisions
        .iter()
        .find(|r| r.number != newest && Some(r.number) != good && Some(r.number) != restoring)?;
    Some(Action::Prune {
        revision: candidate.number,
    })
}
