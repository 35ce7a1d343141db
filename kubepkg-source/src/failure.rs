//! Why a fetch failed, and whether trying again can help.
//!
//! `Missing` stands apart from the rest: the server works and says that there is no such thing.
//! Refused credentials, wrong digests, broken documents and exceeded sizes stay as they are until
//! somebody changes something; time-outs, broken connections and answers 408, 425, 429 and 5xx
//! pass (reference §10.3 O1). No message holds user information, queries of URLs or the output of
//! credential helpers.

use std::error::Error;
use std::time::Duration;

use http::StatusCode;
use kubepkg_api::{Digest, InvalidDigest};

use crate::credentials::CredentialError;
use crate::digest_reader::{DigestClaim, Unverified};
use crate::index::IndexError;
use crate::location::LocationError;
use crate::reference::ReferenceError;
use crate::versions::SelectError;

/// What there is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missing {
    /// The repository has no `index.yaml`.
    Index,
    /// The index has no chart of the name.
    Chart,
    /// The index has the chart, but not the version.
    Version,
    /// The index leads to an archive that is not there.
    Archive,
    /// The registry has no manifest for the tag, or no such repository.
    Manifest,
    /// The manifest leads to a blob that is not there.
    Blob,
}

/// Why a fetch failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The repository of the reference is no location.
    #[error("the repository is not a location")]
    Location(#[source] LocationError),
    /// No fetcher is registered for the scheme.
    #[error("locations of scheme {scheme:?} are not supported")]
    Scheme {
        /// The scheme.
        scheme: String,
    },
    /// The chart's name or version can't be written in a registry.
    #[error("the name or version can't be part of a registry reference")]
    Reference(#[source] ReferenceError),
    /// The version is not exact: it is a constraint or no version at all.
    #[error("version {version:?} is not an exact version")]
    Version {
        /// What was given.
        version: String,
    },
    /// The pinned digest is none.
    #[error(transparent)]
    PinnedDigest(InvalidDigest),
    /// No version was selected among those that there are.
    #[error("{repository}")]
    Selection {
        /// What was looked through.
        repository: String,
        /// Why nothing was selected.
        #[source]
        source: SelectError,
    },
    /// A chart of the location can only be asked for by its exact version.
    #[error("locations of scheme {scheme:?} have no list of versions")]
    NoList {
        /// The scheme.
        scheme: String,
    },
    /// A list of tags does not end.
    #[error("{url}: there are more than {limit} pages of tags")]
    TooManyPages {
        /// The page that was not read any more.
        url: String,
        /// The limit.
        limit: usize,
    },
    /// A registry's answer to a push makes no sense.
    #[error("pushing to {url}: {reason}")]
    Upload {
        /// The URL.
        url: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// The server works and has no such thing.
    #[error("{}", missing_text(*.what, .at))]
    Missing {
        /// What there is not.
        what: Missing,
        /// Where it was looked for.
        at: String,
    },
    /// The server refused the request: 401 or 403.
    #[error("{url} answered {status}{}", if *.sent { ": the credentials were refused" } else { ", and no credentials are known for it" })]
    Refused {
        /// The URL.
        url: String,
        /// 401 or 403.
        status: StatusCode,
        /// Whether credentials were sent.
        sent: bool,
    },
    /// The server answered with another status than success.
    #[error("{url} answered {status}")]
    Status {
        /// The URL.
        url: String,
        /// The status.
        status: StatusCode,
        /// How long the server asks to wait.
        retry_after: Option<Duration>,
    },
    /// No connection could be made.
    #[error("can't connect to {url}")]
    Connect {
        /// The URL.
        url: String,
        /// What went wrong.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The server's certificate is not trusted.
    #[error("the certificate of {url} is not trusted")]
    Certificate {
        /// The URL.
        url: String,
        /// What is wrong with it.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// A request took too long.
    #[error("{url} did not answer completely in time")]
    Timeout {
        /// The URL.
        url: String,
    },
    /// The connection ended before the answer did.
    #[error("the answer of {url} broke off")]
    Interrupted {
        /// The URL.
        url: String,
        /// What went wrong.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// All attempts together took too long.
    #[error("gave up after {} s", .limit.as_secs_f64())]
    Deadline {
        /// The limit.
        limit: Duration,
        /// The failure of the last attempt that ended, when there was one.
        #[source]
        last: Option<Box<Failure>>,
    },
    /// A redirect was not followed.
    #[error("a redirect from {url} was refused: {reason}")]
    Redirect {
        /// The URL that redirected.
        url: String,
        /// Why.
        reason: &'static str,
    },
    /// The answer is larger than allowed.
    #[error("{url} is larger than the limit of {limit} bytes")]
    TooLarge {
        /// The URL.
        url: String,
        /// The limit in bytes.
        limit: u64,
    },
    /// The content has another digest than somebody said.
    #[error("digest mismatch at {url}: {claim} says {expected}, the content has {actual}")]
    Digest {
        /// The URL.
        url: String,
        /// Who said so.
        claim: DigestClaim,
        /// What was said.
        expected: Digest,
        /// What there is.
        actual: Digest,
    },
    /// A digest that the server gave is no SHA-256 digest.
    #[error("{url} names a digest that is not sha256: {text:?}")]
    ForeignDigest {
        /// The URL of the index or manifest.
        url: String,
        /// What was given.
        text: String,
    },
    /// The index can't be read.
    #[error("{url} is not a Helm index")]
    Index {
        /// The URL.
        url: String,
        /// Why.
        #[source]
        source: IndexError,
    },
    /// The index names no usable URL for the chart.
    #[error("{url} names no usable address for the archive: {address:?}")]
    ArchiveUrl {
        /// The URL of the index.
        url: String,
        /// The address as it stands there; empty when there is none.
        address: String,
    },
    /// The manifest can't be read.
    #[error("{url} is not an OCI image manifest")]
    Manifest {
        /// The URL.
        url: String,
        /// Why.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The manifest has no layer that is a chart.
    #[error("{url} is not a Helm chart: no layer of type {wanted}")]
    NoChart {
        /// The URL.
        url: String,
        /// The media type that was looked for.
        wanted: &'static str,
    },
    /// The registry's challenge or the token service's answer makes no sense.
    #[error("{url} wants an authentication that is not supported: {reason}")]
    Challenge {
        /// The URL.
        url: String,
        /// What is wrong.
        reason: &'static str,
    },
    /// Credentials can't be looked up.
    #[error("looking up credentials for {host}")]
    Credentials {
        /// The host.
        host: String,
        /// What went wrong.
        #[source]
        source: CredentialError,
    },
    /// The network may not be used and the cache has no such chart.
    #[error("it is not in the cache, and the network is switched off")]
    Offline,
    /// Something in this process ended early.
    #[error("the fetch was cut short: {0}")]
    Cancelled(String),
}

fn missing_text(what: Missing, at: &str) -> String {
    match what {
        Missing::Index => format!("there is no index at {at}"),
        Missing::Chart => format!("{at} has no chart of that name"),
        Missing::Version => format!("{at} has the chart, but not that version"),
        Missing::Archive => format!("index.yaml leads to {at}, where there is no archive"),
        Missing::Manifest => format!("the registry has no {at}"),
        Missing::Blob => format!("the manifest leads to {at}, where there is no blob"),
    }
}

impl Failure {
    /// Whether trying the same again later can help without anybody changing anything.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Connect { .. }
            | Self::Timeout { .. }
            | Self::Interrupted { .. }
            | Self::Cancelled(_) => true,
            Self::Deadline { last, .. } => last.as_ref().is_none_or(|last| last.is_transient()),
            Self::Status { status, .. } => {
                status.is_server_error() || matches!(status.as_u16(), 408 | 425 | 429)
            }
            Self::Credentials { source, .. } => source.is_transient(),
            _ => false,
        }
    }

    /// How long the server asks to wait before the next request.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            Self::Deadline { last, .. } => last.as_ref().and_then(|last| last.retry_after()),
            _ => None,
        }
    }

    /// What a person can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Location(_) | Self::Scheme { .. } => {
                "write the repository as https://host/path or oci://host/path"
            }
            Self::Reference(_) => "write name and version as the registry has them, in lower case",
            Self::PinnedDigest(_) => "write the digest as sha256: and 64 lower-case digits",
            Self::Version { .. } => "write one exact version, such as 1.2.3",
            Self::Missing {
                what: Missing::Index,
                ..
            } => "check the repository's address: index.yaml must be right below it",
            Self::Missing {
                what: Missing::Chart | Missing::Manifest,
                ..
            } => "check the repository, the chart's name and its version",
            Self::Missing {
                what: Missing::Version,
                ..
            } => "check the version",
            Self::Missing { .. } => "publish the chart again, the repository has lost it",
            Self::Refused { sent: false, .. } => {
                "add credentials for the host to the registry config, or check the address"
            }
            Self::Refused { .. } => "renew the credentials in the registry config",
            Self::Certificate { .. } => "add the authority of the server to the trusted ones",
            Self::Connect { .. } | Self::Timeout { .. } | Self::Interrupted { .. } => {
                "check the address, the network and the proxy; it is tried again"
            }
            Self::Status { .. } | Self::Deadline { .. } | Self::Cancelled(_)
                if self.is_transient() =>
            {
                "it is tried again; check the server when it stays so"
            }
            Self::Redirect { .. } => "use the address that the server redirects to",
            Self::TooLarge { .. } => "check that the address is a chart, or raise the limit",
            Self::Digest {
                claim: DigestClaim::Reference,
                ..
            } => {
                "the chart was changed after it was pinned: find out why before pinning the new digest"
            }
            Self::Digest { .. } | Self::ForeignDigest { .. } => {
                "the server contradicts itself: publish the chart again"
            }
            Self::Index { .. } | Self::ArchiveUrl { .. } => {
                "have the repository's index made again with helm repo index"
            }
            Self::Manifest { .. } | Self::NoChart { .. } => {
                "push the chart with helm push, or check that the tag is a chart"
            }
            Self::Challenge { .. } => "use a registry with basic or token authentication",
            Self::Credentials { .. } => "mend the registry config",
            Self::Selection { .. } => "ask for a version that is there",
            Self::NoList { .. } => "name one exact version",
            Self::TooManyPages { .. } => "name one exact version, or raise the limit",
            Self::Upload { .. } => "check that the address is a registry",
            Self::Offline => "import the chart into the cache, or allow the network",
            _ => "check the repository's address",
        }
    }

    /// The failure of a request, by what the client says about it.
    pub(crate) fn of_request(url: String, error: reqwest::Error) -> Self {
        let error = error.without_url();
        if let Some(reason) = redirect_reason(&error) {
            return Self::Redirect { url, reason };
        }
        if error.is_timeout() {
            return Self::Timeout { url };
        }
        if is_certificate(&error) {
            return Self::Certificate {
                url,
                source: error.into(),
            };
        }
        if error.is_connect() {
            return Self::Connect {
                url,
                source: error.into(),
            };
        }
        Self::Interrupted {
            url,
            source: error.into(),
        }
    }

    /// The failure of a check of bytes.
    pub(crate) fn of_check(url: String, unverified: Unverified) -> Self {
        match unverified {
            Unverified::TooLarge { limit } => Self::TooLarge { url, limit },
            Unverified::Mismatch {
                claim,
                expected,
                actual,
            } => Self::Digest {
                url,
                claim,
                expected,
                actual,
            },
        }
    }
}

