//! Publishes Events (`events.k8s.io/v1`), with the time of the caller.
//!
//! An event that is told again within six minutes becomes a series of the first one, as client-go and `kube` do it;
//! theirs read the machine's clock, which a simulation does not own. What was published is remembered for that alone.
//! Events of objects without a namespace are in `default`.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};

use super::MANAGER;
use super::events::Notice;

/// How long an event can become a series.
const REMEMBERED: Duration = Duration::from_mins(6);

/// What makes two events the same one: kind, warning, action and reason.
type Key = (String, bool, &'static str, &'static str);

/// Publishes events.
pub(super) struct Recorder {
    client: Client,
    told: Mutex<Told>,
}

/// What was published, as the server has it.
#[derive(Default)]
struct Told {
    events: BTreeMap<Key, (Timestamp, Event)>,
    /// The number in the newest name.
    stamp: i128,
}

impl Told {
    /// The event to write.
    fn next(
        &mut self,
        notice: &Notice,
        regarding: ObjectReference,
        now: Timestamp,
    ) -> (Key, Event) {
        self.events
            .retain(|_, (last, _)| last.saturating_add(REMEMBERED).is_ok_and(|end| end > now));
        let uid = regarding.uid.clone().unwrap_or_default();
        let key = (uid, notice.warning, notice.action, notice.reason);
        if let Some((_, before)) = self.events.get(&key) {
            let count = before.series.as_ref().map_or(2, |series| series.count + 1);
            let series = Some(EventSeries {
                count,
                last_observed_time: MicroTime(now),
            });
            let event = Event {
                series,
                ..before.clone()
            };
            return (key, event);
        }
        // Two events of one moment must not have one name.
        self.stamp = now.as_nanosecond().max(self.stamp + 1);
        let name = regarding.name.as_deref().unwrap_or(MANAGER);
        let event = Event {
            metadata: ObjectMeta {
                name: Some(format!("{name}.{:x}", self.stamp)),
                ..ObjectMeta::default()
            },
            event_time: Some(MicroTime(now)),
            type_: Some(if notice.warning { "Warning" } else { "Normal" }.to_owned()),
            reason: Some(notice.reason.to_owned()),
            action: Some(notice.action.to_owned()),
            note: Some(clip(&notice.note)),
            regarding: Some(regarding),
            reporting_controller: Some(MANAGER.to_owned()),
            reporting_instance: Some(MANAGER.to_owned()),
            ..Event::default()
        };
        (key, event)
    }
}

impl Recorder {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            told: Mutex::default(),
        }
    }

    /// Publishes an event, or counts it on one that was published a short while ago.
    pub(super) async fn publish(
        &self,
        notice: &Notice,
        regarding: ObjectReference,
        now: Timestamp,
    ) -> Result<(), kube::Error> {
        let namespace = regarding.namespace.as_deref().unwrap_or("default");
        let events: Api<Event> = Api::namespaced(self.client.clone(), namespace);
        let (key, event) = self.told().next(notice, regarding, now);
        if event.series.is_some() {
            let patch = Patch::Merge(&event);
            let name = event.name_any();
            events.patch(&name, &PatchParams::default(), &patch).await?;
        } else {
            events.create(&PostParams::default(), &event).await?;
        }
        self.told().events.insert(key, (now, event));
        Ok(())
    }

    fn told(&self) -> std::sync::MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An Event's note holds at most 1,024 bytes.
fn clip(note: &str) -> String {
    let mut end = note.len().min(1000);
    while !note.is_char_boundary(end) {
        end -= 1;
    }
    note[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(reason: &'static str) -> Notice {
        Notice {
            warning: false,
            reason,
            action: "Install",
            note: "revision 1".to_owned(),
        }
    }

    #[test]
    fn counts_what_is_told_again_within_six_minutes() {
        let mut told = Told::default();
        let mut at = |seconds: i64, reason: &'static str| {
            let now = Timestamp::from_second(seconds).unwrap();
            let regarding = ObjectReference {
                name: Some("shop".to_owned()),
                uid: Some("u".to_owned()),
                ..ObjectReference::default()
            };
            let (key, event) = told.next(&notice(reason), regarding, now);
            told.events.insert(key, (now, event.clone()));
            (event.name_any(), event.series.map(|series| series.count))
        };
        let (first, alone) = at(0, "Installing");
        assert_eq!(alone, None);
        let (other, _) = at(0, "Installed");
        assert_ne!(first, other, "of one moment, by one name each");
        assert_eq!(at(359, "Installing"), (first.clone(), Some(2)));
        assert_eq!(at(718, "Installing"), (first.clone(), Some(3)));
        let (fresh, alone) = at(1078, "Installing");
        assert_eq!(alone, None);
        assert_ne!(fresh, first);
    }

    #[test]
    fn clips_at_a_character() {
        assert_eq!(clip("short"), "short");
        assert_eq!(clip(&"ä".repeat(1000)).len(), 1000);
    }
}
