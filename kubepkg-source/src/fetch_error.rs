//! The error of a fetch: a [`Failure`] with the chart that it is about, in one line.

use std::error::Error;
use std::fmt::{self, Write as _};
use std::time::Duration;

use crate::failure::Failure;

/// A chart can't be fetched. The text names the chart, its version and repository, the cause, and
/// what to do.
#[derive(Debug)]
#[non_exhaustive]
pub struct FetchError {
    /// The repository, without user information.
    pub repository: String,
    /// The chart.
    pub name: String,
    /// The version that was asked for; empty when it was any, or when it was a registry.
    pub version: String,
    /// The cause.
    pub failure: Failure,
}

impl FetchError {
    /// Whether trying the same again later can help without anybody changing anything.
    pub fn is_transient(&self) -> bool {
        self.failure.is_transient()
    }

    /// Whether the server works and has no such chart.
    pub fn is_missing(&self) -> bool {
        matches!(self.failure, Failure::Missing { .. })
    }

    /// How long the server asks to wait before the next request.
    pub fn retry_after(&self) -> Option<Duration> {
        self.failure.retry_after()
    }

    /// What a person can do about it.
    pub fn hint(&self) -> &'static str {
        self.failure.hint()
    }

    /// The text without the chart's name: for messages that name the chart themselves.
    pub fn detail(&self) -> String {
        let mut text = self.failure.to_string();
        // A condition of a Package shows one line: the causes belong into it.
        for cause in std::iter::successors(self.failure.source(), |&cause| cause.source()) {
            let _ = write!(text, ": {cause}");
        }
        let _ = write!(text, "; {}", self.hint());
        text
    }
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            repository,
            name,
            version,
            ..
        } = self;
        match (name.as_str(), version.as_str()) {
            ("", _) => write!(f, "{repository}: {}", self.detail()),
            (_, "") => write!(f, "chart {name} from {repository}: {}", self.detail()),
            _ => write!(
                f,
                "chart {name} {version} from {repository}: {}",
                self.detail()
            ),
        }
    }
}

impl Error for FetchError {}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    #[test]
    fn the_text_names_chart_version_repository_cause_and_remedy() {
        let error = FetchError {
            repository: "https://charts.example".into(),
            name: "web".into(),
            version: "1.0.0".into(),
            failure: Failure::Refused {
                url: "https://charts.example/index.yaml".into(),
                status: StatusCode::UNAUTHORIZED,
                sent: false,
            },
        };
        assert_eq!(
            error.to_string(),
            "chart web 1.0.0 from https://charts.example: https://charts.example/index.yaml \
             answered 401 Unauthorized, and no credentials are known for it; add credentials for \
             the host to the registry config, or check the address"
        );
        assert!(!error.is_transient());
    }
}
