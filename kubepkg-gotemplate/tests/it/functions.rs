//! Formatting and functions against what Helm 4.3.1 answered (`tests/vectors/*.jsonl.gz`).

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::PathBuf;

use kubepkg_gotemplate::{
    Env, FuncTable, MissingKey, SeededEnv, TemplateSet, helm_funcs, message, sprig,
};
use serde_json::Value as Json;

use crate::host;

const FILE: &str = "c/templates/t.txt";

fn vectors() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

fn rows(group: &str) -> Vec<Json> {
    let packed = std::fs::read(vectors().join(format!("{group}.jsonl.gz"))).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed.as_slice())
        .read_to_string(&mut text)
        .unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Rows that cannot be met, with the reason.
fn exceptions() -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(vectors().join("exceptions.txt")).unwrap_or_default();
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (id, reason) = line.split_once('\t').expect("id, tab, reason");
            (id.to_owned(), reason.to_owned())
        })
        .collect()
}

fn table(lint: bool) -> FuncTable {
    let mut table = FuncTable::default();
    table.extend(sprig::functions());
    table.extend(helm_funcs::functions(lint));
    table
}

fn files(row: &Json) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    if let Some(all) = row.get("files").and_then(Json::as_object) {
        for (path, text) in all {
            files.insert(path.clone(), text.as_str().unwrap().as_bytes().to_vec());
        }
    }
    files
}

/// A null in a chart's own values is dropped when values are coalesced.
fn without_nulls(value: &mut Json) {
    if let Json::Object(entries) = value {
        entries.retain(|_, item| !item.is_null());
        entries.values_mut().for_each(without_nulls);
    }
}

/// What the engine makes of a row: the text, or the error as Helm words it.
fn run(row: &Json, table: &FuncTable, env: &mut dyn Env) -> Result<Vec<u8>, String> {
    let files = files(row);
    let values = row.get("values").and_then(Json::as_str).unwrap_or("");
    let mut values = kubepkg_yaml::load(values.as_bytes()).unwrap();
    without_nulls(&mut values);
    let mut set = TemplateSet::new("gotpl", table.clone()).with_missing_key(MissingKey::Zero);
    let template = row["template"].as_str().unwrap();
    let mut sources: Vec<(String, Vec<u8>)> = files
        .iter()
        .filter(|(path, _)| path.starts_with("templates/"))
        .map(|(path, text)| (format!("c/{path}"), text.clone()))
        .collect();
    sources.push((FILE.to_owned(), template.as_bytes().to_vec()));
    sources.sort_by(|(a, _), (b, _)| {
        let depth = |path: &str| path.split('/').count();
        (depth(b), b).cmp(&(depth(a), a))
    });
    for (path, text) in &sources {
        set.parse(path, text.as_slice())
            .map_err(|error| message::helm_parse_error(&error))?;
    }
    let dot = host::dot(&values, &files);
    let out = set
        .execute(FILE, &dot, env)
        .map_err(|e| message::helm_exec_error(&e, FILE))?;
    let text = String::from_utf8_lossy(&out);
    Ok(if text.contains("<no value>") {
        text.replace("<no value>", "").into_bytes()
    } else {
        out
    })
}

/// Why the answer is not the expected one.
fn difference(row: &Json, answer: &Result<Vec<u8>, String>) -> Option<String> {
    let got = match answer {
        Ok(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Err(error) => format!("ERROR {error}"),
    };
    if let Some(want) = row.get("output").and_then(Json::as_str) {
        let same = matches!(answer, Ok(bytes) if bytes == want.as_bytes());
        return (!same).then(|| format!("want {want:?}\n   got {got:?}"));
    }
    if let Some(want) = row.get("error").and_then(Json::as_str) {
        let same = matches!(answer, Err(error) if error == want);
        return (!same).then(|| format!("want ERROR {want:?}\n   got {got:?}"));
    }
    if let Some(parts) = row.get("errorContains").and_then(Json::as_array) {
        let all = matches!(answer, Err(error)
            if parts.iter().all(|part| error.contains(part.as_str().unwrap())));
        return (!all).then(|| format!("want ERROR with {parts:?}\n   got {got:.300?}"));
    }
    if let Some(shape) = row.get("shape").and_then(Json::as_str) {
        let shape = regex::Regex::new(&format!("(?s)\\A(?:{shape})\\z")).unwrap();
        let fits = matches!(answer, Ok(bytes) if shape.is_match(&String::from_utf8_lossy(bytes)));
        return (!fits).then(|| format!("want shape {shape}\n   got {got:?}"));
    }
    if let Some(want) = row.get("outputBase64").and_then(Json::as_str) {
        use base64::Engine as _;
        let want = base64::engine::general_purpose::STANDARD
            .decode(want)
            .unwrap();
        let same = matches!(answer, Ok(bytes) if *bytes == want);
        return (!same).then(|| format!("want {want:?}\n   got {got:?}"));
    }
    Some("the row has no answer".to_owned())
}

fn check(group: &str) {
    let exceptions = exceptions();
    let tables = [table(false), table(true)];
    let only = std::env::var("ROW").ok();
    let (mut failures, mut unexpected) = (Vec::new(), BTreeSet::new());
    let mut count = 0;
    for row in rows(group) {
        let id = row["id"].as_str().unwrap().to_owned();
        if only
            .as_ref()
            .is_some_and(|only| !id.starts_with(only.as_str()))
        {
            continue;
        }
        if row.get("template").is_none() {
            continue;
        }
        count += 1;
        let lint = row.get("lint").is_some_and(|lint| lint == true);
        let mut env = SeededEnv::new([7], (1_790_000_000, 123_456_789));
        let answer = run(&row, &tables[usize::from(lint)], &mut env);
        match (difference(&row, &answer), exceptions.contains_key(&id)) {
            (Some(difference), false) => {
                failures.push(format!("{id}\n  {}\n  {difference}", row["template"]));
            }
            (None, true) => {
                unexpected.insert(id);
            }
            _ => {}
        }
    }
    let limit = std::env::var("SHOW")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(40);
    let shown: Vec<&str> = failures.iter().map(String::as_str).take(limit).collect();
    assert!(
        failures.is_empty(),
        "{} of {count} rows of {group} differ:\n{}",
        failures.len(),
        shown.join("\n")
    );
    assert!(
        unexpected.is_empty(),
        "listed as exceptions, but met: {unexpected:?}"
    );
}

#[test]
fn formats_as_go_does() {
    check("fmt");
}

#[test]
fn sprig_functions_answer_as_in_helm() {
    check("sprig");
}

#[test]
fn data_functions_answer_as_in_helm() {
    check("helm");
}
