//! The crate's integration tests: what the real Helm answered, run through the whole engine, and limits.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unnecessary_wraps,
    missing_docs,
    reason = "tests"
)]

mod certificates;
mod double;
mod functions;
mod glob;
mod go;
mod host;
mod hostile;
mod lang;
mod limits;
mod objects;
