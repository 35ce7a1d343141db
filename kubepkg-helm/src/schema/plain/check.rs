//! What a plain schema says of a value. Every question has three answers: yes, no, and that the library has to be asked.

use regex::Regex;
use serde_json::{Map, Value};

use super::Plain;

/// Parts of schemas and values that are looked at before the library is asked instead.
const MOST_STEPS: usize = 500_000;
/// Schemas inside each other, those that refer to each other for the same value included.
const MOST_LEVELS: usize = 250;
/// Items of a list that must be different.
const MOST_ITEMS: usize = 500;

/// Whether the value is what the schema asks for; `None` when the library has to be asked.
pub(super) fn fits(plain: &Plain, schema: &Value, value: &Value) -> Option<bool> {
    let mut check = Check {
        plain,
        root: schema,
        left: MOST_STEPS,
    };
    check.fits(schema, value, 0)
}

/// A check of values against a plain schema.
struct Check<'s> {
    plain: &'s Plain,
    root: &'s Value,
    left: usize,
}

impl<'s> Check<'s> {
    fn fits(&mut self, schema: &'s Value, value: &Value, level: usize) -> Option<bool> {
        let keywords = match schema {
            Value::Bool(fits) => return Some(*fits),
            Value::Object(keywords) => keywords,
            _ => return None,
        };
        if level > MOST_LEVELS {
            return None;
        }
        self.left = self.left.checked_sub(1 + keywords.len())?;
        if let Some(Value::String(reference)) = keywords.get("$ref") {
            let part = referred(self.root, reference)?;
            let fits = self.fits(part, value, level + 1)?;
            if !fits || !self.plain.beside_reference {
                return Some(fits);
            }
        }
        for (keyword, wanted) in keywords {
            let fits = match keyword.as_str() {
                "type" => match wanted {
                    Value::Array(types) => types.iter().any(|one| is_of(value, one)),
                    one => is_of(value, one),
                },
                "const" => equal(wanted, value)?,
                "enum" => self.any(wanted, |_, one| equal(one, value))?,
                "allOf" => !self.any(wanted, |check, part| {
                    check.fits(part, value, level + 1).map(|fits| !fits)
                })?,
                "anyOf" => self.any(wanted, |check, part| check.fits(part, value, level + 1))?,
                "oneOf" => {
                    let mut fitting = 0;
                    for part in wanted.as_array()? {
                        fitting += usize::from(self.fits(part, value, level + 1)?);
                    }
                    fitting == 1
                }
                "not" => !self.fits(wanted, value, level + 1)?,
                "if" => {
                    let holds = self.fits(wanted, value, level + 1)?;
                    match keywords.get(if holds { "then" } else { "else" }) {
                        Some(part) => self.fits(part, value, level + 1)?,
                        None => true,
                    }
                }
                keyword => match value {
                    Value::Object(members) => {
                        self.members(keywords, keyword, wanted, members, level)?
                    }
                    Value::Array(items) => match keyword {
                        "items" => self.all(items, wanted, level)?,
                        "minItems" => at_least(items.len(), wanted),
                        "maxItems" => at_most(items.len(), wanted),
                        "uniqueItems" => *wanted != Value::Bool(true) || are_different(items)?,
                        _ => true,
                    },
                    Value::String(text) => match keyword {
                        "minLength" => at_least(text.chars().count(), wanted),
                        "maxLength" => at_most(text.chars().count(), wanted),
                        "pattern" => self.plain.patterns.get(wanted.as_str()?)?.is_match(text),
                        _ => true,
                    },
                    Value::Number(number) => {
                        let (is, limit) = (number.as_f64()?, wanted.as_f64());
                        match keyword {
                            "minimum" => is >= limit?,
                            "maximum" => is <= limit?,
                            "exclusiveMinimum" => is > limit?,
                            "exclusiveMaximum" => is < limit?,
                            _ => true,
                        }
                    }
                    Value::Null | Value::Bool(_) => true,
                },
            };
            if !fits {
                return Some(false);
            }
        }
        Some(true)
    }

