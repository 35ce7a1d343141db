//! Thin binary over the library of this crate.

fn main() {}
