//! Releases that a dead process left in the middle.

use std::process::Stdio;
use std::time::Duration;

use kubepkg_backend::{Backend, Phase};
use kubepkg_sandbox::eventually;
use serde_json::json;

use crate::stage::{Stage, ready, waiting};

#[tokio::test]
async fn a_release_left_pending_is_waited_for_and_then_given_up() {
    let stage = Stage::new().await;
    let held = stage
        .plane
        .pods()
        .hold(&stage.namespace, "app=web")
        .unwrap();
    let chart = format!("{}/web", stage.server.registry_url());
    let mut process = stage
        .plane
        .command("helm", "helm")
        .unwrap()
        .args([
            "install",
            "web",
            &chart,
            "--version",
            "1.0.0",
            "--plain-http",
            "--wait",
        ])
        .args([
            "--labels",
            "kubepkg.dev/package=shop",
            "-n",
            &stage.namespace,
        ])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut component = stage.component(1, "2.0.0", json!({ "text": "ours" }));
    let placement = component.target.placement.clone();
    eventually("a pending release", Duration::from_secs(30), || async {
        let found = stage.backend.status("shop", &placement).await.unwrap();
        (found.phase == Phase::Progressing).then_some(())
    })
    .await
    .unwrap();
    // As by kill -9: Helm has no chance to write that it failed.
    process.kill().unwrap();
    process.wait().unwrap();
    held.release();

    let outcome = stage.backend.apply(&component).await.unwrap();
    let message = waiting(&outcome);
    let expected = format!("release {placement} is pending-install since ");
    assert!(message.starts_with(&expected), "{message}");

    tokio::time::sleep(Duration::from_secs(2)).await;
    component.target.timeout = Duration::from_secs(1);
    // Given up by the short timeout; what follows may take as long as it needs.
    let _ = stage.backend.apply(&component).await;
    component.target.timeout = Duration::from_mins(2);
    component.target.revision = 2;
    assert_eq!(stage.config().await.unwrap()["text"], "ours");
    ready(&stage.apply(&component).await);
    assert_eq!(stage.history()[0], (1, "failed".to_owned()));
}

#[tokio::test]
async fn a_release_that_somebody_removed_half_way_is_begun_again() {
    let stage = Stage::new().await;
    let held = stage
        .plane
        .pods()
        .hold(&stage.namespace, "app=web")
        .unwrap();
    let component = stage.component(1, "1.0.0", json!({}));
    waiting(&stage.backend.apply(&component).await.unwrap());
    let output = stage.helm(&["uninstall", "web"]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    held.release();
    ready(&stage.apply(&component).await);
    assert_eq!(stage.history(), [(1, "deployed".to_owned())]);
    assert!(stage.config().await.is_some());
}
