use super::charts::{config_map, deployment, install, rendered, upgrade};
use super::{helm_of, plane};
use kubepkg_helm::{Advance, FailureReason, ReleaseOptions, ReleaseStatus, Status, Wait};
use std::time::Duration;

#[tokio::test]
async fn waiting_returns_and_ends_when_objects_are_ready() {
    let plane = plane().await;
    let namespace = plane.namespace("wait").await.unwrap();
    let rule = plane.pods().hold(&namespace, "app=web").unwrap();
    let helm = helm_of("kubepkg").await;
    let options = ReleaseOptions {
        wait: Wait::Ready,
        ..ReleaseOptions::default()
    };
    let chart = rendered(
        "1.0.0",
        &[config_map("a", "1"), deployment("web", "run")],
        vec![],
    );
    let mut operation = helm
        .begin_install_rendered(install(&namespace, options), chart)
        .await
        .unwrap();
    let not_ready = loop {
        match operation.advance().await.unwrap() {
            Advance::Waiting { not_ready, .. } => break not_ready,
            Advance::Stepped(_) => {}
            Advance::Finished(outcome) => panic!("{outcome:?}"),
        }
    };
    assert_eq!(not_ready.len(), 1);
    assert_eq!(
        (not_ready[0].kind.as_str(), not_ready[0].name.as_str()),
        ("Deployment", "web")
    );
    assert_eq!(not_ready[0].status, Status::InProgress);
    rule.release();
    let outcome = operation.run().await.unwrap();
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
}

#[tokio::test]
async fn a_timeout_fails_with_helms_words_and_an_upgrade_keeps_the_good_revision() {
    let plane = plane().await;
    let namespace = plane.namespace("late").await.unwrap();
    let helm = helm_of("kubepkg").await;
    let first = rendered("1.0.0", &[config_map("a", "1")], vec![]);
    let request = install(&namespace, ReleaseOptions::default());
    helm.begin_install_rendered(request, first)
        .await
        .unwrap()
        .run()
        .await
        .unwrap();
    let options = ReleaseOptions {
        wait: Wait::Ready,
        timeout: Duration::from_secs(2),
        ..ReleaseOptions::default()
    };
    let chart = rendered(
        "1.1.0",
        &[config_map("a", "1"), deployment("web", "never")],
        vec![],
    );
    let request = upgrade(&namespace, options);
    let outcome = helm
        .begin_upgrade_rendered(request, chart)
        .await
        .unwrap()
        .run()
        .await
        .unwrap();
    let failure = outcome.failure.unwrap();
    assert_eq!(failure.reason, FailureReason::Timeout);
    assert_eq!(
        failure.message,
        format!(
            "resource Deployment/{namespace}/web not ready. status: InProgress, message: Available: 0/1\ncontext deadline exceeded"
        )
    );
    let history = helm.history(&namespace, "demo").await.unwrap();
    let told: Vec<&str> = history.iter().map(|head| head.status.as_str()).collect();
    assert_eq!(told, ["deployed", "failed"]);
    let release = helm.get(&namespace, "demo", Some(2)).await.unwrap();
    assert!(
        release
            .info
            .description
            .starts_with("Upgrade \"demo\" failed: resource Deployment/")
    );

    // What the failed revision added is removed by the next one that lacks it.
    let chart = rendered("1.2.0", &[config_map("a", "2")], vec![]);
    let request = upgrade(&namespace, ReleaseOptions::default());
    let outcome = helm
        .begin_upgrade_rendered(request, chart)
        .await
        .unwrap()
        .run()
        .await
        .unwrap();
    assert!(outcome.succeeded());
    let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments/web");
    assert!(super::live(&path).await.is_none());
}

#[tokio::test]
async fn a_cancelled_operation_is_recorded_as_failed() {
    let plane = plane().await;
    let namespace = plane.namespace("cancel").await.unwrap();
    let helm = helm_of("kubepkg").await;
    let options = ReleaseOptions {
        wait: Wait::Ready,
        ..ReleaseOptions::default()
    };
    let chart = rendered("1.0.0", &[deployment("web", "never")], vec![]);
    let mut operation = helm
        .begin_install_rendered(install(&namespace, options), chart)
        .await
        .unwrap();
    while !matches!(operation.advance().await.unwrap(), Advance::Waiting { .. }) {}
    let outcome = operation.cancel("a newer specification").await.unwrap();
    assert_eq!(outcome.failure.unwrap().reason, FailureReason::Cancelled);
    let release = helm.status(&namespace, "demo").await.unwrap();
    assert_eq!(release.info.status, ReleaseStatus::Failed);
    assert_eq!(
        release.info.description,
        "Release \"demo\" failed: a newer specification"
    );
    assert!(matches!(
        operation.advance().await.unwrap(),
        Advance::Finished(_)
    ));
}
