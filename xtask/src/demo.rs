//! What people can watch on a control plane of its own: the main job (`cargo xtask demo`), charts of theirs
//! (`cargo xtask try`), what the operator costs (`cargo xtask bench operator`), and
//! how long a large index takes (`cargo xtask bench index`).

use std::process::Command;

use crate::assets;
use crate::run::{Result, built, cargo, run};

/// Builds everything that is needed and runs the demonstration.
pub(crate) fn show() -> Result<()> {
    let mut command = ready("kubepkg-demo")?;
    run(&mut command, "")
}

/// Renders, installs and removes charts, beside Helm.
pub(crate) fn try_charts(arguments: &[String]) -> Result<()> {
    let mut command = ready("kubepkg-try-charts")?;
    run(command.args(arguments), "")
}

/// Counts the requests of the operator, and weighs it as it is built for release.
pub(crate) fn bench_operator() -> Result<()> {
    run(
        cargo().args(["build", "--release", "-p", "kubepkg-operator"]),
        "",
    )?;
    let built = built()?;
    let target = built.parent().unwrap_or(&built);
    let operator = target.join("release").join("kubepkg-operator");
    let mut command = ready("kubepkg-bench-operator")?;
    run(command.arg("--operator").arg(operator), "")
}

/// Times the loading of a large index.
pub(crate) fn bench_index() -> Result<()> {
    let helm = assets::ensure()?.join("helm");
    let mut command = example("kubepkg-source", "bench_index");
    run(command.args(["--", "26"]).arg(helm), "")
}

/// What the sandbox costs, and what it gives beside a real control plane.
pub(crate) fn bench_sandbox(packages: usize) -> Result<()> {
    let programs = assets::ensure()?;
    run(
        cargo().args([
            "build",
            "--release",
            "-p",
            "kubepkg-cli",
            "-p",
            "kubepkg-simulation",
            "--bins",
        ]),
        "",
    )?;
    let target = built()?;
    let release = target.parent().unwrap_or(&target).join("release");
    let mut command = Command::new(release.join("kubepkg-bench-sandbox"));
    command.env("KUBEBUILDER_ASSETS", programs);
    command.arg("--program").arg(release.join("kubepkg"));
    run(command.arg(format!("--packages={packages}")), "")
}

/// An example that measures, as built for release.
fn example(package: &str, name: &str) -> Command {
    let mut command = cargo();
    command.args(["run", "--release", "--package", package, "--example", name]);
    command
}

/// Compares installs of releases, all built for release.
pub(crate) fn bench_release(releases: usize) -> Result<()> {
    let programs = assets::ensure()?;
    run(
        cargo().args([
            "build",
            "--release",
            "-p",
            "kubepkg-e2e",
            "--bin",
            "kubepkg-bench-release",
        ]),
        "",
    )?;
    let target = built()?;
    let target = target.parent().unwrap_or(&target);
    let library = target.join("bench-release");
    run(
        Command::new("go")
            .args(["build", "-C", "tools/control-plane/helm", "-o"])
            .arg(&library)
            .arg("./bench-release"),
        "install Go 1.26 or newer: https://go.dev/dl",
    )?;
    let bench = target.join("release").join("kubepkg-bench-release");
    let mut command = Command::new(bench);
    command.env("KUBEBUILDER_ASSETS", programs);
    command.arg("--library").arg(library);
    run(command.arg(format!("--releases={releases}")), "")
}

/// A program of the workspace, with everything that it needs built.
fn ready(program: &str) -> Result<Command> {
    let programs = assets::ensure()?;
    run(cargo().args(["build", "--workspace", "--bins"]), "")?;
    let mut command = Command::new(built()?.join(program));
    command.env("KUBEBUILDER_ASSETS", programs);
    Ok(command)
}
