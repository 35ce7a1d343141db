//! Words: case conversions, wrapping, abbreviating. Rules of `xstrings` 1.5 and `goutils` 1.1, oddities
//! included (`initials` and `nospace` read bytes as characters).

use super::args::{bytes, int, panic, size, text};
use super::strings::map_chars;
use crate::context::Context;
use crate::func::{FuncError, FuncResult, Function, Signature};
use crate::gotype::{INT, STRING};
use crate::strconv::{chars, decode_rune};
use crate::unicode::{
    is_digit, is_letter, is_lower, is_number, is_punct, is_space, is_title, is_upper, to_lower,
    to_title, to_upper,
};

/// Functions of this module.
pub(super) fn table() -> Vec<Function> {
    let one = Signature::new(types!(STRING), &STRING);
    vec![
        Function::plain(
            "abbrev",
            Signature::new(types!(INT, STRING), &STRING),
            |_, args| Ok(bytes(abbreviate(text(args, 1), 0, int(args, 0)))),
        ),
        Function::plain(
            "abbrevboth",
            Signature::new(types!(INT, INT, STRING), &STRING),
            |_, args| {
                let (left, right, whole) = (int(args, 0), int(args, 1), text(args, 2));
                if right < 4 || left > 0 && right < 7 {
                    return Ok(bytes(whole));
                }
                Ok(bytes(abbreviate(whole, left, right)))
            },
        ),
        Function::plain("camelcase", one, |_, args| {
            Ok(bytes(pascal_case(text(args, 0))))
        }),
        Function::plain("initials", one, |_, args| {
            Ok(bytes(initials(text(args, 0))))
        }),
        Function::plain("kebabcase", one, |_, args| {
            Ok(bytes(lower_words(text(args, 0), '-')))
        }),
        Function::plain("nospace", one, |_, args| {
            Ok(bytes(without_space(text(args, 0))))
        }),
        Function::plain("snakecase", one, |_, args| {
            Ok(bytes(lower_words(text(args, 0), '_')))
        }),
        Function::plain("swapcase", one, |_, args| {
            Ok(bytes(swap_case(text(args, 0))))
        }),
        Function::plain("title", one, |_, args| Ok(bytes(title(text(args, 0))))),
        Function::plain("untitle", one, |_, args| Ok(bytes(untitle(text(args, 0))))),
        Function::plain(
            "wrap",
            Signature::new(types!(INT, STRING), &STRING),
            |ctx, args| wrap(ctx, text(args, 1), int(args, 0), b"", false),
        ),
        Function::plain(
            "wrapWith",
            Signature::new(types!(INT, STRING, STRING), &STRING),
            |ctx, args| wrap(ctx, text(args, 2), int(args, 0), text(args, 1), true),
        ),
    ]
}

fn push(out: &mut Vec<u8>, c: char) {
    let mut buffer = [0; 4];
    out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
}

/// `goutils.AbbreviateFull`; where that reports an error Sprig drops it and keeps an empty string.
fn abbreviate(whole: &[u8], offset: i64, width: i64) -> Vec<u8> {
    let len = i64::try_from(whole.len()).unwrap_or(i64::MAX);
    // Sprig leaves the text alone when it is to be shorter than the mark and a letter.
    if width < 4 || len <= width {
        return whole.to_vec();
    }
    let keep = width - 3;
    let mut offset = offset.min(len);
    if len - offset < keep {
        offset = len - keep;
    }
    if offset <= 4 {
        let mut out = whole.get(..size(keep)).unwrap_or(whole).to_vec();
        out.extend_from_slice(b"...");
        return out;
    }
    if width < 7 {
        return Vec::new();
    }
    let mut out = b"...".to_vec();
    if offset + keep < len {
        let tail = whole.get(size(offset)..).unwrap_or(b"");
        // The inner call refuses widths under 4, and then nothing is appended.
        if keep >= 4 || tail.is_empty() {
            out.extend_from_slice(&abbreviate(tail, 0, keep));
        }
    } else {
        out.extend_from_slice(whole.get(size(len - keep)..).unwrap_or(b""));
    }
    out
}

