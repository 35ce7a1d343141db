//! Plain, quoted and block scalars: line folding, escapes, indentation, chomping.
//!
//! A scalar that stands on one line without escapes is borrowed from the text. The folding rules
//! are YAML 1.1's as libyaml has them: a single break becomes a space, further breaks are kept, a
//! line or paragraph separator (U+2028, U+2029) is kept as it is.

use std::borrow::Cow;

use super::{ScalarStyle, Scanner, Token, TokenKind};
use crate::error::Fault;
use crate::read::Mark;

/// Stops of a run in a plain scalar outside flow collections.
pub(super) const PLAIN: u8 = 1;
/// Stops of a run in a plain scalar inside flow collections.
const FLOW: u8 = 2;
/// Stops of a run between single quotes.
const SINGLE: u8 = 4;
/// Stops of a run between double quotes.
const DOUBLE: u8 = 8;

/// For each byte, in which scalars it needs a closer look.
const STOPS: [u8; 256] = {
    let mut stops = [0; 256];
    let mut byte = 0_u8;
    loop {
        stops[byte as usize] = match byte {
            0..=b' ' | 0x7F..=0xFF => PLAIN | FLOW | SINGLE | DOUBLE,
            b':' => PLAIN | FLOW,
            b',' | b'?' | b'[' | b']' | b'{' | b'}' => FLOW,
            b'\'' => SINGLE,
            b'"' | b'\\' => DOUBLE,
            _ => 0,
        };
        match byte.checked_add(1) {
            Some(next) => byte = next,
            None => break stops,
        }
    }
};

/// Length of the text in front that cannot end a scalar, whose stops are `stops`: bytes that are
/// no stop, and single spaces and colons between such bytes (a `#` after a space is a comment).
pub(super) fn run_length(text: &[u8], stops: u8) -> usize {
    let stands = |byte: u8| STOPS[usize::from(byte)] & stops != 0;
    let mut rest = text;
    loop {
        let at = rest.iter().position(|&byte| stands(byte));
        rest = rest.get(at.unwrap_or(rest.len())..).unwrap_or_default();
        match rest {
            [b' ' | b':', next, after @ ..] if !stands(*next) && *next != b'#' => rest = after,
            _ => return text.len() - rest.len(),
        }
    }
}

/// Whether a line ends here and the next one has text: the spaces before that text.
fn line_end(text: &[u8]) -> Option<usize> {
    let [b'\n', below @ ..] = text else {
        return None;
    };
    let spaces = below.iter().position(|&byte| byte != b' ')?;
    let has_text = below.get(spaces).is_some_and(u8::is_ascii_graphic);
    has_text.then_some(spaces)
}

/// Text of a scalar: borrowed as long as it is one stretch of the input.
struct Collected {
    owned: Option<String>,
    /// The stretch of input that follows what is owned, as byte positions.
    from: usize,
    to: usize,
}

impl Collected {
    fn at(pos: usize) -> Self {
        Collected {
            owned: None,
            from: pos,
            to: pos,
        }
    }

    /// Closes the current stretch, adds `text`, and goes on at `pos`.
    fn splice(&mut self, scanner: &Scanner<'_>, text: &[&str], pos: usize) {
        let owned = self.owned.get_or_insert_with(String::new);
        owned.push_str(scanner.reader.slice(self.from, self.to));
        for part in text {
            owned.push_str(part);
        }
        self.from = pos;
        self.to = pos;
    }

    fn finish<'a>(self, scanner: &Scanner<'a>) -> Cow<'a, str> {
        let rest = scanner.reader.slice(self.from, self.to);
        match self.owned {
            None => Cow::Borrowed(rest),
            Some(mut owned) => {
                owned.push_str(rest);
                Cow::Owned(owned)
            }
        }
    }
}

/// Line breaks between two pieces of a scalar.
#[derive(Default)]
struct Breaks {
    first: &'static str,
    rest: String,
}

impl Breaks {
    /// Takes one more break.
    fn add(breaks: &mut Option<Self>, taken: &'static str) {
        match breaks {
            None => {
                *breaks = Some(Self {
                    first: taken,
                    rest: String::new(),
                });
            }
            Some(breaks) => breaks.rest.push_str(taken),
        }
    }

    /// What the breaks become between two words.
    fn folded(&self) -> [&str; 2] {
        match (self.first, self.rest.is_empty()) {
            ("\n", true) => [" ", ""],
            ("\n", false) => ["", &self.rest],
            (other, _) => [other, &self.rest],
        }
    }
}

