#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests"
)]
//! The sandbox on the real programs.

mod api_vectors;
mod cel_vectors;
mod chart_server;
mod conformance;
mod crd_validity;
mod crd_vectors;
mod embedded;
mod endpoints;
mod identities;
mod lifetime;
mod mutated;
mod options;
mod pods;
mod recorded;
mod session;
