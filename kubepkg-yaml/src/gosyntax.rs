//! Values in Go syntax (`%#v`), which two error messages quote.
//!
//! Maps print sorted by key, as Go's `fmt` does: null first, then by the place of the type's
//! descriptor in the program (string, uint64, int, float64, bool in programs built by today's
//! linker), then by value. The text is cut off at 64 KiB.

use std::cmp::Ordering;
use std::fmt::Write as _;

use crate::number;
use crate::tree::{Range, Tree, Val, compare_keys};

const MAX: usize = 64 << 10;

enum Open<'n> {
    Seq(Range),
    Map(std::vec::IntoIter<(Val<'n>, Val<'n>)>),
}

fn rank(key: Val<'_>) -> u8 {
    match key {
        Val::Null => 0,
        Val::Str(_) | Val::Bytes(_) => 1,
        Val::Uint(_) => 2,
        Val::Int(_) => 3,
        Val::Float(value) if value.is_nan() => 4,
        Val::Float(_) => 5,
        Val::Bool(_) => 6,
        Val::Seq(_) | Val::Map(_) => 7,
    }
}

fn printed_order(a: Val<'_>, b: Val<'_>) -> Ordering {
    rank(a).cmp(&rank(b)).then_with(|| compare_keys(a, b))
}

/// `value` in Go syntax.
pub(crate) fn write<'n>(tree: &Tree<'n>, value: Val<'n>) -> String {
    let mut out = String::new();
    let mut open: Vec<Open<'n>> = Vec::new();
    one(&mut out, tree, value, true, &mut open);
    while let Some(top) = open.last_mut() {
        if out.len() > MAX {
            break;
        }
        let next = match top {
            Open::Seq(range) => {
                let item = tree.items(*range).first().map(|&item| (None, item));
                range.start += 1;
                item
            }
            Open::Map(entries) => entries.next().map(|(key, item)| (Some(key), item)),
        };
        let Some((key, item)) = next else {
            out.push('}');
            open.pop();
            continue;
        };
        if !out.ends_with('{') {
            out.push_str(", ");
        }
        if let Some(key) = key {
            one(&mut out, tree, key, false, &mut Vec::new());
            out.push(':');
        }
        one(&mut out, tree, item, false, &mut open);
    }
    out
}

fn one<'n>(out: &mut String, tree: &Tree<'n>, value: Val<'n>, top: bool, open: &mut Vec<Open<'n>>) {
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
            let mut entries = tree.entries(range).to_vec();
            entries.sort_by(|a, b| printed_order(a.0, b.0));
            open.push(Open::Map(entries.into_iter()));
        }
    }
}

/// A text as Go's `strconv.Quote` (and `%q`) writes it.
pub fn go_quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    quote(&mut out, text.as_bytes());
    out
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
