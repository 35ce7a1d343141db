//! A rollback that somebody asked for, by the annotation `kubepkg.dev/rollback-to`.
//!
//! It is handled before every gate, needs no declaration that it is safe, and is never retried. The request is taken
//! away in every case: once its revision is recorded, or with the reason why it was refused. Reference §4.7, §10.2 R5.

use kube::ResourceExt;
use kubepkg_api::{PackageReason, PackageSourceSpec, Phase, keys};

use super::super::desired::digest;
use super::super::observed::Observed;
use super::super::report::Settled;
use super::super::revision::NewRevision;
use super::restore::{Reachable, reachable, restoring};
use super::{Action, Decision, retry};

/// The next step of a rollback that was asked for; `None` when none was.
pub(super) fn requested(o: &Observed) -> Option<Decision> {
    o.package
        .annotations()
        .get(keys::ROLLBACK_TO)
        .map(|request| go_back(o, request))
}

fn go_back(o: &Observed, request: &str) -> Decision {
    let latest = o.latest();
    let wanted: Option<u64> = request.parse().ok().filter(|n| *n > 0);
    let Some(wanted) = wanted else {
        return refuse(format!(
            "annotation {} is {request:?}, which is no revision number",
            keys::ROLLBACK_TO
        ));
    };
    if latest.is_some_and(|r| r.is_in_flight() && r.requested && r.restored_from == Some(wanted)) {
        return Decision::Act(Action::DropRollbackRequest);
    }
    let Some(good) = o.revision(wanted) else {
        return refuse(format!("there is no revision {wanted}"));
    };
    if !good.is_good() {
        return refuse(format!(
            "revision {wanted} is {}; only one that was applied successfully can be returned to",
            good.phase.as_str()
        ));
    }
    if !o.settings.backend.rollback {
        return refuse("the backend cannot roll back".to_owned());
    }
    match reachable(o, good) {
        Reachable::Ask(question) => return Decision::Ask(question),
        Reachable::No(why) => {
            return refuse(format!("revision {wanted} cannot be returned to: {why}"));
        }
        Reachable::NotNow(why) => {
            return Decision::Settle(Settled::progressing(
                format!("rollback to revision {wanted}: {why}"),
                retry::growing(o, PackageReason::Progressing),
            ));
        }
        Reachable::Yes => {}
    }
    if let Some(latest) = latest.filter(|r| r.is_in_flight()) {
        return Decision::Act(Action::SetPhase {
            revision: latest.number,
            phase: Phase::Failed,
            message: format!("cancelled: a rollback to revision {wanted} was asked for"),
            permanent: false,
        });
    }
    let leaving = latest.unwrap_or(good);
    // Without a source nothing says what is wanted; as soon as there is one, it is applied.
    let nothing = PackageSourceSpec::default();
    let source = o.source.spec().unwrap_or(&nothing);
    let wanted_digest = digest(&o.package, source).unwrap_or_default();
    Decision::Act(Action::Record(NewRevision {
        desired_digest: wanted_digest,
        attempt: 1,
        ..restoring(o, good, leaving, true)
    }))
}

fn refuse(message: String) -> Decision {
    Decision::Act(Action::RefuseRollback { message })
}
