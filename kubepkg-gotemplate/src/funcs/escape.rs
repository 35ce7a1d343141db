//! `html`, `js` and `urlquery`.

use std::io::Write as _;

use crate::exec::printable;
use crate::fmt::{FormatError, print};
use crate::runes::{decode, is_print};
use crate::value::Value;

/// The arguments as `print` writes them, nil as `<no value>`.
pub(super) fn plain_text(args: &[Value]) -> Result<Vec<u8>, FormatError> {
    if let [Value::String(text)] = args {
        return Ok(text.to_vec());
    }
    let shown: Result<Vec<Value>, FormatError> = args
        .iter()
        .map(|arg| match arg {
            Value::Nil => Ok(Value::string("<no value>")),
            other => printable(other),
        })
        .collect();
    print(&shown?)
}

pub(super) fn html(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            0 => out.extend_from_slice("\u{FFFD}".as_bytes()),
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            _ => out.push(*byte),
        }
    }
    out
}

pub(super) fn js(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(&byte) = rest.first() {
        let mut width = 1;
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\'' => out.extend_from_slice(b"\\'"),
            b'"' => out.extend_from_slice(b"\\\""),
            b'<' => out.extend_from_slice(b"\\u003C"),
            b'>' => out.extend_from_slice(b"\\u003E"),
            b'&' => out.extend_from_slice(b"\\u0026"),
            b'=' => out.extend_from_slice(b"\\u003D"),
            // Writing to a Vec cannot fail.
            ..=0x1f => {
                let _ = write!(out, "\\u00{byte:02X}");
            }
            0x20..=0x7f => out.push(byte),
            0x80.. => {
                let (c, w) = decode(rest);
                width = w.max(1);
                let c = c.unwrap_or(char::REPLACEMENT_CHARACTER);
                if is_print(c) {
                    out.extend_from_slice(rest.get(..width).unwrap_or_default());
                } else {
                    let _ = write!(out, "\\u{:04X}", u32::from(c));
                }
            }
        }
        rest = rest.get(width..).unwrap_or_default();
    }
    out
}

/// `url.QueryEscape`
pub(super) fn url_query(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(*byte),
            b' ' => out.push(b'+'),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_escaped() {
        assert_eq!(html(b"<a b='c'>&\""), b"&lt;a b=&#39;c&#39;&gt;&amp;&#34;");
        assert_eq!(
            js("<é\u{1}\u{200b}=>".as_bytes()),
            "\\u003Cé\\u0001\\u200B\\u003D\\u003E".as_bytes()
        );
        assert_eq!(url_query(b"a b&c/~"), b"a+b%26c%2F~");
    }
}
