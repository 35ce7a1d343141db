//! The log of a sandbox's operator: a file in the folder that keeps everything, and standard error for who asks for it.
//!
//! `RUST_LOG` chooses what is in both, as with the operator's own program. A file grows from start to start; nothing in it
//! is read again.

use std::fs::OpenOptions;
use std::io::IsTerminal as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, Registry, fmt};

use super::SandboxFailure;

/// The log's name in the folder.
const NAME: &str = "operator.log";

/// Where the log of a folder is.
pub(crate) fn file(dir: &Path) -> PathBuf {
    dir.join(NAME)
}

/// Begins to log for this process. The first call counts.
pub(crate) fn begin(dir: Option<&Path>, verbose: u8) -> Result<(), SandboxFailure> {
    let filter =
        |usual: &str| EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(usual));
    let mut layers = Vec::new();
    if let Some(dir) = dir {
        let path = file(dir);
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&path);
        let file = file.map_err(|source| SandboxFailure::Folder { path, source })?;
        let kept = fmt::layer().with_ansi(false).with_writer(Arc::new(file));
        layers.push(kept.with_filter(filter("info")).boxed());
    }
    if verbose > 0 {
        let colours = std::io::stderr().is_terminal()
            && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let shown = fmt::layer().with_ansi(colours).with_writer(std::io::stderr);
        let level = if verbose > 1 { "debug" } else { "info" };
        layers.push(shown.with_filter(filter(level)).boxed());
    }
    if !layers.is_empty() {
        // A program that embeds this one may log already, in its own way.
        let _ = Registry::default().with(layers).try_init();
    }
    Ok(())
}
