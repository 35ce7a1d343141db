//! `kubepkg-sandbox [--embedded] [FOLDER]` runs a control plane until its standard input ends: the
//! real programs, or with `--embedded` the API server of this process.
//!
//! `cargo xtask test` starts one for the whole test suite this way; it is as good for looking
//! around by hand. On readiness it prints one line with the folder, whose `kubeconfig` is the
//! administrator's.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use kubepkg_sandbox::{ControlPlane, EmbeddedPlane, Options};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match serve().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {}", chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

async fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let mut options = Options::default();
    let mut arguments = std::env::args_os().skip(1).peekable();
    let embedded = arguments
        .next_if(|argument| argument == "--embedded")
        .is_some();
    let folder = arguments.next();
    if arguments.next().is_some() {
        return Err("usage: kubepkg-sandbox [--embedded] [FOLDER]".into());
    }
    if embedded {
        return serve_embedded(folder.map(PathBuf::from)).await;
    }
    if let Some(folder) = folder {
        options = options.folder(folder);
    }
    let plane = ControlPlane::start(options).await?;
    ready(plane.folder())?;
    tokio::task::spawn_blocking(end_of_input).await?;
    drop(plane);
    Ok(())
}

/// The API server of this process, with the folder of a plane.
async fn serve_embedded(folder: Option<PathBuf>) -> Result<(), Box<dyn std::error::Error>> {
    let plane = EmbeddedPlane::start(folder.as_deref())?;
    ready(plane.folder())?;
    tokio::task::spawn_blocking(end_of_input).await?;
    Ok(())
}

fn ready(folder: &std::path::Path) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "ready {}", folder.display())?;
    out.flush()
}

fn end_of_input() {
    let mut rest = [0_u8; 256];
    let mut input = std::io::stdin();
    while input.read(&mut rest).is_ok_and(|length| length > 0) {}
}

/// An error and its causes in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}
