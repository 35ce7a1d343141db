//! What a decision says about the package: its conditions, in words.
//!
//! Beside `Ready`, the two conditions of kstatus tell tools that know no package what to make of it: `Reconciling` while
//! the operator goes on by itself, `Stalled` when only a person's change helps. Both are there only while true.

use std::time::Duration;

use jiff::Timestamp;
use kubepkg_api::PackageReason;

/// What is reported of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The reason of the `Ready` condition; it also says whether the package is ready.
    pub reason: PackageReason,
    /// The message of the `Ready` condition.
    pub message: String,
    /// Who has to act next.
    pub next: Next,
    /// The attempt that is due, when the newest one failed.
    pub retry: Option<Retry>,
}

/// Who has to act next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Nobody.
    Nobody,
    /// The operator: it goes on by itself.
    Operator,
    /// A person: nothing happens until something is changed.
    Person,
}

/// When a failed state is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// How many attempts have failed in a row.
    pub attempts: u32,
    /// When the next one is due.
    pub at: Timestamp,
}

/// A report, and when to look again without being told of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// What is reported.
    pub report: Report,
    /// When to look again; `None` waits for a change, and looks as seldom as at a package at rest.
    pub look_again: Option<Duration>,
}

impl Settled {
    /// Work is under way.
    pub(super) fn progressing(message: String, look_again: Duration) -> Self {
        Self {
            report: Report {
                reason: PackageReason::Progressing,
                message,
                next: Next::Operator,
                retry: None,
            },
            look_again: Some(look_again),
        }
    }

    /// Nothing more happens until a person changes something that the operator is told of.
    pub(super) fn stalled(reason: PackageReason, message: String) -> Self {
        Self {
            report: Report {
                reason,
                message,
                next: Next::Person,
                retry: None,
            },
            look_again: None,
        }
    }
}
