//! Releases and objects of others.

use kubepkg_api::chain;
use kubepkg_backend::{Backend, BackendError, Outcome, Phase};
use serde_json::json;

use crate::stage::{Stage, ready};

/// A release that somebody made with Helm.
fn helm_install(stage: &Stage, labels: &[&str]) {
    let chart = format!("{}/web", stage.server.registry_url());
    let mut arguments = vec![
        "install",
        "web",
        &chart,
        "--version",
        "1.0.0",
        "--plain-http",
        "--set",
        "text=theirs",
    ];
    arguments.extend_from_slice(labels);
    let output = stage.helm(&arguments);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[tokio::test]
async fn a_foreign_release_is_never_touched() {
    for (labels, why) in [
        (&[][..], "was not made by kubepkg"),
        (
            &["--labels", "kubepkg.dev/package=other"][..],
            "belongs to package other",
        ),
    ] {
        let stage = Stage::new().await;
        helm_install(&stage, labels);
        let mark = stage.plane.audit().mark().unwrap();
        let component = stage.component(1, "2.0.0", json!({}));
        let target = &component.target;
        for error in [
            stage.backend.apply(&component).await.unwrap_err(),
            stage.backend.rollback(target, 1).await.unwrap_err(),
            stage.backend.uninstall(target).await.unwrap_err(),
        ] {
            assert!(matches!(error, BackendError::Foreign { .. }), "{error:?}");
            assert!(!error.is_transient());
            assert!(chain(&error).contains(why), "{}", chain(&error));
        }
        let found = stage
            .backend
            .status("shop", &target.placement)
            .await
            .unwrap();
        assert_eq!(found.phase, Phase::Foreign);
        let requests = stage.requests_since(mark);
        assert!(requests.writes().is_empty());
        assert_eq!(stage.config().await.unwrap()["text"], "theirs");
    }
}

#[tokio::test]
async fn a_foreign_release_is_adopted_when_asked_for() {
    let stage = Stage::new().await;
    helm_install(&stage, &[]);
    let mut component = stage.component(1, "2.0.0", json!({ "text": "ours" }));
    component.adopt = true;
    assert_eq!(ready(&stage.apply(&component).await), 2);
    assert_eq!(stage.config().await.unwrap()["text"], "ours");
    component.adopt = false;
    assert_eq!(
        stage.backend.apply(&component).await.unwrap(),
        Outcome::Ready { revision: 2 }
    );
}

#[tokio::test]
async fn helm_and_the_backend_take_turns() {
    let stage = Stage::new().await;
    stage.installed().await;
    let chart = format!("{}/web", stage.server.registry_url());
    let output = stage.helm(&[
        "upgrade",
        "web",
        &chart,
        "--version",
        "2.0.0",
        "--plain-http",
        "--set",
        "text=helm",
    ]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let component = stage.component(2, "1.0.0", json!({ "text": "ours" }));
    assert_eq!(ready(&stage.apply(&component).await), 3);
    assert_eq!(stage.config().await.unwrap()["text"], "ours");
}

#[tokio::test]
async fn a_foreign_object_fails_the_install_by_name() {
    let stage = Stage::new().await;
    let output = stage
        .plane
        .command("kubectl", "kubectl")
        .unwrap()
        .args(["create", "configmap", "web", "-n", &stage.namespace])
        .output()
        .unwrap();
    assert!(output.status.success());
    let component = stage.component(1, "1.0.0", json!({}));
    let outcome = stage.apply(&component).await;
    let Outcome::Failed {
        message,
        permanent: false,
        ..
    } = &outcome
    else {
        panic!("{outcome:?}")
    };
    let named = format!(
        "ConfigMap \"web\" in namespace \"{}\" exists",
        stage.namespace
    );
    assert!(message.contains(&named), "{message}");
}
