//! How a scalar may be written, and the four ways of writing it.
//!
//! [`analyze`] looks at the text once, [`select`] goes down a ladder (plain, single-quoted,
//! double-quoted; literal or double-quoted for text with line breaks), and the writers fold lines
//! at the first single space after column 80. The rules, and the odd cases (U+0085, U+2028, a
//! text that begins with U+FEFF), are those of libyaml's emitter as go-yaml v2 has them.

use std::fmt::Write as _;

use crate::emit::Emitter;

const WIDTH: usize = 80;

/// The ways to write a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

/// What a text allows.
#[derive(Debug, Clone, Copy)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent facts about one text"
)]
pub(crate) struct Analysis {
    /// It has a line break.
    pub(crate) multiline: bool,
    plain: bool,
    single: bool,
    block: bool,
}

fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{A0}'..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}')
        && c != '\u{FEFF}'
}

/// Whether a byte says nothing about a text in which it is not the first.
fn is_ordinary(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~') && byte != b'#' && byte != b':'
}

/// Length of the words of ordinary bytes in front, with single spaces between them.
fn words_length(text: &[u8]) -> usize {
    let mut rest = text;
    loop {
        let word = rest.iter().position(|&byte| !is_ordinary(byte));
        let word = word.unwrap_or(rest.len());
        match rest.get(word..).unwrap_or_default() {
            [b' ', next, ..] if word > 0 && is_ordinary(*next) => {
                rest = rest.get(word + 1..).unwrap_or_default();
            }
            after => return text.len() - after.len(),
        }
    }
}

/// Looks at a text.
pub(crate) fn analyze(text: &str) -> Analysis {
    let mut facts = Analysis {
        multiline: false,
        plain: true,
        single: true,
        block: true,
    };
    let Some(first) = text.chars().next() else {
        facts.block = false;
        return facts;
    };
    let bytes = text.as_bytes();
    let blank_at = |at: usize| matches!(bytes.get(at), None | Some(b' ' | b'\t'));
    let mut indicators = match first {
        ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@'
        | '`' => true,
        '?' | '-' => blank_at(1) || text.starts_with("---"),
        '.' => text.starts_with("..."),
        _ => false,
    };
    let mut special = false;
    let (mut break_space, mut space_break) = (false, false);
    let (mut after_space, mut after_break) = (false, false);
    let mut after_whitespace = true;
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let words = words_length(rest);
        if words > 0 {
            (after_space, after_break, after_whitespace) = (false, false, false);
            at += words;
            continue;
        }
        let spaces = rest.iter().take_while(|&&byte| byte == b' ').count();
        if spaces > 0 {
            break_space |= after_break;
            (after_space, after_break, after_whitespace) = (true, false, true);
            at += spaces;
            continue;
        }
        let c = text.get(at..).and_then(|rest| rest.chars().next());
        let c = c.unwrap_or_default();
        at += c.len_utf8();
        indicators |= match c {
            '#' => after_whitespace,
            ':' => blank_at(at),
            _ => false,
        };
        special |= !is_printable(c);
        if is_break(c) {
            facts.multiline = true;
            space_break |= after_space;
            (after_space, after_break, after_whitespace) = (false, true, true);
        } else {
            (after_space, after_break, after_whitespace) = (false, false, c == '\t');
        }
    }
    let last = text.chars().next_back().unwrap_or_default();
    let edge = |c: char| c == ' ' || is_break(c);
    facts.plain = !(edge(first) || edge(last) || break_space || facts.multiline || indicators);
    facts.single = !break_space;
    facts.block = last != ' ';
    if space_break || special {
        facts.plain = false;
        facts.single = false;
        facts.block = false;
    }
    facts
}

