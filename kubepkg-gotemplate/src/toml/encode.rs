//! Writing TOML.

use crate::fmt::MAX_TEXT;
use crate::gotype::Kind;
use crate::strconv::format_float;
use crate::value::{FloatKind, MAX_VALUE_DEPTH, Value};

/// Why a value has no TOML form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EncodeError {
    /// The library's own refusal.
    #[error("{0}")]
    Refused(String),
    /// A Go panic of the library.
    #[error("{0}")]
    Panic(String),
}

type Encoded = Result<(), EncodeError>;

fn refused(text: impl Into<String>) -> EncodeError {
    EncodeError::Refused(text.into())
}

/// TOML text of a value.
pub(crate) fn encode(value: &Value) -> Result<Vec<u8>, EncodeError> {
    if matches!(value, Value::Nil) {
        return Err(EncodeError::Panic(
            "reflect: call of reflect.Value.Type on zero Value".to_owned(),
        ));
    }
    let mut encoder = Encoder::default();
    encoder.encode(&[], value)?;
    Ok(encoder.out)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Nothing is written.
    Nil,
    Plain,
    Table,
    Tables,
}

/// The value as the library sees it: whether it is a table, a list of tables or something else.
fn shape(value: &Value, depth: usize, steps: &mut usize) -> Result<Shape, EncodeError> {
    if depth > MAX_VALUE_DEPTH {
        return Err(refused("toml: value is nested too deep"));
    }
    *steps += 1;
    if *steps > MAX_STEPS {
        return Err(refused("toml: value is too large"));
    }
    if value.is_nil() {
        return Ok(Shape::Nil);
    }
    match value {
        Value::Map(_) => Ok(Shape::Table),
        Value::List(list) if !list.is_empty() => {
            let mut all = true;
            for item in list {
                match shape(item, depth + 1, steps)? {
                    Shape::Nil => {
                        return Err(refused("toml: cannot encode array with nil element"));
                    }
                    Shape::Table => {}
                    _ => all = false,
                }
            }
            Ok(if all { Shape::Tables } else { Shape::Plain })
        }
        Value::Complex(..) | Value::Func(_) => Err(refused(format!(
            "unsupported type: {}",
            value.kind().name()
        ))),
        Value::Object(object) => {
            let ty = object.go_type();
            let plain = object.underlying().is_some() || ty.method("MarshalText").is_some();
            Ok(if plain { Shape::Plain } else { Shape::Table })
        }
        _ => Ok(Shape::Plain),
    }
}

/// How many values are looked at before the whole is too large.
const MAX_STEPS: usize = 20_000_000;

#[derive(Default)]
struct Encoder {
    out: Vec<u8>,
    steps: usize,
}

pub(super) fn write_quoted(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    for byte in text {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            8 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            12 => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            0..0x20 | 0x7f => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(*byte),
        }
    }
    out.push(b'"');
}

fn write_key_part(out: &mut Vec<u8>, part: &[u8]) {
    let bare = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if part.is_empty() || !part.iter().all(bare) {
        write_quoted(out, part);
    } else {
        out.extend_from_slice(part);
    }
}

/// One entry of a table with the shape of its value.
type Entry = (Vec<u8>, Value);

fn entries(value: &Value) -> Vec<Entry> {
    match value {
        Value::Map(map) => map
            .borrow()
            .iter()
            .map(|(k, v)| (k.to_vec(), v.clone()))
            .collect(),
        Value::Object(object) => object
            .fields()
            .into_iter()
            .map(|(name, field)| (name.as_bytes().to_vec(), field))
            .collect(),
        _ => Vec::new(),
    }
}

impl Encoder {
    fn newline(&mut self) {
        if !self.out.is_empty() {
            self.out.push(b'\n');
        }
    }

    fn indent(&mut self, key: &[Vec<u8>]) {
        for _ in 1..key.len() {
            self.out.extend_from_slice(b"  ");
        }
    }

    fn key(&mut self, key: &[Vec<u8>]) {
        for (i, part) in key.iter().enumerate() {
            if i > 0 {
                self.out.push(b'.');
            }
            write_key_part(&mut self.out, part);
        }
    }

    fn encode(&mut self, key: &[Vec<u8>], value: &Value) -> Encoded {
        match value {
            Value::Complex(..) | Value::Func(_) => {
                let name = String::from_utf8_lossy(&key.join(&b'.')).into_owned();
                return Err(refused(format!(
                    "unsupported type for key '{name}': {}",
                    value.kind().name()
                )));
            }
            Value::TypedNil(_) => return Ok(()),
            _ => {}
        }
        match shape(value, key.len(), &mut self.steps)? {
            Shape::Tables => self.tables(key, value),
            Shape::Table => self.table(key, value),
            Shape::Nil if value.kind() == Kind::Map => Ok(()),
            Shape::Nil | Shape::Plain => self.pair(key, value, false),
        }
    }

    fn tables(&mut self, key: &[Vec<u8>], value: &Value) -> Encoded {
        if key.is_empty() {
            return Err(refused("toml: top-level values must be Go maps or structs"));
        }
        let Value::List(list) = value else {
            return Ok(());
        };
        for item in list {
            self.newline();
            self.indent(key);
            self.out.extend_from_slice(b"[[");
            self.key(key);
            self.out.extend_from_slice(b"]]");
            self.newline();
            self.body(key, item, false)?;
        }
        Ok(())
    }

