//! Whether a certificate and its key belong together, in the words of Go's `tls.X509KeyPair`.

use pem::Pem;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer, PrivatePkcs1KeyDer, PrivatePkcs8KeyDer, PrivateSec1KeyDer,
};
use rustls::server::ParsedCertificate;

const CERTIFICATE: &str = "CERTIFICATE";
const KEY: &str = "PRIVATE KEY";

/// What is wrong with the two, both PEM. What this program cannot read, though it may be fine, is taken for what fits.
pub(super) fn offence(certificate: &[u8], key: &[u8]) -> Option<String> {
    let blocks = pem::parse_many(certificate).unwrap_or_default();
    let Some(leaf) = blocks.iter().find(|block| block.tag() == CERTIFICATE) else {
        return Some(match skipped(&blocks).as_slice() {
            [] => "tls: failed to find any PEM data in certificate input".to_owned(),
            [one] if one.ends_with(KEY) => {
                "tls: failed to find certificate PEM data in certificate input, but did \
                 find a private key; PEM inputs may have been switched"
                    .to_owned()
            }
            all => format!(
                "tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the \
                 following types: [{}]",
                all.join(" ")
            ),
        });
    };
    let blocks = pem::parse_many(key).unwrap_or_default();
    let Some(key) = blocks.iter().find(|block| is_key(block)) else {
        return Some(match skipped(&blocks).as_slice() {
            [] => "tls: failed to find any PEM data in key input".to_owned(),
            [CERTIFICATE] => {
                "tls: found a certificate rather than a key in the PEM for the private key"
                    .to_owned()
            }
            all => format!(
                "tls: failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM \
                 blocks of the following types: [{}]",
                all.join(" ")
            ),
        });
    };
    if contents(leaf.contents()).is_none() {
        return Some("x509: malformed certificate".to_owned());
    }
    if contents(key.contents()).is_none() {
        return Some("tls: failed to parse private key".to_owned());
    }
    let public = public_key(key.contents())?;
    let leaf = CertificateDer::from(leaf.contents());
    let leaf = ParsedCertificate::try_from(&leaf).ok()?;
    let leaf = leaf.subject_public_key_info();
    if *leaf == *public {
        return None;
    }
    let of_one_type = algorithm(&leaf) == algorithm(&public);
    Some(
        if of_one_type {
            "tls: private key does not match public key"
        } else {
            "tls: private key type does not match public key type"
        }
        .to_owned(),
    )
}

fn is_key(block: &Pem) -> bool {
    block.tag() == KEY || block.tag().ends_with(" PRIVATE KEY")
}

fn skipped(blocks: &[Pem]) -> Vec<&str> {
    blocks.iter().map(Pem::tag).collect()
}

/// The public half of a key, in whichever of three forms that is.
fn public_key(key: &[u8]) -> Option<Vec<u8>> {
    let forms = [
        PrivateKeyDer::from(PrivatePkcs1KeyDer::from(key)),
        PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key)),
        PrivateKeyDer::from(PrivateSec1KeyDer::from(key)),
    ];
    let mut keys = forms
        .iter()
        .filter_map(|form| any_supported_type(form).ok());
    let key = keys.next()?;
    Some(key.public_key()?.to_vec())
}

/// What algorithm a public key is for: the object identifier in its first part.
fn algorithm(public: &[u8]) -> Option<&[u8]> {
    contents(contents(contents(public)?)?)
}

/// What is in the first value of some DER.
fn contents(der: &[u8]) -> Option<&[u8]> {
    let (length, rest) = match der {
        [_, long, rest @ ..] if long & 0x80 != 0 => {
            let (length, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
            let length = length.iter().try_fold(0_usize, |sum, byte| {
                Some(sum.checked_mul(256)? + usize::from(*byte))
            })?;
            (length, rest)
        }
        [_, length, rest @ ..] => (usize::from(*length), rest),
        _ => return None,
    };
    rest.get(..length)
}
