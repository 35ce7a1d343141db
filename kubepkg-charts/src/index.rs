//! The index of a chart repository as a whole: reading, adding, merging, writing.
//!
//! Fetching needs little of an index and has [`kubepkg_source::Index`] for it, which also decides here what may be
//! read and in which order versions stand. This is for those who make one: every field is kept, and what is written is
//! what `helm repo index` writes. Merging and adding follow Helm: a version that an existing one satisfies as a
//! constraint is not added, an entry is validated first, and neither sorts (vectors `load`, `add` and `merge`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kubepkg_api::Digest;
use kubepkg_helm::{Chart, ChartError, ChartLimits, Metadata};
use kubepkg_resolve::Version;
use kubepkg_source::{Index, IndexError, select_version};
use serde::Serialize;
use serde_json::{Map, Value};

/// How Go writes a time that was never set.
const ZERO_TIME: &str = "0001-01-01T00:00:00Z";
/// The format of indexes that is written.
const API_VERSION: &str = "v1";
/// Files that one folder may have; more are no repository.
const MAX_ARCHIVES: usize = 100_000;

/// An index can't be read, made or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexFileError {
    /// It is no index.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The metadata of a chart can't be used.
    #[error("validate failed for {file}")]
    Metadata {
        /// The archive.
        file: String,
        /// Why.
        #[source]
        source: ChartError,
    },
    /// A file can't be read or written.
    #[error("{}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: std::io::Error,
    },
    /// The folder has more archives than a repository may have.
    #[error("{} has more than {limit} archives", path.display())]
    TooMany {
        /// The folder.
        path: PathBuf,
        /// The limit.
        limit: usize,
    },
    /// It has no text: a field holds what YAML can't.
    #[error("writing the index")]
    Write(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// An `index.yaml`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct IndexFile {
    /// What the server says about itself; read, kept, of no meaning here.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub server_info: Map<String, Value>,
    /// `v1`.
    pub api_version: String,
    /// When it was made, RFC 3339.
    pub generated: String,
    /// The versions by chart; absent and null lists are written as they were read.
    pub entries: Option<BTreeMap<String, Option<Vec<IndexedChart>>>>,
    /// Public keys, of no meaning here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub public_keys: Vec<String>,
    /// Free text by key.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// One version of a chart in an index.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct IndexedChart {
    /// What `Chart.yaml` says.
    #[serde(flatten)]
    pub metadata: Metadata,
    /// Where the archive is.
    pub urls: Option<Vec<String>>,
    /// When it was added, RFC 3339.
    pub created: String,
    /// Whether it is gone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub removed: bool,
    /// The SHA-256 digest of the archive in hexadecimal.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// What Helm 2 wrote.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", flatten)]
    pub deprecated: BTreeMap<String, String>,
}

impl IndexFile {
    /// An empty index, made at this time.
    pub fn new(generated: impl Into<String>) -> Self {
        Self {
            server_info: Map::new(),
            api_version: API_VERSION.to_owned(),
            generated: generated.into(),
            entries: Some(BTreeMap::new()),
            public_keys: Vec::new(),
            annotations: BTreeMap::new(),
        }
    }

    /// Reads an index, as Helm does.
    ///
    /// # Errors
    /// The text is no index.
    pub fn parse(text: &[u8]) -> Result<Self, IndexFileError> {
        let index = Index::parse_whole(text)?;
        let frame = Fields(index.frame());
        let mut file = Self::new(go_time(frame.text("generated").as_deref()));
        file.api_version = frame.text("apiVersion").unwrap_or_default();
        file.server_info = frame.object("serverInfo").cloned().unwrap_or_default();
        file.public_keys = frame.strings("publicKeys").unwrap_or_default();
        if let Some(annotations) = frame.object("annotations") {
            let text =
                |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
            file.annotations = annotations.iter().filter_map(text).collect();
        }
        let Some(charts) = frame.object("entries") else {
            file.entries = None;
            return Ok(file);
        };
        let mut entries = BTreeMap::new();
        for (name, list) in charts {
            let versions = index.versions(name)?.into_iter().flatten();
            let versions = versions
                .filter_map(|entry| entry.fields.as_ref())
                .map(indexed)
                .collect::<Result<Vec<_>, _>>()?;
            entries.insert(name.clone(), (!list.is_null()).then_some(versions));
        }
        file.entries = Some(entries);
        Ok(file)
    }

