//! Values as JSON text, byte-equal to Go's `encoding/json`, and as [`serde_json::Value`].
//!
//! Keys become strings here: numbers and booleans by their spelling (floats with 32-bit
//! precision), null and unsigned numbers are refused. Where two keys of different types get one
//! spelling, Go keeps either; here the one that sorts last by type stays, text over the rest.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Map, Number, Value};

use crate::error::{LimitKind, YamlError};
use crate::gosyntax;
use crate::number;
use crate::tree::{Range, Tree, Val};

type Entry<'n> = (Cow<'n, [u8]>, Val<'n>);

enum Open<'n> {
    Seq(Range),
    /// Keys that need no conversion.
    Plain(Range),
    Converted(std::vec::IntoIter<Entry<'n>>),
}

/// JSON text of the tree.
pub(crate) fn write(tree: &Tree<'_>, limit: usize) -> Result<String, YamlError> {
    let mut out = String::new();
    let mut open = Vec::new();
    let mut infinite = None;
    one(tree, tree.root, &mut out, &mut open, &mut infinite)?;
    while let Some(top) = open.last_mut() {
        if out.len() > limit {
            return Err(YamlError::Limit {
                kind: LimitKind::Output,
                limit,
            });
        }
        let comma = !out.ends_with(['[', '{']);
        let item = match top {
            Open::Seq(range) => {
                let item = tree.items(*range).first().copied();
                range.start += 1;
                if item.is_some() && comma {
                    out.push(',');
                }
                item
            }
            Open::Plain(range) => {
                let entry = tree.entries(*range).first().copied();
                range.start += 1;
                entry.map(|(key, item)| {
                    write_key(&mut out, comma, key.text().unwrap_or_default());
                    item
                })
            }
            Open::Converted(entries) => entries.next().map(|(key, item)| {
                write_key(&mut out, comma, &key);
                item
            }),
        };
        if let Some(item) = item {
            one(tree, item, &mut out, &mut open, &mut infinite)?;
        } else {
            out.push(if matches!(top, Open::Seq(_)) {
                ']'
            } else {
                '}'
            });
            open.pop();
        }
    }
    match infinite {
        Some(value) => Err(YamlError::NotFinite(value)),
        None if out.len() > limit => Err(YamlError::Limit {
            kind: LimitKind::Output,
            limit,
        }),
        None => Ok(out),
    }
}

fn write_key(out: &mut String, comma: bool, key: &[u8]) {
    if comma {
        out.push(',');
    }
    string(out, key);
    out.push(':');
}

fn not_finite(value: f64) -> &'static str {
    if value.is_nan() {
        "NaN"
    } else if value > 0.0 {
        "+Inf"
    } else {
        "-Inf"
    }
}

fn one<'n>(
    tree: &Tree<'n>,
    value: Val<'n>,
    out: &mut String,
    open: &mut Vec<Open<'n>>,
    infinite: &mut Option<&'static str>,
) -> Result<(), YamlError> {
    match value {
        Val::Null => out.push_str("null"),
        Val::Bool(value) => out.push_str(if value { "true" } else { "false" }),
        Val::Int(value) => {
            let _ = write!(out, "{value}");
        }
        Val::Uint(value) => {
            let _ = write!(out, "{value}");
        }
        // Go converts all keys before it writes, so a bad key found later is reported first.
        Val::Float(value) if !value.is_finite() => {
            infinite.get_or_insert(not_finite(value));
            out.push_str("null");
        }
        Val::Float(value) => number::json(out, value),
        Val::Str(text) => string(out, text.as_bytes()),
        Val::Bytes(bytes) => string(out, bytes),
        Val::Seq(range) => {
            out.push('[');
            open.push(Open::Seq(range));
        }
        Val::Map(range) => {
            out.push('{');
            open.push(match converted(tree, range)? {
                None => Open::Plain(range),
                Some(entries) => Open::Converted(entries.into_iter()),
            });
        }
    }
    Ok(())
}

