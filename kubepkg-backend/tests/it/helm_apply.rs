//! Installing and upgrading.

use std::time::Duration;

use kubepkg_api::{ChartRef, chain};
use kubepkg_backend::{Backend, BackendError, ChartSource, Outcome, Phase};
use kubepkg_sandbox::Fault;
use serde_json::json;

use crate::stage::{Stage, ready, waiting};

#[tokio::test]
async fn installs_a_release_that_helm_can_read() {
    let stage = Stage::new().await;
    let component = stage.component(1, "1.0.0", json!({ "text": "there" }));
    assert_eq!(ready(&stage.apply(&component).await), 1);
    assert_eq!(stage.config().await.unwrap()["text"], "there");
    assert_eq!(stage.history(), [(1, "deployed".to_owned())]);
    assert_eq!(stage.helm_json(&["get", "values", "web"])["text"], "there");

    let found = stage
        .backend
        .status("shop", &component.target.placement)
        .await
        .unwrap();
    assert_eq!(found.phase, Phase::Ready);
    assert!(found.is_ready_at(1));
    assert_eq!(found.package_revision, Some(1));
    assert_eq!(found.restorable, [1]);
}

#[tokio::test]
async fn a_settled_revision_is_not_written_again() {
    let stage = Stage::new().await;
    stage.installed().await;
    let component = stage.component(1, "1.0.0", json!({}));
    let mark = stage.plane.audit().mark().unwrap();
    for backend in [&stage.backend, &stage.restarted()] {
        assert_eq!(
            backend.apply(&component).await.unwrap(),
            Outcome::Ready { revision: 1 }
        );
    }
    let requests = stage.requests_since(mark);
    assert_eq!(requests.count(), 2, "one look at the records each");
    assert!(requests.writes().is_empty());
}

#[tokio::test]
async fn who_awaits_changes_comes_to_the_end_without_asking_in_between() {
    let stage = Stage::new().await;
    let held = stage
        .plane
        .pods()
        .hold(&stage.namespace, "app=web")
        .unwrap();
    let component = stage.component(1, "1.0.0", json!({}));
    waiting(&stage.backend.apply(&component).await.unwrap());
    held.release();
    let placement = &component.target.placement;
    let outcome = loop {
        // Every change is told, also one that came between the look and this call.
        let changed = stage.backend.changed(placement);
        let told = tokio::time::timeout(Duration::from_mins(1), changed).await;
        assert!(told.is_ok(), "a change was not told");
        match stage.backend.apply(&component).await.unwrap() {
            Outcome::Waiting { .. } => {}
            outcome => break outcome,
        }
    };
    assert_eq!(ready(&outcome), 1);
    // Nothing is awaited any more, nor was it elsewhere.
    for backend in [&stage.backend, &stage.restarted()] {
        let changed = backend.changed(placement);
        let told = tokio::time::timeout(Duration::from_millis(200), changed).await;
        assert!(told.is_err());
    }
}

#[tokio::test]
async fn waits_without_holding_and_goes_on_after_a_restart() {
    let stage = Stage::new().await;
    let held = stage
        .plane
        .pods()
        .hold(&stage.namespace, "app=web")
        .unwrap();
    let component = stage.component(1, "1.0.0", json!({}));
    let first = stage.backend.apply(&component).await.unwrap();
    let message = waiting(&first);
    assert!(
        message.contains(&format!("Deployment {}/web", stage.namespace)),
        "{message}"
    );
    let placement = &component.target.placement;
    let found = stage.backend.status("shop", placement).await.unwrap();
    assert_eq!(
        (found.phase, found.package_revision),
        (Phase::Progressing, Some(1))
    );

    let restarted = stage.restarted();
    waiting(&restarted.apply(&component).await.unwrap());
    held.release();
    assert_eq!(
        ready(&crate::stage::settle(|| restarted.apply(&component)).await),
        1
    );
    assert_eq!(
        stage.history(),
        [(1, "deployed".to_owned())],
        "no second revision was made"
    );
}

#[tokio::test]
async fn upgrades_for_a_new_revision_and_prunes_what_is_gone() {
    let stage = Stage::new().await;
    stage.installed().await;
    let component = stage.component(2, "2.0.0", json!({ "text": "new" }));
    assert_eq!(ready(&stage.apply(&component).await), 2);
    let config = stage.config().await.unwrap();
    assert_eq!(
        (config["version"].as_str(), config["text"].as_str()),
        ("2.0.0", "new")
    );
    assert_eq!(
        stage.history(),
        [(1, "superseded".to_owned()), (2, "deployed".to_owned())]
    );
    let api: kube::Api<k8s_openapi::api::core::v1::ConfigMap> =
        kube::Api::namespaced(stage.plane.client().unwrap(), &stage.namespace);
    assert!(api.get_opt("web-extra").await.unwrap().is_none());
    let found = stage
        .backend
        .status("shop", &component.target.placement)
        .await
        .unwrap();
    assert_eq!(
        (found.package_revision, found.restorable),
        (Some(2), vec![1, 2])
    );
}

