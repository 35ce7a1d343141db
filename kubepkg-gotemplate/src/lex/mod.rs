//! The lexer: template text to tokens, one function per state, no allocation but for error texts.
//!
//! Text outside of actions, trim markers, comments, numbers (loosely; the parser checks them),
//! strings, fields and keywords. Positions are byte offsets; lines are counted when an error is
//! told. The first error ends the input. Rules and error texts: `text/template/parse` of Go 1.26.

mod states;

use crate::quote::quote;
use crate::runes::decode;

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
    /// For [`Tok::Error`]: which of the lexer's error texts.
    error: usize,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "the lexer's state is these bits"
)]
pub(crate) struct Lexer<'a> {
    input: &'a [u8],
    pos: usize,
    start: usize,
    at_eof: bool,
    paren_depth: i64,
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

impl<'a> Lexer<'a> {
    /// `break_ok` and `continue_ok`: whether these words are keywords (no function has the name).
    pub(crate) fn new(input: &'a [u8], break_ok: bool, continue_ok: bool) -> Self {
        Self {
            input,
            pos: 0,
            start: 0,
            at_eof: false,
            paren_depth: 0,
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
    }

    fn item(&mut self, kind: Tok) -> Item<'a> {
        let item = Item {
            kind,
            pos: self.start,
            val: self.pending(),
            error: 0,
        };
        self.start = self.pos;
        item
    }

    fn emit(&mut self, kind: Tok) -> Step<'a> {
        Step::Done(self.item(kind))
    }

    /// Skips what was passed over.
    fn ignore(&mut self) {
        self.start = self.pos;
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
            error: self.errors.len(),
        };
        self.errors.push(text);
        self.input = self.input.get(..self.start).unwrap_or_default();
        self.pos = self.start;
        Step::Done(item)
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
