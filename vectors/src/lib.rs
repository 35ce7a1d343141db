//! Runs files of vectors: what the programs of the field answered, one case a line.
//!
//! A test of a crate names a file and gives the copy that the crate keeps, the crate's list of exceptions, and a
//! check. A case that can't be met is in the list (`FILE/ID<TAB>reason`); one that is listed and passes fails the
//! run, so that the list can only shrink, and so does a listed case that is not there.
//!
//! With `KUBEPKG_VECTORS=DIR` (`cargo xtask vectors DIR`) the cases come from the files below that folder instead:
//! from `helm/chart.jsonl`, `helm/chart-more.jsonl.gz` or `helm-chart.jsonl.gz` for the name `helm-chart`. What each
//! case came to is then appended to the file in `KUBEPKG_VECTORS_RESULTS`, and nothing fails here.
#![deny(missing_docs)]
#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "this is code of tests, used by nothing else"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use flate2::read::MultiGzDecoder;
use serde_json::{Value, json};

/// The folder whose files are run instead of a crate's own.
pub const FOLDER_VARIABLE: &str = "KUBEPKG_VECTORS";
/// The file that the results of such a run are appended to, one a line: name, file, group, id, `met`, `excepted` or
/// `failed`, and why, parted by tabs.
pub const RESULTS_VARIABLE: &str = "KUBEPKG_VECTORS_RESULTS";

/// A file of vectors, as a crate keeps it.
#[derive(Debug, Clone, Copy)]
pub struct Vectors<'t> {
    /// Its name: the folder that it comes from, a hyphen, the file.
    pub name: &'t str,
    /// The crate's copy: one JSON object a line, compressed with gzip.
    pub packed: &'t [u8],
    /// The crate's list of exceptions.
    pub exceptions: &'t str,
}

#[derive(Default)]
struct Counts {
    all: usize,
    met: usize,
    excepted: usize,
}

impl Vectors<'_> {
    /// The cases of the crate's copy.
    ///
    /// # Panics
    /// When it is damaged.
    pub fn rows(&self) -> Vec<Value> {
        rows(self.packed)
    }

    /// Runs every case through `check` and prints the counts by group.
    ///
    /// The variable `VECTOR` narrows the run to the ids that contain its text.
    ///
    /// # Panics
    /// On what is neither met nor excepted, and on exceptions that pass or name no case.
    pub fn run(&self, check: impl Fn(&Value) -> Result<(), String>) {
        match std::env::var_os(FOLDER_VARIABLE) {
            None => self.run_own(check),
            Some(folder) => self.run_folder(Path::new(&folder), check),
        }
    }

    fn run_own(&self, check: impl Fn(&Value) -> Result<(), String>) {
        let exceptions = self.exceptions();
        let only = std::env::var("VECTOR").unwrap_or_default();
        let mut unknown: BTreeSet<&String> = exceptions.keys().collect();
        let (mut groups, mut failures) = (BTreeMap::<String, Counts>::new(), Vec::new());
        for case in self.rows() {
            let id = id(&case);
            unknown.remove(&id);
            if !id.contains(&only) {
                continue;
            }
            let counts = groups.entry(group(&case)).or_default();
            counts.all += 1;
            match (check(&case), exceptions.contains_key(&id)) {
                (Ok(()), false) => counts.met += 1,
                (Ok(()), true) => {
                    failures.push(format!("{id}: passes, take it off the list of exceptions"));
                }
                (Err(_), true) => counts.excepted += 1,
                (Err(why), false) => failures.push(format!("{id}: {why}")),
            }
        }
        println!("{}", table(self.name, &groups));
        assert!(
            unknown.is_empty(),
            "{}: no such cases: {unknown:?}",
            self.name
        );
        assert!(
            failures.is_empty(),
            "{} cases of {} are not met:\n{}",
            failures.len(),
            self.name,
            failures
                .iter()
                .take(25)
                .cloned()
                .collect::<Vec<_>>()
                .join("\n\n")
        );
    }

    fn run_folder(&self, folder: &Path, check: impl Fn(&Value) -> Result<(), String>) {
        let exceptions = self.exceptions();
        let mut results = String::new();
        for path in files(folder) {
            if !is_for(self.name, &path) {
                continue;
            }
            let text = std::fs::read(&path).expect("a file of vectors");
            for case in cases(&text) {
                // One that can't be read, such as a number that JSON has no word for, is one that is not met.
                let case = case.unwrap_or_else(|why| json!({"id": "?", "why": why}));
                let id = id(&case);
                // A case that brings the code down is one that is not met.
                let outcome = match case["why"].as_str() {
                    Some(why) if id == "?" => Err(why.to_owned()),
                    _ => catch_unwind(AssertUnwindSafe(|| check(&case)))
                        .unwrap_or_else(|_| Err("panicked".into())),
                };
                let (word, why) = match outcome {
                    Ok(()) => ("met", String::new()),
                    Err(why) if exceptions.contains_key(&id) => ("excepted", why),
                    Err(why) => ("failed", why),
                };
                let file = path.strip_prefix(folder).unwrap_or(&path).display();
                let why = why.replace(['\t', '\n', '\r'], " ");
                let _ = writeln!(
                    results,
                    "{}\t{file}\t{}\t{id}\t{word}\t{why}",
                    self.name,
                    group(&case)
                );
            }
        }
        match std::env::var_os(RESULTS_VARIABLE) {
            None => print!("{results}"),
            Some(path) => {
                let file = std::fs::OpenOptions::new()
                    .append(true)
                    .create(true)
                    .open(path);
                // One write a run: several test binaries may append.
                file.and_then(|mut file| file.write_all(results.as_bytes()))
                    .expect("the file of results");
            }
        }
    }

    fn exceptions(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for line in self
            .exceptions
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            let (id, reason) = line.split_once('\t').expect("id, tab, reason");
            assert!(!reason.is_empty(), "{id} has no reason");
            if let Some(id) = id
                .strip_prefix(self.name)
                .and_then(|id| id.strip_prefix('/'))
            {
                found.insert(id.to_owned(), reason.to_owned());
            }
        }
        found
    }
}

