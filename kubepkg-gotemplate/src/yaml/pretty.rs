//! The emitter of `go.yaml.in/yaml/v3`, as far as plain data needs it: block style, literal text for
//! several lines, flow style for what is empty.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::sort;
use crate::fmt::MAX_TEXT;
use crate::gotype::Kind;
use crate::strconv::{format_float, parse_float, parse_int, parse_uint};
use crate::value::{FloatKind, MAX_VALUE_DEPTH, Value};

/// The longest key written without `? `, in bytes.
const MAX_SIMPLE_KEY: usize = 128;

/// What stands before a node on its line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// The start of the document.
    Root,
    /// `key:`; a collection starts on the next line.
    Value,
    /// `-`, or `:` after a long key; a collection starts on the same line.
    Item,
}

/// Helm's `toYamlPretty` without the last line break; the error is a Go panic.
pub(crate) fn encode_pretty(value: &Value) -> Result<String, String> {
    let mut writer = Writer::default();
    writer.node(value, Place::Root, 0, 0)?;
    if !writer.out.ends_with('\n') {
        writer.out.push('\n');
    }
    writer.out.pop();
    Ok(writer.out)
}

#[derive(Default)]
struct Writer {
    out: String,
}

impl Writer {
    fn line(&mut self, indent: usize) {
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
        self.out.extend(std::iter::repeat_n(' ', indent));
    }

    fn plain(&mut self, text: &str, place: Place) {
        if place != Place::Root {
            self.out.push(' ');
        }
        self.out.push_str(text);
    }

    /// `indent` is that of the collection around, `depth` counts nesting.
    fn node(
        &mut self,
        value: &Value,
        place: Place,
        indent: usize,
        depth: usize,
    ) -> Result<(), String> {
        if depth > MAX_VALUE_DEPTH {
            return Err("value is nested too deep to be written as yaml".to_owned());
        }
        if self.out.len() > MAX_TEXT {
            return Err("yaml text is too large".to_owned());
        }
        match value {
            Value::Nil | Value::TypedNil(_) if !matches!(value.kind(), Kind::Func) => {
                self.plain("null", place);
            }
            Value::Bool(flag) => self.plain(if *flag { "true" } else { "false" }, place),
            Value::Int(_, n) => self.plain(&n.to_string(), place),
            Value::Uint(_, n) => self.plain(&n.to_string(), place),
            Value::Float(kind, x) => {
                let bits = if *kind == FloatKind::Float32 { 32 } else { 64 };
                let text = format_float(*x, b'g', None, bits);
                let text = match text.as_str() {
                    "+Inf" => ".inf",
                    "-Inf" => "-.inf",
                    "NaN" => ".nan",
                    other => other,
                };
                self.plain(text, place);
            }
            Value::String(text) => self.text(text, place, indent, false),
            Value::Bytes(bytes) => {
                let items: Vec<Value> = bytes
                    .as_bytes()
                    .iter()
                    .map(|byte| Value::int(i64::from(*byte)))
                    .collect();
                self.list(&items, place, indent, depth)?;
            }
            Value::List(list) => self.list(list.items(), place, indent, depth)?,
            Value::Map(map) => {
                let entries = map
                    .borrow()
                    .iter()
                    .map(|(k, v)| (k.to_vec(), v.clone()))
                    .collect();
                self.map(&sort::sorted(entries), place, indent, depth)?;
            }
            Value::Object(object) => {
                let ty = object.go_type();
                if ty.name == "time.Time" {
                    let text = object.json().unwrap_or_default();
                    self.plain(text.trim_matches('"'), place);
                } else if ty.name == "time.Duration" || ty.method("MarshalText").is_some() {
                    let text = object.text().unwrap_or_default();
                    self.text(&text, place, indent, false);
                } else if let Some(inner) = object.underlying() {
                    self.node(&inner, place, indent, depth + 1)?;
                } else {
                    let entries: Vec<(Vec<u8>, Value)> = object
                        .fields()
                        .into_iter()
                        .map(|(name, field)| (name.to_lowercase().into_bytes(), field))
                        .collect();
                    self.map(&entries, place, indent, depth)?;
                }
            }
            other => return Err(format!("cannot marshal type: {}", other.type_name())),
        }
        Ok(())
    }