fn initials(whole: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut gap = true;
    for byte in whole {
        let c = char::from(*byte);
        if is_space(c) {
            gap = true;
        } else if std::mem::take(&mut gap) {
            push(&mut out, c);
        }
    }
    out
}

fn without_space(whole: &[u8]) -> Vec<u8> {
    if !whole.iter().any(|byte| is_space(char::from(*byte))) {
        return whole.to_vec();
    }
    let mut out = Vec::with_capacity(whole.len());
    for byte in whole {
        let c = char::from(*byte);
        if !is_space(c) {
            push(&mut out, c);
        }
    }
    out
}

fn swap_case(whole: &[u8]) -> Vec<u8> {
    let mut at_start = true;
    map_chars(whole, |c| {
        if is_upper(c) || is_title(c) {
            at_start = false;
            to_lower(c)
        } else if is_lower(c) {
            if std::mem::take(&mut at_start) {
                to_title(c)
            } else {
                to_upper(c)
            }
        } else {
            at_start = is_space(c);
            c
        }
    })
}

fn untitle(whole: &[u8]) -> Vec<u8> {
    let mut at_start = true;
    map_chars(whole, |c| {
        if is_space(c) {
            at_start = true;
            c
        } else if std::mem::take(&mut at_start) {
            to_lower(c)
        } else {
            c
        }
    })
}

/// What `strings.Title` takes for the end of a word.
fn is_separator(c: char) -> bool {
    if c.is_ascii() {
        return !(c.is_ascii_alphanumeric() || c == '_');
    }
    !(is_letter(c) || is_digit(c)) && is_space(c)
}

fn title(whole: &[u8]) -> Vec<u8> {
    let mut previous = ' ';
    map_chars(whole, |c| {
        let starts = is_separator(previous);
        previous = c;
        if starts { to_title(c) } else { c }
    })
}

fn is_connector(c: char) -> bool {
    c == '-' || c == '_' || is_space(c)
}

