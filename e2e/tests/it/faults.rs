//! What people and other programs do to a cluster behind the operator's back.

use kubepkg_e2e::{Chart, Error, Operator, Source, Stage};
use serde_json::json;

const DONE: &str = "True ReconciliationSucceeded";

/// A chart of one ConfigMap: it is ready at once.
const CONFIG: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}\ndata:\n  version: {{ .Chart.Version | quote }}\n  message: {{ .Values.message | quote }}\n";

fn config(name: &'static str, version: &'static str) -> Chart {
    Chart::new(name, version).file("templates/objects.yaml", CONFIG)
}

/// A stage with versions 1.0.0 and 1.1.0 of charts `web` and `store`, and version 1.0.0 of `shop` running.
async fn running(name: &str) -> Result<(Stage, Operator), Error> {
    let stage = Stage::new(name).await?;
    for version in ["1.0.0", "1.1.0"] {
        stage.chart(&config("web", version))?;
        stage.chart(&config("store", version))?;
    }
    let operator = stage.operator(&["--retry-backoff", "1s", "--retry-backoff-max", "2s"])?;
    stage.source("shop", &both("1.0.0"))?;
    stage.package("shop", json!({}))?;
    stage.until_ready_is("shop", DONE).await?;
    Ok((stage, operator))
}

fn both(version: &str) -> Source {
    Source::new(version, &[("store", version), ("web", version)])
}

fn version_of(stage: &Stage, name: &str) -> Result<String, Error> {
    let object = stage.get("configmap", name)?.unwrap_or_default();
    Ok(object["data"]["version"]
        .as_str()
        .unwrap_or("none")
        .to_owned())
}

async fn until_applied(stage: &Stage, revision: u64, version: &str) -> Result<(), Error> {
    let row = format!("{revision} {version} Applied");
    stage
        .until(&row, &true, || Ok(stage.history("shop")?.contains(&row)))
        .await
}

/// The garbage collector deletes what the Package owns, its revisions, before the Package.
#[tokio::test(flavor = "multi_thread")]
async fn foreground_deletion_leaves_nothing_behind() -> Result<(), Error> {
    let (stage, _operator) = running("foreground").await?;
    let kind = stage.kind("packages");
    stage
        .kubectl(&[
            "delete",
            &kind,
            "shop",
            "--cascade=foreground",
            "--timeout=60s",
        ])?
        .ok()?;
    assert_eq!(stage.helm(&["list", "-q"])?.ok()?.trim(), "");
    assert!(stage.get("configmap", "shop-web")?.is_none());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_was_removed_by_hand_comes_back() -> Result<(), Error> {
    let (stage, _operator) = running("uninstalled").await?;
    stage.helm(&["uninstall", "shop-web"])?.ok()?;
    // Anything that makes the operator look; by itself it does so at every recheck.
    let kind = stage.kind("package");
    stage
        .kubectl(&["annotate", &kind, "shop", "look=here"])?
        .ok()?;
    until_applied(&stage, 2, "1.0.0").await?;
    stage.until_ready_is("shop", DONE).await?;
    assert_eq!(version_of(&stage, "shop-web")?, "1.0.0");
    let untouched = stage.helm(&["history", "shop-store", "-o", "json"])?.ok()?;
    let rows: serde_json::Value = serde_json::from_str(&untouched).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 1, "{untouched}");
    Ok(())
}

