//! Custom resources against what kube-apiserver 1.36.3 answered.

use std::collections::BTreeMap;

use kube::Client;
use kubepkg_sandbox::{ApiOptions, ApiServer};
use kubepkg_vectors::Vectors;
use serde_json::Value;

use crate::recorded::{self, Answer, ask};

const VECTORS: Vectors<'_> = Vectors {
    name: "crd-resources",
    packed: include_bytes!("../vectors/crd-resources.jsonl.gz"),
    exceptions: include_str!("../vectors/exceptions.txt"),
};
const JSON: &str = "application/json";

#[test]
fn custom_resources_are_pruned_defaulted_and_refused_as_on_the_api_server() {
    let runtime = recorded::runtime();
    let _inside = runtime.enter();
    let server = ApiServer::new(&ApiOptions::default());
    let client = server.client();
    let mut plurals = BTreeMap::new();
    for row in VECTORS.rows() {
        let names = &row["crd"]["spec"]["names"];
        if let (Some(kind), Some(plural)) = (names["kind"].as_str(), names["plural"].as_str()) {
            plurals.insert(kind.to_owned(), plural.to_owned());
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            let definition = row["crd"].to_string();
            let answer = runtime.block_on(ask(&client, "POST", path, JSON, definition));
            assert_eq!(answer.code, 201, "{}: {}", row["id"], answer.body);
        }
    }
    VECTORS.run(|row| {
        if row["group"] == "crd" {
            return Ok(());
        }
        let kind = row["crd_kind"].as_str().or_else(|| row["group"].as_str());
        let plural = plurals.get(kind.unwrap()).ok_or("no such kind")?;
        let folder = format!("/apis/vec.test/v1/{plural}");
        runtime.block_on(async {
            match row["steps"].as_array() {
                Some(steps) => in_steps(&client, &folder, steps).await,
                None => created(&client, &folder, row).await,
            }
        })
    });
}

/// An object that is not kept, with and without strict validation.
async fn created(client: &Client, folder: &str, row: &Value) -> Result<(), String> {
    let body = row["object"].to_string();
    for (query, key) in [
        ("", "outcome"),
        ("&fieldValidation=Strict", "strict_outcome"),
    ] {
        if row[key].is_null() {
            continue;
        }
        let path = format!("{folder}?dryRun=All{query}");
        let answer = ask(client, "POST", &path, JSON, body.clone()).await;
        compare(&row[key], &answer).map_err(|why| format!("{key}: {why}"))?;
    }
    Ok(())
}

async fn in_steps(client: &Client, folder: &str, steps: &[Value]) -> Result<(), String> {
    let name = steps[0]["object"]["metadata"]["name"].as_str().unwrap();
    let path = format!("{folder}/{name}");
    for (index, step) in steps.iter().enumerate() {
        let mut object = step["object"].clone();
        let answer = if step["op"] == "create" {
            ask(client, "POST", folder, JSON, object.to_string()).await
        } else {
            let live = ask(client, "GET", &path, JSON, String::new()).await.body;
            object["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
            ask(client, "PUT", &path, JSON, object.to_string()).await
        };
        compare(&step["outcome"], &answer).map_err(|why| format!("step {index}: {why}"))?;
    }
    ask(client, "DELETE", &path, JSON, String::new()).await;
    Ok(())
}

fn compare(outcome: &Value, answer: &Answer) -> Result<(), String> {
    answer.compare(outcome)?;
    if answer.code >= 300 {
        return Ok(());
    }
    let mut found = answer.body.clone();
    if let Some(metadata) = found["metadata"].as_object_mut() {
        for field in [
            "uid",
            "resourceVersion",
            "creationTimestamp",
            "managedFields",
        ] {
            metadata.remove(field);
        }
    }
    let mut wanted = outcome["result"].clone();
    plain(&mut wanted);
    plain(&mut found);
    if wanted == found {
        return Ok(());
    }
    Err(format!("want {wanted}\n  got {found}"))
}

/// Numbers as they are stored; the recorder wrote -0 as 0.
fn plain(value: &mut Value) {
    match value {
        Value::Number(number) if number.as_f64() == Some(0.0) => *value = 0.into(),
        Value::Number(_) => {
            let text = kubepkg_yaml::to_go_json(value).unwrap();
            *value = serde_json::from_str(&text).unwrap();
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        Value::Object(fields) => fields.values_mut().for_each(plain),
        _ => {}
    }
}
