//! What was asked of a [`ChartServer`](super::ChartServer), for tests that count requests.

use std::sync::{Mutex, PoisonError};

/// One request as it came in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoggedRequest {
    /// `GET`, `HEAD`, …
    pub method: String,
    /// The path without the query.
    pub path: String,
    /// The status that it was answered with.
    pub status: u16,
    /// The `Authorization` header, when there was one.
    pub authorization: Option<String>,
    /// The `User-Agent` header, when there was one.
    pub user_agent: Option<String>,
    /// Whether it came to the second listener, where [`Fault::RedirectElsewhere`] leads.
    ///
    /// [`Fault::RedirectElsewhere`]: super::Fault::RedirectElsewhere
    pub elsewhere: bool,
}

/// The requests so far, in the order of their arrival.
#[derive(Debug, Default)]
pub(super) struct RequestLog {
    requests: Mutex<Vec<LoggedRequest>>,
}

impl RequestLog {
    pub(super) fn push(&self, request: LoggedRequest) {
        self.lock().push(request);
    }

    pub(super) fn all(&self) -> Vec<LoggedRequest> {
        self.lock().clone()
    }

    pub(super) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<LoggedRequest>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
