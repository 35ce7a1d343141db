//! A Helm repository's `index.yaml`: which versions of which charts there are and where.
//!
//! Reads as Helm does: strict for YAML (unknown and duplicate fields are errors), lenient for a
//! text that is valid JSON; field names match without case; entries that are no valid charts are
//! left out silently; versions are ordered from the highest down. Only what fetching needs is
//! kept, one entry at a time, so that a large index costs its text and little more. A version is
//! looked up exactly; `v` before it and build metadata behind it are tolerated where no entry has
//! the very text, as in Helm's `Get`. Constraints are refused. Rules from Helm's behaviour (vectors
//! `load` and `get` in `tests/vectors`).

use std::collections::BTreeMap;
use std::fmt;

use kubepkg_resolve::Version;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

/// An index that can't be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// There is no text.
    #[error("the file is empty")]
    Empty,
    /// The text is not YAML, or has a key twice.
    #[error(transparent)]
    Yaml(kubepkg_yaml::YamlError),
    /// The text does not have the form of an index.
    #[error("it has the wrong content")]
    Form(#[source] serde_json::Error),
    /// `apiVersion` is missing.
    #[error("no API version specified")]
    ApiVersion,
}

/// One version of a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexEntry {
    /// The chart's name, which need not be the key that it stands under.
    pub name: String,
    /// The version as it is written.
    pub version: String,
    /// Addresses of the archive, relative or absolute.
    pub urls: Vec<String>,
    /// The SHA-256 digest of the archive, with or without `sha256:`; empty when absent.
    pub digest: String,
}

/// What an index has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Index {
    entries: BTreeMap<String, Vec<(Version, IndexEntry)>>,
}

/// The answer of [`Index::find`].
#[derive(Debug, PartialEq, Eq)]
pub enum Found<'a> {
    /// The version.
    Entry(&'a IndexEntry),
    /// There is no chart of the name.
    NoChart,
    /// There is the chart, but not the version.
    NoVersion,
}

impl Index {
    /// Reads an index.
    ///
    /// # Errors
    ///
    /// The text is empty, is not YAML, or is no index.
    pub fn parse(text: &[u8]) -> Result<Self, IndexError> {
        if text.is_empty() {
            return Err(IndexError::Empty);
        }
        if let Ok(IgnoredAny) = serde_json::from_slice::<IgnoredAny>(text) {
            return Self::from_json(text, false);
        }
        let json = kubepkg_yaml::yaml_to_json_strict_with(text, &yaml_limits(text))
            .map_err(IndexError::Yaml)?;
        Self::from_json(json.as_bytes(), true)
    }

    fn from_json(json: &[u8], strict: bool) -> Result<Self, IndexError> {
        let mut deserializer = serde_json::Deserializer::from_slice(json);
        let raw = IndexSeed { strict }
            .deserialize(&mut deserializer)
            .map_err(IndexError::Form)?;
        deserializer.end().map_err(IndexError::Form)?;
        if raw.api_version.is_empty() {
            return Err(IndexError::ApiVersion);
        }
        let mut entries = raw.entries;
        for versions in entries.values_mut() {
            versions.sort_by(|(a, _), (b, _)| b.cmp(a));
        }
        Ok(Self { entries })
    }

    /// Finds a version of a chart: the entry with the very text, else the first one that is the
    /// same version but for a leading `v` and build metadata.
    pub fn find(&self, chart: &str, version: &str) -> Found<'_> {
        let Some(versions) = self
            .entries
            .get(chart)
            .filter(|versions| !versions.is_empty())
        else {
            return Found::NoChart;
        };
        let exact = versions.iter().find(|(_, entry)| entry.version == version);
        let same = || {
            let wanted = Version::parse_published(version).ok()?;
            versions.iter().find(|(version, _)| *version == wanted)
        };
        exact
            .or_else(same)
            .map_or(Found::NoVersion, |(_, entry)| Found::Entry(entry))
    }

    /// The versions of each chart, highest first.
    pub fn entries(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = &IndexEntry>)> {
        self.entries
            .iter()
            .map(|(key, versions)| (key.as_str(), versions.iter().map(|(_, entry)| entry)))
    }
}

/// The size of an index is limited where it is read; its content may be as large as that allows.
/// Aliases can't make it grow beyond twice the text.
fn yaml_limits(text: &[u8]) -> kubepkg_yaml::Limits {
    kubepkg_yaml::Limits {
        input: text.len(),
        nodes: text.len(),
        output: text.len().saturating_mul(2).saturating_add(1024),
        ..kubepkg_yaml::Limits::DEFAULT
    }
}

