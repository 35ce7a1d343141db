//! Looking after a package that is what it should be.
//!
//! Nothing is written in a pass that finds everything in place. A refused rollback stays reported until the package
//! changes or a new revision is made, so that the person who asked for it can see the answer.

use std::time::Duration;

use kubepkg_api::{PackageReason, condition, keys};

use super::super::observed::Observed;
use super::super::report::{Next, Report, Settled};
use super::super::revision::Revision;
use super::{Decision, retry};

/// How soon a release that is not as it should be is looked at again.
const UNSETTLED: Duration = Duration::from_secs(15);

/// Reports on the newest revision, which is applied.
pub(super) fn at_rest(o: &Observed, revision: &Revision) -> Decision {
    if let Some(question) = o.unasked(revision.components.iter().map(|c| &c.placement)) {
        return Decision::Ask(question);
    }
    for component in &revision.components {
        let (message, look_again) = match o.releases.get(&component.placement) {
            Some(Ok(state)) if state.phase == kubepkg_backend::Phase::Ready => continue,
            Some(Ok(state)) => (state.message.clone(), UNSETTLED),
            Some(Err(problem)) => (
                problem.message.clone(),
                retry::growing(o, PackageReason::Progressing),
            ),
            None => continue,
        };
        return Decision::Settle(Settled::progressing(
            format!(
                "component {}: release {}: {message}",
                component.name, component.placement
            ),
            look_again,
        ));
    }
    if let Some(refused) = refused_rollback(o) {
        return Decision::Settle(refused);
    }
    let (reason, message) = match (revision.requested, revision.restored_from) {
        (true, Some(from)) => (
            PackageReason::RolledBack,
            format!("rolled back to revision {from} on request; held until the package changes"),
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
