//! Long-lived processes that render on request, one on Helm's library and one on ours, asked in turns.
//!
//! A request is a line of JSON with a chart and a number of runs; the answer is a line with the time of each. Both load
//! the chart from disk anew in every run, and both make the text that `helm template` prints.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::process::own_cpu;
use crate::{Failure, NAME, NAMESPACE, file, ours};

/// What a process is asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Request {
    chart: String,
    name: String,
    namespace: String,
    runs: usize,
}

impl Request {
    pub(crate) fn new(chart: &Path) -> Self {
        Self {
            chart: chart.to_string_lossy().into_owned(),
            name: NAME.to_owned(),
            namespace: NAMESPACE.to_owned(),
            runs: 1,
        }
    }
}

/// What it says; all times are nanoseconds.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Answer {
    load: Option<Vec<u64>>,
    render: Option<Vec<u64>>,
    cpu: u64,
    /// Bytes of memory at most.
    peak: u64,
    output: usize,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    error: String,
}

/// One side's costs of a chart: of each run, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Costs {
    /// Loading and rendering.
    pub(crate) both: Vec<Duration>,
    /// Rendering alone.
    pub(crate) render: Vec<Duration>,
    /// Processor time of all threads for loading and rendering, averaged over the runs of a request.
    pub(crate) cpu: Vec<Duration>,
    /// Bytes of memory at most.
    pub(crate) memory: u64,
}

impl Costs {
    fn add(&mut self, answer: &Answer) {
        let load = answer.load.iter().flatten();
        let render = answer.render.iter().flatten();
        for (load, render) in load.zip(render) {
            self.both.push(Duration::from_nanos(load + render));
            self.render.push(Duration::from_nanos(*render));
        }
        let runs = answer.render.as_ref().map_or(1, Vec::len).max(1);
        let runs = u64::try_from(runs).unwrap_or(u64::MAX);
        self.cpu.push(Duration::from_nanos(answer.cpu / runs));
        self.memory = self.memory.max(answer.peak);
    }
}

/// Both sides of a chart.
#[derive(Debug, Clone, Default)]
pub(crate) struct Warm {
    pub(crate) library: Costs,
    pub(crate) ours: Costs,
}

/// How many requests the runs are spread over, so that what else the machine does hits both.
const TURNS: usize = 5;

/// Time after which a side is not asked again for the same chart.
const ENOUGH: Duration = Duration::from_secs(2);

/// The two programs.
pub(crate) struct Programs {
    /// What `tools/helm-library` becomes.
    pub(crate) library: PathBuf,
    /// This program.
    pub(crate) ours: PathBuf,
}

/// Asks both for a chart, in turns, after a run of each that does not count. The processes are new for each chart, so
/// that the memory of one is not that of another.
pub(crate) fn in_turns(
    programs: &Programs,
    request: &Request,
    runs: usize,
) -> Result<Warm, Failure> {
    let mut warm = Warm::default();
    let library = &mut Peer::start(&programs.library, &[])?;
    let ours = &mut Peer::start(&programs.ours, &["serve"])?;
    library.ask(request)?;
    ours.ask(request)?;
    let request = Request {
        runs: runs.div_ceil(TURNS).max(1),
        ..request.clone()
    };
    let mut spent = (Duration::ZERO, Duration::ZERO);
    for turn in 0..TURNS {
        for (peer, costs, spent) in [
            (&mut *library, &mut warm.library, &mut spent.0),
            (&mut *ours, &mut warm.ours, &mut spent.1),
        ] {
            if turn > 0 && *spent > ENOUGH {
                continue;
            }
            let begin = Instant::now();
            costs.add(&peer.ask(&request)?);
            *spent += begin.elapsed();
        }
    }
    Ok(warm)
}

/// A process that answers requests; it ends with its standard input.
pub(crate) struct Peer {
    name: String,
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Peer {
    pub(crate) fn start(program: &Path, arguments: &[&str]) -> Result<Self, Failure> {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(file(program))?;
        let (requests, answers) = (child.stdin.take(), child.stdout.take());
        let name = program.to_string_lossy().into_owned();
        let answers = answers.ok_or_else(|| Failure::Program {
            program: name.clone(),
            reason: "no output".to_owned(),
        })?;
        Ok(Self {
            name,
            child,
            requests,
            answers: BufReader::new(answers),
        })
    }

    pub(crate) fn ask(&mut self, request: &Request) -> Result<Answer, Failure> {
        let failed = |reason: String| Failure::Program {
            program: self.name.clone(),
            reason,
        };
        let asked = serde_json::to_string(request).map_err(|error| failed(error.to_string()))?;
        if let Some(requests) = &mut self.requests {
            writeln!(requests, "{asked}").map_err(|error| failed(error.to_string()))?;
        }
        let mut line = String::new();
        self.answers
            .read_line(&mut line)
            .map_err(|error| failed(error.to_string()))?;
        let answer: Answer =
            serde_json::from_str(&line).map_err(|error| failed(format!("{error}: {line}")))?;
        if answer.error.is_empty() {
            Ok(answer)
        } else {
            Err(failed(format!("{}: {}", request.chart, answer.error)))
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.requests.take());
        // Its own exit code does not matter any more.
        let _ = self.child.wait();
    }
}

/// Answers requests until there are no more.
pub(crate) fn serve() -> Result<(), Failure> {
    let failed = |reason: String| Failure::Program {
        program: "serve".to_owned(),
        reason,
    };
    for line in std::io::stdin().lines() {
        let line = line.map_err(|error| failed(error.to_string()))?;
        let request: Request =
            serde_json::from_str(&line).map_err(|error| failed(error.to_string()))?;
        let answer = answer(&request).unwrap_or_else(|error| Answer {
            error,
            ..Answer::default()
        });
        let text = serde_json::to_string(&answer).map_err(|error| failed(error.to_string()))?;
        println!("{text}");
    }
    Ok(())
}

fn answer(request: &Request) -> Result<Answer, String> {
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let (mut load, mut render, mut output) = (Vec::new(), Vec::new(), 0);
    let before = own_cpu();
    for _ in 0..request.runs {
        let begin = Instant::now();
        let chart = ours::load(Path::new(&request.chart))?;
        load.push(nanoseconds(begin.elapsed()));
        let begin = Instant::now();
        output = ours::text(&chart)?.len();
        render.push(nanoseconds(begin.elapsed()));
    }
    Ok(Answer {
        load: Some(load),
        render: Some(render),
        cpu: nanoseconds(own_cpu().saturating_sub(before)),
        peak: peak(),
        output,
        error: String::new(),
    })
}

/// The high-water mark of this process's memory in bytes, as Linux tells it.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next());
    let kibibytes: u64 = kibibytes
        .and_then(|number| number.parse().ok())
        .unwrap_or_default();
    kibibytes * 1024
}
