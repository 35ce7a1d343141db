//! The lexer: template text to tokens, one function per state, no allocation but for error texts.
//!
//! Text outside of actions, trim markers, comments, numbers (loosely; the parser checks them),
//! strings, fields and keywords. Positions are byte offsets, lines count from 1. The first error
//! ends the input. Rules and error texts: `text/template/parse` of Go 1.26.

use crate::quote::quote;
use crate::runes::{decode, is_digit, is_letter, is_print};

/// Token classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tok {
    Error,
    Bool,
    Char,
    CharConstant,
    Complex,
    Assign,
    Declare,
    Eof,
    Field,
    Identifier,
    LeftDelim,
    LeftParen,
    Number,
    Pipe,
    RawString,
    RightDelim,
    RightParen,
    Space,
    String,
    Text,
    Variable,
    // Keywords.
    Block,
    Break,
    Continue,
    Dot,
    Define,
    Else,
    End,
    If,
    Nil,
    Range,
    Template,
    With,
}

impl Tok {
    fn is_keyword(self) -> bool {
        matches!(
            self,
            Self::Block
                | Self::Break
                | Self::Continue
                | Self::Dot
                | Self::Define
                | Self::Else
                | Self::End
                | Self::If
                | Self::Nil
                | Self::Range
                | Self::Template
                | Self::With
        )
    }
}

/// A token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item<'a> {
    pub(crate) kind: Tok,
    pub(crate) pos: usize,
    pub(crate) val: &'a [u8],
    pub(crate) line: usize,
    /// For [`Tok::Error`]: which of the lexer's error texts.
    error: usize,
}

const LEFT_DELIM: &[u8] = b"{{";
const RIGHT_DELIM: &[u8] = b"}}";
const LEFT_COMMENT: &[u8] = b"/*";
const RIGHT_COMMENT: &[u8] = b"*/";
/// A trim marker: the minus and the space beside it.
const TRIM_MARKER_LEN: usize = 2;

pub(crate) struct Lexer<'a> {
    input: &'a [u8],
    pos: usize,
    start: usize,
    at_eof: bool,
    paren_depth: i64,
    line: usize,
    start_line: usize,
    inside_action: bool,
    break_ok: bool,
    continue_ok: bool,
    errors: Vec<String>,
}

