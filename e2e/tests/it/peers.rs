//! Helm and kubectl on what the operator made, and the other way round.

use kubepkg_e2e::{Chart, Error, Source, Stage};
use serde_json::json;

const DONE: &str = "True ReconciliationSucceeded";

#[tokio::test(flavor = "multi_thread")]
async fn helm_and_the_operator_alternate_on_one_release() -> Result<(), Error> {
    let stage = Stage::new("peers").await?;
    for version in ["1.0.0", "1.1.0", "1.2.0", "1.3.0"] {
        stage.chart(&Chart::new("web", version))?;
    }
    let _operator = stage.operator(&[])?;
    stage.source("shop", &Source::new("1.0.0", &[("web", "1.0.0")]))?;
    stage.package("shop", json!({}))?;
    stage.until_ready_is("shop", DONE).await?;
    let status = stage.helm(&["status", "shop-web"])?.ok()?;
    assert!(status.contains("STATUS: deployed"), "{status}");
    let manifest = stage.helm(&["get", "manifest", "shop-web"])?.ok()?;
    assert!(
        manifest.contains("# Source: web/templates/objects.yaml"),
        "{manifest}"
    );
    let repository = stage.charts.repository_url();
    let upgrade = |version: &str| {
        stage.helm(&[
            "upgrade",
            "shop-web",
            "web",
            "--repo",
            &repository,
            "--version",
            version,
            "--wait",
        ])
    };
    upgrade("1.1.0")?.ok()?;
    stage.source("shop", &Source::new("1.2.0", &[("web", "1.2.0")]))?;
    stage
        .until("the operator's upgrade", &2, || {
            Ok(stage.history("shop")?.len())
        })
        .await?;
    stage.until_ready_is("shop", DONE).await?;
    upgrade("1.3.0")?.ok()?;
    let history = stage.helm(&["history", "shop-web", "-o", "json"])?.ok()?;
    let rows: serde_json::Value = serde_json::from_str(&history).unwrap();
    let rows: Vec<String> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|r| {
            format!(
                "{} {} {}",
                r["revision"],
                r["chart"].as_str().unwrap(),
                r["status"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        rows,
        [
            "1 web-1.0.0 superseded",
            "2 web-1.1.0 superseded",
            "3 web-1.2.0 superseded",
            "4 web-1.3.0 deployed"
        ]
    );
    assert_eq!(
        stage.get("configmap", "shop-web")?.unwrap()["data"]["version"],
        "1.3.0"
    );
    stage.helm(&["rollback", "shop-web", "1", "--wait"])?.ok()?;
    assert_eq!(
        stage.get("configmap", "shop-web")?.unwrap()["data"]["version"],
        "1.0.0"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_release_is_never_touched() -> Result<(), Error> {
    let stage = Stage::new("foreign").await?;
    for version in ["1.0.0", "1.1.0"] {
        stage.chart(&Chart::new("web", version))?;
    }
    let repository = stage.charts.repository_url();
    stage
        .helm(&[
            "install",
            "shop-web",
            "web",
            "--repo",
            &repository,
            "--version",
            "1.0.0",
            "--wait",
        ])?
        .ok()?;
    let _operator = stage.operator(&[])?;
    stage.source("shop", &Source::new("1.1.0", &[("web", "1.1.0")]))?;
    stage.package("shop", json!({}))?;
    stage.until_ready_is("shop", "False UpgradeFailed").await?;
    let message = stage.message("shop")?;
    assert!(
        message.contains("shop-web") && message.contains("kubepkg.dev/adopt=true"),
        "{message}"
    );
    assert_eq!(
        stage.get("configmap", "shop-web")?.unwrap()["data"]["version"],
        "1.0.0"
    );
    stage
        .kubepkg(&["remove", "shop", "--yes", "--wait", "--timeout", "60s"])?
        .ok()?;
    assert_eq!(stage.helm(&["list", "-q"])?.ok()?.trim(), "shop-web");
    assert!(stage.get("deployment", "shop-web")?.is_some());
    Ok(())
}
