//! The commands, one module each: arguments, the calls they make, and the table they show.

pub(crate) mod chart;
pub(crate) mod completions;
#[cfg(feature = "sandbox")]
pub(crate) mod demo;
pub(crate) mod history;
pub(crate) mod install;
pub(crate) mod list;
pub(crate) mod remove;
pub(crate) mod rollback;
#[cfg(feature = "sandbox")]
pub(crate) mod sandbox;
#[cfg(feature = "sandbox")]
pub(crate) mod test;

use kube::Resource;
use kubepkg_api::ApiGroup;
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::CliError;

/// `package.kubepkg.dev/<name>`, as `kubectl` names objects.
fn object_name<K: Resource<DynamicType = ApiGroup>>(group: &ApiGroup, name: &str) -> String {
    format!("{}.{group}/{name}", K::kind(group).to_lowercase())
}

/// Objects as kubectl writes several of them: a `List`.
fn list_value<'a, K: Serialize + 'a>(
    objects: impl Iterator<Item = &'a K>,
) -> Result<Value, CliError> {
    let items: Result<Vec<Value>, serde_json::Error> = objects.map(serde_json::to_value).collect();
    let items = items.map_err(|error| CliError::Format {
        format: "JSON",
        source: Box::new(error),
    })?;
    Ok(json!({ "apiVersion": "v1", "kind": "List", "items": items }))
}

/// `1 package`, `2 packages`.
fn packages(count: usize) -> String {
    if count == 1 {
        "1 package".to_owned()
    } else {
        format!("{count} packages")
    }
}
