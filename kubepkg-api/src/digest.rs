//! SHA-256 digests, written `sha256:` and 64 lower-case hexadecimal digits (reference §2.3).
//!
//! No other algorithm and no other spelling is accepted: a digest is compared as text in many places, so it has
//! exactly one form.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::pattern::{DIGEST, DIGEST_RULE};

const PREFIX: &str = "sha256:";

/// A SHA-256 digest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

/// The text is not a digest in the one accepted form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid digest {text:?}: want sha256: and 64 lower-case hexadecimal digits")]
pub struct InvalidDigest {
    /// What was given.
    pub text: String,
}

impl Digest {
    /// The pattern of the CRD schema and of [`Digest::new`].
    pub const PATTERN: &str = DIGEST;

    /// Parses a digest.
    ///
    /// # Errors
    /// [`InvalidDigest`] for another algorithm, upper-case digits, or a wrong length.
    pub fn new(text: &str) -> Result<Self, InvalidDigest> {
        if DIGEST_RULE.matches(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidDigest {
                text: text.to_owned(),
            })
        }
    }

    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let hash = Sha256::digest(bytes);
        Self::from_hash(&hash)
    }

    /// The digest with this raw hash, for callers that hash while they read.
    pub fn from_sha256(hash: &[u8; 32]) -> Self {
        Self::from_hash(hash)
    }

    fn from_hash(hash: &[u8]) -> Self {
        use fmt::Write as _;

        let mut text = String::with_capacity(PREFIX.len() + hash.len() * 2);
        text.push_str(PREFIX);
        for byte in hash {
            // Writing to a String does not fail.
            let _ = write!(text, "{byte:02x}");
        }
        Self(text)
    }

    /// The digest as text, with its `sha256:`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The 64 hexadecimal digits alone, as file names and OCI blob paths use them.
    pub fn hex(&self) -> &str {
        self.0.strip_prefix(PREFIX).unwrap_or(&self.0)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::new(text)
    }
}

impl TryFrom<String> for Digest {
    type Error = InvalidDigest;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::new(&text)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

impl JsonSchema for Digest {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Digest".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": Self::PATTERN })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180 example values for the empty message and `abc`.
    #[test]
    fn digests_of_known_messages() {
        assert_eq!(
            Digest::of(b"").as_str(),
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert_eq!(
            Digest::of(b"abc").hex(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn one_spelling_only() {
        let hex = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert!(Digest::new(&format!("sha256:{hex}")).is_ok());
        for bad in [
            hex.to_owned(),
            format!("sha256:{}", hex.to_uppercase()),
            format!("sha512:{hex}"),
            format!("sha256:{hex}0"),
        ] {
            assert_eq!(Digest::new(&bad).unwrap_err().text, bad);
        }
    }
}
