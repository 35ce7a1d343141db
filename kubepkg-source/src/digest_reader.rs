//! Bytes that can't be used before they passed their check.
//!
//! A [`DigestReader`] hashes and counts while it takes chunks; [`DigestReader::finish`] compares
//! with every digest that was expected and only then gives the bytes out, as [`Verified`]. There
//! is no other way to make one. Refuses more bytes than the limit, at the first chunk over it.

use bytes::{Bytes, BytesMut};
use kubepkg_api::Digest;
use sha2::{Digest as _, Sha256};

/// Bytes with the digest that they were checked against, or that they have when none was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    bytes: Bytes,
    digest: Digest,
}

impl Verified {
    /// The bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Their SHA-256 digest.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// The bytes and their digest.
    pub fn into_parts(self) -> (Bytes, Digest) {
        (self.bytes, self.digest)
    }
}

/// Who said which digest the bytes have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DigestClaim {
    /// The chart reference: a PackageSource, which a signed index may stand behind.
    Reference,
    /// The repository's `index.yaml`.
    Index,
    /// The registry's manifest.
    Manifest,
    /// The `Docker-Content-Digest` header of the answer.
    Header,
}

impl std::fmt::Display for DigestClaim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Reference => "the chart reference",
            Self::Index => "index.yaml",
            Self::Manifest => "the manifest",
            Self::Header => "the registry's header",
        })
    }
}

/// Bytes that failed their check.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unverified {
    /// There are more bytes than allowed.
    #[error("more than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// The bytes have another digest.
    #[error("{claim} says {expected}, the content has {actual}")]
    Mismatch {
        /// Who expected it.
        claim: DigestClaim,
        /// What was expected.
        expected: Digest,
        /// What arrived.
        actual: Digest,
    },
}

/// Takes bytes in chunks, hashes and counts them.
#[derive(Debug)]
pub struct DigestReader {
    hash: Sha256,
    bytes: BytesMut,
    limit: u64,
    claims: Vec<(DigestClaim, Digest)>,
}

impl DigestReader {
    /// Begins to read at most this many bytes.
    pub fn new(limit: u64) -> Self {
        Self {
            hash: Sha256::new(),
            bytes: BytesMut::new(),
            limit,
            claims: Vec::new(),
        }
    }

    /// Expects a digest; several may be expected, all must hold.
    #[must_use]
    pub fn expect(mut self, claim: DigestClaim, digest: Digest) -> Self {
        self.claims.push((claim, digest));
        self
    }

    /// The limit in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// How many bytes were taken.
    pub(crate) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Whether any digest is expected.
    pub(crate) fn has_claims(&self) -> bool {
        !self.claims.is_empty()
    }

    /// Forgets the bytes that were taken, not what is expected.
    pub(crate) fn restart(&mut self) {
        self.hash = Sha256::new();
        self.bytes.clear();
    }

    /// Takes the next chunk.
    ///
    /// # Errors
    ///
    /// [`Unverified::TooLarge`] when the limit is passed.
    pub fn push(&mut self, chunk: &[u8]) -> Result<(), Unverified> {
        let total = self.bytes.len() as u64 + chunk.len() as u64;
        if total > self.limit {
            return Err(Unverified::TooLarge { limit: self.limit });
        }
        self.hash.update(chunk);
        self.bytes.extend_from_slice(chunk);
        Ok(())
    }

    /// Gives out the bytes when they have every digest that was expected.
    ///
    /// # Errors
    ///
    /// [`Unverified::Mismatch`] for the first claim that doesn't hold.
    pub fn finish(self) -> Result<Verified, Unverified> {
        let hash: [u8; 32] = self.hash.finalize().into();
        let actual = Digest::from_sha256(&hash);
        for (claim, expected) in self.claims {
            if expected != actual {
                return Err(Unverified::Mismatch {
                    claim,
                    expected,
                    actual,
                });
            }
        }
        Ok(Verified {
            bytes: self.bytes.freeze(),
            digest: actual,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // FIPS 180: the digest of "abc".
    const ABC: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn gives_out_bytes_of_the_expected_digest() {
        let expected = Digest::new(ABC).unwrap();
        let mut reader = DigestReader::new(3).expect(DigestClaim::Reference, expected.clone());
        reader.push(b"a").unwrap();
        reader.push(b"bc").unwrap();
        let verified = reader.finish().unwrap();
        assert_eq!(verified.bytes().as_ref(), b"abc");
        assert_eq!(verified.digest(), &expected);
    }

    #[test]
    fn every_claim_must_hold() {
        let right = Digest::new(ABC).unwrap();
        let wrong = Digest::of(b"");
        let mut reader = DigestReader::new(9)
            .expect(DigestClaim::Index, right.clone())
            .expect(DigestClaim::Reference, wrong.clone());
        reader.push(b"abc").unwrap();
        assert_eq!(
            reader.finish().unwrap_err(),
            Unverified::Mismatch {
                claim: DigestClaim::Reference,
                expected: wrong,
                actual: right
            }
        );
    }

    #[test]
    fn the_first_byte_over_the_limit_is_refused() {
        let mut reader = DigestReader::new(2);
        reader.push(b"ab").unwrap();
        assert_eq!(reader.push(b"c"), Err(Unverified::TooLarge { limit: 2 }));
    }
}