/// Why the redirect policy stopped, when it did. Set by [`crate::net`].
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct RefusedRedirect(pub(crate) &'static str);

fn redirect_reason(error: &reqwest::Error) -> Option<&'static str> {
    causes(error)
        .find_map(|cause| cause.downcast_ref::<RefusedRedirect>())
        .map(|reason| reason.0)
}

/// Whether the connection failed over the certificate.
fn is_certificate(error: &reqwest::Error) -> bool {
    causes(error).filter_map(tls_error).any(|tls| {
        matches!(
            tls,
            rustls::Error::InvalidCertificate(_)
                | rustls::Error::NoCertificatesPresented
                | rustls::Error::InvalidCertRevocationList(_)
        )
    })
}

/// The TLS error that a cause is or wraps. An `io::Error` hides what it wraps from `source()`, and may wrap another.
fn tls_error<'a>(mut cause: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    loop {
        if let Some(tls) = cause.downcast_ref::<rustls::Error>() {
            return Some(tls);
        }
        cause = cause.downcast_ref::<std::io::Error>()?.get_ref()?;
    }
}

fn causes<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> + 'a {
    std::iter::successors(Some(error), |&error| error.source())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(code: u16) -> Failure {
        Failure::Status {
            url: "https://h/x".into(),
            status: StatusCode::from_u16(code).unwrap(),
            retry_after: None,
        }
    }

    #[test]
    fn only_passing_statuses_are_transient() {
        for (code, expected) in [
            (400, false),
            (404, false),
            (408, true),
            (410, false),
            (425, true),
            (429, true),
        ] {
            assert_eq!(status(code).is_transient(), expected, "{code}");
        }
        assert!(status(500).is_transient() && status(503).is_transient());
    }

    #[test]
    fn a_deadline_is_as_transient_as_what_it_cut_short() {
        let limit = Duration::from_secs(1);
        assert!(Failure::Deadline { limit, last: None }.is_transient());
        let last = Some(Box::new(Failure::Offline));
        assert!(!Failure::Deadline { limit, last }.is_transient());
    }
}