    fn table(&mut self, key: &[Vec<u8>], value: &Value) -> Encoded {
        if key.len() == 1 {
            self.newline();
        }
        if !key.is_empty() {
            self.indent(key);
            self.out.push(b'[');
            self.key(key);
            self.out.push(b']');
            self.newline();
        }
        self.body(key, value, false)
    }

    /// The entries of a table: plain ones first, then tables.
    fn body(&mut self, key: &[Vec<u8>], value: &Value, inline: bool) -> Encoded {
        let is_struct = matches!(value, Value::Object(_));
        let (mut direct, mut sub) = (Vec::new(), Vec::new());
        for (name, item) in entries(value) {
            match shape(&item, key.len() + 1, &mut self.steps)? {
                Shape::Table | Shape::Tables => sub.push((name, item)),
                _ => direct.push((name, item)),
            }
        }
        if inline {
            self.out.push(b'{');
        }
        let total = direct.len() + sub.len();
        let groups = [(direct, !sub.is_empty()), (sub, false)];
        let mut seen = 0;
        for (group, more) in groups {
            let count = group.len();
            for (i, (name, item)) in group.into_iter().enumerate() {
                seen += 1;
                if item.is_nil() {
                    continue;
                }
                if inline {
                    self.pair(&[name], &item, true)?;
                    let last = if is_struct {
                        seen == total
                    } else {
                        i + 1 == count && !more
                    };
                    if !last {
                        self.out.extend_from_slice(b", ");
                    }
                } else {
                    let mut path = key.to_vec();
                    path.push(name);
                    self.encode(&path, &item)?;
                }
            }
        }
        if inline {
            self.out.push(b'}');
        }
        Ok(())
    }

    fn pair(&mut self, key: &[Vec<u8>], value: &Value, inline: bool) -> Encoded {
        let Some(name) = key.last() else {
            return self.element(value, 0);
        };
        self.indent(key);
        write_key_part(&mut self.out, name);
        self.out.extend_from_slice(b" = ");
        self.element(value, key.len())?;
        if !inline {
            self.newline();
        }
        Ok(())
    }

    fn float(&mut self, x: f64, bits: u32) {
        if !x.is_finite() {
            if x.is_sign_negative() {
                self.out.push(b'-');
            }
            self.out
                .extend_from_slice(if x.is_nan() { b"nan" } else { b"inf" });
            return;
        }
        let text = format_float(x, b'g', None, bits);
        self.out.extend_from_slice(text.as_bytes());
        if !text.contains(['e', '.']) {
            self.out.extend_from_slice(b".0");
        }
    }

    fn element(&mut self, value: &Value, depth: usize) -> Encoded {
        if self.out.len() > MAX_TEXT {
            return Err(refused("toml: value is too large"));
        }
        if depth > MAX_VALUE_DEPTH {
            return Err(refused("toml: value is nested too deep"));
        }
        match value {
            Value::String(text) => write_quoted(&mut self.out, text),
            Value::Bool(flag) => {
                self.out
                    .extend_from_slice(if *flag { b"true" } else { b"false" });
            }
            Value::Int(_, n) => self.out.extend_from_slice(n.to_string().as_bytes()),
            Value::Uint(_, n) => self.out.extend_from_slice(n.to_string().as_bytes()),
            Value::Float(kind, x) => {
                self.float(*x, if *kind == FloatKind::Float32 { 32 } else { 64 });
            }
            Value::List(list) => {
                self.out.push(b'[');
                for (i, item) in list.iter().enumerate() {
                    if i > 0 {
                        self.out.extend_from_slice(b", ");
                    }
                    self.element(item, depth + 1)?;
                }
                self.out.push(b']');
            }
            Value::Bytes(bytes) => {
                self.out.push(b'[');
                for (i, byte) in bytes.as_bytes().iter().enumerate() {
                    if i > 0 {
                        self.out.extend_from_slice(b", ");
                    }
                    self.out.extend_from_slice(byte.to_string().as_bytes());
                }
                self.out.push(b']');
            }
            Value::Map(_) => return self.body(&[], value, true),
            Value::Object(object) => {
                if let Some(text) = object
                    .json()
                    .and_then(|json| serde_json::from_str::<String>(&json).ok())
                {
                    let is_time = object.go_type().name == "time.Time";
                    if is_time {
                        self.out.extend_from_slice(text.as_bytes());
                    } else {
                        write_quoted(&mut self.out, text.as_bytes());
                    }
                    return Ok(());
                }
                if object.go_type().name == "time.Duration"
                    && let Some(text) = object.text()
                {
                    write_quoted(&mut self.out, &text);
                    return Ok(());
                }
                if let Some(inner) = object.underlying() {
                    return self.element(&inner, depth + 1);
                }
                return self.body(&[], value, true);
            }
            Value::Nil => {
                return Err(EncodeError::Panic(
                    "reflect: call of reflect.Value.Interface on zero Value".to_owned(),
                ));
            }
            other => {
                return Err(refused(format!("unexpected type: {}", other.type_name())));
            }
        }
        Ok(())
    }
}
