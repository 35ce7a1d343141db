//! References into an OCI registry: `host[:port]/path[:tag][@digest]`.
//!
//! Reads what Helm reads, with its peculiarities: a `+` in the tag becomes `_`, and so does every
//! other occurrence of the tag's text in the reference; a digest is taken as it stands. Refuses a
//! missing registry or repository, upper case and other characters that the
//! [distribution specification](https://github.com/opencontainers/distribution-spec) forbids, and
//! tags over 128 characters. Rules from Helm's behaviour (vectors `reference` in `tests/vectors`).

use std::fmt;

/// The scheme of locations in an OCI registry.
pub(crate) const OCI_SCHEME: &str = "oci://";

/// A parsed reference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct OciReference {
    /// `host` or `host:port`.
    pub registry: String,
    /// The path inside the registry, without slashes at its ends.
    pub repository: String,
    /// The tag, `+` already written as `_`; may be empty.
    pub tag: String,
    /// The digest as it was given, unchecked; may be empty.
    pub digest: String,
}

/// A text that is no reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReferenceError {
    /// There is no `/`, so one of the two is missing.
    #[error("invalid reference: missing registry or repository")]
    Missing,
    /// The part before the first `/` is no host with an optional port.
    #[error("invalid reference: invalid registry {0:?}")]
    Registry(String),
    /// The path has characters that a repository must not have.
    #[error("invalid reference: invalid repository {0:?}")]
    Repository(String),
    /// The tag has characters that a tag must not have, or is too long.
    #[error("invalid reference: invalid tag {0:?}")]
    Tag(String),
}

impl OciReference {
    /// Parses a reference, with or without `oci://` before it.
    ///
    /// # Errors
    ///
    /// The part that breaks the grammar.
    pub fn parse(text: &str) -> Result<Self, ReferenceError> {
        let text = text.strip_prefix(OCI_SCHEME).unwrap_or(text);
        let (text, digest) = text.rsplit_once('@').unwrap_or((text, ""));
        let text = underscored(text);
        let (registry, path) = text.split_once('/').ok_or(ReferenceError::Missing)?;
        if !is_registry(registry) {
            return Err(ReferenceError::Registry(registry.to_owned()));
        }
        let (repository, tag) = path.split_once(':').unwrap_or((path, ""));
        if !repository.split('/').all(is_path_element) {
            return Err(ReferenceError::Repository(repository.to_owned()));
        }
        if !tag.is_empty() && !is_tag(tag) {
            return Err(ReferenceError::Tag(tag.to_owned()));
        }
        Ok(Self {
            registry: registry.to_owned(),
            repository: repository.to_owned(),
            tag: tag.to_owned(),
            digest: digest.to_owned(),
        })
    }

    /// The same repository with the tag of this version: `+` is written `_`.
    ///
    /// # Errors
    ///
    /// The version can't be a tag.
    pub fn with_tag(self, version: &str) -> Result<Self, ReferenceError> {
        let tag = version.replace('+', "_");
        if is_tag(&tag) {
            Ok(Self { tag, ..self })
        } else {
            Err(ReferenceError::Tag(tag))
        }
    }
}

impl fmt::Display for OciReference {
    /// `registry/repository:tag`, or `registry/repository@digest` when there is no tag.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.repository)?;
        if self.tag.is_empty() {
            write!(f, "@{}", self.digest)
        } else {
            write!(f, ":{}", self.tag)
        }
    }
}

/// Replaces `+` wherever the tag's text occurs.
fn underscored(text: &str) -> String {
    match text.rsplit_once(':') {
        Some((_, tag)) if tag.contains('+') && !tag.contains('/') => {
            text.replace(tag, &tag.replace('+', "_"))
        }
        _ => text.to_owned(),
    }
}

/// A host name, IPv4 or bracketed IPv6 address with an optional port.
fn is_registry(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, after)) => {
                if !host
                    .chars()
                    .all(|c| c.is_ascii_hexdigit() || matches!(c, ':' | '.'))
                {
                    return false;
                }
                match after.strip_prefix(':') {
                    Some(port) => (host, port),
                    None if after.is_empty() => (host, ""),
                    None => return false,
                }
            }
            None => return false,
        },
        None => text.split_once(':').unwrap_or((text, "")),
    };
    !host.is_empty()
        && host
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | ':'))
        && port.chars().all(|c| c.is_ascii_digit())
}

/// Lower-case letters and digits, separated by `.`, `_`, `__` or any number of `-`.
fn is_path_element(text: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if !text.starts_with(alphanumeric) || !text.ends_with(alphanumeric) {
        return false;
    }
    text.split(alphanumeric).all(|separator| {
        matches!(separator, "" | "." | "_" | "__") || separator.chars().all(|c| c == '-')
    })
}

/// A word character, then up to 127 word characters, `.` or `-`.
fn is_tag(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.len() <= 128
        && text.starts_with(word)
        && text.chars().all(|c| word(c) || matches!(c, '.' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plus_becomes_underscore_wherever_the_tag_occurs() {
        // Documented peculiarity: the registry's text changes too.
        let reference = OciReference::parse("h:1+x/c:1+x").unwrap_err();
        assert_eq!(reference, ReferenceError::Registry("h:1_x".into()));
    }

    #[test]
    fn separators_of_a_path_are_few() {
        assert!(is_path_element("a--b.c_d__e"));
        for bad in ["a..b", "a___b", "a._b", "-a", "a-", "A", ""] {
            assert!(!is_path_element(bad), "{bad}");
        }
    }
}
