#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod backends;
mod command;
mod leader;
mod metrics;
mod options;
mod run;
mod serve;

pub use backends::{Backends, Factory, SetupError, UnknownBackend};
pub use command::main;
pub use leader::{Candidate, Timing};
pub use metrics::Metrics;
pub use options::{Bind, Flags, NotPositive, Options};
pub use run::{RunError, run};
