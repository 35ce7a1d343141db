//! Renders real charts with kubepkg and with the helm program, and says where they differ.
//!
//! `cargo xtask parity` builds this program and tells it where helm is. Every chart below the given folders is
//! rendered with its default values and once with every values file under its `ci/`; what `helm template` prints is
//! the measure, byte for byte, errors included. It refuses nothing: a chart that can't be read is a case on which
//! both have to say the same.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool talks to a terminal"
)]

mod compare;
mod corpus;
mod helm;
mod ours;
mod report;
mod run;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

/// Compares kubepkg's rendering of charts with the helm program.
#[derive(Parser)]
struct Arguments {
    /// Folders with charts. Of several, each is a row of the table; of one, each folder in it that holds charts.
    #[arg(required = true)]
    folders: Vec<PathBuf>,
    /// The helm program.
    #[arg(long, env = "KUBEPKG_HELM", default_value = "helm")]
    helm: PathBuf,
    /// Prints JSON: every case with its verdict, times and difference, and the table's rows.
    #[arg(long)]
    json: bool,
    /// Charts that are rendered at a time.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Seconds that one rendering of either may take.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// How often helm renders a chart again to find out what it changes by itself.
    #[arg(long, default_value_t = 4)]
    repeats: usize,
    /// Lines of each difference that are printed.
    #[arg(long, default_value_t = 60)]
    diff_lines: usize,
}

/// What keeps the comparison from being made at all.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// A file or folder can't be used.
    #[error("can't read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The helm program can't be run.
    #[error("can't run {}: {source}", program.display())]
    Helm {
        /// Which.
        program: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// No chart below the folders.
    #[error("no chart below these folders")]
    NoCharts,
}

fn main() -> ExitCode {
    match compare_all(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(2)
        }
    }
}

/// Whether nothing differs.
fn compare_all(arguments: &Arguments) -> Result<bool, Failure> {
    let cases = corpus::find(&arguments.folders)?;
    if cases.is_empty() {
        return Err(Failure::NoCharts);
    }
    let limit = Duration::from_secs(arguments.seconds);
    let helm = helm::Helm::new(&arguments.helm, limit)?;
    let outcomes = run::all(&cases, &helm, arguments.jobs, arguments.repeats, limit)?;
    let rows = report::rows(&outcomes);
    if arguments.json {
        println!("{}", report::json(&outcomes, &rows));
    } else {
        print!("{}", report::differences(&outcomes, arguments.diff_lines));
        print!("{}", report::table(&rows));
    }
    Ok(rows.iter().all(|row| row.different == 0))
}
