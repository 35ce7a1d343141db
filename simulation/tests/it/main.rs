//! A bounded part of the simulation, the same on every run.

mod determinism;
mod faults;
mod histories;
