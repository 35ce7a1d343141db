//! One chart from rendering to removal.
//!
//! Every chart gets a namespace of its own, and the next begins when it is gone. CRDs stay by design, as with Helm; they
//! are deleted between charts, so that none changes what the next renders.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kubepkg_e2e::{Error, Stage};
use kubepkg_helm::{Chart, Rendered};
use serde_json::{Value, json};

use crate::compare::{Comparison, compare, load, values};

const HELM_CAN: &str = "helm install --wait succeeds";

/// What is asked of a trial.
pub(crate) struct Wish {
    /// The chart's folder or archive.
    pub(crate) path: PathBuf,
    /// Values to set, as Helm's `--set` takes them.
    pub(crate) set: Vec<String>,
    /// How long it may take to get ready, in Go's syntax.
    pub(crate) timeout: String,
    /// Whether Helm installs it too, to compare.
    pub(crate) beside: bool,
}

/// What came of it: one row of the table.
pub(crate) struct Row {
    pub(crate) chart: String,
    pub(crate) version: String,
    pub(crate) equal: String,
    pub(crate) installed: String,
    pub(crate) objects: String,
    pub(crate) seconds: String,
    pub(crate) again: String,
    pub(crate) removed: String,
    /// Whether everything was as with Helm.
    pub(crate) good: bool,
}

/// Tries one chart.
pub(crate) async fn run(stage: &Stage, wish: &Wish) -> Result<Row, Error> {
    let chart = load(&wish.path).map_err(|error| failed(&wish.path, &error))?;
    let name = chart.metadata.name.clone();
    let version = chart.metadata.version.clone();
    let namespace = stage.plane.namespace("try").await?;
    let (comparison, rendered) = compare(stage, &wish.path, &chart, &namespace, &wish.set)?;
    let mut row = Row {
        equal: comparison.to_string(),
        good: comparison.is_equal(),
        chart: name,
        version,
        installed: "-".to_owned(),
        objects: "-".to_owned(),
        seconds: "-".to_owned(),
        again: "-".to_owned(),
        removed: "-".to_owned(),
    };
    if let Comparison::BothRefuse { helm, ours } = &comparison {
        row.installed = format!("Helm: {helm}; ours: {ours}");
    }
    let Some(rendered) = rendered else {
        return Ok(row);
    };
    row.objects = counted(&rendered);
    let archive = pack(stage, &wish.path, &chart)?;
    offer(stage, wish, &chart, &namespace, &archive)?;

    let begin = Instant::now();
    match settle(stage, &row.chart).await? {
        Ok(()) => {
            row.seconds = format!("{:.1}", begin.elapsed().as_secs_f32());
            row.installed = helms_view(stage, &namespace, &row.chart)?;
            row.good &= row.installed == "Ready";
            row.again = second_pass(stage).await?;
            row.good &= row.again == "no write";
        }
        Err(why) => {
            row.good = false;
            row.installed = format!("NO: {why}");
        }
    }
    row.removed = remove(stage, &row.chart, &namespace, &rendered).await?;
    row.good &= row.removed.starts_with("clean");
    forget(stage, &namespace, &rendered)?;
    let failed = row.installed.starts_with("NO");
    if failed || wish.beside {
        let other = stage.plane.namespace("helm").await?;
        let begin = Instant::now();
        let helm = helm_installs(stage, wish, &row.chart, &other, &archive)?;
        let seconds = begin.elapsed().as_secs_f32();
        if failed || helm != HELM_CAN {
            let _ = write!(row.installed, "; {helm}");
        }
        stage.helm_in(&other, &["uninstall", &row.chart, "--ignore-not-found"])?;
        forget(stage, &other, &rendered)?;
        let _ = write!(row.seconds, " (Helm {seconds:.1})");
    }
    Ok(row)
}

fn counted(rendered: &Rendered) -> String {
    let objects = rendered.objects.iter().filter(|o| !o.value.is_null());
    let mut text = objects.count().to_string();
    for (count, what) in [
        (rendered.hooks.len(), "hooks"),
        (rendered.crds.len(), "CRD files"),
    ] {
        if count > 0 {
            let _ = write!(text, " + {count} {what}");
        }
    }
    text
}

