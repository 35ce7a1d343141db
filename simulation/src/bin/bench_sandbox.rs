//! What a sandbox costs, and what it gives: `cargo xtask bench sandbox` prints Markdown tables.
//!
//! * Start: the program `kubepkg sandbox`, from its start until it says that it is ready, and its memory when idle.
//! * Objects and watchers: objects are made one after another while others watch all of them; every watcher reads every
//!   event.
//! * Installs: packages asked for at once, until all are ready, by one operator (the real controller over the real helm
//!   backend, with charts in memory) in this process: on a real etcd and kube-apiserver over HTTPS, on the embedded API
//!   server, and on the embedded one on time that passes when nobody has anything to do. Such a sandbox has one thread, so
//!   tests run as many of them beside each other as there are processors: the last row.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool talks to a terminal"
)]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use clap::Parser;
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, PostParams, WatchEvent, WatchParams};
use kubepkg_sandbox::{ApiOptions, ApiServer, ControlPlane, Options};
use kubepkg_simulation::bench::Installer;
use rustix::time::ClockId;
use serde_json::json;

/// Objects of a step and the next, ten times as many.
const SIZES: [usize; 3] = [100, 1_000, 10_000];

/// Watchers of a row.
const WATCHERS: [usize; 2] = [1, 100];

/// Starts that are made; the middle one counts.
const STARTS: usize = 5;

/// How long a sandbox is left alone before it is weighed.
const IDLE: Duration = Duration::from_secs(3);

/// Measures the sandbox.
#[derive(Parser)]
#[command(bin_name = "kubepkg-bench-sandbox")]
struct Arguments {
    /// The program `kubepkg`, built for release; its start is left out without it.
    #[arg(long)]
    program: Option<PathBuf>,
    /// Packages that are installed; none leaves installs out.
    #[arg(long, default_value_t = 100)]
    packages: usize,
    /// Leaves the real control plane out.
    #[arg(long)]
    sandbox_only: bool,
    /// Leaves objects and watchers out.
    #[arg(long)]
    no_objects: bool,
}

fn main() -> ExitCode {
    match measure(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            let mut cause = error.source();
            while let Some(inner) = cause {
                eprintln!("  {inner}");
                cause = inner.source();
            }
            ExitCode::FAILURE
        }
    }
}

type Error = Box<dyn std::error::Error + Send + Sync>;

fn measure(arguments: &Arguments) -> Result<(), Error> {
    if let Some(program) = &arguments.program {
        starts(program)?;
    }
    if !arguments.no_objects {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(objects())?;
    }
    if arguments.packages > 0 {
        installs(arguments)?;
    }
    Ok(())
}

fn starts(program: &Path) -> Result<(), Error> {
    println!("| `kubepkg sandbox` | start to ready, ms | least | idle, MiB | most, MiB |");
    println!("|---|--:|--:|--:|--:|");
    for (what, flags) in [
        ("with the kinds and the operator", &[][..]),
        ("`--bare`", &["--bare"]),
    ] {
        let mut times = Vec::new();
        let mut weighed = (0.0, 0.0);
        for number in 0..STARTS {
            let begun = Instant::now();
            let mut sandbox = Running(
                Command::new(program)
                    .arg("sandbox")
                    .args(flags)
                    .stdin(Stdio::null())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::null())
                    .spawn()?,
            );
            let out = sandbox.0.stdout.take().ok_or("no output")?;
            let mut line = String::new();
            BufReader::new(out).read_line(&mut line)?;
            times.push(begun.elapsed());
            if !line.starts_with("export KUBECONFIG=") {
                return Err(format!("the sandbox says {line:?}").into());
            }
            if number + 1 == STARTS {
                std::thread::sleep(IDLE);
                let id = sandbox.0.id();
                weighed = (memory(id, "VmRSS:")?, memory(id, "VmHWM:")?);
            }
        }
        times.sort();
        let middle = times.get(STARTS / 2).copied().unwrap_or_default();
        let least = times.first().copied().unwrap_or_default();
        let (idle, most) = weighed;
        println!(
            "| {what} | {} | {} | {idle:.1} | {most:.1} |",
            millis(middle),
            millis(least)
        );
    }
    println!();
    Ok(())
}

/// A program that is killed with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already, which is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A line of what the kernel says of a process, in MiB.
fn memory(process: u32, name: &str) -> Result<f64, Error> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next());
    let kibibytes: f64 = number.unwrap_or_default().parse()?;
    Ok(kibibytes / 1024.0)
}

async fn objects() -> Result<(), Error> {
    println!("Processor time of server and clients.\n");
    println!("| objects | watchers | ms | µs an object | ns an event | a list, ms |");
    println!("|--:|--:|--:|--:|--:|--:|");
    for watchers in WATCHERS {
        for objects in SIZES {
            let (time, list) = fill(objects, watchers).await?;
            println!(
                "| {objects} | {watchers} | {} | {:.1} | {} | {} |",
                millis(time),
                time.as_secs_f64() * 1e6 / number(objects),
                time.as_nanos() / (objects * watchers) as u128,
                millis(list),
            );
        }
    }
    let most = memory(std::process::id(), "VmHWM:")?;
    println!("\nMost in use at a time: {most:.0} MiB.\n");
    Ok(())
}

fn number(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}

fn millis(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1e3)
}

