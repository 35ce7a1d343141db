//! Clusters for tests and demonstrations, started on loopback.

pub mod chart_server;

pub use chart_server::{ChartServer, ChartServerBuilder, ChartServerError, Fault};
