//! Numbers against their bounds.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::path::{FieldError, float};

/// A number in a message.
pub(super) fn plain(number: &Number) -> String {
    match (number.as_i64(), number.as_f64()) {
        (Some(int), _) => int.to_string(),
        (None, Some(value)) => float(value),
        (None, None) => number.to_string(),
    }
}

/// Whether a number is a whole one.
pub(super) fn is_whole(number: &Number) -> bool {
    number.is_i64() || number.as_f64().is_some_and(|value| whole(value).is_some())
}

fn whole(value: f64) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "checked by the way back")]
    let int = value as i64;
    #[expect(
        clippy::cast_precision_loss,
        reason = "compared with what it came from"
    )]
    let back = int as f64;
    #[expect(clippy::float_cmp, reason = "whole or not")]
    let same = back == value;
    same.then_some(int)
}

/// A number, and what its schema says of its range.
struct Checked<'n> {
    path: &'n str,
    number: &'n Number,
    schema: &'n Value,
    kind: &'n str,
    format: &'n str,
}

/// A bound as it is compared: whole numbers with whole ones.
struct Bound {
    value: f64,
    whole: Option<i64>,
    text: String,
}

impl Checked<'_> {
    fn fits(&self, value: f64) -> bool {
        match (self.kind, self.format) {
            ("integer", "int32") => whole(value).is_some_and(|it| i32::try_from(it).is_ok()),
            ("integer", _) => whole(value).is_some(),
            ("number", "float") => value.abs() <= f64::from(f32::MAX),
            _ => true,
        }
    }

    fn number_fits(&self) -> bool {
        match self.number.as_i64() {
            Some(int) if self.kind == "integer" => {
                self.format != "int32" || i32::try_from(int).is_ok()
            }
            _ => self.fits(self.number.as_f64().unwrap_or_default()),
        }
    }

    fn out_of_range(&self, what: &str) -> FieldError {
        let format = match self.format {
            "" => "(default format)".to_owned(),
            format => format!("with format {format}"),
        };
        let Self { path, kind, .. } = self;
        FieldError::nowhere(&format!(
            "{what} value must be of type {kind} {format} in {path}"
        ))
    }

    /// A bound of the schema; one that is out of range is told of.
    fn bound(&self, key: &str, what: &str, errors: &mut Vec<FieldError>) -> Option<Bound> {
        let value = self.schema.get(key).and_then(Value::as_f64)?;
        let fits = self.fits(value);
        if !fits {
            errors.push(self.out_of_range(what));
        }
        #[expect(clippy::cast_possible_truncation, reason = "as Go converts it")]
        let whole = (fits && self.number.is_i64()).then_some(value as i64);
        let text = whole.map_or_else(|| float(value), |whole| whole.to_string());
        Some(Bound { value, whole, text })
    }

    fn multiple(&self, factor: &Bound) -> Option<FieldError> {
        let path = self.path;
        if factor.whole.map_or(factor.value <= 0.0, |whole| whole <= 0) {
            let detail = format!(
                "factor MultipleOf declared for {path} must be positive: {}",
                factor.text
            );
            return Some(FieldError::invalid(
                path,
                &Value::from(factor.value),
                &detail,
            ));
        }
        let value = self.number.as_f64().unwrap_or_default();
        let is_multiple = match (self.number.as_i64(), factor.whole) {
            (Some(int), Some(factor)) => int % factor == 0,
            _ if factor.value < 1.0 => whole(1.0 / factor.value * value).is_some(),
            _ => whole(value / factor.value).is_some(),
        };
        let detail = format!("{path} in body should be a multiple of {}", factor.text);
        let shown = Value::Number(self.number.clone());
        (!is_multiple).then(|| FieldError::invalid(path, &shown, &detail))
    }

    fn compared(&self, bound: &Bound) -> Ordering {
        if let (Some(int), Some(bound)) = (self.number.as_i64(), bound.whole) {
            return int.cmp(&bound);
        }
        let value = self.number.as_f64().unwrap_or_default();
        value.partial_cmp(&bound.value).unwrap_or(Ordering::Equal)
    }
}

/// What is wrong with a number.
pub(super) fn check(path: &str, number: &Number, schema: &Value) -> Vec<FieldError> {
    let text = |key: &str| schema.get(key).and_then(Value::as_str).unwrap_or_default();
    let kind = match text("type") {
        "integer" => "integer",
        _ => "number",
    };
    let format = match (text("type"), text("format")) {
        ("integer", format @ ("int32" | "int64")) | ("number", format @ ("float" | "double")) => {
            format
        }
        _ => "",
    };
    let checked = Checked {
        path,
        number,
        schema,
        kind,
        format,
    };
    let mut errors = Vec::new();
    if !checked.number_fits() {
        errors.push(checked.out_of_range("Checked"));
    }
    if let Some(factor) = checked.bound("multipleOf", "MultipleOf", &mut errors) {
        errors.extend(checked.multiple(&factor));
    }
    let shown = Value::Number(number.clone());
    // The order is that of Go's results.
    for (key, flag, words, what, wrong) in [
        (
            "minimum",
            "exclusiveMinimum",
            "greater than",
            "Minimum boundary",
            Ordering::Less,
        ),
        (
            "maximum",
            "exclusiveMaximum",
            "less than",
            "Maximum boundary",
            Ordering::Greater,
        ),
    ] {
        let Some(bound) = checked.bound(key, what, &mut errors) else {
            continue;
        };
        let strict = schema.get(flag) == Some(&Value::Bool(true));
        let order = checked.compared(&bound);
        if order == wrong || (strict && order.is_eq()) {
            let or_equal = if strict { "" } else { " or equal to" };
            let detail = format!("{path} in body should be {words}{or_equal} {}", bound.text);
            errors.push(FieldError::invalid(path, &shown, &detail));
        }
    }
    errors
}
