//! Base64 as Go's `encoding/base64` reads it: the standard alphabet with padding (RFC 4648), line breaks ignored, the
//! bits behind the last byte not looked at. `!!binary` scalars are written with it, and so is what is stored in
//! Secrets; whoever reads either the way Go does needs the same decoder and the same complaint.

/// A text that is not base64, in Go's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("illegal base64 data at input byte {at}")]
pub struct CorruptBase64 {
    /// The byte that Go names, from 0.
    pub at: usize,
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn digit(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

/// Decodes `text` as Go's `base64.StdEncoding` does.
///
/// # Errors
/// [`CorruptBase64`] for bytes outside the alphabet, missing padding, and anything behind the padding.
pub fn decode_base64(text: &[u8]) -> Result<Vec<u8>, CorruptBase64> {
    let corrupt = |at: usize| CorruptBase64 { at };
    let is_break = |at: usize| matches!(text.get(at), Some(b'\n' | b'\r'));
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let mut at = 0;
    loop {
        let (mut bits, mut count) = (0_u32, 0);
        while count < 4 {
            let Some(byte) = text.get(at).copied() else {
                if count == 0 {
                    return Ok(out);
                }
                return Err(corrupt(at - count));
            };
            at += 1;
            if let Some(value) = digit(byte) {
                bits = bits << 6 | value;
                count += 1;
                continue;
            }
            if matches!(byte, b'\n' | b'\r') {
                continue;
            }
            if byte != b'=' || count < 2 {
                return Err(corrupt(at - 1));
            }
            if count == 2 {
                while is_break(at) {
                    at += 1;
                }
                match text.get(at) {
                    None => return Err(corrupt(text.len())),
                    Some(b'=') => at += 1,
                    Some(_) => return Err(corrupt(at - 1)),
                }
            }
            while is_break(at) {
                at += 1;
            }
            if at < text.len() {
                return Err(corrupt(at));
            }
            bits <<= 6 * (4 - count);
            let [_, bytes @ ..] = bits.to_be_bytes();
            out.extend(bytes.iter().take(count - 1));
            return Ok(out);
        }
        let [_, bytes @ ..] = bits.to_be_bytes();
        out.extend(bytes);
    }
}

/// Encodes `bytes`, broken into lines of 70 characters when it is longer than one.
pub(crate) fn encode_lines(bytes: &[u8]) -> String {
    const LINE: usize = 70;
    let mut flat = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4_usize {
            let index = bits >> (18 - 6 * place) & 63;
            let used = place <= group.len();
            let letter = ALPHABET.get(index as usize).copied().unwrap_or(b'=');
            flat.push(if used { char::from(letter) } else { '=' });
        }
    }
    if flat.len() < LINE {
        return flat;
    }
    let mut out = String::with_capacity(flat.len() + flat.len() / LINE + 1);
    let mut rest = flat.as_str();
    while !rest.is_empty() {
        let (line, tail) = rest.split_at(rest.len().min(LINE));
        out.push_str(line);
        out.push('\n');
        rest = tail;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes_and_refuses_the_rest() {
        // RFC 4648, section 10.
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode_lines(plain.as_bytes()), coded);
            assert_eq!(
                decode_base64(coded.as_bytes()),
                Ok(plain.as_bytes().to_vec())
            );
        }
        assert_eq!(decode_base64(b"Zm\n9v"), Ok(b"foo".to_vec()));
    }

    /// Errors of `base64.StdEncoding.DecodeString` in Go 1.26.
    #[test]
    fn names_the_byte_that_go_names() {
        for (text, at) in [
            ("!!!!", 0),
            ("A", 0),
            ("=", 0),
            ("====", 0),
            ("a=", 1),
            ("a===", 1),
            ("aGk", 0),
            ("a\nG\nk", 2),
            ("c3Vy\nZ", 5),
            ("AA=", 3),
            ("aG=\n", 4),
            ("aG=x", 2),
            ("aG=\n\nx", 4),
            ("aGkhaGkhaG=x", 10),
            ("AAA=AAAA", 4),
            ("AA==A", 4),
            ("aG==\nx", 5),
            ("aGk=\n=", 5),
            ("Zm 9v", 2),
            ("Zm9*", 3),
        ] {
            let found = decode_base64(text.as_bytes());
            assert_eq!(found, Err(CorruptBase64 { at }), "{text:?}");
        }
        // The bits behind the last byte count for nothing.
        assert_eq!(decode_base64(b"ab=="), Ok(b"i".to_vec()));
        assert_eq!(decode_base64(b"aG\nk=\r\n"), Ok(b"hi".to_vec()));
        assert_eq!(
            CorruptBase64 { at: 2 }.to_string(),
            "illegal base64 data at input byte 2"
        );
    }
}
