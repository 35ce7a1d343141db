//! Logging in to a registry and out of it.
//!
//! A login is checked against the registry before anything is kept: its `/v2/` must answer to the credential. It is
//! kept where a Docker configuration says: in the credential helper of the host (`credHelpers`), in the one for all
//! (`credsStore`, which may be that of the desktop), or else in the file itself, base64 under `auths`, readable by its owner alone. Everything else in
//! the file stays. The file is replaced as a whole. Helm and Docker read what is written here.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::credentials::{Credential, DOCKER_HUB_KEY, DockerConfig};
use crate::failure::Failure;
use crate::net::ContentKind;
use crate::oci::OciRegistry;

/// A credential can't be kept or forgotten.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The configuration file can't be read or is no Docker configuration.
    #[error(transparent)]
    Config(#[from] crate::credentials::CredentialError),
    /// The file can't be written.
    #[error("writing registry config {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: std::io::Error,
    },
    /// The credential helper can't be run or failed. Its output is not repeated: it may hold the secret.
    #[error("the credential helper {helper} failed for {server:?}")]
    Helper {
        /// The program.
        helper: String,
        /// The server that it was asked about.
        server: String,
        /// Why it could not be run, when it was not.
        #[source]
        source: Option<std::io::Error>,
    },
    /// There is nothing to forget.
    #[error("not logged in to {host}")]
    NotLoggedIn {
        /// The registry.
        host: String,
    },
}

impl OciRegistry {
    /// Whether a registry takes a credential.
    pub(crate) async fn ping(&self, host: &str, credential: &Credential) -> Result<(), Failure> {
        let session = self.root_session(host, credential.clone())?;
        let response = session.get(&session.base, ContentKind::Document).await?;
        session.succeeded(response, &session.base).map(drop)
    }
}

impl DockerConfig {
    /// Keeps a credential for a registry, `host` or `host:port`. Blocks.
    ///
    /// # Errors
    ///
    /// The file or the helper does not take it.
    pub fn store(&self, host: &str, credential: &Credential) -> Result<(), StoreError> {
        let mut config = self.table()?;
        let server = server(host);
        let (user, secret) = match credential {
            Credential::Basic { user, password } => (user.as_str(), password.as_str()),
            // What Docker's helpers call somebody who has a token instead of a name.
            Credential::IdentityToken(token) => ("<token>", token.as_str()),
        };
        if let Some(native) = self.native(&config) {
            config.insert("credsStore".to_owned(), native.into());
        }
        let entry = match helper(&config, &server) {
            Some(helper) => {
                let message = json!({ "ServerURL": server, "Username": user, "Secret": secret });
                run(&helper, "store", &server, &message.to_string())?;
                // Docker leaves an empty entry, by which others see that the host is known.
                json!({})
            }
            None => match credential {
                Credential::Basic { .. } => {
                    json!({ "auth": STANDARD.encode(format!("{user}:{secret}")) })
                }
                Credential::IdentityToken(_) => {
                    json!({ "auth": STANDARD.encode(format!("{user}:")), "identitytoken": secret })
                }
            },
        };
        let mut auths = auths(&mut config);
        auths.insert(server, entry);
        config.insert("auths".to_owned(), Value::Object(auths));
        self.write(&config)
    }

    /// Forgets the credential of a registry. Blocks.
    ///
    /// # Errors
    ///
    /// There is none, or the file or the helper does not let go of it.
    pub fn erase(&self, host: &str) -> Result<(), StoreError> {
        let mut config = self.table()?;
        let server = server(host);
        let helper = helper(&config, &server);
        let mut auths = auths(&mut config);
        let known = auths.remove(&server).is_some();
        config.insert("auths".to_owned(), Value::Object(auths));
        if let Some(helper) = &helper {
            run(helper, "erase", &server, &server)?;
        } else if !known {
            return Err(StoreError::NotLoggedIn {
                host: host.to_owned(),
            });
        }
        if known { self.write(&config) } else { Ok(()) }
    }

    fn table(&self) -> Result<Map<String, Value>, StoreError> {
        let Some(text) = self.read_or_none()? else {
            return Ok(Map::new());
        };
        match serde_json::from_slice(&text) {
            Ok(Value::Object(table)) if table.get("auths").is_none_or(Value::is_object) => {
                Ok(table)
            }
            _ => Err(self.format_error().into()),
        }
    }

    fn write(&self, config: &Map<String, Value>) -> Result<(), StoreError> {
        let written = write_private(self.path(), config);
        written.map_err(|source| StoreError::Write {
            path: self.path().to_path_buf(),
            source,
        })
    }
}