/// The style for a text that would like to be written in `wanted`.
pub(crate) fn select(wanted: Style, text: &str, facts: Analysis, simple_key: bool) -> Style {
    let mut style = wanted;
    if simple_key && facts.multiline {
        style = Style::Double;
    }
    if style == Style::Plain && (!facts.plain || (text.is_empty() && simple_key)) {
        style = Style::Single;
    }
    if style == Style::Single && !facts.single {
        style = Style::Double;
    }
    if style == Style::Literal && (!facts.block || simple_key) {
        style = Style::Double;
    }
    style
}

/// Walks a text by runs: stretches that need no attention go out at once.
fn write_run(emitter: &mut Emitter, text: &str) {
    let columns = if text.is_ascii() {
        text.len()
    } else {
        text.chars().count()
    };
    emitter.put(text, columns);
}

/// Writes a plain scalar.
pub(crate) fn plain(emitter: &mut Emitter, text: &str, breaks_allowed: bool) {
    if !emitter.whitespace {
        emitter.put(" ", 1);
    }
    flowing(emitter, text, breaks_allowed, false);
    emitter.whitespace = false;
    emitter.indention = false;
}

/// Writes a single-quoted scalar.
pub(crate) fn single(emitter: &mut Emitter, text: &str, breaks_allowed: bool) {
    emitter.indicator("'", true, false, false);
    flowing(emitter, text, breaks_allowed, true);
    emitter.indicator("'", false, false, false);
}

/// The text of a plain or single-quoted scalar.
fn flowing(emitter: &mut Emitter, text: &str, breaks_allowed: bool, quoted: bool) {
    let (mut after_space, mut after_break) = (false, false);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c == ' ' {
            let tail = rest.get(1..).unwrap_or_default();
            let inside = !quoted || (rest.len() < text.len() && !tail.is_empty());
            let fold = breaks_allowed
                && !after_space
                && emitter.column > WIDTH
                && inside
                && !tail.starts_with(' ');
            if fold {
                emitter.write_indent();
            } else {
                emitter.put(" ", 1);
            }
            after_space = true;
            rest = tail;
            continue;
        }
        if is_break(c) {
            if !after_break && c == '\n' {
                emitter.newline();
            }
            write_break(emitter, c);
            emitter.indention = true;
            after_break = true;
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
            continue;
        }
        if after_break {
            emitter.write_indent();
        }
        // Up to the width no space is folded, so words and spaces go out together.
        let room = if breaks_allowed {
            (WIDTH + 1).saturating_sub(emitter.column)
        } else {
            rest.len()
        };
        let near = rest.as_bytes().get(..room).unwrap_or(rest.as_bytes());
        let stretch = near
            .iter()
            .position(|&byte| byte < b' ' || !byte.is_ascii() || (quoted && byte == b'\''));
        let stretch = stretch.unwrap_or(near.len());
        if let Some((head, tail)) = rest.split_at_checked(stretch)
            && !head.is_empty()
        {
            emitter.put(head, head.len());
            emitter.indention = false;
            (after_space, after_break) = (head.ends_with(' '), false);
            rest = tail;
            continue;
        }
        let end = rest
            .bytes()
            .position(|byte| match byte {
                b' ' | b'\n' | b'\r' | 0xC2 | 0xE2 => true,
                b'\'' => quoted,
                _ => false,
            })
            .unwrap_or(rest.len());
        let run = if end == 0 { c.len_utf8() } else { end };
        let (head, tail) = rest.split_at_checked(run).unwrap_or((rest, ""));
        if quoted && c == '\'' {
            emitter.put("'", 1);
        }
        write_run(emitter, head);
        emitter.indention = false;
        (after_space, after_break) = (false, false);
        rest = tail;
    }
}

fn write_break(emitter: &mut Emitter, c: char) {
    if c == '\n' {
        emitter.newline();
    } else {
        emitter.out.push(c);
        emitter.column = 0;
    }
}

