//! Histories that nobody thought of, with the operator killed anywhere in them (house rules "crash anywhere" and
//! "history only grows").

use std::time::Duration;

use kubepkg_api::keys;
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

use super::super::world::World;

/// Something that happens to a package.
#[derive(Debug, Clone)]
enum Event {
    Upgrade {
        version: u8,
        components: u8,
        broken: bool,
        safe: bool,
    },
    Values(u8),
    Atomic(bool),
    Retry(u8),
    Rollback(u8),
    Wait(u16),
}

impl Event {
    fn happen(&self, world: &mut World) {
        match self {
            Self::Upgrade {
                version,
                components,
                broken,
                safe,
            } => {
                let chart = if *broken {
                    "bad".to_owned()
                } else {
                    format!("1.{version}.0")
                };
                let all = [("a", "1.0.0"), ("b", chart.as_str()), ("c", "1.0.0")];
                let some = usize::from(*components % 3) + 1;
                world.source(&format!("1.{version}.0"), &all[..some], *safe);
            }
            Self::Values(n) => {
                let values = json!({ "components": { "a": { "values": { "n": n } } } });
                world.package().spec = serde_json::from_value(values).unwrap();
            }
            Self::Atomic(atomic) => {
                let upgrade = json!({ "upgrade": { "atomic": atomic } });
                world.package().spec = serde_json::from_value(upgrade).unwrap();
            }
            Self::Retry(n) => world.annotate(keys::RETRY, &n.to_string()),
            Self::Rollback(n) => world.annotate(keys::ROLLBACK_TO, &n.to_string()),
            Self::Wait(seconds) => world.advance(Duration::from_secs(u64::from(*seconds))),
        }
    }
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        4 => (0..4_u8, any::<u8>(), any::<bool>(), any::<bool>()).prop_map(
            |(version, components, broken, safe)| Event::Upgrade { version, components, broken, safe }
        ),
        1 => (0..3_u8).prop_map(Event::Values),
        1 => any::<bool>().prop_map(Event::Atomic),
        1 => (0..3_u8).prop_map(Event::Retry),
        2 => (0..9_u8).prop_map(Event::Rollback),
        1 => (0..1000_u16).prop_map(Event::Wait),
    ]
}

proptest! {
    /// House rules "crash anywhere" and "history only grows", over histories that nobody thought of: the world itself
    /// checks that numbers grow and that one revision at most is in flight.
    #[test]
    fn any_history_comes_to_the_same_end_with_and_without_kills(
        events in vec((event(), 1..12_usize), 1..8),
        looks in 0..3_u32,
    ) {
        let start = || {
            let mut world = World::new("1.0.0");
            world.broken.insert("bad".to_owned(), false);
            world.looks = looks;
            world
        };
        let (mut calm, mut killed) = (start(), start());
        for (event, kill) in events {
            event.happen(&mut calm);
            let undisturbed = calm.settle();
            event.happen(&mut killed);
            killed.pass(Some(kill));
            killed.now = killed.now.min(calm.now);
            let settled = killed.settle();
            killed.now = calm.now;
            prop_assert_eq!(settled.report.reason, undisturbed.report.reason);
            prop_assert_eq!(killed.history(), calm.history());
            prop_assert_eq!(killed.running(), calm.running());
        }
        killed.delete();
        while killed.package.is_some() {
            killed.pass(Some(1));
        }
        prop_assert!(killed.releases.is_empty());
    }
}