/// Makes objects; what it takes until all watchers have seen all, and what a list takes then.
async fn fill(objects: usize, watchers: usize) -> Result<(Duration, Duration), Error> {
    let server = ApiServer::new(&ApiOptions::default());
    let api: Api<ConfigMap> = Api::default_namespaced(server.client());
    let mut readers = Vec::new();
    for _ in 0..watchers {
        let watch = WatchParams::default().timeout(290).labels("made=here");
        readers.push(api.watch(&watch, "0").await?.boxed());
    }
    let begun = processor_time();
    for number in 0..objects {
        let name = format!("m{number}");
        let map =
            json!({"metadata": {"name": name, "labels": {"made": "here"}}, "data": {"k": "v"}});
        let map: ConfigMap = serde_json::from_value(map)?;
        api.create(&PostParams::default(), &map).await?;
        for reader in &mut readers {
            match reader.next().await {
                Some(Ok(WatchEvent::Added(map))) if map.metadata.name.as_ref() == Some(&name) => {}
                other => return Err(format!("{name} was made, and a watch tells {other:?}").into()),
            }
        }
    }
    let time = processor_time().saturating_sub(begun);
    let begun = processor_time();
    let list = ListParams::default().labels("made=here");
    let found = api.list(&list).await?.items.len();
    if found != objects {
        return Err(format!("{objects} objects were made, and {found} are listed").into());
    }
    Ok((time, processor_time().saturating_sub(begun)))
}

/// Where packages are installed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Real,
    Embedded,
    EmbeddedOnItsOwnTime,
}

/// What an installation took.
struct Taken {
    begun: Instant,
    ended: Instant,
    processor: Duration,
}

fn installs(arguments: &Arguments) -> Result<(), Error> {
    let packages = arguments.packages;
    println!(
        "{packages} packages of one chart with a Deployment and four other objects, asked for at once.\n"
    );
    println!("| on | until all are ready, s | packages a second | CPU of this process, s | × |");
    println!("|---|--:|--:|--:|--:|");
    let mut first = None;
    for (what, place, sandboxes) in [
        ("etcd and kube-apiserver", Place::Real, 1),
        ("the sandbox", Place::Embedded, 1),
        (
            "the sandbox, on simulated time",
            Place::EmbeddedOnItsOwnTime,
            1,
        ),
        (
            "the same, a sandbox on each processor",
            Place::EmbeddedOnItsOwnTime,
            std::thread::available_parallelism()?.get(),
        ),
    ] {
        if place == Place::Real && arguments.sandbox_only {
            continue;
        }
        let each = packages.div_ceil(sandboxes);
        let taken = beside_each_other(sandboxes, || install(place, each))?;
        let wall = taken.ended.duration_since(taken.begun).as_secs_f64();
        let rate = number(each * sandboxes) / wall;
        println!(
            "| {what} | {wall:.2} | {rate:.1} | {:.2} | {:.1} |",
            taken.processor.as_secs_f64(),
            rate / *first.get_or_insert(rate),
        );
    }
    Ok(())
}

/// Does something in as many threads, and gives what it took from the first beginning to the last end.
fn beside_each_other(
    threads: usize,
    install: impl Fn() -> Result<Taken, Error> + Sync,
) -> Result<Taken, Error> {
    let all = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(&install)).collect();
        let done = running.into_iter().map(|thread| match thread.join() {
            Ok(taken) => taken,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        done.collect::<Result<Vec<_>, _>>()
    })?;
    let together = all.into_iter().reduce(|one, other| Taken {
        begun: one.begun.min(other.begun),
        ended: one.ended.max(other.ended),
        processor: one.processor + other.processor,
    });
    together.ok_or_else(|| "nothing was installed".into())
}

/// Installs packages until all are ready; what that took, with the processor time of this process, or of this thread where
/// all happens in it.
fn install(place: Place, packages: usize) -> Result<Taken, Error> {
    let inline = place == Place::EmbeddedOnItsOwnTime;
    let (runtime, clock) = if inline {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()?;
        (runtime, ClockId::ThreadCPUTime)
    } else {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        (runtime, ClockId::ProcessCPUTime)
    };
    runtime.block_on(async {
        let real;
        let server;
        let client = match place {
            Place::Real => {
                real = ControlPlane::start(Options::default()).await?;
                real.client()?
            }
            Place::Embedded => {
                server = ApiServer::new(&ApiOptions::default());
                server.client()
            }
            Place::EmbeddedOnItsOwnTime => {
                let start = jiff::Timestamp::now();
                server = ApiServer::new(&ApiOptions::default().start_with_runtime(start));
                server.client()
            }
        };
        let installer = Installer::new(client, inline).await?;
        // Discovery and the chart are at hand from here on, as in an operator that has been at work.
        installer.install("first", 1).await?;
        let (begun, used) = (Instant::now(), time_of(clock));
        installer.install("crowd", packages).await?;
        let taken = Taken {
            begun,
            ended: Instant::now(),
            processor: time_of(clock).saturating_sub(used),
        };
        installer.end().await;
        Ok(taken)
    })
}

/// Processor time of this process, its ended threads included.
fn processor_time() -> Duration {
    time_of(ClockId::ProcessCPUTime)
}

fn time_of(clock: ClockId) -> Duration {
    Duration::try_from(rustix::time::clock_gettime(clock)).unwrap_or_default()
}
