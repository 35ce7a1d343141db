//! Who a fetch says it is, per repository.
//!
//! Credentials come from sources asked in order; the first that knows the repository wins. The
//! source that is built in is a Docker `config.json` with its `auths`, `credHelpers` and
//! `credsStore`, read anew for every fetch, so that a rotated secret counts at once. A key of
//! `auths` may name a path below the registry, the longest one that fits counts. A file that says nothing
//! about logins can leave them to the key chain of the desktop, as Helm does. Nothing here is
//! printed: the debug form of a credential shows no secret, and the output of a helper is never
//! part of an error.

use std::ffi::OsStr;
use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use docker_credential::{CredentialRetrievalError, DockerCredential};
use serde_json::{Map, Value};

/// What Docker Hub is called in Docker's own configuration.
pub(crate) const DOCKER_HUB_KEY: &str = "https://index.docker.io/v1/";
/// Bytes of a `config.json` that are read; a Secret can't be larger.
const CONFIG_BYTES: u64 = 1024 * 1024;

/// A way to prove who one is.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Credential {
    /// A user name and a password.
    Basic {
        /// The user name.
        user: String,
        /// The password.
        password: String,
    },
    /// A token that a registry's token service exchanges for access (OAuth2 refresh token).
    IdentityToken(String),
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Basic { user, .. } => write!(f, "Basic({user}, …)"),
            Self::IdentityToken(_) => f.write_str("IdentityToken(…)"),
        }
    }
}

/// Credentials can't be looked up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialError {
    /// The configuration file can't be read.
    #[error("reading registry config {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: std::io::Error,
    },
    /// The configuration file is no Docker configuration.
    #[error("registry config {} is not a Docker config.json", path.display())]
    Format {
        /// The file.
        path: PathBuf,
    },
    /// The entry of the server is broken.
    #[error("registry config {}: entry {server:?} can't be decoded", path.display())]
    Entry {
        /// The file.
        path: PathBuf,
        /// The key that was looked up.
        server: String,
    },
    /// The credential helper can't be run or failed.
    #[error("registry config {}: the credential helper for {server:?} failed", path.display())]
    Helper {
        /// The file.
        path: PathBuf,
        /// The server that the helper was asked for.
        server: String,
    },
}

impl CredentialError {
    /// Whether asking again later can help: only a helper changes its mind by itself.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Helper { .. })
    }
}

/// Where credentials come from.
pub trait CredentialSource: Send + Sync {
    /// The credential for a path of a registry or repository host, or `None` when this source has
    /// none. May block: it is called on a thread where that is allowed.
    ///
    /// # Errors
    ///
    /// The source has something to say about the host, but it can't be read.
    fn credential(&self, host: &str, path: &str) -> Result<Option<Credential>, CredentialError>;
}

/// A Docker `config.json`.
#[derive(Debug, Clone)]
pub struct DockerConfig {
    path: PathBuf,
    /// A file that somebody named must exist, the usual one need not.
    required: bool,
    /// The credential helper for all registries while the file names none and holds no login.
    native: Option<String>,
}

/// The credential helper of this system's own key chain, as Docker calls it, when its program is in one of the folders
/// of `path` (the variable `PATH`).
pub fn native_helper(path: Option<&OsStr>) -> Option<String> {
    let folders: Vec<PathBuf> = std::env::split_paths(path?).collect();
    let there = |program: &str| {
        let program = format!("{program}{}", std::env::consts::EXE_SUFFIX);
        folders.iter().any(|folder| folder.join(&program).is_file())
    };
    let name = match std::env::consts::OS {
        "macos" => "osxkeychain",
        "windows" => "wincred",
        "linux" if there("pass") => "pass",
        "linux" => "secretservice",
        _ => return None,
    };
    there(&format!("docker-credential-{name}")).then(|| name.to_owned())
}

/// Whether a configuration says where logins are, or holds one.
fn says_logins(config: &Map<String, Value>) -> bool {
    ["credsStore", "credHelpers", "auths"]
        .iter()
        .any(|key| match config.get(*key) {
            Some(Value::String(name)) => !name.is_empty(),
            Some(Value::Object(table)) => !table.is_empty(),
            _ => false,
        })
}

