//! The life of a package: installed, left alone, upgraded, failed, rolled back, taken apart.

use kubepkg_e2e::{Chart, Error, Source, Stage};
use serde_json::json;

const DONE: &str = "True ReconciliationSucceeded";

/// A CRD, with words to be replaced.
const CRD: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: PLURAL.GROUP\nspec:\n  group: GROUP\n  scope: Namespaced\n  names: {plural: PLURAL, singular: SINGLE, kind: KIND}\n  versions:\n    - name: v1\n      served: true\n      storage: true\n      schema: {openAPIV3Schema: {type: object}}\n";

/// The CRD of a kind in the stage's own group.
fn crd(stage: &Stage, plural: &str, kind: &str) -> String {
    CRD.replace("PLURAL", plural)
        .replace("SINGLE", &kind.to_lowercase())
        .replace("KIND", kind)
        .replace("GROUP", stage.group.as_str())
}

/// A stage with charts `store` and `web` and an operator.
async fn shop() -> Result<(Stage, kubepkg_e2e::Operator), Error> {
    let stage = Stage::new("life").await?;
    for version in ["1.0.0", "1.1.0"] {
        stage.chart(&Chart::new("store", version))?;
        stage.chart(&Chart::new("web", version))?;
    }
    stage.chart(&Chart::new("web", "9.0.0").fate("pull-error"))?;
    let operator = stage.operator(&["--retry-backoff", "1h", "--retry-backoff-max", "1h"])?;
    Ok((stage, operator))
}

