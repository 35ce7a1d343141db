//! Operations that this process has under way, one for each release at most.
//!
//! They are here to save requests only: objects known to be ready are not read again, and the record is not read at
//! every call. Nothing is lost with them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use kubepkg_helm::{Advance, Operation, OperationError, OperationKind, RecordHead, Step};

use super::next::Intent;
use super::outcome::{finished, waiting};
use crate::{Outcome, Placement};

/// An operation and what it is for.
pub(super) struct Running {
    pub(super) operation: Operation,
    /// The package object and its revision; none for a removal that stands before what was asked for.
    made_for: Option<(String, u64)>,
    /// How often it had to wait.
    waits: u32,
}

/// After so many waits, and then again after as many, the record is looked at.
const WAITS: u32 = 4;

impl Running {
    pub(super) fn new(operation: Operation, intent: &Intent<'_>) -> Self {
        Self {
            operation,
            made_for: Some((intent.target().uid.clone(), intent.target().revision)),
            waits: 0,
        }
    }

    pub(super) fn removal(operation: Operation) -> Self {
        Self {
            operation,
            made_for: None,
            waits: 0,
        }
    }

    /// Counts a wait; whether it is time to see that the record is still there.
    pub(super) fn doubts(&mut self) -> bool {
        self.waits = self.waits.wrapping_add(1);
        self.waits.is_multiple_of(WAITS)
    }

    /// Whether the newest record is the one that this operation works on. One that has written none yet has nothing
    /// to lose.
    pub(super) fn is_recorded(&self, last: Option<&RecordHead>) -> bool {
        !has_record(&self.operation)
            || last.is_some_and(|last| {
                last.revision == self.operation.release().revision && last.operation().is_some()
            })
    }

    /// Whether it is what is asked for. A removal is a removal, whoever asked for it.
    pub(super) fn is_for(&self, intent: &Intent<'_>) -> bool {
        let kind = self.operation.kind();
        intent.is(kind)
            && (kind == OperationKind::Uninstall
                || self.made_for.as_ref().is_some_and(|(uid, revision)| {
                    *uid == intent.target().uid && *revision == intent.target().revision
                }))
    }
}

/// A place for the operation of one release; holding it keeps other callers away.
type Slot = Arc<tokio::sync::Mutex<Option<Running>>>;

/// The places by release.
#[derive(Default)]
pub(super) struct Slots(Mutex<BTreeMap<Placement, Slot>>);

impl Slots {
    /// The place of a release. Places that are empty and that nobody holds are given up.
    pub(super) fn of(&self, placement: &Placement) -> Slot {
        let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slots.retain(|known, slot| {
            known == placement
                || Arc::strong_count(slot) > 1
                || slot.try_lock().map_or(true, |running| running.is_some())
        });
        Arc::clone(slots.entry(placement.clone()).or_default())
    }
}

/// Whether an operation has written its record, or works on one that was there before.
pub(super) fn has_record(operation: &Operation) -> bool {
    operation.kind() == OperationKind::Uninstall
        || !matches!(
            operation.next_step(),
            Some(Step::Namespace | Step::Crds | Step::AwaitCrds | Step::Record | Step::RecordOnly)
        )
}

/// Performs steps until something has to be waited for, or the end.
pub(super) async fn drive(operation: &mut Operation) -> Result<Outcome, OperationError> {
    loop {
        match operation.advance().await? {
            Advance::Stepped(_) => {}
            Advance::Waiting {
                not_ready,
                check_after,
            } => {
                return Ok(Outcome::Waiting {
                    message: waiting(&not_ready),
                    check_after,
                });
            }
            Advance::Finished(end) => return Ok(finished(operation, *end)),
        }
    }
}