/// Bytes of a case's field, given plainly, or in base64 under the name with `_b64`.
///
/// # Panics
/// When the base64 is damaged.
pub fn bytes(case: &Value, field: &str) -> Option<Vec<u8>> {
    if let Some(plain) = case.get(field).and_then(Value::as_str) {
        return Some(plain.as_bytes().to_vec());
    }
    let encoded = case.get(format!("{field}_b64")).and_then(Value::as_str)?;
    Some(
        base64::engine::general_purpose::STANDARD
            .decode(encoded)
            .expect("base64"),
    )
}

fn id(case: &Value) -> String {
    case["id"].as_str().expect("a case has an id").to_owned()
}

/// The first two parts of a dotted id, else the case's group.
fn group(case: &Value) -> String {
    match (
        case["kind"].as_str(),
        case["id"].as_str().and_then(|id| id.split_once('.')),
    ) {
        (Some(_), Some((head, tail))) => {
            format!("{head}.{}", tail.split('.').next().unwrap_or(tail))
        }
        _ => case["group"].as_str().unwrap_or_default().to_owned(),
    }
}

fn rows(bytes: &[u8]) -> Vec<Value> {
    let cases = cases(bytes).into_iter();
    cases.map(|case| case.expect("a case is JSON")).collect()
}

fn cases(bytes: &[u8]) -> Vec<Result<Value, String>> {
    let mut text = String::new();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        MultiGzDecoder::new(bytes)
            .read_to_string(&mut text)
            .expect("gzip of UTF-8");
    } else {
        text = String::from_utf8(bytes.to_vec()).expect("UTF-8");
    }
    let lines = text.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_str(line).map_err(|error| error.to_string()))
        .collect()
}

