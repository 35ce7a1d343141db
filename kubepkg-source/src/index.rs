//! A Helm repository's `index.yaml`: which versions of which charts there are and where.
//!
//! Reads as Helm does: strict for YAML (unknown and duplicate fields are errors), lenient for a
//! text that is valid JSON; field names match without case; entries that are no valid charts are
//! left out silently; versions are ordered from the highest down. Only what fetching needs is
//! kept, so that a large index costs its text and little more. [`Index::parse`] reads all of it at
//! once; [`Index::open`] finds where the charts of a machine-written index stand and reads a chart
//! when it is asked for, so that a mistake in one chart is met by who wants that chart. A version is
//! looked up exactly; `v` before it and build metadata behind it are tolerated where no entry has
//! the very text, as in Helm's `Get`; for constraints there is `select_version`. Rules from Helm's
//! behaviour (vectors `load` and `get` in `tests/vectors`).

mod entry;
mod skeleton;

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

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
    /// One chart of the index can't be read.
    #[error("chart {chart:?}")]
    Chart {
        /// The chart.
        chart: String,
        /// Why.
        #[source]
        source: Arc<IndexError>,
    },
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
    /// All fields as they were written; kept by [`Index::parse_whole`] alone.
    pub fields: Option<Map<String, Value>>,
}

/// The versions of one chart, from the highest down.
type Versions = Vec<(Version, IndexEntry)>;

/// What an index has.
#[derive(Debug, Clone, Default)]
pub struct Index {
    text: Bytes,
    charts: BTreeMap<String, Chart>,
    frame: Map<String, Value>,
}

/// A chart that was read, or the place where it stands.
#[derive(Debug, Clone)]
struct Chart {
    place: Range<usize>,
    read: OnceLock<Result<Versions, Arc<IndexError>>>,
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
    /// Reads an index as a whole.
    ///
    /// # Errors
    ///
    /// The text is empty, is not YAML, or is no index.
    pub fn parse(text: &[u8]) -> Result<Self, IndexError> {
        Self::read(text, false)
    }

    /// Reads an index as a whole, and keeps all fields of its entries and what is around them.
    ///
    /// # Errors
    ///
    /// Those of [`parse`](Self::parse).
    pub fn parse_whole(text: &[u8]) -> Result<Self, IndexError> {
        Self::read(text, true)
    }

    /// Opens an index: what is around the charts is read, each chart when it is asked for.
    ///
    /// A text that no machine wrote is parsed as a whole.
    ///
    /// # Errors
    ///
    /// The text is empty, is not YAML, or is no index. Mistakes inside a chart may be found later.
    pub fn open(text: Bytes) -> Result<Self, IndexError> {
        let Some(skeleton) = skeleton::skeleton(&text) else {
            return Self::parse(&text);
        };
        let frame =
            kubepkg_yaml::yaml_to_json_strict_with(&skeleton.frame, &yaml_limits(&skeleton.frame))
                .map_err(IndexError::Yaml)?;
        from_json(frame.as_bytes(), true, false)?;
        let place = |(name, place)| {
            let read = OnceLock::new();
            (name, Chart { place, read })
        };
        Ok(Self {
            charts: skeleton.charts.into_iter().map(place).collect(),
            text,
            frame: Map::new(),
        })
    }

    fn read(text: &[u8], keep: bool) -> Result<Self, IndexError> {
        if text.is_empty() {
            return Err(IndexError::Empty);
        }
        if let Ok(IgnoredAny) = serde_json::from_slice::<IgnoredAny>(text) {
            return Self::from_json(text, false, keep);
        }
        let json = kubepkg_yaml::yaml_to_json_strict_with(text, &yaml_limits(text))
            .map_err(IndexError::Yaml)?;
        Self::from_json(json.as_bytes(), true, keep)
    }

    fn from_json(json: &[u8], strict: bool, keep: bool) -> Result<Self, IndexError> {
        let read = |(name, versions)| {
            let chart = Chart {
                place: 0..0,
                read: OnceLock::from(Ok(versions)),
            };
            (name, chart)
        };
        let raw = from_json(json, strict, keep)?;
        Ok(Self {
            text: Bytes::new(),
            charts: raw.entries.into_iter().map(read).collect(),
            frame: raw.frame,
        })
    }

