//! Values against their schema.

use kubepkg_yaml::go_quote;
use serde_json::{Map, Value};

use super::path::FieldError;
use super::ratchet::Pair;
use super::{MAX_DEPTH, formats, numbers, pattern};

pub(super) fn check(object: &Value, schema: &Value) -> Vec<FieldError> {
    value("", object, schema, None, 0).errors
}

/// The same, but for what the old object already had at the same place.
pub(super) fn check_update(old: &Value, new: &Value, schema: &Value) -> Vec<FieldError> {
    value("", new, schema, Some(old), 0).errors
}

/// Errors, and how many checks were met: of several schemas that fail, the one with the most is told of.
#[derive(Default)]
struct Outcome {
    errors: Vec<FieldError>,
    met: usize,
}

impl Outcome {
    fn add(&mut self, error: FieldError) {
        // The same is said once.
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    fn merge(&mut self, other: Outcome) {
        self.met += other.met;
        for error in other.errors {
            self.add(error);
        }
    }

    fn of(error: FieldError) -> Self {
        Self {
            errors: vec![error],
            met: 0,
        }
    }

    fn met() -> Self {
        Self {
            errors: Vec::new(),
            met: 1,
        }
    }
}

fn list<'s>(schema: &'s Value, key: &str) -> &'s [Value] {
    let list = schema.get(key).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

/// The types that a value may be of.
fn types(schema: &Value) -> Vec<&str> {
    if schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        return vec!["integer", "string"];
    }
    let named = schema.get("type").and_then(Value::as_str);
    named.filter(|it| !it.is_empty()).into_iter().collect()
}

/// A format that is looked at; others are passed over.
fn format_of<'s>(schema: &'s Value, types: &[&str]) -> &'s str {
    let format = schema
        .get("format")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let known = match types {
        ["integer"] => matches!(format, "int32" | "int64"),
        ["number"] => matches!(format, "float" | "double"),
        ["boolean" | "array" | "object"] => false,
        _ => formats::is_known(format),
    };
    if known { format } else { "" }
}

fn value(path: &str, data: &Value, schema: &Value, old: Option<&Value>, depth: usize) -> Outcome {
    let mut result = Outcome::default();
    if depth > MAX_DEPTH {
        let detail = "nested too deeply";
        return Outcome::of(FieldError::nowhere(detail));
    }
    // What was there before may stay as it is.
    let pair = |old| Pair {
        new: data,
        old,
        schema,
    };
    if old.is_some_and(|old| pair(old).is_unchanged()) {
        return result;
    }
    let types = types(schema);
    let format = format_of(schema, &types);
    if data.is_null() {
        result.merge(type_of(path, data, schema, &types, format));
        result.merge(in_enum(path, data, schema));
        return result;
    }
    if !types.is_empty() || !format.is_empty() {
        result.merge(type_of(path, data, schema, &types, format));
        result.met += 1;
    }
    result.merge(combinations(path, data, schema, depth));
    result.met += 1;
    match data {
        Value::String(text) => {
            result.merge(string(path, text, schema));
            result.met += 1;
            if formats::is_known(format) {
                if !formats::fits(format, text) {
                    let detail = format!(
                        "{path} in body must be of type {format}: {}",
                        go_quote(text)
                    );
                    result.add(FieldError::wrong_type(path, data, &detail));
                }
                result.met += 1;
            }
        }
        Value::Number(number) => {
            for error in numbers::check(path, number, schema) {
                result.add(error);
            }
            result.met += 2;
        }
        Value::Array(items) => {
            result.merge(array(path, items, schema, old, depth));
            result.met += 2;
        }
        _ => {}
    }
    result.merge(in_enum(path, data, schema));
    result.met += 1;
    if let Value::Object(fields) = data {
        result.merge(object(path, fields, schema, old, depth));
        result.met += 1;
    }
    result.met += 1;
    result
}