/// Entries with keys as text, in order; `None` when they are so already.
fn converted<'n>(tree: &Tree<'n>, range: Range) -> Result<Option<Vec<Entry<'n>>>, YamlError> {
    let entries = tree.entries(range);
    // Text sorts after all other keys.
    if entries.first().is_none_or(|(key, _)| key.text().is_some()) {
        return Ok(None);
    }
    let mut out: Vec<Entry<'n>> = Vec::with_capacity(entries.len());
    for &(key, value) in entries {
        let bad = |kind, key: String| {
            Err(YamlError::UnsupportedKey {
                kind,
                key,
                value: gosyntax::write(tree, value),
            })
        };
        let mut text = String::new();
        match key {
            Val::Str(key) => {
                out.push((Cow::Borrowed(key.as_bytes()), value));
                continue;
            }
            Val::Bytes(key) => {
                out.push((Cow::Borrowed(key), value));
                continue;
            }
            Val::Null | Val::Seq(_) | Val::Map(_) => {
                return bad("%!s(<nil>)", "<nil>".to_owned());
            }
            Val::Uint(key) => return bad("uint64", format!("{key:#x}")),
            Val::Bool(key) => text.push_str(if key { "true" } else { "false" }),
            Val::Int(key) => {
                let _ = write!(text, "{key}");
            }
            Val::Float(key) => number::key(&mut text, key),
        }
        out.push((Cow::Owned(text.into_bytes()), value));
    }
    out.sort_by(|a, b| a.0.cmp(&b.0));
    out.dedup_by(|later, earlier| {
        let same = later.0 == earlier.0;
        if same {
            std::mem::swap(later, earlier);
        }
        same
    });
    Ok(Some(out))
}

/// Writes a JSON string as `encoding/json` does: `<`, `>`, `&`, U+2028 and U+2029 escaped, bytes
/// that are no UTF-8 replaced.
pub(crate) fn string(out: &mut String, bytes: &[u8]) {
    out.push('"');
    for chunk in bytes.utf8_chunks() {
        let text = chunk.valid();
        let mut done = 0;
        for (at, byte) in text.bytes().enumerate() {
            let (escape, width) = match byte {
                b'"' => ("\\\"", 1),
                b'\\' => ("\\\\", 1),
                b'\n' => ("\\n", 1),
                b'\r' => ("\\r", 1),
                b'\t' => ("\\t", 1),
                0x08 => ("\\b", 1),
                0x0C => ("\\f", 1),
                b'<' => ("\\u003c", 1),
                b'>' => ("\\u003e", 1),
                b'&' => ("\\u0026", 1),
                0x00..=0x1F => ("", 1),
                0xE2 => match text.as_bytes().get(at + 1..at + 3) {
                    Some([0x80, 0xA8]) => ("\\u2028", 3),
                    Some([0x80, 0xA9]) => ("\\u2029", 3),
                    _ => continue,
                },
                _ => continue,
            };
            out.push_str(text.get(done..at).unwrap_or_default());
            out.push_str(escape);
            if escape.is_empty() {
                let _ = write!(out, "\\u{byte:04x}");
            }
            done = at + width;
        }
        out.push_str(text.get(done..).unwrap_or_default());
        for _ in chunk.invalid() {
            out.push_str("\\ufffd");
        }
    }
    out.push('"');
}

/// How numbers come out in a [`Value`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// Integers stay integers.
    Exact,
    /// Every number is a float, as Go's `encoding/json` reads it into `interface{}`.
    Float,
}

/// The tree as a [`Value`], equal to what reading [`write`]'s text would give.
pub(crate) fn value(
    tree: &Tree<'_>,
    numbers: Numbers,
    depth: usize,
    budget: &mut usize,
) -> Result<Value, YamlError> {
    Builder {
        tree,
        numbers,
        max_depth: depth,
        limit: *budget,
        budget,
    }
    .one(tree.root, 0)
}

struct Builder<'t, 'n, 'b> {
    tree: &'t Tree<'n>,
    numbers: Numbers,
    max_depth: usize,
    limit: usize,
    budget: &'b mut usize,
}

