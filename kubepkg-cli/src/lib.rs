#![doc = include_str!("../README.md")]
#![deny(missing_docs)]
#![allow(
    clippy::result_large_err,
    reason = "an error ends the program, once; what it carries for the report is worth its size"
)]

mod args;
mod cluster;
mod cmd;
mod context;
mod error;
mod exit;
mod files;
mod options;
mod out;
pub mod plan;
mod progress;
pub mod removal;
mod report;
mod revisions;
mod run;
#[cfg(feature = "sandbox")]
mod sandbox;
mod table;
#[cfg(feature = "sandbox")]
mod trial;
mod versions;
mod view;
mod wait;

pub use args::Format;
pub use cluster::{Cluster, Connection, Listed};
pub use cmd::chart::ChartError;
pub use context::Context;
pub use error::CliError;
pub use exit::Exit;
pub use options::{ExtraCommand, Options};
pub use out::{Color, Label, Out};
pub use report::Report;
pub use revisions::RollbackError;
pub use run::{main, run};
#[cfg(feature = "sandbox")]
pub use sandbox::SandboxFailure;
pub use table::{Cell, Table};
pub use view::View;
