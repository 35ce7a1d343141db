//! Strings: cutting, joining, searching, quoting, indenting. Offsets and widths count bytes.

use super::args::{any, bytes, int, panic, size, strslice, strval, text};
use crate::bytestring::GoString;
use crate::collection::Map;
use crate::context::Context;
use crate::fmt;
use crate::func::{FuncResult, Function, Signature};
use crate::gotype::{ANY, BOOL, INT, MAP_STRING, SLICE_STRING, STRING};
use crate::strconv::{decode_rune, quote};
use crate::unicode;
use crate::value::Value;

/// Functions of this module.
pub(super) fn table() -> Vec<Function> {
    let one = Signature::new(types!(STRING), &STRING);
    let two = Signature::new(types!(STRING, STRING), &STRING);
    let check = Signature::new(types!(STRING, STRING), &BOOL);
    let padded = Signature::new(types!(INT, STRING), &STRING);
    let several = Signature::variadic(&[], &ANY, &STRING);
    vec![
        Function::plain("cat", several, cat),
        Function::plain("contains", check, |_, args| {
            Ok(Value::Bool(find(text(args, 1), text(args, 0)).is_some()))
        }),
        Function::plain("hasPrefix", check, |_, args| {
            Ok(Value::Bool(text(args, 1).starts_with(text(args, 0))))
        }),
        Function::plain("hasSuffix", check, |_, args| {
            Ok(Value::Bool(text(args, 1).ends_with(text(args, 0))))
        }),
        Function::plain("hello", Signature::new(&[], &STRING), |_, _| {
            Ok(bytes("Hello!"))
        }),
        Function::plain("indent", padded, |ctx, args| {
            Ok(bytes(indent(ctx, int(args, 0), text(args, 1), b"")?))
        }),
        Function::plain("join", Signature::new(types!(STRING, ANY), &STRING), join),
        Function::plain("lower", one, |_, args| {
            Ok(bytes(map_chars(text(args, 0), unicode::to_lower)))
        }),
        Function::plain("nindent", padded, |ctx, args| {
            Ok(bytes(indent(ctx, int(args, 0), text(args, 1), b"\n")?))
        }),
        Function::plain(
            "plural",
            Signature::new(types!(STRING, STRING, INT), &STRING),
            |_, args| Ok(any(args, usize::from(int(args, 2) != 1)).clone()),
        ),
        Function::plain("quote", several, |_, args| {
            joined(args, |value| Ok(quote(&strval(value)?).into_bytes()))
        }),
        Function::plain("repeat", padded, repeat),
        Function::plain(
            "replace",
            Signature::new(types!(STRING, STRING, STRING), &STRING),
            |ctx, args| {
                let (old, new, source) = (text(args, 0), text(args, 1), text(args, 2));
                Ok(bytes(replace(ctx, source, old, new)?))
            },
        ),
        Function::plain(
            "sortAlpha",
            Signature::new(types!(ANY), &SLICE_STRING),
            sort_alpha,
        ),
        Function::plain(
            "split",
            Signature::new(types!(STRING, STRING), &MAP_STRING),
            |_, args| Ok(numbered(split(text(args, 1), text(args, 0), -1))),
        ),
        Function::plain(
            "splitList",
            Signature::new(types!(STRING, STRING), &SLICE_STRING),
            |_, args| Ok(Value::string_list(split(text(args, 1), text(args, 0), -1))),
        ),
        Function::plain(
            "splitn",
            Signature::new(types!(STRING, INT, STRING), &MAP_STRING),
            |_, args| Ok(numbered(split(text(args, 2), text(args, 0), int(args, 1)))),
        ),
        Function::plain("squote", several, |_, args| {
            joined(args, |value| {
                let mut out = vec![b'\''];
                out.extend_from_slice(&fmt::display(value)?);
                out.push(b'\'');
                Ok(out)
            })
        }),
        Function::plain(
            "substr",
            Signature::new(types!(INT, INT, STRING), &STRING),
            substr,
        ),
        Function::plain("trim", one, |_, args| {
            Ok(bytes(trim_with(text(args, 0), unicode::is_space)))
        }),
        Function::plain("trimAll", two, trim_all),
        Function::plain("trimall", two, trim_all),
        Function::plain("trimPrefix", two, |_, args| {
            let whole = text(args, 1);
            Ok(bytes(whole.strip_prefix(text(args, 0)).unwrap_or(whole)))
        }),
        Function::plain("trimSuffix", two, |_, args| {
            let whole = text(args, 1);
            Ok(bytes(whole.strip_suffix(text(args, 0)).unwrap_or(whole)))
        }),
        Function::plain("trunc", padded, trunc),
        Function::plain("upper", one, |_, args| {
            Ok(bytes(map_chars(text(args, 0), unicode::to_upper)))
        }),
    ]
}

