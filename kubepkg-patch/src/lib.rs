#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

#[cfg(feature = "builtin-types")]
pub mod builtin;
mod go;
pub mod json;
pub mod merge;
pub mod schema;
pub mod ssa;
pub mod strategic;

pub use go::plain as print_go;
mod text;
mod value;
