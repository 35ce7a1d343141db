//! The embedded API server with the folder of a plane, so that whatever joins a real plane
//! ([`ControlPlane::join`](crate::ControlPlane::join)) can join this one.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::api::{ApiOptions, ApiServer, Listener};
use crate::audit::AuditWriter;
use crate::error::{Result, SandboxError};
use crate::folder::{Description, Folder};
use crate::options::Options;
use crate::pods::Rules;

/// How often the rules for pods are looked at.
const TICK: Duration = Duration::from_millis(25);

/// An API server in this process that looks like a plane from outside: well-known users, an audit
/// log, fates of pods by files. It ends when dropped.
#[derive(Debug)]
pub struct EmbeddedPlane {
    server: ApiServer,
    folder: Folder,
    stop: Arc<AtomicBool>,
    rules: Option<JoinHandle<()>>,
    _listener: Listener,
}

impl EmbeddedPlane {
    /// Starts one, in this folder or in one of its own that goes with it.
    ///
    /// # Errors
    ///
    /// [`SandboxError::File`] when the folder cannot be written, [`SandboxError::Spawn`] when
    /// loopback cannot be listened on.
    pub fn start(folder: Option<&Path>) -> Result<Self> {
        let folder = Folder::create(folder)?;
        let tokens = folder.fill(&Options::default())?;
        let server = ApiServer::new(&ApiOptions::default());
        let audit = AuditWriter::create(&folder.path().join("audit.log"))?;
        let users = tokens
            .iter()
            .map(|(user, token)| (token.clone(), user.clone()))
            .collect();
        let listener =
            server
                .listen_for(0, users, Some(audit))
                .map_err(|error| SandboxError::Spawn {
                    program: "API server".to_owned(),
                    source: std::io::Error::other(error),
                })?;
        folder.write("certs/apiserver.crt", listener.certificate())?;
        let description = Description {
            server: listener.url(),
            tokens,
            service_accounts: true,
        };
        folder.write_kubeconfigs(&description)?;
        folder.publish(&description)?;
        let stop = Arc::new(AtomicBool::new(false));
        let rules = watch_rules(&server, folder.path().join("pods"), Arc::clone(&stop))?;
        Ok(Self {
            server,
            folder,
            stop,
            rules: Some(rules),
            _listener: listener,
        })
    }

    /// The folder, with `kubeconfig` for the administrator.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The server.
    pub fn server(&self) -> &ApiServer {
        &self.server
    }
}

impl Drop for EmbeddedPlane {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(rules) = self.rules.take() {
            let _ = rules.join();
        }
    }
}

fn watch_rules(
    server: &ApiServer,
    folder: std::path::PathBuf,
    stop: Arc<AtomicBool>,
) -> Result<JoinHandle<()>> {
    let server = server.clone();
    std::thread::Builder::new()
        .name("pod-rules".into())
        .spawn(move || {
            let mut rules = Rules::default();
            while !stop.load(Ordering::Relaxed) {
                if rules.refresh(&folder) {
                    server.set_rules(rules.clone());
                }
                std::thread::sleep(TICK);
            }
        })
        .map_err(|source| SandboxError::Spawn {
            program: "pod rules".to_owned(),
            source,
        })
}
