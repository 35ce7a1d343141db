//! The files that are looked at: a folder, or an archive in memory, which behaves as the folder that it unpacks to.

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::LintError;
use crate::chart::{
    Chart, ChartError, ChartLimits, IgnoreRules, Metadata, NamedFile, archive_files,
};
use crate::go::os::path_error;
use crate::go::path::clean;

pub(super) enum Tree {
    Folder {
        path: PathBuf,
        limit: u64,
    },
    Archive {
        path: PathBuf,
        files: Vec<NamedFile>,
    },
}

/// What stands at a path.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Missing,
    File,
    Folder,
}

/// Whether a name is that of an archive.
pub(super) fn is_archive(name: &str) -> bool {
    [".tgz", ".tar.gz"]
        .iter()
        .any(|ending| name.ends_with(ending))
}

impl Tree {
    pub(super) fn open(path: &Path, limits: &ChartLimits) -> Result<Self, LintError> {
        let name = path.to_string_lossy();
        if !is_archive(&name) {
            let chart_file = PathBuf::from(clean(&format!("{name}/Chart.yaml")));
            return match std::fs::metadata(&chart_file) {
                Ok(_) => Ok(Self::Folder {
                    path: path.to_owned(),
                    limit: limits.max_bytes,
                }),
                Err(source) => Err(LintError::NoChartYaml {
                    path: chart_file,
                    source,
                }),
            };
        }
        let failed = |source| LintError::Open {
            path: path.to_owned(),
            source,
        };
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path).map_err(failed)?;
        file.take(limits.max_bytes)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        let mut files = archive_files(&bytes, limits).map_err(LintError::Extract)?;
        let mut name = String::new();
        for (_, data) in files.iter().filter(|(path, _)| path == "Chart.yaml") {
            name = Metadata::from_yaml(data).map_err(LintError::Extract)?.name;
        }
        if name.is_empty() {
            return Err(LintError::NoName);
        }
        // A folder is walked by names; of two entries of one name the later one is there.
        files.sort_by(|(one, _), (two, _)| one.split('/').cmp(two.split('/')));
        files.reverse();
        files.dedup_by(|(one, _), (two, _)| one == two);
        files.reverse();
        Ok(Self::Archive {
            path: path.to_owned(),
            files,
        })
    }

    /// The chart's folder, absolute: the archive's own path when it is one.
    pub(super) fn place(&self) -> String {
        let (Self::Folder { path, .. } | Self::Archive { path, .. }) = self;
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        clean(&absolute.to_string_lossy())
    }

    pub(super) fn entry(&self, name: &str) -> Entry {
        match self {
            Self::Folder { path, .. } => match std::fs::metadata(path.join(name)) {
                Ok(found) if found.is_dir() => Entry::Folder,
                Ok(_) => Entry::File,
                Err(_) => Entry::Missing,
            },
            Self::Archive { files, .. } => {
                let below = |path: &str| {
                    let rest = path.strip_prefix(name);
                    rest.is_some_and(|rest| rest.starts_with('/'))
                };
                if files.iter().any(|(path, _)| path == name) {
                    Entry::File
                } else if files.iter().any(|(path, _)| below(path)) {
                    Entry::Folder
                } else {
                    Entry::Missing
                }
            }
        }
    }

    /// The contents of a file.
    ///
    /// # Errors
    /// Go's words for why it can't be read.
    pub(super) fn read(&self, name: &str) -> Result<Vec<u8>, String> {
        match self {
            Self::Folder { path, limit } => {
                let path = path.join(name);
                let shown = format!("{}/{name}", self.place());
                let file = std::fs::File::open(&path)
                    .map_err(|error| path_error("open", &shown, &error))?;
                let mut bytes = Vec::new();
                file.take(*limit)
                    .read_to_end(&mut bytes)
                    .map_err(|error| path_error("read", &shown, &error))?;
                Ok(bytes)
            }
            Self::Archive { files, .. } => {
                let found = files.iter().find(|(path, _)| path == name);
                found.map(|(_, data)| data.to_vec()).ok_or_else(|| {
                    let error = io::Error::from_raw_os_error(NO_ENTRY);
                    path_error("open", &format!("{}/{name}", self.place()), &error)
                })
            }
        }
    }

    /// The chart.
    ///
    /// # Errors
    /// What Helm says when it can't be loaded.
    pub(super) fn load(&self, limits: &ChartLimits) -> Result<Chart, ChartError> {
        let files = match self {
            Self::Folder { path, .. } => return Chart::load_known_dir(path, limits),
            Self::Archive { files, .. } => files,
        };
        let ignore = files.iter().find(|(path, _)| path == ".helmignore");
        let rules = ignore.map_or_else(
            || Ok(IgnoreRules::default()),
            |(_, text)| IgnoreRules::parse(text),
        )?;
        let rules = rules.with_defaults();
        let is_ignored = |path: &str| {
            let folders = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
            folders
                .into_iter()
                .any(|folder| rules.ignores(folder, true))
                || rules.ignores(path, false)
        };
        let kept = files.iter().filter(|(path, _)| !is_ignored(path));
        Chart::from_files(kept.map(|(path, data)| (path.as_str(), data)), limits)
    }
}

/// `ENOENT`.
const NO_ENTRY: i32 = 2;
