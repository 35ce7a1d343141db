//! Capabilities: what a package offers to others and what others require (design, *Requirements and
//! capabilities*).
//!
//! A capability is a plain word (`ingress`, `cert-manager`) or `api:<group>/<version>`, which the API server
//! itself provides when it serves that group version. Nothing else is accepted; in particular no blanks and no
//! version constraints.

use std::fmt;
use std::str::FromStr;

use crate::pattern::{CAPABILITY, CAPABILITY_RULE};

/// What a package provides, conflicts with or requires.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Capability {
    /// A word whose meaning the packages agree on. Every package provides its own name.
    Plain(String),
    /// A served API group version, written `api:<group>/<version>`.
    Api(GroupVersion),
}

/// A Kubernetes API group with a version, such as `cert-manager.io/v1`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersion {
    /// The group; never empty here, because the core group has no `<group>/` form.
    pub group: String,
    /// The version, such as `v1` or `v1beta1`.
    pub version: String,
}

/// The text is not a capability.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid capability {text:?}: want a word such as ingress, or api:<group>/<version>")]
pub struct InvalidCapability {
    /// What was given.
    pub text: String,
}

impl Capability {
    /// The most bytes a capability may have.
    pub const MAX_LEN: usize = 253;
    /// The pattern of the CRD schema and of [`Capability::new`].
    pub const PATTERN: &str = CAPABILITY;

    /// Parses a capability.
    ///
    /// # Errors
    /// [`InvalidCapability`] when the text has neither form.
    pub fn new(text: &str) -> Result<Self, InvalidCapability> {
        let invalid = || InvalidCapability {
            text: text.to_owned(),
        };
        if text.len() > Self::MAX_LEN || !CAPABILITY_RULE.matches(text) {
            return Err(invalid());
        }
        let Some(api) = text.strip_prefix("api:") else {
            return Ok(Self::Plain(text.to_owned()));
        };
        let (group, version) = api.split_once('/').ok_or_else(invalid)?;
        Ok(Self::Api(GroupVersion {
            group: group.to_owned(),
            version: version.to_owned(),
        }))
    }

    /// The group version, for a capability that the API server can provide.
    pub fn api(&self) -> Option<&GroupVersion> {
        match self {
            Self::Api(group_version) => Some(group_version),
            Self::Plain(_) => None,
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(word) => f.write_str(word),
            Self::Api(group_version) => write!(f, "api:{group_version}"),
        }
    }
}

impl fmt::Display for GroupVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.group, self.version)
    }
}

impl FromStr for Capability {
    type Err = InvalidCapability;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_words_and_served_apis() {
        assert_eq!(
            Capability::new("ingress").unwrap(),
            Capability::Plain("ingress".into())
        );
        let api = Capability::new("api:cert-manager.io/v1").unwrap();
        assert_eq!(
            api.api().unwrap(),
            &GroupVersion {
                group: "cert-manager.io".into(),
                version: "v1".into()
            }
        );
        assert_eq!(api.to_string(), "api:cert-manager.io/v1");
    }

    #[test]
    fn refuses_other_forms() {
        for bad in [
            "",
            "a b",
            "api:",
            "api:v1",
            "api:/v1",
            "api:x/",
            "api:x/1",
            ">=1.0",
            "x@1",
            &"a".repeat(254),
        ] {
            assert_eq!(Capability::new(bad).unwrap_err().text, bad, "{bad:?}");
        }
    }
}
