//! What a server keeps in a folder: everything it knows, written before it answers.
//!
//! | file | what |
//! |---|---|
//! | `lock` | held by the process whose folder it is |
//! | `state` | all objects as they were at one version, replaced whole |
//! | `log-N` | every change since, a line each, forced to the disk before the request is answered |
//! | `kubeconfig` | how to reach the server that runs now |
//!
//! Every line begins with a digest of itself and of all lines before it, and the log begins with
//! that of the `state` it goes on from ([`line`]): a line that was edited, taken out or put
//! elsewhere is found, and so is a file from another folder. A log may end in the middle of a line,
//! because that is what a crash leaves; nobody was told that this change was made, and it is left
//! out. Everything else that is not as it was written is refused, with the file and the line, and
//! nothing is changed.
//!
//! The controllers' memory is not kept: it follows from the objects.

mod line;
mod read;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::store::{Change, Event};
use super::world::World;
use crate::folder::{self, Lock};
use line::Chain;

/// The form of the files. A change that older programs can't read gets the next number.
const FORM: u32 = 2;
/// A log shorter than this is not worth a new `state`.
const SHORT: u64 = 4 << 20;
/// Names of files that this module knows.
const LOCK: &str = "lock";
const STATE: &str = "state";
const DRAFT: &str = "state.new";
const LOG: &str = "log-";
const KUBECONFIG: &str = "kubeconfig";

/// A folder that can't be used for a server's state. Nothing in it was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// Another process uses the folder.
    #[error("{} is in use by another sandbox", path.display())]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds something, but no state.
    #[error("{} is not a sandbox's folder: it has no file state, but {found}", path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// A file or folder in it.
        found: String,
    },
    /// A file that belongs to the state is not there.
    #[error("{} is missing", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The files were written by another version.
    #[error("{} has form {found}, and this program reads forms 1 to {FORM}", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// The form it says it has.
        found: u64,
    },
    /// A file is not as it was written.
    #[error("{} is damaged at line {line}: {problem}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The line, from 1 on.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// A file is larger than any that is written.
    #[error("{} is larger than {limit} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit.
        limit: u64,
    },
    /// The system refuses.
    #[error("cannot {action} {}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
}

impl StateError {
    fn file(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File {
            action,
            path,
            source,
        }
    }
}

/// What a folder was found to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Found {
    /// Nothing: a new cluster begins.
    Nothing,
    /// A whole state.
    Whole,
    /// A state whose last change was not written whole, as a crash leaves it. That change is left
    /// out; the client that asked for it had no answer.
    Torn {
        /// The log that ended in the middle of a line.
        log: PathBuf,
    },
}

/// The first line of both files.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    /// What the file is.
    is: String,
    form: u64,
    /// The number of the log that goes on from this state.
    #[serde(default)]
    log: u64,
    /// The version of the state.
    version: u64,
}

/// A line of a `state`, as it is written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Kept<'a> {
    Object(&'a str, &'a Value),
    /// An object that was stored in this version, under a definition that has changed since.
    Older(&'a str, &'a str, &'a Value),
    Issued(&'a BTreeMap<String, String>),
    /// The last line: how many objects there are.
    End(usize),
}

/// A line of a log, as it is written.
#[derive(Serialize)]
struct Entry<'a> {
    /// The version after the changes.
    version: u64,
    changes: Vec<Written<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    issued: Option<&'a BTreeMap<String, String>>,
}

/// One change.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Written<'a> {
    Put(&'a str, &'a Value),
    Remove(&'a str, &'a str, &'a str),
}

impl<'a> From<&'a Event> for Written<'a> {
    fn from(event: &'a Event) -> Self {
        if event.change == Change::Deleted {
            Self::Remove(&event.table, &event.key.0, &event.key.1)
        } else {
            Self::Put(&event.table, &event.object)
        }
    }
}

/// The folder of a server.
#[derive(Debug)]
pub(crate) struct Journal {
    folder: PathBuf,
    lock: Arc<Lock>,
    log: File,
    number: u64,
    /// Where the log's chain of digests stands.
    chain: Chain,
    /// The length of the log up to its last whole line.
    length: u64,
    /// The length of the `state`.
    base: u64,
    /// The store's version up to which everything is written.
    version: u64,
    /// How many issued tokens are written.
    issued: usize,
}

