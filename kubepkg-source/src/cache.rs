//! Charts that were fetched before, by their content.
//!
//! `charts/sha256-<hex>.tgz` holds an archive, `versions/<hex>.json` which digest a version of a
//! chart without a pinned digest had when it was last looked up, `indexes/<hex>.{yaml,json}` an
//! index with its entity tag. Every file is written aside and renamed, so a reader sees the old or
//! the new one, never half of one, also when several processes share the folder. Every archive is
//! hashed again when it is read; a damaged one is removed and fetched anew. When the archives
//! exceed the size limit, those not used for longest go first.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use kubepkg_api::Digest;
use serde::{Deserialize, Serialize};

use crate::digest_reader::{DigestClaim, DigestReader, Verified};

/// The content-addressed cache. All its functions block.
#[derive(Debug, Clone)]
pub struct ArchiveCache {
    root: PathBuf,
    size_limit: u64,
    archive_limit: u64,
}

/// What is remembered about a version without a pinned digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct VersionRecord {
    repository: String,
    name: String,
    version: String,
    digest: Digest,
}

/// How old the knowledge about a version is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// Looked up within the allowed age.
    Fresh(Digest),
    /// Looked up longer ago.
    Stale(Digest),
    /// Never looked up.
    Missing,
}

/// What a server said about the state of an index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Validators {
    pub(crate) etag: Option<String>,
    pub(crate) last_modified: Option<String>,
}

/// The description beside a kept index.
#[derive(Debug, Serialize, Deserialize)]
struct IndexRecord {
    url: String,
    digest: Digest,
    #[serde(flatten)]
    validators: Validators,
}

impl ArchiveCache {
    /// Opens the cache in a folder, which is made when missing. Archives together may take
    /// `size_limit` bytes, a single one `archive_limit`.
    ///
    /// # Errors
    ///
    /// The folder can't be made.
    pub fn open(root: &Path, size_limit: u64, archive_limit: u64) -> io::Result<Self> {
        for folder in ["charts", "versions", "indexes"] {
            std::fs::create_dir_all(root.join(folder))?;
        }
        Ok(Self {
            root: root.to_path_buf(),
            size_limit,
            archive_limit,
        })
    }

    fn archive_path(&self, digest: &Digest) -> PathBuf {
        self.root
            .join("charts")
            .join(format!("sha256-{}.tgz", digest.hex()))
    }

    /// The archive with this digest, when it is there and undamaged.
    pub fn archive(&self, digest: &Digest) -> Option<Verified> {
        let path = self.archive_path(digest);
        let file = std::fs::File::open(&path).ok()?;
        let mut content = Vec::new();
        let limit = self.archive_limit;
        let read = io::Read::read_to_end(
            &mut io::Read::take(&file, limit.saturating_add(1)),
            &mut content,
        );
        let mut reader = DigestReader::new(limit).expect(DigestClaim::Reference, digest.clone());
        let verified = read
            .ok()
            .and_then(|_| reader.push(&content).ok())
            .and_then(|()| reader.finish().ok());
        if let Some(verified) = verified {
            // The time of use decides what is thrown out first; it is no loss when it can't
            // be set, for example on a read-only cache.
            let _ = file.set_modified(SystemTime::now());
            Some(verified)
        } else {
            tracing::warn!(path = %path.display(), "damaged cache entry, fetching it again");
            let _ = std::fs::remove_file(&path);
            None
        }
    }

    /// Keeps an archive.
    ///
    /// # Errors
    ///
    /// It can't be written.
    pub fn keep(&self, archive: &Verified) -> io::Result<()> {
        let path = self.archive_path(archive.digest());
        write_aside(&path, archive.bytes())?;
        self.shrink(&path)
    }