    fn inner(place: Place, indent: usize) -> usize {
        if place == Place::Root {
            indent
        } else {
            indent + 2
        }
    }

    fn list(
        &mut self,
        items: &[Value],
        place: Place,
        indent: usize,
        depth: usize,
    ) -> Result<(), String> {
        if items.is_empty() {
            self.plain("[]", place);
            return Ok(());
        }
        let indent = Self::inner(place, indent);
        for (i, item) in items.iter().enumerate() {
            if i == 0 && place == Place::Item {
                self.out.push(' ');
            } else {
                self.line(indent);
            }
            self.out.push('-');
            self.node(item, Place::Item, indent, depth + 1)?;
        }
        Ok(())
    }

    fn map(
        &mut self,
        entries: &[(Vec<u8>, Value)],
        place: Place,
        indent: usize,
        depth: usize,
    ) -> Result<(), String> {
        if entries.is_empty() {
            self.plain("{}", place);
            return Ok(());
        }
        let indent = Self::inner(place, indent);
        for (i, (key, item)) in entries.iter().enumerate() {
            if i == 0 && place == Place::Item {
                self.out.push(' ');
            } else {
                self.line(indent);
            }
            let analysis = Analysis::of(&String::from_utf8_lossy(key));
            if !analysis.multiline && key.len() <= MAX_SIMPLE_KEY {
                self.text(key, Place::Root, indent, true);
                self.out.push(':');
                self.node(item, Place::Value, indent, depth + 1)?;
            } else {
                self.out.push('?');
                self.text(key, Place::Item, indent, false);
                self.line(indent);
                self.out.push(':');
                self.node(item, Place::Item, indent, depth + 1)?;
            }
        }
        Ok(())
    }

    fn text(&mut self, bytes: &[u8], place: Place, indent: usize, is_key: bool) {
        let encoded;
        let (text, tagged) = if let Ok(text) = std::str::from_utf8(bytes) {
            (text, false)
        } else {
            encoded = base64_lines(bytes);
            (encoded.as_str(), true)
        };
        if place != Place::Root {
            self.out.push(' ');
        }
        if tagged {
            self.out.push_str("!!binary ");
        }
        let indent = if place == Place::Root && !is_key {
            2
        } else {
            indent + 2
        };
        let analysis = Analysis::of(text);
        let plain = tagged || can_be_plain(text);
        if text.contains('\n') && analysis.block && !is_key {
            self.literal(text, indent);
        } else if text.contains('\n') || !plain {
            self.double_quoted(text);
        } else if analysis.plain && !(text.is_empty() && is_key) {
            self.out.push_str(text);
        } else if analysis.single_quoted && !(is_key && analysis.multiline) {
            self.single_quoted(text, indent);
        } else {
            self.double_quoted(text);
        }
    }

    fn literal(&mut self, text: &str, indent: usize) {
        self.out.push('|');
        if text.starts_with([' ', '\n']) || text.starts_with(is_break) {
            self.out.push('2');
        }
        let mut from_end = text.chars().rev();
        match (from_end.next(), from_end.next()) {
            (Some(last), _) if !is_break(last) => self.out.push('-'),
            (Some(_), None) => self.out.push('+'),
            (Some(_), Some(before)) if is_break(before) => self.out.push('+'),
            _ => {}
        }
        self.out.push('\n');
        let mut breaks = true;
        for c in text.chars() {
            if is_break(c) {
                self.out.push(c);
                breaks = true;
                continue;
            }
            if std::mem::take(&mut breaks) {
                self.out.extend(std::iter::repeat_n(' ', indent));
            }
            self.out.push(c);
        }
    }

    fn single_quoted(&mut self, text: &str, indent: usize) {
        self.out.push('\'');
        let mut breaks = false;
        for c in text.chars() {
            if is_break(c) {
                if !breaks && c == '\n' {
                    self.out.push('\n');
                }
                self.out.push(c);
                breaks = true;
                continue;
            }
            if std::mem::take(&mut breaks) {
                self.out.extend(std::iter::repeat_n(' ', indent));
            }
            if c == '\'' {
                self.out.push('\'');
            }
            self.out.push(c);
        }
        self.out.push('\'');
    }

