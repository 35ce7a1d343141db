//! `schemas FOLDER DATA`: asks a real API server for what it knows of its kinds, and writes it down: into the first
//! folder for `kubepkg-patch`, into the second for the sandbox's own API server. `cargo xtask schemas` runs it.
//!
//! `openapi.json.gz` has the schemas of all kinds without descriptions, and which of them each group version names;
//! `discovery.json.gz` what the aggregated discovery says; `types.json.gz` is the model made of the schemas;
//! `version` the version of the server.
//!
//! `DATA/columns.json.gz` has the columns of the tables of every resource by its path; `DATA/descriptions.gz` a line for
//! each schema: its name, a tab, and its descriptions by JSON pointer.
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
    let mut folders = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(folder), Some(data)) = (folders.next(), folders.next()) else {
        return Err("usage: schemas FOLDER DATA".into());
    };
    let plane = ControlPlane::start(Options::default().without_pods()).await?;
    let client = plane.client()?;
    let version = get(&client, "/version", "application/json").await?;
    let (mut schemas, mut group_versions) = (Map::new(), BTreeMap::new());
    let mut descriptions: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    let index = get(&client, "/openapi/v3", "application/json").await?;
    for (name, entry) in index["paths"].as_object().into_iter().flatten() {
        let url = entry["serverRelativeURL"].as_str().unwrap_or_default();
        let mut document = get(&client, url, "application/json").await?;
        let Value::Object(found) = document["components"]["schemas"].take() else {
            continue;
        };
        let all: Vec<String> = found.keys().cloned().collect();
        for (name, mut schema) in found {
            let texts = descriptions.entry(name.clone()).or_default();
            take_descriptions(&mut schema, "", texts);
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
    let columns = columns(&client, &discovery).await?;
    write(&data, "columns.json.gz", &json!(columns))?;
    let lines: Vec<String> = descriptions
        .into_iter()
        .filter(|(_, texts)| !texts.is_empty())
        .map(|(name, texts)| format!("{name}\t{}\n", Value::Object(texts)))
        .collect();
    write_text(&data, "descriptions.gz", &lines.concat())?;
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

/// The columns of the tables of all resources that can be listed.
async fn columns(client: &kube::Client, discovery: &Value) -> Result<BTreeMap<String, Value>> {
    const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let mut found = BTreeMap::new();
    let groups = ["api", "apis"].map(|part| discovery[part]["items"].as_array());
    for group in groups.into_iter().flatten().flatten() {
        let name = group["metadata"]["name"].as_str().unwrap_or_default();
        for version in group["versions"].as_array().into_iter().flatten() {
            let number = version["version"].as_str().unwrap_or_default();
            let base = if name.is_empty() {
                format!("/api/{number}")
            } else {
                format!("/apis/{name}/{number}")
            };
            for resource in version["resources"].as_array().into_iter().flatten() {
                let verbs = resource["verbs"].as_array();
                if verbs.is_some_and(|verbs| verbs.iter().any(|verb| verb == "list")) {
                    let plural = resource["resource"].as_str().unwrap_or_default();
                    let path = format!("{base}/{plural}");
                    let table = get(client, &path, TABLE).await?;
                    found.insert(path, table["columnDefinitions"].clone());
                }
            }
        }
    }
    Ok(found)
}

/// Takes out descriptions and notes them by their places; a field that is called so has a schema, not a text.
fn take_descriptions(schema: &mut Value, at: &str, texts: &mut Map<String, Value>) {
    match schema {
        Value::Object(fields) => {
            if fields.get("description").is_some_and(Value::is_string)
                && let Some(text) = fields.remove("description")
            {
                texts.insert(at.to_owned(), text);
            }
            for (name, value) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                take_descriptions(value, &format!("{at}/{name}"), texts);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                take_descriptions(item, &format!("{at}/{index}"), texts);
            }
        }
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
    write_text(folder, name, &value.to_string())
}

fn write_text(folder: &Path, name: &str, text: &str) -> Result<()> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(text.as_bytes())?;
    let packed = packed.finish()?;
    eprintln!("{name}: {} bytes, {} packed", text.len(), packed.len());
    fs::write(folder.join(name), packed)?;
    Ok(())
}
