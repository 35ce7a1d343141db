//! The repositories that people gave names to: Helm's `repositories.yaml`.
//!
//! A dependency may name one as `@name` or `alias:name`, and a chart may be asked for as `name/chart`. User names and
//! passwords that stand there are used for the addresses below the repository's own, and never shown.

use std::fmt;
use std::path::Path;

use kubepkg_source::{Credential, CredentialError, CredentialSource};
use serde::Deserialize;

/// Bytes of a `repositories.yaml` that are read.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The file can't be read.
#[derive(Debug, thiserror::Error)]
#[error("reading the repositories in {}", path.display())]
pub struct RepositoriesError {
    /// The file.
    pub path: std::path::PathBuf,
    /// Why.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

/// Repositories by name.
#[derive(Debug, Clone, Default)]
pub struct Repositories {
    entries: Vec<Repository>,
}

/// A repository with a name.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Repository {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its address.
    #[serde(default)]
    pub url: String,
    #[serde(default)]
    username: String,
    #[serde(default)]
    password: String,
}

impl fmt::Debug for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.url)
    }
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    repositories: Option<Vec<Repository>>,
}

impl Repositories {
    /// Reads a `repositories.yaml`; one that is not there has none. Blocks.
    ///
    /// # Errors
    /// The file can't be read or is no such file.
    pub fn load(path: &Path) -> Result<Self, RepositoriesError> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| RepositoriesError {
            path: path.to_owned(),
            source,
        };
        let text = match std::fs::metadata(path) {
            Ok(found) if found.len() > MAX_BYTES => {
                return Err(failed(format!("it has more than {MAX_BYTES} bytes").into()));
            }
            Ok(_) => std::fs::read(path).map_err(|error| failed(error.into()))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(failed(error.into())),
        };
        Self::parse(&text).map_err(failed)
    }

    fn parse(text: &[u8]) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let value = kubepkg_yaml::load(text)?;
        if value.is_null() {
            return Ok(Self::default());
        }
        // The text of an error may repeat a value, which may be a password.
        let file: File =
            serde_json::from_value(value).map_err(|_| "it is no list of repositories")?;
        Ok(Self {
            entries: file.repositories.unwrap_or_default(),
        })
    }

    /// The repository of a name.
    pub fn named(&self, name: &str) -> Option<&Repository> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// The address that the `repository` of a dependency means: itself, or that of the name behind `@` or `alias:`.
    /// `None` for a name that is not known.
    pub fn address<'a>(&'a self, repository: &'a str) -> Option<&'a str> {
        let name = repository
            .strip_prefix('@')
            .or_else(|| repository.strip_prefix("alias:"));
        match name {
            Some(name) => self.named(name).map(|entry| entry.url.as_str()),
            None => Some(repository),
        }
    }
}

impl CredentialSource for Repositories {
    fn credential(&self, host: &str, path: &str) -> Result<Option<Credential>, CredentialError> {
        let asked = format!("{host}/{path}");
        let asked = asked.trim_end_matches('/');
        let below = |entry: &&Repository| {
            let Some((_, address)) = entry.url.split_once("://") else {
                return false;
            };
            let address = address.trim_end_matches('/');
            asked == address
                || asked
                    .strip_prefix(address)
                    .is_some_and(|rest| rest.starts_with('/'))
        };
        let known = |entry: &&Repository| !entry.username.is_empty() && !entry.password.is_empty();
        let found = self.entries.iter().filter(known).filter(below);
        let longest = found.max_by_key(|entry| entry.url.len());
        Ok(longest.map(|entry| Credential::Basic {
            user: entry.username.clone(),
            password: entry.password.clone(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "
apiVersion: ''
generated: '2024-01-01T00:00:00Z'
repositories:
- {name: web, url: 'https://h.example/web', username: me, password: secret, caFile: ''}
- {name: open, url: 'https://o.example'}
";

    #[test]
    fn names_stand_for_addresses() {
        let known = Repositories::parse(FILE.as_bytes()).unwrap();
        for (given, expected) in [
            ("@web", Some("https://h.example/web")),
            ("alias:open", Some("https://o.example")),
            ("@none", None),
            ("https://x.example", Some("https://x.example")),
        ] {
            assert_eq!(known.address(given), expected, "{given}");
        }
    }

    #[test]
    fn a_password_is_for_the_addresses_below() {
        let known = Repositories::parse(FILE.as_bytes()).unwrap();
        for (host, path, expected) in [
            ("h.example", "web", true),
            ("h.example", "web/a.tgz", true),
            ("h.example", "webs", false),
            ("h.example", "", false),
            ("o.example", "", false),
        ] {
            let found = known.credential(host, path).unwrap();
            assert_eq!(found.is_some(), expected, "{host}/{path}");
        }
        assert!(!format!("{known:?}").contains("secret"));
    }

    #[test]
    fn an_error_does_not_repeat_the_file() {
        let error = Repositories::parse(b"repositories: {password: secret}").unwrap_err();
        assert!(!error.to_string().contains("secret"));
        assert!(Repositories::parse(b"").unwrap().named("x").is_none());
    }
}
