//! `cargo xtask demo`: the main job from start to end, on a control plane of its own.

use std::process::Command;

use crate::assets;
use crate::run::{Result, built, cargo, run};

/// Builds everything that is needed and runs the demonstration.
pub(crate) fn show() -> Result<()> {
    let programs = assets::ensure()?;
    run(cargo().args(["build", "--workspace", "--bins"]), "")?;
    run(
        Command::new(built()?.join("kubepkg-demo")).env("KUBEBUILDER_ASSETS", programs),
        "",
    )
}
