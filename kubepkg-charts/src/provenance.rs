//! Signing charts and checking signatures: the provenance files of Helm.
//!
//! A provenance file is a cleartext OpenPGP signature over a [`Message`]. Checking answers who signed, after the
//! signature, the name of the file and its digest were all checked; the time at which keys must be good is a parameter.
//! Refused are signatures by keys that the ring does not have, by revoked or expired keys, by subkeys that are not for
//! signing, and those over MD5, SHA-1 or RIPEMD-160. Text around the signed block is of no meaning, and neither is the
//! `Hash` header; a ring is binary or one armored block, of a second one nothing is read, as Helm has it.
//!
//! OpenPGP is rPGP's. A signature with an RSA key is made by a library whose private-key operations take a time that
//! tells about the key (RUSTSEC-2023-0071): sign where nobody can measure it, as on one's own machine.

mod cleartext;
mod ring;

use std::time::SystemTime;

use kubepkg_api::Digest;
use kubepkg_helm::{Chart, ChartError, ChartLimits};

use crate::message::{Message, MessageError, Sums};

pub use ring::{Keyring, Signer};

/// Bytes of a provenance file that are read.
const MAX_TEXT: usize = 5 * 1024 * 1024;

/// A chart can't be signed, or what vouches for it does not.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProvenanceError {
    /// There is no signed text.
    #[error("signature block not found")]
    NoBlock,
    /// The text is larger than any provenance file.
    #[error("the provenance file has more than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// No key of the ring made the signature.
    #[error("the signature was made by a key that the ring does not have ({})", issuers.join(", "))]
    UnknownSigner {
        /// What the signature says about its maker.
        issuers: Vec<String>,
    },
    /// The signature does not fit the text.
    #[error("the signature of {signer} is not over this text")]
    Invalid {
        /// The key.
        signer: String,
        /// What the library says.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The signature can't count.
    #[error("the signature of {signer} does not count: {reason}")]
    Unusable {
        /// The key.
        signer: String,
        /// Why.
        reason: &'static str,
    },
    /// The signed text is no message.
    #[error("the signed text is no message about a chart")]
    Message(#[from] MessageError),
    /// The message is about other files.
    #[error("provenance does not contain a SHA for a file named {file:?}")]
    NoSum {
        /// The file.
        file: String,
    },
    /// The file is not the one that was signed.
    #[error("sha256 sum does not match for {file}: {signed:?} != {actual:?}")]
    Changed {
        /// The file.
        file: String,
        /// What was signed.
        signed: String,
        /// What it is.
        actual: String,
    },
    /// The ring can't be read.
    #[error("the keyring can't be read")]
    Keyring(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// GnuPG's own database is no ring that is exchanged.
    #[error(
        "the keyring is a GnuPG keybox; export what is needed with gpg --export or --export-secret-keys"
    )]
    Keybox,
    /// The ring has no such secret key.
    #[error("the keyring has no secret key with {id:?} in its name")]
    NoSecretKey {
        /// What was looked for.
        id: String,
    },
    /// Several keys could be meant.
    #[error("more than one key contain the id {id:?}")]
    Vague {
        /// What was looked for.
        id: String,
    },
    /// The chart can't be read.
    #[error("the archive can't be signed")]
    Chart(#[from] ChartError),
    /// Signing failed, most likely over the passphrase.
    #[error("signing failed")]
    Sign(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Who vouches for a file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Signed {
    /// The names of the key that signed.
    pub names: Vec<String>,
    /// The fingerprint of its primary key, in upper-case hexadecimal.
    pub fingerprint: String,
    /// The file's digest.
    pub digest: Digest,
    /// All digests that were signed.
    pub sums: Sums,
    /// The signed text, with LF.
    pub text: String,
}

impl Keyring {
    /// Checks that a key of the ring signed this file under this name.
    ///
    /// # Errors
    /// [`ProvenanceError`]: why it does not count.
    pub fn check(
        &self,
        provenance: &[u8],
        archive: &[u8],
        file: &str,
        now: SystemTime,
    ) -> Result<Signed, ProvenanceError> {
        if provenance.len() > MAX_TEXT {
            return Err(ProvenanceError::TooLarge { limit: MAX_TEXT });
        }
        let block = cleartext::decode(provenance).ok_or(ProvenanceError::NoBlock)?;
        let maker = self.verify(&block, now)?;
        let sums = Sums::of_message(block.text.as_bytes())?;
        let digest = Digest::of(archive);
        let files = sums.files.as_ref();
        match files.and_then(|files| files.get(file)) {
            None => Err(ProvenanceError::NoSum {
                file: file.to_owned(),
            }),
            Some(signed) if signed != digest.as_str() => Err(ProvenanceError::Changed {
                file: file.to_owned(),
                signed: signed.clone(),
                actual: digest.as_str().to_owned(),
            }),
            Some(_) => Ok(Signed {
                names: maker.names,
                fingerprint: maker.fingerprint,
                digest,
                sums,
                text: block.text,
            }),
        }
    }
}

impl Signer<'_> {
    /// Signs an archive under the name of its file; the text of the provenance file.
    ///
    /// # Errors
    /// The archive is no chart, or the passphrase is wrong.
    pub fn sign(
        &self,
        archive: &[u8],
        file: &str,
        passphrase: &str,
        now: SystemTime,
    ) -> Result<String, ProvenanceError> {
        let chart = Chart::load_archive(archive, &ChartLimits::default())?;
        let digest = Digest::of(archive);
        let message = Message::about(chart.metadata, file, digest.as_str());
        self.sign_text(&message.to_text()?, passphrase, now)
    }
}
