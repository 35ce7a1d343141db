//! The golden vectors: what the Go programs made of the same inputs. `tests/vectors/README.md`
//! says how they were made.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;

use kubepkg_yaml::{
    YamlError, json_to_yaml, load, load_values, read_values, to_go_json, to_yaml, yaml_to_json,
    yaml_to_json_strict,
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

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

/// Reads the base64 of a test row.
fn base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| {
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
            .iter()
            .position(|&letter| letter == byte)
    };
    let mut out = Vec::new();
    for group in text.as_bytes().chunks(4) {
        let digits: Vec<u32> = group
            .iter()
            .filter_map(|&byte| digit(byte))
            .map(|digit| u32::try_from(digit).unwrap())
            .collect();
        let bits = digits.iter().fold(0, |bits, digit| bits << 6 | digit);
        let bits = bits << (6 * (4 - digits.len()));
        out.extend(&bits.to_be_bytes()[1..digits.len()]);
    }
    out
}

fn input(row: &Value) -> Vec<u8> {
    if let Some(text) = row["input"].as_str() {
        return text.as_bytes().to_vec();
    }
    if let Some(text) = row["input_b64"].as_str() {
        return base64(text);
    }
    let parts = row["input_parts"].as_array().expect("an input");
    parts
        .iter()
        .flat_map(|part| {
            let count = usize::try_from(part[1].as_u64().unwrap()).unwrap();
            part[0].as_str().unwrap().repeat(count).into_bytes()
        })
        .collect()
}

/// Notes a difference between what a row wants and what came out.
fn differ(out: &mut Vec<String>, what: &str, wanted: &Value, got: &Result<String, YamlError>) {
    let got = match got {
        Ok(text) => text.clone(),
        Err(error) => format!("error: {error}"),
    };
    let wanted = wanted.as_str().unwrap();
    if got != wanted {
        let (wanted, got): (String, String) = (
            wanted.chars().take(900).collect(),
            got.chars().take(900).collect(),
        );
        out.push(format!("{what}\n    want {wanted:?}\n     got {got:?}"));
    }
}

/// `json`/`error`-like pairs of a row.
fn check(
    out: &mut Vec<String>,
    row: &Value,
    names: (&str, &str),
    got: impl FnOnce() -> Result<String, YamlError>,
) {
    match (&row[names.0], &row[names.1]) {
        (Value::Null, Value::Null) => {}
        (wanted @ Value::String(_), _) => differ(out, names.0, wanted, &got()),
        (_, wanted) => {
            let got = match got() {
                Ok(text) => Ok(format!("no error but {text}")),
                Err(error) => Ok(error.to_string()),
            };
            differ(out, names.1, wanted, &got);
        }
    }
}

fn check_load(row: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let input = input(row);
    let json = yaml_to_json(&input);
    check(&mut out, row, ("json", "error"), || json.clone());
    if let Some(bytes) = row["json_bytes"].as_u64() {
        let json = json.as_ref().map(String::as_str).unwrap_or_default();
        let sum = Sha256::digest(json)
            .iter()
            .fold(String::new(), |mut sum, byte| {
                let _ = write!(sum, "{byte:02x}");
                sum
            });
        if json.len() as u64 != bytes || sum != row["json_sha256"] {
            out.push(format!("json of {bytes} bytes, got {}", json.len()));
        }
    }
    if row["strict_json"].is_null() && row["strict_error"].is_null() {
        if yaml_to_json_strict(&input) != json {
            out.push(format!(
                "strict is the same, got {:?}",
                yaml_to_json_strict(&input)
            ));
        }
    } else {
        check(&mut out, row, ("strict_json", "strict_error"), || {
            yaml_to_json_strict(&input)
        });
    }
    if let Ok(json) = &json {
        check(&mut out, row, ("reemit", "reemit_error"), || {
            json_to_yaml(json)
        });
        // The value is what the JSON text says, unless it is too deep to be one.
        match load(&input).and_then(|value| to_go_json(&value)) {
            Err(YamlError::Limit { .. }) if row["group"].as_str().unwrap().contains("deep") => {}
            // Bytes that are no UTF-8 are escaped in the text and characters in the value.
            text if text.as_ref() == Ok(&json.replace("\\ufffd", "\u{fffd}")) => {}
            text => out.push(format!("value is that of the JSON text, got {text:?}")),
        }
    }
    out
}

fn check_emit(row: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let input = input(row);
    let yaml = json_to_yaml(&input);
    check(&mut out, row, ("yaml", "error"), || yaml.clone());
    if let Ok(yaml) = &yaml {
        check(&mut out, row, ("reload_json", "reload_error"), || {
            yaml_to_json(yaml.as_bytes())
        });
    }
    // Rows whose text is what Go's json.Marshal writes are also what Marshal of the value gives.
    if let Ok(value) = serde_json::from_slice::<Value>(&input)
        && to_go_json(&value).is_ok_and(|text| text.as_bytes() == input)
    {
        check(&mut out, row, ("yaml", "error"), || to_yaml(&value));
    }
    out
}

fn check_values(row: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let input = input(row);
    let values = load_values(&input);
    check(&mut out, row, ("json", "error"), || {
        to_go_json(&Value::Object(values.clone()?))
    });
    check(&mut out, row, ("to_yaml", "error"), || {
        to_yaml(&Value::Object(values.clone()?))
    });
    let read = || to_go_json(&Value::Object(read_values(&input)?));
    if row["read_values_json"].is_null() && row["read_values_error"].is_null() {
        check(&mut out, row, ("json", "error"), read);
    } else {
        check(
            &mut out,
            row,
            ("read_values_json", "read_values_error"),
            read,
        );
    }
    out
}

#[test]
fn golden_vectors() {
    let exceptions = exceptions();
    let mut failed = Vec::new();
    let mut unknown: BTreeSet<&String> = exceptions.keys().collect();
    let mut count = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(file) = name.strip_suffix(".jsonl.gz") else {
            continue;
        };
        for row in rows(&name) {
            count += 1;
            let id = format!("{file}:{}", row["id"].as_str().unwrap());
            let differences = match file {
                "values" => check_values(&row),
                _ if row["group"] == "random-emit" || file == "emit" => check_emit(&row),
                _ => check_load(&row),
            };
            unknown.remove(&id);
            match (differences.is_empty(), exceptions.contains_key(&id)) {
                (true, false) | (false, true) => {}
                (true, true) => failed.push(format!("{id} passes now: take it off the list")),
                (false, false) => failed.push(format!("{id}\n  {}", differences.join("\n  "))),
            }
        }
    }
    assert!(count >= 3205, "{count} vectors found");
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
            .join("\n"),
    );
}
