//! Reading fields of an object by path, in the two manners of the original: lenient (a wrong type counts as
//! absent) and strict (a wrong type is an error with the accessor's text), and reading its conditions.

use super::AssessError;
use serde_json::Value;

fn at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter()
        .try_fold(object, |value, key| value.as_object()?.get(*key))
}

/// A text; anything else counts as absent.
pub(super) fn text<'a>(object: &'a Value, path: &[&str]) -> Option<&'a str> {
    at(object, path)?.as_str()
}

/// A whole number; anything else counts as absent.
pub(super) fn int(object: &Value, path: &[&str], default: i64) -> i64 {
    at(object, path).and_then(Value::as_i64).unwrap_or(default)
}

/// The value at a path, an error when something on the way is no map.
fn strict<'a>(object: &'a Value, path: &[&str]) -> Result<Option<&'a Value>, AssessError> {
    let mut value = object;
    for (depth, key) in path.iter().enumerate() {
        match value {
            Value::Object(map) => match map.get(*key) {
                Some(next) => value = next,
                None => return Ok(None),
            },
            // A null on the way counts as absent.
            Value::Null if depth > 0 => return Ok(None),
            other => {
                let on_the_way = path.get(..=depth).unwrap_or_default();
                return Err(wrong(path, on_the_way, other, "map[string]interface{}"));
            }
        }
    }
    Ok(Some(value))
}

pub(super) fn strict_text<'a>(
    object: &'a Value,
    path: &[&str],
) -> Result<Option<&'a str>, AssessError> {
    match strict(object, path)? {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(wrong(path, path, other, "string")),
    }
}

pub(super) fn strict_int(object: &Value, path: &[&str]) -> Result<Option<i64>, AssessError> {
    match strict(object, path)? {
        None => Ok(None),
        Some(value) => match value.as_i64() {
            Some(int) => Ok(Some(int)),
            None => Err(wrong(path, path, value, "int64")),
        },
    }
}

/// A list; an error when it is something else.
pub(super) fn strict_list<'a>(
    object: &'a Value,
    path: &[&str],
) -> Result<Option<&'a [Value]>, AssessError> {
    match strict(object, path)? {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(other) => Err(wrong(path, path, other, "[]interface{}")),
    }
}

fn wrong(path: &[&str], accessor: &[&str], found: &Value, expected: &'static str) -> AssessError {
    AssessError::WrongType {
        path: path.join("."),
        accessor: format!(".{}", accessor.join(".")),
        found: go_value(found),
        go_type: go_type(found),
        expected,
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn go_kind(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
        other => go_type(other),
    }
}

/// A value as Go's `%v` prints it.
fn go_value(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            format!(
                "[{}]",
                items.iter().map(go_value).collect::<Vec<_>>().join(" ")
            )
        }
        Value::Object(members) => {
            let inner: Vec<String> = members
                .iter()
                .map(|(key, value)| format!("{key}:{}", go_value(value)))
                .collect();
            format!("map[{}]", inner.join(" "))
        }
        other => other.to_string(),
    }
}

/// One condition of a status.
#[derive(Debug, Default)]
pub(super) struct Condition {
    pub(super) kind: String,
    pub(super) status: String,
    pub(super) reason: String,
    pub(super) message: String,
}

/// `status.conditions`.
#[derive(Debug)]
pub(super) struct Conditions(pub(super) Vec<Condition>);

impl Conditions {
    pub(super) fn of(object: &Value) -> Result<Self, AssessError> {
        let fail = |what: &str, value: &Value| {
            Err(AssessError::Conditions(format!(
                "cannot restore {what} {}",
                go_kind(value)
            )))
        };
        let status = match object.get("status") {
            None | Some(Value::Null) => return Ok(Self(Vec::new())),
            Some(Value::Object(status)) => status,
            Some(other) => return fail("struct from:", other),
        };
        let list = match status.get("conditions") {
            None | Some(Value::Null) => return Ok(Self(Vec::new())),
            Some(Value::Array(list)) => list,
            Some(other) => return fail("slice from", other),
        };
        let mut conditions = Vec::with_capacity(list.len());
        for item in list {
            let members = match item {
                Value::Null => {
                    conditions.push(Condition::default());
                    continue;
                }
                Value::Object(members) => members,
                other => return fail("struct from:", other),
            };
            let read = |key: &str| match members.get(key) {
                None | Some(Value::Null) => Ok(String::new()),
                Some(Value::String(text)) => Ok(text.clone()),
                Some(Value::Number(number)) if number.is_i64() => Err(AssessError::Conditions(
                    "cannot convert int64 to string".to_owned(),
                )),
                Some(_) => Err(AssessError::Conditions(
                    "unrecognized type: string".to_owned(),
                )),
            };
            conditions.push(Condition {
                kind: read("type")?,
                status: read("status")?,
                reason: read("reason")?,
                message: read("message")?,
            });
        }
        Ok(Self(conditions))
    }

    /// The first condition of a type with a status.
    pub(super) fn find(&self, kind: &str, status: &str) -> Option<&Condition> {
        self.0
            .iter()
            .find(|condition| condition.kind == kind && condition.status == status)
    }
}
