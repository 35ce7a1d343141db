//! Rolling back and removing.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams};
use kubepkg_backend::{Backend, BackendError, Outcome, Phase};
use serde_json::json;

use crate::stage::{Stage, ready, settle};

#[tokio::test]
async fn rolls_back_on_behalf_of_a_new_revision() {
    let stage = Stage::new().await;
    stage.installed().await;
    ready(
        &stage
            .apply(&stage.component(2, "2.0.0", json!({ "text": "new" })))
            .await,
    );
    let target = stage.target(3);
    assert_eq!(
        ready(&settle(|| stage.backend.rollback(&target, 1)).await),
        3
    );
    let config = stage.config().await.unwrap();
    assert_eq!(
        (config["version"].as_str(), config["text"].as_str()),
        ("1.0.0", "hello")
    );
    // Made once, whoever asks again.
    for backend in [&stage.backend, &stage.restarted()] {
        assert_eq!(
            backend.rollback(&target, 1).await.unwrap(),
            Outcome::Ready { revision: 3 }
        );
    }
    let found = stage
        .backend
        .status("shop", &target.placement)
        .await
        .unwrap();
    assert_eq!(
        (found.phase, found.package_revision),
        (Phase::Ready, Some(3))
    );
    assert_eq!(found.restorable, [1, 2, 3]);
}

#[tokio::test]
async fn a_rollback_interrupts_a_waiting_upgrade() {
    let stage = Stage::new().await;
    stage.installed().await;
    let held = stage
        .plane
        .pods()
        .hold(&stage.namespace, "app=web")
        .unwrap();
    crate::stage::waiting(
        &stage
            .backend
            .apply(&stage.component(2, "2.0.0", json!({})))
            .await
            .unwrap(),
    );
    held.release();
    let target = stage.target(3);
    assert_eq!(
        ready(&settle(|| stage.backend.rollback(&target, 1)).await),
        3
    );
    assert_eq!(stage.config().await.unwrap()["version"], "1.0.0");
}

#[tokio::test]
async fn a_revision_that_is_gone_changes_nothing() {
    let stage = Stage::new().await;
    stage.installed().await;
    let mark = stage.plane.audit().mark().unwrap();
    let error = stage
        .backend
        .rollback(&stage.target(2), 7)
        .await
        .unwrap_err();
    assert!(
        matches!(error, BackendError::RevisionGone { revision: 7, .. }),
        "{error:?}"
    );
    let requests = stage.requests_since(mark);
    assert!(requests.writes().is_empty());
}

#[tokio::test]
async fn removes_a_release_and_answers_gone_again() {
    let stage = Stage::new().await;
    stage.installed().await;
    let target = stage.target(2);
    assert_eq!(
        settle(|| stage.backend.uninstall(&target)).await,
        Outcome::Gone
    );
    assert!(stage.config().await.is_none());
    assert_eq!(
        stage.backend.uninstall(&target).await.unwrap(),
        Outcome::Gone
    );
    let found = stage
        .backend
        .status("shop", &target.placement)
        .await
        .unwrap();
    assert_eq!(found.phase, Phase::Absent);
    // A release of the same name can be made afterwards.
    assert_eq!(
        ready(&stage.apply(&stage.component(3, "1.0.0", json!({}))).await),
        1
    );
}

#[tokio::test]
async fn a_pending_install_can_be_removed() {
    let stage = Stage::new().await;
    let _held = stage
        .plane
        .pods()
        .hold(&stage.namespace, "app=web")
        .unwrap();
    let component = stage.component(1, "1.0.0", json!({}));
    crate::stage::waiting(&stage.backend.apply(&component).await.unwrap());
    let restarted = stage.restarted();
    let target = stage.target(2);
    assert_eq!(settle(|| restarted.uninstall(&target)).await, Outcome::Gone);
    assert!(stage.config().await.is_none());
}

#[tokio::test]
async fn crds_stay_when_their_release_lets_go_of_them_unless_they_may_go() {
    for keep in [true, false] {
        let stage = Stage::new().await;
        let group = format!("{}.example.org", stage.namespace);
        let files = crate::charts::with_crd(&group);
        stage.server.add_chart("crd", "1.0.0", files).unwrap();
        let crds: Api<CustomResourceDefinition> = Api::all(stage.plane.client().unwrap());
        let name = format!("widgets.{group}");
        let component = |revision, values| {
            let mut component = stage.component_of("crd", revision, "1.0.0", values);
            component.target.keep_crds = keep;
            component
        };
        ready(&stage.apply(&component(1, json!({}))).await);
        assert!(crds.get_opt(&name).await.unwrap().is_some());

        ready(
            &stage
                .apply(&component(2, json!({ "enabled": false })))
                .await,
        );
        let left = crds.get_opt(&name).await.unwrap();
        let going = left
            .as_ref()
            .is_none_or(|crd| crd.metadata.deletion_timestamp.is_some());
        assert_eq!(going, !keep, "upgrade with keep_crds {keep}");

        let target = component(3, json!({})).target;
        if keep {
            ready(&stage.apply(&component(3, json!({}))).await);
            assert_eq!(
                settle(|| stage.backend.uninstall(&target)).await,
                Outcome::Gone
            );
            let crd = crds.get(&name).await.unwrap();
            assert!(crd.metadata.deletion_timestamp.is_none());
            crds.delete(&name, &DeleteParams::default()).await.unwrap();
        }
    }
}
