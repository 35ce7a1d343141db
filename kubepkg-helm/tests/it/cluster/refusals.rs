use super::charts::{config_map, five, install, rendered, upgrade};
use super::{config_map_path, create, helm_of, live, plane};
use kubepkg_helm::{
    FailureReason, OperationError, OperationKind, Preflight, ReleaseOptions, ReleaseStatus,
    StorageError, UninstallRequest,
};
use serde_json::json;
use std::time::Duration;

fn collection(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps")
}

#[tokio::test]
async fn a_foreign_object_is_not_touched() {
    let namespace = plane().await.namespace("foreign").await.unwrap();
    let helm = helm_of("kubepkg").await;
    create(&collection(&namespace), &config_map("five", "theirs")).await;
    let before = live(&config_map_path(&namespace, "five")).await.unwrap();
    let text = format!(
        "unable to continue with install: ConfigMap \"five\" in namespace \"{namespace}\" exists and cannot be imported into the current release: invalid ownership metadata; label validation error: missing key \"app.kubernetes.io/managed-by\": must be set to \"Helm\"; annotation validation error: missing key \"meta.helm.sh/release-name\": must be set to \"demo\"; annotation validation error: missing key \"meta.helm.sh/release-namespace\": must be set to \"{namespace}\""
    );

    // Asked for, the check comes before anything is written, as in Helm.
    let options = ReleaseOptions {
        preflight: Preflight::Always,
        ..ReleaseOptions::default()
    };
    let refused = helm
        .begin_install_rendered(
            install(&namespace, options),
            rendered("1.0.0", &five("1"), vec![]),
        )
        .await
        .unwrap_err();
    assert_eq!(refused.to_string(), text);
    assert!(helm.latest(&namespace, "demo").await.unwrap().is_none());

    // Otherwise it comes with the write, which does not happen.
    let request = install(&namespace, ReleaseOptions::default());
    let chart = rendered("1.0.0", &five("1"), vec![]);
    let outcome = helm
        .begin_install_rendered(request, chart)
        .await
        .unwrap()
        .run()
        .await
        .unwrap();
    let failure = outcome.failure.unwrap();
    assert_eq!(failure.reason, FailureReason::Foreign);
    assert_eq!(failure.message, text);
    assert_eq!(
        live(&config_map_path(&namespace, "five")).await.unwrap(),
        before
    );
    assert_eq!(
        helm.status(&namespace, "demo").await.unwrap().info.status,
        ReleaseStatus::Failed
    );

    // Nor does the removal of the failed release delete it.
    let outcome = helm
        .uninstall(UninstallRequest::new(&namespace, "demo"))
        .await
        .unwrap();
    assert!(outcome.succeeded());
    assert_eq!(
        live(&config_map_path(&namespace, "five")).await.unwrap(),
        before
    );

    // Adoption takes it over.
    let options = ReleaseOptions {
        take_ownership: true,
        force_conflicts: true,
        ..ReleaseOptions::default()
    };
    let chart = rendered("1.0.0", &five("ours"), vec![]);
    let operation = helm
        .begin_install_rendered(install(&namespace, options), chart)
        .await;
    assert!(operation.unwrap().run().await.unwrap().succeeded());
    assert_eq!(
        live(&config_map_path(&namespace, "five")).await.unwrap()["data"]["k"],
        "ours"
    );
}

#[tokio::test]
async fn another_managers_fields_are_a_conflict_unless_forced() {
    let namespace = plane().await.namespace("conflict").await.unwrap();
    let helm = helm_of("kubepkg").await;
    let request = install(&namespace, ReleaseOptions::default());
    let chart = rendered("1.0.0", &[config_map("a", "1")], vec![]);
    helm.begin_install_rendered(request, chart)
        .await
        .unwrap()
        .run()
        .await
        .unwrap();
    let client = plane().await.client().unwrap();
    let body = json!({"data": {"k": "theirs"}}).to_string().into_bytes();
    let request = http::Request::patch(format!(
        "{}?fieldManager=other",
        config_map_path(&namespace, "a")
    ))
    .header("content-type", "application/merge-patch+json")
    .body(body)
    .unwrap();
    client.request::<serde_json::Value>(request).await.unwrap();
    let chart = rendered("1.1.0", &[config_map("a", "2")], vec![]);
    let request = upgrade(&namespace, ReleaseOptions::default());
    let outcome = helm
        .begin_upgrade_rendered(request, chart.clone())
        .await
        .unwrap()
        .run()
        .await
        .unwrap();
    let failure = outcome.failure.unwrap();
    assert_eq!(failure.reason, FailureReason::Conflict);
    assert!(
        failure.message.starts_with(&format!(
            "conflict occurred while applying object {namespace}/a /v1, Kind=ConfigMap: Apply failed with 1 conflict"
        )),
        "{}",
        failure.message
    );
    let options = ReleaseOptions {
        force_conflicts: true,
        ..ReleaseOptions::default()
    };
    let operation = helm
        .begin_upgrade_rendered(upgrade(&namespace, options), chart)
        .await;
    assert!(operation.unwrap().run().await.unwrap().succeeded());
    assert_eq!(
        live(&config_map_path(&namespace, "a")).await.unwrap()["data"]["k"],
        "2"
    );
}

