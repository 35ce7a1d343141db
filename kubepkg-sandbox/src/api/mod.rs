//! An API server in this process: a double of kube-apiserver for tests, simulation and
//! demonstrations.
//!
//! [`ApiServer`] is a [`tower::Service`], so a [`kube::Client`] talks to it without a socket
//! ([`ApiServer::client`]), and it can be served over HTTPS on loopback for `kubectl`, `helm` and
//! every other client ([`ApiServer::listen`]). Behind it stands a pure core: state, request and
//! time go in, response and new state come out.
//!
//! What it does is what kube-apiserver 1.36 does, down to the texts of its errors, and a suite of
//! requests is run against both. What it does not do: authorize (one token opens everything),
//! call webhooks, run containers, keep secrets secret.

mod alarms;
mod app_armor;
mod apply;
mod bootstrap;
mod convert;
mod crds;
mod decode;
mod defaults;
mod delete;
mod descriptions;
mod discovery;
mod encode;
pub(crate) mod failure;
mod faults;
mod fields;
mod http;
mod ids;
mod internal_form;
mod journal;
mod kind;
mod line_diff;
mod list;
mod managed;
pub(crate) mod names;
mod object;
pub(crate) mod object_meta;
mod openapi;
mod patch;
mod path;
mod players;
mod policies;
mod prepare;
mod protobuf;
pub(crate) mod quantity;
mod registry;
mod request;
mod schedule;
mod selector;
mod service;
mod service_addresses;
mod settle;
mod store;
mod structs;
mod subresources;
mod table;
mod table_pods;
mod times;
mod validate;
mod warnings;
mod watch;
mod workloads;
mod world;
mod write;

pub use faults::{ApiFault, ApiFaults, Broken, FaultRates, Faulty};
pub(crate) use http::Keeper;
pub use http::{ListenError, Listener};
pub use journal::{Found, StateError};
pub use players::Played;
pub(crate) use request::audited;
pub use service::{ApiBody, ApiOptions, ApiServer};
