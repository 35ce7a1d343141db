//! The files of a chart archive (`.tgz`), checked before anything is made of them.
//!
//! The checks and their order are Helm's: the first path segment is cut off whatever it is, then absolute
//! paths, `..` and drive letters are refused. Beyond Helm, links, devices and pipes are refused (Helm reads
//! them as empty files, which hides a manipulated archive), and the number of entries is bounded.

use std::io::{self, Read};
use std::path::Path;

use flate2::bufread::GzDecoder;

use super::load::{Budget, LoadedFile, load_files, without_mark};
use super::{Chart, ChartError, ChartFile, ChartLimits};
use crate::go::path::clean;

impl Chart {
    /// Loads the chart in the bytes of an archive.
    ///
    /// # Errors
    /// [`ChartError`] when the bytes are no archive, an entry is refused, the archive passes `limits`, or the
    /// files are no valid chart.
    pub fn load_archive(bytes: &[u8], limits: &ChartLimits) -> Result<Self, ChartError> {
        let mut budget = Budget::new(limits);
        load_files(read(bytes, &mut budget)?, &mut budget, 0)
    }

    /// The files of an archive as they stand in it, for those who unpack it: checked, paths below the chart's folder.
    ///
    /// # Errors
    /// [`ChartError`] when the bytes are no archive, an entry is refused, or the archive passes `limits`.
    pub fn archive_files(bytes: &[u8], limits: &ChartLimits) -> Result<Vec<ChartFile>, ChartError> {
        let files = read(bytes, &mut Budget::new(limits))?;
        Ok(files.into_iter().map(LoadedFile::into_chart_file).collect())
    }
}

/// Path and contents of a file.
pub(crate) type NamedFile = (String, std::sync::Arc<[u8]>);

/// The files of an archive, not yet a chart.
pub(crate) fn archive_files(
    bytes: &[u8],
    limits: &ChartLimits,
) -> Result<Vec<NamedFile>, ChartError> {
    let files = read(bytes, &mut Budget::new(limits))?;
    Ok(files
        .into_iter()
        .map(|file| (file.name, file.data))
        .collect())
}

impl Chart {
    /// Loads the chart in an archive file.
    ///
    /// # Errors
    /// As [`Chart::load_archive`]; a file that is no archive at all is refused with a hint at what it is.
    pub fn load_file(path: &Path, limits: &ChartLimits) -> Result<Self, ChartError> {
        Self::load_archive(&Self::read_archive(path, limits)?, limits)
    }

    /// Reads an archive file as it is, for those who need its bytes besides the chart in it.
    ///
    /// # Errors
    /// When it can't be read, is larger than `limits.max_bytes`, or is no archive at all.
    pub fn read_archive(path: &Path, limits: &ChartLimits) -> Result<Vec<u8>, ChartError> {
        let io = |source| ChartError::Io {
            path: path.to_owned(),
            source,
        };
        let file = std::fs::File::open(path).map_err(io)?;
        if file.metadata().map_err(io)?.is_dir() {
            return Err(ChartError::Folder);
        }
        let mut bytes = Vec::new();
        file.take(limits.max_bytes.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(io)?;
        if bytes.len() as u64 > limits.max_bytes {
            return Err(ChartError::TooLarge {
                limit: limits.max_bytes,
            });
        }
        if !bytes.starts_with(&[0x1f, 0x8b, 8]) {
            return Err(not_an_archive(path, &bytes));
        }
        Ok(bytes)
    }
}

fn not_an_archive(path: &Path, bytes: &[u8]) -> ChartError {
    let path = path.display().to_string();
    if [".yml", ".yaml"]
        .iter()
        .any(|ending| path.ends_with(ending))
    {
        return ChartError::YamlFile { path };
    }
    let start = bytes.get(..bytes.len().min(512)).unwrap_or_default();
    ChartError::NotAnArchive {
        path,
        found: content_type(start),
    }
}

/// What Go's `http.DetectContentType` says of the first 512 bytes of a file, zeros behind its end.
fn content_type(start: &[u8]) -> &'static str {
    const MAGIC: &[(&[u8], &str)] = &[
        (b"%PDF-", "application/pdf"),
        (b"%!PS-Adobe-", "application/postscript"),
        (b"\xfe\xff", "text/plain; charset=utf-16be"),
        (b"\xff\xfe", "text/plain; charset=utf-16le"),
        (b"\xef\xbb\xbf", "text/plain; charset=utf-8"),
        (b"\x00\x00\x01\x00", "image/x-icon"),
        (b"BM", "image/bmp"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"PK\x03\x04", "application/zip"),
        (b"Rar!\x1a\x07", "application/x-rar-compressed"),
        (b"\x00asm", "application/wasm"),
    ];
    const TAGS: &[&str] = &[
        "<!doctype html",
        "<html",
        "<head",
        "<script",
        "<iframe",
        "<h1",
        "<div",
        "<font",
        "<table",
        "<a",
        "<style",
        "<title",
        "<b",
        "<body",
        "<br",
        "<p",
        "<!--",
    ];
    let text = String::from_utf8_lossy(start).to_ascii_lowercase();
    let text = text.trim_start_matches(['\t', '\n', '\x0c', '\r', ' ']);
    let is_tag = |tag: &str| {
        let behind = text.strip_prefix(tag);
        behind.is_some_and(|behind| tag == "<!--" || behind.starts_with([' ', '>']))
    };
    if TAGS.iter().any(|tag| is_tag(tag)) {
        return "text/html; charset=utf-8";
    }
    if text.starts_with("<?xml") {
        return "text/xml; charset=utf-8";
    }
    if let Some((_, found)) = MAGIC.iter().find(|(magic, _)| start.starts_with(magic)) {
        return found;
    }
    let is_binary = |byte: &u8| matches!(byte, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f);
    if start.len() < 512 || start.iter().any(is_binary) {
        return "application/octet-stream";
    }
    "text/plain; charset=utf-8"
}

