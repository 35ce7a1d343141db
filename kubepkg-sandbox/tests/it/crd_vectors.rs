//! Custom resources against what kube-apiserver 1.36.3 answered.

use std::collections::BTreeMap;

use kubepkg_sandbox::crd::{self, FieldError};
use kubepkg_vectors::Vectors;
use serde_json::{Value, json};

const VECTORS: Vectors<'_> = Vectors {
    name: "crd-resources",
    packed: include_bytes!("../vectors/crd-resources.jsonl.gz"),
    exceptions: include_str!("../vectors/exceptions.txt"),
};

/// What the server does to an object by the schema of its kind.
fn write(
    old: Option<&Value>,
    object: &Value,
    schema: &Value,
) -> (Value, Vec<String>, Vec<FieldError>) {
    let mut object = object.clone();
    let dropped = crd::prune(&mut object, schema);
    crd::drop_nulls(&mut object, schema);
    crd::set_defaults(&mut object, schema);
    let errors = match old {
        None => crd::validate(&object, schema),
        Some(old) => crd::validate_update(old, &object, schema),
    };
    (object, dropped, errors)
}

/// Without metadata, and numbers as they are stored.
fn stored(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("metadata");
    }
    serde_json::from_str(&kubepkg_yaml::to_go_json(&object).unwrap()).unwrap()
}

fn check(
    step: &Value,
    kind: &str,
    done: &(Value, Vec<String>, Vec<FieldError>),
) -> Result<(), String> {
    let (object, dropped, errors) = done;
    let outcome = &step["outcome"];
    let lines: Vec<String> = errors
        .iter()
        .map(|error| format!("{}: {}", error.field, error.message))
        .collect();
    if outcome["code"].as_u64().unwrap() < 300 {
        if !errors.is_empty() || stored(object) != stored(&outcome["result"]) {
            return Err(format!(
                "want {}\n  got {object} {lines:?}",
                outcome["result"]
            ));
        }
        let warnings: Vec<String> = dropped
            .iter()
            .map(|path| format!("unknown field {path:?}"))
            .collect();
        let wanted = outcome["warnings"].as_array().cloned().unwrap_or_default();
        if json!(warnings) != json!(wanted) {
            return Err(format!("want {wanted:?}\n  got {warnings:?}"));
        }
        return Ok(());
    }
    let mut causes: Vec<(&str, &str, &str)> = errors
        .iter()
        .map(|error| (error.field.as_str(), error.message.as_str(), error.reason))
        .collect();
    causes.sort_unstable();
    let wanted = outcome["causes"].as_array().cloned().unwrap_or_default();
    let text = |cause: &Value, key: &str| cause[key].as_str().unwrap_or_default().to_owned();
    let same = wanted.len() == causes.len()
        && wanted
            .iter()
            .zip(&causes)
            .all(|(wanted, (field, message, reason))| {
                text(wanted, "field") == *field
                    && text(wanted, "message") == *message
                    && text(wanted, "reason") == *reason
            });
    if !same || causes.is_empty() {
        return Err(format!("want {}\n  got {causes:?}", json!(outcome)));
    }
    let all = match lines.as_slice() {
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    let name = step["object"]["metadata"]["name"]
        .as_str()
        .unwrap_or_default();
    let message = format!("{kind}.vec.test {name:?} is invalid: {all}");
    if outcome["message"].is_string() && outcome["message"] != message {
        return Err(format!("want {}\n  got {message}", outcome["message"]));
    }
    Ok(())
}

#[test]
fn custom_resources_are_pruned_defaulted_and_refused_as_on_the_api_server() {
    let mut schemas = BTreeMap::new();
    for row in VECTORS.rows() {
        let spec = &row["crd"]["spec"];
        if let Some(kind) = spec["names"]["kind"].as_str() {
            let schema = spec["versions"][0]["schema"]["openAPIV3Schema"].clone();
            schemas.insert(kind.to_owned(), schema);
        }
    }
    VECTORS.run(|row| {
        if row["group"] == "crd" {
            return Ok(());
        }
        let steps = row["steps"]
            .as_array()
            .cloned()
            .unwrap_or_else(|| vec![row.clone()]);
        let kind = row["crd_kind"]
            .as_str()
            .or_else(|| row["object"]["kind"].as_str())
            .unwrap();
        let schema = schemas.get(kind).ok_or("no such kind")?;
        let mut old = None;
        for step in &steps {
            let done = write(old.as_ref(), &step["object"], schema);
            check(step, kind, &done)?;
            if done.2.is_empty() {
                old = Some(done.0);
            }
        }
        Ok(())
    });
}
