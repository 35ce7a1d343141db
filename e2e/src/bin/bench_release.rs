//! What installing releases costs: `cargo xtask bench release` prints a Markdown table.
//!
//! The `helm` program, Helm's library in one Go process, and `kubepkg-helm` in this one install the same chart of five
//! small objects many times, one after another and many at a time, on one control plane in one run. The audit log counts
//! requests by user; `/proc` tells the CPU that the client and that the API server with etcd have used.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command prints"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Parser;
use kubepkg_helm::{Chart, ChartLimits, Helm, HelmOptions, InstallRequest, ReleaseOptions, Values};
use kubepkg_sandbox::{ControlPlane, Options};

/// A reason to stop; a bench has no caller that would tell them apart.
type Failure = Box<dyn std::error::Error + Send + Sync>;

const OBJECTS: &str = r#"apiVersion: v1
kind: ServiceAccount
metadata: {name: {{ .Release.Name }}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data: {k: v}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: {{ .Release.Name }}}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: {{ .Release.Name }}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ .Release.Name }}}
subjects: [{kind: ServiceAccount, name: {{ .Release.Name }}}]
---
apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}}
spec: {clusterIP: None, ports: [{port: 80}]}
"#;

/// Compares what installing releases costs.
#[derive(Parser)]
#[command(bin_name = "kubepkg-bench-release")]
struct Arguments {
    /// The program of `tools/control-plane/helm/bench-release`, built.
    #[arg(long)]
    library: PathBuf,
    /// How many releases each installs.
    #[arg(long, default_value_t = 100)]
    releases: usize,
    /// How many at a time, in the second run.
    #[arg(long, default_value_t = 16)]
    at_a_time: usize,
}

/// What one run has cost.
struct Cost {
    wall: Duration,
    client: f64,
    server: f64,
    requests: usize,
}

#[tokio::main]
async fn main() -> ExitCode {
    match measure(&Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Contender {
    Program,
    Library,
    Ours,
}

impl Contender {
    fn title(self) -> &'static str {
        match self {
            Contender::Program => "`helm install`, the program",
            Contender::Library => "Helm's library, one Go process",
            Contender::Ours => "`kubepkg-helm`, one process",
        }
    }

    /// Each has a user of its own, so that the audit log can tell its requests.
    fn user(self) -> &'static str {
        match self {
            Contender::Program => "helm",
            Contender::Library => "test",
            Contender::Ours => "kubepkg",
        }
    }
}

async fn measure(arguments: &Arguments) -> Result<(), Failure> {
    let plane: &'static ControlPlane =
        Box::leak(Box::new(ControlPlane::start(Options::default()).await?));
    let chart = plane.folder().join("bench-chart");
    std::fs::create_dir_all(chart.join("templates"))?;
    std::fs::write(
        chart.join("Chart.yaml"),
        "apiVersion: v2\nname: five\nversion: 1.0.0\n",
    )?;
    std::fs::write(chart.join("templates/all.yaml"), OBJECTS)?;
    println!(
        "{} releases of five small objects each; CPU of the API server includes etcd's.\n",
        arguments.releases
    );
    println!("| | at a time | wall | a release | client CPU | server CPU | requests a release |");
    println!("|---|---|---|---|---|---|---|");
    let contenders = [Contender::Program, Contender::Library, Contender::Ours];
    for at_a_time in [1, arguments.at_a_time] {
        for contender in contenders {
            let cost = cost(plane, arguments, contender, &chart, at_a_time).await?;
            let each = cost.wall / u32::try_from(arguments.releases)?;
            #[expect(clippy::cast_precision_loss, reason = "counts are small")]
            let requests = cost.requests as f64 / arguments.releases as f64;
            println!(
                "| {} | {at_a_time} | {:.1} s | {} ms | {:.1} s | {:.1} s | {requests:.1} |",
                contender.title(),
                cost.wall.as_secs_f64(),
                each.as_millis(),
                cost.client,
                cost.server,
            );
        }
    }
    Ok(())
}

