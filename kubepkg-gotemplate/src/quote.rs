//! Go's quoted strings: `strconv.Quote` and `strconv.Unquote`, as lexer, parser and error texts need them.
//!
//! Source: package `strconv` of Go 1.26 ("String and character literals" in the language
//! specification for the syntax of escapes).

/// The text in double quotes with Go's escapes, as `%q` writes it.
pub fn quote(bytes: &[u8]) -> String {
    crate::strconv::quote_with(bytes, false)
}

/// Why a literal cannot be unquoted: Go's `invalid syntax`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid syntax")]
pub struct InvalidSyntax;

/// `strconv.Unquote` for string literals: `"..."` and `` `...` ``.
///
/// # Errors
/// Malformed quotes or escapes.
pub fn unquote(literal: &[u8]) -> Result<Vec<u8>, InvalidSyntax> {
    let (Some(&first), Some(&last)) = (literal.first(), literal.last()) else {
        return Err(InvalidSyntax);
    };
    if literal.len() < 2 || first != last {
        return Err(InvalidSyntax);
    }
    let inner = literal.get(1..literal.len() - 1).ok_or(InvalidSyntax)?;
    match first {
        b'`' => {
            if memchr::memchr(b'`', inner).is_some() {
                return Err(InvalidSyntax);
            }
            // Carriage returns inside a raw string are dropped.
            let mut out = inner.to_vec();
            if memchr::memchr(b'\r', inner).is_some() {
                out.retain(|b| *b != b'\r');
            }
            Ok(out)
        }
        b'"' => {
            let mut out = Vec::with_capacity(inner.len());
            let mut rest = inner;
            while let Some(&byte) = rest.first() {
                match byte {
                    b'"' | b'\n' => return Err(InvalidSyntax),
                    b'\\' => {
                        let (unit, tail) = unescape(rest, b'"')?;
                        match unit {
                            Unit::Byte(b) => out.push(b),
                            Unit::Char(c) => {
                                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                            }
                        }
                        rest = tail;
                    }
                    _ => {
                        out.push(byte);
                        rest = rest.get(1..).unwrap_or_default();
                    }
                }
            }
            // Bytes that are not UTF-8 are written back as U+FFFD by Go's reader of runes.
            match String::from_utf8(out) {
                Ok(text) => Ok(text.into_bytes()),
                Err(error) => Ok(replace_invalid(inner, error.into_bytes())),
            }
        }
        _ => Err(InvalidSyntax),
    }
}

