//! Vectors made with Helm 4.3.1: indexes as they are loaded, added to and merged, archives as they are unpacked, and
//! provenance files.

use kubepkg_charts::{IndexFile, Message, unpack};
use kubepkg_helm::{ChartLimits, Metadata};
use kubepkg_vectors::Vectors;
use serde_json::{Value, json};

use crate::helm::names;

const EXCEPTIONS: &str = include_str!("../vectors/exceptions.txt");
const INDEX: Vectors<'_> = Vectors {
    name: "helm-misc-index",
    packed: include_bytes!("../vectors/helm-misc-index.jsonl.gz"),
    exceptions: EXCEPTIONS,
};
const PROVENANCE: Vectors<'_> = Vectors {
    name: "helm-misc-provenance",
    packed: include_bytes!("../vectors/helm-misc-provenance.jsonl.gz"),
    exceptions: EXCEPTIONS,
};
/// Rows that tell what loading an archive comes to; what unpacking it comes to stands beside that.
const UNPACK: Vectors<'_> = Vectors {
    name: "oci-tar-load",
    packed: include_bytes!("../../../kubepkg-helm/tests/vectors/oci-tar-load.jsonl.gz"),
    exceptions: EXCEPTIONS,
};

fn text<'a>(row: &'a Value, key: &str) -> &'a str {
    row[key].as_str().unwrap_or_default()
}

fn same<T: PartialEq + std::fmt::Debug>(ours: &T, theirs: &T) -> Result<(), String> {
    if ours == theirs {
        Ok(())
    } else {
        Err(format!("{ours:?} instead of {theirs:?}"))
    }
}

/// Rows of `get` are for the crate that fetches.
#[test]
fn indexes_are_kept_as_helm_keeps_them() {
    INDEX.run(|row| match text(row, "group") {
        "load" => load(row),
        "add" => add(row),
        "merge" => merge(row),
        _ => Ok(()),
    });
}

fn load(row: &Value) -> Result<(), String> {
    let ours = IndexFile::parse(text(row, "input").as_bytes());
    match (ours, row["result"].get("index")) {
        (Err(_), None) => Ok(()),
        (Ok(ours), Some(theirs)) => same(&serde_json::to_value(&ours).unwrap(), theirs),
        (ours, theirs) => Err(format!("{ours:?} instead of {theirs:?}")),
    }
}

fn add(row: &Value) -> Result<(), String> {
    let metadata = Metadata::from_yaml(text(row, "metadata").as_bytes()).unwrap();
    let mut index = IndexFile::new("2026-01-01T00:00:00Z");
    let name = metadata.name.clone();
    let (file, base) = (text(row, "filename"), text(row, "base_url"));
    let added = index.add(metadata, file, base, "", "2026-01-01T00:00:00Z");
    match (added, row["error"].as_str()) {
        (Ok(()), None) => {
            let index = serde_json::to_value(&index).unwrap();
            let entry = &index["entries"][&name][0];
            same(&entry["urls"], &row["urls"])?;
            same(&entry["apiVersion"], &row["api_version"])
        }
        (Err(ours), Some(theirs)) => {
            let cause = std::error::Error::source(&ours).map(ToString::to_string);
            same(
                &format!("{ours}: {}", cause.unwrap_or_default()),
                &theirs.to_owned(),
            )
        }
        (ours, theirs) => Err(format!("{ours:?} instead of {theirs:?}")),
    }
}