impl DockerConfig {
    /// The file at this path; it is an error when it is missing.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            required: true,
            native: None,
        }
    }

    /// The file at this path, which need not be there.
    pub fn if_there(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            required: false,
            native: None,
        }
    }

    /// The file that Docker itself reads, when it exists: `config.json` in the folder
    /// `docker_config` (the variable `DOCKER_CONFIG`) or else in `.docker` below `home`.
    pub fn usual(docker_config: Option<&Path>, home: Option<&Path>) -> Option<Self> {
        let folder = match docker_config {
            Some(folder) => folder.to_path_buf(),
            None => home?.join(".docker"),
        };
        Some(Self::if_there(folder.join("config.json")))
    }

    /// Leaves logins to this credential helper while the file names none and holds no login; the first login that is
    /// kept writes its name into the file. [`native_helper`] finds the one of the desktop.
    #[must_use]
    pub fn or_native(mut self, helper: Option<String>) -> Self {
        self.native = helper;
        self
    }

    /// The helper for all registries that a configuration does not name itself.
    pub(crate) fn native(&self, config: &Map<String, Value>) -> Option<&str> {
        let native = self.native.as_deref();
        native.filter(|_| !says_logins(config))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The content, or `None` when there is no file: for writers, who make it.
    pub(crate) fn read_or_none(&self) -> Result<Option<Vec<u8>>, CredentialError> {
        Self::if_there(&self.path).read()
    }

    pub(crate) fn format_error(&self) -> CredentialError {
        CredentialError::Format {
            path: self.path.clone(),
        }
    }

    fn read(&self) -> Result<Option<Vec<u8>>, CredentialError> {
        let failed = |source| CredentialError::Read {
            path: self.path.clone(),
            source,
        };
        let file = match std::fs::File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !self.required => {
                return Ok(None);
            }
            Err(error) => return Err(failed(error)),
        };
        let mut content = Vec::new();
        file.take(CONFIG_BYTES)
            .read_to_end(&mut content)
            .map_err(failed)?;
        Ok(Some(content))
    }
}

impl CredentialSource for DockerConfig {
    fn credential(&self, host: &str, path: &str) -> Result<Option<Credential>, CredentialError> {
        let mut content = match self.read()? {
            Some(content) => content,
            None if self.native.is_some() => b"{}".to_vec(),
            None => return Ok(None),
        };
        let config = serde_json::from_slice(&content);
        let mut config: Map<String, Value> = config.map_err(|_| self.format_error())?;
        let native = self.native(&config).map(str::to_owned);
        if let Some(native) = &native {
            config.insert("credsStore".to_owned(), native.as_str().into());
            content = Value::Object(config.clone()).to_string().into_bytes();
        }
        for server in servers(&config, host, path) {
            match docker_credential::get_credential_from_reader(content.as_slice(), &server) {
                Ok(DockerCredential::UsernamePassword(user, password)) => {
                    return Ok(Some(Credential::Basic { user, password }));
                }
                Ok(DockerCredential::IdentityToken(token)) => {
                    return Ok(Some(Credential::IdentityToken(token)));
                }
                Err(CredentialRetrievalError::NoCredentialConfigured) => {}
                // What Docker's helpers say about a server that they don't know.
                Err(CredentialRetrievalError::HelperFailure { stdout, .. })
                    if stdout.contains("credentials not found") => {}
                Err(error) => {
                    let error = self.error(&error, server);
                    let Some(helper) = native.filter(|_| error.is_transient()) else {
                        return Err(error);
                    };
                    // Nobody asked for it: a session without a desktop has none that works.
                    tracing::warn!(helper, %error, "the key chain can't be asked for logins");
                    return Ok(None);
                }
            }
        }
        Ok(None)
    }
}

impl DockerConfig {
    fn error(&self, error: &CredentialRetrievalError, server: String) -> CredentialError {
        let path = self.path.clone();
        match error {
            CredentialRetrievalError::HelperFailure { .. }
            | CredentialRetrievalError::HelperCommunicationError
            | CredentialRetrievalError::MalformedHelperResponse => {
                CredentialError::Helper { path, server }
            }
            CredentialRetrievalError::ConfigReadError => CredentialError::Format { path },
            _ => CredentialError::Entry { path, server },
        }
    }
}

