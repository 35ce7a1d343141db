//! YAML into typed fields as `sigs.k8s.io/yaml` and Go's `encoding/json` do it together.
//!
//! A number or boolean becomes a text where a text is wanted, keys match without case, `null` changes
//! nothing, unknown keys are dropped, and the first mismatch (keys in byte order) is the error, in Go's words.

use std::fmt;

use serde_json::{Map, Value};

/// A Go type, as far as Helm's files need them.
pub(crate) enum GoType {
    /// `string`
    Text,
    /// `bool`
    Bool,
    /// `time.Time`
    Time,
    /// `interface {}`
    Any,
    /// `[]T`
    Slice(&'static GoType),
    /// `*T`
    Pointer(&'static GoType),
    /// `map[string]T`
    Map(&'static GoType),
    /// A struct.
    Struct(&'static GoStruct),
}

/// A Go struct.
pub(crate) struct GoStruct {
    /// Its bare name, empty when it has none.
    pub(crate) name: &'static str,
    /// Its type as Go prints it.
    pub(crate) printed: &'static str,
    /// Its fields.
    pub(crate) fields: &'static [GoField],
}

/// A field of a Go struct.
pub(crate) struct GoField {
    /// Name in JSON.
    pub(crate) json: &'static str,
    /// Type.
    pub(crate) ty: &'static GoType,
}

impl fmt::Display for GoType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("string"),
            Self::Bool => f.write_str("bool"),
            Self::Time => f.write_str("time.Time"),
            Self::Any => f.write_str("interface {}"),
            Self::Slice(of) => write!(f, "[]{of}"),
            Self::Pointer(to) => write!(f, "*{to}"),
            Self::Map(of) => write!(f, "map[string]{of}"),
            Self::Struct(of) => f.write_str(of.printed),
        }
    }
}

/// Reads `text` as a value of type `ty`: canonical key names, texts where texts are wanted. `None` when the
/// document is empty or null.
///
/// # Errors
/// The whole text of `yaml.Unmarshal`'s error.
pub(crate) fn decode_yaml(text: &[u8], ty: &GoType) -> Result<Option<Value>, String> {
    decode(&load(text)?, text, ty)
}

/// As [`decode_yaml`]; keys that no field has, and keys that stand twice, are errors.
///
/// # Errors
/// As [`decode_yaml`].
pub(crate) fn check_strictly(text: &[u8], ty: &GoType) -> Result<(), String> {
    let value = kubepkg_yaml::load_strict(text)
        .map_err(|error| format!("error converting YAML to JSON: {error}"))?;
    let mut decoder = Decoder::new(text);
    decoder.strict = true;
    decoder.value(&value, ty);
    decoder.finish()
}

/// The document as JSON, whole numbers whole.
///
/// # Errors
/// As [`decode_yaml`].
pub(crate) fn load(text: &[u8]) -> Result<Value, String> {
    kubepkg_yaml::load(text).map_err(|error| format!("error converting YAML to JSON: {error}"))
}

/// As [`decode_yaml`], from the document as JSON; `text` is what it was loaded from.
///
/// # Errors
/// As [`decode_yaml`].
pub(crate) fn decode(value: &Value, text: &[u8], ty: &GoType) -> Result<Option<Value>, String> {
    let mut decoder = Decoder::new(text);
    let read = decoder.value(value, ty);
    decoder.finish().map(|()| read)
}

struct Decoder<'a> {
    text: &'a [u8],
    pointer: String,
    owner: Option<&'static str>,
    path: Vec<&'static str>,
    first_error: Option<String>,
    strict: bool,
}

impl<'a> Decoder<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            pointer: String::new(),
            owner: None,
            path: Vec::new(),
            first_error: None,
            strict: false,
        }
    }

    fn finish(self) -> Result<(), String> {
        self.first_error.map_or(Ok(()), |error| {
            Err(format!(
                "error unmarshaling JSON: while decoding JSON: {error}"
            ))
        })
    }
}

