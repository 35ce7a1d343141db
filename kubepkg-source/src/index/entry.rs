//! One version in an index: which fields there are, which texts they may hold, and which versions are valid charts.
//!
//! Rules from Helm's behaviour (vectors `load` in `tests/vectors`).

use std::collections::BTreeMap;

use kubepkg_resolve::Version;
use serde_json::{Map, Value};

use super::IndexEntry;

/// Fields of the chart's metadata that are texts.
const TEXT_FIELDS: [&str; 11] = [
    "name",
    "version",
    "home",
    "description",
    "icon",
    "apiVersion",
    "condition",
    "tags",
    "appVersion",
    "kubeVersion",
    "type",
];
/// Fields that the index itself adds and that are texts.
const DIRECT_TEXT_FIELDS: [&str; 5] = ["digest", "engine", "tillerVersion", "url", "checksum"];
/// Fields of a version that are something else.
const OTHER_FIELDS: [&str; 9] = [
    "urls",
    "created",
    "removed",
    "sources",
    "keywords",
    "maintainers",
    "deprecated",
    "annotations",
    "dependencies",
];

/// Reads one version. `Ok(None)` for one that is well formed, but no valid chart.
pub(super) fn entry(
    fields: &Map<String, Value>,
    strict: bool,
) -> Result<Option<(Version, IndexEntry)>, String> {
    let mut texts: BTreeMap<&str, &str> = BTreeMap::new();
    let mut urls = Vec::new();
    let mut digest = String::new();
    let mut valid = true;
    for (key, value) in fields {
        if let Some(field) = canonical(key, &DIRECT_TEXT_FIELDS) {
            if let Some(text) = direct_text(field, value, strict)?
                && field == "digest"
            {
                digest = text;
            }
            continue;
        }
        if let Some(field) = canonical(key, &TEXT_FIELDS) {
            match value {
                Value::String(text) => drop(texts.insert(field, text)),
                Value::Null => {}
                _ => return Err(format!("{field} must be a string")),
            }
            continue;
        }
        match canonical(key, &OTHER_FIELDS) {
            Some("urls") => urls = strings("urls", value)?,
            Some(field @ ("sources" | "keywords")) => drop(strings(field, value)?),
            Some("created") => check_time(match value {
                Value::Null => None,
                Value::String(time) => Some(time),
                _ => return Err("created must be a time".into()),
            })?,
            Some(field @ ("removed" | "deprecated"))
                if !matches!(value, Value::Bool(_) | Value::Null) =>
            {
                return Err(format!("{field} must be true or false"));
            }
            Some("maintainers") => {
                valid &= objects("maintainers", value)?.iter().all(Option::is_some);
            }
            Some("dependencies") => {
                valid &= objects("dependencies", value)?.iter().all(|dependency| {
                    dependency.is_some_and(|fields| {
                        fields
                            .get("alias")
                            .and_then(Value::as_str)
                            .is_none_or(is_alias)
                    })
                });
            }
            Some("annotations") => match value {
                Value::Object(map) if map.values().all(Value::is_string) => {}
                Value::Null => {}
                _ => return Err("annotations must be a map of strings".into()),
            },
            None if strict => return Err(format!("unknown field {key:?}")),
            _ => {}
        }
    }
    let text = |field: &str| texts.get(field).copied().unwrap_or_default();
    let (name, version) = (sanitized(text("name")), sanitized(text("version")));
    valid &= !name.is_empty() && !name.contains('/') && !matches!(name.as_str(), "." | "..");
    valid &= matches!(text("type"), "" | "application" | "library");
    let Some(parsed) = Version::parse(&version).ok().filter(|_| valid) else {
        return Ok(None);
    };
    Ok(Some((
        parsed,
        IndexEntry {
            name,
            version,
            urls,
            digest,
            fields: None,
        },
    )))
}

/// A text of the index itself. From YAML, numbers and truth values are taken as texts; Go's reader
/// does that for fields whose type it knows beforehand, which are not those of the metadata.
pub(super) fn direct_text(
    field: &str,
    value: &Value,
    yaml: bool,
) -> Result<Option<String>, String> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        Value::Bool(_) | Value::Number(_) if yaml => Ok(Some(value.to_string())),
        _ => Err(format!("{field} must be a string")),
    }
}

/// The field of the list that a key means; Go's JSON matches without case.
pub(super) fn canonical<'a>(key: &str, fields: &[&'a str]) -> Option<&'a str> {
    fields
        .iter()
        .copied()
        .find(|field| field.eq_ignore_ascii_case(key))
}

fn strings(field: &str, value: &Value) -> Result<Vec<String>, String> {
    let wrong = || format!("{field} must be a list of strings");
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => items
            .iter()
            .map(|item| match item {
                Value::String(text) => Ok(text.clone()),
                Value::Null => Ok(String::new()),
                _ => Err(wrong()),
            })
            .collect(),
        _ => Err(wrong()),
    }
}

fn objects<'a>(
    field: &str,
    value: &'a Value,
) -> Result<Vec<Option<&'a Map<String, Value>>>, String> {
    let wrong = || format!("{field} must be a list of maps");
    match value {
        Value::Null => Ok(Vec::new()),
        Value::Array(items) => items
            .iter()
            .map(|item| match item {
                Value::Object(fields) => Ok(Some(fields)),
                Value::Null => Ok(None),
                _ => Err(wrong()),
            })
            .collect(),
        _ => Err(wrong()),
    }
}

/// Letters, digits, `_` and `-`; an empty alias is none.
fn is_alias(alias: &str) -> bool {
    alias
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

/// White space becomes a space, other control characters vanish.
fn sanitized(text: &str) -> String {
    text.chars()
        .filter_map(|c| match c {
            c if c.is_whitespace() => Some(' '),
            c if c.is_control() => None,
            c => Some(c),
        })
        .collect()
}

/// Checks the form of an RFC 3339 time; the time itself is of no use here.
pub(super) fn check_time(time: Option<&str>) -> Result<(), String> {
    let Some(text) = time else { return Ok(()) };
    let wrong = || format!("{text:?} is not a time");
    let (date_time, rest) = text.split_at_checked(19).ok_or_else(wrong)?;
    let digits = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
    let shape = date_time
        .chars()
        .zip("dddd-dd-ddTdd:dd:dd".chars())
        .all(|(c, want)| {
            if want == 'd' {
                c.is_ascii_digit()
            } else {
                c == want
            }
        });
    let zone = match rest.strip_prefix('.') {
        Some(fraction) => fraction.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => rest,
    };
    let zone_fits = zone == "Z"
        || zone
            .strip_prefix(['+', '-'])
            .and_then(|offset| offset.split_once(':'))
            .is_some_and(|(hours, minutes)| {
                hours.len() == 2 && minutes.len() == 2 && digits(hours) && digits(minutes)
            });
    if shape && zone_fits {
        Ok(())
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_one_form() {
        for good in ["2024-01-02T03:04:05Z", "2024-01-02T03:04:05.6789+02:00"] {
            assert!(check_time(Some(good)).is_ok(), "{good}");
        }
        for bad in [
            "yesterday",
            "2024-01-02",
            "2024-01-02 03:04:05Z",
            "2024-01-02T03:04:05",
        ] {
            assert!(check_time(Some(bad)).is_err(), "{bad}");
        }
    }
}
