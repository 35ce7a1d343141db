//! What the operator costs: `cargo xtask bench operator` prints a Markdown table.
//!
//! Requests are counted from the API server's audit log, where the operator and Helm are users of their own. The chart has
//! five small objects and no pods, so nothing but the release itself is counted. Memory is what `/proc` says of the
//! operator's process, which ought to be built for release.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command prints"
)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use kubepkg_e2e::{Chart, Error, Operator, Source, Stage};
use kubepkg_sandbox::{AuditLog, ControlPlane, Mark, Options};
use serde_json::{Value, json};

const DONE: &str = "True ReconciliationSucceeded";

const OBJECTS: &str = r#"apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .Release.Name }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  version: {{ .Chart.Version | quote }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-more
data:
  message: {{ .Values.message | quote }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .Release.Name }}
rules:
  - apiGroups: [""]
    resources: [configmaps]
    verbs: [get]
---
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}
spec:
  clusterIP: None
  selector:
    app: {{ .Release.Name }}
  ports:
    - port: 80
"#;

/// Counts the operator's requests and weighs it.
#[derive(Parser)]
#[command(bin_name = "kubepkg-bench-operator")]
struct Arguments {
    /// The operator, built for release.
    #[arg(long)]
    operator: PathBuf,
    /// How many Packages it is weighed with.
    #[arg(long, default_value_t = 50)]
    packages: usize,
}

#[tokio::main]
async fn main() -> ExitCode {
    match measure(&Arguments::parse()).await {
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

async fn measure(arguments: &Arguments) -> Result<(), Error> {
    // The plane lives as long as the process, and ends with it.
    let plane: &'static ControlPlane =
        Box::leak(Box::new(ControlPlane::start(Options::default()).await?));
    let install = install(plane, arguments).await?;
    let pass = pass(plane, arguments).await?;
    println!("## Requests\n\nA chart with five small objects and no pods.\n");
    let columns = [
        ("operator, first package", &install.cold),
        ("operator, next package", &install.warm),
        ("`helm install --wait`", &install.helm_wait),
        ("`helm install`", &install.helm),
        ("operator, pass with nothing to do", &pass.tally),
    ];
    table(&columns);
    println!(
        "\nThe last column is the sum of {} passes.\n\n## Memory\n",
        pass.count
    );
    println!("| operator | VmRSS MiB | VmHWM MiB |\n|---|---|---|");
    println!("| idle | {} |", install.idle);
    println!(
        "| {} Packages installed, {:.1} s after they were asked for | {} |",
        arguments.packages, install.seconds, install.full
    );
    println!("| the same, 30 s later | {} |", install.settled);
    Ok(())
}

/// What installations cost.
struct Install {
    cold: BTreeMap<String, usize>,
    warm: BTreeMap<String, usize>,
    helm: BTreeMap<String, usize>,
    helm_wait: BTreeMap<String, usize>,
    idle: Memory,
    full: Memory,
    settled: Memory,
    seconds: f32,
}

async fn install(plane: &'static ControlPlane, arguments: &Arguments) -> Result<Install, Error> {
    let stage = stage(plane, "install").await?;
    let operator = stage.operator_from(&arguments.operator, &["--recheck-interval", "1h"])?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let idle = memory(&operator)?;
    let audit = plane.audit();
    let mut counted = Vec::new();
    for package in ["cold", "warm"] {
        let mark = audit.mark()?;
        stage.source(package, &Source::new("1.0.0", &[("five", "1.0.0")]))?;
        stage.package(package, json!({}))?;
        stage.until_ready_is(package, DONE).await?;
        // What comes after readiness belongs to it, too.
        tokio::time::sleep(Duration::from_secs(2)).await;
        counted.push(tally(&audit, mark, "operator")?);
    }
    let archive = stage.folder().join("five.tgz");
    let bytes = stage.charts.archive("five", "1.0.0").unwrap_or_default();
    std::fs::write(&archive, bytes).map_err(|source| Error::File {
        path: archive.clone(),
        source,
    })?;
    let path = archive.to_string_lossy();
    // The first run fills Helm's discovery cache, as it is on a person's machine.
    stage.helm(&["install", "first", &path])?.ok()?;
    let mut helm = Vec::new();
    for flags in [
        &["install", "plain", &path][..],
        &["install", "waited", &path, "--wait"],
    ] {
        let mark = audit.mark()?;
        stage.helm(flags)?.ok()?;
        helm.push(tally(&audit, mark, "helm")?);
    }
    let begin = Instant::now();
    crowd(&stage, arguments.packages)?;
    let kind = stage.kind("packages");
    let ready = || -> Result<usize, Error> {
        let text = stage.kubectl(&["get", &kind, "-o", "json"])?.ok()?;
        let list: Value = serde_json::from_str(&text).unwrap_or_default();
        let items = list["items"].as_array().cloned().unwrap_or_default();
        let is_ready = |item: &&Value| {
            let conditions = item["status"]["conditions"].as_array();
            conditions
                .into_iter()
                .flatten()
                .any(|c| c["type"] == "Ready" && c["status"] == "True")
        };
        Ok(items.iter().filter(is_ready).count())
    };
    // Two are there already.
    stage
        .until("all packages to be ready", &(arguments.packages + 2), ready)
        .await?;
    let seconds = begin.elapsed().as_secs_f32();
    let full = memory(&operator)?;
    tokio::time::sleep(Duration::from_secs(30)).await;
    let settled = memory(&operator)?;
    let mut counted = counted.into_iter();
    let mut helm = helm.into_iter();
    Ok(Install {
        cold: counted.next().unwrap_or_default(),
        warm: counted.next().unwrap_or_default(),
        helm: helm.next().unwrap_or_default(),
        helm_wait: helm.next().unwrap_or_default(),
        idle,
        full,
        settled,
        seconds,
    })
}

/// Writes many PackageSources and Packages at once.
fn crowd(stage: &Stage, packages: usize) -> Result<(), Error> {
    let mut items = Vec::new();
    for number in 0..packages {
        let name = format!("crowd-{number}");
        let source = Source::new("1.0.0", &[("five", "1.0.0")]);
        let spec = source.spec(&name, &stage.namespace, &stage.charts.repository_url());
        for (kind, spec) in [("PackageSource", spec), ("Package", json!({}))] {
            items.push(json!({
                "apiVersion": stage.group.api_version(),
                "kind": kind,
                "metadata": { "name": name },
                "spec": spec,
            }));
        }
    }
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    stage
        .kubectl_in(&["create", "-f", "-"], &list.to_string())?
        .ok()
        .map(drop)
}

/// What passes with nothing to do cost.
struct Pass {
    tally: BTreeMap<String, usize>,
    count: usize,
}

async fn pass(plane: &'static ControlPlane, arguments: &Arguments) -> Result<Pass, Error> {
    let stage = stage(plane, "pass").await?;
    let _operator = stage.operator_from(&arguments.operator, &["--recheck-interval", "1s"])?;
    stage.source("quiet", &Source::new("1.0.0", &[("five", "1.0.0")]))?;
    stage.package("quiet", json!({}))?;
    stage.until_ready_is("quiet", DONE).await?;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let audit = plane.audit();
    let mark = audit.mark()?;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let tally = tally(&audit, mark, "operator")?;
    // Every pass lists the package's revisions once.
    let count = tally.get("list packagerevisions").copied();
    Ok(Pass {
        tally,
        count: count.unwrap_or_default(),
    })
}

async fn stage(plane: &'static ControlPlane, name: &str) -> Result<Stage, Error> {
    let group = format!("{name}.example.org");
    let stage = Stage::on(plane, name, &group).await?;
    stage.chart(&Chart::new("five", "1.0.0").file("templates/objects.yaml", OBJECTS))?;
    Ok(stage)
}

fn tally(audit: &AuditLog, mark: Mark, user: &str) -> Result<BTreeMap<String, usize>, Error> {
    let requests = audit.since(mark)?.by_user(user);
    // Watches are begun anew from time to time, whatever happens.
    Ok(requests.filter(|r| r.verb != "watch").tally())
}

/// `VmRSS` and `VmHWM` of a process, in MiB.
struct Memory {
    now: f32,
    most: f32,
}

impl std::fmt::Display for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.1} | {:.1}", self.now, self.most)
    }
}

