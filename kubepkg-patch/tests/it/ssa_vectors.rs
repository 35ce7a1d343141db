//! Server-side apply against what apimachinery made of the same steps.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use kubepkg_patch::builtin;
use kubepkg_patch::schema::{GroupVersionKind, Model, Type};
use kubepkg_patch::ssa::{FieldManager, SingleVersion, SsaError, upgrade};
use serde_json::{Value, json};

use crate::{differ, vectors};

static WIDGET: LazyLock<Model> = LazyLock::new(|| {
    let crd: Value = serde_json::from_str(include_str!("../vectors/widget-crd.json")).unwrap();
    let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let kind = GroupVersionKind::new("example.test/v1", "Widget");
    Model::custom_resource(&kind, schema, false).unwrap()
});

/// The kind of a row is that of its first object that is of a type the row's schema has.
fn type_of(row: &Value) -> Result<(GroupVersionKind, Type), String> {
    let objects = row["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| &step["object"]);
    for object in objects {
        let kind = GroupVersionKind::of(object);
        let found = match row["schema"].as_str().unwrap() {
            "builtin" => builtin::model().kind(&kind),
            "widget" => WIDGET.kind(&kind),
            _ => Some(Type::deduced()),
        };
        if let Some(found) = found {
            return Ok((kind, found));
        }
    }
    Err("no type".to_owned())
}

fn without_managers(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        metadata.remove("managedFields");
    }
    object
}

fn managers(object: &Value) -> Value {
    let mut entries = match &object["metadata"]["managedFields"] {
        Value::Null => json!([]),
        entries => entries.clone(),
    };
    for entry in entries.as_array_mut().unwrap() {
        let entry = entry.as_object_mut().unwrap();
        entry.remove("time");
        entry.remove("fieldsType");
    }
    entries
}

fn run_sequence(row: &Value) -> Result<(), String> {
    let (kind, schema) = type_of(row)?;
    let versions = SingleVersion {
        api_version: kind.api_version(),
        kind: schema,
    };
    let reset = BTreeMap::new();
    let manager = FieldManager {
        kind,
        subresource: "",
        versions: &versions,
        reset: &reset,
        now: Timestamp::MAX,
    };
    let mut live: Option<Value> = None;
    for (index, step) in row["steps"].as_array().unwrap().iter().enumerate() {
        let name = step["manager"].as_str().unwrap();
        let done = if step["op"] == "apply" {
            let force = step["force"].as_bool().unwrap_or_default();
            manager.apply(live.as_ref(), &step["object"], name, force)
        } else {
            let mut object = step["object"].clone();
            if let Some(live) = &live {
                object["metadata"]["managedFields"] = live["metadata"]["managedFields"].clone();
            }
            manager.update(live.as_ref(), &object, name)
        };
        check_step(step, &done).map_err(|why| format!("step {index}: {why}"))?;
        if let Ok(object) = done {
            live = Some(object);
        }
    }
    Ok(())
}

fn check_step(step: &Value, done: &Result<Value, SsaError>) -> Result<(), String> {
    match (done, step["error"].as_str()) {
        (Ok(object), None) => {
            let result = without_managers(object);
            if result != step["result"] {
                return Err(differ("result", &step["result"], &result));
            }
            let managers = managers(object);
            let wanted = match &step["managers"] {
                Value::Null => json!([]),
                wanted => wanted.clone(),
            };
            if managers != wanted {
                return Err(differ("managers", &wanted, &managers));
            }
            Ok(())
        }
        (Ok(object), Some(error)) => Err(differ("error", &json!(error), object)),
        (Err(error), None) => Err(format!("no error, got {error}")),
        (Err(error), Some(wanted)) => {
            if error.to_string() != wanted {
                return Err(format!("error\n  want {wanted}\n   got {error}"));
            }
            let mut causes = Vec::new();
            if let SsaError::Conflict(conflicts) = error {
                for conflict in &conflicts.0 {
                    causes.push((conflict.message(), conflict.path.to_string()));
                }
            }
            causes.sort();
            let causes: Vec<Value> = causes
                .into_iter()
                .map(|(message, field)| {
                    json!({"type": "FieldManagerConflict", "message": message, "field": field})
                })
                .collect();
            let wanted = step["causes"].as_array().cloned().unwrap_or_default();
            let wanted: Vec<Value> = wanted
                .iter()
                .map(|it| {
                    json!({"type": "FieldManagerConflict", "message": it["message"], "field": it["field"]})
                })
                .collect();
            if causes != wanted {
                return Err(differ("causes", &json!(wanted), &json!(causes)));
            }
            Ok(())
        }
    }
}

#[test]
fn sequences_of_writes_end_as_on_the_api_server() {
    vectors(
        "ssa-sequences",
        include_bytes!("../vectors/ssa-sequences.jsonl.gz"),
    )
    .run(run_sequence);
}

#[test]
fn random_writes_end_as_on_the_api_server() {
    vectors(
        "ssa-random",
        include_bytes!("../vectors/ssa-random.jsonl.gz"),
    )
    .run(run_sequence);
}

/// Rows of client-go 0.36.3.
#[test]
fn fields_move_from_client_side_apply_as_client_go_moves_them() {
    let vectors = vectors(
        "ssa-upgrade",
        include_bytes!("../vectors/ssa-upgrade.jsonl.gz"),
    );
    vectors.run(|row| {
        let old: Vec<&str> = row["csa_managers"]
            .as_array()
            .expect("list")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let new = row["ssa_manager"].as_str().expect("name");
        let mut before = row["result"]["before"].as_array().expect("list").clone();
        let after = upgrade::moved(&before, &old, new).unwrap_or_else(|| before.clone());
        if row["result"]["after"] != Value::Array(after) {
            return Err("after".to_owned());
        }
        for entry in &mut before {
            entry["fieldsType"] = json!("FieldsV1");
        }
        let object = json!({"metadata": {"managedFields": before, "resourceVersion": "7"}});
        let patch = upgrade::patch_of(&object, &old, new).unwrap_or(Value::Null);
        if row["result"]["patch"] == patch {
            Ok(())
        } else {
            Err(differ("patch", &row["result"]["patch"], &patch))
        }
    });
}
