//! The words of a failed check: those of the JSON Schema library that Helm 4.3.1 uses, numbers with English
//! thousands separators and superscript exponents included.

use boon::{ErrorKind, ValidationError};
use serde_json::{Number, Value};

use super::{formats, place};

use crate::go::text::{float_json, parts, plain, quote as go_quote};

/// The whole tree of an error. `document` is the schema that was asked, for what the library leaves out.
pub(super) fn of(error: &ValidationError<'_, '_>, document: &Value) -> String {
    let mut printer = Printer {
        document,
        text: String::new(),
    };
    printer.print(error, 0);
    printer.text
}

struct Printer<'a> {
    document: &'a Value,
    text: String,
}

impl Printer<'_> {
    fn print(&mut self, error: &ValidationError<'_, '_>, level: usize) {
        // A reference with a single cause says nothing of its own.
        let causes: Vec<_> = error
            .causes
            .iter()
            .filter(|cause| !is_spurious(cause))
            .collect();
        let silent = causes.len() == 1 && matches!(error.kind, ErrorKind::Reference { .. });
        let mut below = level;
        if !silent {
            self.open(level);
            below += 1;
            if let ErrorKind::Schema { url } = &error.kind {
                self.say(&["jsonschema validation failed with ", &quote(url)]);
            } else {
                let place = place::of(error, self.document);
                let words = match &error.kind {
                    ErrorKind::Pattern { got, want } => {
                        let want = place::keyword(error, self.document, "pattern").unwrap_or(want);
                        format!("{} does not match pattern {}", quote(got), quote(want))
                    }
                    ErrorKind::Format {
                        got,
                        want: "regex",
                        err,
                    } => {
                        let why = got.as_str().and_then(|text| formats::regex(text).err());
                        let why = why.unwrap_or_else(|| err.to_string());
                        format!("{} is not valid regex: {why}", scalar(got))
                    }
                    kind => words(kind),
                };
                self.say(&["at ", &quote(&place), ": ", &words]);
            }
        }
        for cause in causes {
            let mut level = below;
            // The library leaves out a combination with a single cause; Helm's says it.
            for (keyword, place) in place::combinations(error, cause, self.document) {
                self.open(level);
                let none = if keyword == "oneOf" {
                    ", none matched"
                } else {
                    ""
                };
                self.say(&["at ", &quote(&place), ": '", &keyword, "' failed", none]);
                level += 1;
            }
            self.print(cause, level);
        }
    }

    fn say(&mut self, parts: &[&str]) {
        self.text.extend(parts.iter().copied());
    }

    /// Begins a line.
    fn open(&mut self, level: usize) {
        if level > 0 {
            self.text.push('\n');
            self.text.push_str(&"  ".repeat(level - 1));
            self.text.push_str("- ");
        }
    }
}

/// The library divides floats, so that 0.3 is no multiple of 0.1; Helm's divides exactly.
pub(super) fn is_spurious(error: &ValidationError<'_, '_>) -> bool {
    match &error.kind {
        ErrorKind::MultipleOf { got, want } => {
            is_multiple(&got.to_string(), &want.to_string()).unwrap_or(false)
        }
        ErrorKind::Schema { .. }
        | ErrorKind::Group
        | ErrorKind::AllOf
        | ErrorKind::Reference { .. } => {
            !error.causes.is_empty() && error.causes.iter().all(is_spurious)
        }
        _ => false,
    }
}

fn is_multiple(number: &str, of: &str) -> Option<bool> {
    let decimal = |text: &str| -> Option<(i128, u32)> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits = format!("{whole}{part}").parse().ok()?;
        Some((digits, u32::try_from(part.len()).ok()?))
    };
    let ((one, places), (two, other_places)) = (decimal(number)?, decimal(of)?);
    let scale = places.max(other_places);
    let one = one.checked_mul(10_i128.checked_pow(scale - places)?)?;
    let two = two.checked_mul(10_i128.checked_pow(scale - other_places)?)?;
    Some(one.checked_rem(two)? == 0)
}

