//! How registries and repositories are reached: certificates, and where logins and repositories are kept.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use kubepkg_charts::Repositories;
use kubepkg_source::{Charts, DockerConfig, SourceOptions, native_helper};

use super::error::ChartError;

/// Options of everything that asks a server.
#[derive(Debug, Args)]
pub(super) struct Network {
    /// Certificate authorities that are trusted besides those of the system
    #[arg(long, global = true, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Client certificate, with --key-file
    #[arg(long, global = true, value_name = "FILE", requires = "key_file")]
    cert_file: Option<PathBuf>,
    /// Key of the client certificate
    #[arg(long, global = true, value_name = "FILE", requires = "cert_file")]
    key_file: Option<PathBuf>,
    /// Take every certificate; for tests only
    #[arg(long, global = true)]
    insecure_skip_tls_verify: bool,
    /// Speak plain HTTP to registries
    #[arg(long, global = true)]
    plain_http: bool,
    /// Where logins are kept
    #[arg(long, global = true, value_name = "FILE", env = "HELM_REGISTRY_CONFIG")]
    registry_config: Option<PathBuf>,
    /// Where repositories have their names
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "HELM_REPOSITORY_CONFIG"
    )]
    repository_config: Option<PathBuf>,
}

impl Network {
    pub(super) fn charts(&self) -> Result<Charts, ChartError> {
        let mut options = SourceOptions::default();
        options.plain_http = self.plain_http;
        options.tls.insecure = self.insecure_skip_tls_verify;
        if let Some(path) = &self.ca_file {
            options.tls.authorities = super::read(path)?;
        }
        if let (Some(certificate), Some(key)) = (&self.cert_file, &self.key_file) {
            let mut identity = super::read(certificate)?;
            identity.push(b'\n');
            identity.extend(super::read(key)?);
            options.tls.identity = Some(identity);
        }
        options.credentials.push(Arc::new(self.login_config()?));
        let docker = variable("DOCKER_CONFIG");
        let usual = DockerConfig::usual(docker.as_deref(), variable("HOME").as_deref());
        if let Some(usual) = usual {
            options
                .credentials
                .push(Arc::new(usual.or_native(native())));
        }
        options.credentials.push(Arc::new(self.repositories()?));
        Ok(Charts::new(options)?)
    }

    /// The file that logins go to: the one that Helm uses. While it says nothing of logins, the key chain of the desktop
    /// has them, as with Helm.
    pub(super) fn login_config(&self) -> Result<DockerConfig, ChartError> {
        let path = self.registry_config.clone();
        let path = path.or_else(|| helm_config().map(|folder| folder.join("registry/config.json")));
        let config = DockerConfig::if_there(path.ok_or(ChartError::NoHome)?);
        Ok(config.or_native(native()))
    }

    pub(super) fn repositories(&self) -> Result<Repositories, ChartError> {
        let path = self.repository_config.clone();
        let path = path.or_else(|| helm_config().map(|folder| folder.join("repositories.yaml")));
        match path {
            Some(path) => Ok(Repositories::load(&path)?),
            None => Ok(Repositories::default()),
        }
    }
}

fn native() -> Option<String> {
    native_helper(std::env::var_os("PATH").as_deref())
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// The folder of Helm's own configuration.
fn helm_config() -> Option<PathBuf> {
    variable("HELM_CONFIG_HOME")
        .or_else(|| variable("XDG_CONFIG_HOME").map(|folder| folder.join("helm")))
        .or_else(|| variable("HOME").map(|home| home.join(".config/helm")))
}
