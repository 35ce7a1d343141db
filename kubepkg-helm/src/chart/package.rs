//! A chart becomes an archive, as Helm's `Save` and `helm package` write it.
//!
//! `Chart.yaml` and the lock (of v2 charts) are written anew from what was read: comments and unknown keys are gone, keys
//! are sorted. Then come `values.yaml`, the schema, templates, other files, and the subcharts, unpacked. Entries are
//! plain files of mode 644 and bear the time of their file, or the present one where a file has none; one time for all
//! ([`Chart::stamp_times`]) makes the archive the same in every run. The blocks of the archive are those that Go's
//! `archive/tar` writes. Refused: a schema that is no JSON, and charts that don't validate.

use std::path::{Path, PathBuf};

use flate2::GzBuilder;
use flate2::write::GzEncoder;
use jiff::Timestamp;
use kubepkg_resolve::{Version, VersionError};
use serde::de::IgnoredAny;

use super::{API_VERSION_V1, Chart, ChartError, ChartFile, ChartLimits};
use crate::go::path::{base, clean};
use crate::go::text::quote;
use crate::go::time::ZERO;

/// What Helm writes into the extra field of the gzip header.
const EXTRA: &[u8] = b"rr\x28\x00aHR0cHM6Ly95b3V0dS5iZS96OVV6MWljandyTQo=";
const COMMENT: &str = "Helm";
/// How gzip says that it does not know the system.
const UNKNOWN_SYSTEM: u8 = 255;

/// The times that entries of an archive bear.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ArchiveTimes {
    /// Seconds since 1970 for entries whose file has no time; the machine's clock when `None`.
    pub now: Option<i64>,
}

impl ArchiveTimes {
    fn now(self) -> i64 {
        self.now.unwrap_or_else(|| Timestamp::now().as_second())
    }
}

