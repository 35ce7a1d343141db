//! The grammar of JSON with Go's complaints: tokens and where they may stand.

use crate::strconv::quote;

/// Deepest nesting that Go reads.
pub(super) const MAX_DEPTH: usize = 10_000;

/// A token; strings and numbers as they stand in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Null,
    True,
    False,
    Number(&'a [u8]),
    /// Without its quotes.
    String(&'a [u8]),
    /// A string before a colon.
    Key(&'a [u8]),
    ArrayStart,
    ArrayEnd,
    ObjectStart,
    ObjectEnd,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    ValueOrArrayEnd,
    Key,
    KeyOrObjectEnd,
    AfterValue,
}

/// Reads tokens one by one.
pub(super) struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    /// `true` for an object, `false` for an array.
    stack: Vec<bool>,
    expect: Expect,
}

const END: &str = "unexpected end of JSON input";

fn unexpected(byte: u8, context: &str) -> String {
    let shown = match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        _ => {
            let quoted = quote(char::from(byte).to_string().as_bytes());
            format!("'{}'", quoted.trim_matches('"'))
        }
    };
    format!("invalid character {shown} {context}")
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            at: 0,
            stack: Vec::new(),
            expect: Expect::Value,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Go ends a text with a space, so that an unfinished token complains about that.
    fn peek_or_space(&self) -> u8 {
        self.peek().unwrap_or(b' ')
    }

    fn space(&mut self) {
        while self
            .peek()
            .is_some_and(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n'))
        {
            self.at += 1;
        }
    }

    /// The next token; `None` at the end of the one top-level value.
    pub(super) fn next(&mut self) -> Result<Option<Token<'a>>, String> {
        loop {
            self.space();
            if self.expect == Expect::AfterValue {
                let Some(in_object) = self.stack.last().copied() else {
                    return match self.peek() {
                        None => Ok(None),
                        Some(byte) => Err(unexpected(byte, "after top-level value")),
                    };
                };
                let byte = self.peek().ok_or(END)?;
                self.at += 1;
                match (byte, in_object) {
                    (b',', true) => self.expect = Expect::Key,
                    (b',', false) => self.expect = Expect::Value,
                    (b'}', true) => {
                        self.stack.pop();
                        return Ok(Some(Token::ObjectEnd));
                    }
                    (b']', false) => {
                        self.stack.pop();
                        return Ok(Some(Token::ArrayEnd));
                    }
                    (byte, true) => {
                        return Err(unexpected(byte, "after object key:value pair"));
                    }
                    (byte, false) => return Err(unexpected(byte, "after array element")),
                }
                continue;
            }
            return self.open_token().map(Some);
        }
    }

    fn open_token(&mut self) -> Result<Token<'a>, String> {
        let byte = self.peek().ok_or(END)?;
        match (byte, self.expect) {
            (b'}', Expect::KeyOrObjectEnd) => {
                self.at += 1;
                self.stack.pop();
                self.expect = Expect::AfterValue;
                return Ok(Token::ObjectEnd);
            }
            (b']', Expect::ValueOrArrayEnd) => {
                self.at += 1;
                self.stack.pop();
                self.expect = Expect::AfterValue;
                return Ok(Token::ArrayEnd);
            }
            (b'"', Expect::Key | Expect::KeyOrObjectEnd) => {
                let key = self.string()?;
                self.space();
                let colon = self.peek().ok_or(END)?;
                if colon != b':' {
                    return Err(unexpected(colon, "after object key"));
                }
                self.at += 1;
                self.expect = Expect::Value;
                return Ok(Token::Key(key));
            }
            (byte, Expect::Key | Expect::KeyOrObjectEnd) => {
                return Err(unexpected(
                    byte,
                    "looking for beginning of object key string",
                ));
            }
            _ => {}
        }
        self.expect = Expect::AfterValue;
        match byte {
            b'{' | b'[' => {
                self.at += 1;
                self.stack.push(byte == b'{');
                if self.stack.len() > MAX_DEPTH {
                    return Err("exceeded max depth".to_owned());
                }
                if byte == b'{' {
                    self.expect = Expect::KeyOrObjectEnd;
                    return Ok(Token::ObjectStart);
                }
                self.expect = Expect::ValueOrArrayEnd;
                Ok(Token::ArrayStart)
            }
            b'"' => self.string().map(Token::String),
            b't' => self.literal("true").map(|()| Token::True),
            b'f' => self.literal("false").map(|()| Token::False),
            b'n' => self.literal("null").map(|()| Token::Null),
            b'-' | b'0'..=b'9' => self.number(),
            other => Err(unexpected(other, "looking for beginning of value")),
        }
    }

    fn literal(&mut self, word: &str) -> Result<(), String> {
        for expected in word.bytes() {
            let byte = self.peek_or_space();
            if byte != expected {
                let expected = char::from(expected);
                let context = format!("in literal {word} (expecting '{expected}')");
                return Err(unexpected(byte, &context));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn digits(&mut self, context: &str) -> Result<(), String> {
        let first = self.peek_or_space();
        if !first.is_ascii_digit() {
            return Err(unexpected(first, context));
        }
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<Token<'a>, String> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits("in numeric literal")?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits("after decimal point in numeric literal")?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits("in exponent of numeric literal")?;
        }
        Ok(Token::Number(self.text.get(start..self.at).unwrap_or(b"")))
    }

    fn string(&mut self) -> Result<&'a [u8], String> {
        self.at += 1;
        let start = self.at;
        loop {
            let byte = self.peek().ok_or(END)?;
            match byte {
                b'"' => {
                    let body = self.text.get(start..self.at).unwrap_or(b"");
                    self.at += 1;
                    return Ok(body);
                }
                b'\\' => {
                    self.at += 1;
                    match self.peek_or_space() {
                        b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => {}
                        b'u' => {
                            for _ in 0..4 {
                                self.at += 1;
                                let digit = self.peek_or_space();
                                if !digit.is_ascii_hexdigit() {
                                    let context = "in \\u hexadecimal character escape";
                                    return Err(unexpected(digit, context));
                                }
                            }
                        }
                        other => return Err(unexpected(other, "in string escape code")),
                    }
                }
                0..0x20 => return Err(unexpected(byte, "in string literal")),
                _ => {}
            }
            self.at += 1;
        }
    }
}