#[tokio::test]
async fn an_operation_of_an_older_revision_is_cancelled() {
    let stage = Stage::new().await;
    stage.installed().await;
    let held = stage
        .plane
        .pods()
        .hold(&stage.namespace, "app=web")
        .unwrap();
    waiting(
        &stage
            .backend
            .apply(&stage.component(2, "2.0.0", json!({})))
            .await
            .unwrap(),
    );
    held.release();
    let component = stage.component(3, "1.0.0", json!({ "text": "third" }));
    // Another process has to find the old operation in the records.
    let restarted = stage.restarted();
    assert_eq!(
        ready(&crate::stage::settle(|| restarted.apply(&component)).await),
        3
    );
    assert_eq!(stage.config().await.unwrap()["text"], "third");
    let statuses: Vec<String> = stage
        .history()
        .into_iter()
        .map(|(_, status)| status)
        .collect();
    assert_eq!(statuses[1..], ["failed", "deployed"]);
}

#[tokio::test]
async fn a_failure_stays_the_answer_until_a_new_revision() {
    let stage = Stage::new().await;
    stage.installed().await;
    let _held = stage
        .plane
        .pods()
        .hold(&stage.namespace, "app=web")
        .unwrap();
    let mut component = stage.component(2, "2.0.0", json!({}));
    component.target.timeout = Duration::from_secs(3);
    let failed = stage.apply(&component).await;
    let Outcome::Failed {
        revision: Some(2),
        message,
        permanent: false,
    } = &failed
    else {
        panic!("{failed:?}")
    };
    assert!(message.contains("resource Deployment/"), "{message}");
    assert!(!message.contains('\n'), "{message}");
    for backend in [&stage.backend, &stage.restarted()] {
        assert_eq!(backend.apply(&component).await.unwrap(), failed);
    }
    let found = stage
        .backend
        .status("shop", &component.target.placement)
        .await
        .unwrap();
    assert_eq!((found.phase, found.revision), (Phase::Failed, Some(2)));
    assert!(
        found.message.contains("resource Deployment/"),
        "{}",
        found.message
    );
}

#[tokio::test]
async fn what_does_not_render_fails_for_good_and_writes_nothing() {
    let stage = Stage::new().await;
    let broken = stage.component_of("broken", 1, "1.0.0", json!({}));
    let wrong = stage.component(1, "1.0.0", json!({ "replicas": "three" }));
    for (component, expected) in [
        (broken, "this chart does not render"),
        (wrong, "got string, want integer"),
    ] {
        let outcome = stage.apply(&component).await;
        let Outcome::Failed {
            revision: None,
            message,
            permanent: true,
        } = &outcome
        else {
            panic!("{outcome:?}")
        };
        assert!(message.contains(expected), "{message}");
        let found = stage
            .backend
            .status("shop", &component.target.placement)
            .await
            .unwrap();
        assert_eq!(found.phase, Phase::Absent);
    }
}

#[tokio::test]
async fn makes_a_missing_namespace_and_keeps_it() {
    let stage = Stage::new().await;
    let mut component = stage.component(1, "1.0.0", json!({}));
    component.target.placement.namespace = stage.plane.unique("fresh");
    assert_eq!(ready(&stage.apply(&component).await), 1);
    let namespaces: kube::Api<k8s_openapi::api::core::v1::Namespace> =
        kube::Api::all(stage.plane.client().unwrap());
    let made = namespaces
        .get(&component.target.placement.namespace)
        .await
        .unwrap();
    let annotations = made.metadata.annotations.unwrap_or_default();
    assert_eq!(
        annotations
            .get("helm.sh/resource-policy")
            .map(String::as_str),
        Some("keep")
    );
}

#[tokio::test]
async fn prepares_charts_and_says_why_not() {
    let stage = Stage::new().await;
    let (chart, digest) = stage.chart("web", "1.0.0");
    assert_eq!(stage.backend.prepare(&chart).await.unwrap(), digest);

    let missing = ChartSource::Published(ChartRef {
        repository: stage.server.registry_url(),
        name: "web".into(),
        version: "9.9.9".into(),
        ..ChartRef::default()
    });
    let error = stage.backend.prepare(&missing).await.unwrap_err();
    assert!(
        matches!(
            error,
            BackendError::Chart {
                transient: false,
                ..
            }
        ),
        "{error:?}"
    );
    assert!(chain(&error).contains("9.9.9"), "{}", chain(&error));

    stage.server.fault(
        &stage.server.manifest_path("web", "1.0.0"),
        Fault::ServerError { times: 9 },
    );
    let error = stage.restarted().prepare(&chart).await.unwrap_err();
    assert!(error.is_transient(), "{}", chain(&error));

    let tree = ChartSource::Tree {
        url: "oci://r.example/tree".into(),
        path: "web".into(),
    };
    let error = stage.backend.prepare(&tree).await.unwrap_err();
    assert!(
        matches!(error, BackendError::Unsupported { .. }),
        "{error:?}"
    );
}
