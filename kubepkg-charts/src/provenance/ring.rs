//! Keys: which of a ring may have signed, and signing with one.

use std::fmt;
use std::time::SystemTime;

use pgp::composed::{
    ArmorOptions, CleartextSignedMessage, Deserializable as _, DetachedSignature, PublicOrSecret,
    SignedPublicKey, SignedSecretKey,
};
use pgp::crypto::hash::HashAlgorithm;
use pgp::packet::{Signature, SignatureConfig, SignatureType, Subpacket, SubpacketData};
use pgp::types::{KeyDetails as _, KeyVersion, Password, Tag, Timestamp, VerifyingKey};

use super::ProvenanceError;
use super::cleartext::{Block, canonical};

/// Bytes of a ring that are read.
const MAX_RING: usize = 64 * 1024 * 1024;

/// Public keys, and secret ones if the ring has them.
#[derive(Default)]
pub struct Keyring {
    public: Vec<SignedPublicKey>,
    secret: Vec<SignedSecretKey>,
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Keyring({} public, {} secret)",
            self.public.len(),
            self.secret.len()
        )
    }
}

/// A secret key that signs.
pub struct Signer<'a> {
    key: &'a SignedSecretKey,
}

impl fmt::Debug for Signer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({})", self.key.fingerprint())
    }
}

/// Who made a signature.
pub(super) struct Maker {
    pub(super) names: Vec<String>,
    pub(super) fingerprint: String,
}

impl Keyring {
    /// Reads a ring, binary or armored. Keys of a kind that is not understood are passed over.
    ///
    /// # Errors
    /// There is no key that is understood.
    pub fn parse(bytes: &[u8]) -> Result<Self, ProvenanceError> {
        let failed =
            |error: Box<dyn std::error::Error + Send + Sync>| ProvenanceError::Keyring(error);
        if bytes.len() > MAX_RING {
            return Err(failed(format!("it has more than {MAX_RING} bytes").into()));
        }
        if bytes.get(8..12) == Some(b"KBXf") {
            return Err(ProvenanceError::Keybox);
        }
        let (keys, _) =
            PublicOrSecret::from_reader_many(bytes).map_err(|error| failed(error.into()))?;
        let mut ring = Self::default();
        let mut first_error = None;
        for key in keys {
            match key {
                Ok(PublicOrSecret::Public(key)) => ring.public.push(key),
                Ok(PublicOrSecret::Secret(key)) => {
                    ring.public.push(key.to_public_key());
                    ring.secret.push(key);
                }
                Err(error) => {
                    first_error.get_or_insert(error);
                }
            }
        }
        if ring.public.is_empty() {
            return Err(match first_error {
                Some(error) => failed(error.into()),
                None => failed("it has no key".into()),
            });
        }
        Ok(ring)
    }

    /// The secret key whose name is this, or contains it. An empty text means the only one.
    ///
    /// # Errors
    /// There is none, or there are several.
    pub fn signer(&self, id: &str) -> Result<Signer<'_>, ProvenanceError> {
        let mut found = None;
        for key in &self.secret {
            let names = names(&key.details.users);
            if names.iter().any(|name| name == id) {
                return Ok(Signer { key });
            }
            if names.iter().any(|name| name.contains(id)) && found.replace(key).is_some() {
                return Err(ProvenanceError::Vague { id: id.to_owned() });
            }
        }
        found
            .map(|key| Signer { key })
            .ok_or_else(|| ProvenanceError::NoSecretKey { id: id.to_owned() })
    }

    /// Who of the ring made the signature of a block.
    pub(super) fn verify(&self, block: &Block, now: SystemTime) -> Result<Maker, ProvenanceError> {
        let parsed = DetachedSignature::from_armor_single(block.signature.as_bytes());
        let Ok((DetachedSignature { signature }, _)) = parsed else {
            return Err(ProvenanceError::NoBlock);
        };
        let now = seconds(now);
        let mut last = None;
        for key in &self.public {
            for part in parts(key) {
                if !made_by(&signature, part.id()) {
                    continue;
                }
                match part.check(key, &signature, block, now) {
                    Ok(()) => {
                        return Ok(Maker {
                            names: names(&key.details.users),
                            fingerprint: hex(&key.primary_key),
                        });
                    }
                    Err(error) => last = Some(error),
                }
            }
        }
        let issuers = || {
            let ids = signature
                .issuer_key_id()
                .into_iter()
                .map(ToString::to_string);
            let prints = signature.issuer_fingerprint().into_iter();
            ids.chain(prints.map(ToString::to_string)).collect()
        };
        Err(last.unwrap_or_else(|| ProvenanceError::UnknownSigner { issuers: issuers() }))
    }
}

