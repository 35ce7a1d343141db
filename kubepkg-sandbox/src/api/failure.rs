//! Refusals: the `Status` objects of the API server, with its codes, reasons and texts.
//!
//! The texts are those of kube-apiserver 1.36; the conformance suite compares each with the real
//! server.

use serde_json::{Map, Value, json};

use super::kind::Kind;

/// A request that is refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Failure {
    pub(crate) code: u16,
    pub(crate) reason: Option<&'static str>,
    pub(crate) message: String,
    pub(crate) details: Option<Value>,
    /// What the client is told beside it.
    pub(crate) warnings: Vec<String>,
}

/// One invalid field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    pub(crate) field: String,
}

impl Cause {
    /// `Required value`, or `Required value: DETAIL`.
    pub(crate) fn required(field: impl Into<String>, detail: &str) -> Self {
        let message = if detail.is_empty() {
            "Required value".to_owned()
        } else {
            format!("Required value: {detail}")
        };
        Self::new("FieldValueRequired", field, message)
    }

    /// `Invalid value: "VALUE": DETAIL`, the value as JSON.
    pub(crate) fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        Self::shown(field, &value.to_string(), detail)
    }

    /// As [`Cause::invalid`], with a value that is written already.
    pub(crate) fn shown(field: impl Into<String>, value: &str, detail: &str) -> Self {
        let colon = if detail.is_empty() { "" } else { ": " };
        let message = format!("Invalid value: {value}{colon}{detail}");
        Self::new("FieldValueInvalid", field, message)
    }

    /// `Invalid value: DETAIL`.
    pub(crate) fn bare(field: impl Into<String>, detail: &str) -> Self {
        Self::new(
            "FieldValueInvalid",
            field,
            format!("Invalid value: {detail}"),
        )
    }

    /// `Not found: "VALUE"`.
    pub(crate) fn not_found(field: impl Into<String>, value: &str) -> Self {
        let message = format!("Not found: {}", Value::from(value));
        Self::new("FieldValueNotFound", field, message)
    }

    /// `Forbidden: DETAIL`.
    pub(crate) fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self::new("FieldValueForbidden", field, format!("Forbidden: {detail}"))
    }

    /// `Unsupported value: VALUE: supported values: …`.
    pub(crate) fn unsupported(field: impl Into<String>, value: &str, supported: &[&str]) -> Self {
        let supported: Vec<String> = supported.iter().map(|s| format!("\"{s}\"")).collect();
        let message = format!(
            "Unsupported value: {value}: supported values: {}",
            supported.join(", ")
        );
        Self::new("FieldValueNotSupported", field, message)
    }

    /// `Too long: may not be more than N bytes`.
    pub(crate) fn too_long(field: impl Into<String>, limit: usize) -> Self {
        let message = format!("Too long: may not be more than {limit} bytes");
        Self::new("FieldValueTooLong", field, message)
    }

    /// `Too many: N: must have at most LIMIT items`.
    pub(crate) fn too_many(field: impl Into<String>, count: usize, limit: usize) -> Self {
        let message = format!("Too many: {count}: must have at most {limit} items");
        Self::new("FieldValueTooMany", field, message)
    }

    /// `Duplicate value: "VALUE"`.
    pub(crate) fn duplicate(field: impl Into<String>, value: &str) -> Self {
        let message = format!("Duplicate value: \"{value}\"");
        Self::new("FieldValueDuplicate", field, message)
    }

    /// As [`Cause::duplicate`], with a value that is written already.
    pub(crate) fn duplicate_of(field: impl Into<String>, value: &str) -> Self {
        Self::new(
            "FieldValueDuplicate",
            field,
            format!("Duplicate value: {value}"),
        )
    }

    fn new(reason: &'static str, field: impl Into<String>, message: String) -> Self {
        Self {
            reason,
            message,
            field: field.into(),
        }
    }
}

