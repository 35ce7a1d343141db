//! Killing the operator in the middle, and what a dead process left behind.

use std::time::Duration;

use kubepkg_e2e::{Chart, Error, Source, Stage};
use serde_json::json;

const DONE: &str = "True ReconciliationSucceeded";

#[tokio::test(flavor = "multi_thread")]
async fn goes_on_after_kill_9_in_the_middle_of_an_install_and_of_an_upgrade() -> Result<(), Error> {
    let stage = Stage::new("crash").await?;
    for version in ["1.0.0", "1.1.0"] {
        stage.chart(&Chart::new("store", version))?;
        stage.chart(&Chart::new("web", version))?;
    }
    for (version, revision) in [("1.0.0", 1), ("1.1.0", 2)] {
        let held = stage.plane.pods().hold(&stage.namespace, "app=shop-web")?;
        let mut operator = stage.operator(&[])?;
        stage.source(
            "shop",
            &Source::new(version, &[("store", version), ("web", version)]),
        )?;
        stage.package("shop", json!({}))?;
        let waits = format!("revision {revision}: component web");
        stage.until_message_has("shop", &waits).await?;
        operator.kill();
        held.release();
        let _restarted = stage.operator(&[])?;
        stage.until_ready_is("shop", DONE).await?;
        assert_eq!(stage.history("shop")?.len(), revision);
        for release in ["shop-store", "shop-web"] {
            let text = stage.helm(&["history", release, "-o", "json"])?.ok()?;
            let rows: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(
                rows.as_array().unwrap().len(),
                revision,
                "{release} was applied twice: {text}"
            );
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn ends_in_order_when_asked_to() -> Result<(), Error> {
    let stage = Stage::new("term").await?;
    stage.chart(&Chart::new("web", "1.0.0"))?;
    let _held = stage.plane.pods().hold(&stage.namespace, "app=shop-web")?;
    let mut operator = stage.operator(&[])?;
    stage.source("shop", &Source::new("1.0.0", &[("web", "1.0.0")]))?;
    stage.package("shop", json!({}))?;
    stage.until_message_has("shop", "shop-web").await?;
    assert!(operator.stop(Duration::from_secs(10)), "{}", operator.log());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn takes_up_a_release_that_a_dead_helm_left_pending() -> Result<(), Error> {
    let stage = Stage::new("pending").await?;
    for version in ["1.0.0", "1.1.0"] {
        stage.chart(&Chart::new("web", version))?;
    }
    let _operator = stage.operator(&["--retry-backoff", "1s", "--retry-backoff-max", "2s"])?;
    stage.source("shop", &Source::new("1.0.0", &[("web", "1.0.0")]))?;
    stage.package("shop", json!({ "upgrade": { "timeout": "8s" } }))?;
    stage.until_ready_is("shop", DONE).await?;
    // A helm that is killed while it waits leaves its record pending.
    let hold = stage.plane.pods().hold(&stage.namespace, "app=shop-web")?;
    let repository = stage.charts.repository_url();
    let mut command = stage.plane.command("helm", "helm")?;
    command
        .args([
            "--namespace",
            &stage.namespace,
            "upgrade",
            "shop-web",
            "web",
            "--repo",
            &repository,
        ])
        .args(["--version", "1.1.0", "--wait"]);
    let mut upgrade = command.spawn().unwrap();
    let pending = stage
        .until("helm to wait", &true, || {
            Ok(stage
                .helm(&["status", "shop-web", "-o", "json"])?
                .out
                .contains("pending-upgrade"))
        })
        .await;
    upgrade.kill().unwrap();
    upgrade.wait().unwrap();
    pending?;
    hold.release();
    stage.source("shop", &Source::new("1.1.0", &[("web", "1.1.0")]))?;
    stage
        .until("the new version", &true, || {
            Ok(stage
                .history("shop")?
                .iter()
                .any(|row| row.ends_with("1.1.0 Applied")))
        })
        .await?;
    stage.until_ready_is("shop", DONE).await?;
    let history = stage.helm(&["history", "shop-web"])?.ok()?;
    assert!(
        history.contains("failed") && history.contains("deployed"),
        "{history}"
    );
    Ok(())
}
