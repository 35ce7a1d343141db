//! The grammar of JSON with Go's complaints: tokens and where they may stand.

use crate::gosyntax::go_quote;

/// Deepest nesting that Go reads.
const MAX_DEPTH: usize = 10_000;

/// Text that is no JSON, in the words of Go's `encoding/json`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct JsonSyntaxError {
    /// What Go says.
    pub message: String,
}

/// A token of a JSON text; strings and numbers as they stand there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonToken<'a> {
    /// `null`
    Null,
    /// `true`
    True,
    /// `false`
    False,
    /// A number.
    Number(&'a [u8]),
    /// A string, without its quotes.
    String(&'a [u8]),
    /// A string before a colon, without its quotes.
    Key(&'a [u8]),
    /// `[`
    ArrayStart,
    /// `]`
    ArrayEnd,
    /// `{`
    ObjectStart,
    /// `}`
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

/// Reads the tokens of one JSON value one by one. Nesting beyond Go's limit of 10,000 is refused.
pub struct JsonScanner<'a> {
    text: &'a [u8],
    /// Where the last token starts.
    start: usize,
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
            let quoted = go_quote(char::from(byte).encode_utf8(&mut [0; 4]));
            format!("'{}'", quoted.trim_matches('"'))
        }
    };
    format!("invalid character {shown} {context}")
}

impl<'a> JsonScanner<'a> {
    /// At the start of a text.
    pub fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            start: 0,
            at: 0,
            stack: Vec::new(),
            expect: Expect::Value,
        }
    }

    /// Where the last token starts and ends.
    pub fn span(&self) -> (usize, usize) {
        (self.start, self.at)
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
    ///
    /// # Errors
    /// When the text is no JSON.
    #[expect(clippy::should_implement_trait, reason = "tokens end with an error")]
    pub fn next(&mut self) -> Result<Option<JsonToken<'a>>, JsonSyntaxError> {
        self.token().map_err(|message| JsonSyntaxError { message })
    }

    fn token(&mut self) -> Result<Option<JsonToken<'a>>, String> {
        loop {
            self.space();
            self.start = self.at;
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
                        return Ok(Some(JsonToken::ObjectEnd));
                    }
                    (b']', false) => {
                        self.stack.pop();
                        return Ok(Some(JsonToken::ArrayEnd));
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

    fn open_token(&mut self) -> Result<JsonToken<'a>, String> {
        let byte = self.peek().ok_or(END)?;
        match (byte, self.expect) {
            (b'}', Expect::KeyOrObjectEnd) => {
                self.at += 1;
                self.stack.pop();
                self.expect = Expect::AfterValue;
                return Ok(JsonToken::ObjectEnd);
            }
            (b']', Expect::ValueOrArrayEnd) => {
                self.at += 1;
                self.stack.pop();
                self.expect = Expect::AfterValue;
                return Ok(JsonToken::ArrayEnd);
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
                return Ok(JsonToken::Key(key));
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
                    return Ok(JsonToken::ObjectStart);
                }
                self.expect = Expect::ValueOrArrayEnd;
                Ok(JsonToken::ArrayStart)
            }
            b'"' => self.string().map(JsonToken::String),
            b't' => self.literal("true").map(|()| JsonToken::True),
            b'f' => self.literal("false").map(|()| JsonToken::False),
            b'n' => self.literal("null").map(|()| JsonToken::Null),
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

    fn number(&mut self) -> Result<JsonToken<'a>, String> {
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
        Ok(JsonToken::Number(
            self.text.get(start..self.at).unwrap_or(b""),
        ))
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

/// The text of a string token with its escapes resolved; what is no character is U+FFFD.
pub fn unescape_json(body: &[u8]) -> String {
    let mut out = String::with_capacity(body.len());
    let hex = |at: usize| {
        let digits = body.get(at..at + 4)?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let mut at = 0;
    while let Some(rest) = body.get(at..).filter(|rest| !rest.is_empty()) {
        let plain = rest.iter().position(|byte| *byte == b'\\');
        let plain = plain.unwrap_or(rest.len());
        for chunk in rest.get(..plain).unwrap_or_default().utf8_chunks() {
            out.push_str(chunk.valid());
            out.extend(chunk.invalid().iter().map(|_| '\u{fffd}'));
        }
        at += plain;
        if at >= body.len() {
            break;
        }
        let escape = body.get(at + 1).copied().unwrap_or(b'\\');
        at += 2;
        out.push(match escape {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let unit = hex(at).unwrap_or(0xfffd);
                at += 4;
                let low = (body.get(at..at + 2) == Some(b"\\u"))
                    .then(|| hex(at + 2))
                    .flatten();
                match (unit, low) {
                    (0xd800..=0xdbff, Some(low @ 0xdc00..=0xdfff)) => {
                        at += 6;
                        let code = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
                        char::from_u32(code).unwrap_or('\u{fffd}')
                    }
                    _ => char::from_u32(unit).unwrap_or('\u{fffd}'),
                }
            }
            other => char::from(other),
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_unescaped_with_surrogates() {
        assert_eq!(unescape_json(br"a\ud83d\ude00\ud83dx\/"), "a😀\u{fffd}x/");
        assert_eq!(unescape_json(b"a\xffb"), "a\u{fffd}b");
    }

    #[test]
    fn spans_are_those_of_the_tokens() {
        let text = b" {\"a\" : [12, null]}";
        let mut scanner = JsonScanner::new(text);
        let mut found = Vec::new();
        while scanner.next().unwrap().is_some() {
            let (start, end) = scanner.span();
            found.push(std::str::from_utf8(&text[start..end]).unwrap());
        }
        assert_eq!(found, ["{", "\"a\" :", "[", "12", "null", "]", "}"]);
    }
}