impl Failure {
    /// A failure without a reason, as errors that nobody translated come out of the server.
    pub(crate) fn plain(code: u16, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: None,
            message: message.into(),
            details: None,
            warnings: Vec::new(),
        }
    }

    /// With what the client was to be told of what it sent.
    pub(crate) fn warned(mut self, warnings: &[String]) -> Self {
        self.warnings.extend_from_slice(warnings);
        self
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self {
            reason: Some("BadRequest"),
            ..Self::plain(400, message)
        }
    }

    /// The path names nothing that is served.
    pub(crate) fn no_resource() -> Self {
        Self {
            reason: Some("NotFound"),
            details: Some(json!({})),
            ..Self::plain(404, "the server could not find the requested resource")
        }
    }

    pub(crate) fn method_not_allowed() -> Self {
        Self {
            reason: Some("MethodNotAllowed"),
            details: Some(json!({})),
            ..Self::plain(
                405,
                "the server does not allow this method on the requested resource",
            )
        }
    }

    pub(crate) fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self {
            reason: Some("UnsupportedMediaType"),
            details: Some(json!({})),
            ..Self::plain(415, message)
        }
    }

    pub(crate) fn unauthorized() -> Self {
        Self {
            reason: Some("Unauthorized"),
            ..Self::plain(401, "Unauthorized")
        }
    }

    pub(crate) fn not_found(kind: &Kind, name: &str) -> Self {
        Self::about(
            404,
            "NotFound",
            kind,
            name,
            format!("{} \"{name}\" not found", kind.qualified()),
        )
    }

    pub(crate) fn already_exists(kind: &Kind, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", kind.qualified());
        Self::about(409, "AlreadyExists", kind, name, message)
    }

    pub(crate) fn conflict(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} \"{name}\": {why}",
            kind.qualified()
        );
        Self::about(409, "Conflict", kind, name, message)
    }

    /// A conflict with a precondition of a deletion, which names the kind and not the resource.
    pub(crate) fn precondition(kind: &Kind, name: &str, why: &str) -> Self {
        let qualified = qualify(&kind.kind, &kind.group);
        Self {
            reason: Some("Conflict"),
            details: Some(details(&kind.group, &kind.kind, name)),
            ..Self::plain(
                409,
                format!("Operation cannot be fulfilled on {qualified} \"{name}\": {why}"),
            )
        }
    }

    pub(crate) fn forbidden(kind: &Kind, name: &str, why: &str) -> Self {
        let message = format!("{} \"{name}\" is forbidden: {why}", kind.qualified());
        Self::about(403, "Forbidden", kind, name, message)
    }

    /// 422 with the fields that are wrong.
    pub(crate) fn invalid(group: &str, kind: &str, name: &str, causes: &[Cause]) -> Self {
        let mut texts: Vec<String> = Vec::new();
        for cause in causes {
            let text = format!("{}: {}", cause.field, cause.message);
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        let text = match texts.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let mut about = details(group, kind, name);
        about["causes"] = causes
            .iter()
            .map(
                |cause| json!({"reason": cause.reason, "message": cause.message, "field": cause.field}),
            )
            .collect();
        Self {
            reason: Some("Invalid"),
            details: Some(about),
            ..Self::plain(
                422,
                format!("{} \"{name}\" is invalid: {text}", qualify(kind, group)),
            )
        }
    }

    /// As [`Failure::invalid`], for options of a request.
    pub(crate) fn invalid_options(options: &str, cause: Cause) -> Self {
        Self::invalid("meta.k8s.io", options, "", &[cause])
    }

    /// 410: the past that was asked for is forgotten.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self {
            reason: Some("Expired"),
            ..Self::plain(410, message)
        }
    }

    /// 504: the future that was asked for has not come.
    pub(crate) fn too_large_version(asked: u64, current: u64) -> Self {
        Self {
            reason: Some("Timeout"),
            details: Some(json!({
                "causes": [{
                    "reason": "ResourceVersionTooLarge",
                    "message": "Too large resource version",
                }],
                "retryAfterSeconds": 1,
            })),
            ..Self::plain(
                504,
                format!("Timeout: Too large resource version: {asked}, current: {current}"),
            )
        }
    }

    pub(crate) fn body_too_large(limit: usize) -> Self {
        Self {
            reason: Some("RequestEntityTooLarge"),
            ..Self::plain(413, format!("Request entity too large: limit is {limit}"))
        }
    }

    fn about(code: u16, reason: &'static str, kind: &Kind, name: &str, message: String) -> Self {
        Self {
            reason: Some(reason),
            details: Some(details(&kind.group, &kind.plural, name)),
            ..Self::plain(code, message)
        }
    }

    /// The `Status` object.
    pub(crate) fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "code": self.code,
        });
        if let Some(reason) = self.reason {
            status["reason"] = reason.into();
        }
        if let Some(details) = &self.details {
            status["details"] = details.clone();
        }
        status
    }
}

/// `NAME.GROUP`, or `NAME` in the group without a name.
pub(crate) fn qualify(name: &str, group: &str) -> String {
    if group.is_empty() {
        name.to_owned()
    } else {
        format!("{name}.{group}")
    }
}

/// The details of a `Status`: empty fields are absent.
pub(crate) fn details(group: &str, kind: &str, name: &str) -> Value {
    let fields = [("name", name), ("group", group), ("kind", kind)];
    let fields = fields.into_iter().filter(|(_, value)| !value.is_empty());
    Value::Object(
        fields
            .map(|(key, value)| (key.to_owned(), value.into()))
            .collect::<Map<_, _>>(),
    )
}
