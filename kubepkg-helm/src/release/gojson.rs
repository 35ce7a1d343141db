//! JSON as Go's `encoding/json` reads and writes it, for release records only. Helm's records are made by
//! Go: invalid UTF-8 and lone surrogates become U+FFFD, keys match without case, members keep their order,
//! and the text escapes `<`, `>` and `&`. `serde_json` differs in each of these, so a record that Helm can
//! read could not be read, or would be written back changed. Refuses what Go refuses, with Go's texts, and
//! anything nested deeper than the caller allows.
//! Source of the rules: `encoding/json` (`scanner.go`, `decode.go`, `encode.go`), Go 1.26.

use std::fmt::Write as _;

/// A JSON value with the order of its members and the text of its numbers kept.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Json {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it was written.
    Number(String),
    /// A string, decoded.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object; a repeated key stays repeated.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The name that Go's messages use for this kind of value.
    pub(crate) fn go_kind(&self) -> &'static str {
        match self {
            Json::Null => "null",
            Json::Bool(_) => "bool",
            Json::Number(_) => "number",
            Json::String(_) => "string",
            Json::Array(_) => "array",
            Json::Object(_) => "object",
        }
    }

    /// The member of an object; the last one of that name.
    pub(crate) fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members
                .iter()
                .rev()
                .find(|(name, _)| name == key)
                .map(|(_, value)| value),
            _ => None,
        }
    }
}

impl From<&serde_json::Value> for Json {
    fn from(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Null => Json::Null,
            serde_json::Value::Bool(flag) => Json::Bool(*flag),
            serde_json::Value::Number(number) => match number.as_i64() {
                Some(int) => Json::Number(int.to_string()),
                None if number.is_u64() => Json::Number(number.to_string()),
                None => Json::Number(number.as_f64().map_or_else(|| number.to_string(), go_float)),
            },
            serde_json::Value::String(text) => Json::String(text.clone()),
            serde_json::Value::Array(items) => Json::Array(items.iter().map(Json::from).collect()),
            serde_json::Value::Object(members) => Json::Object(
                members
                    .iter()
                    .map(|(key, value)| (key.clone(), Json::from(value)))
                    .collect(),
            ),
        }
    }
}

impl From<&Json> for serde_json::Value {
    fn from(value: &Json) -> Self {
        match value {
            Json::Null => serde_json::Value::Null,
            Json::Bool(flag) => serde_json::Value::Bool(*flag),
            Json::Number(text) => text
                .parse::<i64>()
                .map(serde_json::Value::from)
                .or_else(|_| text.parse::<u64>().map(serde_json::Value::from))
                .or_else(|_| text.parse::<f64>().map(serde_json::Value::from))
                .unwrap_or(serde_json::Value::Null),
            Json::String(text) => serde_json::Value::String(text.clone()),
            Json::Array(items) => {
                serde_json::Value::Array(items.iter().map(serde_json::Value::from).collect())
            }
            Json::Object(members) => serde_json::Value::Object(
                members
                    .iter()
                    .map(|(key, value)| (key.clone(), serde_json::Value::from(value)))
                    .collect(),
            ),
        }
    }
}

/// Reads one JSON text. The error is Go's text.
pub(crate) fn parse(bytes: &[u8], max_depth: usize) -> Result<Json, String> {
    let mut reader = Reader {
        bytes,
        at: 0,
        depth: 0,
        max_depth,
    };
    reader.space();
    let value = reader.value()?;
    reader.space();
    match reader.peek() {
        None => Ok(value),
        Some(byte) => Err(unexpected(byte, "after top-level value")),
    }
}

/// A 64-bit float as Go's encoder writes it.
pub(crate) fn go_float(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        // Rust writes `1e21` and `1.5e-7`; Go `1e+21` and `1.5e-07` with a leading zero cut again.
        let text = format!("{value:e}");
        return match text.split_once('e') {
            Some((mantissa, exponent)) if exponent.starts_with('-') => {
                format!("{mantissa}e{exponent}")
            }
            Some((mantissa, exponent)) => format!("{mantissa}e+{exponent}"),
            None => text,
        };
    }
    if value == 0.0 && value.is_sign_negative() {
        return "-0".to_owned();
    }
    format!("{value}")
}