/// A text in single quotes.
fn quote(text: &str) -> String {
    let quoted = go_quote(text).replace("\\\"", "\"").replace('\'', "\\'");
    let inner = quoted
        .get(1..quoted.len().saturating_sub(1))
        .unwrap_or_default();
    format!("'{inner}'")
}

fn list<T: AsRef<str>>(texts: &[T]) -> String {
    texts
        .iter()
        .map(|text| quote(text.as_ref()))
        .collect::<Vec<_>>()
        .join(", ")
}

fn scalar(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::String(text) => quote(text),
        Value::Array(_) | Value::Object(_) => "value".into(),
        other => other.to_string(),
    }
}

fn words(kind: &ErrorKind<'_, '_>) -> String {
    let is_plain = |value: &Value| !matches!(value, Value::Array(_) | Value::Object(_));
    match kind {
        ErrorKind::Group | ErrorKind::Reference { .. } => "validation failed".into(),
        ErrorKind::Schema { url } => format!("jsonschema validation failed with {}", quote(url)),
        ErrorKind::ContentSchema => "'contentSchema' failed".into(),
        ErrorKind::PropertyName { prop } => format!("invalid propertyName {}", quote(prop)),
        ErrorKind::RefCycle {
            url,
            kw_loc1,
            kw_loc2,
        } => {
            format!(
                "both {kw_loc1} and {kw_loc2} resolve to {} causing reference cycle",
                go_quote(url)
            )
        }
        ErrorKind::FalseSchema => "false schema".into(),
        ErrorKind::Type { got, want } => {
            let want: Vec<String> = want.iter().map(|kind| kind.to_string()).collect();
            format!("got {got}, want {}", want.join(" or "))
        }
        ErrorKind::Enum { want } if want.iter().all(is_plain) => match want.as_slice() {
            [only] => format!("value must be {}", scalar(only)),
            many => format!(
                "value must be one of {}",
                many.iter().map(scalar).collect::<Vec<_>>().join(", ")
            ),
        },
        ErrorKind::Enum { .. } => "'enum' failed".into(),
        ErrorKind::Const { want } if is_plain(want) => format!("value must be {}", scalar(want)),
        ErrorKind::Const { .. } => "'const' failed".into(),
        ErrorKind::Format { got, want, err } => {
            format!("{} is not valid {want}: {err}", scalar(got))
        }
        ErrorKind::MinProperties { got, want } => counted("minProperties", *got, *want),
        ErrorKind::MaxProperties { got, want } => counted("maxProperties", *got, *want),
        ErrorKind::MinItems { got, want } => counted("minItems", *got, *want),
        ErrorKind::MaxItems { got, want } => counted("maxItems", *got, *want),
        ErrorKind::MinLength { got, want } => counted("minLength", *got, *want),
        ErrorKind::MaxLength { got, want } => counted("maxLength", *got, *want),
        ErrorKind::AdditionalProperties { got } => {
            let mut names: Vec<&str> = got.iter().map(AsRef::as_ref).collect();
            names.sort_unstable();
            format!("additional properties {} not allowed", list(&names))
        }
        ErrorKind::Required { want } => match want.as_slice() {
            [only] => format!("missing property {}", quote(only)),
            many => format!("missing properties {}", list(many)),
        },
        ErrorKind::Dependency { prop, missing }
        | ErrorKind::DependentRequired { prop, missing } => {
            format!(
                "properties {} required, if {} exists",
                list(missing),
                quote(prop)
            )
        }
        ErrorKind::Contains => "no items match contains schema".into(),
        ErrorKind::MinContains { got, want } if got.is_empty() => {
            format!(
                "min {} items required to match contains schema, but none matched",
                grouped(*want)
            )
        }
        ErrorKind::MinContains { got, want } => matched("min", got, *want),
        ErrorKind::MaxContains { got, want } => matched("max", got, *want),
        ErrorKind::UniqueItems { got: [one, two] } => {
            format!("items at {} and {} are equal", grouped(*one), grouped(*two))
        }
        ErrorKind::AdditionalItems { got } => {
            format!("last {} additionalItem(s) not allowed", grouped(*got))
        }
        ErrorKind::Pattern { got, want } => {
            format!("{} does not match pattern {}", quote(got), quote(want))
        }
        ErrorKind::ContentEncoding { want, err } => {
            format!("value is not {} encoded: {err}", quote(want))
        }
        ErrorKind::ContentMediaType { want, err, .. } => {
            format!("value is not of mediatype {}: {err}", quote(want))
        }
        ErrorKind::Minimum { got, want } => measured("minimum", got, want),
        ErrorKind::Maximum { got, want } => measured("maximum", got, want),
        ErrorKind::ExclusiveMinimum { got, want } => measured("exclusiveMinimum", got, want),
        ErrorKind::ExclusiveMaximum { got, want } => measured("exclusiveMaximum", got, want),
        ErrorKind::MultipleOf { got, want } => measured("multipleOf", got, want),
        ErrorKind::Not => "'not' failed".into(),
        ErrorKind::AllOf => "'allOf' failed".into(),
        ErrorKind::AnyOf => "'anyOf' failed".into(),
        ErrorKind::OneOf(None) => "'oneOf' failed, none matched".into(),
        ErrorKind::OneOf(Some((one, two))) => {
            format!(
                "'oneOf' failed, subschemas {}, {} matched",
                grouped(*one),
                grouped(*two)
            )
        }
    }
}