/// The next state, or the finished token.
enum Step<'a> {
    State(fn(&mut Lexer<'a>) -> Step<'a>),
    Done(Item<'a>),
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_space_byte(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\r' | b'\n')
}

fn is_alphanumeric(c: char) -> bool {
    c == '_' || is_letter(c) || is_digit(c)
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    let (&first, rest) = needle.split_first()?;
    let mut from = 0;
    while let Some(at) = haystack.get(from..)?.iter().position(|b| *b == first) {
        let at = from + at;
        if haystack.get(at + 1..).is_some_and(|h| h.starts_with(rest)) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

fn count_lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|b| **b == b'\n').count()
}

fn has_left_trim_marker(s: &[u8]) -> bool {
    matches!(s, [b'-', b, ..] if is_space_byte(*b))
}

fn has_right_trim_marker(s: &[u8]) -> bool {
    matches!(s, [b, b'-', ..] if is_space_byte(*b))
}

/// `%#U`: the code point and, when it can be printed, the character.
fn describe(c: char) -> String {
    let code = u32::from(c);
    if is_print(c) {
        format!("U+{code:04X} '{c}'")
    } else {
        format!("U+{code:04X}")
    }
}

impl<'a> Lexer<'a> {
    /// `break_ok` and `continue_ok`: whether these words are keywords (no function has the name).
    pub(crate) fn new(input: &'a [u8], break_ok: bool, continue_ok: bool) -> Self {
        Self {
            input,
            pos: 0,
            start: 0,
            at_eof: false,
            paren_depth: 0,
            line: 1,
            start_line: 1,
            inside_action: false,
            break_ok,
            continue_ok,
            errors: Vec::new(),
        }
    }

    /// The next token. After an error token, whatever the empty input gives.
    pub(crate) fn next_item(&mut self) -> Item<'a> {
        let mut state: fn(&mut Self) -> Step<'a> = if self.inside_action {
            Self::inside_action
        } else {
            Self::text
        };
        loop {
            match state(self) {
                Step::State(next) => state = next,
                Step::Done(item) => return item,
            }
        }
    }

    /// A token as error texts show it.
    pub(crate) fn show(&self, item: &Item<'a>) -> String {
        match item.kind {
            Tok::Eof => "EOF".to_owned(),
            Tok::Error => self.errors.get(item.error).cloned().unwrap_or_default(),
            kind if kind.is_keyword() => format!("<{}>", String::from_utf8_lossy(item.val)),
            _ if item.val.len() > 10 => {
                let mut end = 0;
                for _ in 0..10 {
                    end += decode(item.val.get(end..).unwrap_or_default()).1;
                }
                format!("{}...", quote(item.val.get(..end).unwrap_or_default()))
            }
            _ => quote(item.val),
        }
    }

    fn rest(&self) -> &'a [u8] {
        self.input.get(self.pos..).unwrap_or_default()
    }

    fn pending(&self) -> &'a [u8] {
        self.input.get(self.start..self.pos).unwrap_or_default()
    }

    /// The next code point; `None` at the end. Invalid bytes read as U+FFFD.
    fn next(&mut self) -> Option<char> {
        let (c, width) = decode(self.rest());
        if width == 0 {
            self.at_eof = true;
            return None;
        }
        self.pos += width;
        if c == Some('\n') {
            self.line += 1;
        }
        Some(c.unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn peek(&mut self) -> Option<char> {
        let (c, width) = decode(self.rest());
        if width == 0 {
            self.at_eof = true;
            return None;
        }
        Some(c.unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    /// Steps back over the code point that [`Lexer::next`] gave.
    fn backup(&mut self, c: Option<char>) {
        let Some(c) = c else { return };
        if self.at_eof || self.pos == 0 {
            return;
        }
        let width = if c == char::REPLACEMENT_CHARACTER
            && self
                .input
                .get(self.pos.wrapping_sub(3)..self.pos)
                .is_none_or(|b| b != "\u{FFFD}".as_bytes())
        {
            1
        } else {
            c.len_utf8()
        };
        self.pos -= width;
        if c == '\n' {
            self.line -= 1;
        }
    }

    fn item(&mut self, kind: Tok) -> Item<'a> {
        let item = Item {
            kind,
            pos: self.start,
            val: self.pending(),
            line: self.start_line,
            error: 0,
        };
        self.start = self.pos;
        self.start_line = self.line;
        item
    }

    fn emit(&mut self, kind: Tok) -> Step<'a> {
        Step::Done(self.item(kind))
    }

    /// Skips what was passed over without [`Lexer::next`], counting its lines.
    fn ignore(&mut self) {
        self.line += count_lines(self.pending());
        self.start = self.pos;
        self.start_line = self.line;
    }

    fn accept(&mut self, valid: &str) -> bool {
        match self.peek() {
            Some(c) if valid.contains(c) => {
                self.next();
                true
            }
            _ => false,
        }
    }

    fn accept_run(&mut self, valid: &str) {
        while self.accept(valid) {}
    }

    fn error(&mut self, text: String) -> Step<'a> {
        let item = Item {
            kind: Tok::Error,
            pos: self.start,
            val: &[],
            line: self.start_line,
            error: self.errors.len(),
        };
        self.errors.push(text);
        self.input = &[];
        self.start = 0;
        self.pos = 0;
        Step::Done(item)
    }

    fn text(&mut self) -> Step<'a> {
        if let Some(x) = find(self.rest(), LEFT_DELIM) {
            if x > 0 {
                self.pos += x;
                let after = self
                    .input
                    .get(self.pos + LEFT_DELIM.len()..)
                    .unwrap_or_default();
                let pending = self.pending();
                let trim = if has_left_trim_marker(after) {
                    pending
                        .iter()
                        .rev()
                        .take_while(|b| is_space_byte(**b))
                        .count()
                } else {
                    0
                };
                self.pos -= trim;
                self.line += count_lines(self.pending());
                let item = self.item(Tok::Text);
                self.pos += trim;
                self.ignore();
                if !item.val.is_empty() {
                    return Step::Done(item);
                }
            }
            return Step::State(Self::left_delim);
        }
        self.pos = self.input.len();
        if self.pos > self.start {
            self.line += count_lines(self.pending());
            return self.emit(Tok::Text);
        }
        self.emit(Tok::Eof)
    }

    /// Whether a right delimiter is next, and whether a trim marker comes before it.
    fn at_right_delim(&self) -> (bool, bool) {
        let rest = self.rest();
        if has_right_trim_marker(rest)
            && rest
                .get(TRIM_MARKER_LEN..)
                .is_some_and(|r| r.starts_with(RIGHT_DELIM))
        {
            return (true, true);
        }
        (rest.starts_with(RIGHT_DELIM), false)
    }

    fn skip_spaces(&mut self) {
        self.pos += self
            .rest()
            .iter()
            .take_while(|b| is_space_byte(**b))
            .count();
    }

    fn left_delim(&mut self) -> Step<'a> {
        self.pos += LEFT_DELIM.len();
        let after_marker = if has_left_trim_marker(self.rest()) {
            TRIM_MARKER_LEN
        } else {
            0
        };
        if self
            .rest()
            .get(after_marker..)
            .is_some_and(|r| r.starts_with(LEFT_COMMENT))
        {
            self.pos += after_marker;
            self.ignore();
            return Step::State(Self::comment);
        }
        let item = self.item(Tok::LeftDelim);
        self.inside_action = true;
        self.pos += after_marker;
        self.ignore();
        self.paren_depth = 0;
        Step::Done(item)
    }

    fn comment(&mut self) -> Step<'a> {
        self.pos += LEFT_COMMENT.len();
        let Some(x) = find(self.rest(), RIGHT_COMMENT) else {
            return self.error("unclosed comment".to_owned());
        };
        self.pos += x + RIGHT_COMMENT.len();
        let (delim, trim) = self.at_right_delim();
        if !delim {
            return self.error("comment ends before closing delimiter".to_owned());
        }
        self.line += count_lines(self.pending());
        self.start = self.pos;
        if trim {
            self.pos += TRIM_MARKER_LEN;
        }
        self.pos += RIGHT_DELIM.len();
        if trim {
            self.skip_spaces();
        }
        self.ignore();
        Step::State(Self::text)
    }

    fn right_delim(&mut self) -> Step<'a> {
        let (_, trim) = self.at_right_delim();
        if trim {
            self.pos += TRIM_MARKER_LEN;
            self.ignore();
        }
        self.pos += RIGHT_DELIM.len();
        let item = self.item(Tok::RightDelim);
        if trim {
            self.skip_spaces();
            self.ignore();
        }
        self.inside_action = false;
        Step::Done(item)
    }

    fn inside_action(&mut self) -> Step<'a> {
        if self.at_right_delim().0 {
            if self.paren_depth == 0 {
                return Step::State(Self::right_delim);
            }
            return self.error("unclosed left paren".to_owned());
        }
        let Some(r) = self.next() else {
            return self.error("unclosed action".to_owned());
        };
        match r {
            ' ' | '\t' | '\r' | '\n' => {
                self.backup(Some(r));
                Step::State(Self::space)
            }
            '=' => self.emit(Tok::Assign),
            ':' => {
                if self.next() == Some('=') {
                    self.emit(Tok::Declare)
                } else {
                    self.error("expected :=".to_owned())
                }
            }
            '|' => self.emit(Tok::Pipe),
            '"' => self.quoted('"', Tok::String, "unterminated quoted string"),
            '`' => self.raw_quoted(),
            '$' => {
                if self.at_terminator() {
                    self.emit(Tok::Variable)
                } else {
                    self.field_or_variable(Tok::Variable)
                }
            }
            '\'' => self.quoted('\'', Tok::CharConstant, "unterminated character constant"),
            '.' if self.rest().first().is_some_and(|b| !b.is_ascii_digit()) => {
                self.field_or_variable(Tok::Field)
            }
            '.' | '+' | '-' | '0'..='9' => {
                self.backup(Some(r));
                self.number()
            }
            '(' => {
                self.paren_depth += 1;
                self.emit(Tok::LeftParen)
            }
            ')' => {
                self.paren_depth -= 1;
                if self.paren_depth < 0 {
                    return self.error("unexpected right paren".to_owned());
                }
                self.emit(Tok::RightParen)
            }
            r if is_alphanumeric(r) => {
                self.backup(Some(r));
                self.identifier()
            }
            r if r.is_ascii() && is_print(r) => self.emit(Tok::Char),
            r => self.error(format!("unrecognized character in action: {}", describe(r))),
        }
    }

    fn space(&mut self) -> Step<'a> {
        let mut spaces = 0;
        while let Some(r) = self.peek() {
            if !is_space(r) {
                break;
            }
            self.next();
            spaces += 1;
        }
        // The last space may belong to a trim-marked right delimiter.
        let from_last = self.input.get(self.pos - 1..).unwrap_or_default();
        if has_right_trim_marker(from_last)
            && from_last
                .get(TRIM_MARKER_LEN..)
                .is_some_and(|r| r.starts_with(RIGHT_DELIM))
        {
            let last = from_last.first().copied().map(char::from);
            self.backup(last);
            if spaces == 1 {
                return Step::State(Self::right_delim);
            }
        }
        self.emit(Tok::Space)
    }

    fn identifier(&mut self) -> Step<'a> {
        let r = loop {
            match self.peek() {
                Some(r) if is_alphanumeric(r) => {
                    self.next();
                }
                r => break r,
            }
        };
        if !self.at_terminator() {
            return self.error(bad_character(r));
        }
        let kind = match self.pending() {
            b"block" => Tok::Block,
            b"break" if self.break_ok => Tok::Break,
            b"continue" if self.continue_ok => Tok::Continue,
            b"define" => Tok::Define,
            b"else" => Tok::Else,
            b"end" => Tok::End,
            b"if" => Tok::If,
            b"range" => Tok::Range,
            b"nil" => Tok::Nil,
            b"template" => Tok::Template,
            b"with" => Tok::With,
            b"true" | b"false" => Tok::Bool,
            _ => Tok::Identifier,
        };
        self.emit(kind)
    }

    fn field_or_variable(&mut self, kind: Tok) -> Step<'a> {
        if self.at_terminator() {
            return self.emit(if kind == Tok::Variable {
                Tok::Variable
            } else {
                Tok::Dot
            });
        }
        let r = loop {
            match self.peek() {
                Some(r) if is_alphanumeric(r) => {
                    self.next();
                }
                r => break r,
            }
        };
        if !self.at_terminator() {
            return self.error(bad_character(r));
        }
        self.emit(kind)
    }

    /// Whether what follows may end an identifier.
    fn at_terminator(&mut self) -> bool {
        match self.peek() {
            None => true,
            Some(r) if is_space(r) => true,
            Some('.' | ',' | '|' | ':' | ')' | '(') => true,
            Some(_) => self.rest().starts_with(RIGHT_DELIM),
        }
    }

    fn quoted(&mut self, end: char, kind: Tok, unterminated: &str) -> Step<'a> {
        loop {
            match self.next() {
                Some('\\') => match self.next() {
                    None | Some('\n') => return self.error(unterminated.to_owned()),
                    Some(_) => {}
                },
                None | Some('\n') => return self.error(unterminated.to_owned()),
                Some(c) if c == end => return self.emit(kind),
                Some(_) => {}
            }
        }
    }

    fn raw_quoted(&mut self) -> Step<'a> {
        loop {
            match self.next() {
                None => return self.error("unterminated raw quoted string".to_owned()),
                Some('`') => return self.emit(Tok::RawString),
                Some(_) => {}
            }
        }
    }

    fn number(&mut self) -> Step<'a> {
        if !self.scan_number() {
            return self.bad_number();
        }
        if let Some('+' | '-') = self.peek() {
            // Complex: 1+2i. No spaces, must end in 'i'.
            if !self.scan_number() || self.pending().last() != Some(&b'i') {
                return self.bad_number();
            }
            return self.emit(Tok::Complex);
        }
        self.emit(Tok::Number)
    }

    fn bad_number(&mut self) -> Step<'a> {
        let text = format!("bad number syntax: {}", quote(self.pending()));
        self.error(text)
    }

    fn scan_number(&mut self) -> bool {
        const DECIMAL: &str = "0123456789_";
        const HEX: &str = "0123456789abcdefABCDEF_";
        self.accept("+-");
        let mut digits = DECIMAL;
        if self.accept("0") {
            if self.accept("xX") {
                digits = HEX;
            } else if self.accept("oO") {
                digits = "01234567_";
            } else if self.accept("bB") {
                digits = "01_";
            }
        }
        self.accept_run(digits);
        if self.accept(".") {
            self.accept_run(digits);
        }
        if (digits == DECIMAL && self.accept("eE")) || (digits == HEX && self.accept("pP")) {
            self.accept("+-");
            self.accept_run(DECIMAL);
        }
        self.accept("i");
        if let Some(r) = self.peek()
            && is_alphanumeric(r)
        {
            self.next();
            return false;
        }
        true
    }
}