/// The chart's archive, made by Helm unless it is one already.
fn pack(stage: &Stage, path: &Path, chart: &Chart) -> Result<PathBuf, Error> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let (from, to) = (path.to_string_lossy(), stage.folder().to_string_lossy());
    stage.helm(&["package", "-d", &to, &from])?.ok()?;
    let metadata = &chart.metadata;
    Ok(stage
        .folder()
        .join(format!("{}-{}.tgz", metadata.name, metadata.version)))
}

/// Serves the chart and writes a PackageSource and a Package for it.
fn offer(
    stage: &Stage,
    wish: &Wish,
    chart: &Chart,
    namespace: &str,
    archive: &Path,
) -> Result<(), Error> {
    let bytes = std::fs::read(archive).map_err(|error| failed(archive, &error))?;
    let (name, version) = (&chart.metadata.name, &chart.metadata.version);
    stage.charts.add_archive(name, version, bytes);
    let values = values(&wish.set).map_err(|error| failed(&wish.path, &error))?;
    stage.object(
        "PackageSource",
        name,
        json!({
            "version": version.trim_start_matches('v'),
            "rollback": { "safe": true },
            "variants": [{ "name": "default", "components": [{
                "name": "main",
                "chart": { "repository": stage.charts.repository_url(), "name": name, "version": version },
                "install": { "namespace": namespace, "releaseName": name },
            }] }],
        }),
    )?;
    let mut spec = json!({ "upgrade": { "timeout": wish.timeout } });
    if !values.is_empty() {
        spec["components"] = json!({ "main": { "values": values.into_json() } });
    }
    stage.package(name, spec)
}