/// Applies `change` to every character; a broken byte becomes U+FFFD (`strings.Map`).
pub(super) fn map_chars(text: &[u8], mut change: impl FnMut(char) -> char) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            let mut buffer = [0; 4];
            out.extend_from_slice(change(c).encode_utf8(&mut buffer).as_bytes());
        }
        for _ in chunk.invalid() {
            let mut buffer = [0; 4];
            let c = change(char::REPLACEMENT_CHARACTER);
            out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
        }
    }
    out
}

/// Where `needle` begins in `text`.
pub(super) fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, needle)
}

/// `strings.SplitN`; an empty separator cuts between characters.
pub(super) fn split<'t>(source: &'t [u8], separator: &[u8], limit: i64) -> Vec<&'t [u8]> {
    if limit == 0 {
        return Vec::new();
    }
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut parts = Vec::new();
    let mut rest = source;
    if separator.is_empty() {
        while !rest.is_empty() {
            let (_, width) = decode_rune(rest);
            let cut = if parts.len() + 1 >= limit {
                rest.len()
            } else {
                width
            };
            let (part, after) = rest.split_at(cut.min(rest.len()));
            parts.push(part);
            rest = after;
        }
        return parts;
    }
    while parts.len() + 1 < limit
        && let Some(at) = find(rest, separator)
    {
        parts.push(rest.get(..at).unwrap_or(rest));
        rest = rest.get(at + separator.len()..).unwrap_or(b"");
    }
    parts.push(rest);
    parts
}

/// `_0`, `_1`, ... as `split` answers.
fn numbered(parts: Vec<&[u8]>) -> Value {
    let map = Map::typed(&MAP_STRING);
    for (i, part) in parts.into_iter().enumerate() {
        map.insert(GoString::from(format!("_{i}")), bytes(part));
    }
    Value::Map(map)
}

fn trim_with(text: &[u8], mut cut: impl FnMut(char) -> bool) -> &[u8] {
    let mut rest = text;
    while !rest.is_empty() {
        let (c, width) = decode_rune(rest);
        if !cut(c) {
            break;
        }
        rest = rest.get(width..).unwrap_or(b"");
    }
    while !rest.is_empty() {
        let back = (1..=4.min(rest.len()))
            .find(|back| {
                let (_, width) = decode_rune(rest.get(rest.len() - back..).unwrap_or(b""));
                width == *back && (*back > 1 || rest.last().is_some_and(u8::is_ascii))
            })
            .unwrap_or(1);
        let (c, _) = decode_rune(rest.get(rest.len() - back..).unwrap_or(b""));
        if !cut(c) {
            break;
        }
        rest = rest.get(..rest.len() - back).unwrap_or(b"");
    }
    rest
}

fn trim_all(_: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let mut set = Vec::new();
    let mut rest = text(args, 0);
    while !rest.is_empty() {
        let (c, width) = decode_rune(rest);
        set.push(c);
        rest = rest.get(width..).unwrap_or(b"");
    }
    Ok(bytes(trim_with(text(args, 1), |c| set.contains(&c))))
}

fn trunc(_: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let (count, whole) = (int(args, 0), text(args, 1));
    let len = i64::try_from(whole.len()).unwrap_or(i64::MAX);
    let cut = if count < 0 && len.saturating_add(count) > 0 {
        whole.get(size(len + count)..)
    } else if count >= 0 && len > count {
        whole.get(..size(count))
    } else {
        return Ok(any(args, 1).clone());
    };
    Ok(bytes(cut.unwrap_or(whole)))
}

fn substr(_: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let (start, end, whole) = (int(args, 0), int(args, 1), text(args, 2));
    let len = i64::try_from(whole.len()).unwrap_or(i64::MAX);
    let bounds = |low: Option<i64>, high: Option<i64>| {
        let from = low.unwrap_or(0);
        let to = high.unwrap_or(len);
        if to < 0 || to > len {
            let shown = if to < 0 {
                String::new()
            } else {
                format!(" with length {len}")
            };
            return Err(panic(format!(
                "runtime error: slice bounds out of range [:{to}]{shown}"
            )));
        }
        if from > to {
            return Err(panic(format!(
                "runtime error: slice bounds out of range [{from}:{to}]"
            )));
        }
        Ok(bytes(whole.get(size(from)..size(to)).unwrap_or(b"")))
    };
    if start < 0 {
        return bounds(None, Some(end));
    }
    if end < 0 || end > len {
        return bounds(Some(start), None);
    }
    bounds(Some(start), Some(end))
}

