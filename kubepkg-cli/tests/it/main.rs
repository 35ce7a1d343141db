#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests"
)]
//! The built `kubepkg` on a real API server. No operator runs; where one is needed the test writes the status
//! that an operator would write.

mod chart;
mod command_line;
mod credential_helper;
#[cfg(feature = "sandbox")]
mod demo;
mod desk;
mod extend;
mod history;
mod install;
mod proxy;
mod remove;
mod rollback;
#[cfg(feature = "sandbox")]
mod sandbox;
#[cfg(feature = "sandbox")]
mod trial;
mod wait;
