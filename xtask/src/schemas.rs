//! `cargo xtask schemas`: what the API server knows of its kinds, as files.
//!
//! The example `schemas` of `kubepkg-sandbox` asks a real API server, so that this tool need not compile a
//! Kubernetes client.

use std::process::Command;

use crate::run::{Result, built, cargo, root, run};

/// Writes the files.
pub(crate) fn write() -> Result<()> {
    run(
        cargo()
            .args(["build", "--quiet", "--package", "kubepkg-sandbox"])
            .args(["--example", "schemas"]),
        "",
    )?;
    run(
        Command::new(built()?.join("examples/schemas"))
            .arg(root().join("kubepkg-patch/src/builtin"))
            .arg(root().join("kubepkg-sandbox/src/api/data")),
        "",
    )
}