/// The keys to look up, in order: the longest path that the configuration names, then the host.
fn servers(config: &Map<String, Value>, host: &str, path: &str) -> Vec<String> {
    let named = |key: &str| {
        ["auths", "credHelpers"].iter().any(|table| {
            config
                .get(*table)
                .and_then(|table| table.get(key))
                .is_some()
        })
    };
    let mut servers = Vec::new();
    let mut prefix = format!("{host}/{path}");
    while let Some((shorter, _)) = prefix.rsplit_once('/') {
        if named(&prefix) {
            servers.push(prefix.clone());
        }
        prefix = shorter.to_owned();
    }
    if matches!(
        host,
        "docker.io" | "index.docker.io" | "registry-1.docker.io"
    ) {
        servers.push(DOCKER_HUB_KEY.to_owned());
        servers.push("index.docker.io".to_owned());
    } else {
        servers.push(host.to_owned());
    }
    servers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(config: &str, host: &str, path: &str) -> Result<Option<Credential>, CredentialError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.json");
        std::fs::write(&file, config).unwrap();
        DockerConfig::at(file).credential(host, path)
    }

    fn basic(user: &str, password: &str) -> Credential {
        Credential::Basic {
            user: user.into(),
            password: password.into(),
        }
    }

    #[test]
    fn the_longest_path_wins() {
        // base64: a:1 = YTox, b:2 = Yjoy
        let config = r#"{"auths":{"r.example":{"auth":"YTox"},"r.example/org":{"auth":"Yjoy"}}}"#;
        assert_eq!(
            lookup(config, "r.example", "org/charts/web").unwrap(),
            Some(basic("b", "2"))
        );
        assert_eq!(
            lookup(config, "r.example", "organ").unwrap(),
            Some(basic("a", "1"))
        );
        assert_eq!(lookup(config, "other.example", "org").unwrap(), None);
    }

    #[test]
    fn docker_hub_has_many_names() {
        let config = r#"{"auths":{"https://index.docker.io/v1/":{"auth":"YTox"}}}"#;
        for host in ["docker.io", "registry-1.docker.io", "index.docker.io"] {
            assert_eq!(
                lookup(config, host, "org/web").unwrap(),
                Some(basic("a", "1")),
                "{host}"
            );
        }
    }

    #[test]
    fn identity_tokens_are_kept_apart() {
        let config = r#"{"auths":{"r.example":{"auth":"YToxCg==","identitytoken":"t"}}}"#;
        let token = Credential::IdentityToken("t".into());
        assert_eq!(lookup(config, "r.example", "x").unwrap(), Some(token));
    }

    #[test]
    fn a_missing_file_counts_only_when_it_was_named() {
        let folder = tempfile::tempdir().unwrap();
        let named = DockerConfig::at(folder.path().join("none.json"));
        assert!(matches!(
            named.credential("h", "p"),
            Err(CredentialError::Read { .. })
        ));
        let usual = DockerConfig::usual(Some(folder.path()), None).unwrap();
        assert!(usual.credential("h", "p").unwrap().is_none());
    }

    #[test]
    fn the_key_chain_of_the_desktop_has_logins_that_the_file_does_not_speak_of() {
        let desk = DockerConfig::if_there("none").or_native(Some("desk".into()));
        for (config, expected) in [
            ("{}", Some("desk")),
            (
                r#"{"auths":{},"credsStore":"","HttpHeaders":{}}"#,
                Some("desk"),
            ),
            (r#"{"auths":{"h":{}}}"#, None),
            (r#"{"credHelpers":{"h":"own"}}"#, None),
            (r#"{"credsStore":"own"}"#, None),
        ] {
            let config = serde_json::from_str(config).unwrap();
            assert_eq!(desk.native(&config), expected, "{config:?}");
        }
    }

    #[test]
    fn errors_and_debug_forms_hold_no_secret() {
        let error = lookup(r#"{"auths":{"h":{"auth":"c2VjcmV0"}}}"#, "h", "p").unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(
            !text.contains("secret") && !text.contains("c2VjcmV0"),
            "{text}"
        );
        let shown = format!("{:?}", Some(basic("me", "secret")));
        assert!(!shown.contains("secret"), "{shown}");
    }
}