/// The checked files of an archive. Their bytes and their number are taken from the budget.
pub(super) fn read(bytes: &[u8], budget: &mut Budget<'_>) -> Result<Vec<LoadedFile>, ChartError> {
    check_gzip_header(bytes)?;
    // What decompresses is bounded as a whole: file contents, their padding and headers.
    let headers = 1024 * (budget.files as u64 + 2);
    let ceiling = budget.bytes.saturating_mul(2).saturating_add(headers);
    let mut archive = tar::Archive::new(GzDecoder::new(bytes).take(ceiling));
    let mut files = Vec::new();
    let limit = budget.limits.max_bytes;
    for entry in archive.entries().map_err(|error| corrupt(&error))? {
        let mut entry = entry.map_err(|error| corrupt(&error))?;
        budget.file()?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let kind = entry.header().entry_type();
        let is_folder = kind.is_dir() || name.ends_with('/');
        if is_folder || kind.is_pax_global_extensions() || kind.is_pax_local_extensions() {
            continue;
        }
        let inner = checked_name(&name)?;
        refuse_special(&name, kind)?;
        let size = entry.size();
        if size > budget.bytes {
            return Err(ChartError::TooLarge { limit });
        }
        let mut data = Vec::new();
        let read = entry.by_ref().take(budget.bytes).read_to_end(&mut data);
        read.map_err(|error| corrupt(&error))?;
        budget.bytes -= data.len() as u64;
        if budget.bytes == 0 {
            return Err(ChartError::TooLarge { limit });
        }
        if (data.len() as u64) < size {
            return Err(ChartError::Corrupt {
                message: "unexpected EOF".into(),
            });
        }
        let written = entry.header().mtime().ok().filter(|_| budget.keep_times);
        files.push(LoadedFile {
            name: inner,
            data: without_mark(&data).into(),
            modified: written.and_then(|seconds| {
                let time = jiff::Timestamp::from_second(i64::try_from(seconds).ok()?);
                Some(time.ok()?.to_string())
            }),
        });
    }
    if files.is_empty() {
        return Err(ChartError::EmptyArchive);
    }
    Ok(files)
}

/// The path inside the chart, or why it is refused.
fn checked_name(entry: &str) -> Result<String, ChartError> {
    let delimiter = if entry.contains('\\') { '\\' } else { '/' };
    let (first, rest) = entry.split_once(delimiter).unwrap_or((entry, ""));
    let inner = rest.replace(delimiter, "/");
    let entry = entry.to_owned();
    if inner.starts_with('/') {
        return Err(ChartError::AbsolutePath { entry });
    }
    let inner = clean(&inner);
    if inner == "." {
        return Err(ChartError::OutsideBase { entry });
    }
    if inner.starts_with("..") {
        return Err(ChartError::ParentReference { entry });
    }
    if let [letter, b':', b'/', ..] = inner.as_bytes()
        && letter.is_ascii_alphabetic()
    {
        return Err(ChartError::DriveLetter { entry });
    }
    if first == "Chart.yaml" {
        return Err(ChartError::ChartYamlNotInBase { entry });
    }
    Ok(inner)
}

fn refuse_special(entry: &str, kind: tar::EntryType) -> Result<(), ChartError> {
    let kind = match kind {
        tar::EntryType::Symlink => "symbolic link",
        tar::EntryType::Link => "hard link",
        tar::EntryType::Char | tar::EntryType::Block => "device",
        tar::EntryType::Fifo => "pipe",
        _ => return Ok(()),
    };
    Err(ChartError::SpecialEntry {
        entry: entry.to_owned(),
        kind,
    })
}

fn check_gzip_header(bytes: &[u8]) -> Result<(), ChartError> {
    let corrupt = |message: &str| {
        Err(ChartError::Corrupt {
            message: message.into(),
        })
    };
    match bytes {
        [] => corrupt("EOF"),
        bytes if bytes.len() < 10 => corrupt("unexpected EOF"),
        [0x1f, 0x8b, 8, ..] => Ok(()),
        _ => corrupt("gzip: invalid header"),
    }
}

/// Words for broken bytes, Go's where the cause is the same.
fn corrupt(error: &io::Error) -> ChartError {
    let message = match error.kind() {
        io::ErrorKind::UnexpectedEof => "unexpected EOF".to_owned(),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            "gzip: invalid checksum".to_owned()
        }
        // A last block that is shorter than a tar block.
        _ if error.to_string().contains("failed to read entire block") => {
            "unexpected EOF".to_owned()
        }
        _ => "archive/tar: invalid tar header".to_owned(),
    };
    ChartError::Corrupt { message }
}
