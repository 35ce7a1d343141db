//! Fetching against a repository and a registry on loopback.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    missing_docs,
    reason = "tests"
)]

mod cache;
mod faults;
mod helm_repository;
mod oci_registry;
mod push;
mod schemes;
mod tls;
mod vectors;

use std::sync::Arc;
use std::time::Duration;

use kubepkg_api::ChartRef;
use kubepkg_sandbox::{ChartServer, ChartServerBuilder};
use kubepkg_source::{
    Charts, Credential, CredentialError, CredentialSource, FetchError, FetchedChart, SourceOptions,
};

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n";

/// A server with `web` 1.0.0, `web` 2.0.0+b1 and `v`-prefixed `tool` v0.1.0.
fn web() -> ChartServerBuilder {
    ChartServer::builder()
        .chart("web", "1.0.0", [("templates/cm.yaml", CONFIG_MAP)])
        .chart("web", "2.0.0+b1", [("templates/cm.yaml", CONFIG_MAP)])
        .chart("tool", "v0.1.0", [("templates/cm.yaml", CONFIG_MAP)])
}

/// Options without a cache that repeat fast.
fn options() -> SourceOptions {
    let mut options = SourceOptions::default();
    options.limits.retry.first_wait = Duration::from_millis(1);
    options
}

fn with_cache(folder: &tempfile::TempDir) -> SourceOptions {
    let mut options = options();
    options.cache_dir = Some(folder.path().to_path_buf());
    options
}

fn with_credential(credential: Credential) -> SourceOptions {
    let mut options = options();
    options.credentials = vec![Arc::new(Fixed(credential))];
    options
}

fn password() -> Credential {
    Credential::Basic {
        user: "me".into(),
        password: "s3cret".into(),
    }
}

/// Knows one credential for everybody.
struct Fixed(Credential);

impl CredentialSource for Fixed {
    fn credential(&self, _: &str, _: &str) -> Result<Option<Credential>, CredentialError> {
        Ok(Some(self.0.clone()))
    }
}

fn chart(repository: &str, name: &str, version: &str) -> ChartRef {
    ChartRef {
        repository: repository.into(),
        name: name.into(),
        version: version.into(),
        ..ChartRef::default()
    }
}

fn pinned(repository: &str, name: &str, version: &str, digest: &str) -> ChartRef {
    ChartRef {
        digest: digest.into(),
        ..chart(repository, name, version)
    }
}

async fn fetch(options: SourceOptions, chart: &ChartRef) -> Result<FetchedChart, FetchError> {
    Charts::new(options).unwrap().fetch(chart).await
}

/// The error without the port, which changes from run to run.
fn text(server: &ChartServer, error: &FetchError) -> String {
    error
        .to_string()
        .replace(&server.address().to_string(), "HOST")
}
