//! `cargo xtask simulate`: crashes, faults and histories by seed, with a table of what was tried and found.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool talks to a terminal"
)]

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use clap::Parser;
use kubepkg_simulation::{
    Case, Fault, Finding, Reads, Run, SCENARIOS, Scenario, Tally, calm, check, check_history,
    positions,
};

/// Runs the real reconcilers on the embedded API server, on simulated time, and lets things go wrong.
#[derive(Parser)]
#[command(name = "simulate", bin_name = "cargo xtask simulate")]
struct Arguments {
    /// The whole sweep: every crash and fault at every request of every scenario, as many random histories as this, and a
    /// quarter as many in which reads show the past.
    #[arg(long, conflicts_with = "seed", value_name = "NUMBER")]
    seeds: Option<u64>,
    /// The first of these seeds.
    #[arg(long, default_value_t = 0, requires = "seeds")]
    from: u64,
    /// Only the histories, or only the scenarios.
    #[arg(long, requires = "seeds")]
    only: Option<Only>,
    /// One seed: a history, or with `--scenario` a scenario.
    #[arg(long)]
    seed: Option<u64>,
    /// A scenario; with `--seeds`, only this one.
    #[arg(long)]
    scenario: Option<String>,
    /// What goes wrong in it; with `--seeds`, only this.
    #[arg(long)]
    fault: Option<String>,
    /// At which request, counted from zero.
    #[arg(long, requires = "fault")]
    at: Option<u64>,
    /// The operator is killed before this request; short for `--fault crash-before --at`.
    #[arg(long, requires = "scenario", conflicts_with = "fault")]
    crash: Option<u64>,
    /// Reads of a history show the past, as no API server's do; what must never happen is looked for.
    #[arg(long, requires = "seed", conflicts_with = "scenario")]
    forced_stale: bool,
    /// Shows every request.
    #[arg(long, requires = "seed")]
    log: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Only {
    Scenarios,
    Histories,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match (arguments.seeds, arguments.seed) {
        (Some(seeds), _) => many(&arguments, seeds),
        (None, Some(seed)) => one(&arguments, seed),
        (None, None) => {
            eprintln!("error: give --seeds NUMBER, or --seed NUMBER");
            ExitCode::from(2)
        }
    }
}

fn one(arguments: &Arguments, seed: u64) -> ExitCode {
    let (run, finding) = match &arguments.scenario {
        None if arguments.forced_stale => check_history(seed, Reads::ForcedStale),
        None => check_history(seed, Reads::Present),
        Some(name) => {
            let Some(scenario) = SCENARIOS.iter().find(|scenario| scenario.name == name) else {
                let known: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
                eprintln!(
                    "error: there is no scenario {name}; there are {}",
                    known.join(", ")
                );
                return ExitCode::from(2);
            };
            let calm = calm(seed, *scenario);
            let fault = match (&arguments.fault, arguments.crash) {
                (Some(name), _) => Fault::named(name).zip(arguments.at),
                (None, Some(at)) => Fault::named("crash-before").zip(Some(at)),
                (None, None) => {
                    let finding = calm_finding(seed, *scenario, &calm);
                    return told(arguments, &calm, finding);
                }
            };
            let Some((fault, at)) = fault else {
                let known: Vec<&str> = Fault::ALL.iter().map(|(name, _)| *name).collect();
                eprintln!(
                    "error: there is no such fault; there are {}",
                    known.join(", ")
                );
                return ExitCode::from(2);
            };
            let scenario = *scenario;
            let case = Case {
                seed,
                scenario,
                fault,
                at,
            };
            check(case, &calm)
        }
    };
    told(arguments, &run, finding)
}

fn calm_finding(seed: u64, scenario: Scenario, calm: &Run) -> Option<Finding> {
    let mut what = calm.broken.clone();
    what.extend(calm.stuck.iter().map(ToString::to_string));
    let again = format!(
        "cargo xtask simulate --seed {seed} --scenario {}",
        scenario.name
    );
    (!what.is_empty()).then_some(Finding { again, what })
}

fn told(arguments: &Arguments, run: &Run, finding: Option<Finding>) -> ExitCode {
    if arguments.log {
        print!("{}", run.log());
        for (at, fault) in &run.met {
            println!("request {at} met {fault:?}");
        }
    }
    let (requests, kills, met) = (run.sent.len(), run.kills, run.met.len());
    println!(
        "{requests} requests, {} at rest, {kills} kills, {met} faults met, {} s simulated",
        run.resting,
        run.took.as_secs()
    );
    match finding {
        None => ExitCode::SUCCESS,
        Some(finding) => {
            eprint!("{finding}");
            ExitCode::FAILURE
        }
    }
}

/// What was tried of one kind.
struct Row {
    what: String,
    tally: Tally,
    findings: usize,
}

/// Tells at once what was found; a whole sweep takes long.
fn row(what: &str, tally: Tally, findings: &[Finding], begun: Instant) -> Row {
    eprintln!(
        "{} s: {what}, {} runs, {} findings",
        begun.elapsed().as_secs(),
        tally.runs,
        findings.len()
    );
    for finding in findings {
        eprint!("{finding}");
    }
    Row {
        what: what.to_owned(),
        tally,
        findings: findings.len(),
    }
}

fn many(arguments: &Arguments, seeds: u64) -> ExitCode {
    let begun = Instant::now();
    let mut rows = Vec::new();
    let is =
        |wanted: &Option<String>, name: &str| wanted.as_ref().is_none_or(|wanted| wanted == name);
    if arguments.only != Some(Only::Histories) {
        for scenario in SCENARIOS {
            if is(&arguments.scenario, scenario.name) {
                let fault = |name: &str| is(&arguments.fault, name);
                let (tally, findings) = sweep(arguments.from, *scenario, fault);
                rows.push(row(scenario.name, tally, &findings, begun));
            }
        }
    }
    let scenarios = rows.len();
    let mut histories = 0;
    if arguments.only != Some(Only::Scenarios) && arguments.scenario.is_none() {
        for (what, reads, count) in [
            ("histories", Reads::Present, seeds),
            (
                "histories, stale reads forced",
                Reads::ForcedStale,
                seeds / 4,
            ),
        ] {
            let seeds: Vec<u64> = (arguments.from..arguments.from + count).collect();
            let (tally, findings) = in_parallel(&seeds, |seed| check_history(*seed, reads));
            histories += seeds.len();
            rows.push(row(what, tally, &findings, begun));
        }
    }
    println!("| what | runs | lives ended | faults met | requests | findings |");
    println!("|---|--:|--:|--:|--:|--:|");
    let mut all = Tally::default();
    let mut found = 0;
    for row in &rows {
        show(&row.what, row.tally, row.findings);
        all.add(row.tally);
        found += row.findings;
    }
    show("all", all, found);
    let seconds = begun.elapsed().as_secs();
    println!(
        "\n{scenarios} scenarios, {histories} histories, {} runs, {} requests, {found} findings; {seconds} s",
        all.runs, all.requests
    );
    if found == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn show(what: &str, tally: Tally, findings: usize) {
    let Tally {
        runs,
        kills,
        faults,
        requests,
    } = tally;
    println!("| {what} | {runs} | {kills} | {faults} | {requests} | {findings} |");
}

/// Every wanted fault at every request of a scenario.
fn sweep(seed: u64, scenario: Scenario, wanted: impl Fn(&str) -> bool) -> (Tally, Vec<Finding>) {
    let calm = calm(seed, scenario);
    let mut cases = Vec::new();
    for (_, fault) in Fault::ALL.iter().filter(|(name, _)| wanted(name)) {
        let fault = *fault;
        let at = positions(&calm, fault).into_iter();
        cases.extend(at.map(|at| Case {
            seed,
            scenario,
            fault,
            at,
        }));
    }
    let (mut tally, mut findings) = in_parallel(&cases, |case| check(*case, &calm));
    tally.count(&calm);
    findings.extend(calm_finding(seed, scenario, &calm));
    (tally, findings)
}

/// Does work on all processors; findings come in the order of the work.
fn in_parallel<T: Sync>(
    work: &[T],
    check: impl Fn(&T) -> (Run, Option<Finding>) + Sync,
) -> (Tally, Vec<Finding>) {
    let next = AtomicUsize::new(0);
    let done = Mutex::new((Tally::default(), Vec::new()));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(one) = work.get(at) else {
                        return;
                    };
                    let (run, finding) = check(one);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.0.count(&run);
                    done.1.extend(finding.map(|finding| (at, finding)));
                }
            });
        }
    });
    let (tally, mut findings) = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    findings.sort_by_key(|(at, _)| *at);
    (
        tally,
        findings.into_iter().map(|(_, finding)| finding).collect(),
    )
}
