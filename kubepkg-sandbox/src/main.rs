//! `kubepkg-sandbox [FOLDER]` runs a control plane until its standard input ends.
//!
//! `cargo xtask test` starts one for the whole test suite this way; it is as good for looking
//! around by hand. On readiness it prints one line with the folder, whose `kubeconfig` is the
//! administrator's.

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use kubepkg_sandbox::{ControlPlane, Options};

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
    let mut arguments = std::env::args_os().skip(1);
    if let Some(folder) = arguments.next() {
        options = options.folder(folder);
    }
    if arguments.next().is_some() {
        return Err("usage: kubepkg-sandbox [FOLDER]".into());
    }
    let plane = ControlPlane::start(options).await?;
    let mut out = std::io::stdout();
    writeln!(out, "ready {}", plane.folder().display())?;
    out.flush()?;
    tokio::task::spawn_blocking(|| {
        let mut rest = [0_u8; 256];
        let mut input = std::io::stdin();
        while input.read(&mut rest).is_ok_and(|length| length > 0) {}
    })
    .await?;
    drop(plane);
    Ok(())
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
