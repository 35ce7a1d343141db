//! Tests of the crate from outside.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests fail with panics"
)]

mod ssa_vectors;
