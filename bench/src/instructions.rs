//! Instructions that a program takes, where the machine counts them for us: by `perf stat`, if it is installed.

use std::path::Path;

use crate::process::command;

/// The instructions of one run outside the kernel; `None` where nobody counts them.
pub(crate) fn count(words: &[String], home: &Path) -> Option<u64> {
    let mut all: Vec<String> = [
        "/usr/bin/env",
        "perf",
        "stat",
        "-x,",
        "-e",
        "instructions:u",
        "--",
    ]
    .map(str::to_owned)
    .to_vec();
    all.extend_from_slice(words);
    let output = command(&all, home)
        .ok()?
        .env("PATH", std::env::var_os("PATH")?)
        .output()
        .ok()?;
    counted(&String::from_utf8_lossy(&output.stderr))
}

/// The number in a line such as `5042,,instructions:u,…`; a virtual machine without counters says
/// `<not supported>` in its place.
fn counted(said: &str) -> Option<u64> {
    let line = said.lines().find(|line| line.contains("instructions"))?;
    line.split(',').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_machine_without_counters_is_no_number() {
        // Both as `perf stat -x,` prints them.
        assert_eq!(
            counted("5042,,instructions:u,512339,100.00,,\n"),
            Some(5042)
        );
        assert_eq!(
            counted("<not supported>,,instructions:u,0,100.00,,\n"),
            None
        );
        assert_eq!(counted("perf: not found\n"), None);
    }
}
