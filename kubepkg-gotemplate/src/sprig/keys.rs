//! Private keys: making, reading and writing them in the encodings of Go's `crypto/x509`, and signing.
//!
//! RSA and DSA keys are made here from random primes: arithmetic on big numbers is not constant in
//! time, which matters to nobody who can only see the finished key. RSA signing is left to `ring`,
//! elliptic curves to the RustCrypto crates, whose signatures are repeatable (RFC 6979).
//! Read, beside what is made: EC keys on P-384. Other curves are refused.

#![allow(clippy::many_single_char_names, reason = "the names of the standards")]

use num_bigint::BigUint;
use p256::ecdsa::signature::Signer as _;
use ring::signature::{Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair};

use super::der;
use crate::env::Env;

/// A private key.
pub(super) enum PrivateKey {
    /// RSA, as PKCS #1 DER.
    Rsa(Rsa),
    /// ECDSA on P-256.
    P256(p256::ecdsa::SigningKey),
    /// ECDSA on P-384.
    P384(p384::ecdsa::SigningKey),
    /// Ed25519, by its seed.
    Ed25519([u8; 32]),
    /// DSA: p, q, g, y, x. It can be written, not used.
    Dsa([BigUint; 5]),
}

/// An RSA key: its DER, modulus and public exponent.
pub(super) struct Rsa {
    der: Vec<u8>,
    modulus: Vec<u8>,
    exponent: Vec<u8>,
}

pub(super) const OID_RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];
const OID_RSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11];
const OID_EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
const OID_P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
const OID_P384: &[u8] = &[0x2b, 0x81, 4, 0, 0x22];
const OID_ECDSA_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
const OID_ECDSA_SHA384: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 3];
const OID_ED25519: &[u8] = &[0x2b, 0x65, 0x70];

fn random_number(env: &mut dyn Env, bits: u64) -> BigUint {
    let mut bytes = vec![0; usize::try_from(bits / 8).unwrap_or(0)];
    env.random(&mut bytes);
    BigUint::from_bytes_be(&bytes)
}

/// The odd primes below 16,384, to turn most candidates away cheaply.
fn small_primes() -> Vec<u64> {
    let mut primes: Vec<u64> = Vec::new();
    for n in (3..16_384).step_by(2) {
        let mut divisors = primes.iter().take_while(|p| **p * **p <= n);
        if divisors.all(|p| n % p != 0) {
            primes.push(n);
        }
    }
    primes
}

/// `n` modulo each of the primes.
fn residues(n: &BigUint, primes: &[u64]) -> Vec<u64> {
    let digits = n.to_u32_digits();
    let rest = |prime: &u64| {
        let highest_first = digits.iter().rev();
        highest_first.fold(0, |rest, digit| ((rest << 32) | u64::from(*digit)) % prime)
    };
    primes.iter().map(rest).collect()
}

/// How often a random number of this many bits is tried (FIPS 186-5, table B.1, with a margin).
fn rounds(bits: u64) -> usize {
    match bits {
        1_024.. => 5,
        512.. => 8,
        _ => 32,
    }
}

/// Miller-Rabin with random bases (FIPS 186-5, appendix B.3.1), for an odd number.
fn is_prime(n: &BigUint, env: &mut dyn Env) -> bool {
    let one = BigUint::from(1_u8);
    let minus_one = n - &one;
    let twos = minus_one.trailing_zeros().unwrap_or(0);
    let odd = &minus_one >> twos;
    'bases: for _ in 0..rounds(n.bits()) {
        let mut base = random_number(env, n.bits()) % &minus_one;
        if base <= one {
            base = BigUint::from(2_u8);
        }
        let mut x = base.modpow(&odd, n);
        if x == one || x == minus_one {
            continue;
        }
        for _ in 1..twos {
            x = &x * &x % n;
            if x == minus_one {
                continue 'bases;
            }
        }
        return false;
    }
    true
}

/// A prime of exactly `bits` bits whose two highest bits are set: the first from a random number on, so that the search
/// ends even where chance has only one thing to say.
fn prime(bits: u64, small: &[u64], env: &mut dyn Env) -> BigUint {
    let mut candidate = random_number(env, bits);
    loop {
        candidate.set_bit(bits - 1, true);
        candidate.set_bit(bits - 2, true);
        candidate.set_bit(0, true);
        let mut rests = residues(&candidate, small);
        while candidate.bits() == bits {
            if !rests.contains(&0) && is_prime(&candidate, env) {
                return candidate;
            }
            candidate += 2_u8;
            for (rest, prime) in rests.iter_mut().zip(small) {
                *rest = (*rest + 2) % prime;
            }
        }
        candidate = BigUint::ZERO;
    }
}

