//! CustomResourceDefinitions against what kube-apiserver 1.36.3 answered.

use kube::Client;
use kubepkg_sandbox::crd::definition;
use kubepkg_sandbox::{ApiOptions, ApiServer};
use kubepkg_vectors::Vectors;
use serde_json::{Value, json};

use crate::recorded::{self, Answer, ask};

const VECTORS: Vectors<'_> = Vectors {
    name: "crd-crd-validity",
    packed: include_bytes!("../vectors/crd-crd-validity.jsonl.gz"),
    exceptions: include_str!("../vectors/exceptions.txt"),
};

#[test]
fn definitions_are_refused_and_warned_about_as_on_the_api_server() {
    let runtime = recorded::runtime();
    let _inside = runtime.enter();
    let server = ApiServer::new(&ApiOptions::default());
    let client = server.client();
    VECTORS.run(|row| {
        let answer = runtime.block_on(post(&client, &row["crd"]));
        answer.compare(&row["outcome"])?;
        pure(row)
    });
}

async fn post(client: &Client, definition: &Value) -> Answer {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";
    ask(
        client,
        "POST",
        path,
        "application/json",
        definition.to_string(),
    )
    .await
}

/// The same by the function alone, as far as it goes: what is wrong with the metadata is the server's.
fn pure(row: &Value) -> Result<(), String> {
    let outcome = &row["outcome"];
    if outcome["code"] == 400 {
        return Ok(());
    }
    let mut definition = row["crd"].clone();
    definition::complete(&mut definition);
    let mut found: Vec<Value> = definition::check(&definition)
        .into_iter()
        .map(
            |error| json!({"field": error.field, "message": error.message, "reason": error.reason}),
        )
        .collect();
    let causes = outcome["causes"].as_array().cloned().unwrap_or_default();
    let mut wanted: Vec<Value> = causes
        .into_iter()
        .filter(|cause| !matches!(cause["field"].as_str(), Some("metadata.name")))
        .collect();
    found.sort_by_key(Value::to_string);
    wanted.sort_by_key(Value::to_string);
    if found == wanted {
        return Ok(());
    }
    Err(format!("function: want {wanted:?}\n  got {found:?}"))
}