/// Why a chart can't be written as an archive.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaveError {
    /// The metadata breaks a rule.
    #[error("chart validation: {0}")]
    Invalid(#[source] ChartError),
    /// A chart's name is a path.
    #[error("{} is not a valid chart name", quote(name))]
    Name {
        /// The name.
        name: String,
    },
    /// The schema is no JSON.
    #[error("invalid JSON in values.schema.json")]
    Schema,
    /// Metadata or lock have no YAML form.
    #[error(transparent)]
    Metadata(ChartError),
    /// An archive stands in a folder, and this is none.
    #[error("is not a directory: {}", path.display())]
    NotAFolder {
        /// What stands there.
        path: PathBuf,
    },
    /// The file system said no.
    #[error("cannot write {}: {source}", path.display())]
    Io {
        /// What was written.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

/// Why a folder can't be packaged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    /// The folder is no chart.
    #[error(transparent)]
    Load(#[from] ChartError),
    /// The version is none.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// Declared dependencies are not below `charts/`.
    #[error("found in Chart.yaml, but missing in charts/ directory: {}", names.join(", "))]
    MissingDependencies {
        /// Their names.
        names: Vec<String>,
    },
    /// The archive can't be written.
    #[error("failed to save: {0}")]
    Save(#[from] SaveError),
}

/// The flags of `helm package`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PackageOptions {
    /// Replaces the chart's version.
    pub version: Option<String>,
    /// Replaces the version of the software inside.
    pub app_version: Option<String>,
    /// One time for everything, in seconds since 1970: what Helm takes from `SOURCE_DATE_EPOCH`.
    pub stamp: Option<i64>,
    /// The clock.
    pub times: ArchiveTimes,
    /// What is read at most.
    pub limits: ChartLimits,
}

/// What `helm package` does: reads the chart in `folder`, checks it, and writes its archive into `destination`. Answers
/// with the archive's path.
///
/// # Errors
/// [`PackageError`], in Helm's words.
pub fn package(
    folder: &Path,
    destination: &Path,
    options: &PackageOptions,
) -> Result<PathBuf, PackageError> {
    let mut chart = Chart::load_dir_with_times(folder, &options.limits)?;
    if let Some(version) = &options.version {
        chart.metadata.version.clone_from(version);
    }
    Version::parse(&chart.metadata.version)?;
    if let Some(version) = &options.app_version {
        chart.metadata.app_version.clone_from(version);
    }
    if let Some(seconds) = options.stamp {
        chart.stamp_times(seconds);
    }
    let missing = chart.missing_dependencies();
    if !missing.is_empty() {
        return Err(PackageError::MissingDependencies {
            names: missing.into_iter().map(str::to_owned).collect(),
        });
    }
    Ok(chart.save(destination, options.times)?)
}

impl Chart {
    /// The name of the chart's archive: `NAME-VERSION.tgz`.
    pub fn archive_name(&self) -> String {
        format!("{}-{}.tgz", self.metadata.name, self.metadata.version)
    }

    /// The chart as an archive.
    ///
    /// # Errors
    /// [`SaveError`], the file system apart.
    pub fn to_archive(&self, times: ArchiveTimes) -> Result<Vec<u8>, SaveError> {
        let mut checked = self.metadata.clone();
        checked.validate().map_err(SaveError::Invalid)?;
        let gzip = GzBuilder::new()
            .extra(EXTRA)
            .comment(COMMENT)
            .operating_system(UNKNOWN_SYSTEM)
            .write(Vec::new(), flate2::Compression::default());
        let mut archive = Archive {
            tar: tar::Builder::new(gzip),
            now: times.now(),
        };
        archive.chart(self, &checked, "")?;
        let finished = archive.tar.into_inner().and_then(GzEncoder::finish);
        finished.map_err(in_memory)
    }

    /// Writes the chart's archive into a folder, which is made when it is not there. Nothing is left behind when the
    /// chart is refused.
    ///
    /// # Errors
    /// [`SaveError`].
    pub fn save(&self, folder: &Path, times: ArchiveTimes) -> Result<PathBuf, SaveError> {
        let bytes = self.to_archive(times)?;
        let path = folder.join(self.archive_name());
        let io = |source| SaveError::Io {
            path: path.clone(),
            source,
        };
        match std::fs::metadata(folder) {
            Ok(found) if !found.is_dir() => {
                return Err(SaveError::NotAFolder {
                    path: folder.to_owned(),
                });
            }
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                std::fs::create_dir_all(folder).map_err(io)?;
            }
            Err(error) => return Err(io(error)),
        }
        std::fs::write(&path, bytes).map_err(io)?;
        Ok(path)
    }

    /// Gives every file of the chart and its subcharts one time, the lock too, so that two runs give the same archive.
    pub fn stamp_times(&mut self, seconds: i64) {
        let time = Timestamp::from_second(seconds)
            .unwrap_or_default()
            .to_string();
        self.modified = Some(time.clone());
        self.values_modified = Some(time.clone());
        if self
            .schema
            .as_ref()
            .is_some_and(|schema| !schema.is_empty())
        {
            self.schema_modified = Some(time.clone());
        }
        if let Some(lock) = &mut self.lock {
            lock.generated.clone_from(&time);
        }
        for file in self.templates.iter_mut().chain(&mut self.files) {
            file.modified = Some(time.clone());
        }
        for subchart in &mut self.dependencies {
            subchart.stamp_times(seconds);
        }
    }
}

/// Writing into memory does not fail; this is for the type.
fn in_memory(source: std::io::Error) -> SaveError {
    SaveError::Io {
        path: PathBuf::new(),
        source,
    }
}

struct Archive {
    tar: tar::Builder<GzEncoder<Vec<u8>>>,
    now: i64,
}

impl Archive {
    fn chart(
        &mut self,
        chart: &Chart,
        metadata: &super::Metadata,
        prefix: &str,
    ) -> Result<(), SaveError> {
        let name = metadata.name.as_str();
        if base(name) != name {
            return Err(SaveError::Name {
                name: name.to_owned(),
            });
        }
        let folder = clean(&format!("{prefix}{name}"));
        let mut written = metadata.clone();
        if written.api_version == API_VERSION_V1 {
            // Those stand in requirements.yaml, which is among the files.
            written.dependencies.clear();
        }
        let text = written.to_yaml().map_err(SaveError::Metadata)?;
        let modified = chart.modified.as_deref();
        self.file(&folder, "Chart.yaml", text.as_bytes(), modified)?;
        if let Some(lock) = chart.lock.as_ref().filter(|_| metadata.api_version == "v2") {
            let text = lock.to_yaml().map_err(SaveError::Metadata)?;
            let time = Some(lock.generated.as_str());
            self.file(&folder, "Chart.lock", text.as_bytes(), time)?;
        }
        if let Some(values) = &chart.raw_values {
            let modified = chart.values_modified.as_deref();
            self.file(&folder, "values.yaml", values, modified)?;
        }
        if let Some(schema) = &chart.schema {
            if serde_json::from_slice::<IgnoredAny>(schema).is_err() {
                return Err(SaveError::Schema);
            }
            let modified = chart.schema_modified.as_deref();
            self.file(&folder, "values.schema.json", schema, modified)?;
        }
        for ChartFile {
            name,
            data,
            modified,
        } in chart.templates.iter().chain(&chart.files)
        {
            self.file(&folder, name, data, modified.as_deref())?;
        }
        for subchart in &chart.dependencies {
            self.chart(subchart, &subchart.metadata, &format!("{folder}/charts/"))?;
        }
        Ok(())
    }

    fn file(
        &mut self,
        folder: &str,
        name: &str,
        data: &[u8],
        modified: Option<&str>,
    ) -> Result<(), SaveError> {
        let path = clean(&format!("{folder}/{name}"));
        let time = modified.and_then(seconds).unwrap_or(self.now);
        let ascii: String = path
            .chars()
            .filter(|c| c.is_ascii() && *c != '\0')
            .collect();
        let (head, tail) = if ascii == path && path.len() <= NAME {
            ("", path.as_str())
        } else if let Some(parts) = split(&path) {
            parts
        } else {
            let record = extended("path", &path);
            let (folder, file) = path.rsplit_once('/').unwrap_or(("", &path));
            let name = clean(&format!("{folder}/PaxHeaders.0/{file}"));
            let mut name: String = name.chars().filter(char::is_ascii).collect();
            name.truncate(NAME);
            let mut header = header(("", name.trim_end_matches('/')), record.len(), 0);
            header.set_entry_type(tar::EntryType::XHeader);
            header.set_mode(0);
            if let Some(fields) = header.as_ustar_mut() {
                (fields.dev_major, fields.dev_minor) = ([0; 8], [0; 8]);
            }
            self.append(header, record.as_bytes())?;
            ("", ascii.as_str())
        };
        self.append(header((head, tail), data.len(), time), data)
    }

    fn append(&mut self, mut header: tar::Header, data: &[u8]) -> Result<(), SaveError> {
        header.set_cksum();
        // Go ends the six digits with a zero byte and a blank.
        let sum = header.cksum().unwrap_or_default();
        header
            .as_old_mut()
            .cksum
            .copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        self.tar.append(&header, data).map_err(in_memory)
    }
}

/// Bytes of a name, and of what may stand before it.
const NAME: usize = 100;
const PREFIX: usize = 155;

/// Cuts a long path into prefix and name where both fit.
fn split(path: &str) -> Option<(&str, &str)> {
    if !path.is_ascii() {
        return None;
    }
    let longest = path.get(..path.len().min(PREFIX + 1))?;
    let (head, _) = longest.rsplit_once('/')?;
    let tail = path.get(head.len() + 1..)?;
    let fits = !head.is_empty() && !tail.is_empty() && tail.len() <= NAME && head.len() <= PREFIX;
    fits.then_some((head, tail))
}

fn header((head, tail): (&str, &str), size: usize, time: i64) -> tar::Header {
    let mut header = tar::Header::new_ustar();
    header.set_mode(0o644);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(size as u64);
    header.set_mtime(u64::try_from(time).unwrap_or(0));
    header.set_entry_type(tar::EntryType::Regular);
    if let Some(fields) = header.as_ustar_mut() {
        for (field, text) in [(&mut fields.name[..], tail), (&mut fields.prefix[..], head)] {
            for (into, byte) in field.iter_mut().zip(text.bytes()) {
                *into = byte;
            }
        }
        fields.dev_major = *b"0000000\0";
        fields.dev_minor = *b"0000000\0";
    }
    header
}

/// A record of a PAX header: its own length, key and value.
fn extended(key: &str, value: &str) -> String {
    let rest = key.len() + value.len() + " =\n".len();
    let mut length = rest + rest.to_string().len();
    if length.to_string().len() > rest.to_string().len() {
        length = rest + length.to_string().len();
    }
    format!("{length} {key}={value}\n")
}

/// Whole seconds of a time, rounded as `archive/tar` rounds; none for the zero time.
fn seconds(time: &str) -> Option<i64> {
    let time: Timestamp = Some(time).filter(|time| *time != ZERO)?.parse().ok()?;
    Some(time.round(jiff::Unit::Second).unwrap_or(time).as_second())
}
