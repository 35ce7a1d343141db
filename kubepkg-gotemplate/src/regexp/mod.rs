//! Go's `regexp` (RE2 syntax) on top of the `regex` crate.
//!
//! A pattern is read by Go's grammar, so that what Go refuses is refused with Go's words, and what
//! Go accepts is written again in the syntax of the `regex` crate (ASCII `\d \s \w \b`, repetition
//! of the last item whatever stands between, names that occur twice). Both match leftmost-first in
//! linear time. Iteration over matches and the expansion of `$name` are Go's. Refused beyond Go:
//! programs larger than [`MAX_PROGRAM`] bytes.

mod class;
mod error;
mod expand;
mod parse;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

pub(crate) use error::RegexpError;

use crate::strconv::decode_rune;

/// The largest compiled program in bytes.
pub(crate) const MAX_PROGRAM: usize = 16 << 20;

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Regexp {
    program: regex::bytes::Regex,
    /// Name of each group, empty for unnamed ones; the whole match is group 0.
    names: Vec<String>,
    is_empty: bool,
}

/// Start and end of a group.
type Span = Option<(usize, usize)>;

impl Regexp {
    /// `regexp.Compile`.
    pub(crate) fn compile(pattern: &[u8]) -> Result<Self, RegexpError> {
        let parsed = parse::translate(pattern)?;
        let program = regex::bytes::RegexBuilder::new(&parsed.pattern)
            .size_limit(MAX_PROGRAM)
            .nest_limit(20_000)
            .build()
            .map_err(|_| RegexpError::new("expression too large", pattern))?;
        Ok(Self {
            program,
            names: parsed.names,
            is_empty: pattern.is_empty(),
        })
    }

    /// The first match that starts at `at` or later, never between the bytes of a character.
    fn find_at(&self, text: &[u8], mut at: usize) -> Option<Vec<Span>> {
        loop {
            let captures = self.program.captures_at(text, at)?;
            let whole = captures.get(0)?;
            let inside = |at: usize| text.get(at).is_some_and(|b| b & 0xc0 == 0x80);
            if whole.is_empty() && inside(whole.start()) && self.splits(text, whole.start()) {
                at = whole.start() + 1;
                continue;
            }
            return Some(
                captures
                    .iter()
                    .map(|m| m.map(|m| (m.start(), m.end())))
                    .collect(),
            );
        }
    }

    /// Whether `at` lies inside a well-formed character.
    #[allow(
        clippy::unused_self,
        reason = "a question about positions of this matcher"
    )]
    fn splits(&self, text: &[u8], at: usize) -> bool {
        (1..=3).any(|back| {
            at.checked_sub(back).is_some_and(|start| {
                let (_, width) = decode_rune(text.get(start..).unwrap_or(b""));
                width > back
            })
        })
    }

    /// `MatchString`.
    pub(crate) fn is_match(&self, text: &[u8]) -> bool {
        self.find_at(text, 0).is_some()
    }

    /// `FindString`: the text of the first match, empty without one.
    pub(crate) fn find<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        self.find_at(text, 0)
            .and_then(|spans| spans.first().copied().flatten())
            .and_then(|(start, end)| text.get(start..end))
            .unwrap_or(b"")
    }

    /// `FindAllStringIndex`: at most `limit` matches, all when it is negative.
    pub(crate) fn find_all(&self, text: &[u8], limit: i64) -> Vec<(usize, usize)> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut found = Vec::new();
        let mut at = 0;
        let mut previous_end = None;
        while found.len() < limit && at <= text.len() {
            let Some((start, end)) = self
                .find_at(text, at)
                .and_then(|spans| spans.first().copied().flatten())
            else {
                break;
            };
            let mut accept = true;
            if end == at {
                // An empty match right behind the previous match does not count.
                accept = previous_end != Some(start);
                let (_, width) = decode_rune(text.get(at..).unwrap_or(b""));
                at += width.max(1);
            } else {
                at = end;
            }
            previous_end = Some(end);
            if accept {
                found.push((start, end));
            }
        }
        found
    }

    /// `Split`.
    pub(crate) fn split<'t>(&self, text: &'t [u8], limit: i64) -> Vec<&'t [u8]> {
        if limit == 0 {
            return Vec::new();
        }
        if !self.is_empty && text.is_empty() {
            return vec![b""];
        }
        let mut parts = Vec::new();
        let (mut begin, mut end) = (0, 0);
        for (start, stop) in self.find_all(text, limit) {
            if limit > 0 && i64::try_from(parts.len()).is_ok_and(|n| n >= limit - 1) {
                break;
            }
            end = start;
            if stop != 0 {
                parts.push(text.get(begin..end).unwrap_or(b""));
            }
            begin = stop;
        }
        if end != text.len() {
            parts.push(text.get(begin..).unwrap_or(b""));
        }
        parts
    }

    /// Goes through the text as Go's `replaceAll` does; `write` appends what replaces a match.
    fn replace_with(&self, text: &[u8], mut write: impl FnMut(&mut Vec<u8>, &[Span])) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        let (mut last_end, mut at) = (0, 0);
        while at <= text.len() {
            let Some(spans) = self.find_at(text, at) else {
                break;
            };
            let Some((start, end)) = spans.first().copied().flatten() else {
                break;
            };
            out.extend_from_slice(text.get(last_end..start).unwrap_or(b""));
            if end > last_end || start == 0 {
                write(&mut out, &spans);
            }
            last_end = end;
            let (_, width) = decode_rune(text.get(at..).unwrap_or(b""));
            at = (at + width).max(end).max(if width == 0 && at + 1 > end {
                at + 1
            } else {
                0
            });
        }
        out.extend_from_slice(text.get(last_end..).unwrap_or(b""));
        out
    }

    /// `ReplaceAllString`.
    pub(crate) fn replace_all(&self, text: &[u8], template: &[u8]) -> Vec<u8> {
        self.replace_with(text, |out, spans| {
            expand::expand(out, template, text, spans, &self.names);
        })
    }

    /// `ReplaceAllLiteralString`.
    pub(crate) fn replace_all_literal(&self, text: &[u8], replacement: &[u8]) -> Vec<u8> {
        self.replace_with(text, |out, _| out.extend_from_slice(replacement))
    }
}