    /// The index without the versions of its charts, whose lists are empty or null; kept by
    /// [`parse_whole`](Self::parse_whole) alone.
    pub fn frame(&self) -> &Map<String, Value> {
        &self.frame
    }

    /// The names of the charts.
    pub fn charts(&self) -> impl Iterator<Item = &str> {
        self.charts.keys().map(String::as_str)
    }

    /// The versions of a chart, highest first; `None` when there is no such chart.
    ///
    /// # Errors
    ///
    /// The index was opened, and this chart of it can't be read.
    pub fn versions(
        &self,
        chart: &str,
    ) -> Result<Option<impl Iterator<Item = &IndexEntry> + use<'_>>, IndexError> {
        let versions = self.chart(chart)?;
        Ok(versions.map(|versions| versions.iter().map(|(_, entry)| entry)))
    }

    fn chart(&self, name: &str) -> Result<Option<&Versions>, IndexError> {
        let Some(chart) = self.charts.get(name) else {
            return Ok(None);
        };
        let text = self.text.get(chart.place.clone()).unwrap_or_default();
        let read = chart
            .read
            .get_or_init(|| one_chart(name, text).map_err(Arc::new));
        match read {
            Ok(versions) => Ok(Some(versions)),
            Err(source) => Err(IndexError::Chart {
                chart: name.to_owned(),
                source: Arc::clone(source),
            }),
        }
    }

    /// Finds a version of a chart: the entry with the very text, else the first one that is the
    /// same version but for a leading `v` and build metadata.
    ///
    /// # Errors
    ///
    /// The index was opened, and this chart of it can't be read.
    pub fn find(&self, chart: &str, version: &str) -> Result<Found<'_>, IndexError> {
        let Some(versions) = self.chart(chart)?.filter(|versions| !versions.is_empty()) else {
            return Ok(Found::NoChart);
        };
        let exact = versions.iter().find(|(_, entry)| entry.version == version);
        let same = || {
            let wanted = Version::parse_published(version).ok()?;
            versions.iter().find(|(known, _)| *known == wanted)
        };
        let found = exact.or_else(same);
        Ok(found.map_or(Found::NoVersion, |(_, entry)| Found::Entry(entry)))
    }
}

/// Reads the text of one chart: its key and its versions.
fn one_chart(name: &str, text: &[u8]) -> Result<Versions, IndexError> {
    let json = kubepkg_yaml::yaml_to_json_strict_with(text, &yaml_limits(text))
        .map_err(IndexError::Yaml)?;
    let mut entries = BTreeMap::new();
    let mut deserializer = serde_json::Deserializer::from_str(&json);
    EntriesSeed {
        strict: true,
        keep: false,
        entries: &mut entries,
        lists: &mut None,
    }
    .deserialize(&mut deserializer)
    .map_err(IndexError::Form)?;
    deserializer.end().map_err(IndexError::Form)?;
    let versions = entries.remove(name).filter(|_| entries.is_empty());
    // The pass that found the chart and the parser disagree about where it ends.
    let mut versions = versions.ok_or_else(|| {
        IndexError::Form(serde::de::Error::custom(
            "the text has another chart as well",
        ))
    })?;
    versions.sort_by(|(a, _), (b, _)| b.cmp(a));
    Ok(versions)
}

fn from_json(json: &[u8], strict: bool, keep: bool) -> Result<RawIndex, IndexError> {
    let mut deserializer = serde_json::Deserializer::from_slice(json);
    let mut raw = IndexSeed { strict, keep }
        .deserialize(&mut deserializer)
        .map_err(IndexError::Form)?;
    deserializer.end().map_err(IndexError::Form)?;
    if raw.api_version.is_empty() {
        return Err(IndexError::ApiVersion);
    }
    for versions in raw.entries.values_mut() {
        versions.sort_by(|(a, _), (b, _)| b.cmp(a));
    }
    Ok(raw)
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
    entries: BTreeMap<String, Versions>,
    frame: Map<String, Value>,
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
    keep: bool,
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
            let value = match canonical(&key, &INDEX_FIELDS) {
                Some("apiVersion") => {
                    let value: Value = map.next_value()?;
                    index.api_version = direct_text("apiVersion", &value, self.strict)
                        .map_err(A::Error::custom)?
                        .unwrap_or_default();
                    value
                }
                Some("entries") => {
                    let mut lists = None;
                    map.next_value_seed(EntriesSeed {
                        strict: self.strict,
                        keep: self.keep,
                        entries: &mut index.entries,
                        lists: &mut lists,
                    })?;
                    lists.into()
                }
                Some("generated") => {
                    let time: Option<String> = map.next_value()?;
                    check_time(time.as_deref()).map_err(A::Error::custom)?;
                    time.into()
                }
                None if self.strict => {
                    return Err(A::Error::custom(format_args!("unknown field {key:?}")));
                }
                _ if self.keep => map.next_value()?,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    Value::Null
                }
            };
            if self.keep {
                index.frame.insert(key, value);
            }
        }
        Ok(index)
    }
}

