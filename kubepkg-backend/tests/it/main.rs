#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests"
)]
//! Backends on a real control plane, with charts from a server on loopback.

mod charts;
mod helm_apply;
mod helm_foreign;
mod helm_interrupted;
mod helm_restore;
mod stage;
