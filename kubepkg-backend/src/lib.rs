#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

mod backend;
mod component;
mod error;
#[cfg(feature = "helm")]
mod helm;

pub use backend::{Backend, Capabilities, Outcome, Phase, State};
pub use component::{ChartSource, Component, Placement, Target, UpgradeCrds};
pub use error::BackendError;
#[cfg(feature = "helm")]
pub use helm::{HelmBackend, HelmBackendOptions};
