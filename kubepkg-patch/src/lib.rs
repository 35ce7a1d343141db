#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod go;
pub mod json;
pub mod merge;
pub mod schema;
pub mod ssa;
pub mod strategic;
mod text;
mod value;
