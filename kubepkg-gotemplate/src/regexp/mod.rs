//! Go's `regexp` (RE2 syntax) on top of the `regex` crate.
//!
//! A pattern is read by Go's grammar, so that what Go refuses is refused with Go's words, and what
//! Go accepts is written again in the syntax of the `regex` crate (ASCII `\d \s \w \b`, repetition
//! of the last item whatever stands between, names that occur twice). Both match leftmost-first in
//! linear time. Iteration over matches and the expansion of `$name` are Go's; both can take the square of the text, so
//! they pay for each match ([`Work`]). Refused beyond Go: programs larger than [`MAX_PROGRAM`] bytes.

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

/// Groups from which on a pattern may be nested too deep for the stack of a worker thread.
const MANY_GROUPS: usize = 32;
/// A stack for a thousand groups inside each other, Go's limit.
const STACK: usize = 64 << 20;

/// The program of a pattern, with its size up to a factor of four; none when it is too large.
///
/// The compiler of the `regex` crate works by recursion, so patterns with many groups get a stack of their own.
fn build(pattern: &str) -> Option<(regex::bytes::Regex, usize)> {
    if pattern.bytes().filter(|byte| *byte == b'(').count() < MANY_GROUPS {
        return build_here(pattern);
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let build = thread.spawn_scoped(scope, || build_here(pattern)).ok()?;
        build.join().ok().flatten()
    })
}

fn build_here(pattern: &str) -> Option<(regex::bytes::Regex, usize)> {
    let mut size = 4 << 10;
    loop {
        let built = regex::bytes::RegexBuilder::new(pattern)
            .size_limit(size)
            .nest_limit(20_000)
            .build();
        match built {
            Ok(program) => return Some((program, size)),
            Err(regex::Error::CompiledTooBig(_)) if size < MAX_PROGRAM => size *= 4,
            Err(_) => return None,
        }
    }
}

/// Who pays for what a search does.
pub(crate) trait Work {
    /// What ends the search when nothing is left to pay with.
    type Error;

    /// Pays for the search of one match in this many bytes.
    fn search(&mut self, bytes: usize) -> Result<(), Self::Error>;

    /// Pays for this many bytes of output, before they are written.
    fn write(&mut self, bytes: usize) -> Result<(), Self::Error>;
}