    fn double_quoted(&mut self, text: &str) {
        use std::fmt::Write as _;
        // The emitter looks for a byte order mark at the start of the text whatever character it
        // stands at, so behind one every character is escaped.
        let all = text.starts_with('\u{feff}');
        self.out.push('"');
        for c in text.chars() {
            if !all && is_printable(c) && !is_break(c) && c != '"' && c != '\\' {
                self.out.push(c);
                continue;
            }
            self.out.push('\\');
            let code = u32::from(c);
            match code {
                0 => self.out.push('0'),
                7 => self.out.push('a'),
                8 => self.out.push('b'),
                9 => self.out.push('t'),
                10 => self.out.push('n'),
                11 => self.out.push('v'),
                12 => self.out.push('f'),
                13 => self.out.push('r'),
                0x1b => self.out.push('e'),
                0x22 | 0x5c => self.out.push(c),
                0x85 => self.out.push('N'),
                0xa0 => self.out.push('_'),
                0x2028 => self.out.push('L'),
                0x2029 => self.out.push('P'),
                _ => {
                    // Writing to a String cannot fail.
                    let _ = match code {
                        0..=0xff => write!(self.out, "x{code:02X}"),
                        0x100..=0xffff => write!(self.out, "u{code:04X}"),
                        _ => write!(self.out, "U{code:08X}"),
                    };
                }
            }
        }
        self.out.push('"');
    }
}

/// Base64 in lines of 70 characters when one does not suffice.
fn base64_lines(bytes: &[u8]) -> String {
    let whole = STANDARD.encode(bytes);
    if whole.len() <= 70 {
        return whole;
    }
    let mut out = String::with_capacity(whole.len() + whole.len() / 70 + 1);
    for (i, c) in whole.chars().enumerate() {
        out.push(c);
        if i % 70 == 69 {
            out.push('\n');
        }
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out
}

fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// What the emitter takes for printable: nothing outside the basic plane.
fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}')
        && c != '\u{feff}'
}

/// What may be done with a text, apart from what it would be read as.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools, reason = "four questions of their own")]
struct Analysis {
    multiline: bool,
    plain: bool,
    single_quoted: bool,
    block: bool,
}

impl Analysis {
    fn of(text: &str) -> Self {
        if text.is_empty() {
            return Self {
                plain: true,
                single_quoted: true,
                ..Self::default()
            };
        }
        let mut indicators = text.starts_with("---") || text.starts_with("...");
        let (mut breaks, mut special, mut tab) = (false, false, false);
        let (mut edge_space, mut trailing_space) = (false, false);
        let (mut break_space, mut space_break) = (false, false);
        let (mut previous_space, mut previous_break, mut after_blank) = (false, false, true);
        let mut chars = text.chars().enumerate().peekable();
        while let Some((i, c)) = chars.next() {
            let next = chars.peek().map(|(_, c)| *c);
            let blank_next = next.is_none_or(|c| matches!(c, ' ' | '\t'));
            indicators |= match c {
                '#' => i == 0 || after_blank,
                ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%'
                | '@' | '`' => i == 0,
                '?' | '-' => i == 0 && blank_next,
                ':' => blank_next,
                _ => false,
            };
            if c == '\t' {
                tab = true;
            } else if !is_printable(c) {
                special = true;
            }
            let last = next.is_none();
            if c == ' ' {
                edge_space |= i == 0 || last;
                trailing_space |= last;
                break_space |= previous_break;
                previous_space = true;
                previous_break = false;
            } else if is_break(c) {
                breaks = true;
                edge_space |= i == 0 || last;
                space_break |= previous_space;
                previous_space = false;
                previous_break = true;
            } else {
                previous_space = false;
                previous_break = false;
            }
            after_blank = matches!(c, ' ' | '\t') || is_break(c);
        }
        let broken = space_break || special;
        Self {
            multiline: breaks,
            plain: !(indicators || breaks || edge_space || break_space || broken || tab),
            single_quoted: !(break_space || broken || tab),
            block: !(trailing_space || broken),
        }
    }
}

