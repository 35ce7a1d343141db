//! Hashes, passwords, encryption, keys and certificates. Everything random comes from
//! [`Env::random`](crate::Env::random), so a seed decides every key and certificate.

use aes::Aes256;
use aes::cipher::{Array, BlockCipherDecrypt as _, BlockCipherEncrypt as _, KeyInit as _};
use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha512};

use super::args::{any, bytes, int, panic, text};
use super::cert::{self, Request};
use super::der;
use super::encoding::{decode64, encode64};
use super::keys::PrivateKey;
use super::password;
use crate::bytestring::GoString;
use crate::context::Context;
use crate::func::{FuncError, FuncResult, Function, Signature};
use crate::gotype::{INT, Kind, SLICE_ANY, STRING, Type, UINT32};
use crate::object::{Field, Object};
use crate::value::Value;

/// Functions of this module.
#[allow(clippy::too_many_lines, reason = "a table")]
pub(super) fn table() -> Vec<Function> {
    let one = Signature::new(types!(STRING), &STRING);
    let two = Signature::new(types!(STRING, STRING), &STRING);
    vec![
        Function::plain("adler32sum", one, |_, args| {
            Ok(bytes(adler32(text(args, 0)).to_string()))
        }),
        Function::plain("bcrypt", one, |ctx, args| {
            Ok(bytes(hash_password(ctx, text(args, 0))?))
        }),
        Function::plain(
            "buildCustomCert",
            Signature::new(types!(STRING, STRING), &CERTIFICATE),
            build_custom,
        ),
        Function::plain("decryptAES", two, decrypt),
        Function::plain(
            "derivePassword",
            Signature::new(types!(UINT32, STRING, STRING, STRING, STRING), &STRING),
            |ctx, args| {
                ctx.charge(SLOW_HASH_STEPS)?;
                let counter = match any(args, 0) {
                    Value::Uint(_, n) => u32::try_from(*n).unwrap_or(u32::MAX),
                    _ => 0,
                };
                Ok(bytes(password::derive(
                    counter,
                    text(args, 1),
                    text(args, 2),
                    text(args, 3),
                    text(args, 4),
                )))
            },
        ),
        Function::plain("encryptAES", two, encrypt),
        Function::plain(
            "genCA",
            Signature::new(types!(STRING, INT), &CERTIFICATE),
            |ctx, args| {
                let key = rsa_key(ctx)?;
                authority(ctx, args, &key)
            },
        ),
        Function::plain(
            "genCAWithKey",
            Signature::new(types!(STRING, INT, STRING), &CERTIFICATE),
            |ctx, args| {
                let key = given_key(ctx, args, 2)?;
                authority(ctx, args, &key)
            },
        ),
        Function::plain("genPrivateKey", one, private_key),
        Function::plain(
            "genSelfSignedCert",
            Signature::new(types!(STRING, SLICE_ANY, SLICE_ANY, INT), &CERTIFICATE),
            |ctx, args| {
                let key = rsa_key(ctx)?;
                self_signed(ctx, args, &key)
            },
        ),
        Function::plain(
            "genSelfSignedCertWithKey",
            Signature::new(
                types!(STRING, SLICE_ANY, SLICE_ANY, INT, STRING),
                &CERTIFICATE,
            ),
            |ctx, args| {
                let key = given_key(ctx, args, 4)?;
                self_signed(ctx, args, &key)
            },
        ),
        Function::plain(
            "genSignedCert",
            Signature::new(
                types!(STRING, SLICE_ANY, SLICE_ANY, INT, CERTIFICATE),
                &CERTIFICATE,
            ),
            |ctx, args| {
                let key = rsa_key(ctx)?;
                signed(ctx, args, &key)
            },
        ),
        Function::plain(
            "genSignedCertWithKey",
            Signature::new(
                types!(STRING, SLICE_ANY, SLICE_ANY, INT, CERTIFICATE, STRING),
                &CERTIFICATE,
            ),
            |ctx, args| {
                let key = given_key(ctx, args, 5)?;
                signed(ctx, args, &key)
            },
        ),
        Function::plain("htpasswd", two, |ctx, args| {
            let user = text(args, 0);
            if user.contains(&b':') {
                return Ok(bytes([b"invalid username: ", user].concat()));
            }
            let hash = hash_password(ctx, text(args, 1))?;
            Ok(bytes([user, b":", hash.as_bytes()].concat()))
        }),
        Function::plain("sha1sum", one, |_, args| {
            Ok(hex(&Sha1::digest(text(args, 0))))
        }),
        Function::plain("sha256sum", one, |_, args| {
            Ok(hex(&Sha256::digest(text(args, 0))))
        }),
        Function::plain("sha512sum", one, |_, args| {
            Ok(hex(&Sha512::digest(text(args, 0))))
        }),
    ]
}

