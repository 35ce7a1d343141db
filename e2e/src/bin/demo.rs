//! The main job from start to end, on a real control plane: `cargo xtask demo`.
//!
//! Everything is real except the node: the API server, the operator, the charts and every command shown. Pods are said to
//! run by the sandbox, since nothing can run in them here; that is also how one of them fails on purpose.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a demonstration talks to a terminal"
)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use kubepkg_e2e::{Error, Finished, Stage};
use kubepkg_sandbox::{ControlPlane, Fate, Options};

#[tokio::main]
async fn main() -> ExitCode {
    match show().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            let mut cause = std::error::Error::source(&error);
            while let Some(inner) = cause {
                eprintln!("  {inner}");
                cause = inner.source();
            }
            ExitCode::FAILURE
        }
    }
}

async fn show() -> Result<(), Error> {
    let begin = Instant::now();
    title("a real etcd, kube-apiserver and kube-controller-manager on loopback");
    // The plane lives as long as the process, and ends with it.
    let plane: &'static ControlPlane =
        Box::leak(Box::new(ControlPlane::start(Options::default()).await?));
    say(&format!(
        "API server ready at {} (the node and its pods are simulated)",
        plane.server()
    ));

    title("the kinds and the operator");
    let stage = Stage::on(plane, "shop", "kubepkg.dev").await?;
    say("kubepkg-operator crds | kubectl apply --server-side -f -");
    let _operator = stage.operator(&["--retry-backoff", "1h", "--retry-backoff-max", "1h"])?;
    say("kubepkg-operator &");
    publish(&stage, &["1.0.0", "1.0.1", "1.0.2"])?;
    say(&format!(
        "charts store and web are served at {}",
        stage.charts.repository_url()
    ));

    title("install: two components, the web front after its store");
    offer(&stage, "1.0.0")?;
    run(
        &stage,
        &[
            "install",
            "shop@~1.0",
            "--yes",
            "--wait",
            "--timeout",
            "60s",
        ],
    )?;
    run(&stage, &["list"])?;
    kubectl(&stage, &["get", "statefulsets,deployments,pods"])?;

    title("upgrade: only the web front changed, so only it is touched");
    offer(&stage, "1.0.1")?;
    stage
        .until_ready_is("shop", "True ReconciliationSucceeded")
        .await?;
    until_version(&stage, "1.0.1").await?;
    run(&stage, &["list"])?;

    title("a broken upgrade: its pods never get ready, so the whole package goes back");
    let broken = plane.pods().decide(
        &stage.namespace,
        "app.kubernetes.io/version=1.0.2",
        Fate::PullError,
    )?;
    kubectl(
        &stage,
        &[
            "patch",
            "package",
            "shop",
            "--type=merge",
            "-p",
            r#"{"spec":{"upgrade":{"timeout":"8s"}}}"#,
        ],
    )?;
    stage
        .until_ready_is("shop", "True ReconciliationSucceeded")
        .await?;
    offer(&stage, "1.0.2")?;
    stage
        .until_ready_is("shop", "False UpgradeRolledBack")
        .await?;
    broken.release();
    say(&format!(
        "Ready=False UpgradeRolledBack: {}",
        stage.message("shop")?
    ));
    kubectl(&stage, &["get", "deployments"])?;

    title("history: what happened, and Helm's own view of it");
    run(&stage, &["history", "shop"])?;
    let done = stage.helm(&["history", "shop-web"])?;
    output(
        &done
            .line
            .replace(&format!("--namespace {} ", stage.namespace), ""),
        done,
    )?;

    title("removal");
    run(
        &stage,
        &["remove", "shop", "--yes", "--wait", "--timeout", "60s"],
    )?;
    let what = "the revisions to go with their package";
    stage
        .until(what, &Vec::new(), || stage.history("shop"))
        .await?;
    kubectl(
        &stage,
        &["get", "packages,packagerevisions,deployments,statefulsets"],
    )?;

    println!(
        "\ndone in {:.1} s; nothing is left running",
        begin.elapsed().as_secs_f32()
    );
    Ok(())
}

/// Serves the example charts at these versions of the web front; the store stays at its own.
fn publish(stage: &Stage, versions: &[&str]) -> Result<(), Error> {
    let charts = examples().join("charts");
    stage.charts.add_chart_dir(charts.join("store"))?;
    for version in versions {
        let mut files = Vec::new();
        collect(&charts.join("web"), Path::new(""), &mut files)?;
        for (path, content) in &mut files {
            if path == "Chart.yaml" {
                *content = content.replace("1.0.0", version);
            }
        }
        stage.charts.add_chart("web", version, files)?;
    }
    Ok(())
}

fn collect(root: &Path, below: &Path, files: &mut Vec<(String, String)>) -> Result<(), Error> {
    let folder = root.join(below);
    let failed = |source| Error::File {
        path: folder.clone(),
        source,
    };
    for entry in std::fs::read_dir(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = below.join(entry.file_name());
        if entry.path().is_dir() {
            collect(root, &path, files)?;
        } else {
            let text = std::fs::read_to_string(entry.path()).map_err(failed)?;
            files.push((path.to_string_lossy().into_owned(), text));
        }
    }
    Ok(())
}

/// Applies the example PackageSource of a version, with the chart server's address and the stage's namespace.
fn offer(stage: &Stage, version: &str) -> Result<(), Error> {
    let path = examples()
        .join("packages/shop")
        .join(format!("{version}.yaml"));
    let text = std::fs::read_to_string(&path)
        .map_err(|source| Error::File {
            path: path.clone(),
            source,
        })?
        .replace("https://charts.example.org", &stage.charts.repository_url())
        .replace(
            "namespace: shop",
            &format!("namespace: {}", stage.namespace),
        );
    let done = stage.kubectl_in(&["apply", "-f", "-"], &text)?;
    output(
        &format!("kubectl apply -f examples/packages/shop/{version}.yaml"),
        done,
    )
}

async fn until_version(stage: &Stage, version: &str) -> Result<(), Error> {
    let kind = stage.kind("packages");
    stage
        .until("the new version", &version.to_owned(), || {
            let package = stage.get(&kind, "shop")?.unwrap_or_default();
            Ok(package["status"]["version"]
                .as_str()
                .unwrap_or_default()
                .to_owned())
        })
        .await?;
    stage
        .until_ready_is("shop", "True ReconciliationSucceeded")
        .await
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")
}

fn run(stage: &Stage, arguments: &[&str]) -> Result<(), Error> {
    let done = stage.kubepkg(arguments)?;
    output(&format!("kubepkg {}", arguments.join(" ")), done)
}

fn kubectl(stage: &Stage, arguments: &[&str]) -> Result<(), Error> {
    let mut all = vec!["--namespace", stage.namespace.as_str()];
    all.extend(arguments);
    let done = stage.kubectl(&all)?;
    output(&format!("kubectl {}", arguments.join(" ")), done)
}

fn output(line: &str, done: Finished) -> Result<(), Error> {
    println!("\n$ {line}");
    print!("{}{}", done.out, done.err);
    done.ok().map(drop)
}

fn title(text: &str) {
    println!("\n== {text}");
}

fn say(text: &str) {
    println!("   {text}");
}