fn number(n: &BigUint) -> Vec<u8> {
    der::unsigned(&n.to_bytes_be())
}

impl PrivateKey {
    /// A new RSA key with a modulus of `bits` bits.
    pub(super) fn new_rsa(bits: u64, env: &mut dyn Env) -> Self {
        let small = small_primes();
        let one = BigUint::from(1_u8);
        let e = BigUint::from(65_537_u32);
        loop {
            let (mut p, mut q) = (prime(bits / 2, &small, env), prime(bits / 2, &small, env));
            if p < q {
                std::mem::swap(&mut p, &mut q);
            }
            let (p1, q1) = (&p - &one, &q - &one);
            let (Some(d), Some(inverse)) = (e.modinv(&(&p1 * &q1)), q.modinv(&p)) else {
                continue;
            };
            let n = &p * &q;
            let parts = [&n, &e, &d, &p, &q, &(&d % &p1), &(&d % &q1), &inverse].map(number);
            let mut body = der::unsigned(&[]);
            body.extend(parts.concat());
            return Self::Rsa(Rsa {
                der: der::write(der::SEQUENCE, &body),
                modulus: n.to_bytes_be(),
                exponent: e.to_bytes_be(),
            });
        }
    }

    /// A new key on P-256.
    pub(super) fn new_ecdsa(env: &mut dyn Env) -> Self {
        loop {
            let mut bytes = [0; 32];
            env.random(&mut bytes);
            if let Ok(key) = p256::ecdsa::SigningKey::from_slice(&bytes) {
                return Self::P256(key);
            }
        }
    }

    /// A new Ed25519 key.
    pub(super) fn new_ed25519(env: &mut dyn Env) -> Self {
        let mut seed = [0; 32];
        env.random(&mut seed);
        Self::Ed25519(seed)
    }

    /// A new DSA key with 2048-bit p and 256-bit q (FIPS 186-4).
    pub(super) fn new_dsa(env: &mut dyn Env) -> Self {
        let small = small_primes();
        let one = BigUint::from(1_u8);
        loop {
            let q = prime(256, &small, env);
            for step in 0..4 * 2048_u32 {
                // The step makes a difference where chance makes none.
                let mut p = random_number(env, 2048) + &q * (2 * step);
                p.set_bit(2047, true);
                p.set_bit(0, true);
                let rest = &p % &q;
                p = p + &one - rest;
                if p.bits() != 2048
                    || !p.bit(0)
                    || residues(&p, &small).contains(&0)
                    || !is_prime(&p, env)
                {
                    continue;
                }
                let power = (&p - &one) / &q;
                let mut g = one.clone();
                let mut h = BigUint::from(2_u8);
                while g == one {
                    g = h.modpow(&power, &p);
                    h += 1_u8;
                }
                let x = random_number(env, 320) % (&q - &one) + &one;
                let y = g.modpow(&x, &p);
                return Self::Dsa([p, q, g, y, x]);
            }
        }
    }

    /// Label and DER of the block that Sprig writes for the key.
    pub(super) fn to_pem(&self) -> String {
        match self {
            Self::Rsa(key) => der::to_pem("RSA PRIVATE KEY", &key.der),
            Self::P256(key) => {
                let point = key.verifying_key().to_sec1_point(false);
                ec_pem(&key.to_bytes(), OID_P256, point.as_bytes())
            }
            Self::P384(key) => {
                let point = key.verifying_key().to_sec1_point(false);
                ec_pem(&key.to_bytes(), OID_P384, point.as_bytes())
            }
            Self::Ed25519(seed) => {
                let inner = der::write(der::OCTET_STRING, seed);
                let body = der::sequence(&[
                    &der::unsigned(&[]),
                    &der::sequence(&[&der::write(der::OID, OID_ED25519)]),
                    &der::write(der::OCTET_STRING, &inner),
                ]);
                der::to_pem("PRIVATE KEY", &body)
            }
            Self::Dsa(numbers) => {
                let mut body = der::unsigned(&[]);
                for n in numbers {
                    body.extend(number(n));
                }
                der::to_pem("DSA PRIVATE KEY", &der::write(der::SEQUENCE, &body))
            }
        }
    }

