//! The working folder of a plane: keys, tokens, kubeconfigs, the audit policy, and how folders
//! that nobody owns any more are swept.
//!
//! A folder belongs to the process that holds the lock on its `lock` file. The kernel drops the
//! lock with the process, however it ends, so a folder whose lock can be had is garbage. The
//! layout:
//!
//! | file | what |
//! |---|---|
//! | `plane.json` | server, users and tokens, written last: present means ready |
//! | `kubeconfig`, `kubeconfig-USER` | one per user, `kubeconfig` is `admin`'s |
//! | `audit.log` | one JSON line a request |
//! | `pods/` | the fates that tests have laid down, see [`Pods`](crate::Pods) |
//! | `*.log` | what the programs said |

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::error::{Result, SandboxError};
use crate::options::Options;

/// Prefix of the folders below the system's temporary folder.
const PREFIX: &str = "kubepkg-sandbox-";
/// Users of the sandbox's own parts, so that the audit log tells them from clients.
pub(crate) const CONTROLLERS_USER: &str = "sandbox-controllers";
pub(crate) const KUBELET_USER: &str = "sandbox-kubelet";
/// Folders younger than this are left alone by the sweep: their owner may not have locked yet.
const SWEEP_AGE: Duration = Duration::from_mins(1);

/// What other processes need to join a plane.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Description {
    /// Address of the API server.
    pub(crate) server: String,
    /// Tokens by user.
    pub(crate) tokens: BTreeMap<String, String>,
    /// Whether new namespaces get a `default` ServiceAccount.
    pub(crate) service_accounts: bool,
}

/// A folder that this process owns.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    remove: bool,
    _lock: Lock,
}

impl Folder {
    /// Makes the folder, or empties the given one, and sweeps what earlier processes left.
    pub(crate) fn create(given: Option<&Path>) -> Result<Self> {
        let (path, remove) = if let Some(path) = given {
            fs::create_dir_all(path).map_err(SandboxError::file("create", path))?;
            let path = fs::canonicalize(path).map_err(SandboxError::file("resolve", path))?;
            (path, false)
        } else {
            let parent = std::env::temp_dir();
            sweep(&parent);
            let path = tempfile::Builder::new()
                .prefix(PREFIX)
                .tempdir_in(&parent)
                .map_err(SandboxError::file("create a folder in", parent))?
                .keep();
            (path, true)
        };
        let lock_path = path.join("lock");
        let lock = take_lock(&lock_path).map_err(SandboxError::file("lock", &lock_path))?;
        let Some(lock) = lock else {
            return Err(SandboxError::Description {
                path,
                reason: "another process runs a plane in this folder".to_owned(),
            });
        };
        let folder = Self {
            path,
            remove,
            _lock: lock,
        };
        folder.empty()?;
        for name in ["certs", "pods"] {
            let path = folder.path.join(name);
            fs::create_dir_all(&path).map_err(SandboxError::file("create", path))?;
        }
        Ok(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes what an earlier plane left in a folder that was given.
    fn empty(&self) -> Result<()> {
        const FOLDERS: &[&str] = &["etcd", "certs", "pods"];
        const FILES: &[&str] = &["plane.json", "audit.log", "etcd:0", "etcd:1", "kubeconfig"];
        for name in FOLDERS {
            let path = self.path.join(name);
            if path.exists() {
                fs::remove_dir_all(&path).map_err(SandboxError::file("remove", path))?;
            }
        }
        for name in FILES {
            let path = self.path.join(name);
            match fs::remove_file(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(source) => {
                    return Err(SandboxError::File {
                        action: "remove",
                        path,
                        source,
                    });
                }
            }
        }
        Ok(())
    }

    /// Makes the signing key and the tokens, and writes every file that the programs read.
    pub(crate) fn fill(&self, options: &Options) -> Result<BTreeMap<String, String>> {
        let key = rcgen::KeyPair::generate().map_err(|error| SandboxError::Key {
            reason: error.to_string(),
        })?;
        let secret = key.serialize_pem();
        self.write("sa.key", &secret)?;
        self.write("sa.pub", &key.public_key_pem())?;

        let tokens: BTreeMap<String, String> = Options::WELL_KNOWN_USERS
            .iter()
            .copied()
            .chain(options.users.iter().map(String::as_str))
            .chain([CONTROLLERS_USER, KUBELET_USER])
            .map(|user| (user.to_owned(), token(&secret, user)))
            .collect();
        let lines: Vec<String> = tokens
            .iter()
            .map(|(user, token)| {
                format!(
                    "{token},\"{user}\",\"{user}\",\"system:masters\"
"
                )
            })
            .collect();
        self.write("tokens.csv", &lines.concat())?;

        let level = if options.audit_bodies {
            "Request"
        } else {
            "Metadata"
        };
        let policy = json!({
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived"],
            "rules": [{"level": "None", "users": ["system:apiserver"]}, {"level": level}],
        });
        self.write("audit-policy.json", &policy.to_string())?;
        Ok(tokens)
    }

    /// Writes the kubeconfigs of all users for the server's address.
    pub(crate) fn write_kubeconfigs(&self, description: &Description) -> Result<()> {
        for (user, token) in &description.tokens {
            let text = kubeconfig(&self.path, &description.server, user, token);
            self.write(&format!("kubeconfig-{user}"), &text)?;
            if user == "admin" {
                self.write("kubeconfig", &text)?;
            }
        }
        Ok(())
    }

    /// Says that the plane is ready, by writing its description whole or not at all.
    pub(crate) fn publish(&self, description: &Description) -> Result<()> {
        let text = json!(description).to_string();
        self.write("plane.json.new", &text)?;
        let path = self.path.join("plane.json");
        fs::rename(self.path.join("plane.json.new"), &path)
            .map_err(SandboxError::file("rename to", path))
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> Result<()> {
        write_private(&self.path.join(name), text)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.remove {
            // Nothing can be done about a failure here; the next start sweeps the rest.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Reads the description of a running plane.
pub(crate) fn describe(folder: &Path) -> Result<Description> {
    let path = folder.join("plane.json");
    let text = fs::read(&path).map_err(SandboxError::file("read", &path))?;
    serde_json::from_slice(&text).map_err(|error| SandboxError::Description {
        path,
        reason: error.to_string(),
    })
}

/// The kubeconfig of one user. JSON is YAML, and every client reads it.
pub(crate) fn kubeconfig(folder: &Path, server: &str, user: &str, token: &str) -> String {
    let document = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "sandbox", "cluster": {
            "server": server,
            "certificate-authority": folder.join("certs/apiserver.crt"),
        }}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "sandbox", "context": {
            "cluster": "sandbox", "user": user, "namespace": "default",
        }}],
        "current-context": "sandbox",
    });
    format!("{document:#}\n")
}

/// Writes a file that only its owner may read.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<()> {
    create_private(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(SandboxError::file("write", path))
}

/// Makes or empties a file that only its owner may read.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Replaces a file that only its owner may read, whole or not at all.
pub(crate) fn replace_private(path: &Path, text: &str) -> io::Result<()> {
    let draft = path.with_extension("new");
    create_private(&draft)?.write_all(text.as_bytes())?;
    fs::rename(&draft, path)
}

/// Makes a folder, with those above it, that only its owner may look into; one that is there stays
/// as it is.
pub(crate) fn make_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// A locked file.
#[derive(Debug)]
pub(crate) struct Lock(File);

impl Drop for Lock {
    /// Closing the file is not enough: a child that is just being started has it, too, for a moment.
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

/// Locks a file, which is made when it is not there; none when another process has it.
pub(crate) fn take_lock(path: &Path) -> io::Result<Option<Lock>> {
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Lock(file))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(source)) => Err(source),
    }
}