/// Writes a value as `json.Marshal` does; members in the order they stand.
pub(crate) fn write(value: &Json, out: &mut String) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(text) => out.push_str(text),
        Json::String(text) => write_string(text, out),
        Json::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Json::Object(members) => {
            out.push('{');
            for (index, (key, member)) in members.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write(member, out);
            }
            out.push('}');
        }
    }
}

fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\u{0}'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(letter));
            }
            _ => out.push(letter),
        }
    }
    out.push('"');
}

fn unexpected(byte: u8, context: &str) -> String {
    let quoted = match byte {
        b'\'' => "'\\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        b'\\' => "'\\\\'".to_owned(),
        b'\n' => "'\\n'".to_owned(),
        b'\r' => "'\\r'".to_owned(),
        b'\t' => "'\\t'".to_owned(),
        0x07 => "'\\a'".to_owned(),
        0x08 => "'\\b'".to_owned(),
        0x0b => "'\\v'".to_owned(),
        0x0c => "'\\f'".to_owned(),
        0x00..=0x1f | 0x7f => format!("'\\x{byte:02x}'"),
        0x80..=0xa0 | 0xad => format!("'\\u{byte:04x}'"),
        _ => format!("'{}'", char::from(byte)),
    };
    format!("invalid character {quoted} {context}")
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    max_depth: usize,
}

