//! Base64 of `!!binary` scalars: RFC 4648 with padding, line breaks ignored when reading.

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

/// Decodes `text`; `None` if it is not base64.
pub(crate) fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let clean: Vec<u8> = text
        .iter()
        .copied()
        .filter(|byte| !matches!(byte, b'\r' | b'\n'))
        .collect();
    if !clean.len().is_multiple_of(4) {
        return None;
    }
    let mut out = Vec::with_capacity(clean.len() / 4 * 3);
    let mut groups = clean.chunks_exact(4).peekable();
    while let Some(group) = groups.next() {
        let padding = group.iter().rev().take_while(|&&byte| byte == b'=').count();
        if padding > 2 || (padding > 0 && groups.peek().is_some()) {
            return None;
        }
        let mut bits = 0;
        for &byte in group.iter().take(4 - padding) {
            bits = bits << 6 | digit(byte)?;
        }
        bits <<= 6 * padding;
        let [_, bytes @ ..] = bits.to_be_bytes();
        out.extend(bytes.iter().take(3 - padding));
    }
    Some(out)
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
            assert_eq!(decode(coded.as_bytes()), Some(plain.as_bytes().to_vec()));
        }
        assert_eq!(decode(b"Zm\n9v"), Some(b"foo".to_vec()));
        for bad in ["Zg", "Zg=", "Z===", "Zg==Zg==", "Zm 9v", "Zm9*"] {
            assert_eq!(decode(bad.as_bytes()), None, "{bad}");
        }
    }
}
