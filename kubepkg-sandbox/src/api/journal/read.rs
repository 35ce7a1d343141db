//! Reading a folder back. Nothing here writes.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::line::{Chain, Lines, Trouble};
use super::{DRAFT, FORM, Head, KUBECONFIG, LOCK, LOG, STATE, StateError};
use crate::api::crds;
use crate::api::object;
use crate::api::world::World;

/// The largest file that is read.
const LIMIT: u64 = 1 << 30;

/// A line of a `state`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Kept {
    Object(String, Value),
    Older(String, String, Value),
    Issued(BTreeMap<String, String>),
    End(usize),
}

/// A line of a log.
#[derive(Deserialize)]
struct Entry {
    version: u64,
    changes: Vec<Change>,
    issued: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Change {
    Put(String, Value),
    Remove(String, String, String),
}

/// Where the files of a folder end.
pub(super) struct Read {
    /// The number of the log.
    pub(super) number: u64,
    /// Where the log's chain stands.
    pub(super) chain: Chain,
    /// The length of the log up to its last whole line.
    pub(super) length: u64,
    /// The length of the `state`.
    pub(super) base: u64,
    /// Whether more than that stands in the log.
    pub(super) torn: bool,
}

/// The logs of a folder with their numbers.
pub(super) fn logs(folder: &Path) -> Vec<(u64, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let numbered = entries.filter_map(|entry| {
        let name = entry.file_name();
        let number = name.to_str()?.strip_prefix(LOG)?.parse().ok()?;
        Some((number, entry.path()))
    });
    numbered.collect()
}

/// Refuses a folder without a `state` in which there is anything that a first start, even one that
/// was killed, does not leave.
pub(super) fn refuse_foreign(folder: &Path) -> Result<(), StateError> {
    let first = format!("{LOG}1");
    let entries = fs::read_dir(folder).map_err(StateError::file("read", folder))?;
    for entry in entries {
        let entry = entry.map_err(StateError::file("read", folder))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if [LOCK, DRAFT, KUBECONFIG].contains(&name.as_str()) {
            continue;
        }
        // A log that has changes behind its head goes on from a state that was there.
        let text = if name.starts_with(LOG) {
            bytes(&entry.path())?
        } else {
            Vec::new()
        };
        if name == first && text.split(|byte| *byte == b'\n').nth(2).is_none() {
            continue;
        }
        if name.starts_with(LOG) {
            let path = folder.join(STATE);
            return Err(StateError::Missing { path });
        }
        return Err(StateError::Foreign {
            path: folder.to_owned(),
            found: name,
        });
    }
    Ok(())
}

/// Fills an empty world with what a folder holds.
pub(super) fn read(folder: &Path, world: &mut World) -> Result<Read, StateError> {
    let path = folder.join(STATE);
    let text = bytes(&path)?;
    let mut lines = Lines::new(&text, Chain::default());
    let head = head(&path, &mut lines, "state")?;
    let mut objects = 0;
    loop {
        match take(&path, &mut lines)? {
            Kept::Object(table, object) => {
                check(&object).map_err(|problem| damaged(&path, lines.number, problem))?;
                world.store.restore(&table.into(), object);
                objects += 1;
            }
            Kept::Older(table, version, object) => {
                check(&object).map_err(|problem| damaged(&path, lines.number, problem))?;
                let store = &mut world.store;
                store.restore_written(&table.into(), version.into(), object);
                objects += 1;
            }
            Kept::Issued(issued) => world.issued = issued,
            Kept::End(count) if count == objects && lines.left() == 0 => break,
            Kept::End(_) => {
                let problem = "something stands behind the end".to_owned();
                return Err(damaged(&path, lines.number, problem));
            }
        }
    }
    world.store.restore_version(head.version);
    crds::serve(world);
    let number = head.log;
    let base = super::length(&text);
    let log = folder.join(format!("{LOG}{number}"));
    if !log.exists() {
        return Err(StateError::Missing { path: log });
    }
    let (chain, length, torn) = replay(&log, lines.chain, world)?;
    Ok(Read {
        number,
        chain,
        length,
        base,
        torn,
    })
}

/// Applies the changes of a log. Gives where its chain stands, the length of its whole lines, and
/// whether it ends in the middle of another one.
fn replay(path: &Path, chain: Chain, world: &mut World) -> Result<(Chain, u64, bool), StateError> {
    let text = bytes(path)?;
    let mut lines = Lines::new(&text, chain);
    head(path, &mut lines, "log")?;
    let mut torn = false;
    while let Some(next) = lines.next::<Entry>() {
        let entry = match next {
            Ok(entry) => entry,
            Err(Trouble::Torn) => {
                torn = true;
                break;
            }
            Err(Trouble::Bad(problem)) => return Err(damaged(path, lines.number, problem)),
        };
        for change in entry.changes {
            let table = match change {
                Change::Put(table, object) => {
                    check(&object).map_err(|problem| damaged(path, lines.number, problem))?;
                    let table = table.into();
                    world.store.restore(&table, object);
                    table
                }
                Change::Remove(table, namespace, name) => {
                    world.store.discard(&table, &(namespace, name));
                    table.into()
                }
            };
            // How objects show follows from what was defined when they were written.
            if &*table == crds::TABLE {
                crds::serve(world);
            }
        }
        world.issued = entry.issued.unwrap_or(std::mem::take(&mut world.issued));
        world.store.restore_version(entry.version);
    }
    let whole = text.len() - lines.left();
    Ok((lines.chain, super::length(&text[..whole]), torn))
}

/// Reads a file, if it is not larger than any that is written.
fn bytes(path: &Path) -> Result<Vec<u8>, StateError> {
    let mut text = Vec::new();
    File::open(path)
        .and_then(|file| file.take(LIMIT + 1).read_to_end(&mut text))
        .map_err(StateError::file("read", path))?;
    if super::length(&text) > LIMIT {
        return Err(StateError::TooLarge {
            path: path.to_owned(),
            limit: LIMIT,
        });
    }
    Ok(text)
}

fn damaged(path: &Path, line: usize, problem: String) -> StateError {
    StateError::Damaged {
        path: path.to_owned(),
        line,
        problem,
    }
}

/// The next line of a file that must have one.
fn take<T: serde::de::DeserializeOwned>(
    path: &Path,
    lines: &mut Lines<'_>,
) -> Result<T, StateError> {
    match lines.next() {
        Some(Ok(value)) => Ok(value),
        Some(Err(Trouble::Bad(problem))) => Err(damaged(path, lines.number, problem)),
        Some(Err(Trouble::Torn)) => Err(damaged(
            path,
            lines.number,
            "the file ends in it".to_owned(),
        )),
        None => {
            let problem = "the file ends before it".to_owned();
            Err(damaged(path, lines.number + 1, problem))
        }
    }
}

/// The first line of a file. Its form is looked at before its digest, which may be another one's.
fn head(path: &Path, lines: &mut Lines<'_>, is: &str) -> Result<Head, StateError> {
    let form = lines.form();
    if let Some(found) = form.filter(|form| !(1..=u64::from(FORM)).contains(form)) {
        return Err(StateError::Form {
            path: path.to_owned(),
            found,
        });
    }
    let head: Head = take(path, lines)?;
    if head.is == is {
        Ok(head)
    } else {
        let problem = format!("it is the first line of a {}, not of a {is}", head.is);
        Err(damaged(path, 1, problem))
    }
}

/// What every object has.
fn check(object: &Value) -> Result<(), String> {
    for field in ["name", "uid", "resourceVersion"] {
        if object::meta(object, field).is_empty() {
            return Err(format!("an object without metadata.{field}"));
        }
    }
    Ok(())
}