/// Reads `entries`: charts by key, `null` where there are none.
struct EntriesSeed<'a> {
    strict: bool,
    keep: bool,
    entries: &'a mut BTreeMap<String, Versions>,
    /// Empty lists by chart, null where there is none.
    lists: &'a mut Option<Map<String, Value>>,
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
        let lists = self.lists.get_or_insert_default();
        while let Some(chart) = map.next_key::<String>()? {
            let raw: Option<Vec<Option<Map<String, Value>>>> = map.next_value()?;
            if self.keep {
                let list = raw.as_ref().map(|_| Vec::<Value>::new());
                lists.insert(chart.clone(), list.into());
            }
            let mut versions = Vec::new();
            for fields in raw.unwrap_or_default().into_iter().flatten() {
                let entry = entry(&fields, self.strict)
                    .map_err(|why| A::Error::custom(format_args!("chart {chart:?}: {why}")))?;
                versions.extend(entry.map(|(version, mut entry)| {
                    entry.fields = self.keep.then_some(fields);
                    (version, entry)
                }));
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

    fn version(index: &Index, chart: &str, wanted: &str) -> Option<String> {
        match index.find(chart, wanted).unwrap() {
            Found::Entry(entry) => Some(entry.version.clone()),
            _ => None,
        }
    }

    #[test]
    fn finds_the_very_text_then_the_same_version() {
        let index = Index::parse(INDEX.as_bytes()).unwrap();
        for (wanted, expected) in [
            ("1.0.0", "1.0.0"),
            ("v1.0.0", "1.0.0"),
            ("1.2.0", "v1.2.0"),
            ("1.1.0", "1.1.0+b1"),
        ] {
            assert_eq!(version(&index, "web", wanted).as_deref(), Some(expected));
        }
        assert_eq!(index.find("web", "1.1").unwrap(), Found::NoVersion);
        assert_eq!(index.find("none", "1.0.0").unwrap(), Found::NoChart);
        assert_eq!(index.find("other", "1.0.0").unwrap(), Found::NoChart);
    }

    const WRITTEN: &str = "\
apiVersion: v1
entries:
  broken:
  - name: broken
    nonsense: 1
    version: 1.0.0
  web:
  - name: web
    urls:
    - web-1.0.0.tgz
    version: 1.0.0
  - name: web
    version: 2.0.0
generated: \"2024-01-01T00:00:00Z\"
";

    #[test]
    fn a_broken_chart_is_met_by_who_wants_it() {
        let index = Index::open(Bytes::from_static(WRITTEN.as_bytes())).unwrap();
        let names: Vec<&str> = index.charts().collect();
        assert_eq!(names, ["broken", "web"]);
        let versions: Vec<&str> = index
            .versions("web")
            .unwrap()
            .unwrap()
            .map(|entry| entry.version.as_str())
            .collect();
        assert_eq!(versions, ["2.0.0", "1.0.0"]);
        let error = index.find("broken", "1.0.0").unwrap_err();
        assert!(matches!(error, IndexError::Chart { chart, .. } if chart == "broken"));
        assert!(
            Index::parse(WRITTEN.as_bytes()).is_err(),
            "Helm reads none of it"
        );
    }

    #[test]
    fn what_is_around_the_charts_is_read_at_once() {
        for (text, expected) in [
            (WRITTEN.replace("apiVersion: v1\n", ""), "no API version"),
            (WRITTEN.replace("generated: ", "other: "), "wrong content"),
            (
                WRITTEN.replace("\"2024-01-01T00:00:00Z\"", "1"),
                "wrong content",
            ),
        ] {
            let error = Index::open(Bytes::from(text)).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}
