//! `cargo xtask vectors DIR`: files of vectors from anywhere, through the runners in the crates' tests.
//!
//! The runners are the tests themselves. Told of a folder, they take their cases from its files and write down what
//! each came to (`vectors/src/lib.rs` has names and format); this command runs them, prints the table by group, and
//! names the files that no runner takes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::run::{Failure, Result, cargo, file, run};

/// The crates with runners.
const CRATES: &[&str] = &[
    "kubepkg-charts",
    "kubepkg-helm",
    "kubepkg-patch",
    "kubepkg-resolve",
    "kubepkg-sandbox",
    "kubepkg-source",
    "kubepkg-yaml",
];
/// The modules of the tests that run vectors.
const RUNNERS: &[&str] = &[
    "apply::ownership::",
    "cli::",
    "crd::cel::",
    "crd_validity::",
    "crd_vectors::",
    "lock::",
    "misc::",
    "package::",
    "patch_vectors::",
    "readiness::",
    "release::codec::",
    "schema::",
    "ssa_vectors::",
    "templates::",
    "vectors::",
];
/// Failures that are printed.
const FAILURES_SHOWN: usize = 20;

#[derive(Default)]
struct Counts {
    met: usize,
    excepted: usize,
    failed: usize,
}

/// Runs the vectors below a folder; an error when a case fails or a file has no runner.
pub(crate) fn check(folder: &Path) -> Result<()> {
    let folder = std::path::absolute(folder).map_err(file("find", folder))?;
    let files = files(&folder)?;
    let scratch = tempfile::tempdir().map_err(file("make a folder in", &std::env::temp_dir()))?;
    let results = scratch.path().join("results");
    let mut tests = cargo();
    tests
        .arg("test")
        .arg("--quiet")
        .args(["--lib", "--test", "it"]);
    for name in CRATES {
        tests.args(["--package", name]);
    }
    tests
        .arg("--")
        .args(RUNNERS)
        .env("KUBEPKG_VECTORS", &folder)
        .env("KUBEPKG_VECTORS_RESULTS", &results);
    run(&mut tests, "")?;
    let text = std::fs::read_to_string(&results).unwrap_or_default();
    let (table, failed) = summary(&text, &files);
    println!("{table}");
    match failed {
        0 => Ok(()),
        some => Err(Failure::Message(format!(
            "{some} cases or files are not met"
        ))),
    }
}

/// The table, and how many cases and files are not met.
fn summary(results: &str, files: &[String]) -> (String, usize) {
    let mut groups: BTreeMap<(&str, &str), Counts> = BTreeMap::new();
    let (mut ran, mut failures) = (BTreeSet::new(), Vec::new());
    for line in results.lines() {
        let mut cells = line.split('\t');
        let mut cell = || cells.next().unwrap_or_default();
        let (name, file, group, id, word, why) = (cell(), cell(), cell(), cell(), cell(), cell());
        ran.insert(file);
        let counts = groups.entry((name, group)).or_default();
        match word {
            "met" => counts.met += 1,
            "excepted" => counts.excepted += 1,
            _ => {
                counts.failed += 1;
                failures.push(format!("{file}: {id}: {why}"));
            }
        }
    }
    let mut text = String::new();
    for failure in failures.iter().take(FAILURES_SHOWN) {
        let _ = writeln!(text, "{failure}\n");
    }
    text.push_str(
        "| file | group | cases | met | excepted | failed |\n|---|---|--:|--:|--:|--:|\n",
    );
    let mut row = |name: &str, group: &str, counts: &Counts| {
        let Counts {
            met,
            excepted,
            failed,
        } = counts;
        let all = met + excepted + failed;
        let _ = writeln!(
            text,
            "| {name} | {group} | {all} | {met} | {excepted} | {failed} |"
        );
    };
    let mut all = Counts::default();
    for ((name, group), counts) in &groups {
        row(name, group, counts);
        all.met += counts.met;
        all.excepted += counts.excepted;
        all.failed += counts.failed;
    }
    row("all", "", &all);
    let missed = files.iter().filter(|file| !ran.contains(file.as_str()));
    let missed: Vec<&String> = missed.collect();
    for file in &missed {
        let _ = writeln!(text, "\nno runner takes {file}");
    }
    (text, all.failed + missed.len())
}

/// The files of vectors below a folder, by their path in it.
fn files(folder: &Path) -> Result<Vec<String>> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(&at).map_err(file("read", &at))?.flatten() {
            let path: PathBuf = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if is_vectors(&path) {
                let short = path.strip_prefix(folder).unwrap_or(&path);
                found.push(short.to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_vectors(path: &Path) -> bool {
    let unpacked = path.with_extension("");
    let ending = match path.extension() {
        Some(gz) if gz == "gz" => unpacked.extension(),
        ending => ending,
    };
    ending.is_some_and(|ending| ending == "jsonl")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_and_files_without_a_runner_count() {
        let results = "x\td/x.jsonl\tg\t1\tmet\t\nx\td/x.jsonl\tg\t2\tfailed\twhy\nx\td/x.jsonl\tg\t3\texcepted\tso\n";
        let (text, failed) = summary(results, &["d/x.jsonl".into(), "d/y.jsonl".into()]);
        assert_eq!(failed, 2);
        assert!(text.contains("| x | g | 3 | 1 | 1 | 1 |"), "{text}");
        assert!(text.contains("d/x.jsonl: 2: why"), "{text}");
        assert!(text.contains("no runner takes d/y.jsonl"), "{text}");
    }

    #[test]
    fn vectors_are_plain_or_packed() {
        for (name, yes) in [
            ("a.jsonl", true),
            ("a.jsonl.gz", true),
            ("a.gz", false),
            ("a.json", false),
        ] {
            assert_eq!(is_vectors(Path::new(name)), yes, "{name}");
        }
    }
}