/// Replaces the file by one that its owner alone can read; `tempfile` makes no other.
fn write_private(path: &Path, config: &Map<String, Value>) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut text = Vec::new();
    let tabs = serde_json::ser::PrettyFormatter::with_indent(b"\t");
    let mut encoder = serde_json::Serializer::with_formatter(&mut text, tabs);
    serde::Serialize::serialize(config, &mut encoder)?;
    // A file that is a link stays one: the file that it leads to is replaced.
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let folder = target.parent().unwrap_or(folder);
    let mut file = tempfile::Builder::new()
        .prefix(".config-")
        .tempfile_in(folder)?;
    file.write_all(&text)?;
    file.as_file().sync_data()?;
    file.persist(target).map_err(|error| error.error)?;
    Ok(())
}

/// The name that Docker's configuration has for a registry.
fn server(host: &str) -> String {
    match host {
        "docker.io" | "index.docker.io" | "registry-1.docker.io" => DOCKER_HUB_KEY.to_owned(),
        host => host.to_owned(),
    }
}

/// The helper that keeps the credential of a server.
fn helper(config: &Map<String, Value>, server: &str) -> Option<String> {
    let own = config
        .get("credHelpers")
        .and_then(|helpers| helpers.get(server));
    own.or_else(|| config.get("credsStore"))
        .and_then(Value::as_str)
        .filter(|name| !name.is_empty())
        .map(|name| format!("docker-credential-{name}"))
}

/// Takes the table of credentials out of a configuration.
fn auths(config: &mut Map<String, Value>) -> Map<String, Value> {
    match config.remove("auths") {
        Some(Value::Object(auths)) => auths,
        _ => Map::new(),
    }
}

/// Runs a credential helper: the protocol of
/// [docker-credential-helpers](https://github.com/docker/docker-credential-helpers).
fn run(helper: &str, verb: &str, server: &str, input: &str) -> Result<(), StoreError> {
    let failed = |source| StoreError::Helper {
        helper: helper.to_owned(),
        server: server.to_owned(),
        source,
    };
    let mut child = Command::new(helper)
        .arg(verb)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(Some(error)))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A helper that does not read what it is given says why by its exit code.
        let _ = stdin.write_all(input.as_bytes());
    }
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => Err(failed(None)),
        Err(error) => Err(failed(Some(error))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credentials::CredentialSource as _;

    fn password(user: &str, password: &str) -> Credential {
        Credential::Basic {
            user: user.into(),
            password: password.into(),
        }
    }

    #[test]
    fn what_is_stored_is_found_and_the_rest_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/config.json");
        let config = DockerConfig::at(&path);
        config
            .store("r.example:5000", &password("me", "p:w"))
            .unwrap();
        let found = config.credential("r.example:5000", "x").unwrap();
        assert_eq!(found, Some(password("me", "p:w")));

        std::fs::write(
            &path,
            r#"{"proxies":{"default":{}},"auths":{"other":{"auth":"YTox"}}}"#,
        )
        .unwrap();
        config.store("docker.io", &password("me", "pw")).unwrap();
        config
            .store("r.example", &Credential::IdentityToken("t".into()))
            .unwrap();
        let text: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(text["proxies"], json!({ "default": {} }));
        // base64: me:pw = bWU6cHc=
        assert_eq!(text["auths"][DOCKER_HUB_KEY]["auth"], "bWU6cHc=");
        assert_eq!(
            config.credential("r.example", "x").unwrap(),
            Some(Credential::IdentityToken("t".into()))
        );
        config.erase("docker.io").unwrap();
        assert_eq!(config.credential("docker.io", "x").unwrap(), None);
        assert!(config.credential("other", "x").unwrap().is_some());
        assert!(matches!(
            config.erase("docker.io"),
            Err(StoreError::NotLoggedIn { .. })
        ));
    }

    #[cfg(unix)]
    #[test]
    fn only_its_owner_reads_the_file() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        DockerConfig::at(&path)
            .store("h", &password("a", "b"))
            .unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_file_that_is_no_config_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        for text in ["[]", "{", r#"{"auths":[]}"#] {
            std::fs::write(&path, text).unwrap();
            let stored = DockerConfig::at(&path).store("h", &password("a", "b"));
            assert!(matches!(stored, Err(StoreError::Config(_))), "{text}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn a_missing_helper_is_an_error_without_the_secret() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        std::fs::write(&path, r#"{"credHelpers":{"h":"kubepkg-test-none"}}"#).unwrap();
        let error = DockerConfig::at(&path)
            .store("h", &password("a", "secret"))
            .unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(
            text.contains("docker-credential-kubepkg-test-none"),
            "{text}"
        );
        assert!(!text.contains("secret"), "{text}");
    }
}
