//! The golden vectors: what Masterminds semver v3.5.0 made of the same inputs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

use kubepkg_resolve::{Constraint, Detail, Version, VersionError};
use serde_json::{Value, json};

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

fn rows(file: &str) -> Vec<Value> {
    let bytes = std::fs::read(folder().join(file)).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(&bytes[..])
        .read_to_string(&mut text)
        .unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn exceptions() -> BTreeMap<String, String> {
    std::fs::read_to_string(folder().join("exceptions.txt"))
        .unwrap()
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.split_once('\t').expect("id<TAB>reason"))
        .map(|(id, reason)| (id.to_owned(), reason.to_owned()))
        .collect()
}

/// The input as text; none for bytes that are no UTF-8, which a `&str` cannot be.
fn text<'r>(row: &'r Value, name: &str) -> Option<&'r str> {
    row[name].as_str()
}

fn shown(version: &Version) -> Value {
    json!({
        "major": version.major(),
        "minor": version.minor(),
        "patch": version.patch(),
        "prerelease": version.prerelease(),
        "metadata": version.metadata(),
        "original": version.original(),
        "string": version.to_string(),
    })
}

struct Differences(Vec<String>);

impl Differences {
    fn same(&mut self, what: &str, wanted: &Value, got: &Value) {
        if wanted != got {
            self.0.push(format!("{what}: want {wanted}, got {got}"));
        }
    }
}

fn check_parse(row: &Value, out: &mut Differences) {
    let Some(input) = text(row, "input") else {
        return;
    };
    let mut check = |name: &str, got: Result<Version, VersionError>| {
        let error = format!("{name}_error");
        match &got {
            Ok(version) => out.same(name, &row[name], &shown(version)),
            Err(refused) => out.same(&error, &row[&error], &json!(refused.to_string())),
        }
    };
    check("new", Version::parse(input));
    check("strict", Version::parse_strict(input));
    check("no_coerce", Version::parse_uncoerced(input, Detail::Full));
    let brief = Version::parse_uncoerced(input, Detail::Brief).err();
    let brief = brief.map_or(Value::Null, |error| json!(error.to_string()));
    out.same("plain_error", &row["plain_error"], &brief);
}

fn check_increment(row: &Value, out: &mut Differences) {
    let version = Version::parse(text(row, "input").unwrap()).unwrap();
    let next = |name: &str, version: Option<Version>| match version {
        Some(version) => json!(version.original()),
        None => json!(format!(
            "panic: {name} version increment would overflow uint64"
        )),
    };
    out.same("patch", &row["patch"], &next("patch", version.next_patch()));
    out.same("minor", &row["minor"], &next("minor", version.next_minor()));
    out.same("major", &row["major"], &next("major", version.next_major()));
    for (name, wanted) in row.as_object().unwrap() {
        let got = match name.split_once(':') {
            Some(("set_prerelease", pre)) => version.with_prerelease(pre),
            Some(("set_metadata", metadata)) => version.with_metadata(metadata),
            _ => continue,
        };
        let got = got.map_or_else(
            |error| format!("error: {error}"),
            |version| version.original().to_owned(),
        );
        out.same(name, wanted, &json!(got));
    }
}

fn check_compare(row: &Value, out: &mut Differences) {
    if row["group"] == "sort" {
        let list =
            |name: &str| -> Vec<String> { serde_json::from_value(row[name].clone()).unwrap() };
        let mut versions: Vec<Version> = list("input")
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        versions.sort();
        let got: Vec<&str> = versions.iter().map(Version::original).collect();
        out.same("sorted", &row["sorted"], &json!(got));
        return;
    }
    let version = Version::parse(text(row, "version").unwrap()).unwrap();
    let got: String = text(row, "others")
        .unwrap()
        .split(' ')
        .map(|other| match version.cmp(&Version::parse(other).unwrap()) {
            std::cmp::Ordering::Less => '<',
            std::cmp::Ordering::Equal => '=',
            std::cmp::Ordering::Greater => '>',
        })
        .collect();
    out.same("compare", &row["compare"], &json!(got));
}

fn check_constraint(row: &Value, out: &mut Differences) {
    let Some(input) = text(row, "constraint") else {
        return;
    };
    let constraint = match Constraint::parse(input) {
        Ok(constraint) => constraint,
        Err(error) => return out.same("error", &row["error"], &json!(error.to_string())),
    };
    out.same("error", &row["error"], &Value::Null);
    out.same("string", &row["string"], &json!(constraint.to_string()));
    let digits = |constraint: &Constraint| -> String {
        text(row, "versions")
            .unwrap()
            .split(' ')
            .map(|version| constraint.matches(&Version::parse(version).unwrap()))
            .map(|matches| if matches { '1' } else { '0' })
            .collect()
    };
    out.same("check", &row["check"], &json!(digits(&constraint)));
    let all = digits(&constraint.include_prereleases(true));
    out.same(
        "check_include_prerelease",
        &row["check_include_prerelease"],
        &json!(all),
    );
}

fn check_reasons(row: &Value, out: &mut Differences) {
    let constraint = Constraint::parse(text(row, "constraint").unwrap()).unwrap();
    let version = Version::parse(text(row, "version").unwrap()).unwrap();
    let got: Vec<String> = constraint
        .validate(&version)
        .err()
        .unwrap_or_default()
        .iter()
        .map(ToString::to_string)
        .collect();
    out.same("ok", &row["ok"], &json!(got.is_empty()));
    out.same("reasons", &row["reasons"], &json!(got));
}

#[test]
fn golden_vectors() {
    let exceptions = exceptions();
    let mut unknown: BTreeSet<&String> = exceptions.keys().collect();
    let mut failed = Vec::new();
    let mut count = 0;
    for (file, check) in [
        ("parse", check_parse as fn(&Value, &mut Differences)),
        ("compare", check_compare),
        ("constraints", check_constraint),
        ("reasons", check_reasons),
    ] {
        for row in rows(&format!("{file}.jsonl.gz")) {
            count += 1;
            let mut differences = Differences(Vec::new());
            if row["group"] == "increment" {
                check_increment(&row, &mut differences);
            } else {
                check(&row, &mut differences);
            }
            let id = format!("{file}:{}", row["id"].as_str().unwrap());
            unknown.remove(&id);
            match (differences.0.is_empty(), exceptions.contains_key(&id)) {
                (true, false) | (false, true) => {}
                (true, true) => failed.push(format!("{id} passes now: take it off the list")),
                (false, false) => failed.push(format!("{id}\n  {}", differences.0.join("\n  "))),
            }
        }
    }
    assert!(count >= 1485, "{count} vectors found");
    assert!(unknown.is_empty(), "no such vectors: {unknown:?}");
    assert!(
        failed.is_empty(),
        "{} of {count} vectors differ\n{}",
        failed.len(),
        failed
            .iter()
            .take(60)
            .cloned()
            .collect::<Vec<_>>()
            .join("\n")
    );
}
