//! What checking values against a schema costs, before it is done.
//!
//! A schema may name one part of itself in several places (`anyOf` with the same `$ref` twice, forty levels deep), so
//! the steps of a validator can be exponential in its size. They are counted here without making them: how often each
//! pair of a schema and a value would be looked at, every pair once. Where a reference can't be followed by its text
//! (`$id`, `$dynamicRef`), the dearest part of the schema is assumed. Refused are schemas that take more than
//! [`MOST_STEPS`] or go deeper than [`MOST_LEVELS`]; Helm would work on.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// Steps that a check may take: about a second.
const MOST_STEPS: u64 = 5_000_000;
/// Pairs of schema and value that are looked at to find that out.
const MOST_PAIRS: usize = 1_000_000;
/// Schemas and values inside each other.
pub(super) const MOST_LEVELS: usize = 2_000;

/// Keywords whose value is a schema for the same value.
const HERE: &[&str] = &["not", "if", "then", "else"];
/// Keywords whose value is a list of schemas for the same value.
const ALL_HERE: &[&str] = &["allOf", "anyOf", "oneOf"];
/// Keywords whose value is a map of schemas for the same value.
const MAPPED_HERE: &[&str] = &["dependentSchemas", "dependencies"];
/// Keywords whose value is a schema for every member of a map, or for the name of it.
const MEMBERS: &[&str] = &[
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
];
/// Keywords whose value is a schema, or a list of schemas, for items of a list.
const ITEMS: &[&str] = &[
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
];
/// Keywords that refer to a schema.
const REFERENCES: &[&str] = &["$ref", "$dynamicRef", "$recursiveRef"];

/// Refuses what takes too many steps.
///
/// # Errors
/// What is passed, in words.
pub(super) fn check(schema: &Value, instance: &Value) -> Result<(), String> {
    match Count::new(schema).steps(schema, instance, 0)? {
        steps if steps > MOST_STEPS => Err(too_many()),
        _ => Ok(()),
    }
}

fn too_many() -> String {
    format!("checking the values against the schema takes more than {MOST_STEPS} steps")
}

/// A schema and a value, by their addresses.
type Pair = (*const Value, *const Value);

struct Count<'s> {
    root: &'s Value,
    /// Steps of the pairs seen; 1 for those being counted, since a validator stops at a cycle.
    known: HashMap<Pair, u64>,
    /// All schemas, for references that can't be followed.
    all: Vec<&'s Value>,
    /// Whether a part has a name of its own, which changes what a pointer in it is relative to.
    renamed: bool,
    /// What counting itself may still cost.
    left: u64,
}

impl<'s> Count<'s> {
    fn new(root: &'s Value) -> Self {
        let mut all = Vec::new();
        collect(root, &mut all);
        let has_name = |schema: &&Value| schema.get("$id").is_some() || schema.get("id").is_some();
        Self {
            root,
            known: HashMap::new(),
            renamed: all.iter().skip(1).any(has_name),
            all,
            left: 4 * MOST_STEPS,
        }
    }

    fn steps(&mut self, schema: &'s Value, value: &Value, level: usize) -> Result<u64, String> {
        let Value::Object(keywords) = schema else {
            return Ok(1);
        };
        if level > MOST_LEVELS {
            return Err(format!(
                "the schema and the values nest deeper than {MOST_LEVELS} levels"
            ));
        }
        self.left = self.left.checked_sub(1).ok_or_else(too_many)?;
        let pair = (std::ptr::from_ref(schema), std::ptr::from_ref(value));
        if let Some(steps) = self.known.get(&pair) {
            return Ok(*steps);
        }
        if self.known.len() >= MOST_PAIRS {
            return Err(too_many());
        }
        self.known.insert(pair, 1);
        let mut steps = 1 + width(keywords);
        for (keyword, inner) in keywords {
            let keyword = keyword.as_str();
            let more = if HERE.contains(&keyword) {
                self.steps(inner, value, level + 1)?
            } else if ALL_HERE.contains(&keyword) {
                self.sum(inner.as_array().into_iter().flatten(), value, level)?
            } else if MAPPED_HERE.contains(&keyword) {
                let schemas = inner.as_object().into_iter().flat_map(Map::values);
                self.sum(schemas, value, level)?
            } else if REFERENCES.contains(&keyword) {
                self.referred(inner, value, level)?
            } else {
                0
            };
            steps = steps.saturating_add(more);
        }
        let inside = match value {
            Value::Object(members) => members.iter().try_fold(0_u64, |steps, (key, member)| {
                let more = self.sum(for_member(keywords, key), member, level)?;
                Ok::<u64, String>(steps.saturating_add(more))
            })?,
            Value::Array(items) => {
                items
                    .iter()
                    .enumerate()
                    .try_fold(0_u64, |steps, (index, item)| {
                        let more = self.sum(for_item(keywords, index), item, level)?;
                        Ok::<u64, String>(steps.saturating_add(more))
                    })?
            }
            _ => 0,
        };
        let steps = steps.saturating_add(inside);
        self.known.insert(pair, steps);
        Ok(steps)
    }