    /// Sprig's `parsePrivateKeyPEM`; the error is its text.
    pub(super) fn from_pem(text: &[u8]) -> Result<Self, String> {
        let (label, data) = der::from_pem(text).ok_or("no PEM data in input")?;
        if label == "PRIVATE KEY" {
            return from_pkcs8(&data).ok_or_else(|| {
                "decoding PEM as PKCS#8: asn1: structure error: malformed key".to_owned()
            });
        }
        let Some(kind) = label.strip_suffix(" PRIVATE KEY") else {
            return Err(format!("no private key data in PEM block of type {label}"));
        };
        let malformed = |name: &str| {
            format!("parsing {name} private key from PEM: asn1: structure error: malformed key")
        };
        match kind {
            "RSA" => from_pkcs1(&data).ok_or_else(|| malformed("RSA")),
            "EC" => from_sec1(&data, None).ok_or_else(|| malformed("EC")),
            "DSA" => dsa_from_der(&data).ok_or_else(|| malformed("DSA")),
            other => Err(format!("invalid private key type {other}")),
        }
    }

    /// The public key as a `SubjectPublicKeyInfo`; `None` for DSA.
    pub(super) fn public_der(&self) -> Option<Vec<u8>> {
        let info = |algorithm: &[u8], key: &[u8]| {
            der::sequence(&[&der::write(der::SEQUENCE, algorithm), &der::bits(key)])
        };
        let oid = |oid: &[u8]| der::write(der::OID, oid);
        Some(match self {
            Self::Rsa(key) => {
                let public =
                    der::sequence(&[&der::unsigned(&key.modulus), &der::unsigned(&key.exponent)]);
                info(&[oid(OID_RSA), vec![5, 0]].concat(), &public)
            }
            Self::P256(key) => info(
                &[oid(OID_EC), oid(OID_P256)].concat(),
                key.verifying_key().to_sec1_point(false).as_bytes(),
            ),
            Self::P384(key) => info(
                &[oid(OID_EC), oid(OID_P384)].concat(),
                key.verifying_key().to_sec1_point(false).as_bytes(),
            ),
            Self::Ed25519(seed) => {
                let pair = Ed25519KeyPair::from_seed_unchecked(seed).ok()?;
                info(&oid(OID_ED25519), pair.public_key().as_ref())
            }
            Self::Dsa(_) => return None,
        })
    }

    /// The algorithm that signs with this key, as DER; `None` for DSA.
    pub(super) fn algorithm(&self) -> Option<Vec<u8>> {
        let oid = |oid: &[u8]| der::write(der::OID, oid);
        Some(match self {
            Self::Rsa(_) => der::sequence(&[&oid(OID_RSA_SHA256), &[5, 0]]),
            Self::P256(_) => der::sequence(&[&oid(OID_ECDSA_SHA256)]),
            Self::P384(_) => der::sequence(&[&oid(OID_ECDSA_SHA384)]),
            Self::Ed25519(_) => der::sequence(&[&oid(OID_ED25519)]),
            Self::Dsa(_) => return None,
        })
    }

    /// The signature of `message`; `None` when the key cannot sign.
    pub(super) fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        Some(match self {
            Self::Rsa(key) => {
                let pair = RsaKeyPair::from_der(&key.der).ok()?;
                let mut signature = vec![0; pair.public().modulus_len()];
                // The random numbers blind the computation; the signature does not depend on them.
                let rng = ring::rand::SystemRandom::new();
                pair.sign(&RSA_PKCS1_SHA256, &rng, message, &mut signature)
                    .ok()?;
                signature
            }
            Self::P256(key) => {
                let signature: p256::ecdsa::DerSignature = key.try_sign(message).ok()?;
                signature.as_bytes().to_vec()
            }
            Self::P384(key) => {
                let signature: p384::ecdsa::DerSignature = key.try_sign(message).ok()?;
                signature.as_bytes().to_vec()
            }
            Self::Ed25519(seed) => {
                let pair = Ed25519KeyPair::from_seed_unchecked(seed).ok()?;
                pair.sign(message).as_ref().to_vec()
            }
            Self::Dsa(_) => return None,
        })
    }
}

fn ec_pem(scalar: &[u8], curve: &[u8], point: &[u8]) -> String {
    let body = der::sequence(&[
        &der::unsigned(&[1]),
        &der::write(der::OCTET_STRING, scalar),
        &der::write(0xa0, &der::write(der::OID, curve)),
        &der::write(0xa1, &der::bits(point)),
    ]);
    der::to_pem("EC PRIVATE KEY", &body)
}

