//! Whether two patches want different things.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::lookup::{Schema, Strategy};
use super::order::{Elements, elements, key_of, sorted_scalars};
use super::{DIRECTIVE, RETAIN_KEYS, StrategicError};

/// Whether two patches set a field to different values. Without a type, lists are compared whole.
pub(super) fn between(
    left: &Value,
    right: &Value,
    schema: Option<Schema<'_>>,
) -> Result<bool, StrategicError> {
    fields(left, right, schema, Strategy::Default, "")
}

fn fields(
    left: &Value,
    right: &Value,
    schema: Option<Schema<'_>>,
    strategy: Strategy,
    key: &str,
) -> Result<bool, StrategicError> {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            // A directive speaks of the whole object.
            if left.get(DIRECTIVE) != right.get(DIRECTIVE) {
                return Ok(true);
            }
            if strategy == Strategy::Replace {
                return Ok(false);
            }
            maps(left, right, schema)
        }
        (Value::Array(left), Value::Array(right)) => lists(left, right, schema, strategy, key),
        (left, right) => Ok(left != right),
    }
}

fn maps(
    left: &Map<String, Value>,
    right: &Map<String, Value>,
    schema: Option<Schema<'_>>,
) -> Result<bool, StrategicError> {
    for (key, mine) in left {
        if key == DIRECTIVE || key == RETAIN_KEYS {
            continue;
        }
        let Some(theirs) = right.get(key) else {
            continue;
        };
        let rule = match (schema, mine) {
            (Some(schema), Value::Array(_)) => Some(schema.of_list(key)?),
            (Some(schema), Value::Object(_)) => Some(schema.of_object(key)?),
            _ => None,
        };
        let differ = match rule {
            Some(rule) => fields(mine, theirs, Some(rule.schema), rule.strategy, rule.key)?,
            None => fields(mine, theirs, None, Strategy::Default, "")?,
        };
        if differ {
            return Ok(true);
        }
    }
    Ok(false)
}

fn lists(
    left: &[Value],
    right: &[Value],
    schema: Option<Schema<'_>>,
    strategy: Strategy,
    key: &str,
) -> Result<bool, StrategicError> {
    let kinds = elements(&[left, right])?;
    if strategy == Strategy::Merge {
        if kinds == Elements::Scalars {
            return Ok(false);
        }
        let (left, right) = (keyed(left, key)?, keyed(right, key)?);
        for (key, mine) in left {
            if let Some(theirs) = right.get(&key)
                && fields(mine, theirs, schema, Strategy::Default, "")?
            {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    if left.len() != right.len() {
        return Ok(true);
    }
    let in_order = |list: &[Value]| match kinds {
        Elements::Objects => list.to_vec(),
        Elements::Scalars => {
            let mut list = sorted_scalars(list);
            list.dedup();
            list
        }
    };
    let (left, right) = (in_order(left), in_order(right));
    if left.len() != right.len() {
        return Ok(true);
    }
    for (mine, theirs) in left.iter().zip(&right) {
        if fields(mine, theirs, schema, Strategy::Default, "")? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn keyed<'v>(list: &'v [Value], key: &str) -> Result<BTreeMap<String, &'v Value>, StrategicError> {
    let items = list.iter();
    items
        .map(|item| Ok((key_of(item, key)?.to_string(), item)))
        .collect()
}
