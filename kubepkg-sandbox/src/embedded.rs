//! The embedded API server with the folder of a plane, so that whatever joins a real plane
//! ([`ControlPlane::join`](crate::ControlPlane::join)) can join this one.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::api::{ApiOptions, ApiServer, Keeper, Listener};
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
        let rules = FolderRules::new(&server, folder.path().join("pods"));
        let audit = AuditWriter::create(&folder.path().join("audit.log"))?;
        let users = tokens
            .iter()
            .map(|(user, token)| (token.clone(), user.clone()))
            .collect();
        let listener = server
            .listen_for(
                0,
                users,
                Some(Keeper {
                    audit,
                    rules: rules.clone(),
                }),
            )
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
        let rules = watch_rules(rules, Arc::clone(&stop))?;
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

/// The rules for pods in a folder, and the server that has them.
#[derive(Clone, Debug)]
pub(crate) struct FolderRules {
    server: ApiServer,
    folder: PathBuf,
    known: Arc<Mutex<Rules>>,
}

impl FolderRules {
    fn new(server: &ApiServer, folder: PathBuf) -> Self {
        Self {
            server: server.clone(),
            folder,
            known: Arc::default(),
        }
    }

    /// Brings the server up to date.
    pub(crate) fn refresh(&self) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.refresh(&self.folder) {
            self.server.set_rules(known.clone());
        }
    }
}

/// Looks at the rules when nobody asks, too.
fn watch_rules(rules: FolderRules, stop: Arc<AtomicBool>) -> Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name("pod-rules".into())
        .spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                rules.refresh();
                std::thread::sleep(TICK);
            }
        })
        .map_err(|source| SandboxError::Spawn {
            program: "pod rules".to_owned(),
            source,
        })
}
