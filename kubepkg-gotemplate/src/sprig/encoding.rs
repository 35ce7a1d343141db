//! Base64 and base32. Bad input is answered with Go's error text as the result, as Sprig does.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::args::{bytes, text};
use crate::func::{Function, Signature};
use crate::gotype::STRING;

/// Functions of this module.
pub(super) fn table() -> Vec<Function> {
    let one = Signature::new(types!(STRING), &STRING);
    vec![
        Function::plain("b32dec", one, |_, args| {
            Ok(bytes(decode32(text(args, 0)).unwrap_or_else(|at| {
                format!("illegal base32 data at input byte {at}").into_bytes()
            })))
        }),
        Function::plain("b32enc", one, |_, args| Ok(bytes(encode32(text(args, 0))))),
        Function::plain("b64dec", one, |_, args| {
            Ok(bytes(
                decode64(text(args, 0)).unwrap_or_else(String::into_bytes),
            ))
        }),
        Function::plain("b64enc", one, |_, args| Ok(bytes(encode64(text(args, 0))))),
    ]
}

/// Standard base64 with padding.
pub(super) fn encode64(data: &[u8]) -> String {
    STANDARD.encode(data)
}

/// Go's decoder. The error is Go's text.
///
/// # Errors
/// The first byte that does not belong.
pub(super) fn decode64(source: &[u8]) -> Result<Vec<u8>, String> {
    kubepkg_yaml::decode_base64(source).map_err(|error| error.to_string())
}

const ALPHABET32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

fn encode32(data: &[u8]) -> String {
    let mut out = String::with_capacity(data.len().div_ceil(5) * 8);
    for chunk in data.chunks(5) {
        let mut bits = 0_u64;
        for i in 0..5 {
            bits = bits << 8 | chunk.get(i).copied().map_or(0, u64::from);
        }
        let used = (chunk.len() * 8).div_ceil(5);
        for i in 0..8 {
            let index = usize::try_from((bits >> (35 - 5 * i)) & 31).unwrap_or(0);
            let letter = ALPHABET32.get(index).copied().unwrap_or(b'A');
            out.push(if i < used { char::from(letter) } else { '=' });
        }
    }
    out
}

/// Go's decoder; the error is the offset.
fn decode32(source: &[u8]) -> Result<Vec<u8>, usize> {
    let source: Vec<u8> = source
        .iter()
        .copied()
        .filter(|b| !matches!(b, b'\n' | b'\r'))
        .collect();
    let mut out = Vec::with_capacity(source.len() / 8 * 5);
    let mut at = 0;
    while at < source.len() {
        let (mut bits, mut count, mut ended) = (0_u64, 0_usize, false);
        while count < 8 && !ended {
            let Some(byte) = source.get(at).copied() else {
                return Err(at - count);
            };
            at += 1;
            let left = source.len() - at;
            if byte == b'=' && count >= 2 && left < 8 {
                if left + count < 7 {
                    return Err(source.len());
                }
                for k in 0..7 - count {
                    if source.get(at + k).is_some_and(|b| *b != b'=') {
                        return Err(at + k - 1);
                    }
                }
                ended = true;
                if matches!(count, 3 | 6) {
                    return Err(at - 1);
                }
                continue;
            }
            let value = ALPHABET32.iter().position(|b| *b == byte).ok_or(at - 1)?;
            bits = bits << 5 | value as u64;
            count += 1;
        }
        bits <<= 5 * (8 - count);
        let decoded = bits.to_be_bytes();
        out.extend(decoded.iter().skip(3).take(count * 5 / 8));
        if ended {
            break;
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_errors_name_the_byte() {
        // From Go's encoding/base64 tests.
        for (text, at) in [
            ("!!!!", 0),
            ("A", 0),
            ("AA=", 3),
            ("AAA=AAAA", 4),
            ("AA==A", 4),
            ("====", 0),
        ] {
            let want = format!("illegal base64 data at input byte {at}");
            assert_eq!(decode64(text.as_bytes()), Err(want), "{text}");
        }
        assert_eq!(decode64(b"c3\nVyZS4="), Ok(b"sure.".to_vec()));
    }

    #[test]
    fn base32_round_trips_and_complains() {
        // From RFC 4648 and Go's encoding/base32 tests.
        for (plain, coded) in [
            ("f", "MY======"),
            ("fooba", "MZXW6YTB"),
            ("foobar", "MZXW6YTBOI======"),
        ] {
            assert_eq!(encode32(plain.as_bytes()), coded);
            assert_eq!(decode32(coded.as_bytes()), Ok(plain.as_bytes().to_vec()));
        }
        for (text, at) in [
            ("!!!!", 0),
            ("AA=A====", 2),
            ("A=", 1),
            ("AAA=AAAA", 3),
            ("AA", 0),
        ] {
            assert_eq!(decode32(text.as_bytes()), Err(at), "{text}");
        }
    }
}
