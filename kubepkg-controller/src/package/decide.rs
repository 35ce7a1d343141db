//! The one place where it is decided what happens to a package next.
//!
//! [`decide`] is a pure function of [`Observed`]: no client, no clock, no randomness. It answers with *one* thing: a
//! question that must be answered first, an action to perform, or a report when there is nothing to do. The caller
//! answers or performs it, and asks again. The rules are tried in a fixed order (reference §4.3); each stands in a
//! module of its own:
//!
//! 1. a deleted package is taken apart ([`remove`]);
//! 2. the finalizer; housekeeping of the history ([`history`]);
//! 3. a rollback that somebody asked for, before every gate: a package that is broken in its source can still be rolled
//!    back ([`rollback`]);
//! 4. a rollback under way is finished ([`restore`]);
//! 5. the gates: source, variant, version ([`gates`]). Selection from repositories, requirements, conflicts and CRD
//!    ownership are further gates and belong there;
//! 6. the newest revision against the desired state: record a new one, go on applying it ([`apply`]), roll it back
//!    ([`restore`]), wait for the next attempt ([`retry`]), or look after what is there ([`observe`]).
//!
//! Hooks and moved components are steps of [`apply`]; drift is a question of [`observe`].

mod apply;
mod gates;
#[cfg(test)]
mod histories;
mod history;
mod observe;
mod remove;
mod restore;
mod retry;
mod rollback;
#[cfg(test)]
mod scenarios;

use kubepkg_api::{Phase, keys};
use kubepkg_backend::{Component, Target};

use super::observed::{Observed, Question};
use super::report::Settled;
use super::revision::NewRevision;

/// What happens next.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// This must be known first.
    Ask(Question),
    /// This is to be done; then decide again.
    Act(Action),
    /// Nothing is to be done now.
    Settle(Settled),
}

/// One thing to do. Each is one write to the API server or one call of the backend.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Hold the package until it has been taken apart.
    AddFinalizer,
    /// Let the deleted package go.
    RemoveFinalizer,
    /// The rollback that was asked for is recorded: take the request away.
    DropRollbackRequest,
    /// The rollback that was asked for cannot be done: say why and take the request away.
    RefuseRollback {
        /// Why.
        message: String,
    },
    /// Record a revision.
    Record(NewRevision),
    /// Write down that a component of a revision is done.
    RecordComponent {
        /// The revision.
        revision: u64,
        /// The component.
        component: String,
        /// The backend revision it is done as.
        backend_revision: u64,
    },
    /// Move a revision on.
    SetPhase {
        /// The revision.
        revision: u64,
        /// Its new phase.
        phase: Phase,
        /// Why, for a person.
        message: String,
        /// It failed and another attempt cannot help.
        permanent: bool,
    },
    /// The desired state changed without changing what is applied: mark the revision with its new digest.
    Restamp {
        /// The revision.
        revision: u64,
        /// Digest of the desired state that it fits.
        desired_digest: String,
    },
    /// Remove the record of a revision.
    Prune {
        /// The revision.
        revision: u64,
    },
    /// Have the backend apply a component.
    Apply(Box<Component>),
    /// Have the backend bring a release back to its own revision.
    Rollback {
        /// The release.
        target: Target,
        /// The backend revision to go back to.
        to: u64,
    },
    /// Have the backend remove a release.
    Uninstall(Target),
}

/// Decides what happens to the package next.
pub fn decide(o: &Observed) -> Decision {
    if o.package.metadata.deletion_timestamp.is_some() {
        return remove::decide(o);
    }
    if !has_finalizer(o) {
        return Decision::Act(Action::AddFinalizer);
    }
    if let Some(action) = history::housekeeping(o) {
        return Decision::Act(action);
    }
    if let Some(decision) = rollback::requested(o) {
        return decision;
    }
    let gate = gates::pass(o);
    let latest = o.latest();
    if let Some(revision) = latest.filter(|r| r.is_in_flight() && r.restored_from.is_some()) {
        return match &gate {
            Ok(desired) if desired.digest != revision.desired_digest => cancelled(revision.number),
            Ok(_) | Err(_) => restore::go_on(o, revision),
        };
    }
    let desired = match gate {
        Ok(desired) => desired,
        Err(blocked) => return Decision::Settle(blocked),
    };
    let Some(revision) = latest else {
        return apply::record(o, &desired, 1);
    };
    if revision.desired_digest != desired.digest {
        if revision.is_in_flight() {
            return cancelled(revision.number);
        }
        return apply::anew(o, revision, &desired);
    }
    match revision.phase {
        Phase::Applying | Phase::Pending => apply::go_on(o, revision, &desired),
        Phase::Failed | Phase::RolledBack => restore::after_failure(o, revision, &desired),
        Phase::Applied => match revision.restored_from {
            Some(_) if !revision.requested => retry::after_rollback(o, revision, &desired),
            Some(_) | None => observe::at_rest(o, revision, &desired),
        },
        // The newest revision is never superseded by the operator; somebody edited it. Record what is wanted anew.
        Phase::Superseded => apply::record(o, &desired, 1),
    }
}

/// The revision under way is no longer what is wanted.
fn cancelled(revision: u64) -> Decision {
    Decision::Act(Action::SetPhase {
        revision,
        phase: Phase::Failed,
        message: "cancelled: the desired state changed before it was applied".to_owned(),
        permanent: false,
    })
}

fn has_finalizer(o: &Observed) -> bool {
    o.package
        .metadata
        .finalizers
        .as_ref()
        .is_some_and(|all| all.iter().any(|f| f == keys::CLEANUP_FINALIZER))
}