fn type_of(path: &str, data: &Value, schema: &Value, types: &[&str], format: &str) -> Outcome {
    let mismatch = |wanted: &str, found: &str| {
        let detail = format!(
            "{path} in body must be of type {wanted}: {}",
            go_quote(found)
        );
        Outcome::of(FieldError::wrong_type(path, &Value::from(found), &detail))
    };
    let (found, found_format, whole) = match data {
        Value::Null => {
            let nullable = schema.get("nullable") == Some(&Value::Bool(true));
            if types.is_empty() || nullable {
                return Outcome::met();
            }
            return mismatch(&types.join(","), "null");
        }
        Value::Bool(_) => ("boolean", "", false),
        Value::String(_) => ("string", "", false),
        Value::Number(number) if number.is_i64() => ("integer", "int64", true),
        Value::Number(number) => ("number", "float64", numbers::is_whole(number)),
        Value::Array(_) => ("array", "", false),
        Value::Object(_) => ("object", "", false),
    };
    let has = |name: &str| types.contains(&name);
    let fits = has(found)
        || (found == "number" && whole && has("integer"))
        || (found == "integer" && has("number"));
    let texts = data.is_string() || data.is_array();
    if !texts && !format.is_empty() && !fits && found_format != format {
        return mismatch(format, found_format);
    }
    if !has("number") && !has("integer") && !format.is_empty() && texts {
        return Outcome::met();
    }
    if fits {
        Outcome::met()
    } else {
        mismatch(&types.join(","), found)
    }
}

fn string(path: &str, text: &str, schema: &Value) -> Outcome {
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let bound = |key: &str| schema.get(key).and_then(Value::as_i64);
    if let Some(limit) = bound("maxLength").filter(|limit| length > *limit) {
        return Outcome::of(FieldError::too_long(path, limit));
    }
    let shown = Value::from(text);
    if let Some(limit) = bound("minLength").filter(|limit| length < *limit) {
        let detail = format!("{path} in body should be at least {limit} chars long");
        return Outcome::of(FieldError::invalid(path, &shown, &detail));
    }
    let source = schema
        .get("pattern")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if source.is_empty() || pattern::matches(source, text) {
        return Outcome::default();
    }
    let detail = format!("{path} in body should match '{source}'");
    Outcome::of(FieldError::invalid(path, &shown, &detail))
}

fn in_enum(path: &str, data: &Value, schema: &Value) -> Outcome {
    let allowed = list(schema, "enum");
    let same = |one: &Value| match (one, data) {
        (Value::Number(one), Value::Number(data)) => one.as_f64() == data.as_f64(),
        (one, data) => one == data,
    };
    if allowed.is_empty() || allowed.iter().any(same) {
        return Outcome::default();
    }
    Outcome::of(FieldError::unsupported(path, data, allowed))
}

fn array(
    path: &str,
    items: &[Value],
    schema: &Value,
    old: Option<&Value>,
    depth: usize,
) -> Outcome {
    let mut result = Outcome::default();
    if let Some(inner) = schema.get("items").filter(|it| it.is_object()) {
        for (index, item) in items.iter().enumerate() {
            let old = old.and_then(|old| before(old, item, schema));
            result.merge(value(
                &format!("{path}[{index}]"),
                item,
                inner,
                old,
                depth + 1,
            ));
        }
    }
    let count = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let bound = |key: &str| schema.get(key).and_then(Value::as_i64);
    if let Some(limit) = bound("minItems").filter(|limit| count < *limit) {
        let detail = format!("{path} in body should have at least {limit} items");
        result.add(FieldError::invalid(path, &Value::from(count), &detail));
    }
    if let Some(limit) = bound("maxItems").filter(|limit| count > *limit) {
        result.add(FieldError::too_many(path, items.len(), limit));
    }
    result
}

/// The item that one has taken the place of, in lists whose items can be told apart.
pub(super) fn before<'o>(old: &'o Value, item: &Value, schema: &Value) -> Option<&'o Value> {
    let kind = schema.get("x-kubernetes-list-type").and_then(Value::as_str);
    let old = old.as_array()?;
    match kind {
        Some("map") => {
            let keys = list(schema, "x-kubernetes-list-map-keys");
            old.iter().find(|old| {
                let mut keys = keys.iter().filter_map(Value::as_str);
                keys.all(|key| old.get(key) == item.get(key))
            })
        }
        _ => None,
    }
}