/// Go decodes the literal rune by rune only when it holds an escape or invalid text; then source
/// bytes that are not UTF-8 become U+FFFD while `\x` escapes stay as they are.
fn replace_invalid(inner: &[u8], plain: Vec<u8>) -> Vec<u8> {
    if std::str::from_utf8(inner).is_ok() {
        return plain;
    }
    let mut out = Vec::with_capacity(plain.len());
    let mut rest = inner;
    while !rest.is_empty() {
        if rest.first() == Some(&b'\\')
            && let Ok((unit, tail)) = unescape(rest, b'"')
        {
            match unit {
                Unit::Byte(b) => out.push(b),
                Unit::Char(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
            rest = tail;
            continue;
        }
        let (c, width) = crate::runes::decode(rest);
        let c = c.unwrap_or(char::REPLACEMENT_CHARACTER);
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        rest = rest.get(width.max(1)..).unwrap_or_default();
    }
    out
}

enum Unit {
    Byte(u8),
    Char(char),
}

fn unescape(text: &[u8], delimiter: u8) -> Result<(Unit, &[u8]), InvalidSyntax> {
    let kind = *text.get(1).ok_or(InvalidSyntax)?;
    let tail = text.get(2..).ok_or(InvalidSyntax)?;
    let simple = |b: u8| Ok((Unit::Byte(b), tail));
    let number = |digits: usize, radix: u32, rest: &[u8]| -> Result<u32, InvalidSyntax> {
        let digits = rest.get(..digits).ok_or(InvalidSyntax)?;
        let mut value: u32 = 0;
        for d in digits {
            let d = char::from(*d).to_digit(radix).ok_or(InvalidSyntax)?;
            value = value
                .checked_mul(radix)
                .and_then(|v| v.checked_add(d))
                .ok_or(InvalidSyntax)?;
        }
        Ok(value)
    };
    match kind {
        b'a' => simple(7),
        b'b' => simple(8),
        b'f' => simple(12),
        b'n' => simple(b'\n'),
        b'r' => simple(b'\r'),
        b't' => simple(b'\t'),
        b'v' => simple(11),
        b'\\' => simple(b'\\'),
        b'\'' | b'"' if kind == delimiter => simple(kind),
        b'x' => {
            let value = number(2, 16, tail)?;
            let byte = u8::try_from(value).map_err(|_| InvalidSyntax)?;
            Ok((Unit::Byte(byte), tail.get(2..).unwrap_or_default()))
        }
        b'u' | b'U' => {
            let digits = if kind == b'u' { 4 } else { 8 };
            let value = number(digits, 16, tail)?;
            let c = char::from_u32(value).ok_or(InvalidSyntax)?;
            Ok((Unit::Char(c), tail.get(digits..).unwrap_or_default()))
        }
        b'0'..=b'7' => {
            let rest = text.get(1..).unwrap_or_default();
            let value = number(3, 8, rest)?;
            let byte = u8::try_from(value).map_err(|_| InvalidSyntax)?;
            Ok((Unit::Byte(byte), rest.get(3..).unwrap_or_default()))
        }
        _ => Err(InvalidSyntax),
    }
}

/// `strconv.UnquoteChar` of a character literal in single quotes: the code point and what follows it.
///
/// # Errors
/// Malformed escapes, an empty literal.
pub(crate) fn unquote_char(literal: &[u8]) -> Result<(i64, &[u8]), InvalidSyntax> {
    let text = literal.get(1..).ok_or(InvalidSyntax)?;
    match text.first() {
        None | Some(b'\'') => Err(InvalidSyntax),
        Some(b'\\') => {
            let (unit, tail) = unescape(text, b'\'')?;
            let code = match unit {
                Unit::Byte(b) => i64::from(b),
                Unit::Char(c) => i64::from(u32::from(c)),
            };
            Ok((code, tail))
        }
        Some(_) => {
            let (c, width) = crate::runes::decode(text);
            let code = i64::from(u32::from(c.unwrap_or(char::REPLACEMENT_CHARACTER)));
            Ok((code, text.get(width.max(1)..).unwrap_or_default()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_as_strconv_does() {
        // Expected: strconv.Quote of Go 1.26.
        assert_eq!(quote(b"a\"b\\\n\x00\x7f"), r#""a\"b\\\n\x00\x7f""#);
        assert_eq!(
            quote("é\u{200b}\u{10ffff}".as_bytes()),
            r#""é\u200b\U0010ffff""#
        );
        assert_eq!(quote(b"\xff"), r#""\xff""#);
    }

    #[test]
    fn unquotes_escapes_and_refuses_bad_ones() {
        assert_eq!(
            unquote(br#""a\tb\x41\101\u00e9""#).unwrap(),
            "a\tbAA\u{e9}".as_bytes()
        );
        assert_eq!(unquote(b"`a\r\\n`").unwrap(), b"a\\n");
        for bad in [
            &br#""\'""#[..],
            br#""\q""#,
            br#""\ud800""#,
            br#""\400""#,
            b"\"",
            b"\"a",
        ] {
            assert_eq!(unquote(bad), Err(InvalidSyntax));
        }
    }

    #[test]
    fn reads_character_constants() {
        assert_eq!(unquote_char(b"'a'").unwrap(), (97, &b"'"[..]));
        assert_eq!(unquote_char(br"'\n'").unwrap(), (10, &b"'"[..]));
        assert!(unquote_char(b"''").is_err());
    }
}
