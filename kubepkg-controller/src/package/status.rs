//! The Package's status, computed from what was observed and decided.
//!
//! A pure function, so that a pass that changes nothing computes exactly the status that is there and writes nothing.
//! Rules from reference §1.3 and §1.10; `Reconciling` and `Stalled` as kstatus reads them: there only while they hold.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kubepkg_api::{HistoryEntry, PackageStatus, Retry, condition, keys};

use super::observed::Observed;
use super::report::{Next, Report};

/// The longest message that is stored, in bytes. A release that cannot be rendered can have much to say; what helps
/// stands at the beginning.
const LONGEST_MESSAGE: usize = 4096;

/// The status that says what `report` says.
pub fn status(o: &Observed, report: &Report) -> PackageStatus {
    let mut wanted = o.package.status.clone().unwrap_or_default();
    let generation = o.package.metadata.generation.unwrap_or_default();
    let message = shorten(&report.message);
    let now = whole_seconds(o.now);
    let conditions = &mut wanted.conditions;
    let mut say = |type_: &str, holds: bool, reason: &str| {
        condition::set(
            conditions,
            type_,
            holds.into(),
            reason,
            &message,
            generation,
            now,
        );
    };
    say(keys::READY, report.reason.status(), report.reason.as_str());
    match report.next {
        Next::Nobody => {}
        Next::Operator if report.retry.is_some() => say(keys::RECONCILING, true, "RetryScheduled"),
        Next::Operator => say(keys::RECONCILING, true, report.reason.as_str()),
        Next::Person => say(keys::STALLED, true, report.reason.as_str()),
    }
    if report.next != Next::Operator {
        condition::remove(conditions, keys::RECONCILING);
    }
    if report.next != Next::Person {
        condition::remove(conditions, keys::STALLED);
    }
    let current = o.revisions.iter().rev().find(|r| r.is_good());
    wanted.observed_generation = generation;
    wanted.version = current.map(|r| r.version.clone()).unwrap_or_default();
    wanted.variant = current.map(|r| r.variant.clone()).unwrap_or_default();
    wanted.current_revision = current.map_or(0, |r| signed(r.number));
    wanted.history = o
        .revisions
        .iter()
        .rev()
        .take(o.package.spec.history_limit())
        .map(|r| HistoryEntry {
            revision: signed(r.number),
            version: r.version.clone(),
            phase: Some(r.phase),
        })
        .collect();
    wanted.retry = report.retry.map(|retry| Retry {
        attempts: i32::try_from(retry.attempts).unwrap_or(i32::MAX),
        next_attempt: Some(Time(whole_seconds(retry.at))),
    });
    wanted
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The API stores whole seconds; what is compared with it must be whole too.
pub(super) fn whole_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

/// Cuts a message that is too long, at a character, and says so.
pub(super) fn shorten(message: &str) -> String {
    if message.len() <= LONGEST_MESSAGE {
        return message.to_owned();
    }
    let mut end = LONGEST_MESSAGE;
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    format!(
        "{} ... ({} more bytes)",
        &message[..end],
        message.len() - end
    )
}
