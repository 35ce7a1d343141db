#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests"
)]
//! The kinds on a real API server.

mod generated;
mod kinds;
mod kubectl;
mod refusals;
mod served;
