//! Looking after a package that is what it should be.
//!
//! Nothing is written in a pass that finds everything in place. A refused rollback stays reported until the package
//! changes or a new revision is made, so that the person who asked for it can see the answer.

use std::time::Duration;

use kubepkg_api::{PackageReason, condition, keys};
use kubepkg_backend::Phase as ReleasePhase;

use super::super::desired::{Desired, timeout};
use super::super::observed::Observed;
use super::super::report::{Next, Report, Settled};
use super::super::revision::Revision;
use super::{Decision, apply, retry};

/// How soon a release that is not as it should be is looked at again.
const UNSETTLED: Duration = Duration::from_secs(15);

/// Reports on the newest revision, which is applied; `desired` is what it was made from.
///
/// A release that somebody removed is installed again, by a new revision. One that is failed or pending through somebody
/// else's doing is given the time that the package gives its own changes, then it is applied again too.
pub(super) fn at_rest(o: &Observed, revision: &Revision, desired: &Desired) -> Decision {
    if let Some(question) = o.unasked(revision.components.iter().map(|c| &c.placement)) {
        return Decision::Ask(question);
    }
    // What is wanted is not what a requested rollback holds on to.
    let mends = revision.restored_from.is_none();
    for component in &revision.components {
        let (message, look_again) = match o.releases.get(&component.placement) {
            Some(Ok(state)) if state.phase == ReleasePhase::Ready => continue,
            Some(Ok(state)) if mends && state.phase == ReleasePhase::Absent => {
                return apply::record(o, desired, 1);
            }
            Some(Ok(state)) if mends && state.phase != ReleasePhase::Foreign && has_lasted(o) => {
                return apply::record(o, desired, 1);
            }
            Some(Ok(state)) => (state.message.clone(), UNSETTLED),
            Some(Err(problem)) => (
                problem.message.clone(),
                retry::growing(o, PackageReason::Progressing),
            ),
            None => continue,
        };
        return Decision::Settle(Settled::progressing(
            format!("component {}: {message}", component.name),
            look_again,
        ));
    }
    if let Some(refused) = refused_rollback(o) {
        return Decision::Settle(refused);
    }
    let (reason, message) = match (revision.requested, revision.restored_from) {
        (true, Some(from)) => (
            PackageReason::RolledBack,
            format!(
                "revision {}: rolled back to revision {from} on request; held until the package changes",
                revision.number
            ),
        ),
        _ => (
            PackageReason::ReconciliationSucceeded,
            format!(
                "reconciliation succeeded, revision {}, {} component(s)",
                revision.number,
                revision.components.len()
            ),
        ),
    };
    Decision::Settle(Settled {
        report: Report {
            reason,
            message,
            next: Next::Nobody,
            retry: None,
        },
        look_again: Some(o.settings.recheck),
    })
}

/// Whether the package has not been ready for longer than its own changes may take.
fn has_lasted(o: &Observed) -> bool {
    o.package
        .status
        .as_ref()
        .and_then(|status| condition::find(&status.conditions, keys::READY))
        .filter(|ready| ready.reason == PackageReason::Progressing.as_str())
        .and_then(|ready| {
            Duration::try_from(o.now.duration_since(ready.last_transition_time.0)).ok()
        })
        .is_some_and(|lasted| lasted >= timeout(&o.package))
}

/// The report of a rollback that was refused, while nothing has changed since.
fn refused_rollback(o: &Observed) -> Option<Settled> {
    let status = o.package.status.as_ref()?;
    let ready = condition::find(&status.conditions, keys::READY)?;
    let current = u64::try_from(status.current_revision).ok();
    (ready.reason == PackageReason::RollbackFailed.as_str()
        && ready.observed_generation == o.package.metadata.generation
        && current == o.latest().map(|r| r.number))
    .then(|| Settled::stalled(PackageReason::RollbackFailed, ready.message.clone()))
}
