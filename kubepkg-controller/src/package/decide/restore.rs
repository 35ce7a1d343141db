//! Bringing an earlier revision's state back, after a failure or because somebody asked.
//!
//! Whether a failed revision may be rolled back is decided by *its* version: its author knows whether going back is safe
//! after its migrations ran. Before anything is changed, every backend revision that is needed must still be in the
//! backend's history. What to do follows from what the backend reports, not from what was done before, so that a killed
//! operator goes on where it was.

use kubepkg_api::{PackageReason, Phase};
use kubepkg_backend::{Outcome, Phase as ReleasePhase, Placement};

use super::super::desired::{Desired, target};
use super::super::observed::{Observed, Problem, Question};
use super::super::report::Settled;
use super::super::revision::{NewRevision, RecordedComponent, Revision};
use super::{Action, Decision, apply, retry};

/// What to do about the newest revision, which failed.
pub(super) fn after_failure(o: &Observed, failed: &Revision, desired: &Desired) -> Decision {
    if failed.requested {
        return Decision::Settle(Settled::stalled(
            PackageReason::RollbackFailed,
            format!(
                "the rollback to revision {} that was asked for failed: {}",
                failed.restored_from.unwrap_or_default(),
                failed.message
            ),
        ));
    }
    match candidate(o, failed) {
        Err(why) => retry::after_failure(o, failed, desired, &why),
        Ok(good) => match reachable(o, good) {
            Reachable::Ask(question) => Decision::Ask(question),
            Reachable::No(why) => retry::after_failure(o, failed, desired, &why),
            Reachable::NotNow(why) => Decision::Settle(Settled::progressing(
                format!(
                    "revision {} failed ({}); {why}",
                    failed.number, failed.message
                ),
                retry::growing(o, PackageReason::Progressing),
            )),
            Reachable::Yes => Decision::Act(Action::Record(restoring(o, good, failed, false))),
        },
    }
}

/// The revision that `failed` may be rolled back to, or why there is none.
fn candidate<'a>(o: &'a Observed, failed: &Revision) -> Result<&'a Revision, String> {
    if failed.restored_from.is_some() {
        return Err("the rollback failed too".to_owned());
    }
    if !o.package.spec.atomic() {
        return Err("spec.upgrade.atomic is false".to_owned());
    }
    let good = o
        .last_good(failed.number)
        .ok_or_else(|| "there is no earlier revision to return to".to_owned())?;
    if !failed.rollback_safe {
        return Err(format!(
            "version {} does not declare rollback safe",
            failed.version
        ));
    }
    if !o.settings.backend.rollback {
        return Err("the backend cannot roll back".to_owned());
    }
    Ok(good)
}

/// Whether a revision's state can be brought back.
pub(super) enum Reachable {
    /// This must be known first.
    Ask(Question),
    /// It can.
    Yes,
    /// It cannot, and why.
    No(String),
    /// It cannot be told now, and why.
    NotNow(String),
}

/// Whether the backend still has what `good` recorded.
pub(super) fn reachable(o: &Observed, good: &Revision) -> Reachable {
    if let Some(question) = o.unasked(good.components.iter().map(|c| &c.placement)) {
        return Reachable::Ask(question);
    }
    for component in &good.components {
        let Some(recorded) = component.backend_revision else {
            return Reachable::No(format!(
                "revision {} has no record of component {}",
                good.number, component.name
            ));
        };
        match o.releases.get(&component.placement) {
            Some(Ok(state)) if state.phase == ReleasePhase::Foreign => {
                return Reachable::No(state.message.clone());
            }
            Some(Ok(state))
                if state.is_ready_at(recorded) || state.restorable.contains(&recorded) => {}
            Some(Ok(_)) => {
                return Reachable::No(format!(
                    "release {} no longer has revision {recorded} in its history",
                    component.placement
                ));
            }
            Some(Err(problem)) if problem.transient => {
                return Reachable::NotNow(problem.message.clone());
            }
            Some(Err(problem)) => return Reachable::No(problem.message.clone()),
            None => {
                return Reachable::Ask(Question::Releases(vec![component.placement.clone()]));
            }
        }
    }
    Reachable::Yes
}

