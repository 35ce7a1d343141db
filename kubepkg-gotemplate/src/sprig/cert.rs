//! X.509 certificates with the fields, extensions and encodings that Sprig's functions get from Go's
//! `crypto/x509` (RFC 5280; key identifiers by RFC 7093).

use std::net::IpAddr;

use sha2::{Digest as _, Sha256};

use super::der;
use super::keys::PrivateKey;
use crate::env::Env;
use crate::time::GoTime;
use crate::value::Value;

/// What a certificate is about.
pub(super) struct Request {
    pub(super) common_name: Vec<u8>,
    pub(super) addresses: Vec<IpAddr>,
    pub(super) names: Vec<Vec<u8>>,
    pub(super) days: i64,
    pub(super) is_authority: bool,
}

/// Who signs: subject and key identifier of the signing certificate.
pub(super) struct Signer {
    subject: Vec<u8>,
    key_id: Vec<u8>,
    public: Vec<u8>,
}

const OID_COMMON_NAME: &[u8] = &[0x55, 4, 3];
const OID_KEY_ID: &[u8] = &[0x55, 0x1d, 14];
const OID_KEY_USAGE: &[u8] = &[0x55, 0x1d, 15];
const OID_ALT_NAME: &[u8] = &[0x55, 0x1d, 17];
const OID_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 19];
const OID_AUTHORITY_KEY_ID: &[u8] = &[0x55, 0x1d, 35];
const OID_EXTENDED_USAGE: &[u8] = &[0x55, 0x1d, 37];
const OID_SERVER_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 1];
const OID_CLIENT_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 2];

const MALFORMED: &str = "x509: malformed certificate";

/// Sprig's `getNetIPs`; the error is its text.
pub(super) fn addresses(items: &[Value]) -> Result<Vec<IpAddr>, String> {
    items
        .iter()
        .map(|item| match item {
            Value::String(text) => text
                .as_str()
                .and_then(|text| text.parse().ok())
                .ok_or_else(|| format!("error parsing ip: {text}")),
            other => Err(format!(
                "error parsing ip: {} is not a string",
                super::args::shown(other)
            )),
        })
        .collect()
}

/// Sprig's `getAlternateDNSStrs`; the error is its text.
pub(super) fn names(items: &[Value]) -> Result<Vec<Vec<u8>>, String> {
    items
        .iter()
        .map(|item| match item {
            Value::String(text) => Ok(text.to_vec()),
            other => Err(format!(
                "error processing alternate dns name: {} is not a string",
                super::args::shown(other)
            )),
        })
        .collect()
}

fn subject(common_name: &[u8]) -> Vec<u8> {
    if common_name.is_empty() {
        return der::sequence(&[]);
    }
    let printable = common_name
        .iter()
        .all(|b| b.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(b));
    let text = der::write(if printable { 0x13 } else { 0x0c }, common_name);
    let attribute = der::sequence(&[&der::write(der::OID, OID_COMMON_NAME), &text]);
    der::sequence(&[&der::write(der::SET, &attribute)])
}

fn instant(time: &GoTime) -> Vec<u8> {
    let year = time.format(b"2006");
    let short = (b"1950".as_slice()..b"2050".as_slice()).contains(&year.as_slice());
    if short {
        der::write(0x17, &time.format(b"060102150405Z"))
    } else {
        der::write(0x18, &time.format(b"20060102150405Z"))
    }
}

fn extension(oid: &[u8], critical: bool, value: &[u8]) -> Vec<u8> {
    let flag: &[u8] = if critical { &[1, 1, 0xff] } else { &[] };
    der::sequence(&[
        &der::write(der::OID, oid),
        flag,
        &der::write(der::OCTET_STRING, value),
    ])
}

/// The identifier of a public key: 160 bits of the SHA-256 of its bits.
fn key_id(public: &[u8]) -> Option<Vec<u8>> {
    let items = der::parse(public)?.sequence()?;
    let digest = Sha256::digest(items.get(1)?.bits()?);
    digest.get(..20).map(<[u8]>::to_vec)
}

