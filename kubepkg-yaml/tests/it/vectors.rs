//! The golden vectors: what the Go programs made of the same inputs. `tests/vectors/README.md`
//! says how they were made.

use std::fmt::Write as _;

use kubepkg_yaml::{
    YamlError, json_to_yaml, load, load_values, read_values, to_go_json, to_yaml, yaml_to_json,
    yaml_to_json_strict,
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

fn input(row: &Value) -> Vec<u8> {
    if let Some(bytes) = kubepkg_vectors::bytes(row, "input") {
        return bytes;
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

/// Runs a file of vectors.
macro_rules! meets {
    ($test:ident, $file:literal, $check:expr) => {
        #[test]
        fn $test() {
            let vectors = kubepkg_vectors::Vectors {
                name: concat!("yaml-", $file),
                packed: include_bytes!(concat!("../vectors/", $file, ".jsonl.gz")),
                exceptions: include_str!("../vectors/exceptions.txt"),
            };
            vectors.run(|row| {
                let differences: Vec<String> = $check(row);
                if differences.is_empty() {
                    Ok(())
                } else {
                    Err(differences.join("\n  "))
                }
            });
        }
    };
}

fn check_generated(row: &Value) -> Vec<String> {
    if row["group"] == "random-emit" {
        check_emit(row)
    } else {
        check_load(row)
    }
}

meets!(emits_as_go, "emit", check_emit);
meets!(meets_generated_inputs, "generated", check_generated);
meets!(loads_block_scalars, "load-block", check_load);
meets!(loads_all_forms, "load-forms", check_load);
meets!(keeps_the_limits_of_go, "load-limits", check_load);
meets!(loads_scalars, "load-scalars", check_load);
meets!(loads_tags, "load-tags", check_load);
meets!(loads_values_files, "values", check_values);