impl<'n> Builder<'_, 'n, '_> {
    fn spend(&mut self, bytes: usize) -> Result<(), YamlError> {
        match self.budget.checked_sub(bytes) {
            Some(left) => {
                *self.budget = left;
                Ok(())
            }
            None => Err(YamlError::Limit {
                kind: LimitKind::Output,
                limit: self.limit,
            }),
        }
    }

    fn one(&mut self, value: Val<'n>, depth: usize) -> Result<Value, YamlError> {
        if depth > self.max_depth {
            return Err(YamlError::Limit {
                kind: LimitKind::ValueDepth,
                limit: self.max_depth,
            });
        }
        self.spend(cost(value))?;
        Ok(match value {
            Val::Seq(range) => {
                let tree = self.tree;
                let mut items = Vec::with_capacity(range.end - range.start);
                for &item in tree.items(range) {
                    items.push(self.one(item, depth + 1)?);
                }
                Value::Array(items)
            }
            Val::Map(range) => {
                let tree = self.tree;
                // A map is made faster from all its entries than from one after the other.
                let mut members = Vec::with_capacity(range.end - range.start);
                match converted(tree, range)? {
                    None => {
                        for &(key, item) in tree.entries(range) {
                            self.spend(key.text().map_or(0, <[u8]>::len))?;
                            let key = match key {
                                Val::Str(text) => text.to_owned(),
                                _ => lossy(key.text().unwrap_or_default()),
                            };
                            members.push((key, self.one(item, depth + 1)?));
                        }
                    }
                    Some(entries) => {
                        for (key, item) in entries {
                            self.spend(key.len())?;
                            members.push((lossy(&key), self.one(item, depth + 1)?));
                        }
                    }
                }
                Value::Object(Map::from_iter(members))
            }
            leaf => leaf_value(leaf, self.numbers)?,
        })
    }
}

/// What a value costs of [`crate::Limits::output`], without what is in it.
#[inline]
pub(crate) fn cost(value: Val<'_>) -> usize {
    value.text().map_or(2, |text| text.len() + 2)
}

/// A value that is no collection (those are null here).
#[inline]
pub(crate) fn leaf_value(value: Val<'_>, numbers: Numbers) -> Result<Value, YamlError> {
    Ok(match value {
        Val::Str(text) => Value::String(text.to_owned()),
        Val::Bytes(bytes) => Value::String(lossy(bytes)),
        Val::Bool(value) => Value::Bool(value),
        Val::Int(value) if numbers == Numbers::Exact => Value::from(value),
        Val::Uint(value) if numbers == Numbers::Exact => Value::from(value),
        Val::Int(value) => float(to_float(value)),
        Val::Uint(value) => float(uint_to_float(value)),
        Val::Float(value) if !value.is_finite() => {
            return Err(YamlError::NotFinite(not_finite(value)));
        }
        Val::Float(value) if numbers == Numbers::Exact => exact(value),
        Val::Float(value) => float(value),
        Val::Null | Val::Seq(_) | Val::Map(_) => Value::Null,
    })
}

fn float(value: f64) -> Value {
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// A float as its JSON text reads: `1.0` is written `1`, which is an integer.
fn exact(value: f64) -> Value {
    let mut text = String::new();
    number::json(&mut text, value);
    if text != "-0" {
        if let Ok(value) = text.parse::<i64>() {
            return Value::from(value);
        }
        if let Ok(value) = text.parse::<u64>() {
            return Value::from(value);
        }
    }
    float(value)
}

#[allow(clippy::cast_precision_loss, reason = "Go loses the same bits")]
fn to_float(value: i64) -> f64 {
    value as f64
}

#[allow(clippy::cast_precision_loss, reason = "Go loses the same bits")]
fn uint_to_float(value: u64) -> f64 {
    value as f64
}

/// Text with U+FFFD for each byte that is no UTF-8.
pub(crate) fn lossy(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for _ in chunk.invalid() {
            out.push('\u{FFFD}');
        }
    }
    out
}
