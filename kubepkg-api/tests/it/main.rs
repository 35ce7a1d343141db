#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests"
)]
//! The kinds on a real API server.

mod kinds;
mod kubectl;
mod refusals;
mod served;
