//! Developer commands of kubepkg: `cargo xtask help`.
//!
//! Nothing here is needed by a user of kubepkg. Every command runs from anywhere in the workspace
//! and says what to install when something is missing.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool talks to a terminal"
)]

mod assets;
mod bench;
mod ci;
mod crds;
mod demo;
mod fuzz;
mod parity;
mod recording;
mod run;
mod schemas;
mod simulate;
mod suite;
mod tidy;
mod vectors;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Developer commands of kubepkg.
#[derive(Parser)]
#[command(bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Shows the main job from start to end on a real control plane (`kubepkg demo` needs none): control plane, operator, a package installed, upgraded,
    /// rolled back and removed.
    Demo,
    /// Runs `kubepkg demo` and writes the README's picture, `docs/demo.svg`.
    DemoSvg,
    /// Shows on charts of yours that they render as `helm template` renders them, and that the operator
    /// installs and removes them: a table, one row per chart.
    Try {
        /// Chart folders or archives, and the flags of `kubepkg-try-charts`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        arguments: Vec<String>,
    },
    /// Measures, and prints Markdown tables.
    Bench {
        /// What to measure.
        #[command(subcommand)]
        what: Subject,
    },
    /// Everything that a change must pass: format, tidy, clippy, docs, dependencies, tests.
    Ci,
    /// Builds what the tests need, starts one control plane, runs all tests on it, and those that speak to an API server
    /// once more on the embedded one.
    Test {
        /// Arguments of `cargo test`, such as `-p kubepkg-helm NAME`. With arguments, each test
        /// binary that needs a control plane starts its own; after `--embedded` all of them have the
        /// embedded API server.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Builds etcd, kube-apiserver, kube-controller-manager, kubectl and helm, and prints their
    /// folder.
    Assets {
        /// Removes Go's build cache and the programs of earlier versions instead.
        #[arg(long)]
        clean: bool,
    },
    /// Runs the fuzz targets, each for a short while; needs cargo-fuzz and a nightly compiler.
    Fuzz {
        /// Seconds for each target.
        #[arg(long, default_value_t = 20)]
        seconds: u32,
        /// The targets; all when there are none.
        targets: Vec<String>,
    },
    /// Renders the charts below folders with kubepkg and with helm, and prints a table by
    /// repository and what differs; fails when anything does.
    Parity {
        /// Folders with charts (of several, each is a row of the table; of one, each folder in it), and flags:
        /// `--json`, `--notes`, `--flip VARIANTS`, `--keep FOLDER` and others, which `--help` explains; or
        /// `--write-docs` and results of `--json`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        arguments: Vec<String>,
    },
    /// Changes bodies of the conformance suite at random and sends them to the sandbox's API server and to the real
    /// one; prints what they answer differently as requests for the suite.
    Mutate {
        /// Where to begin: the same seed makes the same requests.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// How many requests.
        #[arg(long, default_value_t = 1_000)]
        count: u64,
    },
    /// Writes the CRDs of the default group into the operator's chart.
    Crds {
        /// Fails when they differ, and writes nothing.
        #[arg(long)]
        check: bool,
    },
    /// Writes the CRDs of a distribution's own group into a folder.
    CrdsForGroup {
        /// The API group, such as `packages.example.com`.
        group: String,
        /// The folder.
        out: PathBuf,
    },
    /// Asks a real API server for the schemas, descriptions and table columns of the built-in kinds and writes
    /// them where `kubepkg-patch` and the sandbox keep them.
    Schemas,
    /// Runs the real reconcilers on the embedded API server with every crash, and random histories, by
    /// seed; prints a table, and for each finding the command that shows it again.
    Simulate {
        /// Built for release: a longer build, several times the runs a minute.
        #[arg(long)]
        release: bool,
        /// `--seeds NUMBER`, or `--seed NUMBER` and what a finding names; `--help` explains.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        arguments: Vec<String>,
    },
    /// Checks the rules of the house: who may depend on whom, file length, names, docs.
    Tidy {
        /// Writes the generated parts (the table of floors in ARCHITECTURE.md) first.
        #[arg(long)]
        write: bool,
    },
    /// Runs files of vectors (`.jsonl`, `.jsonl.gz`) of the form of those in the crates' tests, and
    /// prints a table by group; fails when a case is not met or a file is of no known kind.
    Vectors {
        /// The folder, such as one with `helm/chart.jsonl` in it.
        folder: PathBuf,
    },
}

/// What can be measured.
#[derive(Subcommand)]
enum Subject {
    /// Requests and memory of the operator, as built for release.
    Operator,
    /// Loading a 26 MB `index.yaml`, with the helm program beside it, as built for release.
    Index,
    /// Start and memory of `kubepkg sandbox`, objects and watchers of its API server, and installs of packages a
    /// second beside a real control plane, as built for release.
    Sandbox {
        /// How many packages are installed.
        #[arg(long, default_value_t = 100)]
        packages: usize,
    },
    /// Time and memory of rendering, beside the helm program and Helm's library in a warm process.
    Helm {
        /// Charts, or folders with charts; without any, charts that the bench makes.
        charts: Vec<PathBuf>,
        /// Prints JSON instead.
        #[arg(long)]
        json: bool,
        /// Writes the tables into `docs/performance.md`.
        #[arg(long, conflicts_with_all = ["json", "charts"])]
        write: bool,
        /// How often each program runs on each chart.
        #[arg(long, default_value_t = 5)]
        runs: usize,
    },
    /// Time, CPU and requests of installing releases: the helm program, Helm's library, kubepkg-helm.
    Release {
        /// How many releases each installs, one after another and then many at a time.
        #[arg(long, default_value_t = 100)]
        releases: usize,
    },
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Demo => demo::show(),
        Command::DemoSvg => recording::write(),
        Command::Try { arguments } => demo::try_charts(&arguments),
        Command::Bench {
            what: Subject::Operator,
        } => demo::bench_operator(),
        Command::Bench {
            what: Subject::Index,
        } => demo::bench_index(),
        Command::Bench {
            what: Subject::Sandbox { packages },
        } => demo::bench_sandbox(packages),
        Command::Bench {
            what:
                Subject::Helm {
                    charts,
                    json,
                    write,
                    runs,
                },
        } => bench::helm(&charts, json, write, runs),
        Command::Bench {
            what: Subject::Release { releases },
        } => demo::bench_release(releases),
        Command::Ci => ci::run_all(),
        Command::Test { arguments } => suite::test(&arguments),
        Command::Assets { clean: true } => assets::clean(),
        Command::Assets { clean: false } => {
            assets::ensure().map(|folder| println!("{}", folder.display()))
        }
        Command::Crds { check: true } => crds::check(),
        Command::Crds { check: false } => crds::write(),
        Command::CrdsForGroup { group, out } => crds::write_for_group(&group, &out),
        Command::Parity { arguments } => parity::compare(&arguments),
        Command::Schemas => schemas::write(),
        Command::Simulate { release, arguments } => simulate::some(&arguments, release),
        Command::Mutate { seed, count } => suite::mutate(seed, count),
        Command::Fuzz { seconds, targets } => fuzz::all(&targets, seconds),
        Command::Tidy { write } => tidy::run(write),
        Command::Vectors { folder } => vectors::check(&folder),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}