    /// Removes the archives not used for longest until the limit is kept; the newest one stays.
    fn shrink(&self, newest: &Path) -> io::Result<()> {
        let mut files = Vec::new();
        let mut total = 0_u64;
        for entry in std::fs::read_dir(self.root.join("charts"))? {
            let entry = entry?;
            // Another process may have removed it meanwhile.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if entry.path() != newest {
                let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                files.push((used, entry.path(), metadata.len()));
            }
            total += metadata.len();
        }
        files.sort();
        for (_, path, size) in files {
            if total <= self.size_limit {
                break;
            }
            if std::fs::remove_file(&path).is_ok() {
                total -= size;
            }
        }
        Ok(())
    }

    /// What is known about a version without a pinned digest.
    pub(crate) fn version(
        &self,
        repository: &str,
        name: &str,
        version: &str,
        fresh_for: Duration,
    ) -> Freshness {
        let path = self.version_path(repository, name, version);
        let known = || -> Option<(VersionRecord, Duration)> {
            let record: VersionRecord = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
            let written = std::fs::metadata(&path).ok()?.modified().ok()?;
            // A clock that went backwards makes the record stale, not fresh for ever.
            let age = SystemTime::now()
                .duration_since(written)
                .unwrap_or(Duration::MAX);
            let same =
                record.repository == repository && record.name == name && record.version == version;
            same.then_some((record, age))
        };
        match known() {
            Some((record, age)) if age < fresh_for => Freshness::Fresh(record.digest),
            Some((record, _)) => Freshness::Stale(record.digest),
            None => Freshness::Missing,
        }
    }

    /// Remembers which digest a version has now.
    pub(crate) fn remember_version(
        &self,
        repository: &str,
        name: &str,
        version: &str,
        digest: &Digest,
    ) -> io::Result<()> {
        let record = VersionRecord {
            repository: repository.to_owned(),
            name: name.to_owned(),
            version: version.to_owned(),
            digest: digest.clone(),
        };
        let text = serde_json::to_vec_pretty(&record)?;
        write_aside(&self.version_path(repository, name, version), &text)
    }

    fn version_path(&self, repository: &str, name: &str, version: &str) -> PathBuf {
        let key = Digest::of(format!("{repository}\n{name}\n{version}").as_bytes());
        self.root
            .join("versions")
            .join(format!("{}.json", key.hex()))
    }

    /// The kept index of a URL, when it is undamaged.
    pub(crate) fn index(&self, url: &str) -> Option<(Validators, Bytes)> {
        let (text_path, record_path) = self.index_paths(url);
        let record: IndexRecord = serde_json::from_slice(&std::fs::read(record_path).ok()?).ok()?;
        let text = Bytes::from(std::fs::read(text_path).ok()?);
        let sound = record.url == url && Digest::of(&text) == record.digest;
        sound.then_some((record.validators, text))
    }

    /// Keeps an index.
    pub(crate) fn keep_index(
        &self,
        url: &str,
        validators: &Validators,
        text: &Verified,
    ) -> io::Result<()> {
        let (text_path, record_path) = self.index_paths(url);
        let record = IndexRecord {
            url: url.to_owned(),
            digest: text.digest().clone(),
            validators: validators.clone(),
        };
        // A reader between the two sees a digest that doesn't fit, and fetches anew.
        write_aside(&text_path, text.bytes())?;
        write_aside(&record_path, &serde_json::to_vec_pretty(&record)?)
    }

    fn index_paths(&self, url: &str) -> (PathBuf, PathBuf) {
        let key = Digest::of(url.as_bytes());
        let folder = self.root.join("indexes");
        (
            folder.join(format!("{}.yaml", key.hex())),
            folder.join(format!("{}.json", key.hex())),
        )
    }
}

/// Writes beside the file, then renames.
fn write_aside(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".part-")
        .tempfile_in(folder)?;
    file.write_all(content)?;
    file.as_file().sync_data()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verified(content: &[u8]) -> Verified {
        let mut reader = DigestReader::new(1 << 20);
        reader.push(content).unwrap();
        reader.finish().unwrap()
    }

    fn open(folder: &tempfile::TempDir, size_limit: u64) -> ArchiveCache {
        ArchiveCache::open(folder.path(), size_limit, 1 << 20).unwrap()
    }

    #[test]
    fn gives_back_what_it_keeps() {
        let folder = tempfile::tempdir().unwrap();
        let cache = open(&folder, 1 << 20);
        let archive = verified(b"chart");
        assert_eq!(cache.archive(archive.digest()), None);
        cache.keep(&archive).unwrap();
        assert_eq!(cache.archive(archive.digest()), Some(archive));
    }

    #[test]
    fn a_damaged_archive_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = open(&folder, 1 << 20);
        let archive = verified(b"chart");
        cache.keep(&archive).unwrap();
        let path = cache.archive_path(archive.digest());
        std::fs::write(&path, b"chrat").unwrap();
        assert_eq!(cache.archive(archive.digest()), None);
        assert!(!path.exists());
    }

    #[test]
    fn the_longest_unused_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let cache = open(&folder, 10);
        let [a, b, c] = [b"aaaa", b"bbbb", b"cccc"].map(|content| verified(content));
        let age = |archive: &Verified, seconds| {
            let file = std::fs::File::options()
                .write(true)
                .open(cache.archive_path(archive.digest()))
                .unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(seconds))
                .unwrap();
        };
        cache.keep(&a).unwrap();
        age(&a, 20);
        cache.keep(&b).unwrap();
        age(&b, 30);
        cache.keep(&c).unwrap();
        assert_eq!(cache.archive(b.digest()), None);
        assert!(cache.archive(a.digest()).is_some());
        assert!(cache.archive(c.digest()).is_some());
    }

    #[test]
    fn versions_grow_stale() {
        let folder = tempfile::tempdir().unwrap();
        let cache = open(&folder, 10);
        let digest = Digest::of(b"x");
        let hour = Duration::from_hours(1);
        assert_eq!(cache.version("r", "n", "1", hour), Freshness::Missing);
        cache.remember_version("r", "n", "1", &digest).unwrap();
        assert_eq!(
            cache.version("r", "n", "1", hour),
            Freshness::Fresh(digest.clone())
        );
        assert_eq!(
            cache.version("r", "n", "1", Duration::ZERO),
            Freshness::Stale(digest)
        );
        assert_eq!(cache.version("r", "n", "2", hour), Freshness::Missing);
    }

    #[test]
    fn a_damaged_index_is_not_given_out() {
        let folder = tempfile::tempdir().unwrap();
        let cache = open(&folder, 10);
        let validators = Validators {
            etag: Some("\"1\"".into()),
            last_modified: None,
        };
        let text = verified(b"apiVersion: v1\n");
        cache
            .keep_index("https://h/index.yaml", &validators, &text)
            .unwrap();
        let (kept, content) = cache.index("https://h/index.yaml").unwrap();
        assert_eq!((kept, &content), (validators, text.bytes()));
        std::fs::write(
            cache.index_paths("https://h/index.yaml").0,
            b"apiVersion: v2\n",
        )
        .unwrap();
        assert!(cache.index("https://h/index.yaml").is_none());
    }
}
