//! Faults that a [`ChartServer`](super::ChartServer) shows on demand, each by name.
//!
//! A fault stands on one path and is met before anything else about the request is looked at,
//! authentication included. Faults with a number of times wear off; the others stay until
//! [`ChartServer::clear_faults`](super::ChartServer::clear_faults).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What goes wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// Answers 401, whatever the request carries.
    Unauthorized,
    /// Answers 403.
    Forbidden,
    /// Answers 404.
    NotFound,
    /// Answers 503 that many times, then as usual.
    ServerError {
        /// How many requests meet the fault.
        times: u32,
    },
    /// Answers 429 with a `Retry-After` header that many times, then as usual.
    RateLimited {
        /// What `Retry-After` says, in seconds.
        retry_after: u64,
        /// How many requests meet the fault.
        times: u32,
    },
    /// Waits before it answers as usual.
    Slow(Duration),
    /// Answers at once, then sends one byte of the body in each interval.
    Trickle(Duration),
    /// Announces the whole length, sends half of the body and closes the connection.
    Truncated,
    /// Does as [`Truncated`](Self::Truncated) that many times, then answers as usual.
    BrokenOff {
        /// How many requests meet the fault.
        times: u32,
    },
    /// Changes one byte of the body.
    WrongDigest,
    /// Redirects to the same path on the second listener, which has another host name and port
    /// and asks for no credentials.
    RedirectElsewhere,
    /// Sends an upload to the second listener.
    UploadElsewhere,
    /// Announces a body of one tebibyte and begins to send it.
    TooLarge,
    /// Sends a body without end and without an announced length.
    Endless,
}

/// The faults of a server, by path.
#[derive(Debug, Default)]
pub(super) struct Faults {
    by_path: Mutex<BTreeMap<String, Fault>>,
}

impl Faults {
    pub(super) fn set(&self, path: &str, fault: Fault) {
        self.lock().insert(path.to_owned(), fault);
    }

    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    /// The fault that a request of this path meets now; a counted one is used up by one.
    pub(super) fn meet(&self, path: &str) -> Option<Fault> {
        let mut faults = self.lock();
        let met = faults.get(path)?.clone();
        if let Some(
            Fault::ServerError { times }
            | Fault::RateLimited { times, .. }
            | Fault::BrokenOff { times },
        ) = faults.get_mut(path)
        {
            if *times == 0 {
                faults.remove(path);
                return None;
            }
            *times -= 1;
        }
        Some(met)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Fault>> {
        self.by_path.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counted_fault_wears_off() {
        let faults = Faults::default();
        faults.set("/x", Fault::ServerError { times: 2 });
        assert!(faults.meet("/y").is_none());
        assert!(faults.meet("/x").is_some());
        assert!(faults.meet("/x").is_some());
        assert!(faults.meet("/x").is_none());
    }

    #[test]
    fn an_uncounted_fault_stays_until_cleared() {
        let faults = Faults::default();
        faults.set("/x", Fault::NotFound);
        assert_eq!(faults.meet("/x"), Some(Fault::NotFound));
        assert_eq!(faults.meet("/x"), Some(Fault::NotFound));
        faults.clear();
        assert!(faults.meet("/x").is_none());
    }
}
