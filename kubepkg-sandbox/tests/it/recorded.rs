//! Answers of the embedded server beside recorded ones.

use http::Request;
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde_json::Value;

/// What the server answered.
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) warnings: Vec<String>,
    pub(crate) body: Value,
}

/// Something to wait on answers with, in checks that can't.
pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// Asks with a body of a media type.
pub(crate) async fn ask(
    client: &Client,
    method: &str,
    path: &str,
    media: &str,
    body: String,
) -> Answer {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", media)
        .body(Body::from(body.into_bytes()))
        .unwrap();
    let response = client.send(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let warnings = parts.headers.get_all("warning").into_iter();
    Answer {
        code: parts.status.as_u16(),
        warnings: warnings
            .map(|value| text_of(value.to_str().unwrap()))
            .collect(),
        body: serde_json::from_slice(&bytes).unwrap_or_default(),
    }
}

/// The text in `299 - "text"`.
fn text_of(warning: &str) -> String {
    let quoted = warning.strip_prefix("299 - ").unwrap();
    serde_json::from_str(quoted).unwrap()
}

impl Answer {
    /// Code, reason, message, causes and warnings; where no message was recorded, its order is not one.
    pub(crate) fn compare(&self, outcome: &Value) -> Result<(), String> {
        let code = outcome["code"].as_u64().unwrap();
        if u64::from(self.code) != code {
            return Err(format!("want {outcome}\n  got {} {}", self.code, self.body));
        }
        self.compare_warnings(outcome)?;
        if code < 300 {
            return Ok(());
        }
        for field in ["reason", "message"] {
            let (wanted, found) = (&outcome[field], &self.body[field]);
            let given = wanted.is_string() || (field == "reason" && code != 500);
            if given && wanted != found {
                return Err(format!("{field}: want {wanted}\n  got {found}"));
            }
        }
        let sorted = |causes: &Value| {
            let mut all = causes.as_array().cloned().unwrap_or_default();
            all.sort_by_key(|cause| {
                ["field", "message", "reason"].map(|key| cause[key].to_string())
            });
            all
        };
        let wanted = sorted(&outcome["causes"]);
        let found = sorted(&self.body["details"]["causes"]);
        if wanted == found {
            return Ok(());
        }
        Err(format!("causes: want {wanted:?}\n  got {found:?}"))
    }

    fn compare_warnings(&self, outcome: &Value) -> Result<(), String> {
        let wanted = outcome["warnings"].as_array().cloned().unwrap_or_default();
        let wanted: Vec<&str> = wanted.iter().filter_map(Value::as_str).collect();
        if wanted == self.warnings {
            return Ok(());
        }
        Err(format!(
            "warnings: want {wanted:?}\n  got {:?}",
            self.warnings
        ))
    }
}
