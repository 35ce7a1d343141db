//! The clock of a simulated operator: that of the tokio runtime, which a simulation pauses, and a difference to it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use kubepkg_helm::Clock;
use tokio::time::Instant;

/// When every simulation begins.
pub(crate) const START: &str = "2026-01-01T00:00:00Z";

/// A clock that can be set wrong.
#[derive(Debug)]
pub(crate) struct SimulatedClock {
    start: Timestamp,
    since: Instant,
    seconds_off: AtomicI64,
}

impl SimulatedClock {
    pub(crate) fn new(start: Timestamp) -> Self {
        Self {
            start,
            since: Instant::now(),
            seconds_off: AtomicI64::new(0),
        }
    }

    /// Since the beginning, by the right time.
    pub(crate) fn elapsed(&self) -> Duration {
        self.since.elapsed()
    }

    /// Sets the clock this far from the right time.
    pub(crate) fn set_off(&self, seconds: i64) {
        self.seconds_off.store(seconds, Ordering::Relaxed);
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        let off = SignedDuration::from_secs(self.seconds_off.load(Ordering::Relaxed));
        self.start
            .saturating_add(self.elapsed())
            .and_then(|now| now.saturating_add(off))
            .unwrap_or(self.start)
    }
}
