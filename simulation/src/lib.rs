#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

pub mod bench;
mod charts;
mod clock;
mod histories;
mod laws;
mod run;
mod scenarios;
mod state;
mod sweep;
mod wire;
mod world;

pub use histories::{History, history};
pub use run::{Plan, Run, Script, run};
pub use scenarios::{SCENARIOS, Scenario};
pub use sweep::{Case, Fault, Finding, Reads, Tally, calm, check, check_history, positions};
pub use wire::{Crash, Sent, When};
pub use world::{Stuck, World};
