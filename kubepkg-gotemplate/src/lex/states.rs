//! The states of the lexer, each a function that gives the next state or a finished token.

use super::{Lexer, Step, Tok};
use crate::quote::quote;
use crate::runes::{is_digit, is_letter, is_print};

const LEFT_DELIM: [u8; 2] = *b"{{";
const RIGHT_DELIM: &[u8] = b"}}";
const LEFT_COMMENT: &[u8] = b"/*";
const RIGHT_COMMENT: [u8; 2] = *b"*/";
/// A trim marker: the minus and the space beside it.
const TRIM_MARKER_LEN: usize = 2;

fn is_space_byte(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\r' | b'\n')
}

/// The bytes that are letters, digits or the underscore.
const WORD: [bool; 256] = {
    let mut word = [false; 256];
    let mut b = 0;
    while b < 128 {
        word[b as usize] = b == b'_' || b.is_ascii_alphanumeric();
        b += 1;
    }
    word
};

fn is_word_byte(b: u8) -> bool {
    WORD.get(usize::from(b)).copied().unwrap_or_default()
}

fn is_alphanumeric(c: char) -> bool {
    c == '_' || is_letter(c) || is_digit(c)
}

/// Where two bytes stand one behind the other.
fn find(haystack: &[u8], [first, second]: [u8; 2]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr(first, haystack.get(at..)?)?;
        if haystack.get(at + 1) == Some(&second) {
            return Some(at);
        }
        at += 1;
    }
}

fn has_left_trim_marker(s: &[u8]) -> bool {
    matches!(s, [b'-', b, ..] if is_space_byte(*b))
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
    pub(super) fn text(&mut self) -> Step<'a> {
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
            return self.emit(Tok::Text);
        }
        self.emit(Tok::Eof)
    }

    /// Whether a right delimiter is next, and whether a trim marker comes before it.
    fn at_right_delim(&self) -> (bool, bool) {
        match self.rest() {
            [b'}', b'}', ..] => (true, false),
            [b, b'-', b'}', b'}', ..] => (is_space_byte(*b), true),
            _ => (false, false),
        }
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
            .is_some_and(|r| matches!(r, [b'/', b'*', ..]))
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

    pub(super) fn inside_action(&mut self) -> Step<'a> {
        // Most of what actions are made of.
        match self.rest() {
            [b'.', b, ..] if is_word_byte(*b) && !b.is_ascii_digit() => {
                self.pos += 1;
                return self.field_or_variable(Tok::Field);
            }
            [b, ..] if is_word_byte(*b) && !b.is_ascii_digit() => return self.identifier(),
            _ => {}
        }
        if self.at_right_delim().0 {
            if self.paren_depth == 0 {
                return Step::State(Self::right_delim);
            }
            return self.error("unclosed left paren".to_owned());
        }
        if self.rest().first().is_some_and(|b| is_space_byte(*b)) {
            return self.space();
        }
        let Some(r) = self.next() else {
            return self.error("unclosed action".to_owned());
        };
        match r {
            '=' => self.emit(Tok::Assign),
            ':' => {
                if self.next() == Some('=') {
                    self.emit(Tok::Declare)
                } else {
                    self.error("expected :=".to_owned())
                }
            }
            '|' => self.emit(Tok::Pipe),
            '"' => self.quoted(b'"', Tok::String, "unterminated quoted string"),
            '`' => self.raw_quoted(),
            '$' => {
                if self.at_terminator() {
                    self.emit(Tok::Variable)
                } else {
                    self.field_or_variable(Tok::Variable)
                }
            }
            '\'' => self.quoted(b'\'', Tok::CharConstant, "unterminated character constant"),
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
        self.skip_spaces();
        // The last space may belong to a trim-marked right delimiter.
        if self.rest().starts_with(b"-}}") {
            self.pos -= 1;
            if self.pos == self.start {
                return Step::State(Self::right_delim);
            }
        }
        self.emit(Tok::Space)
    }

    /// Passes over letters, digits and underscores.
    fn word(&mut self) {
        loop {
            let rest = self.rest();
            let end = rest.iter().position(|b| !is_word_byte(*b));
            self.pos += end.unwrap_or(rest.len());
            if end.and_then(|end| rest.get(end)).is_none_or(u8::is_ascii)
                || !self.peek().is_some_and(is_alphanumeric)
            {
                return;
            }
            self.next();
        }
    }

    fn identifier(&mut self) -> Step<'a> {
        self.word();
        if !self.at_terminator() {
            return self.bad_character();
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
        self.word();
        if !self.at_terminator() {
            return self.bad_character();
        }
        self.emit(kind)
    }

    /// Whether what follows may end an identifier.
    fn at_terminator(&mut self) -> bool {
        match self.rest() {
            [] => {
                self.at_eof = true;
                true
            }
            [
                b'.' | b',' | b'|' | b':' | b')' | b'(' | b' ' | b'\t' | b'\r' | b'\n',
                ..,
            ]
            | [b'}', b'}', ..] => true,
            _ => false,
        }
    }

    fn bad_character(&mut self) -> Step<'a> {
        let text = match self.peek() {
            Some(r) => format!("bad character {}", describe(r)),
            None => "bad character U+FFFFFFFFFFFFFFFF".to_owned(),
        };
        self.error(text)
    }

    fn quoted(&mut self, end: u8, kind: Tok, unterminated: &str) -> Step<'a> {
        while let Some(at) = memchr::memchr3(end, b'\\', b'\n', self.rest()) {
            let found = self.rest().get(at).copied();
            self.pos += at + 1;
            if found == Some(end) {
                return self.emit(kind);
            }
            // What follows a backslash belongs to it, but neither a line nor the text may end there.
            if found != Some(b'\\') || matches!(self.rest(), [] | [b'\n', ..]) {
                break;
            }
            self.pos += 1;
        }
        self.error(unterminated.to_owned())
    }

    fn raw_quoted(&mut self) -> Step<'a> {
        match memchr::memchr(b'`', self.rest()) {
            Some(at) => {
                self.pos += at + 1;
                self.emit(Tok::RawString)
            }
            None => self.error("unterminated raw quoted string".to_owned()),
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