impl Decoder<'_> {
    fn value(&mut self, value: &Value, ty: &GoType) -> Option<Value> {
        match (value, ty) {
            (Value::Null, _) => None,
            (_, GoType::Pointer(to)) => self.value(value, to),
            (_, GoType::Any)
            | (Value::String(_), GoType::Text)
            | (Value::Bool(_), GoType::Bool) => Some(value.clone()),
            (Value::Bool(yes), GoType::Text) => Some(Value::String(yes.to_string())),
            (Value::Number(number), GoType::Text) => {
                let number = self.as_written(number);
                Some(Value::String(number_text(&number)))
            }
            (Value::String(time), GoType::Time) => match super::text::check_time(time) {
                Ok(()) => Some(value.clone()),
                Err(error) => self.fail(error),
            },
            (_, GoType::Time) => self.fail("Time.UnmarshalJSON: input is not a JSON string".into()),
            (Value::Array(items), GoType::Slice(of)) => {
                let read = |(at, item): (usize, &Value)| {
                    let item = self.within(&at.to_string(), |inner| inner.value(item, of));
                    item.unwrap_or_else(|| zero(of))
                };
                Some(items.iter().enumerate().map(read).collect())
            }
            (Value::Object(map), GoType::Map(of)) => {
                let mut read = Map::new();
                for (key, item) in map {
                    let item = self.within(key, |inner| inner.value(item, of));
                    read.insert(key.clone(), item.unwrap_or_else(|| zero(of)));
                }
                Some(Value::Object(read))
            }
            (Value::Object(map), GoType::Struct(of)) => Some(Value::Object(self.object(map, of))),
            _ => self.mismatch(value, ty),
        }
    }

    fn object(&mut self, map: &Map<String, Value>, of: &'static GoStruct) -> Map<String, Value> {
        let mut read = Map::new();
        let outer = self.owner.replace(of.name);
        for (key, item) in map {
            let Some(field) = of.fields.iter().find(|field| is_same(field.json, key)) else {
                if self.strict {
                    self.fail(format!("json: unknown field {}", super::text::quote(key)));
                }
                continue;
            };
            self.path.push(field.json);
            if let Some(item) = self.within(key, |inner| inner.value(item, field.ty)) {
                read.insert(field.json.to_owned(), item);
            }
            self.path.pop();
        }
        self.owner = outer;
        read
    }

    /// Runs `read` with the pointer one step deeper.
    fn within<T>(&mut self, key: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.pointer.len();
        self.pointer.push('/');
        if key.contains(['~', '/']) {
            self.pointer
                .push_str(&key.replace('~', "~0").replace('/', "~1"));
        } else {
            self.pointer.push_str(key);
        }
        let done = read(self);
        self.pointer.truncate(length);
        done
    }

    /// A whole number may have been written as a float (`1e6`); Go still knows and prints it as one.
    fn as_written(&self, number: &serde_json::Number) -> serde_json::Number {
        let is_large = number.as_f64().is_some_and(|float| float.abs() >= 1e6) && !number.is_f64();
        let written = || {
            let spanned =
                kubepkg_yaml::load_spanned(self.text, 1, &kubepkg_yaml::Limits::default()).ok()?;
            let at = spanned.span(&self.pointer)?.value;
            let line = String::from_utf8_lossy(self.text)
                .lines()
                .nth(at.line - 1)?
                .to_owned();
            let token: String = line.chars().skip(at.column - 1).collect();
            let end = token.find([' ', ',', '}', ']', '#']).unwrap_or(token.len());
            token.get(..end).map(str::to_owned)
        };
        let is_float =
            |token: String| token.contains(['.', 'e', 'E']) && !token.contains(['x', 'X']);
        if is_large && written().is_some_and(is_float) {
            let float = number.as_f64().and_then(serde_json::Number::from_f64);
            return float.unwrap_or_else(|| number.clone());
        }
        number.clone()
    }

    fn mismatch(&mut self, value: &Value, ty: &GoType) -> Option<Value> {
        let found = match value {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        let place = match self.owner {
            Some(owner) => format!("struct field {owner}.{}", self.path.join(".")),
            None => "value".into(),
        };
        self.fail(format!(
            "json: cannot unmarshal {found} into Go {place} of type {ty}"
        ))
    }

    fn fail(&mut self, error: String) -> Option<Value> {
        self.first_error.get_or_insert(error);
        None
    }
}

/// What Go leaves in a list or map where the text had `null`.
fn zero(ty: &GoType) -> Value {
    match ty {
        GoType::Text => Value::String(String::new()),
        GoType::Bool => Value::Bool(false),
        _ => Value::Null,
    }
}

/// Whether a key names a field, as `encoding/json` folds names: ASCII, and the two letters beyond that fold to ASCII.
fn is_same(field: &str, key: &str) -> bool {
    let folded = |c| match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        c => c.to_ascii_lowercase(),
    };
    if key.is_ascii() {
        return field.eq_ignore_ascii_case(key);
    }
    field.chars().map(folded).eq(key.chars().map(folded))
}

/// A number where a text is wanted: integers in full, floats in 32 bits, shortest, `%g`.
fn number_text(number: &serde_json::Number) -> String {
    if number.is_f64() {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "Go formats these with 32 bits"
        )]
        let short = number.as_f64().unwrap_or_default() as f32;
        super::text::float_g(&format!("{short:e}"))
    } else {
        number.to_string()
    }
}

/// The error of decoding a whole document into `map[string]interface {}`, or its entries (empty for null).
///
/// # Errors
/// As [`decode_yaml`].
pub(crate) fn decode_map(text: &[u8]) -> Result<Map<String, Value>, String> {
    static ANY_MAP: GoType = GoType::Map(&GoType::Any);
    match load(text)? {
        Value::Object(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        // No map: all that is left is to say so.
        other => decode(&other, text, &ANY_MAP).map(|_| Map::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::number_text;

    #[test]
    fn floats_become_texts_of_32_bit_precision() {
        // From the corpus of Chart.yaml texts: what Helm 4.3.1 makes of these numbers.
        for (number, text) in [
            ("1.10", "1.1"),
            ("1e3", "1000.0"),
            ("1.123456789", "1.1234568"),
            ("1e6", "1e+06"),
        ] {
            let number: serde_json::Number = serde_json::from_str(number).unwrap();
            let wanted = text.strip_suffix(".0").unwrap_or(text);
            assert_eq!(number_text(&number), wanted);
        }
    }
}