fn counted(keyword: &str, got: usize, want: usize) -> String {
    format!("{keyword}: got {}, want {}", grouped(got), grouped(want))
}

fn matched(keyword: &str, got: &[usize], want: usize) -> String {
    let places: Vec<String> = got.iter().map(ToString::to_string).collect();
    format!(
        "{keyword} {} items required to match contains schema, but matched {} items at {}",
        grouped(want),
        grouped(got.len()),
        places.join(" ")
    )
}

fn measured(keyword: &str, got: &Number, want: &Number) -> String {
    let text = |number: &Number| english(number.as_f64().unwrap_or_default());
    format!("{keyword}: got {}, want {}", text(got), text(want))
}

fn grouped(number: usize) -> String {
    group(&number.to_string())
}

/// Commas between each three digits before the point.
fn group(digits: &str) -> String {
    let (whole, part) = digits
        .find('.')
        .map_or((digits, ""), |point| digits.split_at(point));
    let mut out = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + part
}

/// A number for English readers: plain from `1e-4` up to `1e6`, else with a power of ten in superscript.
fn english(number: f64) -> String {
    let (sign, digits, exponent) = parts(&format!("{number:e}"));
    if digits == "0" {
        return float_json(number);
    }
    if (-4..6).contains(&exponent) {
        return format!("{sign}{}", group(&plain(&digits, exponent)));
    }
    let (head, tail) = digits.split_at(1);
    let point = if tail.is_empty() { "" } else { "." };
    let power: String = format!("{exponent:03}")
        .chars()
        .skip(usize::from((0..100).contains(&exponent)))
        .map(|c| match c {
            '-' => '⁻',
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            c => c
                .to_digit(10)
                .and_then(|digit| char::from_u32(0x2070 + digit))
                .unwrap_or(c),
        })
        .collect();
    format!("{sign}{head}{point}{tail}×10{power}")
}

#[cfg(test)]
mod tests {
    use super::english;

    #[test]
    fn numbers_are_written_for_english_readers() {
        // golang.org/x/text/message, English, %v of float64.
        for (number, text) in [
            (70_000.0, "70,000"),
            (1e6, "1×10⁰⁶"),
            (-1e6, "-1×10⁰⁶"),
            (123_456.789, "123,456.789"),
            (1e-5, "1×10⁻⁰⁵"),
            (1.5e300, "1.5×10³⁰⁰"),
            (0.5, "0.5"),
            (0.0, "0"),
        ] {
            assert_eq!(english(number), text);
        }
    }
}
