//! What a plane is made of.

use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::{Api, ListParams, PostParams};
use kubepkg_sandbox::{ControlPlane, Controllers, Options};
use serde_json::json;

#[tokio::test]
async fn more_users_request_bodies_and_fewer_parts_as_asked() {
    let options = Options::default()
        .controllers(Controllers::Base)
        .without_pods()
        .user("auditor")
        .audit_bodies();
    let plane = ControlPlane::start(options).await.unwrap();
    let namespace = plane.namespace("options").await.unwrap();
    let client = plane.client_as("auditor").unwrap();
    let nodes: Api<Node> = Api::all(client.clone());
    assert!(
        nodes
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .is_empty()
    );

    let api: Api<ConfigMap> = Api::namespaced(client, &namespace);
    let mark = plane.audit().mark().unwrap();
    let made = json!({"metadata": {"name": "m"}, "data": {"a": "b"}});
    api.create(
        &PostParams::default(),
        &serde_json::from_value(made).unwrap(),
    )
    .await
    .unwrap();
    let seen = plane
        .audit()
        .since(mark)
        .unwrap()
        .by_user("auditor")
        .writes();
    let bodies: Vec<_> = seen
        .iter()
        .filter_map(|request| request.body.as_ref())
        .collect();
    assert_eq!(bodies.len(), 1, "{seen}");
    assert_eq!(bodies[0]["data"], json!({"a": "b"}));
}