fn from_pkcs1(data: &[u8]) -> Option<PrivateKey> {
    let items = der::parse(data)?.sequence()?;
    let numbers: Option<Vec<&[u8]>> = items.iter().take(9).map(der::Item::unsigned).collect();
    let numbers = numbers?;
    let [_, modulus, exponent, _, p, q, ..] = *numbers.as_slice() else {
        return None;
    };
    if numbers.len() != 9 {
        return None;
    }
    let product = BigUint::from_bytes_be(p) * BigUint::from_bytes_be(q);
    if product != BigUint::from_bytes_be(modulus) {
        return None;
    }
    Some(PrivateKey::Rsa(Rsa {
        der: data.to_vec(),
        modulus: modulus.to_vec(),
        exponent: exponent.to_vec(),
    }))
}

fn from_sec1(data: &[u8], curve: Option<&[u8]>) -> Option<PrivateKey> {
    let items = der::parse(data)?.sequence()?;
    let scalar = items.get(1)?.of(der::OCTET_STRING)?;
    let named = items.iter().find(|item| item.tag == 0xa0);
    let curve = match named {
        Some(item) => der::parse(item.body)?.of(der::OID)?,
        None => curve?,
    };
    if curve == OID_P256 {
        return p256::ecdsa::SigningKey::from_slice(scalar)
            .ok()
            .map(PrivateKey::P256);
    }
    if curve == OID_P384 {
        return p384::ecdsa::SigningKey::from_slice(scalar)
            .ok()
            .map(PrivateKey::P384);
    }
    None
}

fn from_pkcs8(data: &[u8]) -> Option<PrivateKey> {
    let items = der::parse(data)?.sequence()?;
    let algorithm = items.get(1)?.sequence()?;
    let inner = items.get(2)?.of(der::OCTET_STRING)?;
    let oid = algorithm.first()?.of(der::OID)?;
    if oid == OID_RSA {
        return from_pkcs1(inner);
    }
    if oid == OID_EC {
        return from_sec1(inner, algorithm.get(1).and_then(|item| item.of(der::OID)));
    }
    if oid == OID_ED25519 {
        let seed = der::parse(inner)?.of(der::OCTET_STRING)?;
        return seed.try_into().ok().map(PrivateKey::Ed25519);
    }
    None
}

fn dsa_from_der(data: &[u8]) -> Option<PrivateKey> {
    let items = der::parse(data)?.sequence()?;
    let numbers: Option<Vec<BigUint>> = items
        .iter()
        .skip(1)
        .map(|item| item.unsigned().map(BigUint::from_bytes_be))
        .collect();
    numbers?.try_into().ok().map(PrivateKey::Dsa)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::SeededEnv;

    #[test]
    fn keys_round_trip_and_sign() {
        let mut env = SeededEnv::new([1], (0, 0));
        for key in [
            PrivateKey::new_ecdsa(&mut env),
            PrivateKey::new_ed25519(&mut env),
            PrivateKey::new_rsa(2048, &mut env),
        ] {
            let pem = key.to_pem();
            let again = PrivateKey::from_pem(pem.as_bytes()).unwrap();
            assert_eq!(again.to_pem(), pem);
            assert_eq!(again.sign(b"m").unwrap(), key.sign(b"m").unwrap());
        }
    }

    #[test]
    fn tells_primes_from_products() {
        let mut env = SeededEnv::new([1], (0, 0));
        let mersenne = (BigUint::from(1_u8) << 521) - 1_u8;
        let composite = (BigUint::from(1_u8) << 523) - 1_u8;
        let carmichael = BigUint::from(561_u32);
        assert!(is_prime(&mersenne, &mut env));
        assert!(!is_prime(&composite, &mut env));
        assert!(!is_prime(&carmichael, &mut env));

        let small = small_primes();
        assert_eq!(small.len(), 1_899);
        assert_eq!(residues(&carmichael, &small)[..6], [0, 1, 1, 0, 2, 0]);
        for bits in [256, 1_024] {
            let found = prime(bits, &small, &mut env);
            assert_eq!(found.bits(), bits);
            assert!(!residues(&found, &small).contains(&0));
        }
    }

    #[test]
    fn the_seed_decides_the_key() {
        let make = |seed| PrivateKey::new_ecdsa(&mut SeededEnv::new([seed], (0, 0))).to_pem();
        assert_eq!(make(3), make(3));
        assert_ne!(make(3), make(4));
    }
}
