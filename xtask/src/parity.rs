//! `cargo xtask parity`: real charts, rendered by kubepkg and by the helm program.
//!
//! The comparison is a program of its own (`parity/`), so that this one stays quick to build; it is built with
//! optimizations, because it also measures. Beside helm it is given the recorder (`tools/helm-recorder`), which is helm
//! that writes down its chance.

use std::path::Path;

use crate::assets;
use crate::run::{Result, cargo, file, root, run};

/// Gives the comparison its programs and the page that has the tables of results; the arguments are its own.
pub(crate) fn compare(arguments: &[String]) -> Result<()> {
    let helm = assets::ensure()?.join("helm");
    let recorder = assets::helm_tool("helm-recorder")?;
    let mut command = cargo();
    // Paths among the arguments are those of whoever typed them.
    command.current_dir(std::env::current_dir().map_err(file("find", Path::new(".")))?);
    command.args(["run", "--quiet", "--release", "--manifest-path"]);
    command.arg(root().join("Cargo.toml"));
    command.args(["--package", "kubepkg-parity", "--", "--helm"]);
    command.arg(helm).arg("--recorder").arg(recorder);
    command.arg("--page");
    command.arg(root().join("docs/helm-compatibility.md"));
    run(command.args(arguments), "")
}
