//! Where an error stands: in the instance, and in the schema.
//!
//! The library counts items behind a list of schemas from zero and leaves out combinations (`allOf`, `anyOf`,
//! `oneOf`) with a single cause. Both can be told from the place in the schema, which it gives in full.

use boon::{ErrorKind, InstanceToken, ValidationError};
use serde_json::Value;

use super::LOCATION;

/// A step down a schema: its keyword, how many parts of the instance it goes down, and the pointer to the
/// schema that has the keyword.
struct Step {
    keyword: String,
    instance: usize,
    schema: String,
}

/// The steps from the start of a schema's address, or from `base`, to its end.
fn steps(url: &str, base: &str) -> Vec<Step> {
    let Some(rest) = url.strip_prefix(base) else {
        return Vec::new();
    };
    let tokens: Vec<&str> = rest.split('/').skip(1).collect();
    let start = base.split_once('#').map_or("", |(_, pointer)| pointer);
    let mut pointer = start.to_owned();
    let mut steps = Vec::new();
    let mut at = 0;
    while let Some(keyword) = tokens.get(at) {
        let next_is_number = tokens
            .get(at + 1)
            .is_some_and(|next| next.parse::<usize>().is_ok());
        let (length, instance) = match *keyword {
            "properties" | "patternProperties" | "prefixItems" => (2, 1),
            "items" if next_is_number => (2, 1),
            "items"
            | "additionalItems"
            | "additionalProperties"
            | "unevaluatedProperties"
            | "unevaluatedItems"
            | "contains" => (1, 1),
            "$defs" | "definitions" | "dependentSchemas" | "dependencies" | "allOf" | "anyOf"
            | "oneOf" => (2, 0),
            _ => (1, 0),
        };
        steps.push(Step {
            keyword: (*keyword).to_owned(),
            instance,
            schema: pointer.clone(),
        });
        for token in tokens.iter().skip(at).take(length) {
            pointer.push('/');
            pointer.push_str(token);
        }
        at += length;
    }
    steps
}

/// The part of the user's schema at a pointer in an address.
fn lookup<'a>(document: &'a Value, pointer: &str) -> Option<&'a Value> {
    document.pointer(&percent_decoded(pointer))
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let code = tail
            .get(..2)
            .and_then(|code| std::str::from_utf8(code).ok());
        let code = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        if let (b'%', Some(byte)) = (first, code) {
            bytes.push(byte);
            rest = tail.get(2..).unwrap_or_default();
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The instance's parts down to the error, items counted from the start of their list.
fn tokens(error: &ValidationError<'_, '_>, document: &Value) -> Vec<String> {
    let mut tokens: Vec<String> = error
        .instance_location
        .tokens
        .iter()
        .map(|token| match token {
            InstanceToken::Prop(name) => name.replace('~', "~0").replace('/', "~1"),
            InstanceToken::Item(at) => at.to_string(),
        })
        .collect();
    let root = format!("{LOCATION}#");
    // From the end: the last parts of the schema's place went down the last parts of the instance.
    let mut at = tokens.len();
    for step in steps(error.schema_url, &root)
        .iter()
        .rev()
        .filter(|step| step.instance > 0)
    {
        let Some(below) = at.checked_sub(1) else {
            break;
        };
        at = below;
        let listed = match step.keyword.as_str() {
            "items" => "prefixItems",
            "additionalItems" => "items",
            _ => continue,
        };
        let schema = lookup(document, &step.schema);
        let offset = schema
            .and_then(|schema| schema.get(listed))
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        if let Some(token) = tokens.get_mut(at)
            && let Ok(number) = token.parse::<usize>()
        {
            *token = (number + offset).to_string();
        }
    }
    tokens
}

fn pointer(tokens: &[String]) -> String {
    tokens
        .iter()
        .fold(String::new(), |pointer, token| pointer + "/" + token)
}

/// The error's place in the instance, as a JSON pointer.
pub(super) fn of(error: &ValidationError<'_, '_>, document: &Value) -> String {
    pointer(&tokens(error, document))
}

/// The text of a keyword in the schema that the error is about.
pub(super) fn keyword<'a>(
    error: &ValidationError<'_, '_>,
    document: &'a Value,
    keyword: &str,
) -> Option<&'a str> {
    let pointer = error.schema_url.strip_prefix(LOCATION)?.strip_prefix('#')?;
    lookup(document, pointer)?.get(keyword)?.as_str()
}

/// The combinations between an error and one of its causes that have no error of their own: keyword and place.
pub(super) fn combinations(
    parent: &ValidationError<'_, '_>,
    cause: &ValidationError<'_, '_>,
    document: &Value,
) -> Vec<(String, String)> {
    let base = match &parent.kind {
        ErrorKind::Reference { url, .. } => url,
        _ => parent.schema_url,
    };
    let own = match &parent.kind {
        ErrorKind::AllOf => "allOf",
        ErrorKind::AnyOf => "anyOf",
        ErrorKind::OneOf(_) => "oneOf",
        _ => "",
    };
    let steps = steps(cause.schema_url, base);
    let tokens = tokens(cause, document);
    let mut found = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let is_combination = matches!(step.keyword.as_str(), "allOf" | "anyOf" | "oneOf");
        if !is_combination || (at == 0 && step.keyword == own) {
            continue;
        }
        let below: usize = steps.iter().skip(at).map(|step| step.instance).sum();
        let kept = tokens.len().saturating_sub(below);
        found.push((
            step.keyword.clone(),
            pointer(tokens.get(..kept).unwrap_or_default()),
        ));
    }
    found
}
