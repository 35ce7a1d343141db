//! `cargo xtask parity`: real charts, rendered by kubepkg and by the helm program.
//!
//! The comparison is a program of its own (`parity/`), so that this one stays quick to build; it is built with
//! optimizations, because it also measures.

use std::path::PathBuf;

use crate::assets;
use crate::run::{Result, cargo, file, run};

/// Compares the charts below the folders; an error when any differs.
pub(crate) fn compare(folders: &[PathBuf], options: &[String]) -> Result<()> {
    let programs = assets::ensure()?;
    let mut command = cargo();
    command.args([
        "run",
        "--quiet",
        "--release",
        "--package",
        "kubepkg-parity",
        "--",
    ]);
    command.arg("--helm").arg(programs.join("helm"));
    for folder in folders {
        command.arg(std::path::absolute(folder).map_err(file("find", folder))?);
    }
    run(command.args(options), "")
}
