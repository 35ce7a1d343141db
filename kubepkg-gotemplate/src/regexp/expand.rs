//! The replacement template: `$1`, `$name`, `${name}`, `$$`.

use super::{Span, Work};
use crate::strconv::decode_rune;
use crate::unicode;

/// Name, and what follows it, of a reference; the `$` is already read.
fn reference(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (brace, body) = match text.strip_prefix(b"{") {
        Some(body) => (true, body),
        None => (false, text),
    };
    let mut end = 0;
    while let Some(rest) = body.get(end..).filter(|rest| !rest.is_empty()) {
        let (c, width) = decode_rune(rest);
        if !(unicode::is_letter(c) || unicode::is_digit(c) || c == '_') {
            break;
        }
        end += width;
    }
    let (name, mut rest) = body.split_at_checked(end)?;
    if name.is_empty() {
        return None;
    }
    if brace {
        rest = rest.strip_prefix(b"}")?;
    }
    Some((name, rest))
}

/// The group number a name stands for: digits without a leading zero.
fn number(name: &[u8]) -> Option<usize> {
    if name.len() > 9 || name.len() > 1 && name.first() == Some(&b'0') {
        return None;
    }
    std::str::from_utf8(name)
        .ok()?
        .parse()
        .ok()
        .filter(|_| name.iter().all(u8::is_ascii_digit))
}

/// Go's `expand`: appends `template` to `out`, references replaced by groups of the match.
pub(super) fn expand<W: Work>(
    out: &mut Vec<u8>,
    mut template: &[u8],
    text: &[u8],
    spans: &[Span],
    names: &[String],
    work: &mut W,
) -> Result<(), W::Error> {
    while let Some(at) = template.iter().position(|b| *b == b'$') {
        let (before, rest) = template.split_at(at);
        out.extend_from_slice(before);
        template = rest.get(1..).unwrap_or(b"");
        if let Some(rest) = template.strip_prefix(b"$") {
            out.push(b'$');
            template = rest;
            continue;
        }
        let Some((name, rest)) = reference(template) else {
            out.push(b'$');
            continue;
        };
        template = rest;
        let span = match number(name) {
            Some(index) => spans.get(index).copied().flatten(),
            None => names
                .iter()
                .zip(spans)
                .filter(|(candidate, _)| candidate.as_bytes() == name)
                .find_map(|(_, span)| *span),
        };
        if let Some(group) = span.and_then(|(start, end)| text.get(start..end)) {
            work.write(group.len())?;
            out.extend_from_slice(group);
        }
    }
    out.extend_from_slice(template);
    Ok(())
}
