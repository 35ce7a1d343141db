//! The words of a failed check: those of the JSON Schema library that Helm 4.3.1 uses, numbers with English
//! thousands separators and superscript exponents included.

use boon::{Compiler, ErrorKind, Format, ValidationError};
use serde_json::{Number, Value};

use crate::go::text::{float_json, parts, plain, quote as go_quote};

/// The whole tree of an error.
pub(super) fn of(error: &ValidationError<'_, '_>) -> String {
    let mut text = String::new();
    print(error, 0, &mut text);
    text
}

fn print(error: &ValidationError<'_, '_>, level: usize, text: &mut String) {
    // A reference with a single cause says nothing of its own.
    let silent = error.causes.len() == 1 && matches!(error.kind, ErrorKind::Reference { .. });
    let mut below = level;
    if !silent {
        if level > 0 {
            text.push('\n');
            text.push_str(&"  ".repeat(level - 1));
            text.push_str("- ");
        }
        below += 1;
        if let ErrorKind::Schema { url } = &error.kind {
            text.push_str(&format!("jsonschema validation failed with {}", quote(url)));
        } else {
            let place = quote(&error.instance_location.to_string());
            text.push_str(&format!("at {place}: {}", words(&error.kind)));
        }
    }
    for cause in &error.causes {
        print(cause, below, text);
    }
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
        if at > 0 && (whole.len() - at) % 3 == 0 {
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
        .skip(usize::from(exponent >= 0 && exponent < 100))
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

/// Formats whose complaints are worded as in Helm's library. They count for draft 7 and earlier, and in the
/// metaschemas.
pub(super) fn use_go_formats(compiler: &mut Compiler) {
    for (name, check) in FORMATS {
        compiler.register_format(Format { name, func: *check });
    }
}

type Check = fn(&Value) -> Result<(), Box<dyn std::error::Error>>;

const FORMATS: &[(&str, Check)] = &[("email", email), ("ipv4", ipv4)];

fn email(value: &Value) -> Result<(), Box<dyn std::error::Error>> {
    let Value::String(text) = value else {
        return Ok(());
    };
    let Some((local, domain)) = text.rsplit_once('@') else {
        return Err("missing @".into());
    };
    if text.len() > 254 {
        return Err("more than 255 characters long".into());
    }
    if local.len() > 64 {
        return Err("local part more than 64 characters long".into());
    }
    if domain.is_empty() || local.is_empty() {
        return Err("invalid address".into());
    }
    Ok(())
}

fn ipv4(value: &Value) -> Result<(), Box<dyn std::error::Error>> {
    let Value::String(text) = value else {
        return Ok(());
    };
    let groups: Vec<&str> = text.split('.').collect();
    if groups.len() != 4 {
        return Err("expected four decimals".into());
    }
    for group in groups {
        if group.len() > 1 && group.starts_with('0') {
            return Err("leading zeros".into());
        }
        if group.parse::<u8>().is_err() {
            return Err("decimal must be between 0 and 255".into());
        }
    }
    Ok(())
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
