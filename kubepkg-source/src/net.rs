//! The one place that makes HTTP clients.
//!
//! One TLS implementation (rustls) with one provider (ring), installed once per process; proxies
//! from the environment, except to loopback, which no proxy can reach; extra certificate
//! authorities; a user agent; limits on time. A redirect from `https` to `http` is refused, and
//! credentials don't follow one to another host, port or scheme (the client drops them).

use std::sync::Once;
use std::time::Duration;

use futures::StreamExt as _;
use http::header::{CONTENT_LENGTH, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, ClientBuilder, RequestBuilder, Response};
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
    /// The client can't be made, usually over TLS.
    #[error("making the HTTP client")]
    Client(#[source] reqwest::Error),
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
    /// `user_agent` is sent with every request; `authorities` is a PEM text of certificate
    /// authorities trusted besides those of the system.
    ///
    /// # Errors
    ///
    /// The certificates can't be read, or TLS can't be set up.
    pub fn new(user_agent: &str, authorities: &[u8], limits: &Limits) -> Result<Self, NetError> {
        init_crypto();
        let certificates =
            Certificate::from_pem_bundle(authorities).map_err(NetError::Certificates)?;
        let build = |builder: ClientBuilder| builder.build().map_err(NetError::Client);
        let base = || {
            Client::builder()
                .user_agent(user_agent)
                .connect_timeout(limits.connect_time)
                .read_timeout(limits.read_time)
                .timeout(limits.request_time)
                .redirect(redirects(limits.redirects))
                .tls_certs_merge(certificates.clone())
        };
        Ok(Self {
            documents: build(base())?,
            archives: build(base().no_gzip())?,
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

    fn client(&self, url: &Url, kind: ContentKind) -> &Client {
        match (is_loopback(url), kind) {
            (false, ContentKind::Document) => &self.documents,
            (false, ContentKind::Archive) => &self.archives,
            (true, ContentKind::Document) => &self.local_documents,
            (true, ContentKind::Archive) => &self.local_archives,
        }
    }
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

/// `Retry-After` in its form of seconds; the form with a date needs a clock that both sides share
/// and is not used by registries.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    header(headers, &RETRY_AFTER)?
        .trim()
        .parse()
        .ok()
        .map(Duration::from_secs)
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
        assert!(Net::new("kubepkg/test", broken, &Limits::default()).is_err());
    }
}