fn object(
    path: &str,
    fields: &Map<String, Value>,
    schema: &Value,
    old: Option<&Value>,
    depth: usize,
) -> Outcome {
    let mut result = Outcome::default();
    let count = i64::try_from(fields.len()).unwrap_or(i64::MAX);
    let bound = |key: &str| schema.get(key).and_then(Value::as_i64);
    if let Some(limit) = bound("minProperties").filter(|limit| count < *limit) {
        let detail = format!("{path} in body should have at least {limit} properties");
        result.add(FieldError::invalid(path, &Value::from(count), &detail));
    }
    if let Some(limit) = bound("maxProperties").filter(|limit| count > *limit) {
        result.add(FieldError::too_many(path, fields.len(), limit));
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let is_known = |key: &str| properties.is_some_and(|it| it.contains_key(key));
    let before = |key: &str| old.and_then(|old| old.get(key));
    match schema.get("additionalProperties") {
        Some(Value::Bool(false)) => {
            for key in fields.keys().filter(|key| !is_known(key)) {
                let detail = format!("{path}.{key} in body is a forbidden property");
                result.add(FieldError::invalid(
                    path,
                    &Value::from(key.as_str()),
                    &detail,
                ));
            }
        }
        Some(inner @ Value::Object(_)) => {
            for (key, data) in fields.iter().filter(|(key, _)| !is_known(key)) {
                let at = format!("{path}.{key}");
                result.merge(value(&at, data, inner, before(key), depth + 1));
            }
        }
        _ => {}
    }
    for (key, inner) in properties.into_iter().flatten() {
        if let Some(data) = fields.get(key) {
            let at = if path.is_empty() {
                key.clone()
            } else {
                format!("{path}.{key}")
            };
            result.merge(value(&at, data, inner, before(key), depth + 1));
        }
    }
    for key in list(schema, "required").iter().filter_map(Value::as_str) {
        if !fields.contains_key(key) {
            result.add(FieldError::required(&format!("{path}.{key}")));
        }
    }
    result
}

fn combinations(path: &str, data: &Value, schema: &Value, depth: usize) -> Outcome {
    let mut result = Outcome::default();
    let tried = |schema: &Value| value(path, data, schema, None, depth + 1);
    let quoted = go_quote(path);
    let better =
        |best: &Option<Outcome>, one: &Outcome| best.as_ref().is_none_or(|best| one.met > best.met);
    let any = list(schema, "anyOf");
    if !any.is_empty() {
        let (mut best, mut success) = (None, None);
        for schema in any {
            let one = tried(schema);
            if one.errors.is_empty() {
                success = Some(one);
                break;
            }
            if better(&best, &one) {
                best = Some(one);
            }
        }
        if let Some(success) = success {
            result.merge(success);
        } else {
            let detail = format!("{quoted} must validate at least one schema (anyOf)");
            result.add(FieldError::nowhere(&detail));
            result.merge(best.unwrap_or_default());
        }
    }
    let one_of = list(schema, "oneOf");
    if !one_of.is_empty() {
        let (mut best, mut success, mut valid) = (None, None, 0);
        for schema in one_of {
            let one = tried(schema);
            if one.errors.is_empty() {
                valid += 1;
                best = None;
                success.get_or_insert(one);
            } else if valid == 0 && better(&best, &one) {
                best = Some(one);
            }
        }
        if valid == 1 {
            result.merge(success.unwrap_or_default());
        } else {
            let found = match valid {
                0 => "Found none valid".to_owned(),
                several => format!("Found {several} valid alternatives"),
            };
            let detail = format!("{quoted} must validate one and only one schema (oneOf). {found}");
            result.add(FieldError::nowhere(&detail));
            result.merge(best.unwrap_or_default());
        }
    }
    let all = list(schema, "allOf");
    if !all.is_empty() {
        let mut valid = 0;
        for schema in all {
            let one = tried(schema);
            valid += usize::from(one.errors.is_empty());
            result.merge(one);
        }
        if valid != all.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            let detail = format!("{quoted} must validate all the schemas (allOf){none}");
            result.add(FieldError::nowhere(&detail));
        }
    }
    if let Some(not) = schema.get("not").filter(|it| it.is_object())
        && tried(not).errors.is_empty()
    {
        let detail = format!("{quoted} must not validate the schema (not)");
        result.add(FieldError::nowhere(&detail));
    }
    result.met += 1;
    result
}
