//! Charts of yours on a real control plane: `cargo xtask try CHART...`.
//!
//! Shows for each chart that our rendering is that of `helm template`, that the operator installs it, that a second pass
//! writes nothing, and that removal leaves nothing but what is meant to stay. The exit code is not zero when something
//! differs. Pods are said to run by the sandbox, and volumes lie ready for claims that name no class.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command prints"
)]

mod compare;
mod trial;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use kubepkg_e2e::{Error, Stage};
use kubepkg_sandbox::{ControlPlane, Options};

use trial::{Row, Wish};

/// Renders, installs and removes charts, beside Helm.
#[derive(Parser)]
#[command(bin_name = "cargo xtask try")]
struct Arguments {
    /// Chart folders or archives.
    #[arg(required = true)]
    charts: Vec<PathBuf>,
    /// A value for one of the charts, as `podinfo:replicaCount=2`.
    #[arg(long, value_name = "CHART:KEY=VALUE")]
    set: Vec<String>,
    /// How long a chart may take to get ready.
    #[arg(long, default_value = "60s")]
    timeout: String,
    /// An operator to run instead of the one that is built beside this program, such as one built for release.
    #[arg(long)]
    operator: Option<PathBuf>,
    /// Lets Helm install each chart too, and shows its seconds beside ours.
    #[arg(long)]
    beside: bool,
    /// Prints the operator's log at the end.
    #[arg(long)]
    log: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    match try_all(&Arguments::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {}", chain(&error));
            ExitCode::FAILURE
        }
    }
}

async fn try_all(arguments: &Arguments) -> Result<bool, Error> {
    // The plane lives as long as the process, and ends with it.
    let plane: &'static ControlPlane =
        Box::leak(Box::new(ControlPlane::start(Options::default()).await?));
    let stage = Stage::on(plane, "try", "kubepkg.dev").await?;
    stage
        .kubectl_in(&["create", "-f", "-"], &volumes().to_string())?
        .ok()?;
    let flags = [
        "--recheck-interval",
        "1s",
        "--retry-backoff",
        "1h",
        "--retry-backoff-max",
        "1h",
    ];
    let operator = match &arguments.operator {
        Some(program) => stage.operator_from(program, &flags)?,
        None => stage.operator(&flags)?,
    };
    let mut good = true;
    println!(
        "| chart | version | as helm template | installed | objects | seconds | second pass | removal |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for path in &arguments.charts {
        let wish = Wish {
            path: path.clone(),
            set: own(path, &arguments.set),
            timeout: arguments.timeout.clone(),
            beside: arguments.beside,
        };
        match trial::run(&stage, &wish).await {
            Ok(row) => {
                good &= row.good;
                print(&row);
            }
            Err(error) => {
                good = false;
                println!(
                    "| {} | error: {} | | | | | | |",
                    path.display(),
                    one_line(&chain(&error))
                );
            }
        }
    }
    if arguments.log {
        println!("\n{}", operator.log());
    }
    Ok(good)
}

/// Volumes for claims, since nobody makes them on demand here.
fn volumes() -> serde_json::Value {
    let volumes: Vec<_> = (0..20)
        .map(|number| {
            serde_json::json!({
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": { "name": format!("try-{number}") },
                "spec": {
                    "capacity": { "storage": "1Ti" },
                    "accessModes": ["ReadWriteOnce"],
                    "hostPath": { "path": "/nowhere" },
                },
            })
        })
        .collect();
    serde_json::json!({ "apiVersion": "v1", "kind": "List", "items": volumes })
}

/// The values that are meant for this chart: those that name it, or its file.
fn own(path: &std::path::Path, all: &[String]) -> Vec<String> {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    all.iter()
        .filter_map(|text| text.split_once(':'))
        .filter(|(chart, _)| *chart == file || file.starts_with(&format!("{chart}-")))
        .map(|(_, value)| value.to_owned())
        .collect()
}

fn print(row: &Row) {
    let cells = [
        &row.chart,
        &row.version,
        &row.equal,
        &row.installed,
        &row.objects,
        &row.seconds,
        &row.again,
        &row.removed,
    ];
    let cells: Vec<String> = cells.into_iter().map(|cell| one_line(cell)).collect();
    println!("| {} |", cells.join(" | "));
}

fn one_line(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
