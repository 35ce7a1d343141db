//! The helm program: what it prints for a case, or why it refuses.
//!
//! It runs with folders of its own for configuration and cache and without a cluster, so that nothing on the machine
//! has a say. Its standard error is log lines and then the error; the hint at the end of some errors is cut off.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::Failure;
use crate::corpus::Case;
use crate::run::{Answer, NAME, NAMESPACE};

/// What helm adds to some errors, and no library would.
const HINT: &str = "\n\nUse --debug flag to render out invalid YAML";

/// The helm program and how it is run.
pub(crate) struct Helm {
    program: PathBuf,
    home: tempfile::TempDir,
    limit: Duration,
}

impl Helm {
    /// Takes the program at this path; each run may take `limit`.
    pub(crate) fn new(program: &Path, limit: Duration) -> Result<Self, Failure> {
        let home = tempfile::tempdir().map_err(|source| Failure::Read {
            path: std::env::temp_dir(),
            source,
        })?;
        Ok(Self {
            program: program.to_owned(),
            home,
            limit,
        })
    }

    /// Renders a case, and says how long the program ran.
    pub(crate) fn template(&self, case: &Case) -> Result<(Answer, Duration), Failure> {
        self.run(case).map_err(|source| Failure::Helm {
            program: self.program.clone(),
            source,
        })
    }

    fn run(&self, case: &Case) -> std::io::Result<(Answer, Duration)> {
        let (mut output, mut errors) = (tempfile::tempfile()?, tempfile::tempfile()?);
        let mut command = Command::new(&self.program);
        command
            .args(["template", NAME])
            .arg(&case.chart)
            .args(["--namespace", NAMESPACE, "--include-crds"])
            .env_clear()
            .env("HOME", self.home.path())
            .env("TMPDIR", self.home.path())
            .env("KUBECONFIG", "/dev/null")
            .current_dir(self.home.path())
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(errors.try_clone()?);
        if let Some(values) = &case.values {
            command.arg("--values").arg(values);
        }
        let begin = Instant::now();
        let mut child = command.spawn()?;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if begin.elapsed() > self.limit {
                child.kill()?;
                child.wait()?;
                return Ok((Answer::Stopped, begin.elapsed()));
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        let took = begin.elapsed();
        let answer = if status.success() {
            Answer::Rendered(text(&mut output)?)
        } else {
            Answer::Refused(reason(&text(&mut errors)?))
        };
        Ok((answer, took))
    }
}

fn text(file: &mut File) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The error in what helm wrote to standard error.
fn reason(errors: &str) -> String {
    const BEGIN: &str = "Error: ";
    let error = match errors.strip_prefix(BEGIN) {
        Some(rest) => rest,
        None => errors
            .split_once("\nError: ")
            .map_or(errors, |(_, rest)| rest),
    };
    let error = error.trim_end();
    error.strip_suffix(HINT).unwrap_or(error).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_stands_after_the_log_and_without_the_hint() {
        let said = "level=WARN msg=\"x\"\nError: line one\nline two\n\nUse --debug flag to render out invalid YAML\n";
        assert_eq!(reason(said), "line one\nline two");
        assert_eq!(reason("Error: plain\n"), "plain");
    }
}