#[derive(Default)]
struct RawIndex {
    api_version: String,
    entries: BTreeMap<String, Vec<(Version, IndexEntry)>>,
}

const INDEX_FIELDS: [&str; 6] = [
    "serverInfo",
    "apiVersion",
    "generated",
    "entries",
    "publicKeys",
    "annotations",
];

/// Reads the index as a whole.
struct IndexSeed {
    strict: bool,
}

impl<'de> DeserializeSeed<'de> for IndexSeed {
    type Value = RawIndex;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<RawIndex, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for IndexSeed {
    type Value = RawIndex;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an index")
    }

    fn visit_unit<E>(self) -> Result<RawIndex, E> {
        Ok(RawIndex::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawIndex, A::Error> {
        let mut index = RawIndex::default();
        while let Some(key) = map.next_key::<String>()? {
            match canonical(&key, &INDEX_FIELDS) {
                Some("apiVersion") => {
                    let value: Value = map.next_value()?;
                    index.api_version = direct_text("apiVersion", &value, self.strict)
                        .map_err(A::Error::custom)?
                        .unwrap_or_default();
                }
                Some("entries") => map.next_value_seed(EntriesSeed {
                    strict: self.strict,
                    entries: &mut index.entries,
                })?,
                Some("generated") => {
                    let time: Option<String> = map.next_value()?;
                    check_time(time.as_deref()).map_err(A::Error::custom)?;
                }
                None if self.strict => {
                    return Err(A::Error::custom(format_args!("unknown field {key:?}")));
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(index)
    }
}

/// Reads `entries`: charts by key, `null` where there are none.
struct EntriesSeed<'a> {
    strict: bool,
    entries: &'a mut BTreeMap<String, Vec<(Version, IndexEntry)>>,
}

impl<'de> DeserializeSeed<'de> for EntriesSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for EntriesSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of charts")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(chart) = map.next_key::<String>()? {
            let raw: Option<Vec<Option<Map<String, Value>>>> = map.next_value()?;
            let mut versions = Vec::new();
            for fields in raw.unwrap_or_default().into_iter().flatten() {
                let entry = entry(&fields, self.strict)
                    .map_err(|why| A::Error::custom(format_args!("chart {chart:?}: {why}")))?;
                versions.extend(entry);
            }
            self.entries.insert(chart, versions);
        }
        Ok(())
    }
}

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
fn entry(
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
        },
    )))
}

/// A text of the index itself. From YAML, numbers and truth values are taken as texts; Go's reader
/// does that for fields whose type it knows beforehand, which are not those of the metadata.
fn direct_text(field: &str, value: &Value, yaml: bool) -> Result<Option<String>, String> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        Value::Bool(_) | Value::Number(_) if yaml => Ok(Some(value.to_string())),
        _ => Err(format!("{field} must be a string")),
    }
}

/// The field of the list that a key means; Go's JSON matches without case.
fn canonical<'a>(key: &str, fields: &[&'a str]) -> Option<&'a str> {
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
fn check_time(time: Option<&str>) -> Result<(), String> {
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

    const INDEX: &str = "\
apiVersion: v1
entries:
  web:
  - {name: web, version: 1.0.0, urls: [web-1.0.0.tgz]}
  - {name: web, version: v1.2.0, urls: [web-v1.2.0.tgz], digest: ab}
  - {name: web, version: 1.1.0+b1, urls: [web-1.1.0+b1.tgz]}
  none: []
";

    fn version<'a>(found: &Found<'a>) -> Option<&'a str> {
        match found {
            Found::Entry(entry) => Some(&entry.version),
            _ => None,
        }
    }

    #[test]
    fn finds_the_very_text_then_the_same_version() {
        let index = Index::parse(INDEX.as_bytes()).unwrap();
        assert_eq!(version(&index.find("web", "1.0.0")), Some("1.0.0"));
        assert_eq!(version(&index.find("web", "v1.0.0")), Some("1.0.0"));
        assert_eq!(version(&index.find("web", "1.2.0")), Some("v1.2.0"));
        assert_eq!(version(&index.find("web", "1.1.0")), Some("1.1.0+b1"));
        assert_eq!(index.find("web", "1.1"), Found::NoVersion);
        assert_eq!(index.find("none", "1.0.0"), Found::NoChart);
        assert_eq!(index.find("other", "1.0.0"), Found::NoChart);
    }

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
