//! Writing JSON as Go's `encoding/json` does.

use crate::fmt::MAX_TEXT;
use crate::strconv::format_float;
use crate::value::{FloatKind, MAX_VALUE_DEPTH, ToJsonError, Value};

/// How to write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    /// Whether `<`, `>` and `&` are written as `\u003c` and so on.
    pub(crate) escape_html: bool,
    /// Whether to write on several lines with an indent of two spaces.
    pub(crate) pretty: bool,
}

impl Style {
    /// `json.Marshal`.
    pub(crate) const COMPACT: Self = Self {
        escape_html: true,
        pretty: false,
    };
    /// `json.MarshalIndent(v, "", "  ")`.
    pub(crate) const PRETTY: Self = Self {
        escape_html: true,
        pretty: true,
    };
    /// An encoder with `SetEscapeHTML(false)`.
    pub(crate) const RAW: Self = Self {
        escape_html: false,
        pretty: false,
    };
}

/// `value` as JSON text.
pub(crate) fn encode(value: &Value, style: Style) -> Result<String, ToJsonError> {
    let mut writer = Writer {
        out: String::new(),
        style,
    };
    writer.value(value, 0)?;
    Ok(writer.out)
}

struct Writer {
    out: String,
    style: Style,
}

impl Writer {
    fn newline(&mut self, depth: usize) {
        if self.style.pretty {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n("  ", depth));
        }
    }

    fn string(&mut self, bytes: &[u8]) {
        use std::fmt::Write as _;
        self.out.push('"');
        for chunk in bytes.utf8_chunks() {
            for c in chunk.valid().chars() {
                match c {
                    '"' => self.out.push_str("\\\""),
                    '\\' => self.out.push_str("\\\\"),
                    '\u{8}' => self.out.push_str("\\b"),
                    '\u{c}' => self.out.push_str("\\f"),
                    '\n' => self.out.push_str("\\n"),
                    '\r' => self.out.push_str("\\r"),
                    '\t' => self.out.push_str("\\t"),
                    '<' | '>' | '&' if !self.style.escape_html => self.out.push(c),
                    '\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                        // Writing to a String cannot fail.
                        let _ = write!(self.out, "\\u{:04x}", u32::from(c));
                    }
                    c => self.out.push(c),
                }
            }
            for _ in chunk.invalid() {
                self.out.push_str("\\ufffd");
            }
        }
        self.out.push('"');
    }

    fn float(&mut self, x: f64, bits: u32) -> Result<(), ToJsonError> {
        if !x.is_finite() {
            return Err(ToJsonError::UnsupportedValue(format_float(
                x, b'g', None, bits,
            )));
        }
        let abs = x.abs();
        let small = if bits == 32 {
            f64::from(1e-6_f32)
        } else {
            1e-6
        };
        let large = if bits == 32 {
            f64::from(1e21_f32)
        } else {
            1e21
        };
        let exponent = abs != 0.0 && (abs < small || abs >= large);
        let mut text = format_float(x, if exponent { b'e' } else { b'f' }, None, bits);
        // e-09 is written e-9.
        if exponent && let Some(at) = text.len().checked_sub(4) {
            let tail = text.get(at..).unwrap_or("");
            if tail.starts_with("e-0") {
                text.remove(at + 2);
            }
        }
        self.out.push_str(&text);
        Ok(())
    }

    fn open(&mut self, bracket: char) {
        self.out.push(bracket);
    }

    fn separate(&mut self, index: usize, depth: usize) {
        if index > 0 {
            self.out.push(',');
        }
        self.newline(depth + 1);
    }

    fn close(&mut self, count: usize, depth: usize, bracket: char) {
        if count > 0 {
            self.newline(depth);
        }
        self.out.push(bracket);
    }

    fn key(&mut self, key: &[u8]) {
        self.string(key);
        self.out
            .push_str(if self.style.pretty { ": " } else { ":" });
    }

    fn value(&mut self, value: &Value, depth: usize) -> Result<(), ToJsonError> {
        use std::fmt::Write as _;
        if depth > MAX_VALUE_DEPTH {
            return Err(ToJsonError::TooDeep);
        }
        if self.out.len() > MAX_TEXT {
            return Err(ToJsonError::TooLarge);
        }
        match value {
            Value::Nil | Value::TypedNil(_) => self.out.push_str("null"),
            Value::Bool(flag) => self.out.push_str(if *flag { "true" } else { "false" }),
            Value::Int(_, n) => {
                let _ = write!(self.out, "{n}");
            }
            Value::Uint(_, n) => {
                let _ = write!(self.out, "{n}");
            }
            Value::Float(kind, x) => {
                self.float(*x, if *kind == FloatKind::Float32 { 32 } else { 64 })?;
            }
            Value::Complex(..) | Value::Func(_) => {
                return Err(ToJsonError::UnsupportedType(value.type_name()));
            }
            Value::String(text) => self.string(text),
            Value::Bytes(bytes) if bytes.is_nil() => self.out.push_str("null"),
            Value::Bytes(bytes) => {
                self.out.push('"');
                self.out.push_str(&bytes.to_base64());
                self.out.push('"');
            }
            Value::List(list) if list.is_nil() => self.out.push_str("null"),
            Value::List(list) => {
                self.open('[');
                for (i, item) in list.iter().enumerate() {
                    self.separate(i, depth);
                    self.value(item, depth + 1)?;
                }
                self.close(list.len(), depth, ']');
            }
            Value::Map(map) if map.is_nil() => self.out.push_str("null"),
            Value::Map(map) => {
                self.open('{');
                for (i, (key, item)) in map.borrow().iter().enumerate() {
                    self.separate(i, depth);
                    self.key(key);
                    self.value(item, depth + 1)?;
                }
                self.close(map.len(), depth, '}');
            }
            Value::Object(object) => {
                if let Some(text) = object.json() {
                    let json: serde_json::Value = serde_json::from_str(&text)
                        .map_err(|_| ToJsonError::Malformed(value.type_name()))?;
                    return self.value(&Value::from(&json), depth);
                }
                if let Some(inner) = object.underlying() {
                    return self.value(&inner, depth);
                }
                let fields = object.json_fields();
                self.open('{');
                for (i, (key, item)) in fields.iter().enumerate() {
                    self.separate(i, depth);
                    self.key(key.as_bytes());
                    self.value(item, depth + 1)?;
                }
                self.close(fields.len(), depth, '}');
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &Value, style: Style) -> String {
        encode(value, style).unwrap()
    }

    #[test]
    fn numbers_and_escapes_are_those_of_go() {
        for (x, want) in [
            (1e21, "1e+21"),
            (1e20, "100000000000000000000"),
            (1e-7, "1e-7"),
            (-0.0, "-0"),
        ] {
            assert_eq!(text(&Value::float64(x), Style::COMPACT), want);
        }
        let odd = Value::string(&b"<\x00\x7f\xff\x08"[..]);
        assert_eq!(
            text(&odd, Style::COMPACT),
            "\"\\u003c\\u0000\u{7f}\\ufffd\\b\""
        );
        assert_eq!(
            text(&Value::string("<\u{2028}"), Style::RAW),
            "\"<\\u2028\""
        );
    }

    #[test]
    fn empty_containers_stay_on_one_line() {
        let value = Value::list(vec![Value::list(vec![]), Value::map([("a", Value::Nil)])]);
        assert_eq!(
            text(&value, Style::PRETTY),
            "[\n  [],\n  {\n    \"a\": null\n  }\n]"
        );
    }
}