/// The files of vectors below a folder, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder).expect("a folder of vectors");
    for path in entries.map(|entry| entry.expect("a folder of vectors").path()) {
        if path.is_dir() {
            found.extend(files(&path));
        } else if stem(&path).is_some() {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The name of a file of vectors without its ending; none for another file.
fn stem(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.strip_suffix(".jsonl").map(str::to_owned)
}

/// Whether a file holds cases of this name: the name, with the folder or without, and perhaps more after it.
fn is_for(name: &str, path: &Path) -> bool {
    let stem = stem(path).unwrap_or_default();
    let folder = path
        .parent()
        .and_then(Path::file_name)
        .unwrap_or_default()
        .to_string_lossy();
    let fits = |title: &str| {
        let rest = title.strip_prefix(name);
        rest.is_some_and(|rest| !rest.starts_with(|sign: char| sign.is_ascii_alphanumeric()))
    };
    fits(&format!("{folder}-{stem}")) || fits(&stem)
}

fn table(name: &str, groups: &BTreeMap<String, Counts>) -> String {
    let mut text = format!("\n{name}\n");
    let mut line = |group: &str, counts: &Counts| {
        let excepted = match counts.excepted {
            0 => String::new(),
            some => format!(" ({some} excepted)"),
        };
        let _ = writeln!(
            text,
            "  {group:<32} {:>5} of {:>5}{excepted}",
            counts.met, counts.all
        );
    };
    let mut all = Counts::default();
    for (group, counts) in groups {
        line(group, counts);
        all.all += counts.all;
        all.met += counts.met;
        all.excepted += counts.excepted;
    }
    line("all", &all);
    text
}

/// The chart archive that a case describes: its bytes (`archive`, `archive_b64`), or its `entries`, written with tar
/// and gzip, whatever they are.
///
/// # Panics
/// When the case describes none.
pub fn archive(case: &Value) -> Vec<u8> {
    if let Some(bytes) = bytes(case, "archive") {
        return bytes;
    }
    let mut builder = tar::Builder::new(Vec::new());
    for entry in case["entries"].as_array().expect("entries") {
        let name = bytes(entry, "name").expect("a name");
        let mut body = bytes(entry, "body").unwrap_or_default();
        if let Some(fill) = entry["fill"].as_u64() {
            body = vec![b'x'; usize::try_from(fill).expect("a size")];
        }
        let mut header = tar::Header::new_gnu();
        let kind = match entry["type"].as_str().unwrap_or_default() {
            "dir" => tar::EntryType::Directory,
            "symlink" => tar::EntryType::Symlink,
            "hardlink" => tar::EntryType::Link,
            "fifo" => tar::EntryType::Fifo,
            "char" => tar::EntryType::Char,
            "global" => tar::EntryType::XGlobalHeader,
            _ => tar::EntryType::Regular,
        };
        header.set_entry_type(kind);
        header.set_size(body.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(1_700_000_000);
        if name.len() < 100 {
            // The checked setters refuse hostile names.
            header.as_mut_bytes()[..name.len()].copy_from_slice(&name);
        } else {
            let mut long = tar::Header::new_gnu();
            long.set_entry_type(tar::EntryType::GNULongName);
            long.set_size(name.len() as u64 + 1);
            long.as_mut_bytes()[..13].copy_from_slice(b"././@LongLink");
            long.set_cksum();
            let mut data = name.clone();
            data.push(0);
            builder
                .append(&long, data.as_slice())
                .expect("an archive in memory");
        }
        if let Some(link) = entry["link"].as_str() {
            header.as_mut_bytes()[157..157 + link.len()].copy_from_slice(link.as_bytes());
        }
        header.set_cksum();
        builder
            .append(&header, body.as_slice())
            .expect("an archive in memory");
    }
    let tar = builder.into_inner().expect("an archive in memory");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&tar).expect("an archive in memory");
    gzip.finish().expect("an archive in memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_by_its_folder_and_may_have_more_in_its_name() {
        for path in [
            "d/helm/chart.jsonl",
            "helm/chart-2.jsonl.gz",
            "x/helm-chart.jsonl.gz",
        ] {
            assert!(is_for("helm-chart", Path::new(path)), "{path}");
        }
        for path in ["helm/charts.jsonl", "helm-misc/chart.jsonl", "chart.jsonl"] {
            assert!(!is_for("helm-chart", Path::new(path)), "{path}");
        }
    }

    #[test]
    #[should_panic(expected = "no such cases")]
    fn an_exception_that_names_no_case_fails_the_run() {
        let vectors = Vectors {
            name: "x",
            packed: b"{\"id\":\"a\",\"group\":\"g\"}\n",
            exceptions: "x/b\twhy\n",
        };
        vectors.run_own(|_| Ok(()));
    }

    #[test]
    #[should_panic(expected = "take it off the list")]
    fn an_exception_that_passes_fails_the_run() {
        let vectors = Vectors {
            name: "x",
            packed: b"{\"id\":\"a\",\"group\":\"g\"}\n",
            exceptions: "x/a\twhy\n",
        };
        vectors.run_own(|_| Ok(()));
    }
}
