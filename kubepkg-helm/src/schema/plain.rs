//! Schemas that say no more than most charts' do are asked as they stand, without compiling them: checking a schema
//! against the metaschema and compiling it costs many times what most charts cost besides.
//!
//! A schema is plain when every part of it is known here to be well-formed. What these keywords say is decided as the
//! library decides it; all else (keywords that few charts use, older drafts, numbers that may be equal under two
//! forms, what takes many steps) is left to the library, and so is finding the words for a value that does not fit.

mod check;

use std::collections::{HashMap, HashSet};

use boon::Draft;
use regex::Regex;
use serde_json::Value;

use check::{are_different, referred};

/// Keywords of any draft that are left to the library.
const OTHERS: &[&str] = &[
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$recursiveAnchor",
    "$recursiveRef",
    "$schema",
    "$vocabulary",
    "additionalItems",
    "contains",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "format",
    "id",
    "maxContains",
    "minContains",
    "multipleOf",
    "prefixItems",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// What is known of a schema that is plain.
pub(super) struct Plain {
    /// Whether keywords beside a `$ref` count.
    beside_reference: bool,
    patterns: HashMap<String, Regex>,
}

impl Plain {
    /// `None` when the library has to be asked.
    pub(super) fn of(schema: &Value) -> Option<Self> {
        let draft = match schema.get("$schema") {
            None => Draft::default(),
            Some(url) => Draft::from_url(url.as_str()?)?,
        };
        let mut form = Form {
            root: schema,
            parts: HashSet::new(),
            references: Vec::new(),
            patterns: HashMap::new(),
        };
        form.read(schema)?;
        let is_part = |reference: &&str| {
            let part = referred(schema, reference);
            part.is_some_and(|part| form.parts.contains(&std::ptr::from_ref(part)))
        };
        if !form.references.iter().all(is_part) {
            return None;
        }
        Some(Self {
            beside_reference: match draft {
                Draft::V7 => false,
                Draft::V2019_09 | Draft::V2020_12 => true,
                _ => return None,
            },
            patterns: form.patterns,
        })
    }

    /// Whether the value is surely what the schema asks for.
    pub(super) fn accepts(&self, schema: &Value, value: &Value) -> bool {
        check::fits(self, schema, value) == Some(true)
    }
}

/// Goes through all parts of a schema.
struct Form<'s> {
    root: &'s Value,
    parts: HashSet<*const Value>,
    references: Vec<&'s str>,
    patterns: HashMap<String, Regex>,
}

impl<'s> Form<'s> {
    fn read(&mut self, schema: &'s Value) -> Option<()> {
        let keywords = match schema {
            Value::Bool(_) => return Some(()),
            Value::Object(keywords) => keywords,
            _ => return None,
        };
        self.parts.insert(std::ptr::from_ref(schema));
        for (keyword, value) in keywords {
            let is_known = match keyword.as_str() {
                "$comment" | "description" | "title" => value.is_string(),
                "deprecated" | "readOnly" | "uniqueItems" | "writeOnly" => value.is_boolean(),
                "examples" => value.is_array(),
                "default" | "const" => true,
                "type" => is_type(value)?,
                "enum" => {
                    let all = value.as_array()?;
                    !all.is_empty() && are_different(all)?
                }
                "required" => {
                    let all = value.as_array()?;
                    all.iter().all(Value::is_string) && are_different(all)?
                }
                "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                    value.is_number()
                }
                "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
                | "maxProperties" => value.is_u64(),
                "pattern" => self.pattern(value.as_str()?),
                "patternProperties" => {
                    let all = value.as_object()?;
                    all.values().try_for_each(|part| self.read(part))?;
                    all.keys().all(|pattern| self.pattern(pattern))
                }
                "$ref" => {
                    self.references.push(value.as_str()?);
                    true
                }
                "properties" | "definitions" | "$defs" => {
                    value
                        .as_object()?
                        .values()
                        .try_for_each(|part| self.read(part))?;
                    true
                }
                "allOf" | "anyOf" | "oneOf" => {
                    let all = value.as_array()?;
                    all.iter().try_for_each(|part| self.read(part))?;
                    !all.is_empty()
                }
                "items" | "additionalProperties" | "not" | "if" | "then" | "else" => {
                    self.read(value)?;
                    true
                }
                "$schema" => std::ptr::eq(schema, self.root),
                "$id" => std::ptr::eq(schema, self.root) && value.as_str().is_some_and(is_address),
                keyword => !OTHERS.contains(&keyword),
            };
            if !is_known {
                return None;
            }
        }
        Some(())
    }

    /// Whether the pattern means the same to ECMAScript and here: it does where nothing is escaped.
    fn pattern(&mut self, pattern: &str) -> bool {
        if pattern.contains('\\') {
            return false;
        }
        if !self.patterns.contains_key(pattern) {
            let Ok(compiled) = Regex::new(pattern) else {
                return false;
            };
            self.patterns.insert(pattern.to_owned(), compiled);
        }
        true
    }
}

