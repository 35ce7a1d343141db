//! The product from outside, on a real control plane.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests"
)]

mod bad_input;
mod crash;
mod distribution;
mod faults;
mod leader;
mod life;
mod pages;
mod peers;
mod requests;
