//! `cargo xtask fuzz`: every fuzz target for a short while.
//!
//! The targets are those of `fuzz/`, which is a workspace of its own and wants a nightly compiler; what they check is in
//! `laws/`. Seeds are written anew each time. There is no unsafe code here, so no sanitizer is built in, which doubles
//! what is tried in a second; debug assertions and checks for overflow are.

use std::path::Path;
use std::process::Command;

use crate::run::{Failure, Result, cargo, file, output, root, run};

const TOOL_HINT: &str = "install it with `cargo install --locked cargo-fuzz`";
const NIGHTLY_HINT: &str = "install it with `rustup toolchain install nightly --profile minimal`";

/// Memory in MiB at which a run is a finding.
const MOST_MEMORY: u32 = 1_024;
/// Seconds that one input may take before it is a finding.
const MOST_SECONDS: u32 = 20;
/// The largest input that is tried.
const MOST_BYTES: u32 = 8_192;

/// Runs these targets, all when there are none, each for some seconds.
pub(crate) fn all(targets: &[String], seconds: u32) -> Result<()> {
    output(cargo().args(["fuzz", "--version"]), TOOL_HINT)
        .map_err(|_| Failure::Message(format!("cargo-fuzz is missing; {TOOL_HINT}")))?;
    let mut known = targets_in(&root().join("fuzz/fuzz_targets"))?;
    if let Some(unknown) = targets.iter().find(|name| !known.contains(name)) {
        let known = known.join(", ");
        let message = format!("there is no fuzz target {unknown}; there are {known}");
        return Err(Failure::Message(message));
    }
    if !targets.is_empty() {
        known.retain(|name| targets.contains(name));
    }
    let corpus = root().join("fuzz/corpus");
    let mut seeds = cargo();
    seeds.args(["run", "--quiet", "--package", "kubepkg-laws", "--", "seeds"]);
    run(seeds.arg(&corpus), "")?;
    // The same dependencies as everywhere else: cargo adds what only the targets need.
    let lock = root().join("fuzz/Cargo.lock");
    std::fs::copy(root().join("Cargo.lock"), &lock).map_err(file("write", &lock))?;
    let mut build = fuzz();
    run(build.args(["build", "--sanitizer", "none"]), NIGHTLY_HINT)?;
    let mut found = Vec::new();
    for name in &known {
        println!("==> {name}");
        if run(fuzz_one(name, seconds).current_dir(root()), "").is_err() {
            found.push(name.as_str());
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    Err(Failure::Message(format!(
        "findings in {}: the inputs are in fuzz/artifacts; try one with `cargo run -p kubepkg-laws -- check LAW FILE`, \
         mend what is wrong, and keep it in laws/testdata/LAW",
        found.join(", ")
    )))
}

/// Cargo-fuzz with the newest compiler. This program's own compiler must not reach it through the environment.
fn fuzz() -> Command {
    let mut command = Command::new("cargo");
    command.args(["+nightly", "fuzz"]).current_dir(root());
    for variable in ["RUSTUP_TOOLCHAIN", "CARGO", "RUSTC"] {
        command.env_remove(variable);
    }
    command
}

fn fuzz_one(name: &str, seconds: u32) -> Command {
    let mut command = fuzz();
    command.args(["run", "--sanitizer", "none", name, "--"]);
    command.args([
        format!("-max_total_time={seconds}"),
        format!("-rss_limit_mb={MOST_MEMORY}"),
        format!("-timeout={MOST_SECONDS}"),
        format!("-max_len={MOST_BYTES}"),
        "-print_final_stats=1".to_owned(),
        "-verbosity=0".to_owned(),
    ]);
    command
}

fn targets_in(folder: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(folder).map_err(file("read", folder))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| Some(entry.path().file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}