fn hex(digest: &[u8]) -> Value {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(digest.len() * 2);
    for byte in digest {
        // Writing to a String cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
    bytes(out)
}

/// RFC 1950.
fn adler32(data: &[u8]) -> u32 {
    let (mut a, mut b) = (1_u32, 0_u32);
    for chunk in data.chunks(5_000) {
        for byte in chunk {
            a += u32::from(*byte);
            b += a;
        }
        a %= 65_521;
        b %= 65_521;
    }
    b << 16 | a
}

/// A bcrypt hash with Go's default cost.
fn hash_password(ctx: &mut Context<'_>, password: &[u8]) -> Result<String, FuncError> {
    const COST: u32 = 10;
    let failed = |error: &str| format!("failed to encrypt string with bcrypt: {error}");
    if password.len() > 72 {
        return Ok(failed("bcrypt: password length exceeds 72 bytes"));
    }
    ctx.charge(SLOW_HASH_STEPS)?;
    let mut salt = [0; 16];
    ctx.env().random(&mut salt);
    Ok(match bcrypt::hash_with_salt(password, COST, salt) {
        Ok(parts) => parts.format_for_version(bcrypt::Version::TwoA),
        Err(error) => failed(&error.to_string()),
    })
}

/// AES-256 with the password as key, cut or filled with zeros to 32 bytes.
fn cipher(password: &[u8]) -> Aes256 {
    let mut key = [0; 32];
    for (slot, byte) in key.iter_mut().zip(password) {
        *slot = *byte;
    }
    Aes256::new(&Array::from(key))
}

const BLOCK: usize = 16;

fn xor(block: &mut [u8; BLOCK], other: &[u8]) {
    for (byte, with) in block.iter_mut().zip(other) {
        *byte ^= with;
    }
}

fn encrypt(ctx: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let plain = text(args, 1);
    if plain.is_empty() {
        return Ok(bytes(""));
    }
    let cipher = cipher(text(args, 0));
    let padding = BLOCK - plain.len() % BLOCK;
    let mut padded = plain.to_vec();
    padded.resize(plain.len() + padding, u8::try_from(padding).unwrap_or(0));
    let mut previous = [0; BLOCK];
    ctx.env().random(&mut previous);
    let mut out = previous.to_vec();
    for chunk in padded.chunks(BLOCK) {
        xor(&mut previous, chunk);
        let mut block = Array::from(previous);
        cipher.encrypt_block(&mut block);
        previous = block.into();
        out.extend_from_slice(&previous);
    }
    Ok(bytes(encode64(&out)))
}

fn decrypt(_: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let coded = text(args, 1);
    if coded.is_empty() {
        return Ok(bytes(""));
    }
    let data = decode64(coded).map_err(FuncError::new)?;
    let Some((start, body)) = data.split_at_checked(BLOCK) else {
        return Err(panic(format!(
            "runtime error: slice bounds out of range [:16] with capacity {}",
            data.len()
        )));
    };
    if body.len() % BLOCK != 0 {
        return Err(panic("crypto/cipher: input not full blocks"));
    }
    let cipher = cipher(text(args, 0));
    let mut out = Vec::with_capacity(body.len());
    let mut previous = start;
    for chunk in body.chunks(BLOCK) {
        let Ok(block) = <[u8; BLOCK]>::try_from(chunk) else {
            continue;
        };
        let mut block = Array::from(block);
        cipher.decrypt_block(&mut block);
        let mut plain: [u8; BLOCK] = block.into();
        xor(&mut plain, previous);
        out.extend_from_slice(&plain);
        previous = chunk;
    }
    let Some(padding) = out.last().copied().map(usize::from) else {
        return Err(panic("runtime error: index out of range [-1]"));
    };
    match out.len().checked_sub(padding) {
        Some(length) => {
            out.truncate(length);
            Ok(bytes(out))
        }
        None => Err(panic(format!(
            "runtime error: slice bounds out of range [:-{}]",
            padding - out.len()
        ))),
    }
}

/// Sprig's `certificate`: a certificate and its key, both PEM.
struct Certificate {
    cert: GoString,
    key: GoString,
}

/// `sprig.certificate`
static CERTIFICATE: Type = Type::basic("sprig.certificate", Kind::Struct);

impl Object for Certificate {
    fn go_type(&self) -> &'static Type {
        &CERTIFICATE
    }

    fn field(&self, name: &str) -> Option<Field> {
        match name {
            "Cert" => Some(Field::Value(Value::String(self.cert.clone()))),
            "Key" => Some(Field::Value(Value::String(self.key.clone()))),
            _ => None,
        }
    }

    fn fields(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("Cert", Value::String(self.cert.clone())),
            ("Key", Value::String(self.key.clone())),
        ]
    }

    fn go_eq(&self, other: &dyn Object) -> Option<bool> {
        let other = other.downcast_ref::<Self>()?;
        Some(self.cert == other.cert && self.key == other.key)
    }
}

fn certificate(cert: impl Into<GoString>, key: impl Into<GoString>) -> Value {
    Value::object(Certificate {
        cert: cert.into(),
        key: key.into(),
    })
}

/// Steps that a hash is worth which is slow by design.
const SLOW_HASH_STEPS: u64 = 200_000;
/// Steps that reading and using a given key is worth.
const GIVEN_KEY_STEPS: u64 = 50_000;
/// Steps that making an RSA key of 2048 bits is worth.
const RSA_STEPS: u64 = 1_000_000;