    /// The steps of several schemas for one value.
    fn sum(
        &mut self,
        schemas: impl Iterator<Item = &'s Value>,
        value: &Value,
        level: usize,
    ) -> Result<u64, String> {
        let mut steps = 0_u64;
        for schema in schemas {
            steps = steps.saturating_add(self.steps(schema, value, level + 1)?);
        }
        Ok(steps)
    }

    /// The steps of the schema that a reference means, or of the dearest.
    fn referred(&mut self, reference: &Value, value: &Value, level: usize) -> Result<u64, String> {
        let Some(text) = reference.as_str() else {
            return Ok(0);
        };
        let found = match text.strip_prefix('#') {
            Some("") => Some(self.root),
            Some(pointer) if pointer.starts_with('/') && !pointer.contains('%') => {
                self.root.pointer(pointer)
            }
            _ => None,
        };
        if let Some(found) = found.filter(|_| !self.renamed) {
            return self.steps(found, value, level + 1);
        }
        let mut most = 0;
        for index in 0..self.all.len() {
            if let Some(schema) = self.all.get(index).copied() {
                most = most.max(self.steps(schema, value, level + 1)?);
            }
        }
        Ok(most)
    }
}

/// Every map of a document.
fn collect<'s>(value: &'s Value, all: &mut Vec<&'s Value>) {
    match value {
        Value::Object(members) => {
            all.push(value);
            members.values().for_each(|member| collect(member, all));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, all)),
        _ => {}
    }
}

/// Keywords and their lists, which are gone through for every value.
fn width(keywords: &Map<String, Value>) -> u64 {
    let lists = ["enum", "required"].iter();
    let lists = lists.filter_map(|keyword| Some(keywords.get(*keyword)?.as_array()?.len()));
    (keywords.len() + lists.sum::<usize>()) as u64
}

fn for_member<'s>(
    keywords: &'s Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'s Value> + use<'s> {
    let own = keywords.get("properties").and_then(|all| all.get(key));
    let patterns = keywords.get("patternProperties");
    let patterns = patterns.and_then(Value::as_object).into_iter();
    let others = MEMBERS.iter().filter_map(|keyword| keywords.get(*keyword));
    own.into_iter()
        .chain(patterns.flat_map(Map::values))
        .chain(others)
}

fn for_item(keywords: &Map<String, Value>, index: usize) -> impl Iterator<Item = &Value> {
    let all = ITEMS.iter().filter_map(|keyword| keywords.get(*keyword));
    all.filter_map(move |schema| match schema {
        Value::Array(schemas) => schemas.get(index),
        schema => Some(schema),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Values;

    #[test]
    fn parts_that_are_named_twice_count_twice() {
        let mut levels = Map::new();
        for level in 0..40 {
            let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
            levels.insert(format!("d{level}"), json!({"anyOf": [next, next]}));
        }
        levels.insert("d40".to_owned(), json!({"type": "string"}));
        let schema = json!({"$ref": "#/$defs/d0", "$defs": levels});
        assert_eq!(check(&schema, &json!({})), Err(too_many()));
        let schema = json!({"$ref": "#/$defs/d30", "$defs": levels});
        assert_eq!(check(&schema, &json!({})), Ok(()));
    }

    #[test]
    fn a_schema_that_means_itself_for_what_is_inside_goes_as_deep_as_the_values() {
        let schema = json!({"additionalProperties": {"$ref": "#"}, "items": {"$ref": "#"}});
        let deep = (0..400).fold(json!(1), |inner, _| json!({ "a": inner }));
        assert_eq!(check(&schema, &deep), Ok(()));
        let wide: Value = (0..1_000).map(|n| json!([n, n])).collect();
        assert_eq!(check(&schema, &wide), Ok(()));
        let cycle = json!({"allOf": [{"$ref": "#"}]});
        assert_eq!(check(&cycle, &deep), Ok(()));
        let mut chain: Map<String, Value> = (0..3_000)
            .map(|n| {
                (
                    format!("d{n}"),
                    json!({"$ref": format!("#/$defs/d{}", n + 1)}),
                )
            })
            .collect();
        chain.insert("d3000".to_owned(), json!({"type": "object"}));
        let chain = json!({"$ref": "#/$defs/d0", "$defs": chain});
        let chain = chain.to_string();
        let refused = crate::validate_against_schema(chain.as_bytes(), &Values::default());
        assert!(refused.is_err_and(|error| error.contains("deeper")));
    }
}
