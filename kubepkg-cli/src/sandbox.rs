//! A cluster in this process: the embedded API server of `kubepkg-sandbox`, open to other programs on loopback, with
//! the kinds installed and an operator at work.
//!
//! It is what `sandbox` runs for a person, and what `demo` and `test` play on. Time is the machine's. Everything ends
//! with the value; what a folder keeps is there again at the next start.

mod failure;
pub(crate) mod log;
mod operator;

use std::path::{Path, PathBuf};

use kube::Client;
use kubepkg_api::ApiGroup;
use kubepkg_sandbox::{ApiOptions, ApiServer, Found, Listener};
use tempfile::TempDir;

pub use failure::SandboxFailure;
use operator::Operator;

/// What a sandbox is made of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// The group that the kinds are served under.
    pub(crate) group: ApiGroup,
    /// Neither kinds nor an operator.
    pub(crate) bare: bool,
    /// The port to listen on; any free one when zero.
    pub(crate) port: u16,
    /// The folder that keeps everything; nothing is kept without one.
    pub(crate) dir: Option<PathBuf>,
    /// How much of the operator's log is shown: none, the usual, more.
    pub(crate) verbose: u8,
}

/// A running sandbox.
#[derive(Debug)]
pub(crate) struct Sandbox {
    server: ApiServer,
    listener: Listener,
    operator: Option<Operator>,
    kubeconfig: PathBuf,
    /// What its folder held at the start.
    found: Found,
    /// Holds the kubeconfig of one that keeps nothing.
    _folder: Option<TempDir>,
}

impl Sandbox {
    /// Starts one; it is ready when this returns.
    pub(crate) async fn start(settings: &Settings) -> Result<Self, SandboxFailure> {
        let options = ApiOptions::default();
        let (server, found) = match &settings.dir {
            Some(dir) => ApiServer::open(&options, dir)?,
            None => (ApiServer::new(&options), Found::Nothing),
        };
        let listener = server.listen_on(settings.port)?;
        let (kubeconfig, folder) = if let Some(kubeconfig) = server.kubeconfig() {
            (kubeconfig, None)
        } else {
            let folder = private_folder()?;
            (folder.path().join("kubeconfig"), Some(folder))
        };
        listener
            .write_kubeconfig(&kubeconfig)
            .map_err(|source| SandboxFailure::Folder {
                path: kubeconfig.clone(),
                source,
            })?;
        let operator = if settings.bare {
            None
        } else {
            // The folder is there, and nobody else's, from here on.
            log::begin(settings.dir.as_deref(), settings.verbose)?;
            Some(Operator::start(server.client(), &settings.group).await?)
        };
        Ok(Self {
            server,
            listener,
            operator,
            kubeconfig,
            found,
            _folder: folder,
        })
    }

    /// A client that needs no socket.
    pub(crate) fn client(&self) -> Client {
        self.server.client()
    }

    /// `https://127.0.0.1:PORT`.
    pub(crate) fn url(&self) -> String {
        self.listener.url()
    }

    /// A kubeconfig for other programs.
    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The folder of the kubeconfig.
    pub(crate) fn folder(&self) -> &Path {
        self.kubeconfig.parent().unwrap_or(Path::new("."))
    }

    /// What its folder held at the start.
    pub(crate) fn found(&self) -> &Found {
        &self.found
    }

    /// Ends it in order: the operator finishes the step it is at.
    pub(crate) async fn end(mut self) {
        if let Some(operator) = self.operator.take() {
            operator.end().await;
        }
    }
}

/// A folder that goes with its value.
fn private_folder() -> Result<TempDir, SandboxFailure> {
    tempfile::Builder::new()
        .prefix("kubepkg-")
        .tempdir()
        .map_err(|source| SandboxFailure::Folder {
            path: std::env::temp_dir(),
            source,
        })
}