/// A token that nobody can guess without the key of this start.
fn token(secret: &str, user: &str) -> String {
    let digest = Sha256::new()
        .chain_update(secret)
        .chain_update(user)
        .finalize();
    hex(&digest)
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        for nibble in [byte >> 4, byte & 15] {
            text.extend(char::from_digit(u32::from(nibble), 16));
        }
        text
    })
}

/// Removes folders whose owner is gone. Never fails: garbage is no reason not to start.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let ours = entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.starts_with(PREFIX));
        if ours && is_abandoned(&entry.path()) {
            tracing::debug!(folder = %entry.path().display(), "removing an abandoned folder");
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_abandoned(folder: &Path) -> bool {
    let old = |path: &Path| {
        let modified = fs::metadata(path).and_then(|data| data.modified()).ok();
        modified
            .and_then(|time| time.elapsed().ok())
            .is_some_and(|age| age > SWEEP_AGE)
    };
    let lock = folder.join("lock");
    match File::open(&lock) {
        Ok(file) => old(&lock) && file.try_lock().is_ok(),
        Err(_) => old(folder),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_is_locked_while_owned_and_removed_afterwards() {
        let folder = Folder::create(None).unwrap();
        let path = folder.path().to_owned();
        assert!(matches!(
            Folder::create(Some(&path)),
            Err(SandboxError::Description { .. })
        ));
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn given_folder_is_emptied_of_an_earlier_plane_and_stays() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("etcd/member")).unwrap();
        fs::write(root.path().join("plane.json"), "{}").unwrap();
        fs::write(root.path().join("mine.txt"), "kept").unwrap();
        let folder = Folder::create(Some(root.path())).unwrap();
        assert!(!root.path().join("etcd").exists());
        assert!(!root.path().join("plane.json").exists());
        drop(folder);
        assert!(root.path().join("mine.txt").exists());
    }

    #[test]
    fn tokens_differ_by_user_and_by_start() {
        assert_ne!(token("k", "a"), token("k", "b"));
        assert_ne!(token("k", "a"), token("l", "a"));
        assert_eq!(token("k", "a").len(), 64);
    }

    #[test]
    fn young_folders_are_not_swept() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_abandoned(folder.path()));
    }
}