/// A primary key or one of its subkeys.
enum Part<'a> {
    Primary,
    Sub(&'a pgp::composed::SignedPublicSubKey),
}

/// A part with the names that signatures have for it.
struct Candidate<'a> {
    part: Part<'a>,
    key_id: String,
    fingerprint: String,
}

fn parts(key: &SignedPublicKey) -> Vec<Candidate<'_>> {
    let primary = Candidate {
        part: Part::Primary,
        key_id: key.primary_key.legacy_key_id().to_string(),
        fingerprint: key.primary_key.fingerprint().to_string(),
    };
    let subs = key.public_subkeys.iter().map(|sub| Candidate {
        part: Part::Sub(sub),
        key_id: sub.key.legacy_key_id().to_string(),
        fingerprint: sub.key.fingerprint().to_string(),
    });
    std::iter::once(primary).chain(subs).collect()
}

fn made_by(signature: &Signature, (key_id, fingerprint): (&str, &str)) -> bool {
    let ids = signature.issuer_key_id();
    let prints = signature.issuer_fingerprint();
    ids.iter().any(|id| id.to_string() == key_id)
        || prints.iter().any(|print| print.to_string() == fingerprint)
}

impl Candidate<'_> {
    fn id(&self) -> (&str, &str) {
        (&self.key_id, &self.fingerprint)
    }

    /// Checks the signature, then whether the key may have made it.
    fn check(
        &self,
        key: &SignedPublicKey,
        signature: &Signature,
        block: &Block,
        now: u64,
    ) -> Result<(), ProvenanceError> {
        let signer = || self.fingerprint.to_uppercase();
        let invalid = |error: pgp::errors::Error| ProvenanceError::Invalid {
            signer: signer(),
            source: error.into(),
        };
        let unusable = |reason| ProvenanceError::Unusable {
            signer: signer(),
            reason,
        };
        let strong = matches!(
            signature.hash_alg(),
            Some(
                HashAlgorithm::Sha256
                    | HashAlgorithm::Sha384
                    | HashAlgorithm::Sha512
                    | HashAlgorithm::Sha224
                    | HashAlgorithm::Sha3_256
                    | HashAlgorithm::Sha3_512
            )
        );
        if !strong {
            return Err(unusable("its hash is weak"));
        }
        let text = block.signed.as_bytes();
        match &self.part {
            Part::Primary => signature.verify(&key.primary_key, text).map_err(invalid)?,
            Part::Sub(sub) => signature.verify(&sub.key, text).map_err(invalid)?,
        }
        let made = signature
            .created()
            .map_or(0, |time| u64::from(time.as_secs()));
        let lasts = signature
            .signature_expiration_time()
            .map(|lasts| u64::from(lasts.as_secs()));
        if made > now {
            return Err(unusable("it was made in the future"));
        }
        if expired(made, lasts, now) {
            return Err(unusable("it has expired"));
        }
        good_primary(key, now).map_err(unusable)?;
        match &self.part {
            Part::Primary => Ok(()),
            Part::Sub(sub) => good_subkey(key, sub, now).map_err(unusable),
        }
    }
}