impl<'a> Scanner<'a> {
    pub(super) fn scan_plain(&mut self) -> Result<Token<'a>, Fault> {
        let start = self.reader.mark();
        let indent = self.indent + 1;
        let stops = if self.flow_level > 0 { FLOW } else { PLAIN };
        let ready = self.reader.ready();
        let run = run_length(ready, stops);
        let below = ready.get(run..).unwrap_or_default();
        if let Some(spaces) = line_end(below).filter(|_| self.flow_level == 0)
            && i64::try_from(spaces).is_ok_and(|column| column < indent)
        {
            return Ok(self.take_plain_line(start, run, spaces));
        }
        let mut run = Some(run);
        let mut end = start;
        let mut text = Collected::at(self.reader.pos());
        let mut breaks: Option<Breaks> = None;
        loop {
            self.reader.ensure(4)?;
            if self.at_document_marker() || self.reader.byte(0) == b'#' {
                break;
            }
            if self.plain_ends() {
                if !(self.reader.is_blank(0) || self.reader.is_break()) {
                    break;
                }
            } else {
                if let Some(between) = breaks.take() {
                    text.splice(self, &between.folded(), self.reader.pos());
                }
                self.plain_run(run.take(), stops)?;
                text.to = self.reader.pos();
                end = self.reader.mark();
            }
            if !(self.reader.is_blank(0) || self.reader.is_break()) {
                break;
            }
            self.reader.ensure(1)?;
            while self.reader.is_blank(0) || self.reader.is_break() {
                if self.reader.byte(0) == b' ' {
                    self.reader.skip_spaces(usize::MAX)?;
                    continue;
                }
                if self.reader.byte(0) == b'\t' {
                    if breaks.is_some() && i64::from(self.reader.column()) < indent {
                        return self
                            .fault(start, "found a tab character that violates indentation");
                    }
                    self.reader.skip_ascii(1);
                } else {
                    self.reader.ensure(2)?;
                    Breaks::add(&mut breaks, self.reader.take_break());
                }
                self.reader.ensure(1)?;
            }
            if self.flow_level == 0 && i64::from(self.reader.column()) < indent {
                break;
            }
        }
        if breaks.is_some() {
            self.simple_key_allowed = true;
        }
        let value = text.finish(self);
        Ok(Token {
            kind: TokenKind::Scalar {
                value,
                style: ScalarStyle::Plain,
            },
            start,
            end,
        })
    }

    /// Whether the character here cannot belong to a plain scalar.
    fn plain_ends(&self) -> bool {
        match self.reader.byte(0) {
            b':' => self.reader.is_blank_or_end(1),
            b',' | b'?' | b'[' | b']' | b'{' | b'}' => self.flow_level > 0,
            _ => self.reader.is_blank_or_end(0),
        }
    }

    /// Takes a plain scalar that ends with its line, and the indentation of the next line: nearly
    /// all do.
    fn take_plain_line(&mut self, start: Mark, length: usize, spaces: usize) -> Token<'a> {
        let from = self.reader.pos();
        self.reader.skip_ascii(length);
        let end = self.reader.mark();
        self.reader.take_break();
        self.reader.skip_ascii(spaces);
        self.simple_key_allowed = true;
        Token {
            kind: TokenKind::Scalar {
                value: Cow::Borrowed(self.reader.slice(from, from + length)),
                style: ScalarStyle::Plain,
            },
            start,
            end,
        }
    }

    /// Passes characters up to the next blank, break or ending indicator. `run` is the length of
    /// the first run, if it is known.
    fn plain_run(&mut self, mut run: Option<usize>, stops: u8) -> Result<(), Fault> {
        loop {
            let run = run.take();
            let run = run.unwrap_or_else(|| run_length(self.reader.ready(), stops));
            self.reader.skip_ascii(run);
            self.reader.ensure(2)?;
            if self.plain_ends() {
                return Ok(());
            }
            self.reader.skip();
            self.reader.ensure(2)?;
        }
    }

    pub(super) fn scan_quoted(&mut self, single: bool) -> Result<Token<'a>, Fault> {
        let start = self.reader.mark();
        self.reader.skip();
        let quote = if single { b'\'' } else { b'"' };
        let mut text = Collected::at(self.reader.pos());
        loop {
            self.reader.ensure(4)?;
            if self.at_document_marker() {
                return self.fault(start, "found unexpected document indicator");
            }
            if self.reader.is_end() {
                return self.fault(start, "found unexpected end of stream");
            }
            let escaped_break = self.quoted_run(single, start, &mut text)?;
            self.reader.ensure(1)?;
            if self.reader.byte(0) == quote {
                break;
            }
            // An escaped break stands for nothing, and takes the blanks after it along.
            let mut breaks = escaped_break.then(Breaks::default);
            while self.reader.is_blank(0) || self.reader.is_break() {
                if self.reader.is_blank(0) {
                    self.reader.skip_ascii(1);
                } else {
                    self.reader.ensure(2)?;
                    Breaks::add(&mut breaks, self.reader.take_break());
                }
                self.reader.ensure(1)?;
            }
            match breaks {
                Some(breaks) => text.splice(self, &breaks.folded(), self.reader.pos()),
                None => text.to = self.reader.pos(),
            }
        }
        let value = text.finish(self);
        self.reader.skip();
        let end = self.reader.mark();
        let style = if single {
            ScalarStyle::SingleQuoted
        } else {
            ScalarStyle::DoubleQuoted
        };
        Ok(Token {
            kind: TokenKind::Scalar { value, style },
            start,
            end,
        })
    }

    /// Takes characters up to the next blank, break or closing quote. True: it ended with an
    /// escaped line break, which is passed.
    fn quoted_run(
        &mut self,
        single: bool,
        start: Mark,
        text: &mut Collected,
    ) -> Result<bool, Fault> {
        let stops = if single { SINGLE } else { DOUBLE };
        loop {
            let run = run_length(self.reader.ready(), stops);
            self.reader.skip_ascii(run);
            self.reader.ensure(2)?;
            text.to = self.reader.pos();
            if self.reader.is_blank_or_end(0) {
                return Ok(false);
            }
            match self.reader.byte(0) {
                b'\'' if single => {
                    if self.reader.byte(1) != b'\'' {
                        return Ok(false);
                    }
                    self.reader.skip();
                    self.reader.skip();
                    text.splice(self, &["'"], self.reader.pos());
                }
                b'"' if !single => return Ok(false),
                b'\\' if !single => {
                    if self.reader.break_len(1) != 0 {
                        self.reader.ensure(3)?;
                        self.reader.skip();
                        self.reader.take_break();
                        text.splice(self, &[], self.reader.pos());
                        return Ok(true);
                    }
                    let value = self.take_escape(start)?;
                    let mut utf8 = [0; 4];
                    text.splice(self, &[value.encode_utf8(&mut utf8)], self.reader.pos());
                }
                _ => {
                    self.reader.skip();
                    text.to = self.reader.pos();
                }
            }
            self.reader.ensure(2)?;
        }
    }

    fn take_escape(&mut self, start: Mark) -> Result<char, Fault> {
        let (length, value) = match self.reader.byte(1) {
            b'0' => (0, '\0'),
            b'a' => (0, '\u{7}'),
            b'b' => (0, '\u{8}'),
            b't' | b'\t' => (0, '\t'),
            b'n' => (0, '\n'),
            b'v' => (0, '\u{B}'),
            b'f' => (0, '\u{C}'),
            b'r' => (0, '\r'),
            b'e' => (0, '\u{1B}'),
            b' ' => (0, ' '),
            b'"' => (0, '"'),
            b'\'' => (0, '\''),
            b'\\' => (0, '\\'),
            b'N' => (0, '\u{85}'),
            b'_' => (0, '\u{A0}'),
            b'L' => (0, '\u{2028}'),
            b'P' => (0, '\u{2029}'),
            b'x' => (2, '\0'),
            b'u' => (4, '\0'),
            b'U' => (8, '\0'),
            _ => return self.fault(start, "found unknown escape character"),
        };
        self.reader.skip();
        self.reader.skip();
        if length == 0 {
            return Ok(value);
        }
        self.reader.ensure(length)?;
        let mut code = 0_u32;
        for offset in 0..length {
            let Some(digit) = char::from(self.reader.byte(offset)).to_digit(16) else {
                return self.fault(start, "did not find expected hexdecimal number");
            };
            code = (code << 4) | digit;
        }
        let Some(value) = char::from_u32(code) else {
            return self.fault(start, "found invalid Unicode character escape code");
        };
        self.reader.skip_ascii(length);
        Ok(value)
    }

    pub(super) fn scan_block_scalar(&mut self, literal: bool) -> Result<Token<'a>, Fault> {
        let start = self.reader.mark();
        self.reader.skip();
        let (keep, strip, increment) = self.take_block_header(start)?;
        self.finish_line(start)?;
        let mut end = self.reader.mark();
        let mut indent = match increment {
            0 => 0,
            _ => usize::try_from(self.indent).unwrap_or(0) + increment,
        };
        let mut text = String::new();
        let mut leading = "";
        let mut trailing = String::new();
        self.take_block_breaks(&mut indent, &mut trailing, start, &mut end)?;
        self.reader.ensure(1)?;
        let mut leading_blank = false;
        while self.reader.column() as usize == indent && !self.reader.is_end() {
            let trailing_blank = self.reader.is_blank(0);
            if !literal && !leading_blank && !trailing_blank && leading == "\n" {
                text.pop();
                if trailing.is_empty() {
                    text.push(' ');
                }
            }
            if !trailing.is_empty() {
                text.push_str(&trailing);
                trailing.clear();
            }
            leading_blank = self.reader.is_blank(0);
            leading = self.take_block_line(&mut text)?;
            self.take_block_breaks(&mut indent, &mut trailing, start, &mut end)?;
        }
        if strip {
            text.truncate(text.len() - leading.len());
        }
        if keep {
            text.push_str(&trailing);
        }
        let style = if literal {
            ScalarStyle::Literal
        } else {
            ScalarStyle::Folded
        };
        Ok(Token {
            kind: TokenKind::Scalar {
                value: Cow::Owned(text),
                style,
            },
            start,
            end,
        })
    }

    /// Takes the rest of a line and its break, and gives the break.
    fn take_block_line(&mut self, text: &mut String) -> Result<&'static str, Fault> {
        let from = self.reader.pos();
        self.reader.skip_line()?;
        self.reader.ensure(2)?;
        let end = self.reader.pos();
        if self.reader.byte(0) == b'\n' {
            self.reader.take_break();
            text.push_str(self.reader.slice(from, end + 1));
            return Ok("\n");
        }
        text.push_str(self.reader.slice(from, end));
        let taken = self.reader.take_break();
        text.push_str(taken);
        Ok(taken)
    }

    /// Chomping and indentation indicators in either order: (keep, strip, increment).
    fn take_block_header(&mut self, start: Mark) -> Result<(bool, bool, usize), Fault> {
        const ZERO: &str = "found an indentation indicator equal to 0";
        self.reader.ensure(1)?;
        let (mut keep, mut strip, mut increment) = (false, false, 0);
        let mut chomp = |byte: u8| {
            keep = byte == b'+';
            strip = byte == b'-';
            keep || strip
        };
        if chomp(self.reader.byte(0)) {
            self.reader.skip();
            self.reader.ensure(1)?;
            if self.reader.byte(0).is_ascii_digit() {
                if self.reader.byte(0) == b'0' {
                    return self.fault(start, ZERO);
                }
                increment = usize::from(self.reader.byte(0) - b'0');
                self.reader.skip();
            }
        } else if self.reader.byte(0).is_ascii_digit() {
            if self.reader.byte(0) == b'0' {
                return self.fault(start, ZERO);
            }
            increment = usize::from(self.reader.byte(0) - b'0');
            self.reader.skip();
            self.reader.ensure(1)?;
            if chomp(self.reader.byte(0)) {
                self.reader.skip();
            }
        }
        Ok((keep, strip, increment))
    }

    /// Passes indentation and empty lines; settles the indentation if it is still unknown (0).
    fn take_block_breaks(
        &mut self,
        indent: &mut usize,
        breaks: &mut String,
        start: Mark,
        end: &mut Mark,
    ) -> Result<(), Fault> {
        *end = self.reader.mark();
        let mut widest = 0;
        loop {
            self.reader.ensure(1)?;
            let most = match *indent {
                0 => usize::MAX,
                indent => indent.saturating_sub(self.reader.column() as usize),
            };
            self.reader.skip_spaces(most)?;
            let column = self.reader.column() as usize;
            widest = widest.max(column);
            if (*indent == 0 || column < *indent) && self.reader.byte(0) == b'\t' {
                return self.fault(
                    start,
                    "found a tab character where an indentation space is expected",
                );
            }
            if !self.reader.is_break() {
                break;
            }
            self.reader.ensure(2)?;
            breaks.push_str(self.reader.take_break());
            *end = self.reader.mark();
        }
        if *indent == 0 {
            *indent = widest
                .max(usize::try_from(self.indent + 1).unwrap_or(0))
                .max(1);
        }
        Ok(())
    }
}