fn repeat(ctx: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let (count, unit) = (int(args, 0), text(args, 1));
    if count < 0 {
        return Err(panic("strings: negative Repeat count"));
    }
    let total = size(count)
        .checked_mul(unit.len())
        .filter(|total| i64::try_from(*total).is_ok())
        .ok_or_else(|| panic("strings: Repeat output length overflow"))?;
    ctx.charge_bytes(total)?;
    Ok(bytes(unit.repeat(if unit.is_empty() {
        0
    } else {
        size(count)
    })))
}

fn count(text: &[u8], needle: &[u8]) -> usize {
    let (mut found, mut rest) = (0, text);
    while let Some(at) = find(rest, needle) {
        found += 1;
        rest = rest.get(at + needle.len()..).unwrap_or(b"");
    }
    found
}

/// `strings.ReplaceAll`; an empty `old` stands before every character and at the end.
fn replace(
    ctx: &mut Context<'_>,
    source: &[u8],
    old: &[u8],
    new: &[u8],
) -> Result<Vec<u8>, crate::func::FuncError> {
    if old == new {
        return Ok(source.to_vec());
    }
    if old.is_empty() {
        ctx.charge_bytes(
            source
                .len()
                .saturating_add(new.len().saturating_mul(source.len() + 1)),
        )?;
        let mut out = Vec::new();
        let mut rest = source;
        while !rest.is_empty() {
            let (_, width) = decode_rune(rest);
            let (head, after) = rest.split_at(width.max(1));
            out.extend_from_slice(new);
            out.extend_from_slice(head);
            rest = after;
        }
        out.extend_from_slice(new);
        return Ok(out);
    }
    ctx.charge_bytes(
        source
            .len()
            .saturating_add(new.len().saturating_mul(count(source, old))),
    )?;
    let mut out = Vec::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = find(rest, old) {
        out.extend_from_slice(rest.get(..at).unwrap_or(b""));
        out.extend_from_slice(new);
        rest = rest.get(at + old.len()..).unwrap_or(b"");
    }
    out.extend_from_slice(rest);
    Ok(out)
}

fn indent(
    ctx: &mut Context<'_>,
    spaces: i64,
    source: &[u8],
    before: &[u8],
) -> Result<Vec<u8>, crate::func::FuncError> {
    if spaces < 0 {
        return Err(panic("strings: negative Repeat count"));
    }
    let spaces = size(spaces);
    let lines = source.split(|b| *b == b'\n').count();
    let total = spaces.saturating_mul(lines).saturating_add(source.len());
    ctx.charge_bytes(total)?;
    let mut out = Vec::with_capacity(total + before.len());
    out.extend_from_slice(before);
    for (i, line) in source.split(|b| *b == b'\n').enumerate() {
        if i > 0 {
            out.push(b'\n');
        }
        out.resize(out.len() + spaces, b' ');
        out.extend_from_slice(line);
    }
    Ok(out)
}

fn join(ctx: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let separator = text(args, 0);
    let parts = strslice(any(args, 1))?;
    let total: usize = parts.iter().map(|part| part.len() + separator.len()).sum();
    ctx.charge_bytes(total)?;
    let mut out = Vec::with_capacity(total);
    for (i, part) in parts.iter().enumerate() {
        if i > 0 {
            out.extend_from_slice(separator);
        }
        out.extend_from_slice(part);
    }
    Ok(bytes(out))
}

/// Every argument that is not nil, written by `write`, with spaces between.
fn joined(
    args: &[Value],
    write: impl Fn(&Value) -> Result<Vec<u8>, crate::func::FuncError>,
) -> FuncResult {
    let mut out = Vec::new();
    let mut first = true;
    for value in args.iter().filter(|value| !matches!(value, Value::Nil)) {
        if !std::mem::take(&mut first) {
            out.push(b' ');
        }
        out.append(&mut write(value)?);
    }
    Ok(bytes(out))
}

fn cat(_: &mut Context<'_>, args: &[Value]) -> FuncResult {
    joined(args, |value| Ok(fmt::display(value)?))
}

fn sort_alpha(_: &mut Context<'_>, args: &[Value]) -> FuncResult {
    let value = any(args, 0);
    if matches!(value, Value::List(_) | Value::Bytes(_)) {
        let mut parts = strslice(value)?;
        parts.sort();
        return Ok(Value::string_list(parts));
    }
    Ok(Value::string_list([strval(value)?]))
}
