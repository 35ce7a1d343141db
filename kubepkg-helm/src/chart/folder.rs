//! A chart out of a folder: `.helmignore` counts, files come in byte order of each folder's names.
//!
//! Symbolic links are followed while they stay inside the chart's folder, or another that the caller names. Helm
//! follows them anywhere; here a link that leads out is refused, so that a fetched tree can't pull in files of the
//! machine.

use std::borrow::Cow;
use std::fs;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use super::load::{Budget, LoadedFile, load_files, without_mark};
use super::read::check_head;
use super::{Chart, ChartError, ChartLimits, IgnoreRules};

impl Chart {
    /// Loads the chart in the folder `dir`.
    ///
    /// # Errors
    /// [`ChartError`] when the folder can't be read, holds something that is neither file nor folder nor a
    /// link to one inside, passes `limits`, or is no valid chart.
    pub fn load_dir(dir: &Path, limits: &ChartLimits) -> Result<Self, ChartError> {
        Self::load_dir_within(dir, dir, limits)
    }

    /// As [`Chart::load_dir`], and symbolic links may lead anywhere inside `boundary`: the root of a tree of charts
    /// that share files. With the root of the file system it is what Helm does.
    ///
    /// # Errors
    /// As [`Chart::load_dir`].
    pub fn load_dir_within(
        dir: &Path,
        boundary: &Path,
        limits: &ChartLimits,
    ) -> Result<Self, ChartError> {
        let root = canonical(dir)?;
        check_format(&root, limits)?;
        load(&root, &canonical(boundary)?, limits, false)
    }

    /// As [`Chart::load_dir`], and every file keeps the time at which it was written, for an archive to bear it.
    ///
    /// # Errors
    /// As [`Chart::load_dir`].
    pub fn load_dir_with_times(dir: &Path, limits: &ChartLimits) -> Result<Self, ChartError> {
        let root = canonical(dir)?;
        check_format(&root, limits)?;
        load(&root, &root, limits, true)
    }

    /// Loads the chart at `path`, a folder or an archive, where its format is known to be v1 or v2: errors are those of
    /// reading such a chart. Where the format is not known, [`Chart::load_dir`] and [`Chart::load_file`] find it out
    /// first, with errors of their own.
    ///
    /// # Errors
    /// As [`Chart::load_dir`] and [`Chart::load_file`].
    pub fn load_known(path: &Path, limits: &ChartLimits) -> Result<Self, ChartError> {
        let found = fs::metadata(path).map_err(|source| ChartError::Missing {
            path: path.to_owned(),
            source,
        })?;
        if found.is_dir() {
            Self::load_known_dir(path, limits)
        } else {
            Self::load_file(path, limits)
        }
    }

    /// As [`Chart::load_known`], of a folder.
    pub(crate) fn load_known_dir(dir: &Path, limits: &ChartLimits) -> Result<Self, ChartError> {
        let root = canonical(dir)?;
        load(&root, &root, limits, false)
    }
}

fn canonical(dir: &Path) -> Result<PathBuf, ChartError> {
    dir.canonicalize().map_err(|source| ChartError::Io {
        path: dir.to_owned(),
        source,
    })
}

/// Helm looks at `Chart.yaml` itself before anything is ignored.
fn check_format(root: &Path, limits: &ChartLimits) -> Result<(), ChartError> {
    let chart_file = root.join("Chart.yaml");
    let unknown = |source| ChartError::NotAChart {
        path: chart_file.clone(),
        source,
    };
    let mut head = Vec::new();
    let file = fs::File::open(&chart_file).map_err(unknown)?;
    file.take(limits.max_bytes)
        .read_to_end(&mut head)
        .map_err(unknown)?;
    check_head(&head)
}

fn load(
    root: &Path,
    boundary: &Path,
    limits: &ChartLimits,
    keep_times: bool,
) -> Result<Chart, ChartError> {
    let ignore_file = root.join(".helmignore");
    let mut text = Vec::new();
    let read = fs::File::open(&ignore_file)
        .and_then(|file| file.take(limits.max_bytes).read_to_end(&mut text));
    let rules = match read {
        Ok(_) => IgnoreRules::parse(&text)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => IgnoreRules::default(),
        Err(source) => {
            return Err(ChartError::Io {
                path: ignore_file,
                source,
            });
        }
    };
    let mut budget = Budget::new(limits);
    budget.keep_times = keep_times;
    let mut walk = Walk {
        boundary: boundary.to_owned(),
        rules: rules.with_defaults(),
        budget,
        files: Vec::new(),
        buffer: Vec::new(),
    };
    walk.folder(root, "", 0)?;
    load_files(walk.files, &mut walk.budget, 0)
}

