//! Values in Go syntax (`%#v`), which two error messages quote.
//!
//! Maps print sorted by key, as Go's `fmt` does. The text is cut off at 64 KiB.

use std::fmt::Write as _;

use crate::number;
use crate::tree::{Range, Tree, Val};

const MAX: usize = 64 << 10;

enum Open {
    Seq(Range),
    Map(Range),
}

/// `value` in Go syntax.
pub(crate) fn write(tree: &Tree<'_>, value: Val<'_>) -> String {
    let mut out = String::new();
    let mut open: Vec<Open> = Vec::new();
    one(&mut out, value, true, &mut open);
    while let Some(top) = open.last_mut() {
        if out.len() > MAX {
            break;
        }
        let (next, range) = match top {
            Open::Seq(range) => (tree.items.get(range.start).map(|&item| (None, item)), range),
            Open::Map(range) => {
                (tree.entries.get(range.start).map(|&(key, item)| (Some(key), item)), range)
            }
        };
        let Some((key, item)) = next.filter(|_| range.start < range.end) else {
            out.push('}');
            open.pop();
            continue;
        };
        range.start += 1;
        if !out.ends_with('{') {
            out.push_str(", ");
        }
        if let Some(key) = key {
            one(&mut out, key, false, &mut Vec::new());
            out.push(':');
        }
        one(&mut out, item, false, &mut open);
    }
    out
}

fn one(out: &mut String, value: Val<'_>, top: bool, open: &mut Vec<Open>) {
    match value {
        Val::Null if top => out.push_str("<nil>"),
        Val::Null => out.push_str("interface {}(nil)"),
        Val::Bool(value) => out.push_str(if value { "true" } else { "false" }),
        Val::Int(value) => {
            let _ = write!(out, "{value}");
        }
        Val::Uint(value) => {
            let _ = write!(out, "{value:#x}");
        }
        Val::Float(value) => number::general(out, value),
        Val::Str(text) => quote(out, text.as_bytes()),
        Val::Bytes(bytes) => quote(out, bytes),
        Val::Seq(range) => {
            out.push_str("[]interface {}{");
            open.push(Open::Seq(range));
        }
        Val::Map(range) => {
            out.push_str("map[interface {}]interface {}{");
            open.push(Open::Map(range));
        }
    }
}

/// Go's `strconv.Quote`.
fn quote(out: &mut String, bytes: &[u8]) {
    out.push('"');
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' => out.push_str("\\\""),
                '\\' => out.push_str("\\\\"),
                '\u{7}' => out.push_str("\\a"),
                '\u{8}' => out.push_str("\\b"),
                '\u{C}' => out.push_str("\\f"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{B}' => out.push_str("\\v"),
                ' '..='~' => out.push(c),
                _ if is_print(c) => out.push(c),
                '\0'..='\u{7F}' => {
                    let _ = write!(out, "\\x{:02x}", u32::from(c));
                }
                '\u{80}'..='\u{FFFF}' => {
                    let _ = write!(out, "\\u{:04x}", u32::from(c));
                }
                _ => {
                    let _ = write!(out, "\\U{:08x}", u32::from(c));
                }
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('"');
}

/// Whether Go would print `c` as it is. A combining mark is escaped by the standard library only
/// at the start of a text, hence the letter before it.
fn is_print(c: char) -> bool {
    let text: String = ['a', c].iter().collect();
    text.escape_debug().count() == 2
}
