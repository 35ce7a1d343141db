//! The one place that makes HTTP clients.
//!
//! One TLS implementation (rustls) with one provider (ring), installed once per process; proxies
//! from the environment, except to loopback, which no proxy can reach; extra certificate
//! authorities, a client certificate, and unchecked servers when they were asked for; a user agent;
//! limits on time. A redirect from `https` to `http` is refused, and credentials don't follow one to
//! another host, port or scheme (the client drops them). A download that breaks off goes on where it
//! stopped when the server can and the content has a digest to be checked against.

use std::fmt;
use std::future::Future;
use std::sync::Once;
use std::time::{Duration, SystemTime};

use futures::StreamExt as _;
use http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, DATE, RETRY_AFTER};
use http::{HeaderMap, Method, StatusCode};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, ClientBuilder, Identity, RequestBuilder, Response};
use url::Url;

use crate::digest_reader::{DigestReader, Verified};
use crate::failure::{Failure, RefusedRedirect};
use crate::limits::Limits;
use crate::location::{is_loopback, shown};

/// Installs the cryptography provider that TLS needs, once per process.
///
/// Harmless when another one is installed already. Every client that this crate makes calls it.
pub fn init_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // Fails only when somebody else was faster, which is as good.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
    });
}

/// A client can't be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NetError {
    /// The extra certificate authorities are not PEM certificates.
    #[error("the certificate authorities can't be read")]
    Certificates(#[source] reqwest::Error),
    /// The client certificate and its key are not PEM, or don't belong together.
    #[error("the client certificate can't be read")]
    Identity(#[source] reqwest::Error),
    /// The client can't be made, usually over TLS.
    #[error("making the HTTP client")]
    Client(#[source] reqwest::Error),
}

/// How servers are known, and how this client is known to them.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Tls {
    /// Certificate authorities besides those of the system, in PEM.
    pub authorities: Vec<u8>,
    /// A client certificate, its chain and its key, in PEM, one after the other.
    pub identity: Option<Vec<u8>>,
    /// Takes every certificate. Whoever sits between can read and change everything: for tests only.
    pub insecure: bool,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("authorities", &self.authorities.len())
            .field("identity", &self.identity.is_some())
            .field("insecure", &self.insecure)
            .finish()
    }
}

/// HTTP clients for this crate's fetchers and for fetchers that a distribution adds.
#[derive(Debug, Clone)]
pub struct Net {
    /// Decompresses answers: for indexes and other documents.
    documents: Client,
    /// Leaves answers as they are: a `.tgz` under `Content-Encoding: gzip` stays compressed.
    archives: Client,
    /// The same without proxies.
    local_documents: Client,
    local_archives: Client,
}

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentKind {
    /// Text that may be compressed on the way.
    Document,
    /// Bytes with a digest.
    Archive,
}

impl Net {
    /// Makes the clients.
    ///
    /// `user_agent` is sent with every request.
    ///
    /// # Errors
    ///
    /// The certificates can't be read, or TLS can't be set up.
    pub fn new(user_agent: &str, tls: &Tls, limits: &Limits) -> Result<Self, NetError> {
        init_crypto();
        let certificates =
            Certificate::from_pem_bundle(&tls.authorities).map_err(NetError::Certificates)?;
        let identity = tls
            .identity
            .as_deref()
            .map(Identity::from_pem)
            .transpose()
            .map_err(NetError::Identity)?;
        let build = |builder: ClientBuilder| builder.build().map_err(NetError::Client);
        let base = || {
            let mut builder = Client::builder();
            if let Some(identity) = &identity {
                builder = builder.identity(identity.clone());
            }
            builder
                .tls_danger_accept_invalid_certs(tls.insecure)
                .user_agent(user_agent)
                .connect_timeout(limits.connect_time)
                .read_timeout(limits.read_time)
                .timeout(limits.request_time)
                .redirect(redirects(limits.redirects))
                .tls_certs_merge(certificates.clone())
        };
        let proxied = || {
            if proxies_are_off() {
                base().no_proxy()
            } else {
                base()
            }
        };
        Ok(Self {
            documents: build(proxied())?,
            archives: build(proxied().no_gzip())?,
            local_documents: build(base().no_proxy())?,
            local_archives: build(base().no_gzip().no_proxy())?,
        })
    }

    /// A GET request.
    pub fn get(&self, url: &Url, kind: ContentKind) -> RequestBuilder {
        self.client(url, kind).get(url.clone())
    }

    /// A POST request for a document.
    pub fn post(&self, url: &Url) -> RequestBuilder {
        self.client(url, ContentKind::Document).post(url.clone())
    }

    /// A request with another method, for a document.
    pub(crate) fn request(&self, method: Method, url: &Url) -> RequestBuilder {
        self.client(url, ContentKind::Document)
            .request(method, url.clone())
    }

    fn client(&self, url: &Url, kind: ContentKind) -> &Client {
        match (is_loopback(url), kind) {
            (false, ContentKind::Document) => &self.documents,
            (false, ContentKind::Archive) => &self.archives,
            (true, ContentKind::Document) => &self.local_documents,
            (true, ContentKind::Archive) => &self.local_archives,
        }
    }
}

/// Whether the environment excepts every host, addresses included, which the client below does not take `*` for.
fn proxies_are_off() -> bool {
    let lists = ["NO_PROXY", "no_proxy"].map(|name| std::env::var(name).unwrap_or_default());
    lists
        .iter()
        .flat_map(|list| list.split(','))
        .any(|host| host.trim() == "*")
}

