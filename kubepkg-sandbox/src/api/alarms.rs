//! When controllers have something to do with an object without being told: by object, and in the order of time, so that
//! the next one is found without looking at all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::store::Key;

/// A table and an object of it.
pub(crate) type Subject = (Arc<str>, Key);

/// One alarm an object at most.
#[derive(Clone, Debug, Default)]
pub(crate) struct Alarms {
    of: BTreeMap<Subject, Timestamp>,
    by_time: BTreeSet<(Timestamp, Subject)>,
}

impl Alarms {
    /// Sets the alarm of an object; an earlier one is forgotten.
    pub(crate) fn set(&mut self, subject: Subject, at: Timestamp) {
        if let Some(before) = self.of.insert(subject.clone(), at) {
            self.by_time.remove(&(before, subject.clone()));
        }
        self.by_time.insert((at, subject));
    }

    /// When the first is due.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// Takes the objects that are due.
    pub(crate) fn take_due(&mut self, now: Timestamp) -> Vec<Subject> {
        let mut due = Vec::new();
        while let Some((at, subject)) = self.by_time.pop_first() {
            if at > now {
                self.by_time.insert((at, subject));
                break;
            }
            self.of.remove(&subject);
            due.push(subject);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(name: &str) -> Subject {
        ("pods".into(), ("n".to_owned(), name.to_owned()))
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn an_alarm_rings_once_at_the_time_it_was_last_set_to() {
        let mut alarms = Alarms::default();
        alarms.set(subject("a"), at(1));
        alarms.set(subject("b"), at(2));
        alarms.set(subject("a"), at(3));
        assert_eq!(alarms.next(), Some(at(2)));
        assert_eq!(alarms.take_due(at(1)), []);
        assert_eq!(alarms.take_due(at(2)), [subject("b")]);
        assert_eq!(alarms.take_due(at(9)), [subject("a")]);
        assert_eq!((alarms.next(), alarms.take_due(at(9))), (None, Vec::new()));
    }
}