/// Whether the owner of a key says that it is good.
fn good_primary(key: &SignedPublicKey, now: u64) -> Result<(), &'static str> {
    let primary = &key.primary_key;
    let revoked = |signature: &Signature| signature.verify_key(primary).is_ok();
    if key.details.revocation_signatures.iter().any(revoked) {
        return Err("its key was revoked");
    }
    let of_users = key.details.users.iter().flat_map(|user| {
        let own = |signature: &&Signature| {
            signature.typ() != Some(SignatureType::CertRevocation)
                && signature
                    .verify_certification(primary, Tag::UserId, &user.id)
                    .is_ok()
        };
        user.signatures.iter().filter(own)
    });
    let direct = key.details.direct_signatures.iter();
    let direct = direct.filter(|signature| signature.verify_key(primary).is_ok());
    let newest = of_users
        .chain(direct)
        .max_by_key(|signature| signature.created().map_or(0, Timestamp::as_secs));
    let Some(newest) = newest else {
        return Err("its key vouches for no name");
    };
    let made = u64::from(primary.created_at().as_secs());
    let lasts = newest
        .key_expiration_time()
        .map(|lasts| u64::from(lasts.as_secs()));
    if expired(made, lasts, now) {
        return Err("its key has expired");
    }
    Ok(())
}

/// Whether the primary key lets a subkey sign.
fn good_subkey(
    key: &SignedPublicKey,
    sub: &pgp::composed::SignedPublicSubKey,
    now: u64,
) -> Result<(), &'static str> {
    let primary = &key.primary_key;
    let own = |signature: &&Signature| signature.verify_subkey_binding(primary, &sub.key).is_ok();
    let revoked = |signature: &Signature| signature.typ() == Some(SignatureType::SubkeyRevocation);
    if sub.signatures.iter().filter(own).any(revoked) {
        return Err("its subkey was revoked");
    }
    let binding = sub.signatures.iter().filter(own);
    let binding = binding.max_by_key(|signature| signature.created().map_or(0, Timestamp::as_secs));
    let Some(binding) = binding else {
        return Err("its subkey does not belong to the key");
    };
    let signs = binding.key_flags().sign()
        && binding
            .embedded_signature()
            .is_some_and(|back| back.verify_primary_key_binding(&sub.key, primary).is_ok());
    if !signs {
        return Err("its subkey is not for signing");
    }
    let made = u64::from(sub.key.created_at().as_secs());
    let lasts = binding
        .key_expiration_time()
        .map(|lasts| u64::from(lasts.as_secs()));
    if expired(made, lasts, now) {
        return Err("its subkey has expired");
    }
    Ok(())
}

/// A duration of zero is for ever.
fn expired(made: u64, lasts: Option<u64>, now: u64) -> bool {
    lasts.is_some_and(|lasts| lasts != 0 && made.saturating_add(lasts) < now)
}

fn names(users: &[pgp::types::SignedUser]) -> Vec<String> {
    let name = |user: &pgp::types::SignedUser| String::from_utf8_lossy(user.id.id()).into_owned();
    users.iter().map(name).collect()
}

fn hex(key: &impl VerifyingKey) -> String {
    key.fingerprint().to_string().to_uppercase()
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

impl Signer<'_> {
    /// Signs a text as Helm does: a text signature over SHA-512.
    pub(super) fn sign_text(
        &self,
        text: &str,
        passphrase: &str,
        now: SystemTime,
    ) -> Result<String, ProvenanceError> {
        let failed = |error: pgp::errors::Error| ProvenanceError::Sign(error.into());
        let key = &self.key.primary_key;
        if key.version() != KeyVersion::V4 {
            return Err(ProvenanceError::Sign("the key is not of version 4".into()));
        }
        let made = Timestamp::from_secs(u32::try_from(seconds(now)).unwrap_or(u32::MAX));
        let mut config =
            SignatureConfig::v4(SignatureType::Text, key.algorithm(), HashAlgorithm::Sha512);
        config.hashed_subpackets = vec![
            Subpacket::regular(SubpacketData::SignatureCreationTime(made)).map_err(failed)?,
            Subpacket::regular(SubpacketData::IssuerFingerprint(key.fingerprint()))
                .map_err(failed)?,
        ];
        config.unhashed_subpackets = vec![
            Subpacket::regular(SubpacketData::IssuerKeyId(key.legacy_key_id())).map_err(failed)?,
        ];
        let password = Password::from(passphrase);
        let message = CleartextSignedMessage::new(&canonical(text), config, key, &password)
            .map_err(failed)?;
        message
            .to_armored_string(ArmorOptions::default())
            .map_err(failed)
    }
}
