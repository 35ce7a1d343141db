//! Standard conditions: reading them and writing them by Kubernetes' rules.
//!
//! `lastTransitionTime` changes only with the status; `observedGeneration` is written every time (reference
//! §1.1); order is by first appearance, so a status that says the same is the same bytes.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;

/// The most bytes of a condition's message; Kubernetes' own limit for the type.
pub const MAX_MESSAGE: usize = 32_768;

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// Nobody knows.
    Unknown,
}

impl Status {
    /// The status as conditions carry it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

impl From<bool> for Status {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// The condition of this type.
pub fn find<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Whether the condition holds, whatever generation it speaks of.
pub fn is_true(conditions: &[Condition], type_: &str) -> bool {
    find(conditions, type_).is_some_and(|condition| condition.status == "True")
}

/// Whether the condition holds and speaks of this generation of the object.
pub fn is_true_for(conditions: &[Condition], type_: &str, generation: i64) -> bool {
    find(conditions, type_).is_some_and(|condition| {
        condition.status == "True" && condition.observed_generation == Some(generation)
    })
}

/// Sets a condition. Returns whether anything but the time changed, that is, whether it is worth writing.
///
/// A message above [`MAX_MESSAGE`] is cut at a character's border.
pub fn set(
    conditions: &mut Vec<Condition>,
    type_: &str,
    status: Status,
    reason: &str,
    message: &str,
    generation: i64,
    now: Timestamp,
) -> bool {
    let wanted = Condition {
        type_: type_.to_owned(),
        status: status.as_str().to_owned(),
        reason: reason.to_owned(),
        message: cut(message).to_owned(),
        observed_generation: Some(generation),
        last_transition_time: Time(now),
    };
    let Some(existing) = conditions
        .iter_mut()
        .find(|condition| condition.type_ == type_)
    else {
        conditions.push(wanted);
        return true;
    };
    let last_transition_time = if existing.status == wanted.status {
        existing.last_transition_time.clone()
    } else {
        wanted.last_transition_time.clone()
    };
    let wanted = Condition {
        last_transition_time,
        ..wanted
    };
    let changed = *existing != wanted;
    *existing = wanted;
    changed
}

/// Takes a condition away. Returns whether it was there.
pub fn remove(conditions: &mut Vec<Condition>, type_: &str) -> bool {
    let before = conditions.len();
    conditions.retain(|condition| condition.type_ != type_);
    conditions.len() != before
}

fn cut(message: &str) -> &str {
    let mut end = message.len().min(MAX_MESSAGE);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    message.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::READY;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_time_changes_with_the_status_only() {
        let mut conditions = Vec::new();
        assert!(set(
            &mut conditions,
            READY,
            Status::False,
            "Progressing",
            "a",
            1,
            at(1)
        ));
        assert!(set(
            &mut conditions,
            READY,
            Status::False,
            "UpgradeFailed",
            "b",
            2,
            at(2)
        ));
        assert_eq!(conditions[0].last_transition_time, Time(at(1)));
        assert_eq!(conditions[0].observed_generation, Some(2));
        assert!(set(
            &mut conditions,
            READY,
            true.into(),
            "ReconciliationSucceeded",
            "c",
            2,
            at(3)
        ));
        assert_eq!(conditions[0].last_transition_time, Time(at(3)));
        assert!(is_true_for(&conditions, READY, 2));
        assert!(!is_true_for(&conditions, READY, 3));
    }

    #[test]
    fn saying_the_same_again_is_no_change() {
        let mut conditions = Vec::new();
        set(&mut conditions, READY, Status::Unknown, "R", "m", 1, at(1));
        let before = conditions.clone();
        assert!(!set(
            &mut conditions,
            READY,
            Status::Unknown,
            "R",
            "m",
            1,
            at(9)
        ));
        assert_eq!(conditions, before);
        assert!(remove(&mut conditions, READY));
        assert!(!remove(&mut conditions, READY));
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        let mut conditions = Vec::new();
        set(
            &mut conditions,
            READY,
            Status::False,
            "R",
            &"ä".repeat(MAX_MESSAGE),
            1,
            at(1),
        );
        assert_eq!(conditions[0].message.len(), MAX_MESSAGE);
        let odd = format!("a{}", "ä".repeat(MAX_MESSAGE));
        set(&mut conditions, READY, Status::False, "R", &odd, 1, at(1));
        assert_eq!(conditions[0].message.len(), MAX_MESSAGE - 1);
    }
}
