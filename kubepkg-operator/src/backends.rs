//! The backends that an operator can be started with, by name.
//!
//! A distribution adds its own with [`Backends::add`]; the operator knows none by name outside this registry.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use kube::Client;
use kubepkg_backend::{Backend, HelmBackend, HelmBackendOptions};
use kubepkg_source::{Charts, DockerConfig, SourceOptions};

use crate::options::Flags;

/// Why a backend could not be set up.
pub type SetupError = Box<dyn std::error::Error + Send + Sync>;

/// Makes a backend of a client and the operator's flags.
pub type Factory =
    Box<dyn Fn(Client, &Flags) -> Result<Arc<dyn Backend>, SetupError> + Send + Sync>;

/// The backends there are.
#[derive(Default)]
pub struct Backends(BTreeMap<String, Factory>);

impl fmt::Debug for Backends {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// No backend has that name.
#[derive(Debug, thiserror::Error)]
#[error("there is no backend {name}; this operator has {}", .known.join(", "))]
pub struct UnknownBackend {
    /// The name.
    pub name: String,
    /// The names there are.
    pub known: Vec<String>,
}

impl Backends {
    /// The backends of the reference operator: `helm`.
    pub fn standard() -> Self {
        let mut all = Self::default();
        all.add("helm", Box::new(helm));
        all
    }

    /// Adds a backend, or replaces the one of that name.
    pub fn add(&mut self, name: &str, factory: Factory) {
        self.0.insert(name.to_owned(), factory);
    }

    /// The factory of this name.
    ///
    /// # Errors
    ///
    /// [`UnknownBackend`] with the names there are.
    pub fn get(&self, name: &str) -> Result<&Factory, UnknownBackend> {
        self.0.get(name).ok_or_else(|| UnknownBackend {
            name: name.to_owned(),
            known: self.0.keys().cloned().collect(),
        })
    }
}

/// The helm backend, with charts from Helm repositories and OCI registries.
fn helm(client: Client, flags: &Flags) -> Result<Arc<dyn Backend>, SetupError> {
    let mut options = SourceOptions::default();
    let cache = flags.cache_dir.clone();
    options.cache_dir = Some(cache.unwrap_or_else(|| std::env::temp_dir().join("kubepkg")));
    options.plain_http = flags.plain_http;
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let docker = match &flags.registry_config {
        Some(file) => Some(DockerConfig::at(file)),
        None => DockerConfig::usual(
            folder("DOCKER_CONFIG").as_deref(),
            folder("HOME").as_deref(),
        ),
    };
    if let Some(docker) = docker {
        options.credentials.push(Arc::new(docker));
    }
    let charts = Charts::new(options)?;
    Ok(Arc::new(HelmBackend::new(
        client,
        Arc::new(charts),
        HelmBackendOptions::default(),
    )))
}
