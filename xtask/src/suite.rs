//! `cargo xtask test`: the whole suite on one control plane, and what needs one again on the embedded
//! API server, which has to do for it what the real one does.
//!
//! A plane is the program `kubepkg-sandbox` of this workspace. It ends when its standard input
//! does, so it cannot outlive this process. Test binaries find it by `KUBEPKG_TEST_PLANE`.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::available_parallelism;

use crate::assets;
use crate::run::{Failure, Result, built, cargo, file, run};

/// The variable that `kubepkg-sandbox` reads.
const PLANE_VARIABLE: &str = "KUBEPKG_TEST_PLANE";
/// The flag of `kubepkg-sandbox`, and ours.
const EMBEDDED: &str = "--embedded";

/// The tests that run on both planes: the scenarios of the product, and of the libraries that speak to API servers.
const ON_BOTH: [&str; 14] = [
    "-p",
    "kubepkg-e2e",
    "-p",
    "kubepkg-helm",
    "-p",
    "kubepkg-backend",
    "-p",
    "kubepkg-api",
    "--test",
    "it",
    "--no-fail-fast",
    "--",
    // Nothing runs in the pods of the embedded API server, so there are no logs to read.
    "--skip",
    "hook_logs",
];

/// Runs the tests. With arguments, they go to `cargo test` and no plane is shared; after `--embedded`, on the embedded
/// API server.
pub(crate) fn test(arguments: &[String]) -> Result<()> {
    let programs = assets::ensure()?;
    let cargo_test = || {
        let mut command = cargo();
        command.arg("test").env("KUBEBUILDER_ASSETS", &programs);
        if std::env::var_os("RUST_TEST_THREADS").is_none() {
            // Most of the time of a test on a control plane is waiting.
            let threads = available_parallelism().map_or(2, usize::from).max(2) * 2;
            command.env("RUST_TEST_THREADS", threads.to_string());
        }
        command
    };
    if let [first, rest @ ..] = arguments
        && first == EMBEDDED
    {
        run(cargo().args(["build", "-p", "kubepkg-sandbox"]), "")?;
        return on_embedded(&programs, cargo_test().args(rest));
    }
    if !arguments.is_empty() {
        return run(cargo_test().args(arguments), "");
    }
    run(cargo_test().args(["--workspace", "--no-run"]), "")?;
    let plane = Plane::start(&programs, &[])?;
    let mut tests = cargo_test();
    tests
        .args(["--workspace", "--no-fail-fast"])
        .env(PLANE_VARIABLE, &plane.folder);
    let on_real = run(&mut tests, "");
    drop(plane);
    on_real.and(on_embedded(&programs, cargo_test().args(ON_BOTH)))
}

/// Compares the sandbox with the real API server by bodies that are changed at random.
pub(crate) fn mutate(seed: u64, count: u64) -> Result<()> {
    let programs = assets::ensure()?;
    let mut search = cargo();
    search
        .args(["test", "-p", "kubepkg-sandbox", "--test", "it", "--"])
        .arg("changed_bodies")
        .env("KUBEBUILDER_ASSETS", &programs)
        .env("MUTATE_SEED", seed.to_string())
        .env("MUTATE_COUNT", count.to_string());
    run(&mut search, "")
}

/// Runs tests on the embedded API server.
fn on_embedded(programs: &PathBuf, tests: &mut Command) -> Result<()> {
    let plane = Plane::start(programs, &[EMBEDDED])?;
    run(tests.env(PLANE_VARIABLE, &plane.folder), "")
}

/// A running plane; dropping it ends it.
struct Plane {
    child: Child,
    folder: PathBuf,
}

impl Plane {
    fn start(programs: &PathBuf, flags: &[&str]) -> Result<Self> {
        let path = built()?.join("kubepkg-sandbox");
        let mut child = Command::new(&path)
            .args(flags)
            .env("KUBEBUILDER_ASSETS", programs)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(file("start", &path))?;
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out)
                .read_line(&mut line)
                .map_err(file("read from", &path))?;
        }
        // Made first, so that the child is ended on every way out.
        let mut plane = Self {
            child,
            folder: PathBuf::new(),
        };
        let folder = line.trim_end().strip_prefix("ready ").ok_or_else(|| {
            Failure::Message("the control plane did not start; see above".to_owned())
        })?;
        println!("control plane in {folder}");
        plane.folder = folder.into();
        Ok(plane)
    }
}

impl Drop for Plane {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // Its own exit code does not matter any more.
        let _ = self.child.wait();
    }
}