/// A key that the host has ready, of the given kind.
fn ready(ctx: &mut Context<'_>, kind: &str) -> Option<PrivateKey> {
    let pem = ctx.env().private_key(kind)?;
    PrivateKey::from_pem(&pem).ok()
}

fn rsa_key(ctx: &mut Context<'_>) -> Result<PrivateKey, FuncError> {
    ctx.charge(RSA_STEPS)?;
    Ok(ready(ctx, "rsa").unwrap_or_else(|| PrivateKey::new_rsa(2048, ctx.env())))
}

fn given_key(ctx: &mut Context<'_>, args: &[Value], index: usize) -> Result<PrivateKey, FuncError> {
    ctx.charge(GIVEN_KEY_STEPS)?;
    PrivateKey::from_pem(text(args, index))
        .map_err(|error| FuncError::new(format!("parsing private key: {error}")))
}

fn private_key(ctx: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let kind = String::from_utf8_lossy(text(args, 0)).into_owned();
    let kind = if kind.is_empty() {
        "rsa"
    } else {
        kind.as_str()
    };
    if !matches!(kind, "rsa" | "dsa" | "ecdsa" | "ed25519") {
        return Ok(bytes(format!("Unknown type {kind}")));
    }
    if let Some(pem) = ctx.env().private_key(kind) {
        return Ok(bytes(pem));
    }
    let key = match kind {
        "rsa" => {
            ctx.charge(8 * RSA_STEPS)?;
            PrivateKey::new_rsa(4096, ctx.env())
        }
        "dsa" => {
            ctx.charge(8 * RSA_STEPS)?;
            PrivateKey::new_dsa(ctx.env())
        }
        "ecdsa" => {
            ctx.charge(GIVEN_KEY_STEPS)?;
            PrivateKey::new_ecdsa(ctx.env())
        }
        _ => PrivateKey::new_ed25519(ctx.env()),
    };
    Ok(bytes(key.to_pem()))
}

fn items(args: &[Value], index: usize) -> &[Value] {
    match args.get(index) {
        Some(Value::List(list)) => list.items(),
        _ => &[],
    }
}

fn authority(ctx: &mut Context<'_>, args: &[Value], key: &PrivateKey) -> FuncResult {
    let request = Request {
        common_name: text(args, 0).to_vec(),
        addresses: Vec::new(),
        names: Vec::new(),
        days: int(args, 1),
        is_authority: true,
    };
    let cert = cert::create(&request, key, None, key, ctx.env()).map_err(FuncError::new)?;
    Ok(certificate(cert, key.to_pem()))
}

fn request(args: &[Value]) -> Result<Request, FuncError> {
    Ok(Request {
        common_name: text(args, 0).to_vec(),
        addresses: cert::addresses(items(args, 1)).map_err(FuncError::new)?,
        names: cert::names(items(args, 2)).map_err(FuncError::new)?,
        days: int(args, 3),
        is_authority: false,
    })
}

fn self_signed(ctx: &mut Context<'_>, args: &[Value], key: &PrivateKey) -> FuncResult {
    let request = request(args)?;
    let cert = cert::create(&request, key, None, key, ctx.env()).map_err(FuncError::new)?;
    Ok(certificate(cert, key.to_pem()))
}

fn signed(ctx: &mut Context<'_>, args: &[Value], key: &PrivateKey) -> FuncResult {
    let (cert_pem, key_pem) = match any(args, 4).as_object::<Certificate>() {
        Some(held) => (held.cert.clone(), held.key.clone()),
        None => (GoString::default(), GoString::default()),
    };
    let (_, signer) =
        der::from_pem(&cert_pem).ok_or_else(|| FuncError::new("unable to decode certificate"))?;
    let signer = cert::parse(&signer).map_err(|error| {
        FuncError::new(format!(
            "error parsing certificate: decodedSignerCert.Bytes: {error}"
        ))
    })?;
    let signing_key = PrivateKey::from_pem(&key_pem)
        .map_err(|error| FuncError::new(format!("error parsing private key: {error}")))?;
    let request = request(args)?;
    let cert = cert::create(&request, key, Some(&signer), &signing_key, ctx.env())
        .map_err(FuncError::new)?;
    Ok(certificate(cert, key.to_pem()))
}

fn build_custom(_: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let cert = decode64(text(args, 0))
        .map_err(|_| FuncError::new("unable to decode base64 certificate"))?;
    let key = decode64(text(args, 1))
        .map_err(|_| FuncError::new("unable to decode base64 private key"))?;
    let (_, decoded) =
        der::from_pem(&cert).ok_or_else(|| FuncError::new("unable to decode certificate"))?;
    cert::parse(&decoded).map_err(|error| {
        FuncError::new(format!(
            "error parsing certificate: decodedCert.Bytes: {error}"
        ))
    })?;
    PrivateKey::from_pem(&key)
        .map_err(|error| FuncError::new(format!("error parsing private key: {error}")))?;
    Ok(certificate(cert, key))
}
