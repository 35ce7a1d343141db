//! Addresses of chart repositories and package trees (reference §1.2, §2.6, §2.8).
//!
//! Only `https://`, `http://` and `oci://` are known here; a distribution's own schemes belong to the index
//! transports, not to charts. Credentials in an address are refused: objects are readable by many.

use std::fmt;

use crate::digest::Digest;
use crate::pattern::OCI_URL_RULE;

/// Where charts are published.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ChartRepository {
    /// A Helm repository: a folder with an `index.yaml` over HTTP(S), without a slash at the end.
    Http(String),
    /// A path in an OCI registry, as `host/path` without the scheme or a slash at the end.
    Oci(String),
}

/// An OCI artifact: `oci://host/path[:tag][@sha256:...]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OciUrl {
    /// Host with an optional port.
    pub registry: String,
    /// Path in the registry.
    pub repository: String,
    /// Tag, when one is given.
    pub tag: Option<String>,
    /// Digest of the manifest, when it is pinned.
    pub digest: Option<Digest>,
}

/// The text is not an address of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidLocation {
    /// Another scheme, or none.
    #[error("unsupported address {text:?}: want https://, http:// or oci://")]
    Scheme {
        /// What was given.
        text: String,
    },
    /// No host, or characters that no address has.
    #[error("malformed address {text:?}")]
    Syntax {
        /// What was given.
        text: String,
    },
    /// A user name or password inside the address; the text is left out of the message.
    #[error("address holds credentials; put them into a registry Secret instead")]
    Credentials,
}

impl ChartRepository {
    /// Parses an address.
    ///
    /// # Errors
    /// [`InvalidLocation`] for another scheme, an empty host, blanks, or credentials.
    pub fn new(text: &str) -> Result<Self, InvalidLocation> {
        let (scheme, rest) = text
            .split_once("://")
            .ok_or_else(|| InvalidLocation::Scheme {
                text: text.to_owned(),
            })?;
        let rest = rest.trim_end_matches('/');
        let host = rest.split('/').next().unwrap_or_default();
        if host.contains('@') {
            return Err(InvalidLocation::Credentials);
        }
        if host.is_empty() || rest.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(InvalidLocation::Syntax {
                text: text.to_owned(),
            });
        }
        match scheme {
            "http" | "https" => Ok(Self::Http(format!("{scheme}://{rest}"))),
            "oci" => Ok(Self::Oci(rest.to_owned())),
            _ => Err(InvalidLocation::Scheme {
                text: text.to_owned(),
            }),
        }
    }
}

impl fmt::Display for ChartRepository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(url) => f.write_str(url),
            Self::Oci(path) => write!(f, "oci://{path}"),
        }
    }
}

impl OciUrl {
    /// Parses `oci://host/path[:tag][@sha256:...]`.
    ///
    /// # Errors
    /// [`InvalidLocation`] for any other form.
    pub fn new(text: &str) -> Result<Self, InvalidLocation> {
        let syntax = || InvalidLocation::Syntax {
            text: text.to_owned(),
        };
        let rest = text
            .strip_prefix("oci://")
            .ok_or_else(|| InvalidLocation::Scheme {
                text: text.to_owned(),
            })?;
        if !OCI_URL_RULE.matches(text) {
            return Err(syntax());
        }
        let (rest, digest) = match rest.split_once('@') {
            Some((rest, digest)) => (rest, Some(Digest::new(digest).map_err(|_| syntax())?)),
            None => (rest, None),
        };
        let (registry, path) = rest.split_once('/').ok_or_else(syntax)?;
        let (repository, tag) = match path.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag.to_owned())),
            None => (path, None),
        };
        Ok(Self {
            registry: registry.to_owned(),
            repository: repository.to_owned(),
            tag,
            digest,
        })
    }
}

impl fmt::Display for OciUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "oci://{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chart_repositories() {
        let parse = ChartRepository::new;
        assert_eq!(
            parse("https://a.b/c/"),
            Ok(ChartRepository::Http("https://a.b/c".into()))
        );
        assert_eq!(
            parse("oci://ghcr.io/x/charts"),
            Ok(ChartRepository::Oci("ghcr.io/x/charts".into()))
        );
        assert!(matches!(
            parse("s3://b"),
            Err(InvalidLocation::Scheme { .. })
        ));
        assert!(matches!(
            parse("charts"),
            Err(InvalidLocation::Scheme { .. })
        ));
        assert!(matches!(
            parse("https://"),
            Err(InvalidLocation::Syntax { .. })
        ));
        assert!(matches!(
            parse("https://a b"),
            Err(InvalidLocation::Syntax { .. })
        ));
    }

    #[test]
    fn credentials_are_refused_and_not_repeated() {
        let error = ChartRepository::new("https://user:secret@a.b/c").unwrap_err();
        assert_eq!(error, InvalidLocation::Credentials);
        assert!(!error.to_string().contains("secret"));
    }

    #[test]
    fn oci_addresses_have_parts() {
        let hex = "0".repeat(64);
        let text = format!("oci://localhost:5000/a/b:1.0-1@sha256:{hex}");
        let url = OciUrl::new(&text).unwrap();
        assert_eq!(
            (url.registry.as_str(), url.repository.as_str()),
            ("localhost:5000", "a/b")
        );
        assert_eq!(url.tag.as_deref(), Some("1.0-1"));
        assert_eq!(url.to_string(), text);
        assert_eq!(OciUrl::new("oci://h/p").unwrap().tag, None);
        for bad in [
            "h/p",
            "oci://h",
            "oci://h/P",
            "oci://h/p@sha256:1",
            "oci://h/p:a b",
        ] {
            assert!(OciUrl::new(bad).is_err(), "{bad}");
        }
    }
}
