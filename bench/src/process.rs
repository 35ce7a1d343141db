//! Programs that run once: what they print, and what they use.
//!
//! A program is measured by a process of its own that starts it and does nothing else (this program's `measure`), so
//! that the kernel's account of ended children is that of the one program. Linux begins that account with the memory of
//! the process that started it; here that is a few MiB, less than anything measured.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use serde_json::json;

use crate::{Failure, NAME, NAMESPACE};

/// What a program used.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    /// From start to end.
    pub(crate) wall: Duration,
    /// Processor time, of the program and of the kernel on its behalf.
    pub(crate) cpu: Duration,
    /// Bytes of memory at most.
    pub(crate) memory: u64,
}

impl Usage {
    pub(crate) fn to_json(self) -> serde_json::Value {
        json!({
            "wall": nanoseconds(self.wall),
            "cpu": nanoseconds(self.cpu),
            "memory": self.memory,
        })
    }

    fn from_json(text: &[u8]) -> Option<Self> {
        let value: serde_json::Value = serde_json::from_slice(text).ok()?;
        let number = |key: &str| value.get(key)?.as_u64();
        Some(Self {
            wall: Duration::from_nanos(number("wall")?),
            cpu: Duration::from_nanos(number("cpu")?),
            memory: number("memory")?,
        })
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The helm program, with folders of its own for configuration and cache.
pub(crate) struct Helm {
    program: PathBuf,
    home: PathBuf,
}

impl Helm {
    pub(crate) fn new(program: &Path, home: &Path) -> Self {
        Self {
            program: program.to_owned(),
            home: home.to_owned(),
        }
    }

    /// A command of helm that nothing on the machine has a say in.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .env("HOME", &self.home)
            .env("TMPDIR", &self.home)
            .env("KUBECONFIG", "/dev/null");
        command
    }

    /// Renders a chart as every other participant does.
    pub(crate) fn template(&self, chart: &Path) -> Vec<String> {
        [
            self.program.to_string_lossy().as_ref(),
            "template",
            NAME,
            chart.to_string_lossy().as_ref(),
            "--namespace",
            NAMESPACE,
            "--include-crds",
        ]
        .map(str::to_owned)
        .to_vec()
    }
}

/// The command that renders a chart with kubepkg.
pub(crate) fn template(me: &Path, chart: &Path) -> Vec<String> {
    [
        me.to_string_lossy(),
        "template".into(),
        chart.to_string_lossy(),
    ]
    .map(std::borrow::Cow::into_owned)
    .to_vec()
}

/// What a command prints, or why it refuses.
pub(crate) fn said(words: &[String]) -> Result<Result<Vec<u8>, String>, Failure> {
    let home = std::env::temp_dir();
    let output = command(words, &home)?
        .output()
        .map_err(|error| failed(words, error.to_string()))?;
    Ok(if output.status.success() {
        Ok(output.stdout)
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    })
}

/// Runs a command through `measure` of this program, `me`.
pub(crate) fn measure(me: &Path, words: &[String], home: &Path) -> Result<Usage, Failure> {
    let mut all = vec![me.to_string_lossy().into_owned(), "measure".to_owned()];
    all.extend_from_slice(words);
    let output = command(&all, home)?
        .output()
        .map_err(|error| failed(words, error.to_string()))?;
    Usage::from_json(&output.stdout).ok_or_else(|| {
        let said = String::from_utf8_lossy(&output.stderr);
        failed(words, said.trim().to_owned())
    })
}

/// Runs a command to its end and says what it used.
pub(crate) fn run(words: &[String]) -> Result<Usage, Failure> {
    let mut command = start(words)?;
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let begin = Instant::now();
    let status = command
        .status()
        .map_err(|error| failed(words, error.to_string()))?;
    let wall = begin.elapsed();
    if !status.success() {
        return Err(failed(words, status.to_string()));
    }
    let used =
        getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| failed(words, error.to_string()))?;
    let kibibytes = u64::try_from(used.max_rss()).unwrap_or_default();
    Ok(Usage {
        wall,
        cpu: cpu_of(used),
        memory: kibibytes * 1024,
    })
}

/// The processor time of this process so far.
pub(crate) fn own_cpu() -> Duration {
    getrusage(UsageWho::RUSAGE_SELF).map_or(Duration::ZERO, cpu_of)
}

fn cpu_of(used: nix::sys::resource::Usage) -> Duration {
    let cpu = used.user_time() + used.system_time();
    Duration::from_micros(u64::try_from(cpu.num_microseconds()).unwrap_or_default())
}

/// A command with nothing of the machine in its environment.
pub(crate) fn command(words: &[String], home: &Path) -> Result<Command, Failure> {
    let mut command = start(words)?;
    command
        .env_clear()
        .env("HOME", home)
        .env("TMPDIR", home)
        .env("KUBECONFIG", "/dev/null");
    Ok(command)
}

/// A command that reads nothing.
fn start(words: &[String]) -> Result<Command, Failure> {
    let (program, arguments) = words
        .split_first()
        .ok_or_else(|| failed(words, "no program".to_owned()))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    Ok(command)
}

fn failed(words: &[String], reason: String) -> Failure {
    Failure::Program {
        program: words.join(" "),
        reason,
    }
}