/// Writes a double-quoted scalar.
pub(crate) fn double(emitter: &mut Emitter, text: &str, breaks_allowed: bool) {
    emitter.indicator("\"", true, false, false);
    // libyaml tests for a byte order mark at the start of the text instead of at the character.
    let escape_all = text.starts_with('\u{FEFF}');
    let mut after_space = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if escape_all || !is_printable(c) || is_break(c) || c == '"' || c == '\\' {
            let before = emitter.out.len();
            escape(&mut emitter.out, c);
            emitter.column += emitter.out.len() - before;
            after_space = false;
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
            continue;
        }
        if c == ' ' {
            let tail = rest.get(1..).unwrap_or_default();
            let inside = rest.len() < text.len() && !tail.is_empty();
            if breaks_allowed && !after_space && emitter.column > WIDTH && inside {
                emitter.write_indent();
                if tail.starts_with(' ') {
                    emitter.put("\\", 1);
                }
            } else {
                emitter.put(" ", 1);
            }
            after_space = true;
            rest = tail;
            continue;
        }
        let end = rest
            .char_indices()
            .find(|&(_, c)| c == ' ' || c == '"' || c == '\\' || !is_printable(c) || is_break(c))
            .map_or(rest.len(), |(at, _)| at);
        let (head, tail) = rest.split_at_checked(end).unwrap_or((rest, ""));
        write_run(emitter, head);
        after_space = false;
        rest = tail;
    }
    emitter.indicator("\"", false, false, false);
}

fn escape(out: &mut String, c: char) {
    let short = match c {
        '\0' => "\\0",
        '\u{7}' => "\\a",
        '\u{8}' => "\\b",
        '\t' => "\\t",
        '\n' => "\\n",
        '\u{B}' => "\\v",
        '\u{C}' => "\\f",
        '\r' => "\\r",
        '\u{1B}' => "\\e",
        '"' => "\\\"",
        '\\' => "\\\\",
        '\u{85}' => "\\N",
        '\u{A0}' => "\\_",
        '\u{2028}' => "\\L",
        '\u{2029}' => "\\P",
        _ => "",
    };
    out.push_str(short);
    if short.is_empty() {
        let code = u32::from(c);
        let _ = match code {
            0..=0xFF => write!(out, "\\x{code:02X}"),
            0x100..=0xFFFF => write!(out, "\\u{code:04X}"),
            _ => write!(out, "\\U{code:08X}"),
        };
    }
}

/// Writes a literal block scalar.
pub(crate) fn literal(emitter: &mut Emitter, text: &str) {
    emitter.indicator("|", true, false, false);
    if text.starts_with([' ', '\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']) {
        emitter.indicator("2", false, false, false);
    }
    let mut back = text.chars().rev();
    match (back.next().is_some_and(is_break), back.next()) {
        (false, _) => emitter.indicator("-", false, false, false),
        (true, None) => emitter.indicator("+", false, false, false),
        (true, Some(c)) if is_break(c) => emitter.indicator("+", false, false, false),
        (true, Some(_)) => {}
    }
    emitter.newline();
    emitter.indention = true;
    emitter.whitespace = true;
    let mut after_break = true;
    // Bytes up to the next LF or CR once looked for: there may be many other breaks before it.
    let mut ascii_line = 0_usize;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if is_break(c) {
            write_break(emitter, c);
            emitter.indention = true;
            after_break = true;
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
            ascii_line = ascii_line.saturating_sub(c.len_utf8());
            continue;
        }
        if after_break {
            emitter.write_indent();
        }
        if ascii_line == 0 {
            let next = memchr::memchr2(b'\n', b'\r', rest.as_bytes());
            ascii_line = next.unwrap_or(rest.len());
        }
        let line = rest.get(..ascii_line).unwrap_or(rest);
        let end = if line.is_ascii() {
            line.len()
        } else {
            line.find(is_break).unwrap_or(line.len())
        };
        ascii_line -= end;
        let (head, tail) = rest.split_at_checked(end).unwrap_or((rest, ""));
        write_run(emitter, head);
        emitter.indention = false;
        after_break = false;
        rest = tail;
    }
}
