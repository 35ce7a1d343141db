//! Package names.
//!
//! A package's name is the name of its Package and PackageSource objects. It is also the value of the
//! `kubepkg.dev/package` label on everything the operator makes, so Kubernetes' limit for label values (63
//! characters) is the limit for names; a longer name is refused at the edge instead of failing in the middle of
//! an installation.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::pattern::{SUBDOMAIN, SUBDOMAIN_RULE};

/// The name of a package: a DNS-1123 subdomain of at most 63 characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PackageName(String);

/// The text cannot be the name of a package.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidName {
    /// Empty, or characters that Kubernetes does not accept in names.
    #[error(
        "invalid package name {text:?}: want lower-case letters, digits, '-' and '.', starting and ending with a letter or digit"
    )]
    Syntax {
        /// What was given.
        text: String,
    },
    /// Longer than [`PackageName::MAX_LEN`].
    #[error("package name {text:?} has {len} characters, the limit is {max}", max = PackageName::MAX_LEN)]
    TooLong {
        /// What was given.
        text: String,
        /// Its length in bytes.
        len: usize,
    },
}

impl PackageName {
    /// The most characters a name may have (the limit of label values).
    pub const MAX_LEN: usize = 63;
    /// The pattern of the CRD schema and of [`PackageName::new`].
    pub const PATTERN: &str = SUBDOMAIN;

    /// Parses a name.
    ///
    /// # Errors
    /// [`InvalidName`] when Kubernetes would not accept the name, or not as a label value.
    pub fn new(text: &str) -> Result<Self, InvalidName> {
        if text.len() > Self::MAX_LEN {
            return Err(InvalidName::TooLong {
                text: text.to_owned(),
                len: text.len(),
            });
        }
        if !SUBDOMAIN_RULE.matches(text) {
            return Err(InvalidName::Syntax {
                text: text.to_owned(),
            });
        }
        Ok(Self(text.to_owned()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PackageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for PackageName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for PackageName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl FromStr for PackageName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::new(text)
    }
}

impl TryFrom<String> for PackageName {
    type Error = InvalidName;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(&text)
    }
}

impl From<PackageName> for String {
    fn from(name: PackageName) -> Self {
        name.0
    }
}

impl JsonSchema for PackageName {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PackageName".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": Self::PATTERN, "maxLength": Self::MAX_LEN })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_label_values_and_object_names() {
        for good in ["a", "cert-manager", "k8s.io", "0", &"a".repeat(63)] {
            assert_eq!(PackageName::new(good).unwrap().as_str(), good);
        }
        assert!(matches!(
            PackageName::new(&"a".repeat(64)),
            Err(InvalidName::TooLong { len: 64, .. })
        ));
        for bad in ["", "-a", "a-", "A", "a_b", "a b", "a..b", "ä", "a/b", "a\n"] {
            assert!(
                matches!(PackageName::new(bad), Err(InvalidName::Syntax { .. })),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn deserializing_checks_the_name() {
        assert!(serde_json::from_str::<PackageName>("\"cert-manager\"").is_ok());
        assert!(serde_json::from_str::<PackageName>("\"Cert\"").is_err());
    }
}
