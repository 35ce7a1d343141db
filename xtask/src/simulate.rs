//! `cargo xtask simulate`: crashes, faults and histories; the work is done by the program of `simulation/`.

use crate::run::{Result, cargo, run};

/// Runs the simulation with these arguments.
pub(crate) fn some(arguments: &[String], release: bool) -> Result<()> {
    let mut command = cargo();
    command.args(["run", "--quiet", "--package", "kubepkg-simulation"]);
    command.args(release.then_some("--profile=simulate"));
    run(command.arg("--").args(arguments), "")
}