/// Waits until the package is ready, or has failed; then why.
async fn settle(stage: &Stage, package: &str) -> Result<Result<(), String>, Error> {
    let kind = stage.kind("packages");
    let end = Instant::now() + Duration::from_mins(10);
    loop {
        let ready = stage.ready(package)?;
        if ready == "True ReconciliationSucceeded" {
            return Ok(Ok(()));
        }
        let object = stage.get(&kind, package)?.unwrap_or_default();
        let failed = !object["status"]["retry"].is_null() || stalled(&object);
        if failed || Instant::now() > end {
            return Ok(Err(format!("{ready}: {}", stage.message(package)?)));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn stalled(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|c| c["type"] == "Stalled" && c["status"] == "True")
}

/// Whether Helm, too, holds the release for deployed.
fn helms_view(stage: &Stage, namespace: &str, release: &str) -> Result<String, Error> {
    let text = stage
        .helm_in(namespace, &["status", release, "-o", "json"])?
        .ok()?;
    let status = serde_json::from_str::<Value>(&text).unwrap_or_default();
    let status = status["info"]["status"].as_str().unwrap_or_default();
    Ok(if status == "deployed" {
        "Ready".to_owned()
    } else {
        format!("NO: Helm says {status:?}")
    })
}

/// What the operator writes in three passes over what is installed.
async fn second_pass(stage: &Stage) -> Result<String, Error> {
    let audit = stage.plane.audit();
    let mark = audit.mark()?;
    let group = stage.group.to_string();
    stage
        .until("three passes", &true, || {
            let lists = audit
                .since(mark)?
                .by_user("operator")
                .verb("list")
                .resource("packagerevisions");
            Ok(lists.filter(|r| r.group == group).count() >= 3)
        })
        .await?;
    let written = audit.since(mark)?.by_user("operator").writes();
    Ok(if written.is_empty() {
        "no write".to_owned()
    } else {
        format!("NO: {:?}", written.tally())
    })
}

/// Deletes the Package and says what is left of the release.
async fn remove(
    stage: &Stage,
    package: &str,
    namespace: &str,
    rendered: &Rendered,
) -> Result<String, Error> {
    let kind = stage.kind("packages");
    stage
        .kubectl(&["delete", &kind, package, "--wait=false"])?
        .ok()?;
    let end = Instant::now() + Duration::from_secs(90);
    while stage.get(&kind, package)?.is_some() {
        if Instant::now() > end {
            return Ok(format!(
                "NO: {}: {}",
                stage.ready(package)?,
                stage.message(package)?
            ));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let mut manifest = String::new();
    for object in &rendered.objects {
        // CRDs stay, so that nobody's data goes with a package.
        let kept = object.kind == "CustomResourceDefinition"
            || object.value["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep";
        if !kept && !object.value.is_null() {
            let _ = write!(manifest, "---\n{}\n", object.text);
        }
    }
    let mut left = found(stage, namespace, &manifest)?;
    let records = stage.kubectl(&[
        "--namespace",
        namespace,
        "get",
        "secrets",
        "-l",
        "owner=helm",
        "-o",
        "name",
    ])?;
    left.extend(records.ok()?.lines().map(str::to_owned));
    if !left.is_empty() {
        return Ok(format!("NO: {}", left.join(" ")));
    }
    let mut hooks = String::new();
    for hook in &rendered.hooks {
        hooks.push_str("---\n");
        hooks.push_str(&hook.manifest);
        hooks.push('\n');
    }
    Ok(match found(stage, namespace, &hooks)?.len() {
        0 => "clean".to_owned(),
        hooks => format!("clean, {hooks} hooks stay"),
    })
}

/// Those of the objects of a manifest that exist. An object of a kind that is not served does not.
fn found(stage: &Stage, namespace: &str, manifest: &str) -> Result<Vec<String>, Error> {
    if manifest.is_empty() {
        return Ok(Vec::new());
    }
    let arguments = [
        "--namespace",
        namespace,
        "get",
        "--ignore-not-found",
        "-o",
        "json",
        "-f",
        "-",
    ];
    let done = stage.kubectl_in(&arguments, manifest)?;
    let other = done.err.lines().any(|line| {
        !line.contains("no matches for kind") && !line.contains("ensure CRDs are installed first")
    });
    if done.code != 0 && (other || done.out.is_empty()) && !done.err.contains("no matches for") {
        return Err(Error::Command(Box::new(done)));
    }
    let answer: Value = serde_json::from_str(&done.out).unwrap_or_default();
    let items = match answer["items"].as_array() {
        Some(items) => items.clone(),
        None if answer.is_object() => vec![answer],
        None => Vec::new(),
    };
    Ok(items
        .iter()
        .filter(|item| item["metadata"]["deletionTimestamp"].is_null())
        .map(|item| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            format!(
                "{}/{}",
                text(&item["kind"]),
                text(&item["metadata"]["name"])
            )
        })
        .collect())
}

/// Whether Helm can install it here.
fn helm_installs(
    stage: &Stage,
    wish: &Wish,
    release: &str,
    namespace: &str,
    archive: &Path,
) -> Result<String, Error> {
    let path = archive.to_string_lossy();
    let mut arguments = vec![
        "install",
        release,
        &path,
        "--wait",
        "--timeout",
        &wish.timeout,
    ];
    arguments.extend(wish.set.iter().flat_map(|text| ["--set", text.as_str()]));
    let done = stage.helm_in(namespace, &arguments)?;
    Ok(if done.code == 0 {
        HELM_CAN.to_owned()
    } else {
        format!("helm install --wait fails as well: {}", done.err.trim())
    })
}

/// Deletes what is meant to stay.
fn forget(stage: &Stage, namespace: &str, rendered: &Rendered) -> Result<(), Error> {
    let mut manifest = String::new();
    for crd in &rendered.crds {
        let _ = write!(manifest, "---\n{}\n", String::from_utf8_lossy(&crd.data));
    }
    for object in &rendered.objects {
        if object.kind == "CustomResourceDefinition" {
            let _ = write!(manifest, "---\n{}\n", object.text);
        }
    }
    for hook in &rendered.hooks {
        let _ = write!(manifest, "---\n{}\n", hook.manifest);
    }
    if !manifest.is_empty() {
        let arguments = [
            "--namespace",
            namespace,
            "delete",
            "--ignore-not-found",
            "--timeout=20s",
            "-f",
            "-",
        ];
        // A hook's kind may be gone with its CRD.
        stage.kubectl_in(&arguments, &manifest)?;
    }
    stage
        .kubectl(&["delete", "namespace", namespace, "--wait=false"])?
        .ok()
        .map(drop)
}

fn failed(path: &Path, error: &dyn std::fmt::Display) -> Error {
    Error::File {
        path: path.to_owned(),
        source: std::io::Error::other(error.to_string()),
    }
}