/// Whether the text, unquoted, is read as a string by this and by older parsers.
fn can_be_plain(text: &str) -> bool {
    let old_bool = matches!(
        text,
        "y" | "Y"
            | "yes"
            | "Yes"
            | "YES"
            | "on"
            | "On"
            | "ON"
            | "n"
            | "N"
            | "no"
            | "No"
            | "NO"
            | "off"
            | "Off"
            | "OFF"
    );
    !old_bool && !is_base60(text) && is_string(text)
}

fn is_base60(text: &str) -> bool {
    let body = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut parts = body.split(':');
    let first = parts.next().unwrap_or("");
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if !first.starts_with(|c: char| c.is_ascii_digit())
        || !first.bytes().all(|b| b.is_ascii_digit() || b == b'_')
    {
        return false;
    }
    let rest: Vec<&str> = parts.collect();
    let Some((last, middle)) = rest.split_last() else {
        return false;
    };
    let sixty = |s: &str| match s.len() {
        1 => digits(s),
        2 => digits(s) && s.as_bytes().first().is_some_and(|b| *b <= b'5'),
        _ => false,
    };
    let (last, fraction) = last.split_once('.').map_or((*last, ""), |(a, b)| (a, b));
    middle.iter().all(|part| sixty(part))
        && sixty(last)
        && fraction.bytes().all(|b| b.is_ascii_digit() || b == b'_')
}

/// Whether `resolve` of the library makes a string of it.
fn is_string(text: &str) -> bool {
    let Some(first) = text.bytes().next() else {
        return false;
    };
    let known = matches!(
        text,
        "true"
            | "True"
            | "TRUE"
            | "false"
            | "False"
            | "FALSE"
            | "~"
            | "null"
            | "Null"
            | "NULL"
            | ".nan"
            | ".NaN"
            | ".NAN"
            | ".inf"
            | ".Inf"
            | ".INF"
            | "+.inf"
            | "+.Inf"
            | "+.INF"
            | "-.inf"
            | "-.Inf"
            | "-.INF"
    );
    match first {
        b'.' => !known && parse_float(text).is_err(),
        b'+' | b'-' | b'0'..=b'9' => {
            let plain: String = text.chars().filter(|c| *c != '_').collect();
            let octal = plain
                .strip_prefix("0o")
                .or_else(|| plain.strip_prefix("-0o"));
            let binary = plain
                .strip_prefix("0b")
                .or_else(|| plain.strip_prefix("-0b"));
            !(known
                || is_timestamp(text)
                || parse_int(&plain, 0, 64).is_ok()
                || parse_uint(&plain, 0, 64).is_ok()
                || is_yaml_float(&plain) && parse_float(&plain).is_ok()
                || octal.is_some_and(|o| parse_uint(o, 8, 64).is_ok())
                || binary.is_some_and(|b| parse_uint(b, 2, 64).is_ok()))
        }
        _ => !known,
    }
}

fn is_yaml_float(text: &str) -> bool {
    let body = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match body.find(['e', 'E']) {
        Some(at) => (body.get(..at).unwrap_or(""), body.get(at + 1..)),
        None => (body, None),
    };
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let good_exponent = exponent.is_none_or(|e| digits(e.strip_prefix(['+', '-']).unwrap_or(e)));
    let good_mantissa = match mantissa.split_once('.') {
        None => digits(mantissa),
        Some(("", fraction)) => digits(fraction),
        Some((whole, fraction)) => digits(whole) && (fraction.is_empty() || digits(fraction)),
    };
    good_exponent && good_mantissa
}

/// The layouts of a timestamp: a date, or a date and a time in one of Go's four forms.
fn is_timestamp(text: &str) -> bool {
    if text.bytes().take_while(u8::is_ascii_digit).count() != 4
        || text.as_bytes().get(4) != Some(&b'-')
    {
        return false;
    }
    [
        "2006-1-2T15:4:5.999999999Z07:00",
        "2006-1-2t15:4:5.999999999Z07:00",
        "2006-1-2 15:4:5.999999999",
        "2006-1-2",
    ]
    .iter()
    .any(|layout| crate::time::parse(layout.as_bytes(), text.as_bytes()).is_ok())
}
