//! `schemas FOLDER`: asks a real API server for what it knows of its kinds, and writes it down for
//! `kubepkg-patch`. `cargo xtask schemas` runs it.
//!
//! `openapi.json.gz` has the schemas of all kinds without descriptions, and which of them each group version names;
//! `discovery.json.gz` what the aggregated discovery says; `types.json.gz` is the model made of the schemas;
//! `version` the version of the server.
#![allow(clippy::print_stderr, reason = "a developer's tool")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::{Compression, write::GzEncoder};
use kubepkg_patch::schema::Model;
use kubepkg_sandbox::{ControlPlane, Options};
use serde_json::{Map, Value, json};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let folder = std::env::args_os().nth(1).ok_or("usage: schemas FOLDER")?;
    let folder = PathBuf::from(folder);
    let plane = ControlPlane::start(Options::default().without_pods()).await?;
    let client = plane.client()?;
    let version = get(&client, "/version", "application/json").await?;
    let (mut schemas, mut group_versions) = (Map::new(), BTreeMap::new());
    let index = get(&client, "/openapi/v3", "application/json").await?;
    for (name, entry) in index["paths"].as_object().into_iter().flatten() {
        let url = entry["serverRelativeURL"].as_str().unwrap_or_default();
        let mut document = get(&client, url, "application/json").await?;
        let Value::Object(found) = document["components"]["schemas"].take() else {
            continue;
        };
        let all: Vec<String> = found.keys().cloned().collect();
        for (name, mut schema) in found {
            strip(&mut schema);
            merge(&mut schemas, name, schema)?;
        }
        group_versions.insert(name.clone(), all);
    }
    let model = Model::from_openapi(&schemas)?;
    write(&folder, "types.json.gz", &model.to_compact())?;
    write(
        &folder,
        "openapi.json.gz",
        &json!({"schemas": schemas, "groupVersions": group_versions}),
    )?;
    let discovery = json!({
        "api": get(&client, "/api", DISCOVERY).await?,
        "apis": get(&client, "/apis", DISCOVERY).await?,
    });
    write(&folder, "discovery.json.gz", &discovery)?;
    let version = version["gitVersion"].as_str().unwrap_or_default();
    fs::write(folder.join("version"), format!("{version}\n"))?;
    Ok(())
}

async fn get(client: &kube::Client, url: &str, accept: &str) -> Result<Value> {
    let request = http::Request::get(url)
        .header(http::header::ACCEPT, accept)
        .body(Vec::new())?;
    let text = client.request_text(request).await?;
    Ok(serde_json::from_str(&text)?)
}

/// Takes out descriptions; a field that is called so has a schema, not a text.
fn strip(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("description").is_some_and(Value::is_string) {
                fields.remove("description");
            }
            fields.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {}
    }
}

/// Schemas of one name are the same in every group version, but for the kinds that they say they are.
fn merge(schemas: &mut Map<String, Value>, name: String, schema: Value) -> Result<()> {
    const KINDS: &str = "x-kubernetes-group-version-kind";
    let Some(known) = schemas.get_mut(&name) else {
        schemas.insert(name, schema);
        return Ok(());
    };
    let without = |schema: &Value| {
        let mut schema = schema.clone();
        schema.as_object_mut().map(|fields| fields.remove(KINDS));
        schema
    };
    if without(known) != without(&schema) {
        return Err(format!("{name} differs between group versions").into());
    }
    let mut kinds: Vec<Value> = known[KINDS].as_array().cloned().unwrap_or_default();
    for kind in schema[KINDS].as_array().into_iter().flatten() {
        if !kinds.contains(kind) {
            kinds.push(kind.clone());
        }
    }
    if !kinds.is_empty() {
        kinds.sort_by_key(ToString::to_string);
        known[KINDS] = Value::Array(kinds);
    }
    Ok(())
}

fn write(folder: &Path, name: &str, value: &Value) -> Result<()> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    let text = value.to_string();
    packed.write_all(text.as_bytes())?;
    let packed = packed.finish()?;
    eprintln!("{name}: {} bytes, {} packed", text.len(), packed.len());
    fs::write(folder.join(name), packed)?;
    Ok(())
}
