//! What is told to people as Events, one for every change of state.
//!
//! Pure text; publishing is best effort: a cluster that refuses Events still gets its packages.

use kubepkg_api::{PackageReason, Phase};

use super::decide::Action;
use super::observed::Observed;
use super::report::Report;

/// One Event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// Something is wrong.
    pub warning: bool,
    /// One word for what happened.
    pub reason: &'static str,
    /// One word for what was being done.
    pub action: &'static str,
    /// For a person.
    pub note: String,
}

/// The event that goes with an action, if it changes the state of the package.
pub(super) fn of(o: &Observed, action: &Action) -> Option<Notice> {
    let notice = |warning, reason, action, note| {
        Some(Notice {
            warning,
            reason,
            action,
            note,
        })
    };
    match action {
        Action::Record(new) => {
            let (number, version) = (new.number, &new.version);
            match (new.restored_from, o.latest()) {
                (Some(from), _) => notice(
                    false,
                    "RollingBack",
                    "Rollback",
                    format!(
                        "revision {number}: rolling back to revision {from}, version {version}"
                    ),
                ),
                (None, None) => notice(
                    false,
                    "Installing",
                    "Install",
                    format!("revision {number}: installing version {version}"),
                ),
                (None, Some(before)) => notice(
                    false,
                    "Upgrading",
                    "Upgrade",
                    format!("revision {number}: version {} -> {version}", before.version),
                ),
            }
        }
        Action::SetPhase {
            revision,
            phase: Phase::Applied,
            message,
            ..
        } => notice(
            false,
            "Applied",
            "Apply",
            format!("revision {revision}: {message}"),
        ),
        Action::SetPhase {
            revision,
            phase: Phase::Failed,
            message,
            ..
        } => notice(
            true,
            "Failed",
            "Apply",
            format!("revision {revision}: {message}"),
        ),
        Action::RefuseRollback { message } => {
            notice(true, "RollbackFailed", "Rollback", message.clone())
        }
        Action::RemoveFinalizer => notice(
            false,
            "Removed",
            "Remove",
            "everything the package installed is gone".to_owned(),
        ),
        _ => None,
    }
}

/// The event that goes with a report whose reason is new; what actions tell already is left out.
pub(super) fn of_report(report: &Report) -> Option<Notice> {
    match report.reason {
        PackageReason::ReconciliationSucceeded
        | PackageReason::Progressing
        | PackageReason::RolledBack
        | PackageReason::UpgradeFailed
        | PackageReason::UpgradeRolledBack
        | PackageReason::RollbackFailed => None,
        blocked => Some(Notice {
            warning: true,
            reason: blocked.as_str(),
            action: "Reconcile",
            note: report.message.clone(),
        }),
    }
}