fn memory(operator: &Operator) -> Result<Memory, Error> {
    let path = PathBuf::from(format!("/proc/{}/status", operator.id()));
    let text = std::fs::read_to_string(&path).map_err(|source| Error::File { path, source })?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next());
        let kibibytes: f32 = number.and_then(|n| n.parse().ok()).unwrap_or_default();
        kibibytes / 1024.0
    };
    Ok(Memory {
        now: field("VmRSS:"),
        most: field("VmHWM:"),
    })
}

/// One row per verb and resource, one column per subject.
fn table(columns: &[(&str, &BTreeMap<String, usize>)]) {
    let keys: std::collections::BTreeSet<&String> =
        columns.iter().flat_map(|(_, tally)| tally.keys()).collect();
    let heads: Vec<&str> = columns.iter().map(|(head, _)| *head).collect();
    println!("| request | {} |", heads.join(" | "));
    println!("|---|{}", "---|".repeat(columns.len()));
    for key in keys {
        let cells: Vec<String> = columns
            .iter()
            .map(|(_, tally)| tally.get(key).map_or(String::new(), ToString::to_string))
            .collect();
        println!("| {key} | {} |", cells.join(" | "));
    }
    let sums: Vec<String> = columns
        .iter()
        .map(|(_, tally)| format!("**{}**", tally.values().sum::<usize>()))
        .collect();
    println!("| **all** | {} |", sums.join(" | "));
}
