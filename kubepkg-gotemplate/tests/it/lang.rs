//! The template language against what Helm 4.3.1 answered (`tests/vectors/lang.jsonl.gz`), byte for byte.

use std::collections::BTreeMap;
use std::io::Read as _;

use kubepkg_gotemplate::message::{helm_exec_error, helm_parse_error};
use kubepkg_gotemplate::{
    Budget, FuncTable, MissingKey, SeededEnv, TemplateSet, helm_funcs, sprig,
};
use serde_json::Value as Json;

use crate::double::top;

const FILE: &str = "c/templates/t.txt";

fn rows(compressed: &[u8]) -> Vec<Json> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(compressed)
        .read_to_string(&mut text)
        .unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Renders one row as Helm's engine does.
fn render(row: &Json) -> Result<Vec<u8>, String> {
    let mut funcs = FuncTable::default();
    funcs.extend(sprig::functions());
    funcs.extend(helm_funcs::functions(
        row["lint"].as_bool().unwrap_or_default(),
    ));
    let mut set = TemplateSet::new("gotpl", funcs).with_missing_key(MissingKey::Zero);
    let mut files = BTreeMap::from([(FILE.to_owned(), row["template"].as_str().unwrap())]);
    for (path, text) in row["files"].as_object().into_iter().flatten() {
        if path.starts_with("templates/") {
            files.insert(format!("c/{path}"), text.as_str().unwrap());
        }
    }
    // Deepest path first, then in reverse byte order.
    let mut order: Vec<_> = files.into_iter().collect();
    order.sort_by_key(|(path, _)| std::cmp::Reverse((path.matches('/').count(), path.clone())));
    for (path, text) in &order {
        set.parse(path, *text).map_err(|e| helm_parse_error(&e))?;
    }
    let data = top(row);
    // 2026-01-02 03:04:05 UTC
    let mut env = SeededEnv::new([1], (1_767_323_045, 0));
    let mut session = set.session(&mut env, Budget::default());
    let mut answer = Vec::new();
    for (path, _) in &order {
        if path.rsplit('/').next().unwrap().starts_with('_') {
            continue;
        }
        let output = session
            .execute(path, &data)
            .map_err(|e| helm_exec_error(&e, path))?;
        if path == FILE {
            answer = output;
        }
    }
    Ok(replace(&answer, b"<no value>"))
}

fn replace(text: &[u8], gone: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(byte) = rest.first() {
        if let Some(tail) = rest.strip_prefix(gone) {
            rest = tail;
        } else {
            out.push(*byte);
            rest = &rest[1..];
        }
    }
    out
}

/// What is wrong with the answer, if anything.
fn judge(row: &Json, answer: &Result<Vec<u8>, String>) -> Option<String> {
    let shown = match answer {
        Ok(bytes) => format!("output {:?}", String::from_utf8_lossy(bytes)),
        Err(error) => format!("error {error:?}"),
    };
    let short = |text: String| text.chars().take(1500).collect::<String>();
    if let Some(output) = row["output"].as_str() {
        return (answer.as_ref().ok().map(Vec::as_slice) != Some(output.as_bytes()))
            .then(|| short(format!("want output {output:?}\n     got {shown}")));
    }
    if let Some(output) = row["outputBase64"].as_str() {
        let got = answer
            .as_ref()
            .map(|b| kubepkg_gotemplate::GoBytes::new(b.as_slice()).to_base64());
        return (got.as_deref() != Ok(output))
            .then(|| short(format!("want base64 {output:?}\n     got {shown}")));
    }
    if let Some(error) = row["error"].as_str() {
        return (answer.as_ref().err().map(String::as_str) != Some(error))
            .then(|| short(format!("want error {error:?}\n     got {shown}")));
    }
    if let Some(parts) = row["errorContains"].as_array() {
        let ok = answer
            .as_ref()
            .is_err_and(|e| parts.iter().all(|p| e.contains(p.as_str().unwrap())));
        return (!ok).then(|| short(format!("want error with {parts:?}\n     got {shown}")));
    }
    if let Some(shape) = row["shape"].as_str() {
        let expression = regex::bytes::RegexBuilder::new(&format!("^(?:{shape})$"))
            .dot_matches_new_line(true)
            .build()
            .unwrap();
        let ok = answer.as_ref().is_ok_and(|b| expression.is_match(b));
        return (!ok).then(|| short(format!("want shape {shape:?}\n     got {shown}")));
    }
    Some("a row without an answer".to_owned())
}

/// Rows that need more of Helm than this crate has; they run in `kubepkg-helm`.
fn needs_a_chart(row: &Json) -> bool {
    row["kind"] != "template"
        || row["template"].is_null()
        || row["files"].as_object().is_some_and(|f| {
            f.keys()
                .any(|k| k.starts_with("charts/") || k == "Chart.yaml")
        })
}

fn check(compressed: &[u8], at_least: usize) {
    let exceptions: BTreeMap<&str, &str> = include_str!("../vectors/exceptions.txt")
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .collect();
    let only = std::env::var("VECTOR").ok();
    let mut failures = Vec::new();
    let mut passed = 0;
    for row in rows(compressed) {
        let id = row["id"].as_str().unwrap().to_owned();
        if needs_a_chart(&row)
            || only
                .as_ref()
                .is_some_and(|only| !id.contains(only.as_str()))
        {
            continue;
        }
        match (judge(&row, &render(&row)), exceptions.get(id.as_str())) {
            (None, None) => passed += 1,
            (None, Some(_)) => {
                failures.push(format!("{id}: passes, but is listed as an exception"));
            }
            (Some(_), Some(_)) => {}
            (Some(wrong), None) => failures.push(format!(
                "{id}\n    {:?}\n    {wrong}",
                row["template"]
                    .as_str()
                    .unwrap()
                    .chars()
                    .take(400)
                    .collect::<String>()
            )),
        }
    }
    assert!(
        failures.is_empty(),
        "{} failed, {passed} passed\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert!(
        only.is_some() || passed >= at_least,
        "only {passed} cases ran"
    );
}

#[test]
fn the_template_language_answers_as_helm() {
    check(include_bytes!("../vectors/lang.jsonl.gz"), 1_200);
}