fn extensions(
    request: &Request,
    public: &[u8],
    subject: &[u8],
    signer: Option<&Signer>,
) -> Option<Vec<u8>> {
    let authority = request.is_authority;
    let usage: &[u8] = if authority {
        &[3, 2, 2, 0xa4]
    } else {
        &[3, 2, 5, 0xa0]
    };
    let extended = der::sequence(&[
        &der::write(der::OID, OID_SERVER_AUTH),
        &der::write(der::OID, OID_CLIENT_AUTH),
    ]);
    let constraints: &[u8] = if authority {
        &[0x30, 3, 1, 1, 0xff]
    } else {
        &[0x30, 0]
    };
    let mut all = vec![
        extension(OID_KEY_USAGE, true, usage),
        extension(OID_EXTENDED_USAGE, false, &extended),
        extension(OID_CONSTRAINTS, true, constraints),
    ];
    if authority {
        let id = der::write(der::OCTET_STRING, &key_id(public)?);
        all.push(extension(OID_KEY_ID, false, &id));
    }
    if let Some(signer) = signer
        && signer.subject != subject
        && !signer.key_id.is_empty()
    {
        let id = der::sequence(&[&der::write(0x80, &signer.key_id)]);
        all.push(extension(OID_AUTHORITY_KEY_ID, false, &id));
    }
    if !request.names.is_empty() || !request.addresses.is_empty() {
        let mut names = Vec::new();
        for name in &request.names {
            names.extend(der::write(0x82, name));
        }
        for address in &request.addresses {
            names.extend(match address {
                IpAddr::V4(v4) => der::write(0x87, &v4.octets()),
                IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
                    Some(v4) => der::write(0x87, &v4.octets()),
                    None => der::write(0x87, &v6.octets()),
                },
            });
        }
        let names = der::write(der::SEQUENCE, &names);
        all.push(extension(
            OID_ALT_NAME,
            request.common_name.is_empty(),
            &names,
        ));
    }
    Some(der::write(0xa3, &der::write(der::SEQUENCE, &all.concat())))
}

/// A certificate for `key`, signed by `signing_key`; self-signed without a `signer`. PEM text.
///
/// # Errors
/// Go's text for keys that cannot be certified or cannot sign.
pub(super) fn create(
    request: &Request,
    key: &PrivateKey,
    signer: Option<&Signer>,
    signing_key: &PrivateKey,
    env: &mut dyn Env,
) -> Result<String, String> {
    let failed = |text: &str| format!("error creating certificate: {text}");
    let no_signer = || failed("x509: certificate private key does not implement crypto.Signer");
    let algorithm = signing_key.algorithm().ok_or_else(no_signer)?;
    let public = key
        .public_der()
        .ok_or_else(|| failed("x509: unsupported public key type: *dsa.PublicKey"))?;
    if let Some(signer) = signer
        && signing_key.public_der().as_ref() != Some(&signer.public)
    {
        return Err(failed(
            "x509: provided PrivateKey doesn't match parent's PublicKey",
        ));
    }
    let mut serial = [0; 16];
    env.random(&mut serial);
    let (seconds, nanos) = env.now();
    let start = GoTime::unix(seconds, nanos);
    let end = GoTime::unix(
        seconds.saturating_add(request.days.saturating_mul(86_400)),
        nanos,
    );
    let subject = subject(&request.common_name);
    let issuer = signer.map_or(&subject, |signer| &signer.subject);
    let extensions = extensions(request, &public, &subject, signer)
        .ok_or_else(|| failed("x509: malformed public key"))?;
    let body = der::sequence(&[
        &der::write(0xa0, &der::unsigned(&[2])),
        &der::unsigned(&serial),
        &algorithm,
        issuer,
        &der::sequence(&[&instant(&start), &instant(&end)]),
        &subject,
        &public,
        &extensions,
    ]);
    let signature = signing_key.sign(&body).ok_or_else(no_signer)?;
    let whole = der::sequence(&[&body, &algorithm, &der::bits(&signature)]);
    Ok(der::to_pem("CERTIFICATE", &whole))
}

/// Reads the certificate that is to sign; the error is Go's text.
///
/// # Errors
/// Bytes that are no certificate.
pub(super) fn parse(data: &[u8]) -> Result<Signer, String> {
    parse_parts(data).ok_or_else(|| MALFORMED.to_owned())
}

fn parse_parts(data: &[u8]) -> Option<Signer> {
    let parts = der::parse(data)?.sequence()?;
    let [body, algorithm, signature] = parts.as_slice() else {
        return None;
    };
    algorithm.sequence()?;
    signature.bits()?;
    let mut fields = body.sequence()?;
    if fields.first()?.tag == 0xa0 {
        fields.remove(0);
    }
    let (subject, public) = (fields.get(4)?, fields.get(5)?);
    subject.sequence()?;
    public.sequence()?;
    let mut key_id = Vec::new();
    if let Some(extensions) = fields.iter().find(|field| field.tag == 0xa3) {
        for extension in der::parse(extensions.body)?.sequence()? {
            let parts = extension.sequence()?;
            if parts.first()?.of(der::OID)? == OID_KEY_ID {
                key_id = der::parse(parts.last()?.of(der::OCTET_STRING)?)?
                    .of(der::OCTET_STRING)?
                    .to_vec();
            }
        }
    }
    Some(Signer {
        subject: subject.whole.to_vec(),
        key_id,
        public: public.whole.to_vec(),
    })
}
