//! Recording a revision and applying it, component after component.
//!
//! A component that is done in this revision is never applied again (it has a backend revision on record). One that an
//! earlier revision left exactly like this, and that is still healthy there, is written down as done without being
//! touched. What earlier revisions installed and this one lacks is removed last, newest first, when all the rest is
//! healthy.

use kubepkg_api::{PackageReason, Phase};
use kubepkg_backend::{Outcome, Phase as ReleasePhase, Placement};

use super::super::desired::{Desired, target};
use super::super::observed::{Observed, Problem, Question};
use super::super::report::{Next, Report, Settled};
use super::super::revision::{NewRevision, RecordedComponent, Revision};
use super::{Action, Decision, retry};

/// Records the desired state as a new revision, once every chart is at hand.
pub(super) fn record(o: &Observed, desired: &Desired, attempt: u32) -> Decision {
    let unknown: Vec<_> = desired
        .components
        .iter()
        .filter(|c| !o.charts.contains_key(&c.chart.to_string()))
        .map(|c| c.chart.clone())
        .collect();
    if !unknown.is_empty() {
        return Decision::Ask(Question::Charts(unknown));
    }
    let mut components = Vec::with_capacity(desired.components.len());
    for component in &desired.components {
        match o.charts.get(&component.chart.to_string()) {
            Some(Ok(digest)) => components.push(component.record(digest)),
            Some(Err(problem)) => return Decision::Settle(no_chart(o, &component.name, problem)),
            None => return Decision::Ask(Question::Charts(vec![component.chart.clone()])),
        }
    }
    Decision::Act(Action::Record(NewRevision {
        number: o.next_number(),
        version: desired.version.clone(),
        variant: desired.variant.clone(),
        rollback_safe: desired.rollback_safe,
        restored_from: None,
        requested: false,
        attempt,
        desired_digest: desired.digest.clone(),
        components,
    }))
}

/// What to do when something else is wanted than what the newest revision, which is settled, was made from.
///
/// A new revision is recorded only if version, variant, components, charts or values differ (design document, "Applying a
/// revision"): another timeout, for example, changes nothing that is applied.
pub(super) fn anew(o: &Observed, newest: &Revision, desired: &Desired) -> Decision {
    let next = record(o, desired, 1);
    match &next {
        Decision::Act(Action::Record(new))
            if newest.phase == Phase::Applied
                && newest.restored_from.is_none()
                && newest.is_same_state(new) => {}
        _ => return next,
    }
    // Only what is there needs no new revision: one that was asked for again mends what somebody broke.
    if let Some(question) = o.unasked(newest.components.iter().map(|c| &c.placement)) {
        return Decision::Ask(question);
    }
    let broken = newest.components.iter().any(|c| {
        matches!(o.releases.get(&c.placement), Some(Ok(state)) if matches!(state.phase, ReleasePhase::Absent | ReleasePhase::Failed))
    });
    if broken {
        return next;
    }
    Decision::Act(Action::Restamp {
        revision: newest.number,
        desired_digest: desired.digest.clone(),
    })
}

/// A chart cannot be had, so nothing is changed. Whether looking again helps decides how soon that is done.
fn no_chart(o: &Observed, component: &str, problem: &Problem) -> Settled {
    let message = format!("component {component}: {}", problem.message);
    if problem.transient {
        let look_again = retry::growing(o, PackageReason::FetchFailed);
        return Settled {
            report: Report {
                reason: PackageReason::FetchFailed,
                message,
                next: Next::Operator,
                retry: None,
            },
            look_again: Some(look_again),
        };
    }
    // Nobody tells the operator when a registry is put in order, so it looks again, rarely.
    Settled {
        look_again: Some(o.settings.retry_backoff_max),
        ..Settled::stalled(PackageReason::InvalidConfiguration, message)
    }
}

/// Brings the revision under way one step further.
pub(super) fn go_on(o: &Observed, revision: &Revision, desired: &Desired) -> Decision {
    for recorded in &revision.components {
        if recorded.backend_revision.is_some() {
            continue;
        }
        return match o.outcomes.get(&recorded.placement) {
            Some(outcome) => follow(o, revision, recorded, outcome),
            None => start(o, revision, desired, recorded),
        };
    }
    remove_orphans(o, revision).unwrap_or_else(|| {
        let (done, version) = (revision.components.len(), &revision.version);
        Decision::Act(Action::SetPhase {
            revision: revision.number,
            phase: Phase::Applied,
            message: format!("version {version}, {done} component(s) applied"),
            permanent: false,
        })
    })
}

/// Starts a component, unless it is there already just as wanted.
fn start(
    o: &Observed,
    revision: &Revision,
    desired: &Desired,
    recorded: &RecordedComponent,
) -> Decision {
    if let Some(before) = left_by_earlier(o, revision, recorded) {
        match o.releases.get(&recorded.placement) {
            None => return Decision::Ask(Question::Releases(vec![recorded.placement.clone()])),
            Some(Ok(state)) if state.is_ready_at(before) => {
                return Decision::Act(Action::RecordComponent {
                    revision: revision.number,
                    component: recorded.name.clone(),
                    backend_revision: before,
                });
            }
            // It may well be as it should be; what cannot be seen for a moment is not done again.
            Some(Err(problem)) if problem.transient => {
                return wait(o, revision, &recorded.name, problem);
            }
            Some(_) => {}
        }
    }
    let wanted = desired.components.iter().find(|c| c.name == recorded.name);
    let digest = recorded.chart_digest.parse();
    match (wanted, digest) {
        (Some(wanted), Ok(digest)) => Decision::Act(Action::Apply(Box::new(wanted.component(
            &o.package,
            digest,
            revision.number,
        )))),
        _ => fail(
            revision,
            &format!(
                "component {}: its record does not fit the desired state",
                recorded.name
            ),
            false,
        ),
    }
}