/// `xstrings.ToPascalCase`.
fn pascal_case(whole: &[u8]) -> Vec<u8> {
    let all = chars(whole);
    let mut out = Vec::with_capacity(whole.len());
    let Some(first) = all.iter().position(|c| !is_connector(*c)) else {
        // Only connectors: the last one is written twice.
        for c in all.iter().chain(all.last()) {
            push(&mut out, *c);
        }
        return out;
    };
    let (connectors, rest) = all.split_at(first);
    for c in connectors {
        push(&mut out, *c);
    }
    let Some((first, rest)) = rest.split_first() else {
        return out;
    };
    let mut first_was_upper = is_upper(*first);
    let mut current = to_upper(*first);
    for c in rest {
        let previous = current;
        current = *c;
        if is_connector(current) && is_connector(previous) {
            push(&mut out, previous);
            continue;
        }
        if is_connector(previous) {
            first_was_upper = is_upper(current);
            current = to_upper(current);
        } else {
            if first_was_upper {
                if is_upper(current) {
                    current = to_lower(current);
                } else {
                    first_was_upper = false;
                }
            }
            push(&mut out, previous);
        }
    }
    push(&mut out, current);
    out
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Word {
    Invalid,
    Number,
    Upper,
    Alphabet,
    Connector,
    Punct,
    Other,
}

/// A letter that is not Chinese.
fn is_alphabet(c: char) -> bool {
    is_letter(c)
        && !matches!(c, '\u{4e00}'..='\u{9fcc}' | '\u{3400}'..='\u{4d85}' | '\u{20000}'..='\u{2b81d}')
}

/// The next character that is not U+FFFD, `previous` when none is left, and the bytes read.
fn next_valid(text: &[u8], previous: char) -> (char, usize) {
    let mut read = 0;
    while let Some(rest) = text.get(read..).filter(|rest| !rest.is_empty()) {
        let (c, width) = decode_rune(rest);
        read += width;
        if c != char::REPLACEMENT_CHARACTER {
            return (c, read);
        }
    }
    (previous, read)
}

/// Length of the run of characters that `belongs` accepts, from `at` on.
fn run(text: &[u8], mut at: usize, first: char, belongs: impl Fn(char) -> bool) -> usize {
    let mut c = first;
    while at < text.len() {
        let (next, width) = next_valid(text.get(at..).unwrap_or(b""), c);
        c = next;
        if width == 0 || !belongs(c) {
            break;
        }
        at += width;
    }
    at
}

/// The first word of `text`: its kind, and its length.
fn next_word(text: &[u8]) -> (Word, usize) {
    if text.is_empty() {
        return (Word::Invalid, 0);
    }
    let (c, width) = next_valid(text, char::REPLACEMENT_CHARACTER);
    if c == char::REPLACEMENT_CHARACTER {
        return (Word::Invalid, width);
    }
    let lower_letter = |c| is_alphabet(c) && !is_upper(c);
    if is_connector(c) {
        return (Word::Connector, run(text, width, c, is_connector));
    }
    if is_punct(c) {
        return (Word::Punct, run(text, width, c, is_punct));
    }
    if is_upper(c) {
        return (Word::Upper, upper_word(text, c, width));
    }
    if is_alphabet(c) {
        return (Word::Alphabet, run(text, width, c, lower_letter));
    }
    if is_number(c) {
        return (Word::Number, run(text, width, c, is_number));
    }
    let other = |c| !(is_connector(c) || is_alphabet(c) || is_number(c) || is_punct(c));
    (Word::Other, run(text, width, c, other))
}

/// A word that begins in upper case: `HTTP` of `HTTPStatus`, or `Status`.
fn upper_word(text: &[u8], first: char, mut at: usize) -> usize {
    if at >= text.len() {
        return at;
    }
    let (mut c, width) = next_valid(text.get(at..).unwrap_or(b""), first);
    if is_upper(c) {
        let mut last_width = width;
        at += width;
        while at < text.len() {
            let (next, width) = next_valid(text.get(at..).unwrap_or(b""), c);
            c = next;
            if !is_upper(c) {
                break;
            }
            last_width = width;
            at += width;
        }
        if at < text.len() && is_alphabet(c) {
            at -= last_width;
        }
        return at;
    }
    if is_alphabet(c) {
        return run(text, at + width, c, |c| is_alphabet(c) && !is_upper(c));
    }
    at
}

fn write_word(out: &mut Vec<u8>, kind: Word, word: &[u8], connector: char) {
    if kind != Word::Upper && kind != Word::Connector {
        out.extend_from_slice(word);
        return;
    }
    for c in chars(word) {
        let c = if is_connector(c) {
            connector
        } else if is_upper(c) {
            to_lower(c)
        } else {
            c
        };
        push(out, c);
    }
}

struct Words<'t> {
    rest: &'t [u8],
}

