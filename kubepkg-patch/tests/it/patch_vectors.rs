//! Patches against what Go's libraries made of the same documents.

use kubepkg_patch::builtin;
use kubepkg_patch::json::{JsonPatchError, Patch};
use kubepkg_patch::merge::{self, Dialect, MergeError, Precondition};
use kubepkg_patch::schema::Type;
use kubepkg_patch::strategic::{self, StrategicError};
use kubepkg_vectors::bytes;
use serde_json::{Value, json};

use crate::{differ, vectors};

/// `field` or `field_error` of a row.
fn check(row: &Value, field: &str, got: Result<String, String>) -> Result<(), String> {
    let error = row[format!("{field}_error")].as_str();
    match (row[field].as_str(), error, got) {
        (Some(wanted), _, Ok(got)) if wanted == got => Ok(()),
        (None, Some(wanted), Err(got)) if wanted == got || wanted.starts_with("panic:") => Ok(()),
        (wanted, error, got) => Err(differ(
            field,
            &json!({"ok": wanted, "error": error}),
            &json!(format!("{got:?}")),
        )),
    }
}

fn input(row: &Value, field: &str) -> Vec<u8> {
    bytes(row, field).expect("an input")
}

#[test]
fn json_patches_apply_as_json_patch_v4_applies_them() {
    vectors(
        "patch-json-patch",
        include_bytes!("../vectors/patch-json-patch.jsonl.gz"),
    )
    .run(|row| {
        let text = |error: JsonPatchError| error.to_string();
        let patch = match (
            Patch::parse(&input(row, "patch")),
            row["decode_error"].as_str(),
        ) {
            (Ok(patch), None) => patch,
            (Err(error), Some(wanted)) if error.to_string() == wanted => return Ok(()),
            (got, wanted) => return Err(format!("want {wanted:?}, got {got:?}")),
        };
        let document = input(row, "document");
        let got = patch.apply_text(&document);
        check(row, "result", got.clone().map_err(text))?;
        // Values come to the same.
        let Ok(value) = serde_json::from_slice::<Value>(&document) else {
            return Ok(());
        };
        let got = got
            .ok()
            .map(|text| serde_json::from_str::<Value>(&text).unwrap());
        if patch.apply(&value).ok() == got {
            Ok(())
        } else {
            Err("the value differs from the text".to_owned())
        }
    });
}

#[test]
fn merge_patches_are_applied_and_made_as_go_does() {
    vectors(
        "patch-merge-patch",
        include_bytes!("../vectors/patch-merge-patch.jsonl.gz"),
    )
    .run(|row| match row["group"].as_str().unwrap() {
        "apply" => {
            let (document, patch) = (input(row, "document"), input(row, "patch"));
            let apply = |dialect| {
                merge::apply_text(&document, &patch, dialect).map_err(|error| error.to_string())
            };
            check(row, "result", apply(Dialect::V4))?;
            if row["v5"].is_null() && row["v5_error"].is_null() {
                check(row, "result", apply(Dialect::V5))
            } else {
                check(row, "v5", apply(Dialect::V5))
            }
        }
        "create" => {
            let (from, to) = (input(row, "from"), input(row, "to"));
            let got = merge::create_text(&from, &to, Dialect::V5);
            check(row, "patch", got.map_err(|error| error.to_string()))
        }
        _ => made(row, &["original", "modified", "current"], |it| {
            merge::three_way(&it[0], &it[1], &it[2], Precondition::KUBECTL)
        }),
    });
}

/// A patch that is made from values; texts that are no JSON are refused before.
fn made(
    row: &Value,
    fields: &[&str],
    make: impl Fn(&[Value]) -> Result<Value, MergeError>,
) -> Result<(), String> {
    let mut inputs = Vec::new();
    for field in fields {
        let text = input(row, field);
        let text: &[u8] = if text.is_empty() { b"{}" } else { &text };
        match serde_json::from_slice(text) {
            Ok(value) => inputs.push(value),
            Err(_) if row["patch_error"].is_string() => return Ok(()),
            Err(error) => return Err(error.to_string()),
        }
    }
    let got = make(&inputs).map_err(|error| error.to_string());
    check(
        row,
        "patch",
        got.map(|patch| kubepkg_yaml::to_go_json(&patch).unwrap()),
    )
}

fn type_of(row: &Value) -> Type {
    let kind = row["kind"].as_str().unwrap();
    let known = builtin::model()
        .kinds()
        .find(|known| known.kind == kind)
        .unwrap();
    builtin::model().kind(known).unwrap()
}

#[test]
fn strategic_patches_are_applied_and_made_as_apimachinery_does() {
    vectors(
        "patch-strategic",
        include_bytes!("../vectors/patch-strategic.jsonl.gz"),
    )
    .run(|row| {
        let kind = type_of(row);
        // What is no JSON is no object either; a version that is empty is missing.
        let value = |field: &str| match input(row, field).as_slice() {
            [] if field != "document" && field != "patch" => Value::Null,
            text => serde_json::from_slice(text).unwrap_or_else(|_| json!("no object")),
        };
        let text = |got: Result<Value, StrategicError>| {
            got.map(|value| kubepkg_yaml::to_go_json(&value).unwrap())
                .map_err(|error| error.to_string())
        };
        if row["group"].as_str().unwrap().starts_with("apply") {
            let got = strategic::apply(&value("document"), &value("patch"), &kind);
            return check(row, "result", text(got));
        }
        let (original, modified, current) =
            (value("original"), value("modified"), value("current"));
        let three_way =
            |overwrite| strategic::three_way(&original, &modified, &current, &kind, overwrite, &[]);
        let patch = three_way(true);
        check(row, "patch", text(patch.clone()))?;
        if let Ok(patch) = patch
            && (row["result"].is_string() || row["result_error"].is_string())
        {
            let current = match input(row, "current").as_slice() {
                [] => &json!("no object"),
                _ => &current,
            };
            check(
                row,
                "result",
                text(strategic::apply(current, &patch, &kind)),
            )?;
        }
        let two_way = strategic::two_way(&original, &modified, &kind, &[]);
        check(row, "two_way", text(two_way))?;
        match row["no_overwrite_error"].as_str() {
            Some(_) => check(row, "no_overwrite", text(three_way(false))),
            None => check(row, "patch", text(three_way(false))),
        }
    });
}