/// The backend revision in which the newest earlier revision left the component, if that is what this one wants too.
fn left_by_earlier(o: &Observed, revision: &Revision, recorded: &RecordedComponent) -> Option<u64> {
    let (before, backend_revision) = o
        .revisions
        .iter()
        .rev()
        .filter(|r| r.number < revision.number)
        .flat_map(|r| &r.components)
        .filter(|c| c.placement == recorded.placement)
        .find_map(|c| Some((c, c.backend_revision?)))?;
    before.is_same_state(recorded).then_some(backend_revision)
}

/// Acts on what the backend answered for a component.
fn follow(
    o: &Observed,
    revision: &Revision,
    recorded: &RecordedComponent,
    outcome: &Result<Outcome, Problem>,
) -> Decision {
    let name = &recorded.name;
    match outcome {
        Ok(Outcome::Ready {
            revision: backend_revision,
        }) => Decision::Act(Action::RecordComponent {
            revision: revision.number,
            component: name.clone(),
            backend_revision: *backend_revision,
        }),
        Ok(Outcome::Waiting {
            message,
            check_after,
        }) => Decision::Settle(Settled::progressing(
            format!("revision {}: component {name}: {message}", revision.number),
            *check_after,
        )),
        Ok(Outcome::Failed {
            message, permanent, ..
        }) => fail(
            revision,
            &format!("component {name}: {message}"),
            *permanent,
        ),
        Ok(Outcome::Gone) => fail(
            revision,
            &format!("component {name}: its release was removed while it was being applied"),
            false,
        ),
        Err(problem) if problem.transient => wait(o, revision, name, problem),
        Err(problem) => fail(
            revision,
            &format!("component {name}: {}", problem.message),
            false,
        ),
    }
}

/// Looks again, less often the longer it lasts.
fn wait(o: &Observed, revision: &Revision, component: &str, problem: &Problem) -> Decision {
    let (number, message) = (revision.number, &problem.message);
    Decision::Settle(Settled::progressing(
        format!("revision {number}: component {component}: {message}"),
        retry::growing(o, PackageReason::Progressing),
    ))
}

fn fail(revision: &Revision, message: &str, permanent: bool) -> Decision {
    Decision::Act(Action::SetPhase {
        revision: revision.number,
        phase: Phase::Failed,
        message: message.to_owned(),
        permanent,
    })
}

/// The releases that revisions since the last good one put into the cluster and `revision` lacks, last one first.
fn orphans(o: &Observed, revision: &Revision) -> Vec<(String, Placement)> {
    let since = o.last_good(revision.number).map_or(0, |good| good.number);
    o.left_by(since..revision.number, revision)
}

/// The next step of removing them; `None` when nothing is left of them.
fn remove_orphans(o: &Observed, revision: &Revision) -> Option<Decision> {
    let orphans = orphans(o, revision);
    if let Some(question) = o.unasked(orphans.iter().map(|(_, placement)| placement)) {
        return Some(Decision::Ask(question));
    }
    orphans.iter().find_map(|(name, placement)| {
        remove(
            o,
            name,
            placement,
            revision.number,
            &format!("revision {}: ", revision.number),
        )
    })
}

/// The next step of removing one release; `None` when nothing is left of it, or it is somebody else's.
pub(super) fn remove(
    o: &Observed,
    name: &str,
    placement: &Placement,
    revision: u64,
    during: &str,
) -> Option<Decision> {
    let wait = |message: &str, look_again| {
        Some(Decision::Settle(Settled::progressing(
            format!("{during}removing component {name}: {message}"),
            look_again,
        )))
    };
    match o.outcomes.get(placement) {
        Some(Ok(Outcome::Gone)) => return None,
        Some(Ok(Outcome::Waiting {
            message,
            check_after,
        })) => return wait(message, *check_after),
        Some(Ok(Outcome::Failed { message, .. }) | Err(Problem { message, .. })) => {
            return wait(message, retry::growing(o, PackageReason::Progressing));
        }
        Some(Ok(Outcome::Ready { .. })) | None => {}
    }
    match o.releases.get(placement) {
        Some(Ok(state)) if matches!(state.phase, ReleasePhase::Absent | ReleasePhase::Foreign) => {
            None
        }
        Some(Ok(_)) => Some(Decision::Act(Action::Uninstall(target(
            &o.package, name, placement, revision,
        )))),
        Some(Err(problem)) => wait(
            &problem.message,
            retry::growing(o, PackageReason::Progressing),
        ),
        None => Some(Decision::Ask(Question::Releases(vec![placement.clone()]))),
    }
}