/// Whether an address is so plain that references inside the schema mean the same with it as without.
fn is_address(text: &str) -> bool {
    let rest = text
        .strip_prefix("https://")
        .or(text.strip_prefix("http://"));
    rest.and_then(|rest| rest.split_once('/'))
        .is_some_and(|(host, path)| {
            let is_name = |label: &str| {
                !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_lowercase())
            };
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/_-.".contains(&byte);
            host.split('.').all(is_name) && path.bytes().all(is_plain)
        })
}

fn is_type(value: &Value) -> Option<bool> {
    const TYPES: &[&str] = &[
        "array", "boolean", "integer", "null", "number", "object", "string",
    ];
    let is_name = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    Some(match value {
        Value::Array(all) => !all.is_empty() && all.iter().all(is_name) && are_different(all)?,
        one => is_name(one),
    })
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;
    use serde_json::json;

    use super::*;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = select(vec![
            json!(null),
            json!(true),
            json!(0),
            json!(1),
            json!(1.5),
            json!(-1),
            json!(2.0),
            json!(9_007_199_254_740_993_i64),
            json!(""),
            json!("a"),
            json!("bcd"),
            json!("\u{e9}\u{e9}"),
        ]);
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..3).prop_map(Value::from),
                vec((select(vec!["a", "b", "c"]), inner), 0..3).prop_map(object),
            ]
        })
    }

    fn object(entries: Vec<(&'static str, Value)>) -> Value {
        let entries = entries.into_iter();
        Value::Object(
            entries
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
        )
    }

    /// Keywords that say something of the value alone, some of them wrong.
    fn leaf_keyword() -> impl Strategy<Value = (&'static str, Value)> {
        let type_names = || {
            select(vec![
                "object", "array", "string", "integer", "number", "null", "boolean",
            ])
        };
        let limit = select(vec![json!(0), json!(1), json!(2), json!(1.5), json!(-1)]);
        prop_oneof![
            4 => type_names().prop_map(|name| ("type", json!(name))),
            1 => vec(type_names(), 0..4).prop_map(|names| ("type", json!(names))),
            1 => vec(values(), 0..3).prop_map(|all| ("enum", json!(all))),
            1 => values().prop_map(|value| ("const", value)),
            1 => vec(select(vec!["a", "b", "c"]), 0..3).prop_map(|names| ("required", json!(names))),
            3 => (
                select(vec![
                    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength",
                    "minItems", "maxItems", "minProperties", "maxProperties",
                ]),
                limit
            ),
            1 => select(vec!["^a", "[b-d]+$", "^.{2}$", "(", "\\d"]).prop_map(|text| ("pattern", json!(text))),
            1 => select(vec!["#/$defs/a", "#/definitions/b", "#", "#/properties/a", "#/$defs", "#a"])
                .prop_map(|text| ("$ref", json!(text))),
            1 => select(vec!["title", "deprecated", "default", "form", "format", "uniqueItems", "if"])
                .prop_map(|name| (name, json!(true))),
        ]
    }

    fn schemas() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            4 => vec(leaf_keyword(), 0..3).prop_map(object),
            1 => any::<bool>().prop_map(Value::Bool),
        ];
        leaf.prop_recursive(4, 40, 4, |inner| {
            let members = vec((select(vec!["a", "b", "c"]), inner.clone()), 0..3).prop_map(object);
            let keyword = prop_oneof![
                2 => leaf_keyword(),
                3 => (select(vec!["properties", "$defs", "definitions"]), members),
                1 => vec((select(vec!["^a", "[b-d]+$", "("]), inner.clone()), 0..3)
                    .prop_map(|members| ("patternProperties", object(members))),
                2 => (
                    select(vec!["items", "additionalProperties", "not", "if", "then", "else", "contains"]),
                    inner.clone()
                ),
                2 => (select(vec!["allOf", "anyOf", "oneOf", "items"]), vec(inner, 0..3).prop_map(Value::from)),
            ];
            vec(keyword, 0..5).prop_map(object)
        })
    }

    fn with(mut schema: Value, keyword: &str, text: Option<&str>) -> Value {
        if let (Value::Object(keywords), Some(text)) = (&mut schema, text) {
            keywords.insert(keyword.to_owned(), text.into());
        }
        schema
    }

    fn drafts() -> impl Strategy<Value = Option<&'static str>> {
        select(vec![
            None,
            Some("http://json-schema.org/schema#"),
            Some("http://json-schema.org/draft-04/schema#"),
            Some("http://json-schema.org/draft-06/schema#"),
            Some("http://json-schema.org/draft-07/schema#"),
            Some("https://json-schema.org/draft/2019-09/schema"),
            Some("https://json-schema.org/draft/2020-12/schema"),
            Some("https://example.com/schema"),
        ])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn a_plain_schema_says_what_the_library_says(
            schema in schemas(),
            draft in drafts(),
            address in select(vec![None, Some("https://example.com/a.json"), Some("http://example.com/"), Some("b.json")]),
            all in vec(values(), 4),
        ) {
            let schema = with(with(schema, "$schema", draft), "$id", address);
            let Some(plain) = Plain::of(&schema) else {
                return Ok(());
            };
            let compiled = super::super::compile(&schema);
            prop_assert!(compiled.is_ok(), "{:?}", compiled.err());
            let compiled = compiled.unwrap_or_else(|_| unreachable!());
            for value in all {
                if let Some(fits) = check::fits(&plain, &schema, &value) {
                    let outcome = compiled.schemas.validate(&value, compiled.wanted);
                    prop_assert_eq!(fits, outcome.is_ok(), "{}", value);
                }
            }
        }
    }

    #[test]
    fn what_most_charts_say_is_plain() {
        let schema = json!({
            "$schema": "http://json-schema.org/schema#",
            "title": "Values",
            "type": "object",
            "properties": {
                "image": {"$ref": "#/$defs/image", "description": "The image", "default": {}},
                "replicas": {"type": "integer", "minimum": 1, "form": true},
                "policy": {"enum": ["Always", "Never"]},
            },
            "required": ["image"],
            "additionalProperties": false,
            "$defs": {"image": {"type": ["object", "null"], "properties": {"tag": {"type": "string"}}}},
        });
        let plain = Plain::of(&schema).unwrap();
        let accepts = |value| plain.accepts(&schema, &value);
        assert!(accepts(
            json!({"image": {"tag": "1"}, "replicas": 2.0, "policy": "Never"})
        ));
        assert!(!accepts(json!({"image": {"tag": 1}})));
        assert!(!accepts(json!({"image": null, "other": 1})));
        assert!(!accepts(json!({"replicas": 1})));
    }

    #[test]
    fn a_reference_without_end_is_left_to_the_library() {
        let schema =
            json!({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"});
        let plain = Plain::of(&schema).unwrap();
        assert_eq!(check::fits(&plain, &schema, &json!(1)), None);
    }
}
