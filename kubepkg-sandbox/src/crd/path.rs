//! Errors about fields, and the paths in them.

use kubepkg_yaml::{go_float, go_quote, to_go_json};
use serde_json::Value;

use crate::api::failure::Cause;

/// Something wrong with a field, as it stands among the causes of a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    /// The reason of the cause, such as `FieldValueInvalid`.
    pub reason: &'static str,
    /// The message, without the field.
    pub message: String,
    /// The field; `<nil>` where the API server names none.
    pub field: String,
}

impl FieldError {
    fn new(reason: &'static str, field: &str, message: String) -> Self {
        // The root has no name.
        let field = field.strip_prefix('.').unwrap_or(field);
        let field = if field.is_empty() { "<nil>" } else { field };
        Self {
            reason,
            message,
            field: field.to_owned(),
        }
    }

    pub(super) fn required_because(field: &str, detail: &str) -> Self {
        Self::new(
            "FieldValueRequired",
            field,
            format!("Required value: {detail}"),
        )
    }

    pub(super) fn forbidden(field: &str, detail: &str) -> Self {
        Self::new("FieldValueForbidden", field, format!("Forbidden: {detail}"))
    }

    pub(super) fn internal(field: &str, detail: &str) -> Self {
        Self::new("InternalError", field, format!("Internal error: {detail}"))
    }

    /// Invalid, with the value as it is shown.
    pub(super) fn invalid_shown(field: &str, shown: &str, detail: &str) -> Self {
        let message = format!("Invalid value: {shown}: {detail}");
        Self::new("FieldValueInvalid", field, message)
    }

    /// The error of a value as that of what the value is a part of.
    pub(super) fn below(mut self, at: &str) -> Self {
        self.field = if self.field == "<nil>" {
            at.to_owned()
        } else {
            format!("{at}.{}", self.field)
        };
        self
    }

    pub(super) fn required(field: &str) -> Self {
        Self::new("FieldValueRequired", field, "Required value".to_owned())
    }

    pub(super) fn invalid(field: &str, value: &Value, detail: &str) -> Self {
        let message = format!("Invalid value: {}: {detail}", shown(value));
        Self::new("FieldValueInvalid", field, message)
    }

    pub(super) fn wrong_type(field: &str, value: &Value, detail: &str) -> Self {
        let message = format!("Invalid value: {}: {detail}", shown(value));
        Self::new("FieldValueTypeInvalid", field, message)
    }

    pub(super) fn duplicate(field: &str, value: &Value) -> Self {
        let message = format!("Duplicate value: {}", shown(value));
        Self::new("FieldValueDuplicate", field, message)
    }

    pub(super) fn too_long(field: &str, limit: i64) -> Self {
        let message = if limit < 0 {
            "Too long: value is too long".to_owned()
        } else {
            let bytes = if limit == 1 { "byte" } else { "bytes" };
            format!("Too long: may not be more than {limit} {bytes}")
        };
        Self::new("FieldValueTooLong", field, message)
    }

    pub(super) fn too_many(field: &str, count: usize, limit: i64) -> Self {
        let items = if limit == 1 { "item" } else { "items" };
        let message = format!("Too many: {count}: must have at most {limit} {items}");
        Self::new("FieldValueTooMany", field, message)
    }

    pub(super) fn unsupported(field: &str, value: &Value, allowed: &[Value]) -> Self {
        let allowed: Vec<String> = allowed
            .iter()
            .map(|value| match value {
                Value::String(text) => go_quote(text),
                other => go_quote(&to_go_json(other).unwrap_or_default()),
            })
            .collect();
        let message = format!(
            "Unsupported value: {}: supported values: {}",
            shown(value),
            allowed.join(", ")
        );
        Self::new("FieldValueNotSupported", field, message)
    }

    /// A rule that isn't met. Objects and lists are not shown.
    pub(super) fn rule(field: &str, value: &Value, reason: &str, detail: &str) -> Self {
        let (reason, what) = match reason {
            "FieldValueForbidden" => ("FieldValueForbidden", "Forbidden".to_owned()),
            "FieldValueRequired" => ("FieldValueRequired", "Required value".to_owned()),
            other => {
                let duplicate = other == "FieldValueDuplicate";
                let (reason, what) = if duplicate {
                    ("FieldValueDuplicate", "Duplicate value")
                } else {
                    ("FieldValueInvalid", "Invalid value")
                };
                let what = match value {
                    Value::Object(_) | Value::Array(_) => what.to_owned(),
                    scalar => format!("{what}: {}", shown(scalar)),
                };
                // The server has no place for more here.
                if duplicate {
                    return Self::new(reason, field, what);
                }
                (reason, what)
            }
        };
        Self::new(reason, field, format!("{what}: {detail}"))
    }

    /// Whether rules in CEL are not run on an object with such an error.
    pub(super) fn keeps_rules_from_running(&self) -> bool {
        matches!(
            self.reason,
            "FieldValueNotSupported"
                | "FieldValueRequired"
                | "FieldValueTooLong"
                | "FieldValueTooMany"
                | "FieldValueTypeInvalid"
        )
    }

    /// What is said then.
    pub(super) fn rules_not_run() -> Self {
        let detail = "some validation rules were not checked because the object was invalid; correct the \
            existing errors to complete validation";
        Self::invalid("", &Value::Null, detail)
    }

    /// An error without a field.
    pub(super) fn nowhere(detail: &str) -> Self {
        Self::invalid("", &Value::from(""), detail)
    }
}

impl From<Cause> for FieldError {
    fn from(cause: Cause) -> Self {
        Self::new(cause.reason, &cause.field, cause.message)
    }
}

/// A value in a message.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => go_quote(text),
        Value::Number(number) => super::numbers::plain(number),
        Value::Bool(flag) => flag.to_string(),
        other => to_go_json(other).unwrap_or_default(),
    }
}

/// A float in a message.
pub(super) fn float(value: f64) -> String {
    go_float(value)
}
