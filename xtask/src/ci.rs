//! `cargo xtask ci`: everything that a change must pass, in the order of cost.

use std::time::{Duration, Instant};

use crate::run::{Failure, Result, cargo, run};
use crate::{assets, crds, tidy};

const DENY_HINT: &str = "install it with `cargo install --locked cargo-deny`";

/// A step: its name and what it does.
type Step = (&'static str, fn() -> Result<()>);

const STEPS: &[Step] = &[
    ("format", format),
    ("tidy", check_tidy),
    ("dependencies", deny),
    ("clippy", clippy),
    ("docs", docs),
    ("assets", build_assets),
    ("tests", tests),
    ("crds", crds::check),
];

/// Runs all steps and stops at the first that fails.
pub(crate) fn run_all() -> Result<()> {
    let mut times: Vec<(&str, Duration)> = Vec::new();
    for (name, step) in STEPS {
        println!("==> {name}");
        let start = Instant::now();
        let done = step();
        times.push((name, start.elapsed()));
        if let Err(failure) = done {
            return Err(Failure::Message(format!("{name}: {failure}")));
        }
    }
    println!("==> passed");
    for (name, time) in times {
        println!("{name:>14} {:>5} s", time.as_secs());
    }
    Ok(())
}

fn format() -> Result<()> {
    run(cargo().args(["fmt", "--all", "--check"]), "")
}

fn check_tidy() -> Result<()> {
    tidy::run(false)
}

fn clippy() -> Result<()> {
    run(
        cargo().args([
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]),
        "",
    )
}

fn docs() -> Result<()> {
    run(
        cargo()
            .args(["doc", "--workspace", "--no-deps"])
            .env("RUSTDOCFLAGS", "-D warnings"),
        "",
    )
}

fn build_assets() -> Result<()> {
    assets::ensure().map(|_| ())
}

/// Snapshots are compared, never written.
fn tests() -> Result<()> {
    run(
        cargo().args(["xtask", "test"]).env("INSTA_UPDATE", "no"),
        "",
    )
}

/// Bans, licences and sources need nothing but the lock file. Advisories need a database from the
/// network; without it they are skipped, aloud.
fn deny() -> Result<()> {
    run(
        cargo().args([
            "deny",
            "--workspace",
            "check",
            "bans",
            "licenses",
            "sources",
        ]),
        DENY_HINT,
    )?;
    let fetched = cargo()
        .args(["deny", "fetch", "db"])
        .output()
        .is_ok_and(|output| output.status.success());
    if fetched {
        run(
            cargo().args(["deny", "check", "--disable-fetch", "advisories"]),
            DENY_HINT,
        )
    } else {
        println!("advisories skipped: the advisory database cannot be fetched from here");
        Ok(())
    }
}