    /// Adds a version. The address of the archive is its path, or its name below `base_url`. Does not sort.
    ///
    /// # Errors
    /// The metadata is not valid.
    pub fn add(
        &mut self,
        mut metadata: Metadata,
        file: &str,
        base_url: &str,
        digest: &str,
        created: &str,
    ) -> Result<(), IndexFileError> {
        if metadata.api_version.is_empty() {
            API_VERSION.clone_into(&mut metadata.api_version);
        }
        metadata
            .validate()
            .map_err(|source| IndexFileError::Metadata {
                file: file.to_owned(),
                source,
            })?;
        let address = match base_url {
            "" => file.to_owned(),
            base => joined(base, file.rsplit('/').next().unwrap_or(file)),
        };
        self.list(&metadata.name).push(IndexedChart {
            metadata,
            urls: Some(vec![address]),
            created: created.to_owned(),
            removed: false,
            digest: digest.to_owned(),
            deprecated: BTreeMap::new(),
        });
        Ok(())
    }

    fn list(&mut self, name: &str) -> &mut Vec<IndexedChart> {
        let entries = self.entries.get_or_insert_default();
        entries
            .entry(name.to_owned())
            .or_default()
            .get_or_insert_default()
    }

    /// Whether a version is there, or one that satisfies it as a constraint.
    pub fn has(&self, name: &str, version: &str) -> bool {
        let versions = self.entries.as_ref().and_then(|entries| entries.get(name));
        let Some(Some(versions)) = versions else {
            return false;
        };
        let versions: Vec<&str> = versions
            .iter()
            .map(|chart| chart.metadata.version.as_str())
            .collect();
        select_version(&versions, version).is_ok()
    }

    /// Adds what another index has and this one lacks. Does not sort.
    pub fn merge(&mut self, other: Self) {
        for chart in other
            .entries
            .into_iter()
            .flatten()
            .filter_map(|(_, list)| list)
            .flatten()
        {
            if !self.has(&chart.metadata.name, &chart.metadata.version) {
                let name = chart.metadata.name.clone();
                self.list(&name).push(chart);
            }
        }
    }

    /// Sorts the versions of each chart from the highest down.
    pub fn sort(&mut self) {
        for versions in self
            .entries
            .iter_mut()
            .flatten()
            .filter_map(|(_, list)| list.as_mut())
        {
            versions.sort_by_cached_key(|chart| {
                std::cmp::Reverse(Version::parse(&chart.metadata.version).ok())
            });
        }
    }

    /// Indexes the archives of a folder and of the folders right below it, as `helm repo index` does: files that are no
    /// charts are passed over. Does not sort. Blocks.
    ///
    /// # Errors
    /// A file can't be read, a chart is not valid, or there are too many.
    pub fn of_folder(
        folder: &Path,
        base_url: &str,
        now: &str,
        limits: &ChartLimits,
    ) -> Result<Self, IndexFileError> {
        let mut index = Self::new(now);
        let mut archives = archives(folder)?;
        for below in folders(folder)? {
            archives.extend(self::archives(&below)?);
        }
        if archives.len() > MAX_ARCHIVES {
            return Err(IndexFileError::TooMany {
                path: folder.to_owned(),
                limit: MAX_ARCHIVES,
            });
        }
        for archive in archives {
            let Ok(bytes) = Chart::read_archive(&archive, limits) else {
                continue;
            };
            let Ok(chart) = Chart::load_archive(&bytes, limits) else {
                continue;
            };
            let inside = archive.strip_prefix(folder).unwrap_or(&archive);
            let parent = inside.parent().map(slashed).unwrap_or_default();
            let base = if parent.is_empty() {
                base_url.to_owned()
            } else {
                joined(base_url, &parent)
            };
            let name = inside
                .file_name()
                .map(Path::new)
                .map(slashed)
                .unwrap_or_default();
            index.add(chart.metadata, &name, &base, Digest::of(&bytes).hex(), now)?;
        }
        Ok(index)
    }

    /// The text of `index.yaml`, as Helm writes it.
    ///
    /// # Errors
    /// A field holds what YAML can't.
    pub fn to_yaml(&self) -> Result<String, IndexFileError> {
        let value =
            serde_json::to_value(self).map_err(|error| IndexFileError::Write(error.into()))?;
        let limits = kubepkg_yaml::Limits {
            nodes: usize::MAX,
            output: usize::MAX,
            ..kubepkg_yaml::Limits::DEFAULT
        };
        kubepkg_yaml::to_yaml_with(&value, &limits)
            .map_err(|error| IndexFileError::Write(error.into()))
    }

    /// The text of an index in JSON, which is YAML, as `helm repo index --json` writes it.
    ///
    /// # Errors
    /// A field holds what JSON can't.
    pub fn to_json(&self) -> Result<String, IndexFileError> {
        let text = serde_json::to_string_pretty(self);
        let mut text = text.map_err(|error| IndexFileError::Write(error.into()))?;
        for (character, escaped) in GO_ESCAPES {
            if text.contains(character) {
                text = text.replace(character, escaped);
            }
        }
        Ok(text)
    }
}

