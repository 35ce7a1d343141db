//! Helm's `lookup` template function against a cluster. Rendering is synchronous, so every question blocks
//! the rendering thread on the runtime; render on a blocking thread. Source of the rules: Helm 4.3.1
//! `pkg/engine/lookup_func.go`: an object that does not exist is an empty map, an empty name lists.

use super::{Call, Cluster, Verb};
use crate::{Lookup, LookupError};
use serde_json::{Value, json};
use std::sync::Arc;

/// `lookup` that asks a cluster. Use it on a thread that may block (`tokio::task::spawn_blocking`).
#[derive(Clone, Debug)]
pub struct ClusterLookup {
    cluster: Arc<Cluster>,
    runtime: tokio::runtime::Handle,
}

impl ClusterLookup {
    /// A lookup that asks `cluster` on `runtime`.
    pub fn new(cluster: Arc<Cluster>, runtime: tokio::runtime::Handle) -> Self {
        Self { cluster, runtime }
    }

    async fn ask(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Value, super::ApiError> {
        let resource = self
            .cluster
            .resource(api_version, kind)
            .await?
            .ok_or_else(|| super::ApiError::NoKind {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
            })?;
        let path = if name.is_empty() {
            resource.collection(namespace)
        } else {
            resource.object(namespace, name)
        };
        match self.cluster.call(Call::new(Verb::Get, path)).await {
            Ok(answer) => Ok(typed_items(answer.body, api_version, kind)),
            Err(error) if error.is_not_found() => Ok(json!({})),
            Err(error) => Err(error),
        }
    }
}

/// Items of a list come without their type; templates see it all the same.
fn typed_items(mut body: Value, api_version: &str, kind: &str) -> Value {
    if let Some(items) = body.get_mut("items").and_then(Value::as_array_mut) {
        for item in items.iter_mut().filter_map(Value::as_object_mut) {
            item.entry("apiVersion")
                .or_insert_with(|| json!(api_version));
            item.entry("kind").or_insert_with(|| json!(kind));
        }
    }
    body
}

impl Lookup for ClusterLookup {
    fn lookup(
        &self,
        api_version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Value, LookupError> {
        self.runtime
            .block_on(self.ask(api_version, kind, namespace, name))
            .map_err(|error| LookupError {
                message: error.to_string(),
            })
    }
}
