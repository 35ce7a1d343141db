//! The laws from a command line: `seeds DIR` writes the seeds of every law into a folder of its name, `check LAW
//! FILE...` runs inputs through one, `mutate LAW SECONDS [FIRST]` runs changed seeds through one, without a fuzzer.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool talks to a terminal"
)]

use std::io::{Error, ErrorKind};
use std::panic::catch_unwind;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use kubepkg_laws::{LAWS, hold, mutated};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["seeds", folder] => write_seeds(Path::new(folder)),
        ["check", law, files @ ..] => check(law, files),
        ["mutate", law, seconds] => mutate(law, seconds, "0"),
        ["mutate", law, seconds, first] => mutate(law, seconds, first),
        _ => {
            eprintln!(
                "usage: kubepkg-laws seeds DIR | check LAW FILE... | mutate LAW SECONDS [FIRST]"
            );
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write_seeds(folder: &Path) -> std::io::Result<()> {
    for law in LAWS {
        let folder = folder.join(law.name);
        std::fs::create_dir_all(&folder)?;
        let seeds = (law.seeds)();
        for (index, seed) in seeds.iter().enumerate() {
            std::fs::write(folder.join(format!("seed-{index:05}")), seed)?;
        }
        println!("{}: {} seeds", law.name, seeds.len());
    }
    Ok(())
}

fn check(law: &str, files: &[&str]) -> std::io::Result<()> {
    for file in files {
        hold(law, &std::fs::read(file)?);
        println!("{file}: holds");
    }
    Ok(())
}

/// A finding is written to `finding-LAW-NUMBER` and told; the run goes on.
fn mutate(name: &str, seconds: &str, first: &str) -> std::io::Result<()> {
    let wrong = |_| Error::from(ErrorKind::InvalidInput);
    let (seconds, first): (u64, u64) = (
        seconds.parse().map_err(wrong)?,
        first.parse().map_err(wrong)?,
    );
    let law = LAWS.iter().find(|law| law.name == name);
    let law = law.ok_or(Error::from(ErrorKind::NotFound))?;
    let seeds = (law.seeds)();
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut number, mut findings) = (first, 0);
    while Instant::now() < end {
        let input = mutated(&seeds, number);
        // An overflow of the stack ends this process: the input is written before.
        let path = format!("finding-{name}-{number}");
        std::fs::write(&path, &input)?;
        if catch_unwind(|| hold(name, &input)).is_ok() {
            std::fs::remove_file(&path)?;
        } else {
            findings += 1;
            println!("{path}");
        }
        number += 1;
    }
    println!("{name}: {} inputs, {findings} findings", number - first);
    match findings {
        0 => Ok(()),
        _ => Err(Error::other("a law does not hold")),
    }
}
