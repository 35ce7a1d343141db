//! A Helm repository's `index.yaml`: which versions of which charts there are and where.
//!
//! Reads as Helm does: strict for YAML (unknown and duplicate fields are errors), lenient for a
//! text that is valid JSON; field names match without case; entries that are no valid charts are
//! left out silently; versions are ordered from the highest down. Only what fetching needs is
//! kept, one entry at a time, so that a large index costs its text and little more. A version is
//! looked up exactly; `v` before it and build metadata behind it are tolerated where no entry has
//! the very text, as in Helm's `Get`. Constraints are refused. Rules from Helm's behaviour (vectors
//! `load` and `get` in `tests/vectors`).

mod entry;

use std::collections::BTreeMap;
use std::fmt;

use kubepkg_resolve::Version;
use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value};

use self::entry::{canonical, check_time, direct_text, entry};

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
}
