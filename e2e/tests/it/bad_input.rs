//! Input that cannot work: each kind has its own reason or text, names object and field, and leaves what runs alone.

use std::time::Duration;

use kubepkg_e2e::{Chart, Error, Source, Stage};
use kubepkg_sandbox::Fault;
use serde_json::json;

const DONE: &str = "True ReconciliationSucceeded";

/// A stage with version 1.0.0 of `shop` running.
async fn running(name: &str) -> Result<(Stage, kubepkg_e2e::Operator), Error> {
    let stage = Stage::new(name).await?;
    stage.chart(&Chart::new("web", "1.0.0"))?;
    let operator = stage.operator(&["--retry-backoff", "1h", "--retry-backoff-max", "1h"])?;
    stage.source("shop", &Source::new("1.0.0", &[("web", "1.0.0")]))?;
    stage.package("shop", json!({}))?;
    stage.until_ready_is("shop", DONE).await?;
    Ok((stage, operator))
}

fn still_runs(stage: &Stage) -> Result<(), Error> {
    assert_eq!(
        stage.get("configmap", "shop-web")?.unwrap()["data"]["version"],
        "1.0.0"
    );
    assert_eq!(stage.helm(&["list", "-q"])?.ok()?.trim(), "shop-web");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chart_that_does_not_render_is_not_retried() -> Result<(), Error> {
    let (stage, _operator) = running("render").await?;
    stage.chart(
        &Chart::new("web", "1.1.0")
            .file("templates/bad.yaml", "kind: {{ .Values.nowhere.at.all }}\n"),
    )?;
    stage.source("shop", &Source::new("1.1.0", &[("web", "1.1.0")]))?;
    stage
        .until_ready_is("shop", "False UpgradeRolledBack")
        .await?;
    let message = stage.message("shop")?;
    assert!(message.contains("web/templates/bad.yaml:1"), "{message}");
    assert!(
        message.contains("nil pointer evaluating interface {}.at"),
        "{message}"
    );
    assert!(message.contains("not retried until"), "{message}");
    let package = stage.get(&stage.kind("package"), "shop")?.unwrap();
    assert!(package["status"]["retry"].is_null());
    still_runs(&stage)
}

#[tokio::test(flavor = "multi_thread")]
async fn values_that_break_the_schema_name_the_field() -> Result<(), Error> {
    let (stage, _operator) = running("schema").await?;
    let schema = json!({ "type": "object", "properties": { "replicas": { "type": "integer" } } });
    stage.chart(&Chart::new("web", "1.1.0").file("values.schema.json", &schema.to_string()))?;
    // The constraint holds the package back until both are written.
    let values = json!({ "web": { "values": { "replicas": "many" } } });
    stage.package("shop", json!({ "version": "1.1.0", "components": values }))?;
    stage
        .until_ready_is("shop", "False VersionMismatch")
        .await?;
    stage.source("shop", &Source::new("1.1.0", &[("web", "1.1.0")]))?;
    stage.until_message_has("shop", "/replicas").await?;
    let message = stage.message("shop")?;
    assert!(message.contains("not retried until"), "{message}");
    still_runs(&stage)
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_a_wrong_type_name_the_object_and_field_that_the_server_refuses()
-> Result<(), Error> {
    let (stage, _operator) = running("types").await?;
    let values = json!({ "web": { "values": { "replicas": "many" } } });
    stage.package("shop", json!({ "components": values }))?;
    stage
        .until_ready_is("shop", "False UpgradeRolledBack")
        .await?;
    let message = stage.message("shop")?;
    assert!(
        message.contains("Deployment") && message.contains("shop-web"),
        "{message}"
    );
    assert!(message.contains("spec.replicas"), "{message}");
    assert_eq!(
        stage.get("deployment", "shop-web")?.unwrap()["spec"]["replicas"],
        1
    );
    still_runs(&stage)
}

#[tokio::test(flavor = "multi_thread")]
async fn configuration_that_cannot_be_built_says_what_to_change() -> Result<(), Error> {
    let (stage, _operator) = running("config").await?;
    let kind = stage.kind("packagesource");
    let patch = |patch: serde_json::Value| {
        stage.kubectl(&[
            "patch",
            &kind,
            "shop",
            "--type",
            "json",
            "-p",
            &patch.to_string(),
        ])
    };
    let component = "/spec/variants/0/components/0/install";
    patch(json!([{ "op": "remove", "path": format!("{component}/namespace") }]))?.ok()?;
    stage
        .until_ready_is("shop", "False InvalidConfiguration")
        .await?;
    assert_eq!(
        stage.message("shop")?,
        "component web has no install.namespace; set it in the PackageSource"
    );
    patch(json!([
        { "op": "add", "path": format!("{component}/namespace"), "value": stage.namespace },
        { "op": "add", "path": format!("{component}/dependsOn"), "value": ["web"] },
    ]))?
    .ok()?;
    stage.until_message_has("shop", "web -> web").await?;
    stage.package("shop", json!({ "variant": "ha" }))?;
    stage
        .until_ready_is("shop", "False VariantNotFound")
        .await?;
    stage.package("shop", json!({ "version": "^2" }))?;
    stage
        .until_ready_is("shop", "False VersionMismatch")
        .await?;
    stage.kubectl(&["delete", &kind, "shop"])?.ok()?;
    stage
        .until_ready_is("shop", "False PackageSourceNotFound")
        .await?;
    still_runs(&stage)
}

/// A chart archive with one entry more, written past every check of names.
fn archive_with(name: &str, kind: tar::EntryType) -> Vec<u8> {
    let mut tar = tar::Builder::new(flate2::write::GzEncoder::new(
        Vec::new(),
        flate2::Compression::fast(),
    ));
    let metadata = b"apiVersion: v2\nname: web\nversion: 1.1.0\n";
    for (name, kind, body) in [
        ("web/Chart.yaml", tar::EntryType::Regular, &metadata[..]),
        (name, kind, &b""[..]),
    ] {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(body.len() as u64);
        if kind == tar::EntryType::Symlink {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        tar.append(&header, body).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_archive_is_refused() -> Result<(), Error> {
    let (stage, _operator) = running("hostile").await?;
    let cases = [
        (
            "1.1.0",
            "web/templates/../../x",
            tar::EntryType::Regular,
            "parent directory",
        ),
        (
            "1.1.1",
            "web/templates/link.yaml",
            tar::EntryType::Symlink,
            "symbolic link",
        ),
    ];
    for (version, name, kind, refusal) in cases {
        stage
            .charts
            .add_archive("web", version, archive_with(name, kind));
        stage.source("shop", &Source::new(version, &[("web", version)]))?;
        stage.until_message_has("shop", refusal).await?;
        assert!(stage.ready("shop")?.starts_with("False"));
        still_runs(&stage)?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_of_a_registry_has_its_own_text() -> Result<(), Error> {
    let (stage, _operator) = running("registry").await?;
    let cases = [
        ("1.1.0", Fault::Unauthorized, "InvalidConfiguration", "401"),
        (
            "1.2.0",
            Fault::NotFound,
            "InvalidConfiguration",
            "no archive",
        ),
        (
            "1.3.0",
            Fault::ServerError { times: 1_000_000 },
            "FetchFailed",
            "503",
        ),
        (
            "1.4.0",
            Fault::WrongDigest,
            "InvalidConfiguration",
            "digest",
        ),
    ];
    for (version, fault, reason, text) in cases {
        stage.chart(&Chart::new("web", version))?;
        stage
            .charts
            .fault(&stage.charts.archive_path("web", version), fault);
        stage.source("shop", &Source::new(version, &[("web", version)]))?;
        stage
            .until_ready_is("shop", &format!("False {reason}"))
            .await?;
        stage.until_message_has("shop", text).await?;
        let message = stage.message("shop")?;
        assert!(message.contains(&format!("web {version}")), "{message}");
        assert_eq!(stage.history("shop")?, ["1 1.0.0 Applied"]);
        still_runs(&stage)?;
    }
    // A registry that is slow, or down for a while, is waited for.
    stage.charts.clear_faults();
    stage.chart(&Chart::new("web", "1.5.0"))?;
    let slow = Fault::Slow(Duration::from_secs(2));
    stage
        .charts
        .fault(&stage.charts.archive_path("web", "1.5.0"), slow);
    stage.source("shop", &Source::new("1.5.0", &[("web", "1.5.0")]))?;
    stage.until_ready_is("shop", DONE).await?;
    stage
        .until("the upgrade", &2, || Ok(stage.history("shop")?.len()))
        .await
}
