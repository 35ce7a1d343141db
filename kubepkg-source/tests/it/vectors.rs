//! Vectors made with Helm 4.3.1: how it reads references and indexes, and what it finds in them.
//!
//! Rows of `get` whose version is a constraint are not for this crate, which takes exact versions
//! only; rows of `load` are compared by what is kept: charts and their versions, in order.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;

use kubepkg_source::{Found, Index, OciReference};
use serde_json::Value;

fn rows(name: &str) -> Vec<Value> {
    let path = format!(
        "{}/tests/vectors/{name}.jsonl.gz",
        env!("CARGO_MANIFEST_DIR")
    );
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn exceptions() -> BTreeSet<String> {
    include_str!("../vectors/exceptions.txt")
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split('\t').next().unwrap().to_owned())
        .collect()
}

/// Runs the rows of a group and fails for wrong ones and for exceptions that pass.
fn check(file: &str, group: &str, run: impl Fn(&Value) -> Result<(), String>) {
    let exceptions = exceptions();
    let mut wrong = Vec::new();
    let mut count = 0;
    for row in rows(file).iter().filter(|row| row["group"] == group) {
        count += 1;
        let id = row["id"].as_str().unwrap();
        match (run(row), exceptions.contains(id)) {
            (Err(why), false) => wrong.push(format!("{id}: {why}")),
            (Ok(()), true) => wrong.push(format!("{id}: is listed as an exception, but passes")),
            _ => {}
        }
    }
    assert!(count > 0, "no rows of {group}");
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn same<T: PartialEq + std::fmt::Debug + ?Sized>(ours: &T, theirs: &T) -> Result<(), String> {
    if ours == theirs {
        Ok(())
    } else {
        Err(format!("{ours:?} instead of {theirs:?}"))
    }
}

#[test]
fn references_are_read_as_helm_reads_them() {
    check("oci", "reference", |row| {
        let parsed = OciReference::parse(row["input"].as_str().unwrap());
        match (parsed, row["error"].as_str()) {
            (Err(ours), Some(theirs)) => same(ours.to_string().as_str(), theirs),
            (Ok(ours), None) => {
                let theirs = ["registry", "repository", "tag", "digest", "string"]
                    .map(|key| row[key].as_str().unwrap().to_owned());
                let text = ours.to_string();
                same(
                    &[ours.registry, ours.repository, ours.tag, ours.digest, text],
                    &theirs,
                )
            }
            (ours, theirs) => Err(format!("{ours:?} instead of {theirs:?}")),
        }
    });
}

#[test]
fn indexes_are_read_as_helm_reads_them() {
    check("index", "load", |row| {
        let parsed = Index::parse(row["input"].as_str().unwrap().as_bytes());
        let order = row["result"].get("order");
        match (parsed, order) {
            (Err(_), None) => Ok(()),
            (Ok(ours), Some(theirs)) => {
                let ours: BTreeMap<String, Vec<String>> = ours
                    .entries()
                    .map(|(key, entries)| {
                        (
                            key.to_owned(),
                            entries.map(|entry| entry.version.clone()).collect(),
                        )
                    })
                    .collect();
                same(&ours, &serde_json::from_value(theirs.clone()).unwrap())
            }
            (ours, theirs) => Err(format!("{ours:?} instead of {theirs:?}")),
        }
    });
}

#[test]
fn exact_versions_are_found_as_helm_finds_them() {
    let rows = rows("index");
    let index = rows.iter().find(|row| row["group"] == "get-index").unwrap();
    let index = Index::parse(index["index"].as_str().unwrap().as_bytes()).unwrap();
    check("index", "get", |row| {
        let version = row["version"].as_str().unwrap();
        if kubepkg_resolve::Version::parse_published(version).is_err() {
            return Ok(());
        }
        let ours = match index.find(row["chart"].as_str().unwrap(), version) {
            Found::Entry(entry) => Some(entry.version.as_str()),
            _ => None,
        };
        same(&ours, &row["selected"].as_str())
    });
}
