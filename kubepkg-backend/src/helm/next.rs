//! What to do next with a release, from its records alone: pure, so that every rule is a test on data.
//!
//! Rules: reference §4.8 (interrupted operations), §10.2 R1 and R4 (nothing is applied twice for one revision, nothing
//! is changed when the revision to return to is gone).

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kubepkg_helm::{OperationKind, RecordHead, ReleaseStatus};

use super::marks::is_for;
use crate::{Component, Target};

/// How long until a release that another process works on is looked at again, at most.
const LOOK_AGAIN: Duration = Duration::from_secs(15);

/// What is asked for.
#[derive(Clone, Copy)]
pub(super) enum Intent<'a> {
    Apply(&'a Component),
    Rollback { target: &'a Target, to: u64 },
    Uninstall(&'a Target),
}

impl Intent<'_> {
    pub(super) fn target(&self) -> &Target {
        match self {
            Self::Apply(component) => &component.target,
            Self::Rollback { target, .. } | Self::Uninstall(target) => target,
        }
    }

    /// Whether a release of somebody else may be taken over.
    pub(super) fn adopts(&self) -> bool {
        matches!(self, Self::Apply(component) if component.adopt)
    }

    /// Whether an operation of this kind is what the intent leads to.
    pub(super) fn is(&self, kind: OperationKind) -> bool {
        match self {
            Self::Apply(_) => matches!(kind, OperationKind::Install | OperationKind::Upgrade),
            Self::Rollback { .. } => kind == OperationKind::Rollback,
            Self::Uninstall(_) => kind == OperationKind::Uninstall,
        }
    }
}

/// The next move.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// There is nothing to remove.
    Absent,
    /// Done for this package revision.
    Settled { revision: u32 },
    /// Tried for this package revision, and failed.
    FailedBefore { revision: u32 },
    /// Another process works on it.
    WaitForOther {
        message: String,
        check_after: Duration,
    },
    /// The process that worked on it is gone.
    GiveUp,
    /// An operation for another package revision is under way.
    Cancel,
    /// The operation that is asked for is under way.
    Resume,
    /// A removal is under way and must end first.
    FinishRemoval,
    /// Records of a removed release are in the way.
    Purge,
    /// The revision to return to is not in the history.
    RevisionGone { revision: u64 },
    /// Nothing stands in the way.
    Begin,
}

/// Decides the next move; `heads` are the records of the release, oldest first.
pub(super) fn next(heads: &[RecordHead], intent: &Intent<'_>, now: Timestamp) -> Next {
    let target = intent.target();
    let Some(last) = heads.last() else {
        return match intent {
            Intent::Apply(_) => Next::Begin,
            Intent::Rollback { to, .. } => Next::RevisionGone { revision: *to },
            Intent::Uninstall(_) => Next::Absent,
        };
    };
    let under_way = last.operation().map(|progress| progress.operation);
    if matches!(intent, Intent::Uninstall(_)) {
        return match under_way {
            Some(OperationKind::Uninstall) => Next::Resume,
            // A removal takes over what is under way, when no living process can be at it.
            None if last.status.is_pending() => other_process(last, target, now, Next::Begin),
            _ => Next::Begin,
        };
    }
    let for_us = is_for(last, target);
    if last.status.is_pending() {
        return match under_way {
            Some(kind) if for_us && intent.is(kind) => Next::Resume,
            Some(_) => Next::Cancel,
            None => other_process(last, target, now, Next::GiveUp),
        };
    }
    match (&last.status, under_way) {
        (ReleaseStatus::Uninstalling, Some(_)) => return Next::FinishRemoval,
        (ReleaseStatus::Uninstalling | ReleaseStatus::Uninstalled, _)
            if matches!(intent, Intent::Apply(_)) =>
        {
            return Next::Purge;
        }
        (ReleaseStatus::Deployed, _) if for_us => {
            return Next::Settled {
                revision: last.revision,
            };
        }
        (ReleaseStatus::Failed, _) if for_us => {
            return Next::FailedBefore {
                revision: last.revision,
            };
        }
        _ => {}
    }
    match intent {
        Intent::Rollback { to, .. }
            if !heads.iter().any(|head| u64::from(head.revision) == *to) =>
        {
            Next::RevisionGone { revision: *to }
        }
        _ => Next::Begin,
    }
}