fn order(index: &IndexFile) -> Value {
    let index = serde_json::to_value(index).unwrap();
    let versions = |list: &Value| -> Vec<Value> {
        let list = list.as_array().into_iter().flatten();
        list.map(|entry| entry["version"].clone()).collect()
    };
    let entries = index["entries"].as_object().unwrap();
    entries
        .iter()
        .map(|(name, list)| (name.clone(), json!(versions(list))))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn merge(row: &Value) -> Result<(), String> {
    let mut index = IndexFile::parse(text(row, "into").as_bytes()).unwrap();
    index.merge(IndexFile::parse(text(row, "from").as_bytes()).unwrap());
    same(&order(&index), &row["order"])?;
    index.sort();
    same(&order(&index), &row["order_after_sort"])
}

#[test]
fn archives_become_the_folders_that_helm_makes_of_them() {
    UNPACK.run(|row| {
        if row["expanded"].is_null() && row["expand_error"].is_null() {
            return Ok(());
        }
        let folder = tempfile::tempdir().unwrap();
        let max = row["max_decompressed_chart_size"].as_u64();
        let limits = ChartLimits {
            max_bytes: max.unwrap_or(100 << 20),
            ..ChartLimits::default()
        };
        let unpacked = unpack(&kubepkg_vectors::archive(row), folder.path(), &limits);
        let found = names(folder.path());
        match (unpacked, row["expand_error"].as_str()) {
            (Ok(_), None) => same(&json!(found), &row["expanded"]),
            (Err(ours), Some(theirs)) => {
                same(&found, &Vec::new())?;
                same(&ours.to_string(), &theirs.to_owned())
            }
            (ours, theirs) => Err(format!("{ours:?} instead of {theirs:?}")),
        }
    });
}

#[test]
fn provenance_files_are_read_as_helm_reads_them() {
    PROVENANCE.run(|row| match text(row, "group") {
        "message-block" => message(row),
        #[cfg(feature = "provenance")]
        "verify" => verify(row),
        #[cfg(not(feature = "provenance"))]
        "verify" => Ok(()),
        other => Err(format!("unknown group {other}")),
    });
}

fn message(row: &Value) -> Result<(), String> {
    let ours = Message::parse(text(row, "input").as_bytes());
    match (ours, row["error"].as_str()) {
        (Ok(ours), None) => {
            let parsed = |key: &str| serde_json::from_str::<Value>(text(row, key)).unwrap();
            same(
                &serde_json::to_value(&ours.metadata).unwrap(),
                &parsed("metadata"),
            )?;
            same(&serde_json::to_value(&ours.sums).unwrap(), &parsed("sums"))
        }
        // The words for broken YAML are the business of other files.
        (Err(ours), Some(theirs)) if !theirs.starts_with("error ") => {
            same(&ours.to_string(), &theirs.to_owned())
        }
        (Err(_), Some(_)) => Ok(()),
        (ours, theirs) => Err(format!("{ours:?} instead of {theirs:?}")),
    }
}

#[cfg(feature = "provenance")]
fn verify(row: &Value) -> Result<(), String> {
    use kubepkg_charts::{Keyring, ProvenanceError};
    let ring = Keyring::parse(text(row, "public_key").as_bytes()).map_err(|e| e.to_string())?;
    // The keys of the vectors were made for 2027 and last for ever.
    let now = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_900_000_000);
    let archive = text(row, "archive").as_bytes();
    let ours = ring.check(
        text(row, "prov").as_bytes(),
        archive,
        text(row, "filename"),
        now,
    );
    match (ours, row["error"].as_str()) {
        (Ok(ours), None) => {
            same(&ours.digest.as_str(), &text(row, "hash"))?;
            same(&json!(ours.names), &row["signed_by"])?;
            same(&ours.fingerprint.as_str(), &text(row, "fingerprint"))
        }
        (Err(ProvenanceError::UnknownSigner { .. }), Some(theirs)) => {
            same(&theirs, &"openpgp: signature made by unknown entity")
        }
        (Err(ProvenanceError::Invalid { .. }), Some(theirs)) => {
            same(&theirs.starts_with("openpgp: invalid signature"), &true)
        }
        (Err(ours), Some(theirs)) => same(&ours.to_string(), &theirs.to_owned()),
        (ours, theirs) => Err(format!("{ours:?} instead of {theirs:?}")),
    }
}
