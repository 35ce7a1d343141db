//! `cargo xtask crds` and `crds-for-group`: the CRDs as files.
//!
//! They are made by the example `crds` of `kubepkg-api`, so that this tool need not compile a
//! Kubernetes client. It is built with the features of the whole workspace, as the tests are, so
//! that nothing is compiled twice.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{Result, built, cargo, root, run};

/// Where the operator's chart keeps its CRDs.
fn folder() -> PathBuf {
    root().join("charts/kubepkg/crds")
}

/// Writes the CRDs of the default group into the chart.
pub(crate) fn write() -> Result<()> {
    run(example()?.arg(folder()), "")
}

/// Fails when the files in the chart are not what the code says, and writes nothing.
pub(crate) fn check() -> Result<()> {
    run(example()?.arg("--check").arg(folder()), "")
}

/// Writes the CRDs of a group into a folder.
pub(crate) fn write_for_group(group: &str, out: &Path) -> Result<()> {
    run(example()?.arg(group).arg(out), "")
}

/// The example, built: `crds [--check] [GROUP] FOLDER`.
fn example() -> Result<Command> {
    run(
        cargo().args(["build", "--quiet", "--workspace", "--example", "crds"]),
        "",
    )?;
    Ok(Command::new(built()?.join("examples/crds")))
}
