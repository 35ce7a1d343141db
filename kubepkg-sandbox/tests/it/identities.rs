//! Users, rights, and the audit log that tells them apart.

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kubepkg_sandbox::{ControlPlane, SandboxError};
use serde_json::json;

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"a": "b"}})).unwrap()
}

#[tokio::test]
async fn audit_log_tells_clients_apart_and_counts_their_writes() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace("audit").await.unwrap();
    let helm: Api<ConfigMap> = Api::namespaced(plane.client_as("helm").unwrap(), &namespace);
    let test: Api<ConfigMap> = Api::namespaced(plane.client_as("test").unwrap(), &namespace);
    let mark = plane.audit().mark().unwrap();
    helm.create(&PostParams::default(), &config_map("one"))
        .await
        .unwrap();
    helm.get("one").await.unwrap();
    assert!(
        helm.create(&PostParams::default(), &config_map("one"))
            .await
            .is_err()
    );
    test.list(&ListParams::default()).await.unwrap();
    let dry = PatchParams {
        dry_run: true,
        ..PatchParams::default()
    };
    let patch = Patch::Merge(json!({"data": {"a": "c"}}));
    test.patch("one", &dry, &patch).await.unwrap();

    let seen = plane.audit().since(mark).unwrap().in_namespace(&namespace);
    let by_helm = seen.clone().by_user("helm");
    assert_eq!(by_helm.count(), 3, "{by_helm}");
    assert_eq!(by_helm.clone().writes().count(), 2, "{by_helm}");
    let refused: Vec<_> = by_helm
        .failed()
        .iter()
        .map(|request| request.status)
        .collect();
    assert_eq!(refused, [409]);
    let by_test = seen.by_user("test");
    assert!(by_test.clone().writes().is_empty(), "{by_test}");
    assert_eq!(by_test.verb("list").resource("configmaps").count(), 1);
}

#[tokio::test]
async fn service_account_may_do_what_it_was_granted() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace("rights").await.unwrap();
    let account = plane.service_account(&namespace, "reader").await.unwrap();
    assert_eq!(
        account.user(),
        format!("system:serviceaccount:{namespace}:reader")
    );
    let api: Api<ConfigMap> = Api::namespaced(account.client().unwrap(), &namespace);
    let refused = api.list(&ListParams::default()).await.unwrap_err();
    assert!(matches!(refused, kube::Error::Api(status) if status.code == 403));
    let rule: PolicyRule = serde_json::from_value(json!({
        "apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"],
    }))
    .unwrap();
    plane.grant(&account, vec![rule]).await.unwrap();
    let mut attempts = 0;
    while api.list(&ListParams::default()).await.is_err() {
        attempts += 1;
        assert!(attempts < 500, "the grant is not seen");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert!(
        api.create(&PostParams::default(), &config_map("x"))
            .await
            .is_err()
    );
    assert!(account.kubeconfig().is_file());
}

#[tokio::test]
async fn unknown_user_is_refused_with_the_known_ones() {
    let plane = ControlPlane::shared().await.unwrap();
    match plane.identity("nobody") {
        Err(SandboxError::UnknownUser { known, .. }) => {
            assert!(known.contains("admin, helm, kubectl"), "{known}");
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn kubectl_reads_the_version_of_the_server() {
    let plane = ControlPlane::shared().await.unwrap();
    let mut command = plane.command("kubectl", "kubectl").unwrap();
    let output = command.args(["version", "-o", "json"]).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let version: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let server = version["serverVersion"]["gitVersion"].as_str().unwrap();
    assert!(server.starts_with("v1."), "{server}");
}