struct Walk<'a> {
    boundary: PathBuf,
    rules: IgnoreRules,
    budget: Budget<'a>,
    files: Vec<LoadedFile>,
    /// The file that is being read.
    buffer: Vec<u8>,
}

/// Folders in folders; links inside the chart may form a loop, this ends it.
const MAX_FOLDER_DEPTH: usize = 64;

impl Walk<'_> {
    fn folder(&mut self, path: &Path, name: &str, depth: usize) -> Result<(), ChartError> {
        let io = |source| ChartError::Io {
            path: path.to_owned(),
            source,
        };
        if depth > MAX_FOLDER_DEPTH {
            return Err(ChartError::TooDeep {
                limit: MAX_FOLDER_DEPTH,
            });
        }
        let mut entries = Vec::new();
        for entry in fs::read_dir(path).map_err(io)? {
            let entry = entry.map_err(io)?;
            self.budget.file()?;
            let kind = entry.file_type().map_err(io)?;
            // Names that are no UTF-8 can't be named by a template either.
            entries.push((
                entry.file_name().to_string_lossy().into_owned(),
                entry.path(),
                kind,
            ));
        }
        entries.sort_by(|one, other| (&one.0, &one.1).cmp(&(&other.0, &other.1)));
        for (entry, path, kind) in entries {
            let name = if name.is_empty() {
                entry
            } else {
                format!("{name}/{entry}")
            };
            self.entry(&path, kind, name, depth)?;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        path: &Path,
        mut kind: fs::FileType,
        name: String,
        depth: usize,
    ) -> Result<(), ChartError> {
        let io = |source| ChartError::Io {
            path: path.to_owned(),
            source,
        };
        let mut target = Cow::Borrowed(path);
        if kind.is_symlink() {
            let resolved = path.canonicalize();
            let resolved = resolved.map_err(|source| ChartError::BrokenLink {
                path: path.to_owned(),
                missing: first_missing(path),
                source,
            })?;
            target = Cow::Owned(resolved);
            if !target.starts_with(&self.boundary) {
                return Err(ChartError::LinkOutside {
                    path: path.to_owned(),
                });
            }
            kind = fs::symlink_metadata(&target).map_err(io)?.file_type();
        }
        if self.rules.ignores(&name, kind.is_dir()) {
            return Ok(());
        }
        if kind.is_dir() {
            return self.folder(path, &name, depth + 1);
        }
        if !kind.is_file() {
            return Err(ChartError::Irregular {
                path: path.to_owned(),
            });
        }
        let limit = self.budget.limits.max_bytes;
        let too_large = || ChartError::FolderTooLarge {
            path: name.clone(),
            limit,
        };
        let file = fs::File::open(&target).map_err(io)?;
        let mut modified = None;
        if self.budget.keep_times {
            let time = file.metadata().and_then(|data| data.modified()).ok();
            let time = time.and_then(|time| jiff::Timestamp::try_from(time).ok());
            modified = time.map(|time| time.to_string());
        }
        self.buffer.clear();
        // Most files fit, and are read at once.
        self.buffer.reserve(64 * 1024);
        file.take(self.budget.bytes.saturating_add(1))
            .read_to_end(&mut self.buffer)
            .map_err(io)?;
        self.budget.bytes = self
            .budget
            .bytes
            .checked_sub(self.buffer.len() as u64)
            .ok_or_else(too_large)?;
        self.files.push(LoadedFile {
            name,
            data: without_mark(&self.buffer).into(),
            modified,
        });
        Ok(())
    }
}

/// The first part of a link's way that is not there, with the links before it resolved.
fn first_missing(link: &Path) -> PathBuf {
    // As many as Go follows.
    const MAX_LINKS: usize = 255;
    let mut way = link.to_owned();
    for _ in 0..MAX_LINKS {
        let mut reached = PathBuf::new();
        let mut parts = way.components();
        let mut next = None;
        for part in parts.by_ref() {
            if part == Component::ParentDir {
                reached.pop();
                continue;
            }
            reached.push(part);
            match fs::symlink_metadata(&reached) {
                Ok(kind) if kind.is_symlink() => {
                    next = fs::read_link(&reached).ok();
                    reached.pop();
                    break;
                }
                Ok(_) => {}
                Err(_) => return reached,
            }
        }
        let Some(next) = next else { return reached };
        way = reached.join(next).join(parts.as_path());
    }
    way
}
