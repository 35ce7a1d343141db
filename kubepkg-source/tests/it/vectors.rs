//! Vectors made with Helm 4.3.1: how it reads references and indexes, and what it finds in them.
//!
//! Rows of `load` are compared by what is kept: charts and their versions, in order.

use std::collections::BTreeMap;

use kubepkg_source::{Found, Index, OciReference, SelectError, select_version};
use kubepkg_vectors::Vectors;
use serde_json::Value;

const EXCEPTIONS: &str = include_str!("../vectors/exceptions.txt");
const OCI: Vectors<'_> = Vectors {
    name: "helm-misc-oci",
    packed: include_bytes!("../vectors/helm-misc-oci.jsonl.gz"),
    exceptions: EXCEPTIONS,
};
const INDEX: Vectors<'_> = Vectors {
    name: "helm-misc-index",
    packed: include_bytes!("../vectors/helm-misc-index.jsonl.gz"),
    exceptions: EXCEPTIONS,
};

fn same<T: PartialEq + std::fmt::Debug + ?Sized>(ours: &T, theirs: &T) -> Result<(), String> {
    if ours == theirs {
        Ok(())
    } else {
        Err(format!("{ours:?} instead of {theirs:?}"))
    }
}

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap()
}

#[test]
fn references_and_tags_are_read_as_helm_reads_them() {
    OCI.run(|row| match text(row, "group") {
        "reference" => reference(row),
        "tag-match" => tag(row),
        other => Err(format!("unknown group {other}")),
    });
}

fn reference(row: &Value) -> Result<(), String> {
    match (
        OciReference::parse(text(row, "input")),
        row["error"].as_str(),
    ) {
        (Err(ours), Some(theirs)) => same(ours.to_string().as_str(), theirs),
        (Ok(ours), None) => {
            let theirs = ["registry", "repository", "tag", "digest", "string"]
                .map(|key| text(row, key).to_owned());
            let shown = ours.to_string();
            same(
                &[ours.registry, ours.repository, ours.tag, ours.digest, shown],
                &theirs,
            )
        }
        (ours, theirs) => Err(format!("{ours:?} instead of {theirs:?}")),
    }
}

fn tag(row: &Value) -> Result<(), String> {
    let tags = row["tags"].as_array().unwrap();
    let tags: Vec<&str> = tags.iter().map(|tag| tag.as_str().unwrap()).collect();
    match (
        select_version(&tags, text(row, "version")),
        row["error"].as_str(),
    ) {
        (Ok(ours), None) => same(&Some(ours), &row["tag"].as_str()),
        // The words for a bad constraint are the business of another file.
        (Err(SelectError::Constraint(_)), Some(_)) => Ok(()),
        (Err(ours), Some(theirs)) => same(ours.to_string().as_str(), theirs),
        (ours, theirs) => Err(format!("{ours:?} instead of {theirs:?}")),
    }
}

/// Rows of `add` and `merge` are for the crate that writes indexes.
#[test]
fn indexes_are_read_as_helm_reads_them() {
    let rows = INDEX.rows();
    let known = rows.iter().find(|row| row["group"] == "get-index").unwrap();
    let known = Index::parse(text(known, "index").as_bytes()).unwrap();
    INDEX.run(|row| match text(row, "group") {
        "load" => load(row),
        "get" => get(&known, row),
        "get-index" => {
            let index = Index::parse(text(row, "index").as_bytes());
            same(&order(&index.unwrap())?, &theirs(&row["order"]))
        }
        _ => Ok(()),
    });
}

type Order = BTreeMap<String, Vec<String>>;

fn theirs(order: &Value) -> Order {
    serde_json::from_value(order.clone()).unwrap()
}

/// The versions of each chart, in order.
fn order(index: &Index) -> Result<Order, String> {
    let of_chart = |chart: &str| {
        let versions = index.versions(chart).map_err(|error| error.to_string())?;
        let versions = versions.ok_or("the chart vanished")?;
        let versions = versions.map(|entry| entry.version.clone()).collect();
        Ok((chart.to_owned(), versions))
    };
    index.charts().map(of_chart).collect()
}

fn load(row: &Value) -> Result<(), String> {
    let input = text(row, "input").as_bytes();
    let expected = row["result"].get("order").map(theirs);
    let opened = Index::open(bytes::Bytes::copy_from_slice(input));
    for ours in [Index::parse(input), opened] {
        let ours = ours.map_err(|error| error.to_string());
        match (ours.and_then(|index| order(&index)), &expected) {
            (Err(_), None) => {}
            (Ok(ours), Some(expected)) => same(&ours, expected)?,
            (ours, expected) => return Err(format!("{ours:?} instead of {expected:?}")),
        }
    }
    Ok(())
}

fn get(index: &Index, row: &Value) -> Result<(), String> {
    let (chart, wanted) = (text(row, "chart"), text(row, "version"));
    let theirs = row["selected"].as_str();
    let versions = index.versions(chart).map_err(|error| error.to_string())?;
    let versions: Vec<&str> = versions
        .into_iter()
        .flatten()
        .map(|entry| entry.version.as_str())
        .collect();
    same(&select_version(&versions, wanted).ok(), &theirs)?;
    if kubepkg_resolve::Version::parse_published(wanted).is_err() {
        return Ok(());
    }
    match index
        .find(chart, wanted)
        .map_err(|error| error.to_string())?
    {
        Found::Entry(entry) => same(&Some(entry.version.as_str()), &theirs),
        _ => same(&None, &theirs),
    }
}
