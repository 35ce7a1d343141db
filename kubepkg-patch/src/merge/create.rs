//! Merge patches made from two texts.

use std::collections::BTreeMap;

use kubepkg_yaml::{JsonScanner, JsonToken, to_go_json};
use serde_json::Value;

use super::{Dialect, MergeError};
use crate::text::{self, Level, TextError, check, level, unquoted};

/// The merge patch that makes `to` out of `from`, with sorted keys. Numbers keep their text; v5 takes those for
/// different that are written differently, v4 those that are different floats.
///
/// # Errors
/// When they are neither two objects nor two lists of objects of one length.
pub fn create_text(from: &[u8], to: &[u8], dialect: Dialect) -> Result<String, MergeError> {
    let (from, to) = (String::from_utf8_lossy(from), String::from_utf8_lossy(to));
    let (from, to) = (first(&from, dialect), first(&to, dialect));
    let looks_like_list = |text: &str| text.starts_with('[') && text.ends_with(']');
    match (looks_like_list(from.trim()), looks_like_list(to.trim())) {
        (true, true) => {
            let (Level::Array(from), Level::Array(to)) = (checked(from)?, checked(to)?) else {
                return Err(MergeError::Document);
            };
            if from.len() != to.len() {
                return Err(MergeError::Document);
            }
            let mut patches = Vec::with_capacity(to.len());
            for (from, to) in from.into_iter().zip(to) {
                patches.push(patch(&object(level(from))?, object(level(to))?, dialect).text);
            }
            Ok(format!("[{}]", patches.join(",")))
        }
        (false, false) => {
            let (from, to) = (object(checked(from)?)?, object(checked(to)?)?);
            Ok(patch(&from, to, dialect).text)
        }
        _ => Err(MergeError::Mismatched),
    }
}

/// v5 reads one value and doesn't look behind it.
fn first(text: &str, dialect: Dialect) -> &str {
    if dialect == Dialect::V4 {
        return text;
    }
    let mut scanner = JsonScanner::new(text.as_bytes());
    let mut depth = 0_usize;
    while let Ok(Some(token)) = scanner.next() {
        match token {
            JsonToken::ArrayStart | JsonToken::ObjectStart => depth += 1,
            JsonToken::ArrayEnd | JsonToken::ObjectEnd => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return text.get(..scanner.span().1).unwrap_or(text);
        }
    }
    text
}

fn checked(text: &str) -> Result<Level<'_>, MergeError> {
    check(text).map_err(|error| match error {
        TextError::Syntax(_) => MergeError::Document,
        TextError::Depth => MergeError::Depth {
            limit: text::MAX_DEPTH,
        },
    })?;
    Ok(level(text))
}

type Fields<'t> = BTreeMap<String, &'t str>;

/// Of keys that stand there twice, the last counts.
fn object(level: Level<'_>) -> Result<Fields<'_>, MergeError> {
    match level {
        Level::Object(fields) => Ok(fields.into_iter().collect()),
        Level::Null => Ok(Fields::new()),
        Level::Array(_) | Level::Scalar(_) => Err(MergeError::Document),
    }
}

/// An object as it is written.
struct Written {
    text: String,
    is_empty: bool,
}

fn written(fields: impl IntoIterator<Item = (String, String)>) -> Written {
    let mut text = String::from("{");
    for (key, value) in fields {
        if text.len() > 1 {
            text.push(',');
        }
        text.push_str(&quoted(&key));
        text.push(':');
        text.push_str(&value);
    }
    text.push('}');
    let is_empty = text.len() == 2;
    Written { text, is_empty }
}

fn quoted(text: &str) -> String {
    to_go_json(&Value::from(text)).unwrap_or_default()
}

fn patch(from: &Fields<'_>, to: Fields<'_>, dialect: Dialect) -> Written {
    let mut changes = BTreeMap::new();
    for (key, old) in from {
        let change = match to.get(key) {
            None => Some("null".to_owned()),
            Some(new) => match (level(old), level(new)) {
                (Level::Object(old), Level::Object(new)) => {
                    let (old, new): (Fields<'_>, Fields<'_>) =
                        (old.into_iter().collect(), new.into_iter().collect());
                    let inner = patch(&old, new, dialect);
                    (!inner.is_empty).then_some(inner.text)
                }
                _ if equal(old, new, dialect) => None,
                _ => Some(canonical(new)),
            },
        };
        if let Some(change) = change {
            changes.insert(key.clone(), change);
        }
    }
    for (key, new) in to {
        if !from.contains_key(&key) {
            changes.insert(key, canonical(new));
        }
    }
    written(changes)
}

fn equal(left: &str, right: &str, dialect: Dialect) -> bool {
    match (level(left), level(right)) {
        (Level::Null, Level::Null) => true,
        (Level::Scalar("string"), Level::Scalar("string")) => unquoted(left) == unquoted(right),
        (Level::Scalar("number"), Level::Scalar("number")) if dialect == Dialect::V4 => {
            left.parse::<f64>() == right.parse::<f64>()
        }
        (Level::Scalar(_), Level::Scalar(_)) => left == right,
        (Level::Array(left), Level::Array(right)) => {
            let mut pairs = left.iter().zip(&right);
            left.len() == right.len() && pairs.all(|(left, right)| equal(left, right, dialect))
        }
        (Level::Object(left), Level::Object(right)) => {
            let (left, right): (Fields<'_>, Fields<'_>) =
                (left.into_iter().collect(), right.into_iter().collect());
            let found = |(key, left): (&String, &&str)| {
                right
                    .get(key)
                    .is_some_and(|right| equal(left, right, dialect))
            };
            left.len() == right.len() && left.iter().all(found)
        }
        _ => false,
    }
}

/// A value with sorted keys.
fn canonical(raw: &str) -> String {
    match level(raw) {
        Level::Null => "null".to_owned(),
        Level::Scalar("string") => quoted(&unquoted(raw)),
        Level::Scalar(_) => raw.to_owned(),
        Level::Array(items) => {
            let items: Vec<String> = items.into_iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        Level::Object(fields) => {
            let fields: Fields<'_> = fields.into_iter().collect();
            written(fields.into_iter().map(|(key, raw)| (key, canonical(raw)))).text
        }
    }
}
