//! Text in, JSON or a value out, and back.
//!
//! The pairs of functions mirror `sigs.k8s.io/yaml`: [`yaml_to_json`] is `YAMLToJSON`,
//! [`yaml_to_json_strict`] is `YAMLToJSONStrict`, [`json_to_yaml`] is `JSONToYAML` and
//! [`to_yaml`] is `Marshal`. Only the first document of a stream is read, as there.

use serde_json::Value;

use crate::compose::{Document, compose};
use crate::decode::decode;
use crate::emit;
use crate::error::{LimitKind, YamlError};
use crate::json::{self, Numbers};
use crate::limits::Limits;
use crate::plain;
use crate::read::{Decoded, is_allowed_text};
use crate::tree::{Tree, Val};

pub(crate) fn check_input(input: &[u8], limits: &Limits) -> Result<(), YamlError> {
    // Lines and columns are kept in 32 bits.
    if input.len() > limits.input || u32::try_from(input.len()).is_err() {
        return Err(YamlError::Limit {
            kind: LimitKind::Input,
            limit: limits.input,
        });
    }
    Ok(())
}

/// Runs `then` on the values of the first document.
fn with_tree<T>(
    input: &[u8],
    strict: bool,
    limits: &Limits,
    then: impl FnOnce(&Tree<'_>) -> Result<T, YamlError>,
) -> Result<T, YamlError> {
    check_input(input, limits)?;
    let decoded = Decoded::new(input);
    let document = compose(&decoded, limits)?;
    let tree = decode(&document, strict)?;
    then(&tree)
}

/// Converts the first YAML document of `input` to JSON text. An empty stream is `null`.
///
/// # Errors
/// What Go refuses, in Go's words, and what passes [`Limits::DEFAULT`].
pub fn yaml_to_json(input: &[u8]) -> Result<String, YamlError> {
    yaml_to_json_with(input, &Limits::DEFAULT)
}

/// [`yaml_to_json`] under the caller's limits.
///
/// # Errors
/// As [`yaml_to_json`].
pub fn yaml_to_json_with(input: &[u8], limits: &Limits) -> Result<String, YamlError> {
    with_tree(input, false, limits, |tree| {
        json::write(tree, limits.output)
    })
}

/// [`yaml_to_json`], with an error for keys that stand twice in one map.
///
/// # Errors
/// As [`yaml_to_json`]; [`YamlError::DuplicateKeys`] lists all repeated keys.
pub fn yaml_to_json_strict(input: &[u8]) -> Result<String, YamlError> {
    yaml_to_json_strict_with(input, &Limits::DEFAULT)
}

/// [`yaml_to_json_strict`] under the caller's limits.
///
/// # Errors
/// As [`yaml_to_json_strict`].
pub fn yaml_to_json_strict_with(input: &[u8], limits: &Limits) -> Result<String, YamlError> {
    with_tree(input, true, limits, |tree| json::write(tree, limits.output))
}

/// Loads the first document of `input`. The value equals what reading [`yaml_to_json`]'s text
/// would give: integers stay integers, `1.0` is the integer 1. An empty stream is null.
///
/// # Errors
/// As [`yaml_to_json`].
pub fn load(input: &[u8]) -> Result<Value, YamlError> {
    load_with(input, &Limits::DEFAULT)
}

/// [`load`] under the caller's limits.
///
/// # Errors
/// As [`load`].
pub fn load_with(input: &[u8], limits: &Limits) -> Result<Value, YamlError> {
    load_numbers(input, Numbers::Exact, limits)
}

/// [`load_with`], with all numbers of one kind.
pub(crate) fn load_numbers(
    input: &[u8],
    numbers: Numbers,
    limits: &Limits,
) -> Result<Value, YamlError> {
    check_input(input, limits)?;
    let decoded = Decoded::new(input);
    document_value(&compose(&decoded, limits)?, numbers, limits)
}

/// [`load`], with an error for keys that stand twice in one map.
///
/// # Errors
/// As [`yaml_to_json_strict`].
pub fn load_strict(input: &[u8]) -> Result<Value, YamlError> {
    load_strict_with(input, &Limits::DEFAULT)
}

/// [`load_strict`] under the caller's limits.
///
/// # Errors
/// As [`load_strict`].
pub fn load_strict_with(input: &[u8], limits: &Limits) -> Result<Value, YamlError> {
    with_tree(input, true, limits, |tree| {
        value_of(tree, Numbers::Exact, limits)
    })
}

/// The value of a document.
pub(crate) fn document_value(
    document: &Document<'_>,
    numbers: Numbers,
    limits: &Limits,
) -> Result<Value, YamlError> {
    match plain::value(document, numbers, limits) {
        Some(value) => Ok(value),
        None => value_of(&decode(document, false)?, numbers, limits),
    }
}

fn value_of(tree: &Tree<'_>, numbers: Numbers, limits: &Limits) -> Result<Value, YamlError> {
    let mut budget = limits.output;
    json::value(tree, numbers, limits.value_depth, &mut budget)
}

/// Writes JSON text as YAML. The text is read as YAML, as Go does it: what JSON forbids may pass
/// (comments, unquoted text), and what YAML forbids is refused (surrogate pairs as `\ud83d`
/// escapes, keys longer than 1,022 characters, control characters above U+007E).
///
/// # Errors
/// What Go refuses, in Go's words, and what passes [`Limits::DEFAULT`].
pub fn json_to_yaml(json: impl AsRef<[u8]>) -> Result<String, YamlError> {
    json_to_yaml_with(json, &Limits::DEFAULT)
}

/// [`json_to_yaml`] under the caller's limits.
///
/// # Errors
/// As [`json_to_yaml`].
pub fn json_to_yaml_with(json: impl AsRef<[u8]>, limits: &Limits) -> Result<String, YamlError> {
    with_tree(json.as_ref(), false, limits, |tree| {
        emit::write(tree, limits.output)
    })
}

/// Writes a value as YAML, byte-equal to `yaml.Marshal` of the same data in Go.
///
/// # Errors
/// Text that Go's round trip through JSON cannot carry (U+007F to U+009F without U+0085, keys
/// longer than 1,022 characters), and what passes [`Limits::DEFAULT`].
pub fn to_yaml(value: &Value) -> Result<String, YamlError> {
    to_yaml_with(value, &Limits::DEFAULT)
}

/// [`to_yaml`] under the caller's limits.
///
/// # Errors
/// As [`to_yaml`].
pub fn to_yaml_with(value: &Value, limits: &Limits) -> Result<String, YamlError> {
    let mut direct = Direct {
        tree: Tree::empty(),
        max_depth: limits.value_depth,
        nodes: limits.nodes,
    };
    match direct.one(value, 0)? {
        Some(root) => {
            direct.tree.root = root;
            emit::write(&direct.tree, limits.output)
        }
        None => json_to_yaml_with(to_json(value, limits)?, limits),
    }
}

/// Compact JSON text of a value, byte-equal to Go's `json.Marshal`: keys sorted, `<`, `>` and `&`
/// escaped, floats in Go's layout.
///
/// # Errors
/// A value that passes [`Limits::DEFAULT`].
pub fn to_go_json(value: &Value) -> Result<String, YamlError> {
    to_json(value, &Limits::DEFAULT)
}

fn to_json(value: &Value, limits: &Limits) -> Result<String, YamlError> {
    fn one(
        value: &Value,
        out: &mut String,
        depth: usize,
        limits: &Limits,
    ) -> Result<(), YamlError> {
        if depth > limits.value_depth {
            return Err(YamlError::Limit {
                kind: LimitKind::ValueDepth,
                limit: limits.value_depth,
            });
        }
        match value {
            Value::Null => out.push_str("null"),
            Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Value::Number(number) => match (number.is_f64(), number.as_f64()) {
                (true, Some(value)) => crate::number::json(out, value),
                _ => out.push_str(&number.to_string()),
            },
            Value::String(text) => json::string(out, text.as_bytes()),
            Value::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    one(item, out, depth + 1, limits)?;
                }
                out.push(']');
            }
            Value::Object(map) => {
                out.push('{');
                for (index, (key, item)) in map.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    json::string(out, key.as_bytes());
                    out.push(':');
                    one(item, out, depth + 1, limits)?;
                }
                out.push('}');
            }
        }
        if out.len() > limits.output {
            return Err(YamlError::Limit {
                kind: LimitKind::Output,
                limit: limits.output,
            });
        }
        Ok(())
    }
    let mut out = String::new();
    one(value, &mut out, 0, limits)?;
    Ok(out)
}