fn redirects(limit: usize) -> Policy {
    Policy::custom(move |attempt| {
        let from_https = attempt
            .previous()
            .last()
            .is_some_and(|url| url.scheme() == "https");
        if attempt.previous().len() > limit {
            attempt.error(RefusedRedirect("there are too many"))
        } else if from_https && attempt.url().scheme() != "https" {
            attempt.error(RefusedRedirect("it leads from https to http"))
        } else {
            attempt.follow()
        }
    })
}

/// Sends a request and gives the answer with its status, whatever it is.
pub(crate) async fn send(request: RequestBuilder, url: &Url) -> Result<Response, Failure> {
    request
        .send()
        .await
        .map_err(|error| Failure::of_request(shown(url), error))
}

/// Reads a whole body into a [`DigestReader`] and checks it.
pub(crate) async fn read_body(
    response: Response,
    mut reader: DigestReader,
    url: &Url,
) -> Result<Verified, Failure> {
    take_body(response, &mut reader, url).await?;
    reader
        .finish()
        .map_err(|error| Failure::of_check(shown(url), error))
}

/// Takes the bytes of a body, as many as arrive.
async fn take_body(
    response: Response,
    reader: &mut DigestReader,
    url: &Url,
) -> Result<(), Failure> {
    let limit = reader.limit();
    let announced = header(response.headers(), &CONTENT_LENGTH).and_then(|n| n.parse::<u64>().ok());
    if announced.is_some_and(|length| length > limit) {
        return Err(Failure::TooLarge {
            url: shown(url),
            limit,
        });
    }
    let mut body = response.bytes_stream();
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|error| Failure::of_request(shown(url), error))?;
        reader
            .push(&chunk)
            .map_err(|error| Failure::of_check(shown(url), error))?;
    }
    Ok(())
}

/// Reads a body, and goes on with `rest` where it broke off: `rest` is given the value of a `Range` header.
///
/// Only a server that announces ranges is asked for one, and only for content with a digest: pieces of two states of
/// a file fail the check. As often as the limits allow attempts, and only while each brings something.
pub(crate) async fn download<F>(
    first: Response,
    mut reader: DigestReader,
    url: &Url,
    limits: &Limits,
    rest: impl Fn(String) -> F + Send + Sync,
) -> Result<Verified, Failure>
where
    F: Future<Output = Result<Response, Failure>> + Send,
{
    let can_resume = reader.has_claims()
        && header(first.headers(), &ACCEPT_RANGES).is_some_and(|unit| unit == "bytes");
    let mut response = first;
    for attempt in 1.. {
        let before = reader.len();
        let failure = match take_body(response, &mut reader, url).await {
            Ok(()) => break,
            Err(failure) => failure,
        };
        let progress = reader.len() > before;
        if !can_resume || !progress || !failure.is_transient() || attempt >= limits.retry.attempts {
            return Err(failure);
        }
        tracing::debug!(url = %shown(url), at = reader.len(), %failure, "going on where it broke off");
        response = rest(format!("bytes={}-", reader.len())).await?;
        let begins = header(response.headers(), &CONTENT_RANGE)
            .and_then(|range| range.strip_prefix("bytes ")?.split_once('-'))
            .and_then(|(start, _)| start.parse::<u64>().ok());
        match response.status() {
            StatusCode::PARTIAL_CONTENT if begins == Some(reader.len()) => {}
            StatusCode::OK => reader.restart(),
            // It was the whole after all, or the server changed its mind: the first failure tells more.
            _ => return Err(failure),
        }
    }
    reader
        .finish()
        .map_err(|error| Failure::of_check(shown(url), error))
}

/// The failure that a status without success means; `sent` tells whether credentials were sent.
pub(crate) fn status_failure(response: &Response, url: &Url, sent: bool) -> Failure {
    let status = response.status();
    let url = shown(url);
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        return Failure::Refused { url, status, sent };
    }
    Failure::Status {
        url,
        status,
        retry_after: retry_after(response.headers()),
    }
}

/// `Retry-After`: seconds, or a date, which is measured by the clock of the server when it shows it.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = header(headers, &RETRY_AFTER)?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = |text: &str| {
        jiff::fmt::rfc2822::DateTimeParser::new()
            .parse_timestamp(text)
            .ok()
    };
    let until = date(text)?;
    let now = header(headers, &DATE).and_then(date);
    let now = now.or_else(|| SystemTime::now().try_into().ok())?;
    // A moment that has passed is no reason to wait.
    Some(until.duration_since(now).try_into().unwrap_or_default())
}

/// A header as text.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &http::HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_provider_can_be_installed_twice() {
        init_crypto();
        init_crypto();
        assert!(rustls::crypto::CryptoProvider::get_default().is_some());
    }

    #[test]
    fn broken_authorities_are_refused() {
        let broken = b"-----BEGIN CERTIFICATE-----\n!!!\n-----END CERTIFICATE-----\n";
        let tls = Tls {
            authorities: broken.to_vec(),
            ..Tls::default()
        };
        assert!(Net::new("kubepkg/test", &tls, &Limits::default()).is_err());
    }

    #[test]
    fn no_key_is_shown() {
        let tls = Tls {
            identity: Some(b"PRIVATE".to_vec()),
            ..Tls::default()
        };
        assert!(!format!("{tls:?}").contains("PRIVATE"));
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let headers = |retry: &str, date: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, retry.parse().unwrap());
            headers.insert(DATE, date.parse().unwrap());
            headers
        };
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        for (retry, expected) in [
            ("7", Some(7)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", Some(30)),
            ("Sun, 06 Nov 1994 08:49:00 GMT", Some(0)),
            ("soon", None),
        ] {
            let expected = expected.map(Duration::from_secs);
            assert_eq!(retry_after(&headers(retry, date)), expected, "{retry}");
        }
    }
}