const END: &str = "unexpected end of JSON input";

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn next(&mut self) -> Result<u8, String> {
        let byte = self.peek().ok_or_else(|| END.to_owned())?;
        self.at += 1;
        Ok(byte)
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn value(&mut self) -> Result<Json, String> {
        let byte = self.peek().ok_or_else(|| END.to_owned())?;
        match byte {
            b'{' => self.nested(Self::object),
            b'[' => self.nested(Self::array),
            b'"' => {
                self.at += 1;
                self.string().map(Json::String)
            }
            b't' => self.literal("true", Json::Bool(true)),
            b'f' => self.literal("false", Json::Bool(false)),
            b'n' => self.literal("null", Json::Null),
            b'-' | b'0'..=b'9' => self.number(),
            other => Err(unexpected(other, "looking for beginning of value")),
        }
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Json, String>) -> Result<Json, String> {
        self.depth += 1;
        if self.depth > self.max_depth {
            return Err("exceeded max depth".to_owned());
        }
        self.at += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Json, String> {
        let mut members = Vec::new();
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(members));
        }
        loop {
            self.space();
            match self.next()? {
                b'"' => {}
                other => {
                    return Err(unexpected(
                        other,
                        "looking for beginning of object key string",
                    ));
                }
            }
            let key = self.string()?;
            self.space();
            match self.next()? {
                b':' => {}
                other => return Err(unexpected(other, "after object key")),
            }
            self.space();
            let value = self.value()?;
            members.push((key, value));
            self.space();
            match self.next()? {
                b',' => {}
                b'}' => return Ok(Json::Object(members)),
                other => return Err(unexpected(other, "after object key:value pair")),
            }
        }
    }

    fn array(&mut self) -> Result<Json, String> {
        let mut items = Vec::new();
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(items));
        }
        loop {
            self.space();
            items.push(self.value()?);
            self.space();
            match self.next()? {
                b',' => {}
                b']' => return Ok(Json::Array(items)),
                other => return Err(unexpected(other, "after array element")),
            }
        }
    }

    fn literal(&mut self, word: &str, value: Json) -> Result<Json, String> {
        for (index, expected) in word.bytes().enumerate() {
            let byte = self.next()?;
            if index > 0 && byte != expected {
                return Err(unexpected(
                    byte,
                    &format!("in literal {word} (expecting '{}')", char::from(expected)),
                ));
            }
        }
        Ok(value)
    }

    fn number(&mut self) -> Result<Json, String> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.next()? {
            b'0' => {}
            b'1'..=b'9' => self.digits(),
            other => return Err(unexpected(other, "in numeric literal")),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digit("after decimal point in numeric literal")?;
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digit("in exponent of numeric literal")?;
            self.digits();
        }
        let text = self.bytes.get(start..self.at).unwrap_or_default();
        Ok(Json::Number(String::from_utf8_lossy(text).into_owned()))
    }

    fn digit(&mut self, context: &str) -> Result<(), String> {
        match self.next()? {
            b'0'..=b'9' => Ok(()),
            other => Err(unexpected(other, context)),
        }
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn string(&mut self) -> Result<String, String> {
        let mut raw: Vec<u8> = Vec::new();
        loop {
            match self.next()? {
                b'"' => return Ok(lossy(&raw)),
                b'\\' => {
                    let letter = self.escape()?;
                    let mut buffer = [0_u8; 4];
                    raw.extend_from_slice(letter.encode_utf8(&mut buffer).as_bytes());
                }
                byte @ 0x00..=0x1f => return Err(unexpected(byte, "in string literal")),
                byte => raw.push(byte),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        Ok(match self.next()? {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.hex()?;
                if (0xd800..0xdc00).contains(&first)
                    && self.bytes.get(self.at) == Some(&b'\\')
                    && self.bytes.get(self.at + 1) == Some(&b'u')
                {
                    let back = self.at;
                    self.at += 2;
                    let second = self.hex()?;
                    if (0xdc00..0xe000).contains(&second) {
                        let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                        return Ok(char::from_u32(code).unwrap_or('\u{fffd}'));
                    }
                    self.at = back;
                }
                char::from_u32(first).unwrap_or('\u{fffd}')
            }
            other => return Err(unexpected(other, "in string escape code")),
        })
    }

    fn hex(&mut self) -> Result<u32, String> {
        let mut code = 0;
        for _ in 0..4 {
            let byte = self.next()?;
            let digit = char::from(byte)
                .to_digit(16)
                .ok_or_else(|| unexpected(byte, "in \\u hexadecimal character escape"))?;
            code = code * 16 + digit;
        }
        Ok(code)
    }
}

/// Go replaces every byte that starts no rune with U+FFFD, where Rust replaces a whole broken sequence.
fn lossy(raw: &[u8]) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    loop {
        match std::str::from_utf8(rest) {
            Ok(text) => {
                out.push_str(text);
                return out;
            }
            Err(error) => {
                let (good, bad) = rest.split_at(error.valid_up_to());
                out.push_str(&String::from_utf8_lossy(good));
                out.push('\u{fffd}');
                rest = bad.get(1..).unwrap_or_default();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Json, go_float, parse, write};

    fn round(text: &str) -> String {
        let mut out = String::new();
        write(&parse(text.as_bytes(), 100).expect("valid"), &mut out);
        out
    }

    #[test]
    fn keeps_order_and_escapes_as_go_does() {
        assert_eq!(
            round(r#"{"b":"<&>","a":["\u2028",1.0]}"#),
            "{\"b\":\"\\u003c\\u0026\\u003e\",\"a\":[\"\\u2028\",1.0]}"
        );
    }

    #[test]
    fn replaces_lone_surrogates() {
        assert_eq!(
            parse(br#""\ud83dx\ud83d\ude00""#, 9),
            Ok(Json::String("\u{fffd}x😀".to_owned()))
        );
    }

    #[test]
    fn words_errors_as_go_does() {
        let text = |input: &str| parse(input.as_bytes(), 3).expect_err("invalid");
        assert_eq!(text("{"), "unexpected end of JSON input");
        assert_eq!(
            text("hi"),
            "invalid character 'h' looking for beginning of value"
        );
        assert_eq!(text("{}{"), "invalid character '{' after top-level value");
        assert_eq!(
            text("{,"),
            "invalid character ',' looking for beginning of object key string"
        );
        assert_eq!(
            text("trux"),
            "invalid character 'x' in literal true (expecting 'e')"
        );
        assert_eq!(text("[[[["), "exceeded max depth");
        assert_eq!(
            text("\u{feff}1"),
            "invalid character 'ï' looking for beginning of value"
        );
    }

    #[test]
    fn writes_floats_as_go_does() {
        for (value, text) in [
            (1.0, "1"),
            (2.5, "2.5"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (0.000_001, "0.000001"),
            (1.5e-7, "1.5e-7"),
            (-0.0, "-0"),
        ] {
            assert_eq!(go_float(value), text);
        }
    }
}
