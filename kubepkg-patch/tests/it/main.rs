//! Tests of the crate from outside.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests fail with panics"
)]

mod laws;
mod patch_vectors;
mod ssa_vectors;

use kubepkg_vectors::Vectors;
use serde_json::Value;

fn vectors<'v>(name: &'v str, packed: &'v [u8]) -> Vectors<'v> {
    Vectors {
        name,
        packed,
        exceptions: include_str!("../vectors/exceptions.txt"),
    }
}

fn differ(what: &str, wanted: &Value, got: &Value) -> String {
    format!("{what}\n  want {wanted}\n   got {got}")
}
