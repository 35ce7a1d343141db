//! Renders real charts with kubepkg and with the helm program, and says where they differ.
//!
//! `cargo xtask parity` builds this program and tells it where helm is. Every chart below the given folders is
//! rendered with its default values, once with every values file under its `ci/`, and with values made up if asked; what
//! `helm template` prints is the measure, byte for byte, errors included. Where helm itself answers anew each time, it
//! is run by a recorder, and its chance is given to us. It refuses nothing: a chart that can't be read is a case on which
//! both have to say the same.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool talks to a terminal"
)]

mod compare;
mod corpus;
mod docs;
mod flip;
mod helm;
mod keep;
mod ours;
mod replay;
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
    /// The recorder: helm that writes down what its templates got from chance and from the clock.
    #[arg(long)]
    recorder: Option<PathBuf>,
    /// Renders no charts; writes the tables of a page from JSON results, which are given instead of folders.
    #[arg(long)]
    write_docs: bool,
    /// The page with the tables.
    #[arg(long, default_value = "docs/helm-compatibility.md")]
    page: PathBuf,
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
    /// Compares notes and hooks of releases, too (`helm install --dry-run=client`).
    #[arg(long)]
    notes: bool,
    /// Makes up so many variants of the values of each chart: the first with every switch on, the others by dice.
    #[arg(long, value_name = "VARIANTS", default_value_t = 0)]
    flip: usize,
    /// Where the dice of the variants begin.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A folder in which helm's answers and values made up are kept; helm is not asked again about what is the same.
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
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
    /// A file can't be written.
    #[error("can't write {}: {source}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A file is no result of a comparison.
    #[error("{} is no JSON of a comparison", path.display())]
    NoResult {
        /// Which.
        path: PathBuf,
    },
    /// A page has no place for a table.
    #[error("{} lacks the line {marker}", path.display())]
    NoMarker {
        /// Which.
        path: PathBuf,
        /// What it lacks.
        marker: &'static str,
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
    if arguments.write_docs {
        return docs::write(&arguments.page, &arguments.folders).map(|()| true);
    }
    let mut cases = corpus::find(&arguments.folders)?;
    if cases.is_empty() {
        return Err(Failure::NoCharts);
    }
    let scratch = tempfile::tempdir().map_err(|source| Failure::Read {
        path: std::env::temp_dir(),
        source,
    })?;
    if arguments.flip > 0 {
        let folder = arguments.keep.as_deref().unwrap_or(scratch.path());
        let folder = folder.join("values");
        corpus::make_up(&mut cases, arguments.flip, arguments.seed, &folder)?;
    }
    let limit = Duration::from_secs(arguments.seconds);
    let answers = arguments.keep.as_ref().map(|folder| folder.join("answers"));
    let recorder = arguments.recorder.as_deref();
    let helm = helm::Helm::new(&arguments.helm, recorder, answers.as_deref(), limit)?;
    let plan = run::Plan {
        jobs: arguments.jobs,
        repeats: arguments.repeats,
        limit,
        notes: arguments.notes,
    };
    let outcomes = run::all(&cases, &helm, plan)?;
    let rows = report::rows(&outcomes);
    if arguments.json {
        println!("{}", report::json(&outcomes, &rows));
    } else {
        print!("{}", report::differences(&outcomes, arguments.diff_lines));
        print!("{}", report::table(&rows));
    }
    Ok(rows.iter().all(|row| row.different == 0))
}