    /// Whether what is asked is so of any item of a list in a schema.
    fn any(
        &mut self,
        list: &'s Value,
        mut is_so: impl FnMut(&mut Self, &'s Value) -> Option<bool>,
    ) -> Option<bool> {
        for item in list.as_array()? {
            self.left = self.left.checked_sub(1)?;
            if is_so(self, item)? {
                return Some(true);
            }
        }
        Some(false)
    }

    fn all<'v>(
        &mut self,
        values: impl IntoIterator<Item = &'v Value>,
        schema: &'s Value,
        level: usize,
    ) -> Option<bool> {
        for value in values {
            if !self.fits(schema, value, level + 1)? {
                return Some(false);
            }
        }
        Some(true)
    }

    /// What a keyword says of a map.
    fn members(
        &mut self,
        keywords: &'s Map<String, Value>,
        keyword: &str,
        wanted: &'s Value,
        members: &Map<String, Value>,
        level: usize,
    ) -> Option<bool> {
        match keyword {
            "properties" => {
                for (name, part) in wanted.as_object()? {
                    if let Some(member) = members.get(name)
                        && !self.fits(part, member, level + 1)?
                    {
                        return Some(false);
                    }
                }
                Some(true)
            }
            "patternProperties" => {
                for (pattern, part) in wanted.as_object()? {
                    let pattern = self.plain.patterns.get(pattern)?;
                    let matching = members.iter().filter(|(name, _)| pattern.is_match(name));
                    if !self.all(matching.map(|(_, member)| member), part, level)? {
                        return Some(false);
                    }
                }
                Some(true)
            }
            "additionalProperties" => {
                let map = |keyword: &str| keywords.get(keyword).and_then(Value::as_object);
                let (named, patterns) = (map("properties"), map("patternProperties"));
                let patterns = patterns.into_iter().flat_map(Map::keys);
                let patterns: Vec<&Regex> = patterns
                    .map(|pattern| self.plain.patterns.get(pattern))
                    .collect::<Option<_>>()?;
                let is_other = |name: &str| {
                    !named.is_some_and(|named| named.contains_key(name))
                        && !patterns.iter().any(|pattern| pattern.is_match(name))
                };
                let others = members.iter().filter(|(name, _)| is_other(name));
                self.all(others.map(|(_, member)| member), wanted, level)
            }
            "required" => {
                let is_there =
                    |name: &Value| name.as_str().is_some_and(|name| members.contains_key(name));
                Some(wanted.as_array()?.iter().all(is_there))
            }
            "minProperties" => Some(at_least(members.len(), wanted)),
            "maxProperties" => Some(at_most(members.len(), wanted)),
            _ => Some(true),
        }
    }
}

fn is_of(value: &Value, name: &Value) -> bool {
    match (name.as_str().unwrap_or_default(), value) {
        ("null", Value::Null)
        | ("boolean", Value::Bool(_))
        | ("number", Value::Number(_))
        | ("string", Value::String(_))
        | ("array", Value::Array(_))
        | ("object", Value::Object(_)) => true,
        ("integer", Value::Number(number)) => {
            !number.is_f64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
        }
        _ => false,
    }
}

fn at_least(count: usize, limit: &Value) -> bool {
    limit.as_u64().is_some_and(|limit| count as u64 >= limit)
}

fn at_most(count: usize, limit: &Value) -> bool {
    limit.as_u64().is_some_and(|limit| count as u64 <= limit)
}

/// The part of a schema that a reference means.
pub(super) fn referred<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let pointer = reference.strip_prefix('#')?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-.$".contains(&byte);
    let is_plain = pointer.bytes().all(plain);
    is_plain.then(|| root.pointer(pointer)).flatten()
}

/// Whether no two of the values are equal, as far as that is known without comparing floats.
pub(super) fn are_different(all: &[Value]) -> Option<bool> {
    if all.len() > MOST_ITEMS || all.iter().any(has_float) {
        return None;
    }
    let is_new = |(at, one)| !all.iter().take(at).any(|other| other == one);
    Some(all.iter().enumerate().all(is_new))
}

/// Whether two values are equal; `None` where a float may be equal to a whole number.
fn equal(one: &Value, other: &Value) -> Option<bool> {
    if one == other {
        return Some(true);
    }
    let unknown = has_float(one) || has_float(other);
    (!unknown).then_some(false)
}

fn has_float(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_float),
        Value::Object(members) => members.values().any(has_float),
        _ => false,
    }
}
