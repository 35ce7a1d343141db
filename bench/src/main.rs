//! What rendering costs: kubepkg beside the helm program and beside Helm's library in a warm process.
//!
//! `cargo xtask bench helm` builds this program, helm and the small Go program in `tools/helm-library`, and tells it
//! where they are. All of them render the same charts in the same run, in turns. The program is also what is measured
//! on kubepkg's side: `template` renders one chart and ends, `serve` answers the same requests as the Go program.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool talks to a terminal"
)]

mod charts;
mod growth;
mod instructions;
mod ours;
mod process;
mod report;
mod statistics;
mod warm;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::process::{Helm, Usage};
use crate::report::{Report, Row};
use crate::warm::{Programs, Request};

/// Name of the release that all render.
const NAME: &str = "bench";
/// Its namespace.
const NAMESPACE: &str = "bench-ns";

/// Measures rendering beside Helm's.
#[derive(Parser)]
#[command(bin_name = "kubepkg-bench-helm")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measures all and prints Markdown.
    Compare(Compare),
    /// Renders a chart as `helm template` does.
    Template {
        /// Folder or archive.
        chart: PathBuf,
    },
    /// Answers requests on standard input, as `tools/helm-library` does.
    Serve,
    /// Runs a program to its end and prints what it used, as JSON.
    Measure {
        /// The program and its arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        command: Vec<String>,
    },
}

#[derive(clap::Args)]
struct Compare {
    /// Charts, or folders with charts; charts made by the bench when there are none.
    charts: Vec<PathBuf>,
    /// The helm program.
    #[arg(long, env = "KUBEPKG_HELM", default_value = "helm")]
    helm: PathBuf,
    /// The program that `tools/helm-library` becomes.
    #[arg(long)]
    library: PathBuf,
    /// Prints JSON instead.
    #[arg(long)]
    json: bool,
    /// How often each program runs on each chart.
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// How often each warm process renders each chart; those of more than two seconds less often.
    #[arg(long, default_value_t = 25)]
    warm_runs: usize,
    /// Only charts of which this is part of the path.
    #[arg(long)]
    only: Option<String>,
}

/// What keeps the bench from measuring.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// A file or folder can't be used.
    #[error("failed to use {}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A program can't be run, or says something else than it should.
    #[error("failed to run {program}: {reason}")]
    Program {
        /// Which.
        program: String,
        /// Why.
        reason: String,
    },
    /// No chart below the folders.
    #[error("no chart below these folders")]
    NoCharts,
}

/// A closure that turns an I/O error into [`Failure::File`].
fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Failure {
    let path = path.to_owned();
    move |source| Failure::File { path, source }
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Compare(arguments) => compare(&arguments),
        Command::Template { chart } => match ours::template(&chart) {
            Ok(text) => {
                print!("{text}");
                Ok(())
            }
            Err(reason) => {
                eprintln!("Error: {reason}");
                return ExitCode::FAILURE;
            }
        },
        Command::Serve => warm::serve(),
        Command::Measure { command } => {
            process::run(&command).map(|usage| println!("{}", usage.to_json()))
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn compare(arguments: &Compare) -> Result<(), Failure> {
    let home = tempfile::tempdir().map_err(file(&std::env::temp_dir()))?;
    let helm = Helm::new(&arguments.helm, home.path());
    let made = arguments.charts.is_empty();
    let charts = if made {
        charts::make(&helm, home.path())?
    } else {
        charts::find(&arguments.charts)?
    };
    let me = std::env::current_exe().map_err(file(Path::new("this program")))?;
    let programs = Programs {
        library: arguments.library.clone(),
        ours: me.clone(),
    };
    let load = statistics::machine_load();

    let mut rows = Vec::new();
    for (name, path) in &charts {
        if arguments
            .only
            .as_ref()
            .is_some_and(|part| !name.contains(part))
        {
            continue;
        }
        eprintln!("{name}");
        let commands = (helm.template(path), process::template(&me, path));
        // Only what both render alike is worth comparing.
        let equal = match (process::said(&commands.0)?, process::said(&commands.1)?) {
            (Ok(theirs), Ok(ours)) => theirs == ours,
            (Err(reason), _) | (_, Err(reason)) => {
                eprintln!(
                    "  passed over: {}",
                    reason.lines().next().unwrap_or_default()
                );
                continue;
            }
        };
        let mut used: (Vec<Usage>, Vec<Usage>) = Default::default();
        for _ in 0..arguments.runs.max(1) {
            used.0
                .push(process::measure(&me, &commands.0, home.path())?);
            used.1
                .push(process::measure(&me, &commands.1, home.path())?);
        }
        let instructions = (
            instructions::count(&commands.0, home.path()),
            instructions::count(&commands.1, home.path()),
        );
        let request = Request::new(path);
        let warm = warm::in_turns(&programs, &request, arguments.warm_runs)?;
        rows.push(Row {
            name: name.clone(),
            equal,
            helm: statistics::program(&used.0, instructions.0),
            ours: statistics::program(&used.1, instructions.1),
            warm,
        });
    }
    if rows.is_empty() {
        return Err(Failure::NoCharts);
    }
    let growth = if made && arguments.only.is_none() {
        growth::measure(&programs, home.path())?
    } else {
        Vec::new()
    };
    let report = Report {
        rows,
        growth,
        runs: arguments.runs.max(1),
        load: (load, statistics::machine_load()),
    };
    if arguments.json {
        println!("{}", report.to_json());
    } else {
        print!("{report}");
    }
    Ok(())
}
