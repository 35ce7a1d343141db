//! The API group as a value.
//!
//! A platform that embeds kubepkg serves the same kinds under its own group (design, *Embedding in a platform*).
//! The group is therefore the `DynamicType` of every kind and travels with the client, not with the type.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::pattern::DOTTED_RULE;

/// The group kubepkg itself uses.
pub const DEFAULT_GROUP: &str = "kubepkg.dev";
/// The version that is stored and that every client uses.
pub const VERSION: &str = "v1";
/// Versions that are still served, deprecated, with the same schema; newest first.
pub const DEPRECATED_VERSIONS: [&str; 2] = ["v1beta1", "v1alpha1"];

/// An API group under which the kubepkg kinds are served, such as `kubepkg.dev`.
///
/// A DNS-1123 subdomain with at least one dot and at most 253 characters; the API server accepts no other group
/// for a custom resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ApiGroup(Cow<'static, str>);

/// The text is not a group that custom resources can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid API group {text:?}: want a lower-case domain name with a dot, such as packages.example.org"
)]
pub struct InvalidGroup {
    /// What was given.
    pub text: String,
}

impl ApiGroup {
    /// Parses a group.
    ///
    /// # Errors
    /// [`InvalidGroup`] when the text is not a dotted DNS-1123 subdomain of at most 253 characters.
    pub fn new(text: &str) -> Result<Self, InvalidGroup> {
        if text.len() <= 253 && DOTTED_RULE.matches(text) {
            Ok(Self(Cow::Owned(text.to_owned())))
        } else {
            Err(InvalidGroup {
                text: text.to_owned(),
            })
        }
    }

    /// The group as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `<group>/v1`, the `apiVersion` of every object this crate writes.
    pub fn api_version(&self) -> String {
        format!("{}/{VERSION}", self.0)
    }
}

impl Default for ApiGroup {
    /// [`DEFAULT_GROUP`].
    fn default() -> Self {
        Self(Cow::Borrowed(DEFAULT_GROUP))
    }
}

impl fmt::Display for ApiGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ApiGroup {
    type Err = InvalidGroup;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::new(text)
    }
}

impl TryFrom<String> for ApiGroup {
    type Error = InvalidGroup;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(&text)
    }
}

impl From<ApiGroup> for String {
    fn from(group: ApiGroup) -> Self {
        group.0.into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_dotted_domains_only() {
        assert_eq!(
            ApiGroup::new("packages.example.org").unwrap().api_version(),
            "packages.example.org/v1"
        );
        assert_eq!(ApiGroup::default().as_str(), "kubepkg.dev");
        for bad in [
            "",
            "nodots",
            "Upper.dev",
            "a..b",
            "-a.b",
            "a.b/",
            &format!("{}.dev", "a".repeat(260)),
        ] {
            assert_eq!(ApiGroup::new(bad).unwrap_err().text, bad);
        }
    }
}