/// A compiled expression.
#[derive(Debug)]
pub(crate) struct Regexp {
    program: regex::bytes::Regex,
    /// Bytes of the program, up to a factor of four.
    size: usize,
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
        let (program, size) = build(&parsed.pattern)
            .ok_or_else(|| RegexpError::new("expression too large", pattern))?;
        Ok(Self {
            program,
            size,
            names: parsed.names,
            is_empty: pattern.is_empty(),
        })
    }

    /// Bytes of the program, up to a factor of four. A search may look at all of it for every byte of a text.
    pub(crate) fn size(&self) -> usize {
        self.size
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
    pub(crate) fn find_all<W: Work>(
        &self,
        text: &[u8],
        limit: i64,
        work: &mut W,
    ) -> Result<Vec<(usize, usize)>, W::Error> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut found = Vec::new();
        let mut at = 0;
        let mut previous_end = None;
        while found.len() < limit && at <= text.len() {
            work.search(text.len() - at)?;
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
        Ok(found)
    }

    /// `Split`.
    pub(crate) fn split<'t, W: Work>(
        &self,
        text: &'t [u8],
        limit: i64,
        work: &mut W,
    ) -> Result<Vec<&'t [u8]>, W::Error> {
        if limit == 0 {
            return Ok(Vec::new());
        }
        if !self.is_empty && text.is_empty() {
            return Ok(vec![b""]);
        }
        let mut parts = Vec::new();
        let (mut begin, mut end) = (0, 0);
        for (start, stop) in self.find_all(text, limit, work)? {
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
        Ok(parts)
    }

    /// Goes through the text as Go's `replaceAll` does; `write` appends what replaces a match.
    fn replace_with<W: Work>(
        &self,
        text: &[u8],
        work: &mut W,
        mut write: impl FnMut(&mut Vec<u8>, &[Span], &mut W) -> Result<(), W::Error>,
    ) -> Result<Vec<u8>, W::Error> {
        work.write(text.len())?;
        let mut out = Vec::with_capacity(text.len());
        let (mut last_end, mut at) = (0, 0);
        while at <= text.len() {
            work.search(text.len() - at)?;
            let Some(spans) = self.find_at(text, at) else {
                break;
            };
            let Some((start, end)) = spans.first().copied().flatten() else {
                break;
            };
            out.extend_from_slice(text.get(last_end..start).unwrap_or(b""));
            if end > last_end || start == 0 {
                write(&mut out, &spans, work)?;
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
        Ok(out)
    }

    /// `ReplaceAllString`.
    pub(crate) fn replace_all<W: Work>(
        &self,
        text: &[u8],
        template: &[u8],
        work: &mut W,
    ) -> Result<Vec<u8>, W::Error> {
        self.replace_with(text, work, |out, spans, work| {
            work.write(template.len())?;
            expand::expand(out, template, text, spans, &self.names, work)
        })
    }

    /// `ReplaceAllLiteralString`.
    pub(crate) fn replace_all_literal<W: Work>(
        &self,
        text: &[u8],
        replacement: &[u8],
        work: &mut W,
    ) -> Result<Vec<u8>, W::Error> {
        self.replace_with(text, work, |out, _, work| {
            work.write(replacement.len())?;
            out.extend_from_slice(replacement);
            Ok(())
        })
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
    /// The compiled form of `pattern`, if it is still there.
    pub(crate) fn kept(&self, pattern: &[u8]) -> Option<Rc<Regexp>> {
        let mut kept = self.0.borrow_mut();
        let at = kept.iter().position(|(text, _)| text == pattern)?;
        let entry = kept.remove(at)?;
        let program = Rc::clone(&entry.1);
        kept.push_back(entry);
        Some(program)
    }

    /// Compiles `pattern` and keeps it.
    pub(crate) fn compile(&self, pattern: &[u8]) -> Result<Rc<Regexp>, RegexpError> {
        let program = Rc::new(Regexp::compile(pattern)?);
        let mut kept = self.0.borrow_mut();
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

    /// Searches and bytes that are left.
    struct Purse(usize, usize);

    impl Work for Purse {
        type Error = &'static str;

        fn search(&mut self, _: usize) -> Result<(), &'static str> {
            self.0 = self.0.checked_sub(1).ok_or("searches")?;
            Ok(())
        }

        fn write(&mut self, bytes: usize) -> Result<(), &'static str> {
            self.1 = self.1.checked_sub(bytes).ok_or("bytes")?;
            Ok(())
        }
    }

    fn replaced(re: &str, source: &[u8], template: &[u8]) -> String {
        let done = regexp(re).replace_all(source, template, &mut Purse(1000, 1000));
        text(&done.unwrap())
    }

    #[test]
    fn replaces_as_go_does() {
        // From Go's regexp documentation.
        assert_eq!(replaced("a(x*)b", b"-ab-axxb-", b"$1W"), "---");
        assert_eq!(replaced("a(x*)b", b"-ab-axxb-", b"${1}W"), "-W-xxW-");
        assert_eq!(replaced("", b"abc", b"-"), "-a-b-c-");
        assert_eq!(replaced("x*", b"abc", b"-"), "-a-b-c-");
        assert_eq!(replaced("b*", "ébé".as_bytes(), b"-"), "-é-é-");
    }

    #[test]
    fn splits_as_go_does() {
        let split = |re: &str, s: &str, n| {
            regexp(re)
                .split(s.as_bytes(), n, &mut Purse(1000, 0))
                .unwrap()
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
    fn matches_are_paid_for_before_they_are_written() {
        let many = regexp("(a)");
        assert_eq!(
            many.find_all(b"aaaa", -1, &mut Purse(3, 0)),
            Err("searches")
        );
        let bomb = many.replace_all(&[b'a'; 100], &b"$1".repeat(100), &mut Purse(1000, 25_000));
        assert_eq!(bomb, Err("bytes"));
        let literal = many.replace_all_literal(&[b'a'; 100], &[b'b'; 100], &mut Purse(1000, 5000));
        assert_eq!(literal, Err("bytes"));
    }

    #[test]
    fn a_repetition_binds_to_the_item_before_a_flag_group() {
        assert!(regexp("^a(?i)*b$").is_match(b"aaB"));
        assert!(regexp("(?P<n>a)(?P<n>b)").is_match(b"ab"));
        assert!(!regexp("\\d").is_match("٣".as_bytes()));
        assert!(regexp("\\bé").is_match("aé".as_bytes()));
    }
}