/// A record is pending and this program did not write it: its process may be alive until the timeout has passed.
fn other_process(last: &RecordHead, target: &Target, now: Timestamp, over: Next) -> Next {
    let Some(since) = last.written else {
        return over;
    };
    let age = now.duration_since(since);
    let limit = SignedDuration::try_from(target.timeout).unwrap_or(SignedDuration::MAX);
    if age >= limit {
        return over;
    }
    let left = Duration::try_from(limit.saturating_sub(age)).unwrap_or_default();
    let rounded = SignedDuration::from_secs(age.as_secs().max(0));
    Next::WaitForOther {
        message: format!(
            "release {} is {} since {rounded:#} ago; another process may be working on it, it is given up after {:#}",
            target.placement, last.status, limit
        ),
        check_after: left.clamp(Duration::from_secs(1), LOOK_AGAIN),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use kubepkg_api::keys;

    use super::*;
    use crate::Placement;

    const NOW: &str = "2026-01-02T03:04:05Z";

    fn now() -> Timestamp {
        NOW.parse().unwrap()
    }

    fn target() -> Target {
        Target {
            package: "web".into(),
            uid: "1-2-3".into(),
            component: "server".into(),
            placement: Placement {
                namespace: "demo".into(),
                release: "server".into(),
            },
            revision: 7,
            timeout: Duration::from_mins(5),
            keep_crds: true,
        }
    }

    fn component() -> Component {
        Component {
            target: target(),
            chart: crate::ChartSource::Tree {
                url: String::new(),
                path: String::new(),
            },
            chart_digest: kubepkg_api::Digest::of(b""),
            values: serde_json::Map::new(),
            labels: BTreeMap::new(),
            upgrade_crds: crate::UpgradeCrds::Skip,
            adopt: false,
            history: 10,
        }
    }

    /// A record for a package revision, written so many seconds ago.
    fn head(revision: u32, status: ReleaseStatus, made_for: u64, age: i64) -> RecordHead {
        RecordHead {
            name: "server".into(),
            namespace: "demo".into(),
            revision,
            status,
            labels: BTreeMap::from([
                (keys::PACKAGE_LABEL.to_owned(), "web".to_owned()),
                (
                    super::super::marks::UID_LABEL.to_owned(),
                    "1-2-3".to_owned(),
                ),
                (
                    super::super::marks::REVISION_LABEL.to_owned(),
                    made_for.to_string(),
                ),
            ]),
            written: Some(now() - SignedDuration::from_secs(age)),
            progress: None,
            resource_version: "1".into(),
        }
    }

    fn under_way(mut head: RecordHead, operation: &str) -> RecordHead {
        head.progress = Some(format!(
            r#"{{"form":1,"operation":"{operation}","step":1,"startedAt":"{NOW}","deadline":"{NOW}"}}"#
        ));
        assert!(head.operation().is_some(), "the form of progress is known");
        head
    }

    fn apply(heads: &[RecordHead]) -> Next {
        next(heads, &Intent::Apply(&component()), now())
    }

    fn rollback(heads: &[RecordHead], to: u64) -> Next {
        next(
            heads,
            &Intent::Rollback {
                target: &target(),
                to,
            },
            now(),
        )
    }

    fn uninstall(heads: &[RecordHead]) -> Next {
        next(heads, &Intent::Uninstall(&target()), now())
    }

    #[test]
    fn nothing_there_is_a_beginning_an_end_or_a_loss() {
        assert_eq!(apply(&[]), Next::Begin);
        assert_eq!(uninstall(&[]), Next::Absent);
        assert_eq!(rollback(&[], 3), Next::RevisionGone { revision: 3 });
    }

    #[test]
    fn a_revision_is_applied_once() {
        let deployed = [head(4, ReleaseStatus::Deployed, 7, 9)];
        assert_eq!(apply(&deployed), Next::Settled { revision: 4 });
        assert_eq!(rollback(&deployed, 3), Next::Settled { revision: 4 });
        let failed = [head(4, ReleaseStatus::Failed, 7, 9)];
        assert_eq!(apply(&failed), Next::FailedBefore { revision: 4 });
        for status in [ReleaseStatus::Deployed, ReleaseStatus::Failed] {
            assert_eq!(apply(&[head(4, status, 6, 9)]), Next::Begin);
        }
    }

    /// A Package that was deleted without being taken apart and made anew counts from 1 again, and an adopted release may
    /// bear the number of another package's revision.
    #[test]
    fn the_same_number_of_another_package_object_is_another_revision() {
        for status in [ReleaseStatus::Deployed, ReleaseStatus::Failed] {
            for uid in [Some("9-9-9"), None] {
                let mut other = head(4, status.clone(), 7, 9);
                other.labels.remove(super::super::marks::UID_LABEL);
                if let Some(uid) = uid {
                    let label = super::super::marks::UID_LABEL.to_owned();
                    other.labels.insert(label, uid.to_owned());
                }
                assert_eq!(apply(&[other]), Next::Begin);
            }
        }
    }

    #[test]
    fn the_own_operation_is_resumed_another_one_cancelled() {
        let pending = |made_for| {
            under_way(
                head(4, ReleaseStatus::PendingUpgrade, made_for, 9),
                "upgrade",
            )
        };
        assert_eq!(apply(&[pending(7)]), Next::Resume);
        assert_eq!(apply(&[pending(6)]), Next::Cancel);
        assert_eq!(rollback(&[pending(7)], 3), Next::Cancel);
        assert_eq!(uninstall(&[pending(6)]), Next::Begin);
    }

    #[test]
    fn another_process_has_the_timeout_to_end() {
        let pending = |age| [head(4, ReleaseStatus::PendingInstall, 7, age)];
        let Next::WaitForOther {
            message,
            check_after,
        } = apply(&pending(295))
        else {
            panic!("not waiting")
        };
        assert!(
            message.starts_with("release demo/server is pending-install since 4m 55s ago; "),
            "{message}"
        );
        assert_eq!(check_after, Duration::from_secs(5));
        assert!(matches!(uninstall(&pending(10)), Next::WaitForOther { .. }));
        assert_eq!(apply(&pending(300)), Next::GiveUp);
        assert_eq!(uninstall(&pending(300)), Next::Begin);
    }

    #[test]
    fn a_removal_ends_before_an_install_begins() {
        let going = under_way(head(4, ReleaseStatus::Uninstalling, 6, 9), "uninstall");
        assert_eq!(apply(std::slice::from_ref(&going)), Next::FinishRemoval);
        assert_eq!(uninstall(&[going]), Next::Resume);
        assert_eq!(
            apply(&[head(4, ReleaseStatus::Uninstalling, 6, 9)]),
            Next::Purge
        );
        assert_eq!(
            apply(&[head(4, ReleaseStatus::Uninstalled, 6, 9)]),
            Next::Purge
        );
        assert_eq!(
            uninstall(&[head(4, ReleaseStatus::Uninstalled, 6, 9)]),
            Next::Begin
        );
    }

    #[test]
    fn a_rollback_needs_its_revision() {
        let heads = [
            head(3, ReleaseStatus::Superseded, 5, 99),
            head(4, ReleaseStatus::Deployed, 6, 9),
        ];
        assert_eq!(rollback(&heads, 3), Next::Begin);
        assert_eq!(rollback(&heads, 2), Next::RevisionGone { revision: 2 });
    }
}