/// `regexp.QuoteMeta`.
pub(crate) fn quote_meta(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 8);
    for byte in text {
        if b"\\.+*?()|[]{}^$".contains(byte) {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out
}

/// How many expressions a cache keeps.
const CACHED: usize = 32;

/// Expressions compiled lately, the latest at the back.
#[derive(Debug, Default)]
pub(crate) struct Cache(RefCell<VecDeque<(Vec<u8>, Rc<Regexp>)>>);

impl Cache {
    /// The compiled form of `pattern`.
    pub(crate) fn get(&self, pattern: &[u8]) -> Result<Rc<Regexp>, RegexpError> {
        let mut kept = self.0.borrow_mut();
        if let Some(at) = kept.iter().position(|(text, _)| text == pattern)
            && let Some(entry) = kept.remove(at)
        {
            let program = Rc::clone(&entry.1);
            kept.push_back(entry);
            return Ok(program);
        }
        let program = Rc::new(Regexp::compile(pattern)?);
        if kept.len() >= CACHED {
            kept.pop_front();
        }
        kept.push_back((pattern.to_vec(), Rc::clone(&program)));
        Ok(program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regexp(pattern: &str) -> Regexp {
        Regexp::compile(pattern.as_bytes()).unwrap()
    }

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    #[test]
    fn replaces_as_go_does() {
        // From Go's regexp documentation.
        let re = regexp("a(x*)b");
        assert_eq!(text(&re.replace_all(b"-ab-axxb-", b"$1W")), "---");
        assert_eq!(text(&re.replace_all(b"-ab-axxb-", b"${1}W")), "-W-xxW-");
        assert_eq!(text(&regexp("").replace_all(b"abc", b"-")), "-a-b-c-");
        assert_eq!(text(&regexp("x*").replace_all(b"abc", b"-")), "-a-b-c-");
        assert_eq!(
            text(&regexp("b*").replace_all("ébé".as_bytes(), b"-")),
            "-é-é-"
        );
    }

    #[test]
    fn splits_as_go_does() {
        let split = |re: &str, s: &str, n| {
            regexp(re)
                .split(s.as_bytes(), n)
                .into_iter()
                .map(text)
                .collect::<Vec<_>>()
        };
        assert_eq!(split("a", "banana", -1), ["b", "n", "n", ""]);
        assert_eq!(split("a", "banana", 2), ["b", "nana"]);
        assert_eq!(split("", "日本", -1), ["日", "本"]);
        assert_eq!(split("z+", "pizza", 1), ["pizza"]);
    }

    #[test]
    fn a_repetition_binds_to_the_item_before_a_flag_group() {
        assert!(regexp("^a(?i)*b$").is_match(b"aaB"));
        assert!(regexp("(?P<n>a)(?P<n>b)").is_match(b"ab"));
        assert!(!regexp("\\d").is_match("٣".as_bytes()));
        assert!(regexp("\\bé").is_match("aé".as_bytes()));
    }
}
