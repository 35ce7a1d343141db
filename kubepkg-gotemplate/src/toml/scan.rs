//! The lexical half of TOML: keys, strings, numbers, and where a complaint belongs.

use crate::strconv::{decode_rune, quote, quote_rune};
use crate::unicode::is_letter;

/// A complaint with its line.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) line: usize,
    pub(super) message: String,
}

/// A value that is no array or table.
pub(super) enum Scalar {
    Text(Vec<u8>),
    Bool(bool),
    Integer(String),
    Float(String),
    Datetime(String),
}

type Scanned<T> = Result<T, Problem>;

pub(super) struct Scanner<'t> {
    text: &'t [u8],
    at: usize,
    /// From 1.
    pub(super) line: usize,
    /// A bad escape, reported when its string is complete.
    deferred: Option<String>,
}

/// Characters of a key without quotes.
pub(super) fn is_bare(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// `%q` of a character, the end of the text being NUL.
fn shown(c: Option<char>) -> String {
    quote_rune(c.map_or(0, u32::from))
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        Self {
            text,
            at: 0,
            line: 1,
            deferred: None,
        }
    }

    /// A complaint at the place reached; at the end of the text, at its last line.
    pub(super) fn problem(&self, message: impl Into<String>) -> Problem {
        let mut line = self.line;
        if self.at >= self.text.len() && self.text.ends_with(b"\n") {
            line -= 1;
        }
        Problem {
            line,
            message: message.into(),
        }
    }

    /// The library guesses UTF-16 from early NUL bytes.
    pub(super) fn check_start(&self) -> Scanned<()> {
        if self.text.iter().take(6).any(|b| *b == 0) {
            return Err(self.problem(
                "files cannot contain NULL bytes; probably using UTF-16; TOML files must be UTF-8",
            ));
        }
        Ok(())
    }

    fn peek(&self) -> Option<char> {
        let (c, width) = decode_rune(self.text.get(self.at..).unwrap_or(b""));
        (width > 0).then_some(c)
    }

    /// The next character. Broken UTF-8 and control characters are complaints.
    fn next(&mut self) -> Scanned<Option<char>> {
        let rest = self.text.get(self.at..).unwrap_or(b"");
        let (c, width) = decode_rune(rest);
        if width == 0 {
            return Ok(None);
        }
        if c == char::REPLACEMENT_CHARACTER && width == 1 {
            let byte = rest.first().copied().unwrap_or(0);
            return Err(self.problem(format!("invalid UTF-8 byte: 0x{byte:02x}")));
        }
        let is_break = c == '\n' || c == '\r' && rest.get(1) == Some(&b'\n');
        if c == '\r' && !is_break || c.is_ascii_control() && !matches!(c, '\t' | '\r' | '\n') {
            return Err(self.problem(format!(
                "TOML files cannot contain control characters: '0x{:02x}'",
                u32::from(c)
            )));
        }
        self.at += width;
        if c == '\n' {
            self.line += 1;
        }
        Ok(Some(c))
    }

    pub(super) fn accept(&mut self, wanted: char) -> bool {
        if self.peek() == Some(wanted) {
            self.at += wanted.len_utf8();
            return true;
        }
        false
    }

    fn starts_with(&self, text: &[u8]) -> bool {
        self.text
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(text))
    }

    pub(super) fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
    }

    fn comment(&mut self) -> Scanned<()> {
        while !matches!(self.peek(), None | Some('\n' | '\r')) {
            self.next()?;
        }
        Ok(())
    }

    /// Skips blanks, line breaks and comments; whether something follows.
    pub(super) fn skip_to_item(&mut self) -> Scanned<bool> {
        loop {
            match self.peek() {
                None => return Ok(false),
                Some(' ' | '\t') => self.at += 1,
                Some('\n' | '\r') => {
                    self.next()?;
                }
                Some('#') => self.comment()?,
                Some(_) => return Ok(true),
            }
        }
    }

    /// What may follow a table header or a value.
    pub(super) fn end_of_item(&mut self) -> Scanned<()> {
        self.skip_blanks();
        match self.peek() {
            None | Some('\n' | '\r') => Ok(()),
            Some('#') => self.comment(),
            other => Err(self.problem(format!(
                "expected a top-level item to end with a newline, comment, or EOF, but got {} instead",
                shown(other)
            ))),
        }
    }

    fn bare(&mut self) -> Vec<u8> {
        let start = self.at;
        while self.peek().is_some_and(is_bare) {
            self.at += 1;
        }
        self.text.get(start..self.at).unwrap_or(b"").to_vec()
    }

    fn quoted_or_bare(&mut self) -> Scanned<Vec<u8>> {
        if self.accept('"') {
            return self.basic_string();
        }
        if self.accept('\'') {
            return self.raw_string();
        }
        Ok(self.bare())
    }

    /// Parts of a key up to and with the `=`.
    pub(super) fn key(&mut self) -> Scanned<Vec<Vec<u8>>> {
        self.skip_blanks();
        match self.peek() {
            None | Some('=') => {
                return Err(self.problem("unexpected '=': key name appears blank"));
            }
            Some('.') => {
                return Err(self.problem("unexpected '.': keys cannot start with a '.'"));
            }
            _ => {}
        }
        let mut parts = Vec::new();
        loop {
            self.skip_blanks();
            match self.peek() {
                None | Some('=') => return Err(self.problem("unexpected '='")),
                Some('.') => return Err(self.problem("unexpected '.'")),
                _ => parts.push(self.quoted_or_bare()?),
            }
            self.skip_blanks();
            let line = self.line;
            match self.next()? {
                Some('.') => {}
                Some('=') => return Ok(parts),
                None => {
                    return Err(self.problem("unexpected EOF; expected key separator '='"));
                }
                other => {
                    let message = format!("expected '.' or '=', but got {} instead", shown(other));
                    return Err(Problem { line, message });
                }
            }
        }
    }

    /// Parts of a table name up to and with its brackets.
    pub(super) fn table_name(&mut self, is_array: bool) -> Scanned<Vec<Vec<u8>>> {
        let mut parts = Vec::new();
        loop {
            self.skip_blanks();
            match self.peek() {
                None | Some(']') => {
                    return Err(
                        self.problem("unexpected end of table name (table names cannot be empty)")
                    );
                }
                Some('.') => {
                    return Err(
                        self.problem("unexpected table separator (table names cannot be empty)")
                    );
                }
                _ => parts.push(self.quoted_or_bare()?),
            }
            self.skip_blanks();
            match self.next()? {
                Some('.') => {}
                Some(']') => break,
                other => {
                    let message = format!(
                        "expected '.' or ']' to end table name, but got {} instead",
                        shown(other)
                    );
                    return Err(self.problem(message));
                }
            }
        }
        if is_array {
            let next = self.next()?;
            if next != Some(']') {
                let message = format!(
                    "expected end of table array name delimiter ']', but got {} instead",
                    shown(next)
                );
                return Err(self.problem(message));
            }
        }
        Ok(parts)
    }

    fn skip_lines(&mut self) -> Scanned<()> {
        loop {
            match self.peek() {
                Some(' ' | '\t') => self.at += 1,
                Some('\n' | '\r') => {
                    self.next()?;
                }
                Some('#') => self.comment()?,
                _ => return Ok(()),
            }
        }
    }

    /// Goes to the next item of an array; `false` at its end.
    pub(super) fn array_item(&mut self, first: bool) -> Scanned<bool> {
        self.item(first, ']', |found| {
            format!("expected a comma (',') or array terminator (']'), but got {found}")
        })
    }

    /// Goes to the next entry of an inline table; `false` at its end.
    pub(super) fn inline_item(&mut self, first: bool) -> Scanned<bool> {
        self.item(first, '}', |found| {
            format!("expected a comma or an inline table terminator '}}', but got {found} instead")
        })
    }

    fn item(
        &mut self,
        first: bool,
        end: char,
        complaint: impl FnOnce(&str) -> String,
    ) -> Scanned<bool> {
        self.skip_lines()?;
        if self.accept(end) {
            return Ok(false);
        }
        if !first {
            if !self.accept(',') {
                let found = self
                    .peek()
                    .map_or_else(|| "end of file".to_owned(), |c| format!("'{c}'"));
                return Err(self.problem(complaint(&found)));
            }
            self.skip_lines()?;
            if self.accept(end) {
                return Ok(false);
            }
        }
        if self.peek() == Some(',') {
            return Err(self.problem("unexpected comma"));
        }
        Ok(true)
    }

    fn escape(&mut self, out: &mut Vec<u8>, start: usize) -> Scanned<()> {
        let c = self.next()?;
        let simple = match c {
            Some('b') => '\u{8}',
            Some('t') => '\t',
            Some('n') => '\n',
            Some('f') => '\u{c}',
            Some('r') => '\r',
            Some('e') => '\u{1b}',
            Some('"') => '"',
            Some('\\') => '\\',
            Some(letter @ ('x' | 'u' | 'U')) => {
                let (count, words) = match letter {
                    'x' => (2, "two"),
                    'u' => (4, "four"),
                    _ => (8, "eight"),
                };
                let mut code = 0_u32;
                let from = self.at;
                for _ in 0..count {
                    if let Some(digit) = self.next()?.and_then(|c| c.to_digit(16)) {
                        code = code.wrapping_shl(4) | digit;
                    } else {
                        let current = self.text.get(start..self.at).unwrap_or(b"");
                        return Err(self.problem(format!(
                            "expected {words} hexadecimal digits after '\\{letter}', but got {} instead",
                            quote(current)
                        )));
                    }
                }
                char::from_u32(code).unwrap_or_else(|| {
                    let digits = self.text.get(from..self.at).unwrap_or(b"");
                    let digits = String::from_utf8_lossy(digits);
                    self.deferred.get_or_insert_with(|| {
                        format!("Escaped character '\\u{digits}' is not valid UTF-8.")
                    });
                    char::REPLACEMENT_CHARACTER
                })
            }
            Some(blank @ (' ' | '\t')) => {
                self.deferred
                    .get_or_insert_with(|| format!("invalid escape: '\\{blank}'"));
                blank
            }
            other => {
                let found = other.unwrap_or('\0');
                return Err(self.problem(format!("invalid escape in string '\\{found}'")));
            }
        };
        let mut buffer = [0; 4];
        out.extend_from_slice(simple.encode_utf8(&mut buffer).as_bytes());
        Ok(())
    }

    fn push(&mut self, out: &mut Vec<u8>) -> Scanned<Option<char>> {
        let start = self.at;
        let c = self.next()?;
        out.extend_from_slice(self.text.get(start..self.at).unwrap_or(b""));
        Ok(c)
    }

    /// The finished string, or what was wrong inside it.
    fn finished(&mut self, out: Vec<u8>) -> Scanned<Vec<u8>> {
        match self.deferred.take() {
            Some(message) => Err(Problem {
                line: self.line,
                message,
            }),
            None => Ok(out),
        }
    }

    fn basic_string(&mut self) -> Scanned<Vec<u8>> {
        let start = self.at;
        let mut out = Vec::new();
        loop {
            match self.peek() {
                None => return Err(self.problem("unexpected EOF; expected '\"'")),
                Some('\n' | '\r') => {
                    return Err(self.problem("strings cannot contain newlines"));
                }
                Some('"') => {
                    self.at += 1;
                    return self.finished(out);
                }
                Some('\\') => {
                    self.at += 1;
                    self.escape(&mut out, start)?;
                }
                Some(_) => {
                    self.push(&mut out)?;
                }
            }
        }
    }

    fn raw_string(&mut self) -> Scanned<Vec<u8>> {
        let mut out = Vec::new();
        loop {
            match self.peek() {
                None => return Err(self.problem("unexpected EOF; expected \"'\"")),
                Some('\n' | '\r') => {
                    return Err(self.problem("strings cannot contain newlines"));
                }
                Some('\'') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(_) => {
                    self.push(&mut out)?;
                }
            }
        }
    }

    /// A string in triple quotes, which are already read.
    fn long_string(&mut self, mark: char) -> Scanned<Vec<u8>> {
        let marks: Vec<u8> = std::iter::repeat_n(mark as u8, 3).collect();
        let start = self.at;
        let mut out = Vec::new();
        if self.starts_with(b"\r\n") {
            self.next()?;
        }
        if self.peek() == Some('\n') {
            self.next()?;
        }
        loop {
            if self.starts_with(&marks) {
                let count = self
                    .text
                    .get(self.at..)
                    .unwrap_or(b"")
                    .iter()
                    .take_while(|b| char::from(**b) == mark)
                    .count();
                if count >= 6 {
                    let quotes: String = std::iter::repeat_n(mark, 6).collect();
                    let wrapped = if mark == '"' {
                        format!("'{quotes}'")
                    } else {
                        format!("\"{quotes}\"")
                    };
                    return Err(self.problem(format!("unexpected {wrapped}")));
                }
                out.extend(std::iter::repeat_n(mark as u8, count - 3));
                self.at += count;
                return self.finished(out);
            }
            match self.peek() {
                None if mark == '"' => {
                    return Err(self.problem("unexpected EOF; expected '\"\"\"'"));
                }
                None => return Err(self.problem("unexpected EOF; expected \"'''\"")),
                Some('\\') if mark == '"' => {
                    self.at += 1;
                    let before = self.at;
                    self.skip_blanks();
                    if matches!(self.peek(), Some('\n' | '\r')) {
                        while matches!(self.peek(), Some(' ' | '\t' | '\n' | '\r')) {
                            self.next()?;
                        }
                        continue;
                    }
                    self.at = before;
                    self.escape(&mut out, start)?;
                }
                Some('\r') if self.starts_with(b"\r\n") => {
                    self.next()?;
                    self.push(&mut out)?;
                }
                Some(_) => {
                    self.push(&mut out)?;
                }
            }
        }
    }

    fn take_while(&mut self, belongs: impl Fn(char) -> bool) {
        while self.peek().is_some_and(|c| c.is_ascii() && belongs(c)) {
            self.at += 1;
        }
    }

    fn since(&self, start: usize) -> String {
        String::from_utf8_lossy(self.text.get(start..self.at).unwrap_or(b"")).into_owned()
    }

    /// A scalar; blanks before it are skipped.
    pub(super) fn scalar(&mut self) -> Scanned<Scalar> {
        let start = self.at;
        let c = self.peek();
        match c {
            Some('"' | '\'') => {
                let mark = c.unwrap_or('"');
                let triple: Vec<u8> = std::iter::repeat_n(mark as u8, 3).collect();
                if self.starts_with(&triple) {
                    self.at += 3;
                    return self.long_string(mark).map(Scalar::Text);
                }
                self.at += 1;
                let text = if mark == '"' {
                    self.basic_string()
                } else {
                    self.raw_string()
                };
                text.map(Scalar::Text)
            }
            Some('0'..='9') => self.number(start),
            Some('+' | '-') => self.signed(start),
            Some('.') => Err(self.problem("floats must start with a digit, not '.'")),
            Some('i' | 'n') if self.starts_with(b"inf") || self.starts_with(b"nan") => {
                self.at += 3;
                Ok(Scalar::Float(self.since(start)))
            }
            Some(letter) if is_letter(letter) => {
                while let Some(c) = self.peek()
                    && is_letter(c)
                {
                    self.at += c.len_utf8();
                }
                match self.since(start).as_str() {
                    "true" => Ok(Scalar::Bool(true)),
                    "false" => Ok(Scalar::Bool(false)),
                    word => Err(self.problem(format!(
                        "expected value but found {} instead",
                        quote(word.as_bytes())
                    ))),
                }
            }
            None => Err(self.problem("unexpected EOF; expected value")),
            other => {
                let message = format!("expected value but found {} instead", shown(other));
                Err(self.problem(message))
            }
        }
    }

    fn decimal(&mut self, start: usize) -> Scalar {
        self.take_while(|c| c.is_ascii_digit() || c == '_');
        if matches!(self.peek(), Some('.' | 'e' | 'E')) {
            self.take_while(|c| {
                c.is_ascii_digit() || matches!(c, '_' | '.' | '-' | '+' | 'e' | 'E')
            });
            return Scalar::Float(self.since(start));
        }
        Scalar::Integer(self.since(start))
    }

    fn signed(&mut self, start: usize) -> Scanned<Scalar> {
        self.at += 1;
        for word in ["inf", "nan"] {
            if self.peek() == word.chars().next() {
                if word.chars().all(|c| self.accept(c)) {
                    return Ok(Scalar::Float(self.since(start)));
                }
                return Err(self.problem(format!("invalid float: '{}'", self.since(start))));
            }
        }
        match self.peek() {
            Some('0') => {
                let next = self.text.get(self.at + 1).map(|b| char::from(*b));
                if let Some(base @ ('b' | 'o' | 'x')) = next {
                    self.at += 1;
                    return Err(self.problem(format!(
                        "cannot use sign with non-decimal numbers: '{}{base}'",
                        self.since(start)
                    )));
                }
                Ok(self.decimal(start))
            }
            Some('1'..='9') => Ok(self.decimal(start)),
            Some('.') => Err(self.problem("floats must start with a digit, not '.'")),
            _ => {
                let found = self.next()?;
                let message = format!("expected a digit but got {}", shown(found));
                match found {
                    Some(_) => Err(Problem {
                        line: self.line,
                        message,
                    }),
                    None => Err(self.problem(message)),
                }
            }
        }
    }

    fn number(&mut self, start: usize) -> Scanned<Scalar> {
        if self.peek() == Some('0')
            && let Some(base @ (b'b' | b'o' | b'x')) = self.text.get(self.at + 1).copied()
        {
            let radix = match base {
                b'b' => 2,
                b'o' => 8,
                _ => 16,
            };
            self.at += 2;
            if !self.peek().is_some_and(|c| c.is_digit(radix)) {
                let name = match radix {
                    2 => "a binary",
                    8 => "an octal",
                    _ => "a hexadecimal",
                };
                let found = self.peek().unwrap_or('\0');
                return Err(
                    self.problem(format!("not {name} number: '{}{found}'", self.since(start)))
                );
            }
            self.take_while(|c| c.is_digit(radix) || c == '_');
            return Ok(Scalar::Integer(self.since(start)));
        }
        self.take_while(|c| c.is_ascii_digit());
        // A date or time begins with two digits; a lone zero is a number.
        let lone_zero = self.since(start) == "0";
        if !lone_zero && matches!(self.peek(), Some('-' | ':')) {
            self.take_while(|c| {
                c.is_ascii_digit()
                    || matches!(c, '-' | ':' | 'T' | 't' | ' ' | '.' | 'Z' | 'z' | '+')
            });
            return Ok(Scalar::Datetime(self.since(start).trim_end().to_owned()));
        }
        Ok(self.decimal(start))
    }
}
