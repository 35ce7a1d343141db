//! Quoted strings and characters: `strconv.Quote` and its relatives.
//!
//! Input is bytes, as a Go string is: a byte that is not UTF-8 becomes `\x` and two digits. What is
//! printable is Go's definition (`unicode.IsPrint`, Unicode 15).

use crate::runes;

pub(crate) use crate::quote::quote;
pub(crate) use crate::runes::is_print;

/// Characters one by one, broken bytes as U+FFFD (`[]rune(text)`).
pub(crate) fn chars(text: &[u8]) -> Vec<char> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (c, width) = decode_rune(rest);
        out.push(c);
        rest = rest.get(width.max(1)..).unwrap_or(b"");
    }
    out
}

/// The first character of `bytes` and its length; what is not UTF-8 is U+FFFD of length 1, and an
/// empty slice has length 0 (`utf8.DecodeRune`).
pub(crate) fn decode_rune(bytes: &[u8]) -> (char, usize) {
    let (c, width) = runes::decode(bytes);
    (c.unwrap_or(char::REPLACEMENT_CHARACTER), width)
}

fn hex(out: &mut String, value: u32, digits: u32) {
    for i in (0..digits).rev() {
        let nibble = (value >> (4 * i)) & 15;
        out.push(char::from_digit(nibble, 16).unwrap_or('0'));
    }
}

fn escape(out: &mut String, c: char, quote: char, ascii: bool) {
    if c == quote || c == '\\' {
        out.push('\\');
        out.push(c);
        return;
    }
    if (c.is_ascii() || !ascii) && runes::is_print(c) {
        out.push(c);
        return;
    }
    match c {
        '\u{7}' => out.push_str("\\a"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{b}' => out.push_str("\\v"),
        c if c < ' ' || c == '\u{7f}' => {
            out.push_str("\\x");
            hex(out, u32::from(c), 2);
        }
        c if u32::from(c) < 0x1_0000 => {
            out.push_str("\\u");
            hex(out, u32::from(c), 4);
        }
        c => {
            out.push_str("\\U");
            hex(out, u32::from(c), 8);
        }
    }
}

/// The text in double quotes with Go's escapes; `ascii` escapes what is not ASCII too.
pub(crate) fn quote_with(text: &[u8], ascii: bool) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            escape(&mut out, c, '"', ascii);
        }
        for byte in chunk.invalid() {
            out.push_str("\\x");
            hex(&mut out, u32::from(*byte), 2);
        }
    }
    out.push('"');
    out
}

/// `strconv.QuoteToASCII`.
pub(crate) fn quote_to_ascii(text: &[u8]) -> String {
    quote_with(text, true)
}

fn quote_char(rune: u32, ascii: bool) -> String {
    let mut out = String::from("'");
    let c = char::from_u32(rune).unwrap_or(char::REPLACEMENT_CHARACTER);
    escape(&mut out, c, '\'', ascii);
    out.push('\'');
    out
}

/// `strconv.QuoteRune`; what is no character is U+FFFD.
pub(crate) fn quote_rune(rune: u32) -> String {
    quote_char(rune, false)
}

/// `strconv.QuoteRuneToASCII`.
pub(crate) fn quote_rune_to_ascii(rune: u32) -> String {
    quote_char(rune, true)
}

/// `strconv.CanBackquote`: one line, no control characters but tab, no backquote, valid UTF-8, no
/// byte order mark.
pub(crate) fn can_backquote(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| {
        text.chars()
            .all(|c| !(c < ' ' && c != '\t' || c == '`' || c == '\u{7f}' || c == '\u{feff}'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_as_go_does() {
        // Values from Go's strconv documentation and quote tests.
        assert_eq!(
            quote("\u{7}\u{8}\u{c}\r\n\t\u{b}".as_bytes()),
            r#""\a\b\f\r\n\t\v""#
        );
        assert_eq!(quote("abc\u{ff}def".as_bytes()), "\"abc\u{ff}def\"");
        assert_eq!(quote(b"abc\xffdef"), r#""abc\xffdef""#);
        assert_eq!(
            quote_to_ascii("\u{263a}\u{10ffff}".as_bytes()),
            r#""\u263a\U0010ffff""#
        );
        assert_eq!(
            quote("\u{feff}\u{a0}\u{7f}".as_bytes()),
            r#""\ufeff\u00a0\x7f""#
        );
        assert_eq!(quote_rune(u32::from('\'')), r"'\''");
        assert_eq!(quote_rune(0xd800), "'\u{fffd}'");
        assert!(!can_backquote(b"a`b"));
        assert!(can_backquote("ü\t".as_bytes()));
    }

    #[test]
    fn decodes_broken_sequences_byte_by_byte() {
        assert_eq!(decode_rune("é!".as_bytes()), ('é', 2));
        assert_eq!(decode_rune(b"\xe6\x97"), ('\u{fffd}', 1));
        assert_eq!(decode_rune(b""), ('\u{fffd}', 0));
        assert_eq!(decode_rune("\u{fffd}".as_bytes()), ('\u{fffd}', 3));
    }
}