/// The only characters that Go's encoder writes otherwise than others do; in JSON they stand in texts alone.
const GO_ESCAPES: [(char, &str); 5] = [
    ('<', "\\u003c"),
    ('>', "\\u003e"),
    ('&', "\\u0026"),
    ('\u{2028}', "\\u2028"),
    ('\u{2029}', "\\u2029"),
];

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> IndexFileError {
    let path = path.to_owned();
    move |source| IndexFileError::Io { path, source }
}

fn slashed(path: &Path) -> String {
    path.to_string_lossy()
        .replace(std::path::MAIN_SEPARATOR, "/")
}

fn archives(folder: &Path) -> Result<Vec<PathBuf>, IndexFileError> {
    entries(folder, |path| {
        path.is_file() && path.extension().is_some_and(|extension| extension == "tgz")
    })
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>, IndexFileError> {
    entries(folder, Path::is_dir)
}

fn entries(folder: &Path, wanted: fn(&Path) -> bool) -> Result<Vec<PathBuf>, IndexFileError> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(io(folder))? {
        let path = entry.map_err(io(folder))?.path();
        if wanted(&path) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Fields by name without case, as Go's JSON has it.
struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    fn get(&self, name: &str) -> Option<&'a Value> {
        self.0
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// A text; what YAML took for a number or a truth value is one too.
    fn text(&self, name: &str) -> Option<String> {
        match self.get(name)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }

    fn object(&self, name: &str) -> Option<&'a Map<String, Value>> {
        self.get(name)?.as_object()
    }

    fn strings(&self, name: &str) -> Option<Vec<String>> {
        let list = self.get(name)?.as_array()?;
        let text = |item: &Value| item.as_str().unwrap_or_default().to_owned();
        Some(list.iter().map(text).collect())
    }
}

/// An entry that the reader of indexes took.
fn indexed(fields: &Map<String, Value>) -> Result<IndexedChart, IndexFileError> {
    let failed = |source| IndexFileError::Metadata {
        file: "index.yaml".to_owned(),
        source,
    };
    // JSON is YAML.
    let text = Value::Object(fields.clone()).to_string();
    let mut metadata = Metadata::from_yaml(text.as_bytes()).map_err(failed)?;
    if metadata.api_version.is_empty() {
        API_VERSION.clone_into(&mut metadata.api_version);
    }
    // Cleans the texts. What it refuses beyond that was decided by the reader.
    let _ = metadata.validate();
    let fields = Fields(fields);
    let deprecated = ["checksum", "engine", "tillerVersion", "url"]
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), fields.text(name)?)))
        .collect();
    Ok(IndexedChart {
        metadata,
        urls: fields.strings("urls"),
        created: go_time(fields.text("created").as_deref()),
        removed: fields
            .get("removed")
            .and_then(Value::as_bool)
            .unwrap_or(false),
        digest: fields.text("digest").unwrap_or_default(),
        deprecated,
    })
}

/// A time as Go writes it again: no zeros at the end of the fraction, `Z` for no offset.
fn go_time(time: Option<&str>) -> String {
    let Some(time) = time else {
        return ZERO_TIME.to_owned();
    };
    let (moment, zone) = time
        .find(['Z', '+'])
        .or_else(|| time.rfind('-').filter(|at| *at > 10))
        .map_or((time, ""), |at| time.split_at(at));
    let zone = match zone {
        "+00:00" | "-00:00" => "Z",
        other => other,
    };
    let moment = match moment.split_once('.') {
        Some((seconds, fraction)) => {
            let digits: String = fraction.chars().take(9).collect();
            match digits.trim_end_matches('0') {
                "" => seconds.to_owned(),
                fraction => format!("{seconds}.{fraction}"),
            }
        }
        None => moment.to_owned(),
    };
    format!("{moment}{zone}")
}

/// Joins a path to a URL; what is no URL is a path.
fn joined(base: &str, path: &str) -> String {
    if let Ok(mut url) = url::Url::parse(base)
        && url.has_host()
    {
        let whole = format!("{}/{path}", url.path().trim_end_matches('/'));
        url.set_path(&whole);
        return url.into();
    }
    let base = base.trim_end_matches('/');
    if base.is_empty() {
        path.to_owned()
    } else {
        format!("{base}/{path}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_go_writes_them() {
        for (given, expected) in [
            ("2024-01-02T03:04:05.600Z", "2024-01-02T03:04:05.6Z"),
            ("2024-01-02T03:04:05.000+00:00", "2024-01-02T03:04:05Z"),
            ("2024-01-02T03:04:05-07:00", "2024-01-02T03:04:05-07:00"),
        ] {
            assert_eq!(go_time(Some(given)), expected);
        }
    }
}