/// Takes a value over without the detour through JSON text, where the detour changes nothing.
struct Direct<'v> {
    tree: Tree<'v>,
    max_depth: usize,
    nodes: usize,
}

/// Whether text comes unchanged through JSON text and the YAML reader.
fn survives(text: &str) -> bool {
    if text.is_ascii() {
        return !text.as_bytes().contains(&0x7F);
    }
    text.chars().all(|c| c < '\u{7F}' || (c > '\u{9F}' && c != '\u{FEFF}'))
        // Control characters below U+0020 are escaped in JSON; U+FFFE and U+FFFF are not.
        && !text.contains(['\u{FFFE}', '\u{FFFF}'])
}

impl<'v> Direct<'v> {
    /// The value, or none if the detour must be taken.
    fn one(&mut self, value: &'v Value, depth: usize) -> Result<Option<Val<'v>>, YamlError> {
        /// Longest key that is surely read as a simple key, every byte escaped.
        const MAX_KEY: usize = 160;
        if depth > self.max_depth {
            return Err(YamlError::Limit {
                kind: LimitKind::ValueDepth,
                limit: self.max_depth,
            });
        }
        let Some(nodes) = self.nodes.checked_sub(1) else {
            return Ok(None);
        };
        self.nodes = nodes;
        Ok(Some(match value {
            Value::Null => Val::Null,
            Value::Bool(value) => Val::Bool(*value),
            Value::Number(number) => {
                if let Some(value) = number.as_i64() {
                    Val::Int(value)
                } else if let Some(value) = number.as_u64() {
                    Val::Uint(value)
                } else {
                    match json_number(number.as_f64()) {
                        Some(value) => value,
                        None => return Ok(None),
                    }
                }
            }
            Value::String(text) if survives(text) => Val::Str(text),
            Value::String(_) => return Ok(None),
            Value::Array(items) => {
                let mut children = Vec::with_capacity(items.len());
                for item in items {
                    match self.one(item, depth + 1)? {
                        Some(item) => children.push(item),
                        None => return Ok(None),
                    }
                }
                self.tree.add_items(children.into_iter())
            }
            Value::Object(map) => {
                let mut entries = Vec::with_capacity(map.len());
                for (key, item) in map {
                    if key.len() > MAX_KEY || !survives(key) {
                        return Ok(None);
                    }
                    match self.one(item, depth + 1)? {
                        Some(item) => entries.push((Val::Str(key), item)),
                        None => return Ok(None),
                    }
                }
                self.tree.add_entries(&mut entries, 0)
            }
        }))
    }
}

/// A float as its JSON text is read again.
fn json_number<'v>(value: Option<f64>) -> Option<Val<'v>> {
    let mut text = String::new();
    crate::number::json(&mut text, value?);
    match crate::scalar::plain(&text) {
        crate::scalar::Meaning::Int(value) => Some(Val::Int(value)),
        crate::scalar::Meaning::Uint(value) => Some(Val::Uint(value)),
        crate::scalar::Meaning::Float(value) => Some(Val::Float(value)),
        _ => None,
    }
}

/// Whether `text` has only characters that a YAML stream may hold.
pub fn is_printable(text: &str) -> bool {
    is_allowed_text(text)
}
