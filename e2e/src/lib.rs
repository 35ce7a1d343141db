//! The product driven from outside: the built binaries on a real control plane, checked with `kubectl` and `helm`.
//!
//! A [`Stage`] is one test's share of the control plane: an API group of its own that the kinds are served under, a
//! namespace, a chart server, and operators that end with it. Nothing here knows how the operator works; it sees what a
//! user sees.
#![deny(missing_docs)]

mod charts;
mod operator;
mod programs;
mod stage;

pub use charts::{Chart, Source};
pub use operator::Operator;
pub use programs::{Finished, Programs};
pub use stage::{Error, Stage};