#[tokio::test]
async fn an_unknown_field_or_kind_is_refused() {
    let namespace = plane().await.namespace("unknown").await.unwrap();
    let helm = helm_of("kubepkg").await;
    let mut wrong = config_map("a", "1");
    wrong["spec"] = json!({"nope": 1});
    let request = install(&namespace, ReleaseOptions::default());
    let operation = helm
        .begin_install_rendered(request, rendered("1.0.0", &[wrong], vec![]))
        .await;
    let outcome = operation.unwrap().run().await.unwrap();
    let failure = outcome.failure.unwrap();
    assert_eq!(failure.reason, FailureReason::Refused);
    assert!(
        failure
            .message
            .contains(".spec: field not declared in schema"),
        "{}",
        failure.message
    );
    // The manifest names the template.
    assert!(
        failure
            .message
            .ends_with("(template demo/templates/0.yaml)"),
        "{}",
        failure.message
    );
    let kindless = json!({"apiVersion": "nope.test/v1", "kind": "Nope", "metadata": {"name": "x"}});
    let mut request = install(&namespace, ReleaseOptions::default());
    request.name = "other".to_owned();
    let refused = helm
        .begin_install_rendered(request, rendered("1.0.0", &[kindless], vec![]))
        .await
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "resource mapping not found for name: \"x\" namespace: \"\" from \"\": no matches for kind \"Nope\" in version \"nope.test/v1\"\nensure CRDs are installed first"
    );
}

#[tokio::test]
async fn one_operation_at_a_time() {
    let namespace = plane().await.namespace("busy").await.unwrap();
    let helm = helm_of("kubepkg").await;
    let request = install(&namespace, ReleaseOptions::default());
    let chart = rendered("1.0.0", &[config_map("a", "1")], vec![]);
    let mut operation = helm
        .begin_install_rendered(request, chart.clone())
        .await
        .unwrap();
    operation.advance().await.unwrap();

    let again = helm
        .begin_install_rendered(
            install(&namespace, ReleaseOptions::default()),
            chart.clone(),
        )
        .await
        .unwrap_err();
    assert_eq!(
        again.to_string(),
        "release name check failed: cannot reuse a name that is still in use"
    );
    let busy = helm
        .begin_upgrade_rendered(upgrade(&namespace, ReleaseOptions::default()), chart)
        .await
        .unwrap_err();
    assert_eq!(
        busy.to_string(),
        "another operation (install/upgrade/rollback) is in progress"
    );
    assert!(matches!(
        busy,
        OperationError::Pending {
            operation: Some(OperationKind::Install),
            revision: 1,
            ..
        }
    ));

    // Young ones are not given up.
    let young = helm
        .recover_interrupted(&namespace, "demo", Duration::from_hours(1))
        .await;
    assert!(matches!(young, Err(OperationError::TooYoung { .. })));
    let release = helm
        .recover_interrupted(&namespace, "demo", Duration::ZERO)
        .await
        .unwrap();
    assert_eq!(release.info.status, ReleaseStatus::Failed);

    // The first operation finds its record taken over and stops.
    let lost = operation.run().await.unwrap_err();
    assert!(matches!(lost, OperationError::Overtaken { .. }), "{lost:?}");
}

#[tokio::test]
async fn a_damaged_record_is_reported_and_left() {
    let namespace = plane().await.namespace("damaged").await.unwrap();
    let helm = helm_of("kubepkg").await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
        "metadata": {"name": "sh.helm.release.v1.demo.v1",
            "labels": {"name": "demo", "owner": "helm", "status": "deployed", "version": "1"}},
        "stringData": {"release": "aGk="}});
    create(&format!("/api/v1/namespaces/{namespace}/secrets"), &secret).await;
    let path = format!("/api/v1/namespaces/{namespace}/secrets/sh.helm.release.v1.demo.v1");
    let before = live(&path).await.unwrap();
    let chart = rendered("1.0.0", &[config_map("a", "1")], vec![]);
    let request = upgrade(&namespace, ReleaseOptions::default());
    let refused = helm
        .begin_upgrade_rendered(request, chart)
        .await
        .unwrap_err();
    assert!(matches!(
        refused,
        OperationError::Storage(StorageError::Record(_))
    ));
    assert_eq!(
        refused.to_string(),
        "get: failed to decode data \"sh.helm.release.v1.demo.v1\": invalid character 'h' looking for beginning of value"
    );
    assert!(
        helm.uninstall(UninstallRequest::new(&namespace, "demo"))
            .await
            .is_err()
    );
    assert_eq!(live(&path).await.unwrap(), before);
    assert_eq!(
        helm.latest(&namespace, "demo")
            .await
            .unwrap()
            .unwrap()
            .revision,
        1
    );
}

#[tokio::test]
async fn a_caller_may_not_set_helms_own_labels() {
    let helm = helm_of("kubepkg").await;
    let options = ReleaseOptions {
        labels: [("owner".to_owned(), "me".to_owned())].into(),
        ..ReleaseOptions::default()
    };
    let refused = helm
        .begin_install_rendered(install("default", options), rendered("1.0.0", &[], vec![]))
        .await
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "user supplied labels contains system reserved label name. System labels: [name owner status version createdAt modifiedAt]"
    );
}