fn bad_character(r: Option<char>) -> String {
    match r {
        Some(r) => format!("bad character {}", describe(r)),
        None => "bad character U+FFFFFFFFFFFFFFFF".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(Tok, String)> {
        let mut lexer = Lexer::new(text.as_bytes(), true, true);
        let mut out = Vec::new();
        loop {
            let item = lexer.next_item();
            let shown = match item.kind {
                Tok::Error => lexer.show(&item),
                _ => String::from_utf8_lossy(item.val).into_owned(),
            };
            out.push((item.kind, shown));
            if matches!(item.kind, Tok::Eof | Tok::Error) {
                return out;
            }
        }
    }

    #[test]
    fn trim_markers_take_the_space_around_an_action() {
        let tokens = kinds("a \n{{- .X -}} \t b");
        let texts: Vec<_> = tokens
            .iter()
            .filter(|(k, _)| *k == Tok::Text)
            .map(|(_, t)| t.as_str())
            .collect();
        assert_eq!(texts, ["a", "b"]);
    }

    #[test]
    fn a_minus_without_space_is_a_number() {
        let tokens = kinds("{{-3}}");
        assert_eq!(tokens.get(1), Some(&(Tok::Number, "-3".to_owned())));
    }

    #[test]
    fn errors_have_gos_words() {
        for (text, error) in [
            ("{{", "unclosed action"),
            ("{{ (1 }}", "unclosed left paren"),
            ("{{ 1) }}", "unexpected right paren"),
            ("{{/* a", "unclosed comment"),
            ("{{/* a */ }}", "comment ends before closing delimiter"),
            ("{{ ½ }}", "unrecognized character in action: U+00BD '½'"),
            ("{{ 3x }}", "bad number syntax: \"3x\""),
            ("{{ \"a\n\" }}", "unterminated quoted string"),
            ("{{ a:b }}", "expected :="),
        ] {
            assert_eq!(
                kinds(text).last(),
                Some(&(Tok::Error, error.to_owned())),
                "{text}"
            );
        }
    }
}
