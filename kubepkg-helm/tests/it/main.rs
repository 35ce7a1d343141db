#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::large_futures,
    missing_docs,
    reason = "tests"
)]
//! The Helm SDK from outside.

mod cli;
#[cfg(feature = "cluster")]
mod cluster;
mod complaints;
mod costs;
mod laws;
#[cfg(unix)]
mod links;
mod lock;
mod misc;
mod package;
#[cfg(feature = "cluster")]
mod readiness;
mod schema;
mod templates;
mod vectors;