impl Journal {
    /// Opens a folder and gives what it holds; a new folder gets what `fresh` makes.
    pub(crate) fn open(
        path: &Path,
        now: Timestamp,
        fresh: impl FnOnce() -> World,
        empty: impl FnOnce() -> World,
    ) -> Result<(Self, World, Found), StateError> {
        folder::make_private(path).map_err(StateError::file("create", path))?;
        let path = fs::canonicalize(path).map_err(StateError::file("resolve", path))?;
        let lock_path = path.join(LOCK);
        if !path.join(STATE).exists() {
            read::refuse_foreign(&path)?;
        }
        let lock = folder::take_lock(&lock_path)
            .map_err(StateError::file("lock", &lock_path))?
            .ok_or_else(|| StateError::InUse { path: path.clone() })?;
        let lock = Arc::new(lock);
        if !path.join(STATE).exists() {
            let world = fresh();
            let journal = Self::begin(path.clone(), lock, 1, &world)
                .map_err(StateError::file("write the state in", path))?;
            return Ok((journal, world, Found::Nothing));
        }
        let mut world = empty();
        let read = read::read(&path, &mut world)?;
        let log_path = path.join(format!("{LOG}{}", read.number));
        let log = OpenOptions::new()
            .append(true)
            .open(&log_path)
            .map_err(StateError::file("open", &log_path))?;
        let found = if read.torn {
            log.set_len(read.length)
                .and_then(|()| log.sync_all())
                .map_err(StateError::file("take the last line from", &log_path))?;
            Found::Torn { log: log_path }
        } else {
            Found::Whole
        };
        world.recall(now);
        let journal = Self {
            folder: path,
            lock,
            log,
            number: read.number,
            chain: read.chain,
            length: read.length,
            base: read.base,
            version: world.store.version(),
            issued: world.issued.len(),
        };
        journal.sweep();
        Ok((journal, world, found))
    }

    /// The folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file of the folder that tells clients how to reach the server.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.join(KUBECONFIG)
    }

    /// Writes what happened since the last call, and has it on the disk when this returns. After
    /// an error the next call tries again.
    pub(crate) fn keep(&mut self, world: &World) -> io::Result<()> {
        let version = world.store.version();
        if version == self.version && world.issued.len() == self.issued {
            return Ok(());
        }
        let events = world.store.all_since(self.version);
        let whole = u64::try_from(events.len()).is_ok_and(|count| count == version - self.version);
        if !whole {
            // More happened at once than the store remembers.
            return self.renew(world);
        }
        let entry = Entry {
            version,
            changes: events.iter().map(Written::from).collect(),
            issued: (world.issued.len() != self.issued).then_some(&world.issued),
        };
        let mut chain = self.chain.clone();
        let text = chain.line(&entry)?;
        if let Err(error) = self
            .log
            .write_all(&text)
            .and_then(|()| self.log.sync_data())
        {
            // What is left of the line must not stand before the next one.
            let _ = self.log.set_len(self.length);
            return Err(error);
        }
        self.chain = chain;
        self.length += length(&text);
        self.version = version;
        self.issued = world.issued.len();
        if self.length > SHORT.max(self.base.saturating_mul(2))
            && let Err(error) = self.renew(world)
        {
            // The long log is as good, only slower to read.
            tracing::warn!(%error, folder = %self.folder.display(), "the state could not be written anew");
        }
        Ok(())
    }

    /// Writes a new `state` and goes on with a new log.
    fn renew(&mut self, world: &World) -> io::Result<()> {
        let lock = Arc::clone(&self.lock);
        *self = Self::begin(self.folder.clone(), lock, self.number + 1, world)?;
        Ok(())
    }

    /// Writes a `state` with an empty log of this number. The state is in force once its draft has
    /// become it, and then its log is there already.
    fn begin(folder: PathBuf, lock: Arc<Lock>, number: u64, world: &World) -> io::Result<Self> {
        let mut chain = Chain::default();
        let mut text = chain.line(&Head {
            is: "state".to_owned(),
            form: u64::from(FORM),
            log: number,
            version: world.store.version(),
        })?;
        let mut objects = 0;
        for table in world.store.tables() {
            for (object, written) in world.store.as_written(&table) {
                let kept = match written {
                    Some(older) => Kept::Older(&table, &older.version, &older.object),
                    None => Kept::Object(&table, object),
                };
                text.extend(chain.line(&kept)?);
                objects += 1;
            }
        }
        text.extend(chain.line(&Kept::Issued(&world.issued))?);
        text.extend(chain.line(&Kept::End(objects))?);

        let head = chain.line(&Head {
            is: "log".to_owned(),
            form: u64::from(FORM),
            log: number,
            version: world.store.version(),
        })?;
        let mut log = folder::create_private(&folder.join(format!("{LOG}{number}")))?;
        log.write_all(&head)?;
        log.sync_all()?;
        let draft = folder.join(DRAFT);
        let mut file = folder::create_private(&draft)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&draft, folder.join(STATE))?;
        File::open(&folder)?.sync_all()?;
        let journal = Self {
            folder,
            lock,
            log,
            number,
            chain,
            length: length(&head),
            base: length(&text),
            version: world.store.version(),
            issued: world.issued.len(),
        };
        journal.sweep();
        Ok(journal)
    }

    /// Removes logs that no state goes on with. What can't be removed does no harm.
    fn sweep(&self) {
        for (number, path) in read::logs(&self.folder) {
            if number != self.number {
                let _ = fs::remove_file(path);
            }
        }
    }
}

fn length(text: &[u8]) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
