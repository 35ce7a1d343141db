//! Releases on a real API server, and taking turns with the real Helm.

mod alternate;
mod charts;
mod choices;
mod complaints;
mod crash;
mod drift;
mod examples;
mod hook_logs;
mod hooks;
mod interop;
mod lifecycle;
mod post_rendering;
mod refusals;
mod requests;
mod through;
mod twins;
mod waiting;
mod watching;

use kubepkg_helm::{Helm, HelmOptions};
use kubepkg_sandbox::ControlPlane;
use serde_json::Value;

/// The plane that all tests of this binary share.
async fn plane() -> &'static ControlPlane {
    ControlPlane::shared().await.expect("control plane")
}

/// Helm of a user of that name, so that the audit log can tell its requests.
async fn helm_of(user: &str) -> Helm {
    Helm::new(
        plane().await.client_as(user).expect("client"),
        HelmOptions::default(),
    )
}

/// A live object by its path; none when it does not exist.
async fn live(path: &str) -> Option<Value> {
    let client = plane().await.client().expect("client");
    let request = http::Request::get(path).body(Vec::new()).expect("request");
    match client.request::<Value>(request).await {
        Ok(value) => Some(value),
        Err(kube::Error::Api(status)) if status.code == 404 => None,
        Err(error) => panic!("{path}: {error}"),
    }
}

/// Creates an object as the administrator.
async fn create(path: &str, object: &Value) {
    let client = plane().await.client().expect("client");
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .body(object.to_string().into_bytes())
        .expect("request");
    client.request::<Value>(request).await.expect("created");
}

fn config_map_path(namespace: &str, name: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps/{name}")
}
