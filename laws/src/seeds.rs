//! Inputs to start from: what the vectors in the crates' tests are about.

use kubepkg_vectors::{Vectors, bytes};
use serde_json::Value;

use crate::parts::{join, named};

macro_rules! rows {
    ($($path:literal),+ $(,)?) => {{
        let mut rows = Vec::new();
        $(rows.extend(read(include_bytes!(concat!("../../", $path, ".jsonl.gz"))));)+
        rows
    }};
}

fn read(packed: &[u8]) -> Vec<Value> {
    let vectors = Vectors {
        name: "seeds",
        packed,
        exceptions: "",
    };
    vectors.rows()
}

/// The largest seed. Long ones make a fuzzer slow, and are tests of limits elsewhere.
const MOST_BYTES: usize = 4_096;

/// Small ones, each once.
fn distinct(seeds: impl IntoIterator<Item = Vec<u8>>) -> Vec<Vec<u8>> {
    let mut seeds: Vec<_> = seeds.into_iter().collect();
    seeds.retain(|seed| seed.len() <= MOST_BYTES);
    seeds.sort();
    seeds.dedup();
    seeds
}

fn text<'a>(row: &'a Value, field: &str) -> &'a str {
    row[field].as_str().unwrap_or_default()
}

pub(crate) fn yaml() -> Vec<Vec<u8>> {
    let rows = rows![
        "kubepkg-yaml/tests/vectors/emit",
        "kubepkg-yaml/tests/vectors/generated",
        "kubepkg-yaml/tests/vectors/load-block",
        "kubepkg-yaml/tests/vectors/load-forms",
        "kubepkg-yaml/tests/vectors/load-limits",
        "kubepkg-yaml/tests/vectors/load-scalars",
        "kubepkg-yaml/tests/vectors/load-tags",
        "kubepkg-yaml/tests/vectors/values",
    ];
    distinct(rows.iter().filter_map(|row| bytes(row, "input")))
}

pub(crate) fn template() -> Vec<Vec<u8>> {
    let rows = rows![
        "kubepkg-gotemplate/tests/vectors/fmt",
        "kubepkg-gotemplate/tests/vectors/helm",
        "kubepkg-gotemplate/tests/vectors/lang",
        "kubepkg-gotemplate/tests/vectors/sprig",
    ];
    distinct(rows.iter().filter_map(|row| {
        let template = bytes(row, "template")?;
        Some(join([&template, text(row, "values").as_bytes()]))
    }))
}

/// Any bytes are a template of the grammar: those of other seeds are as good as any.
pub(crate) fn grammar() -> Vec<Vec<u8>> {
    let rows = rows!["kubepkg-gotemplate/tests/vectors/lang"];
    distinct(
        rows.iter()
            .step_by(8)
            .filter_map(|row| bytes(row, "template")),
    )
}

/// Tars that are not compressed.
pub(crate) fn archive() -> Vec<Vec<u8>> {
    let rows = rows!["kubepkg-helm/tests/vectors/oci-tar-load"];
    let mut seeds: Vec<Vec<u8>> = rows
        .iter()
        .filter_map(|row| bytes(row, "archive"))
        .collect();
    for row in &rows {
        let mut builder = tar::Builder::new(Vec::new());
        for entry in row["entries"].as_array().into_iter().flatten() {
            let body = text(entry, "body").as_bytes();
            let mut header = tar::Header::new_gnu();
            header.set_size(body.len() as u64);
            header.set_mode(0o644);
            // Names that the writer refuses are what a fuzzer finds by itself.
            let _ = builder.append_data(&mut header, text(entry, "name"), body);
        }
        seeds.extend(builder.into_inner());
    }
    distinct(seeds)
}

pub(crate) fn chart() -> Vec<Vec<u8>> {
    let rows = rows![
        "kubepkg-helm/tests/vectors/helm-chart",
        "kubepkg-helm/tests/vectors/helm-helm",
        "kubepkg-helm/tests/vectors/helm-misc-dependencies",
    ];
    distinct(rows.iter().filter_map(|row| {
        let files = row["files"].as_object()?;
        let user = row["user_values"].as_str().unwrap_or(text(row, "values"));
        let files = files
            .iter()
            .map(|(name, contents)| named(name, contents.as_str().unwrap_or_default().as_bytes()));
        Some(join(std::iter::once(user.as_bytes().to_vec()).chain(files)))
    }))
}

pub(crate) fn values() -> Vec<Vec<u8>> {
    let rows = rows!["kubepkg-helm/tests/vectors/helm-misc-coalesce"];
    let fields = ["user", "parent", "sub", "deep"];
    distinct(
        rows.iter()
            .map(|row| join(fields.map(|field| text(row, field)))),
    )
}

pub(crate) fn set() -> Vec<Vec<u8>> {
    let rows = rows!["kubepkg-helm/tests/vectors/helm-misc-set"];
    let base = "a: {b: old, l: [x, w]}\nkeep: true\n";
    distinct(
        rows.iter()
            .flat_map(|row| [text(row, "input").into(), join([text(row, "input"), base])]),
    )
}

pub(crate) fn manifest() -> Vec<Vec<u8>> {
    let rows = rows!["kubepkg-helm/tests/vectors/helm-misc-manifests"];
    let files = rows
        .iter()
        .filter_map(|row| row["files"].as_object())
        .flat_map(|files| files.values().filter_map(Value::as_str));
    let inputs = rows.iter().map(|row| text(row, "input"));
    distinct(inputs.chain(files).map(|text| text.as_bytes().to_vec()))
}

#[cfg(feature = "network")]
pub(crate) fn record() -> Vec<Vec<u8>> {
    let rows = rows!["kubepkg-helm/tests/vectors/release-secret"];
    distinct(rows.iter().flat_map(|row| {
        ["payload", "json", "release", "stored_json"]
            .into_iter()
            .filter_map(|field| bytes(row, field))
    }))
}

pub(crate) fn schema() -> Vec<Vec<u8>> {
    let rows = rows!["kubepkg-helm/tests/vectors/jsonschema-single"];
    distinct(
        rows.iter()
            .map(|row| join([text(row, "schema"), text(row, "values")])),
    )
}

pub(crate) fn version() -> Vec<Vec<u8>> {
    let rows = rows![
        "kubepkg-resolve/tests/vectors/constraints",
        "kubepkg-resolve/tests/vectors/parse",
        "kubepkg-resolve/tests/vectors/reasons",
    ];
    distinct(rows.iter().map(|row| {
        let version = row["version"].as_str().unwrap_or(text(row, "input"));
        join([version, "1.2.3", text(row, "constraint")])
    }))
}

#[cfg(feature = "network")]
pub(crate) fn index() -> Vec<Vec<u8>> {
    let rows = rows![
        "kubepkg-source/tests/vectors/helm-misc-index",
        "kubepkg-source/tests/vectors/helm-misc-oci",
    ];
    distinct(rows.iter().filter_map(|row| bytes(row, "input")))
}
