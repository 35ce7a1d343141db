//! Answers of the chart server: how one is put together and how a fault spoils it.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;

use super::fault::Fault;

/// The body of every answer.
pub(super) type Body = BoxBody<Bytes, io::Error>;

/// How large [`Fault::TooLarge`] claims to be: one tebibyte.
const CLAIMED_LENGTH: u64 = 1 << 40;
/// How long a truncated answer is on its way before the connection ends.
const BEFORE_THE_END: Duration = Duration::from_millis(20);

/// An answer before it is sent.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: Vec<(http::HeaderName, String)>,
    pub(super) body: Bytes,
}

impl Answer {
    pub(super) fn new(status: StatusCode) -> Self {
        Self {
            status,
            ..Self::default()
        }
    }

    pub(super) fn content(media_type: &str, body: Bytes) -> Self {
        Self::new(StatusCode::OK)
            .header(CONTENT_TYPE, media_type)
            .body(body)
    }

    /// An error as the OCI distribution specification writes it.
    pub(super) fn oci_error(status: StatusCode, code: &str) -> Self {
        let body = serde_json::json!({ "errors": [{ "code": code, "message": code }] });
        Self::new(status)
            .header(CONTENT_TYPE, "application/json")
            .body(Bytes::from(body.to_string()))
    }

    pub(super) fn unauthorized(challenge: String) -> Self {
        Self::oci_error(StatusCode::UNAUTHORIZED, "UNAUTHORIZED")
            .header(WWW_AUTHENTICATE, challenge)
    }

    #[must_use]
    pub(super) fn header(mut self, name: http::HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    #[must_use]
    pub(super) fn body(mut self, body: Bytes) -> Self {
        self.body = body;
        self
    }

    /// The answer that stands in for the usual one, for faults that need none of it.
    pub(super) fn instead(fault: &Fault, elsewhere: &str, path: &str) -> Option<Self> {
        Some(match fault {
            Fault::Unauthorized => Self::unauthorized("Basic realm=\"chart-server\"".into()),
            Fault::Forbidden => Self::oci_error(StatusCode::FORBIDDEN, "DENIED"),
            Fault::NotFound => Self::oci_error(StatusCode::NOT_FOUND, "NOT_FOUND"),
            Fault::ServerError { .. } => Self::new(StatusCode::SERVICE_UNAVAILABLE),
            Fault::RateLimited { retry_after, .. } => {
                Self::oci_error(StatusCode::TOO_MANY_REQUESTS, "TOOMANYREQUESTS")
                    .header(RETRY_AFTER, retry_after.to_string())
            }
            Fault::RedirectElsewhere => {
                Self::new(StatusCode::FOUND).header(LOCATION, format!("{elsewhere}{path}"))
            }
            _ => return None,
        })
    }

    /// The answer with its `Location` on another host.
    pub(super) fn moved(mut self, elsewhere: &str) -> Self {
        for (name, value) in &mut self.headers {
            if *name == LOCATION {
                value.insert_str(0, elsewhere);
            }
        }
        self
    }

    /// Sends the answer, spoiled by the fault. A `HEAD` answer has the length and no body.
    pub(super) fn send(self, fault: Option<&Fault>, head: bool) -> Response<Body> {
        let mut length = Some(self.body.len() as u64);
        let body = match fault {
            _ if head => whole(Bytes::new()),
            Some(Fault::Trickle(interval)) => trickle(self.body, *interval),
            Some(Fault::Truncated | Fault::BrokenOff { .. }) => truncated(&self.body),
            Some(Fault::WrongDigest) => whole(changed(&self.body)),
            Some(Fault::TooLarge) => {
                length = Some(CLAIMED_LENGTH);
                endless()
            }
            Some(Fault::Endless) => {
                length = None;
                endless()
            }
            _ => whole(self.body),
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        for (name, value) in self.headers {
            if let Ok(value) = value.parse() {
                response.headers_mut().insert(name, value);
            }
        }
        if let Some(length) = length {
            response.headers_mut().insert(CONTENT_LENGTH, length.into());
        }
        response
    }
}

fn whole(bytes: Bytes) -> Body {
    Full::new(bytes)
        .map_err(|never: Infallible| match never {})
        .boxed()
}

fn changed(bytes: &Bytes) -> Bytes {
    let mut bytes = bytes.to_vec();
    if let Some(last) = bytes.last_mut() {
        *last ^= 1;
    }
    Bytes::from(bytes)
}

fn truncated(bytes: &Bytes) -> Body {
    let half = Ok(Frame::data(bytes.slice(..bytes.len() / 2)));
    // An error that follows at once would keep the half, and the head, from being sent at all.
    let end = stream::once(async {
        tokio::time::sleep(BEFORE_THE_END).await;
        let reason = "truncated on purpose";
        Err(io::Error::new(io::ErrorKind::ConnectionAborted, reason))
    });
    BoxBody::new(StreamBody::new(stream::once(async { half }).chain(end)))
}

fn trickle(bytes: Bytes, interval: Duration) -> Body {
    let frames = stream::iter(0..bytes.len()).then(move |at| {
        let byte = bytes.slice(at..=at);
        async move {
            tokio::time::sleep(interval).await;
            Ok(Frame::data(byte))
        }
    });
    BoxBody::new(StreamBody::new(frames))
}

fn endless() -> Body {
    let zeros = Bytes::from_static(&[0; 8192]);
    let frames = stream::repeat_with(move || Ok(Frame::data(zeros.clone())));
    BoxBody::new(StreamBody::new(frames))
}