#[tokio::test(flavor = "multi_thread")]
async fn installs_and_leaves_a_package_at_rest_alone() -> Result<(), Error> {
    let (stage, _operator) = shop().await?;
    stage.source(
        "shop",
        &Source::new("1.0.0", &[("store", "1.0.0"), ("web", "1.0.0")]),
    )?;
    stage.package("shop", json!({ "version": "~1.0" }))?;
    stage.until_ready_is("shop", DONE).await?;
    assert_eq!(stage.history("shop")?, ["1 1.0.0 Applied"]);
    assert_eq!(
        stage.message("shop")?,
        "reconciliation succeeded, revision 1, 2 component(s)"
    );
    let list = stage.helm(&["list", "-o", "json"])?.ok()?;
    let releases: serde_json::Value = serde_json::from_str(&list).unwrap();
    let mut seen: Vec<String> = releases
        .as_array()
        .unwrap()
        .iter()
        .map(|r| {
            format!(
                "{} {} {} {}",
                r["name"], r["revision"], r["status"], r["chart"]
            )
        })
        .collect();
    seen.sort();
    assert_eq!(
        seen,
        [
            r#""shop-store" "1" "deployed" "store-1.0.0""#,
            r#""shop-web" "1" "deployed" "web-1.0.0""#,
        ]
    );
    // The second component waited for the first one.
    let created = |name: &str| -> Result<String, Error> {
        let object = stage.get("deployment", name)?.unwrap();
        Ok(object["metadata"]["creationTimestamp"]
            .as_str()
            .unwrap()
            .to_owned())
    };
    assert!(created("shop-store")? <= created("shop-web")?);
    // Touching the Package without changing it makes no revision.
    let kind = stage.kind("package");
    stage
        .kubectl(&["annotate", &kind, "shop", "note=hello"])?
        .ok()?;
    stage.kubectl(&["annotate", &kind, "shop", "note-"])?.ok()?;
    stage.until_ready_is("shop", DONE).await?;
    assert_eq!(stage.history("shop")?, ["1 1.0.0 Applied"]);
    let columns = stage.kubectl(&["get", &kind])?.ok()?;
    assert!(
        columns.contains("VARIANT") && columns.contains("1.0.0"),
        "{columns}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn upgrades_only_what_changed() -> Result<(), Error> {
    let (stage, _operator) = shop().await?;
    stage.source(
        "shop",
        &Source::new("1.0.0", &[("store", "1.0.0"), ("web", "1.0.0")]),
    )?;
    stage.package("shop", json!({}))?;
    stage.until_ready_is("shop", DONE).await?;
    stage.source(
        "shop",
        &Source::new("1.1.0", &[("store", "1.0.0"), ("web", "1.1.0")]),
    )?;
    stage
        .until(
            "the upgrade",
            &vec![
                "1 1.0.0 Superseded".to_owned(),
                "2 1.1.0 Applied".to_owned(),
            ],
            || stage.history("shop"),
        )
        .await?;
    stage.until_ready_is("shop", DONE).await?;
    let revisions = |release: &str| -> Result<usize, Error> {
        let text = stage.helm(&["history", release, "-o", "json"])?.ok()?;
        let rows: serde_json::Value = serde_json::from_str(&text).unwrap();
        Ok(rows.as_array().unwrap().len())
    };
    assert_eq!((revisions("shop-store")?, revisions("shop-web")?), (1, 2));
    let config = stage.get("configmap", "shop-web")?.unwrap();
    assert_eq!(config["data"]["version"], "1.1.0");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_the_package_reach_the_objects() -> Result<(), Error> {
    let (stage, _operator) = shop().await?;
    stage.source("shop", &Source::new("1.0.0", &[("web", "1.0.0")]))?;
    let values =
        json!({ "components": { "web": { "values": { "message": "good day", "replicas": 2 } } } });
    stage.package("shop", values)?;
    stage.until_ready_is("shop", DONE).await?;
    assert_eq!(
        stage.get("configmap", "shop-web")?.unwrap()["data"]["message"],
        "good day"
    );
    assert_eq!(
        stage.get("deployment", "shop-web")?.unwrap()["spec"]["replicas"],
        2
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_upgrade_takes_the_whole_package_back() -> Result<(), Error> {
    let (stage, _operator) = shop().await?;
    stage.source(
        "shop",
        &Source::new("1.0.0", &[("store", "1.0.0"), ("web", "1.0.0")]),
    )?;
    stage.package("shop", json!({ "upgrade": { "timeout": "6s" } }))?;
    stage.until_ready_is("shop", DONE).await?;
    stage.source(
        "shop",
        &Source::new("1.1.0", &[("store", "1.1.0"), ("web", "9.0.0")]),
    )?;
    stage
        .until_ready_is("shop", "False UpgradeRolledBack")
        .await?;
    assert_eq!(
        stage.history("shop")?,
        [
            "1 1.0.0 Superseded",
            "2 1.1.0 Failed",
            "3 1.0.0 Applied from 1"
        ]
    );
    for name in ["shop-store", "shop-web"] {
        assert_eq!(
            stage.get("configmap", name)?.unwrap()["data"]["version"],
            "1.0.0",
            "{name}"
        );
    }
    let message = stage.message("shop")?;
    assert!(
        message.contains("Deployment") && message.contains("shop-web"),
        "{message}"
    );
    let package = stage.get(&stage.kind("package"), "shop")?.unwrap();
    assert_eq!(package["status"]["version"], "1.0.0");
    assert_eq!(package["status"]["retry"]["attempts"], 1);
    let history = stage.kubepkg(&["history", "shop"])?.ok()?;
    assert!(history.contains("restored from 1"), "{history}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_that_is_not_safe_is_fixed_forward() -> Result<(), Error> {
    let (stage, _operator) = shop().await?;
    stage.source(
        "shop",
        &Source::new("1.0.0", &[("store", "1.0.0"), ("web", "1.0.0")]),
    )?;
    stage.package("shop", json!({ "upgrade": { "timeout": "6s" } }))?;
    stage.until_ready_is("shop", DONE).await?;
    stage.source(
        "shop",
        &Source::new("2.0.0", &[("store", "1.1.0"), ("web", "9.0.0")]).not_safe(),
    )?;
    stage.until_ready_is("shop", "False UpgradeFailed").await?;
    assert_eq!(
        stage.history("shop")?,
        ["1 1.0.0 Superseded", "2 2.0.0 Failed"]
    );
    assert_eq!(
        stage.get("configmap", "shop-store")?.unwrap()["data"]["version"],
        "1.1.0"
    );
    stage.source(
        "shop",
        &Source::new("2.0.1", &[("store", "1.1.0"), ("web", "1.1.0")]).not_safe(),
    )?;
    stage.until_ready_is("shop", DONE).await?;
    assert_eq!(
        stage.history("shop")?,
        ["1 1.0.0 Superseded", "2 2.0.0 Failed", "3 2.0.1 Applied"]
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn says_which_pod_holds_up_a_package_and_why() -> Result<(), Error> {
    let (stage, _operator) = shop().await?;
    stage.source("shop", &Source::new("1.0.0", &[("web", "9.0.0")]))?;
    stage.package("shop", json!({}))?;
    stage.until_message_has("shop", "ImagePullBackOff").await?;
    let waiting = stage.kubepkg(&["install", "shop", "--wait", "--timeout", "10s"])?;
    assert_eq!(waiting.code, 4, "{}", waiting.err);
    let object = format!("waiting for Deployment {}/shop-web (", stage.namespace);
    for part in [object.as_str(), "; Pod shop-web-", ": ImagePullBackOff)"] {
        assert!(waiting.err.contains(part), "{}", waiting.err);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_revision_is_tried_again_after_the_backoff() -> Result<(), Error> {
    let stage = Stage::new("retry").await?;
    stage.chart(&Chart::new("web", "1.0.0"))?;
    let rule = stage.plane.pods().decide(
        &stage.namespace,
        "app=shop-web",
        kubepkg_sandbox::Fate::Never,
    )?;
    let _operator = stage.operator(&["--retry-backoff", "1s"])?;
    stage.source("shop", &Source::new("1.0.0", &[("web", "1.0.0")]))?;
    stage.package("shop", json!({ "upgrade": { "timeout": "3s" } }))?;
    stage.until_ready_is("shop", "False UpgradeFailed").await?;
    rule.release();
    stage.until_ready_is("shop", DONE).await?;
    let history = stage.history("shop")?;
    assert_eq!(
        history.first().map(String::as_str),
        Some("1 1.0.0 Failed"),
        "{history:?}"
    );
    assert!(history.last().unwrap().ends_with("Applied"), "{history:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rolls_back_by_hand_and_holds() -> Result<(), Error> {
    let (stage, _operator) = shop().await?;
    stage.source(
        "shop",
        &Source::new("1.0.0", &[("store", "1.0.0"), ("web", "1.0.0")]),
    )?;
    stage.package("shop", json!({}))?;
    stage.until_ready_is("shop", DONE).await?;
    stage.source(
        "shop",
        &Source::new("1.1.0", &[("store", "1.1.0"), ("web", "1.1.0")]),
    )?;
    stage
        .until("the upgrade", &2, || Ok(stage.history("shop")?.len()))
        .await?;
    stage.until_ready_is("shop", DONE).await?;
    let done = stage.kubepkg(&[
        "rollback",
        "shop",
        "--to",
        "1",
        "--wait",
        "--timeout",
        "60s",
    ])?;
    assert_eq!(done.code, 0, "{done:?}");
    stage.until_ready_is("shop", "True RolledBack").await?;
    assert_eq!(
        stage.history("shop")?,
        [
            "1 1.0.0 Superseded",
            "2 1.1.0 Superseded",
            "3 1.0.0 Applied from 1"
        ]
    );
    assert_eq!(
        stage.get("configmap", "shop-web")?.unwrap()["data"]["version"],
        "1.0.0"
    );
    let refused = format!("{}=77", "kubepkg.dev/rollback-to");
    stage
        .kubectl(&["annotate", &stage.kind("package"), "shop", &refused])?
        .ok()?;
    stage.until_ready_is("shop", "False RollbackFailed").await?;
    assert_eq!(stage.message("shop")?, "there is no revision 77");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn removes_orphans_and_then_everything_but_crds() -> Result<(), Error> {
    let (stage, _operator) = shop().await?;
    stage.chart(
        &Chart::new("store", "2.0.0")
            .file("crds/folder.yaml", &crd(&stage, "boxes", "Box"))
            .file("templates/crd.yaml", &crd(&stage, "crates", "Crate")),
    )?;
    stage.source(
        "shop",
        &Source::new("1.0.0", &[("store", "2.0.0"), ("web", "1.0.0")]),
    )?;
    stage.package("shop", json!({}))?;
    stage.until_ready_is("shop", DONE).await?;
    stage.source("shop", &Source::new("1.1.0", &[("store", "2.0.0")]))?;
    stage
        .until("the orphan to go", &None, || {
            stage.get("deployment", "shop-web")
        })
        .await?;
    stage.until_ready_is("shop", DONE).await?;
    assert!(stage.get("deployment", "shop-store")?.is_some());
    assert_eq!(stage.helm(&["list", "-q"])?.ok()?.trim(), "shop-store");
    let done = stage.kubepkg(&["remove", "shop", "--yes", "--wait", "--timeout", "60s"])?;
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(stage.ready("shop")?, "gone");
    assert_eq!(stage.helm(&["list", "-q"])?.ok()?.trim(), "");
    stage
        .until("the deployment to go", &None, || {
            stage.get("deployment", "shop-store")
        })
        .await?;
    for plural in ["boxes", "crates"] {
        let name = format!("{plural}.{}", stage.group);
        assert!(stage.get("crd", &name)?.is_some(), "{name} was deleted");
    }
    stage
        .until("the revisions to go", &Vec::new(), || stage.history("shop"))
        .await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_cancels_a_wait() -> Result<(), Error> {
    let (stage, _operator) = shop().await?;
    let held = stage.plane.pods().hold(&stage.namespace, "app=shop-web")?;
    stage.source("shop", &Source::new("1.0.0", &[("web", "1.0.0")]))?;
    stage.package("shop", json!({}))?;
    stage.until_message_has("shop", "shop-web").await?;
    stage.source("shop", &Source::new("1.1.0", &[("web", "1.1.0")]))?;
    stage
        .until("the new revision", &2, || Ok(stage.history("shop")?.len()))
        .await?;
    held.release();
    stage.until_ready_is("shop", DONE).await?;
    assert_eq!(
        stage.history("shop")?,
        ["1 1.0.0 Failed", "2 1.1.0 Applied"]
    );
    assert_eq!(
        stage.get("configmap", "shop-web")?.unwrap()["data"]["version"],
        "1.1.0"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn crd_policy_delete_takes_the_crds_of_templates_along() -> Result<(), Error> {
    let (stage, _operator) = shop().await?;
    let text = crd(&stage, "crates", "Crate");
    stage.chart(&Chart::new("store", "2.0.0").file("templates/crd.yaml", &text))?;
    stage.source("shop", &Source::new("1.0.0", &[("store", "2.0.0")]))?;
    stage.package("shop", json!({ "crdPolicy": "Delete" }))?;
    stage.until_ready_is("shop", DONE).await?;
    let name = format!("crates.{}", stage.group);
    assert!(stage.get("crd", &name)?.is_some());
    stage
        .kubepkg(&["remove", "shop", "--yes", "--wait", "--timeout", "60s"])?
        .ok()?;
    stage
        .until("the CRD to go", &None, || stage.get("crd", &name))
        .await
}