/// Revision 1 of the new Package is not revision 1 of the old one.
#[tokio::test(flavor = "multi_thread")]
async fn a_package_made_anew_takes_up_the_releases_of_the_old_one() -> Result<(), Error> {
    let (stage, mut operator) = running("anew").await?;
    operator.kill();
    let kind = stage.kind("packages");
    let no_finalizer = r#"{"metadata":{"finalizers":null}}"#;
    stage
        .kubectl(&["delete", &kind, "shop", "--wait=false"])?
        .ok()?;
    stage
        .kubectl(&["patch", &kind, "shop", "--type=merge", "-p", no_finalizer])?
        .ok()?;
    stage
        .until("the revisions to go", &Vec::new(), || stage.history("shop"))
        .await?;
    stage.source("shop", &both("1.1.0"))?;
    stage.package("shop", json!({}))?;
    let _operator = stage.operator(&[])?;
    stage.until_ready_is("shop", DONE).await?;
    assert_eq!(stage.history("shop")?, ["1 1.1.0 Applied"]);
    for name in ["shop-store", "shop-web"] {
        assert_eq!(version_of(&stage, name)?, "1.1.0", "{name}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn records_that_were_deleted_by_hand_do_not_confuse_an_upgrade() -> Result<(), Error> {
    let (stage, _operator) = running("records").await?;
    let kind = stage.kind("packagerevisions");
    stage.kubectl(&["delete", &kind, "shop-1"])?.ok()?;
    stage.source("shop", &both("1.1.0"))?;
    until_applied(&stage, 2, "1.1.0").await?;
    stage.until_ready_is("shop", DONE).await?;
    assert_eq!(version_of(&stage, "shop-web")?, "1.1.0");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_admission_refuses_is_told_and_tried_again() -> Result<(), Error> {
    let (stage, _operator) = running("admission").await?;
    let name = stage.plane.unique("no-config");
    let policy = json!({
        "apiVersion": "v1", "kind": "List", "items": [
            {
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
                "metadata": { "name": name },
                "spec": {
                    "failurePolicy": "Fail",
                    "matchConstraints": { "resourceRules": [
                        { "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["configmaps"] }
                    ] },
                    "validations": [{ "expression": "object.data.version != '1.1.0'", "message": "not on my watch" }]
                }
            },
            {
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
                "metadata": { "name": name },
                "spec": {
                    "policyName": name, "validationActions": ["Deny"],
                    "matchResources": { "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": stage.namespace } } }
                }
            }
        ]
    });
    stage
        .kubectl_in(&["apply", "-f", "-"], &policy.to_string())?
        .ok()?;
    let probe = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "probe" }, "data": { "version": "1.1.0" }
    })
    .to_string();
    stage
        .until("the policy to hold", &true, || {
            let tried = stage.kubectl_in(
                &[
                    "--namespace",
                    &stage.namespace,
                    "create",
                    "--dry-run=server",
                    "-f",
                    "-",
                ],
                &probe,
            )?;
            Ok(tried.err.contains("not on my watch"))
        })
        .await?;
    stage.source("shop", &both("1.1.0").not_safe())?;
    stage.until_message_has("shop", "not on my watch").await?;
    let message = stage.message("shop")?;
    assert!(
        message.contains("shop-store") && message.contains("ConfigMap"),
        "{message}"
    );
    stage
        .kubectl(&["delete", "validatingadmissionpolicybinding", &name])?
        .ok()?;
    stage.until_ready_is("shop", DONE).await?;
    assert_eq!(version_of(&stage, "shop-web")?, "1.1.0");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn two_packages_cannot_have_one_release() -> Result<(), Error> {
    let (stage, _operator) = running("shared").await?;
    let repository = stage.charts.repository_url();
    let mut spec = both("1.1.0").spec("shop", &stage.namespace, &repository);
    spec["variants"][0]["components"][0]["install"]["releaseName"] = json!("kiosk-store");
    let source = json!({
        "apiVersion": stage.group.api_version(), "kind": "PackageSource",
        "metadata": { "name": "kiosk" }, "spec": spec,
    });
    stage
        .kubectl_in(&["apply", "-f", "-"], &source.to_string())?
        .ok()?;
    stage.package("kiosk", json!({}))?;
    stage
        .until_message_has("kiosk", "shop-web exists and belongs to package shop")
        .await?;
    assert_eq!(version_of(&stage, "shop-web")?, "1.0.0");
    let kind = stage.kind("packages");
    stage
        .kubectl(&["delete", &kind, "kiosk", "--timeout=60s"])?
        .ok()?;
    assert_eq!(stage.ready("shop")?, DONE);
    assert_eq!(version_of(&stage, "shop-web")?, "1.0.0");
    assert!(stage.get("configmap", "kiosk-store")?.is_none());
    Ok(())
}

/// Values hold passwords; a log is read by many.
#[tokio::test(flavor = "multi_thread")]
async fn values_never_come_into_the_log() -> Result<(), Error> {
    let stage = Stage::new("log").await?;
    stage.chart(&config("web", "1.0.0"))?;
    let operator = stage.operator_logging("debug", &[])?;
    stage.source("shop", &Source::new("1.0.0", &[("web", "1.0.0")]))?;
    let values = json!({ "message": "correct-horse-battery" });
    stage.package(
        "shop",
        json!({ "components": { "web": { "values": values } } }),
    )?;
    stage.until_ready_is("shop", DONE).await?;
    let object = stage.get("configmap", "shop-web")?.unwrap();
    assert_eq!(object["data"]["message"], "correct-horse-battery");
    let log = operator.log();
    assert!(log.contains("acting"), "{log}");
    let told = log
        .lines()
        .find(|line| line.contains("correct-horse-battery"));
    assert_eq!(told, None);
    Ok(())
}

/// Helm runs `pre-install` hooks at installs only: trying again by an upgrade would leave them out, and call it success.
#[tokio::test(flavor = "multi_thread")]
async fn an_install_whose_hook_failed_is_tried_again_with_its_hooks() -> Result<(), Error> {
    const HOOK: &str = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {{ .Release.Name }}-setup\n  annotations: {helm.sh/hook: pre-install}\nspec:\n  backoffLimit: 0\n  template:\n    metadata: {labels: {app: setup}}\n    spec:\n      restartPolicy: Never\n      containers: [{name: main, image: registry.example.org/setup}]\n";
    let stage = Stage::new("hook").await?;
    stage.chart(&config("web", "1.0.0").file("templates/hook.yaml", HOOK))?;
    let fails =
        stage
            .plane
            .pods()
            .decide(&stage.namespace, "app=setup", kubepkg_sandbox::Fate::Fail)?;
    let _operator = stage.operator(&["--retry-backoff", "2s", "--retry-backoff-max", "2s"])?;
    stage.source("shop", &Source::new("1.0.0", &[("web", "1.0.0")]))?;
    stage.package("shop", json!({}))?;
    stage
        .until("two failed attempts", &true, || {
            let rows = stage.history("shop")?;
            Ok(rows.iter().filter(|row| row.ends_with("Failed")).count() >= 2)
        })
        .await?;
    assert!(stage.get("configmap", "shop-web")?.is_none());
    fails.release();
    stage.until_ready_is("shop", DONE).await?;
    assert_eq!(version_of(&stage, "shop-web")?, "1.0.0");
    Ok(())
}
