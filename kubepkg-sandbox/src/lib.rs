#![doc = include_str!("../README.md")]
#![deny(missing_docs)]

pub mod api;
mod assets;
mod audit;
pub mod chart_server;
pub mod crd;
mod docker_registry;
mod embedded;
mod error;
mod fate;
mod folder;
mod identity;
mod keeper;
mod kubelet;
mod options;
mod plane;
mod pods;
mod process;
mod wait;

pub use api::{
    ApiFault, ApiFaults, ApiOptions, ApiServer, FaultRates, Found, ListenError, Listener, Played,
    StateError,
};
pub use assets::Assets;
pub use audit::{AuditLog, Mark, Request, Requests};
pub use chart_server::{ChartServer, ChartServerBuilder, ChartServerError, Fault};
pub use docker_registry::DockerRegistry;
pub use embedded::EmbeddedPlane;
pub use error::{Result, SandboxError};
pub use fate::{FATE_ANNOTATION, Fate, READY_AFTER_ANNOTATION};
pub use identity::Identity;
pub use kubelet::NODE;
pub use options::{Controllers, Options};
pub use plane::{ControlPlane, PLANE_VARIABLE};
pub use pods::{FateRule, Pods};
pub use wait::eventually;