async fn cost(
    plane: &'static ControlPlane,
    arguments: &Arguments,
    contender: Contender,
    chart: &Path,
    at_a_time: usize,
) -> Result<Cost, Failure> {
    let namespace = plane.namespace("bench").await?;
    let mark = plane.audit().mark()?;
    let server = || -> f64 {
        let pids = plane.processes().iter().take(2);
        pids.map(|pid| cpu_of(&pid.to_string()).0).sum()
    };
    let (server_before, client_before, began) = (server(), cpu_of("self"), Instant::now());
    let count = arguments.releases;
    match contender {
        Contender::Program => programs(plane, &namespace, chart, count, at_a_time).await?,
        Contender::Library => {
            let identity = plane.identity(contender.user())?;
            let mut command = Command::new(&arguments.library);
            command
                .arg(chart)
                .args([
                    &namespace,
                    "lib",
                    &count.to_string(),
                    &at_a_time.to_string(),
                ])
                .env("KUBECONFIG", identity.kubeconfig())
                .env("HOME", plane.folder().join("home"));
            succeed(command).await?;
        }
        Contender::Ours => ours(plane, &namespace, chart, count, at_a_time).await?,
    }
    let wall = began.elapsed();
    let client_after = cpu_of("self");
    let requests = plane.audit().since(mark)?;
    Ok(Cost {
        wall,
        client: match contender {
            Contender::Ours => client_after.0 - client_before.0,
            _ => client_after.1 - client_before.1,
        },
        server: server() - server_before,
        requests: requests.by_user(contender.user()).count(),
    })
}

async fn programs(
    plane: &'static ControlPlane,
    namespace: &str,
    chart: &Path,
    count: usize,
    at_a_time: usize,
) -> Result<(), Failure> {
    in_turns(count, at_a_time, |index| {
        let mut command = plane.command("helm", Contender::Program.user())?;
        command
            .args(["install", &format!("program-{index}")])
            .arg(chart)
            .args(["-n", namespace]);
        Ok(succeed(command))
    })
    .await
}

async fn ours(
    plane: &'static ControlPlane,
    namespace: &str,
    chart: &Path,
    count: usize,
    at_a_time: usize,
) -> Result<(), Failure> {
    let client = plane.client_as(Contender::Ours.user())?;
    let helm = Helm::new(client, HelmOptions::default());
    in_turns(count, at_a_time, |index| {
        let (helm, namespace, chart) = (helm.clone(), namespace.to_owned(), chart.to_owned());
        Ok(async move {
            // Loaded for each, as Helm does.
            let chart = Arc::new(Chart::load_dir(&chart, &ChartLimits::default())?);
            let request = InstallRequest {
                name: format!("ours-{index}"),
                namespace,
                chart,
                values: Values::default(),
                options: ReleaseOptions::default(),
            };
            match helm.install(request).await?.failure {
                None => Ok(()),
                Some(failure) => Err(failure.into()),
            }
        })
    })
    .await
}

/// Begins one task after another, so many at a time, and waits for all.
async fn in_turns<F>(
    count: usize,
    at_a_time: usize,
    mut task: impl FnMut(usize) -> Result<F, Failure>,
) -> Result<(), Failure>
where
    F: Future<Output = Result<(), Failure>> + Send + 'static,
{
    let mut running = tokio::task::JoinSet::new();
    for index in 0..count {
        if running.len() >= at_a_time {
            running.join_next().await.transpose()?.transpose()?;
        }
        running.spawn(task(index)?);
    }
    while let Some(done) = running.join_next().await {
        done??;
    }
    Ok(())
}

async fn succeed(mut command: Command) -> Result<(), Failure> {
    let output = tokio::task::spawn_blocking(move || command.output()).await??;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned().into())
}

/// Seconds of CPU that a process, and that its ended children, have used; nothing when it can't be told.
fn cpu_of(process: &str) -> (f64, f64) {
    /// Ticks of `/proc` in a second, on every Linux of today.
    const TICKS: f64 = 100.0;
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name in brackets may hold anything; what follows it are numbers. The state is the first of them.
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields: Vec<f64> = rest
        .split_whitespace()
        .map(|field| field.parse().unwrap_or_default())
        .collect();
    let sum = |from: usize| -> f64 { fields.iter().skip(from).take(2).sum::<f64>() / TICKS };
    (sum(11), sum(13))
}
