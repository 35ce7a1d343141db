//! The helm program: what it prints for a case, or why it refuses.
//!
//! It runs with folders of its own for configuration and cache and without a cluster, so that nothing on the machine
//! has a say. Its standard error is log lines and then the error; the hint at the end of some errors is cut off.
//! The recorder is the same program, which also writes down what its templates got from chance and from the clock.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Failure;
use crate::corpus::Case;
use crate::keep::{self, Kept};
use crate::ours::shown;
use crate::replay::Replay;
use crate::run::{Answer, NAME, NAMESPACE};

/// What helm adds to some errors, and no library would.
const HINT: &str = "\n\nUse --debug flag to render out invalid YAML";

/// The helm program and how it is run.
pub(crate) struct Helm {
    program: PathBuf,
    recorder: Option<PathBuf>,
    kept: Option<Kept>,
    home: tempfile::TempDir,
    limit: Duration,
}

impl Helm {
    /// Takes the program at this path; each run may take `limit`. Answers are kept in a folder, if there is one.
    pub(crate) fn new(
        program: &Path,
        recorder: Option<&Path>,
        keep: Option<&Path>,
        limit: Duration,
    ) -> Result<Self, Failure> {
        let read = |path: PathBuf| move |source| Failure::Read { path, source };
        let kept = keep.map(|folder| Kept::new(folder, program).map_err(read(folder.to_owned())));
        Ok(Self {
            program: program.to_owned(),
            recorder: recorder.map(Path::to_owned),
            kept: kept.transpose()?,
            home: tempfile::tempdir().map_err(read(std::env::temp_dir()))?,
            limit,
        })
    }

    /// Renders a case, and says how long the program ran, be it now or when the answer was kept.
    pub(crate) fn template(&self, case: &Case) -> Result<(Answer, Duration), Failure> {
        self.kept(case, "template", || self.again(case))
    }

    /// Renders a case anew.
    pub(crate) fn again(&self, case: &Case) -> Result<(Answer, Duration), Failure> {
        self.run(&self.program, &template(case), None)
    }

    /// What else a release of the case holds: the notes, and what is known of its hooks.
    pub(crate) fn rest(&self, case: &Case) -> Result<Answer, Failure> {
        let arguments = [
            NAME,
            "--namespace",
            NAMESPACE,
            "--dry-run=client",
            "-o=json",
        ];
        let mut arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        arguments.insert(0, OsStr::new("install"));
        arguments.insert(2, case.chart.as_os_str());
        arguments.extend(values(case));
        let ask = || {
            let (answer, took) = self.run(&self.program, &arguments, None)?;
            Ok((release(answer), took))
        };
        Ok(self.kept(case, "release", ask)?.0)
    }

    /// Renders a case with the recorder, if there is one: the answer and the record.
    pub(crate) fn recorded(&self, case: &Case) -> Result<Option<(Answer, Replay)>, Failure> {
        let Some(recorder) = &self.recorder else {
            return Ok(None);
        };
        let read = |source| Failure::Read {
            path: self.home.path().to_owned(),
            source,
        };
        let record = tempfile::NamedTempFile::new_in(self.home.path()).map_err(read)?;
        let answer = self.run(recorder, &template(case), Some(record.path()))?.0;
        let record = std::fs::read_to_string(record.path()).map_err(read)?;
        Ok(Some((answer, Replay::new(&record))))
    }

    fn kept(
        &self,
        case: &Case,
        question: &str,
        ask: impl FnOnce() -> Result<(Answer, Duration), Failure>,
    ) -> Result<(Answer, Duration), Failure> {
        let place = self.kept.as_ref().map(|kept| kept.place(case, question));
        // A chart that can't be read whole is one that helm is asked of each time.
        let Some(Ok(place)) = place else { return ask() };
        if let Some(answer) = keep::read(&place) {
            return Ok(answer);
        }
        let (answer, took) = ask()?;
        keep::write(&place, &answer, took);
        Ok((answer, took))
    }

    fn run(
        &self,
        program: &Path,
        arguments: &[&OsStr],
        record: Option<&Path>,
    ) -> Result<(Answer, Duration), Failure> {
        self.spawn(program, arguments, record)
            .map_err(|source| Failure::Helm {
                program: program.to_owned(),
                source,
            })
    }

    fn spawn(
        &self,
        program: &Path,
        arguments: &[&OsStr],
        record: Option<&Path>,
    ) -> std::io::Result<(Answer, Duration)> {
        let (mut output, mut errors) = (tempfile::tempfile()?, tempfile::tempfile()?);
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.home.path())
            .env("TMPDIR", self.home.path())
            .env("KUBECONFIG", "/dev/null")
            .envs(record.map(|path| ("KUBEPKG_RECORD", path)))
            .current_dir(self.home.path())
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(errors.try_clone()?);
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

/// The arguments of `helm template`.
fn template(case: &Case) -> Vec<&OsStr> {
    let mut arguments = vec![
        OsStr::new("template"),
        OsStr::new(NAME),
        case.chart.as_os_str(),
    ];
    arguments.extend(["--namespace", NAMESPACE, "--include-crds"].map(OsStr::new));
    arguments.extend(values(case));
    arguments
}

fn values(case: &Case) -> Vec<&OsStr> {
    let file = case.values.as_ref();
    file.map(|file| vec![OsStr::new("--values"), file.as_os_str()])
        .unwrap_or_default()
}

/// Notes and hooks in the release that helm prints.
fn release(answer: Answer) -> Answer {
    let Answer::Rendered(text) = answer else {
        return answer;
    };
    let Ok(release) = serde_json::from_str::<Value>(&text) else {
        return Answer::Refused(format!("(helm's release is no JSON: {text})"));
    };
    let notes = release.pointer("/info/notes").and_then(Value::as_str);
    let hooks = release.get("hooks").and_then(Value::as_array);
    let hooks = hooks.into_iter().flatten().map(|hook| {
        let list = |name: &str| match hook.get(name) {
            Some(list @ Value::Array(_)) => list.clone(),
            _ => json!([]),
        };
        json!({
            "name": hook.get("name"),
            "kind": hook.get("kind"),
            "path": hook.get("path"),
            "events": list("events"),
            "weight": hook.get("weight").unwrap_or(&json!(0)),
            "deletePolicies": list("delete_policies"),
            "outputLogPolicies": list("output_log_policies"),
        })
    });
    Answer::Rendered(shown(notes.unwrap_or_default(), hooks))
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
