//! When a failed state is tried again.
//!
//! The wait begins at `retry_backoff` and doubles with every failure in a row up to `retry_backoff_max`. The number of
//! the attempt and the time of the failure stand on the revision, so that a restarted operator keeps the schedule. A failure that the same input will always produce is not tried again. Design document, "Applying
//! a revision", step 6.

use std::time::Duration;

use kubepkg_api::{PackageReason, condition, keys};

use super::super::desired::Desired;
use super::super::observed::{Observed, Settings};
use super::super::report::{Next, Report, Retry, Settled};
use super::super::revision::Revision;
use super::{Decision, apply};

/// The shortest wait after an error that may pass by itself.
const SHORTEST: Duration = Duration::from_secs(2);

/// The longest wait after such an error.
const LONGEST: Duration = Duration::from_mins(5);

/// The longest wait after such an error in the middle of an operation, which has lasted for a while already (reference
/// §4.2).
const LONGEST_UNDER_WAY: Duration = Duration::from_secs(15);

/// What to do about a revision that failed and stays that way.
pub(super) fn after_failure(
    o: &Observed,
    revision: &Revision,
    desired: &Desired,
    why_not_rolled_back: &str,
) -> Decision {
    let message = format!(
        "revision {} failed ({}); not rolled back: {why_not_rolled_back}",
        revision.number, revision.message
    );
    again(o, revision, desired, PackageReason::UpgradeFailed, message)
}

/// What to do about a package that was rolled back by itself.
pub(super) fn after_rollback(o: &Observed, restored: &Revision, desired: &Desired) -> Decision {
    let failed = o.revisions.iter().rev().find(|r| {
        r.number < restored.number
            && r.restored_from.is_none()
            && r.desired_digest == restored.desired_digest
    });
    let from = restored.restored_from.unwrap_or_default();
    let message = match failed {
        Some(failed) => format!(
            "revision {} failed ({}); rolled back to revision {from}",
            failed.number, failed.message
        ),
        None => format!("rolled back to revision {from}"),
    };
    again(
        o,
        failed.unwrap_or(restored),
        desired,
        PackageReason::UpgradeRolledBack,
        message,
    )
}

fn again(
    o: &Observed,
    failed: &Revision,
    desired: &Desired,
    reason: PackageReason,
    message: String,
) -> Decision {
    if failed.permanent {
        return Decision::Settle(Settled::stalled(
            reason,
            format!("{message}; not retried until the package or its source changes"),
        ));
    }
    let since = failed.finished_at.unwrap_or(o.now);
    let at = since
        .saturating_add(wait(&o.settings, failed.attempt))
        .unwrap_or(since);
    if o.now >= at {
        return apply::record(o, desired, failed.attempt.saturating_add(1));
    }
    Decision::Settle(Settled {
        report: Report {
            reason,
            message,
            next: Next::Operator,
            retry: Some(Retry {
                attempts: failed.attempt,
                at,
            }),
        },
        look_again: Some(Duration::try_from(at.duration_since(o.now)).unwrap_or(SHORTEST)),
    })
}

/// The wait after the `attempts`-th failure in a row.
pub(super) fn wait(settings: &Settings, attempts: u32) -> Duration {
    let doublings = attempts.saturating_sub(1).min(31);
    settings
        .retry_backoff
        .saturating_mul(1 << doublings)
        .min(settings.retry_backoff_max)
}

/// How long to wait before looking again at something that may pass by itself: as long as it has lasted already, so that
/// the wait doubles without anybody counting.
pub(super) fn growing(o: &Observed, reason: PackageReason) -> Duration {
    o.package
        .status
        .as_ref()
        .and_then(|status| condition::find(&status.conditions, keys::READY))
        .filter(|ready| ready.reason == reason.as_str())
        .and_then(|ready| {
            Duration::try_from(o.now.duration_since(ready.last_transition_time.0)).ok()
        })
        .unwrap_or(SHORTEST)
        .clamp(
            SHORTEST,
            match reason {
                PackageReason::Progressing => LONGEST_UNDER_WAY,
                _ => LONGEST,
            },
        )
}