impl<'t> Words<'t> {
    fn next(&mut self) -> (Word, &'t [u8]) {
        let (kind, length) = next_word(self.rest);
        let (word, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.rest = rest;
        (kind, word)
    }
}

/// `xstrings.ToSnakeCase` and `ToKebabCase`.
fn lower_words(whole: &[u8], connector: char) -> Vec<u8> {
    let mut out = Vec::with_capacity(whole.len() + 8);
    if whole.is_empty() {
        return out;
    }
    let mut words = Words { rest: whole };
    let (mut kind, mut word) = words.next();
    while !words.rest.is_empty() {
        if kind != Word::Connector {
            write_word(&mut out, kind, word, connector);
        }
        let (previous, last) = (kind, word);
        (kind, word) = words.next();
        match previous {
            Word::Number => {
                while matches!(kind, Word::Alphabet | Word::Number) {
                    write_word(&mut out, kind, word, connector);
                    (kind, word) = words.next();
                }
                if !matches!(kind, Word::Invalid | Word::Punct | Word::Connector) {
                    push(&mut out, connector);
                }
            }
            Word::Connector => write_word(&mut out, previous, last, connector),
            Word::Punct => {}
            _ if kind != Word::Number => {
                if !matches!(kind, Word::Connector | Word::Punct) {
                    push(&mut out, connector);
                }
            }
            _ if words.rest.is_empty() => {}
            _ => {
                let number = word;
                (kind, word) = words.next();
                if kind != Word::Alphabet {
                    write_word(&mut out, Word::Number, number, connector);
                    if !matches!(kind, Word::Connector | Word::Punct) {
                        push(&mut out, connector);
                    }
                    continue;
                }
                push(&mut out, connector);
                write_word(&mut out, Word::Number, number, connector);
                while matches!(kind, Word::Alphabet | Word::Number) {
                    write_word(&mut out, kind, word, connector);
                    (kind, word) = words.next();
                }
                if !matches!(kind, Word::Invalid | Word::Connector | Word::Punct) {
                    push(&mut out, connector);
                }
            }
        }
    }
    write_word(&mut out, kind, word, connector);
    out
}

/// `goutils.WrapCustom`.
fn wrap(
    ctx: &mut Context<'_>,
    whole: &[u8],
    width: i64,
    newline: &[u8],
    long_words: bool,
) -> FuncResult {
    let newline = if newline.is_empty() { b"\n" } else { newline };
    let width = size(width.max(1));
    ctx.charge_bytes(
        whole
            .len()
            .saturating_add((whole.len() / width).saturating_mul(newline.len())),
    )?;
    let bounds = |end: usize| -> FuncError {
        panic(format!(
            "runtime error: slice bounds out of range [:{end}] with length {}",
            whole.len()
        ))
    };
    let mut out = Vec::with_capacity(whole.len());
    let mut at = 0;
    while whole.len().saturating_sub(at) > width {
        if whole.get(at) == Some(&b' ') {
            at += 1;
            continue;
        }
        let end = at + width + 1;
        let window = whole.get(at..end).ok_or_else(|| bounds(end))?;
        if let Some(space) = window.iter().rposition(|b| *b == b' ') {
            out.extend_from_slice(window.get(..space).unwrap_or(b""));
            out.extend_from_slice(newline);
            at += space + 1;
        } else if long_words {
            out.extend_from_slice(window.get(..width).unwrap_or(b""));
            out.extend_from_slice(newline);
            at += width;
        } else {
            let rest = whole.get(at..).unwrap_or(b"");
            let space = rest
                .iter()
                .skip(width)
                .position(|b| *b == b' ')
                .map(|n| n + width);
            let Some(space) = space else {
                out.extend_from_slice(rest);
                at = whole.len();
                continue;
            };
            out.extend_from_slice(rest.get(..space).unwrap_or(b""));
            out.extend_from_slice(newline);
            at += space + 1;
        }
    }
    out.extend_from_slice(whole.get(at..).unwrap_or(b""));
    Ok(bytes(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    #[test]
    fn cases_are_those_of_xstrings() {
        // From the documentation of xstrings.
        for (from, to) in [
            ("FirstName", "first_name"),
            ("HTTPServer", "http_server"),
            ("NoHTTPS", "no_https"),
            ("GO_PATH", "go_path"),
            ("GO PATH", "go_path"),
            ("http2xx", "http_2xx"),
            ("HTTP20xOK", "http_20x_ok"),
            ("Duration2m3s", "duration_2m3s"),
            ("Bld4Floor3rd", "bld4_floor_3rd"),
        ] {
            assert_eq!(text(&lower_words(from.as_bytes(), '_')), to);
        }
        for (from, to) in [
            ("some_words", "SomeWords"),
            ("_complex__case_", "_Complex_Case_"),
            ("GOLANG_IS_GREAT", "GolangIsGreat"),
        ] {
            assert_eq!(text(&pascal_case(from.as_bytes())), to);
        }
    }
}