/// The record of bringing `good` back. It carries the desired digest of the state that is being left, so that the
/// operator does not at once upgrade to it again.
pub(super) fn restoring(
    o: &Observed,
    good: &Revision,
    leaving: &Revision,
    requested: bool,
) -> NewRevision {
    NewRevision {
        number: o.next_number(),
        version: good.version.clone(),
        variant: good.variant.clone(),
        rollback_safe: good.rollback_safe,
        restored_from: Some(good.number),
        requested,
        attempt: leaving.attempt,
        desired_digest: leaving.desired_digest.clone(),
        components: good
            .components
            .iter()
            .map(|c| RecordedComponent {
                backend_revision: None,
                ..c.clone()
            })
            .collect(),
    }
}

/// Brings a rollback under way one step further.
pub(super) fn go_on(o: &Observed, revision: &Revision) -> Decision {
    let from = revision.restored_from.unwrap_or_default();
    let Some(good) = o.revision(from) else {
        return fail(
            revision,
            format!("revision {from}, which it brings back, is gone"),
        );
    };
    let extras = extras(o, revision);
    let wanted: Vec<&RecordedComponent> = revision
        .components
        .iter()
        .rev()
        .filter(|c| c.backend_revision.is_none())
        .collect();
    let placements = extras
        .iter()
        .map(|(_, p)| p)
        .chain(wanted.iter().map(|c| &c.placement));
    if let Some(question) = o.unasked(placements) {
        return Decision::Ask(question);
    }
    let during = format!("rolling back to revision {from}");
    for (name, placement) in &extras {
        if let Some(decision) =
            apply::remove(o, name, placement, revision.number, &format!("{during}: "))
        {
            return decision;
        }
    }
    if let Some(component) = wanted.into_iter().next() {
        let recorded = good
            .component(&component.name)
            .and_then(|c| c.backend_revision);
        let Some(to) = recorded else {
            return fail(
                revision,
                format!(
                    "revision {from} has no record of component {}",
                    component.name
                ),
            );
        };
        return bring_back(o, revision, component, to, &during);
    }
    Decision::Act(Action::SetPhase {
        revision: revision.number,
        phase: Phase::Applied,
        message: format!("restored from {from}"),
        permanent: false,
    })
}

fn bring_back(
    o: &Observed,
    revision: &Revision,
    component: &RecordedComponent,
    to: u64,
    during: &str,
) -> Decision {
    let name = &component.name;
    let done = |backend_revision| {
        Decision::Act(Action::RecordComponent {
            revision: revision.number,
            component: name.clone(),
            backend_revision,
        })
    };
    match o.outcomes.get(&component.placement) {
        Some(Ok(Outcome::Ready { revision })) => return done(*revision),
        Some(Ok(Outcome::Waiting {
            message,
            check_after,
        })) => {
            return Decision::Settle(Settled::progressing(
                format!("{during}: component {name}: {message}"),
                *check_after,
            ));
        }
        Some(Ok(Outcome::Failed { message, .. })) => {
            return fail(revision, format!("component {name}: {message}"));
        }
        Some(Err(problem)) if problem.transient => return wait(o, name, problem, during),
        Some(Err(problem)) => {
            return fail(revision, format!("component {name}: {}", problem.message));
        }
        Some(Ok(Outcome::Gone)) | None => {}
    }
    match o.releases.get(&component.placement) {
        Some(Ok(state)) => match state.revision {
            Some(now) if state.is_ready_at(to) => done(now),
            Some(now)
                if state.phase == ReleasePhase::Ready
                    && state.package_revision == Some(revision.number) =>
            {
                done(now)
            }
            _ => Decision::Act(Action::Rollback {
                target: target(&o.package, name, &component.placement, revision.number),
                to,
            }),
        },
        Some(Err(problem)) => wait(o, name, problem, during),
        None => Decision::Ask(Question::Releases(vec![component.placement.clone()])),
    }
}

fn wait(o: &Observed, name: &str, problem: &Problem, during: &str) -> Decision {
    Decision::Settle(Settled::progressing(
        format!("{during}: component {name}: {}", problem.message),
        retry::growing(o, PackageReason::Progressing),
    ))
}

fn fail(revision: &Revision, message: String) -> Decision {
    Decision::Act(Action::SetPhase {
        revision: revision.number,
        phase: Phase::Failed,
        message,
        permanent: false,
    })
}

/// The releases that revisions between the one brought back and the restoring one put into the cluster, and that it
/// lacks; last one first.
fn extras(o: &Observed, revision: &Revision) -> Vec<(String, Placement)> {
    let from = revision.restored_from.unwrap_or_default();
    o.left_by(from.saturating_add(1)..revision.number, revision)
}
