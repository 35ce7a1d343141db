//! One request and its answer. Errors keep code, reason, message and causes of the server's `Status`, and
//! tell what may pass by itself (`is_transient`) from what will not.

use super::Cluster;
use http_body_util::BodyExt as _;
use serde_json::Value;
use std::fmt::Write as _;

/// Why a request to the API server failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApiError {
    /// The server answered with a failure.
    #[error("{message}")]
    Status {
        /// HTTP status code.
        code: u16,
        /// The machine-readable reason (`NotFound`, `Conflict`, `Invalid`, ...); empty when there is none.
        reason: String,
        /// The server's text.
        message: String,
        /// Seconds after which to come back, when the server says so.
        retry_after: Option<u64>,
    },
    /// There was no answer.
    #[error("request to the API server failed")]
    Transport(#[source] Box<kube::Error>),
    /// The answer broke off.
    #[error("answer of the API server broke off: {0}")]
    Body(String),
    /// The answer was not JSON.
    #[error("answer of the API server is not JSON")]
    Json(#[source] serde_json::Error),
    /// The request could not be formed.
    #[error("request could not be formed")]
    Request(#[source] ::http::Error),
    /// The server does not serve a kind.
    #[error("no matches for kind {kind:?} in version {api_version:?}")]
    NoKind {
        /// `apiVersion` of the object.
        api_version: String,
        /// Kind of the object.
        kind: String,
    },
}

impl ApiError {
    /// HTTP status code, when the server answered.
    pub fn code(&self) -> Option<u16> {
        match self {
            ApiError::Status { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// The server's reason, or an empty text.
    pub fn reason(&self) -> &str {
        match self {
            ApiError::Status { reason, .. } => reason,
            _ => "",
        }
    }

    /// True for 404.
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(404)
    }

    /// True for 409 (conflict, or exists already).
    pub fn is_conflict(&self) -> bool {
        self.code() == Some(409)
    }

    /// True when asking again later may help: no answer, throttling, server trouble, credentials that have
    /// run out and will be renewed. An apply whose object does not fit its schema is answered with 500, but
    /// will never fit.
    pub fn is_transient(&self) -> bool {
        match self {
            ApiError::Transport(_) | ApiError::Body(_) => true,
            ApiError::Status { code, message, .. } => match code {
                401 | 408 | 429 | 501..=599 => true,
                500 => {
                    !(message.contains("failed to create typed patch object")
                        || message.contains("failed to create manager")
                        || message.contains("not declared in schema"))
                }
                _ => false,
            },
            ApiError::Json(_) | ApiError::Request(_) | ApiError::NoKind { .. } => false,
        }
    }

    /// True when another request wrote the object, or counted its quota, at that moment, and a patch is worth sending
    /// again: the API server itself gives up after some tries. With a version of the object in it, only the quota counts.
    /// Helm tries the quota again, kubectl both.
    pub(crate) fn is_race(&self, versioned: bool) -> bool {
        matches!(self, ApiError::Status { code: 409, message, .. }
            if message.contains("the object has been modified")
                && (!versioned || message.contains("Operation cannot be fulfilled on resourcequotas")))
    }
}

/// HTTP methods in use, with the patch types that go with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    Post,
    Put,
    Delete,
    Apply,
    JsonPatch,
    MergePatch,
    StrategicPatch,
}

/// A request in the making.
pub(crate) struct Call<'a> {
    pub(crate) verb: Verb,
    pub(crate) path: String,
    pub(crate) query: &'a [(&'a str, &'a str)],
    pub(crate) body: Option<&'a Value>,
    /// Another `Accept` than plain JSON.
    pub(crate) accept: Option<&'static str>,
}

impl<'a> Call<'a> {
    pub(crate) fn new(verb: Verb, path: String) -> Self {
        Self {
            verb,
            path,
            query: &[],
            body: None,
            accept: None,
        }
    }

    pub(crate) fn query(mut self, query: &'a [(&'a str, &'a str)]) -> Self {
        self.query = query;
        self
    }

    pub(crate) fn body(mut self, body: &'a Value) -> Self {
        self.body = Some(body);
        self
    }

    /// Asks for names, labels and annotations only.
    pub(crate) fn metadata_only(mut self) -> Self {
        self.accept =
            Some("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json");
        self
    }

    /// Asks for a list of names, labels and annotations only.
    pub(crate) fn metadata_list(mut self) -> Self {
        self.accept = Some(
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
        );
        self
    }

    pub(crate) fn accept(mut self, accept: &'static str) -> Self {
        self.accept = Some(accept);
        self
    }
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The body.
    pub(crate) body: Value,
    /// `Warning` headers, the server's advice.
    pub(crate) warnings: Vec<String>,
    /// The object did not exist before (201).
    pub(crate) created: bool,
}

impl Answer {
    /// The answer about an object that need not be written.
    pub(crate) fn unwritten(body: Value) -> Self {
        Self {
            body,
            warnings: Vec::new(),
            created: false,
        }
    }
}

impl Cluster {
    /// Performs a request.
    pub(crate) async fn call(&self, call: Call<'_>) -> Result<Answer, ApiError> {
        let (created, warnings, bytes) = self.send(call).await?;
        let body = match bytes.as_ref() {
            [] => Value::Null,
            bytes => serde_json::from_slice(bytes).map_err(ApiError::Json)?,
        };
        Ok(Answer {
            body,
            warnings,
            created,
        })
    }

    /// Performs a request whose answer is a text.
    pub(crate) async fn text(&self, call: Call<'_>) -> Result<String, ApiError> {
        let (_, _, bytes) = self.send(call).await?;
        Ok(String::from_utf8_lossy(bytes.as_ref()).into_owned())
    }

    async fn send(
        &self,
        call: Call<'_>,
    ) -> Result<(bool, Vec<String>, impl AsRef<[u8]> + use<>), ApiError> {
        let (method, content) = match call.verb {
            Verb::Get => (::http::Method::GET, None),
            Verb::Post => (::http::Method::POST, Some("application/json")),
            Verb::Put => (::http::Method::PUT, Some("application/json")),
            Verb::Delete => (::http::Method::DELETE, Some("application/json")),
            Verb::Apply => (::http::Method::PATCH, Some("application/apply-patch+yaml")),
            Verb::JsonPatch => (::http::Method::PATCH, Some("application/json-patch+json")),
            Verb::MergePatch => (::http::Method::PATCH, Some("application/merge-patch+json")),
            Verb::StrategicPatch => (
                ::http::Method::PATCH,
                Some("application/strategic-merge-patch+json"),
            ),
        };
        let mut uri = call.path;
        for (index, (key, value)) in call.query.iter().enumerate() {
            uri.push(if index == 0 { '?' } else { '&' });
            uri.push_str(key);
            uri.push('=');
            uri.push_str(&escape(value));
        }
        let mut request = ::http::Request::builder().method(method).uri(uri).header(
            ::http::header::ACCEPT,
            call.accept.unwrap_or("application/json"),
        );
        if let Some(agent) = &self.user_agent {
            request = request.header(::http::header::USER_AGENT, agent.clone());
        }
        if let (Some(content), true) = (content, call.body.is_some()) {
            request = request.header(::http::header::CONTENT_TYPE, content);
        }
        let body = call
            .body
            .map(|body| body.to_string().into_bytes())
            .unwrap_or_default();
        let request = request
            .body(kube::client::Body::from(body))
            .map_err(ApiError::Request)?;
        let response = self
            .client
            .send(request)
            .await
            .map_err(|error| ApiError::Transport(Box::new(error)))?;
        let (head, body) = response.into_parts();
        let bytes = body
            .collect()
            .await
            .map_err(|error| ApiError::Body(error.to_string()))?
            .to_bytes();
        let warnings = head
            .headers
            .get_all("warning")
            .iter()
            .filter_map(|value| value.to_str().ok())
            .map(warning_text)
            .collect();
        let code = head.status.as_u16();
        if !head.status.is_success() {
            let header = head
                .headers
                .get(::http::header::RETRY_AFTER)
                .and_then(|value| value.to_str().ok())
                .and_then(|text| text.parse().ok());
            return Err(failure(code, &bytes, header));
        }
        Ok((code == 201, warnings, bytes))
    }
}

fn failure(code: u16, bytes: &[u8], retry_after: Option<u64>) -> ApiError {
    let status: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let text = |key: &str| {
        status
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let mut message = text("message");
    if message.is_empty() {
        let body = String::from_utf8_lossy(bytes.get(..bytes.len().min(500)).unwrap_or_default());
        message = format!("the server answered {code}: {}", body.trim());
    }
    let in_body = status
        .pointer("/details/retryAfterSeconds")
        .and_then(Value::as_u64);
    ApiError::Status {
        code,
        reason: text("reason"),
        message,
        retry_after: in_body.or(retry_after),
    }
}

/// `299 - "text"` -> `text`.
fn warning_text(header: &str) -> String {
    header
        .splitn(3, ' ')
        .nth(2)
        .unwrap_or(header)
        .trim_matches('"')
        .replace("\\\"", "\"")
        .replace("\\\\", "\\")
}

/// Escapes a text for one segment of a path or one value of a query.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~' | b':') {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    // A segment of dots alone would climb.
    if out == "." || out == ".." {
        out.replace('.', "%2E")
    } else {
        out
    }
}

#[cfg(test)]
mod tests {
    use super::{ApiError, escape, failure};

    #[test]
    fn names_cannot_change_the_path() {
        assert_eq!(escape("a/../b?x#y"), "a%2F..%2Fb%3Fx%23y");
        assert_eq!(escape(".."), "%2E%2E");
        assert_eq!(escape("system:admin"), "system:admin");
    }

    #[test]
    fn schema_errors_of_an_apply_are_final_although_they_are_500() {
        let schema = br#"{"message":"failed to create typed patch object (ns/x; apps/v1, Kind=Deployment): .spec.nope: field not declared in schema","code":500}"#;
        assert!(!failure(500, schema, None).is_transient());
        assert!(failure(503, b"", None).is_transient());
        let ApiError::Status { message, .. } = failure(502, b"bad gateway", None) else {
            panic!("status expected")
        };
        assert_eq!(message, "the server answered 502: bad gateway");
    }
}
