//! Charts on their way, against Helm itself, Debian's registry and a repository in this process.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests"
)]

mod dependencies;
mod examples;
mod helm;
#[cfg(feature = "provenance")]
mod provenance;
mod registry;
mod repository;
mod vectors;

use kubepkg_source::{Charts, SourceOptions};

/// A client without a cache that repeats fast.
fn client() -> Charts {
    Charts::new(options()).unwrap()
}

fn options() -> SourceOptions {
    let mut options = SourceOptions::default();
    options.limits.retry.first_wait = std::time::Duration::from_millis(10);
    options
}
