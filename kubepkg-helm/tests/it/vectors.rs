//! Runs files of vectors: what Helm 4.3.1 answers, one case a line.
//!
//! A case that can't be met stands in `tests/vectors/exceptions.txt` with its reason; one that stands there and
//! passes fails the run, so that the list can only shrink.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;
use serde_json::Value;

/// The cases of a file.
pub(crate) fn read(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/vectors")
        .join(format!("{file}.jsonl.gz"));
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(path).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    text.lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Text of a case's field, given plainly or in base64.
pub(crate) fn text(case: &Value, field: &str) -> Option<Vec<u8>> {
    use base64::Engine as _;
    if let Some(plain) = case.get(field).and_then(Value::as_str) {
        return Some(plain.as_bytes().to_vec());
    }
    let encoded = case.get(format!("{field}_b64")).and_then(Value::as_str)?;
    Some(
        base64::engine::general_purpose::STANDARD
            .decode(encoded)
            .unwrap(),
    )
}

/// Runs every case through `check`, prints the counts by group, and fails on what is neither met nor excepted.
#[expect(clippy::print_stdout, reason = "the table is for people")]
pub(crate) fn run(file: &str, check: impl Fn(&Value) -> Result<(), String>) {
    let exceptions = exceptions(file);
    let only = std::env::var("VECTOR").ok();
    let mut groups: BTreeMap<String, (usize, usize, usize)> = BTreeMap::new();
    let mut failures = Vec::new();
    for case in read(file) {
        let id = case["id"].as_str().unwrap().to_owned();
        if only
            .as_ref()
            .is_some_and(|only| !id.contains(only.as_str()))
        {
            continue;
        }
        let group = match id.split_once('.') {
            Some((head, tail)) => format!("{head}.{}", tail.split('.').next().unwrap_or(tail)),
            None => case["group"].as_str().unwrap_or_default().to_owned(),
        };
        let counts = groups.entry(group).or_default();
        counts.0 += 1;
        let outcome = check(&case);
        match (outcome, exceptions.contains_key(&id)) {
            (Ok(()), false) => counts.1 += 1,
            (Ok(()), true) => {
                failures.push(format!("{id}: passes, take it off the list of exceptions"));
            }
            (Err(_), true) => counts.2 += 1,
            (Err(why), false) => failures.push(format!("{id}: {why}")),
        }
    }
    let mut table = format!("\n{file}\n");
    for (group, (all, met, excepted)) in &groups {
        writeln!(
            table,
            "  {group:<32} {met:>5} of {all:>5}{}",
            suffix(*excepted)
        )
        .unwrap();
    }
    let all: usize = groups.values().map(|counts| counts.0).sum();
    let met: usize = groups.values().map(|counts| counts.1).sum();
    let excepted: usize = groups.values().map(|counts| counts.2).sum();
    writeln!(
        table,
        "  {:<32} {met:>5} of {all:>5}{}",
        "all",
        suffix(excepted)
    )
    .unwrap();
    println!("{table}");
    if !failures.is_empty() {
        if let Ok(path) = std::env::var("VECTOR_FAILURES") {
            std::fs::write(format!("{path}/{file}.txt"), failures.join("\n\n")).unwrap();
        }
        let shown: Vec<&String> = failures.iter().take(25).collect();
        let shown = shown
            .iter()
            .map(|failure| failure.as_str())
            .collect::<Vec<_>>()
            .join("\n\n");
        panic!(
            "{} of {all} cases of {file} are not met:\n{shown}",
            failures.len()
        );
    }
}

fn suffix(excepted: usize) -> String {
    if excepted == 0 {
        String::new()
    } else {
        format!(" ({excepted} excepted)")
    }
}

fn exceptions(file: &str) -> BTreeMap<String, String> {
    let text = include_str!("../vectors/exceptions.txt");
    let mut found = BTreeMap::new();
    for line in text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let (id, reason) = line.split_once('\t').expect("id, tab, reason");
        assert!(!reason.is_empty(), "{id} has no reason");
        if let Some(id) = id.strip_prefix(file).and_then(|id| id.strip_prefix('/')) {
            found.insert(id.to_owned(), reason.to_owned());
        }
    }
    found
}

/// Equal, or both in words, from a little before the first difference.
pub(crate) fn same<T: PartialEq + std::fmt::Debug>(
    what: &str,
    got: &T,
    wanted: &T,
) -> Result<(), String> {
    if got == wanted {
        return Ok(());
    }
    let (got, wanted) = (format!("{got:?}"), format!("{wanted:?}"));
    let equal = got
        .chars()
        .zip(wanted.chars())
        .take_while(|(one, two)| one == two)
        .count();
    let cut = |text: &str| -> String {
        let start = if text.chars().count() < 500 {
            0
        } else {
            equal.saturating_sub(120)
        };
        text.chars().skip(start).take(500).collect()
    };
    Err(format!(
        "{what}\n   got    {}\n   wanted {}",
        cut(&got),
        cut(&wanted)
    ))
}
