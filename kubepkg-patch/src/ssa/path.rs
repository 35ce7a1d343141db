//! Paths to fields, and how they are written in `managedFields`.

use std::cmp::Ordering;
use std::fmt;

use kubepkg_yaml::{go_quote, to_go_json};
use serde_json::Value;

use crate::{go, value};

/// One step from a value to a part of it.
#[derive(Debug, Clone)]
pub enum PathElement {
    /// A field of a structure, or a key of a map.
    Field(String),
    /// The item of a list whose key fields have these values, sorted by name.
    Key(Vec<(String, Value)>),
    /// The item of a set.
    Value(Value),
    /// The item of a list at this place.
    Index(i64),
}

/// Where a field is, from the object down. Prints as in messages: `.spec.containers[name="a"].image`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(pub Vec<PathElement>);

impl PathElement {
    /// A field of a structure, or a key of a map.
    pub fn field(name: impl Into<String>) -> Self {
        Self::Field(name.into())
    }

    /// Reads an element as it stands in `fieldsV1`: `f:spec`, `k:{"name":"a"}`, `v:"x"`, `i:0`. None for an
    /// element of a kind that is not known, which is to be passed over.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn parse(text: &str) -> Result<Option<Self>, FieldsError> {
        let bad = || FieldsError::PathElement {
            text: text.to_owned(),
        };
        let (kind, rest) = text.split_once(':').ok_or_else(bad)?;
        Ok(Some(match kind {
            "f" => Self::Field(rest.to_owned()),
            "v" => Self::Value(serde_json::from_str(rest).map_err(|_| bad())?),
            "k" => match serde_json::from_str(rest).map_err(|_| bad())? {
                // The map is sorted by key.
                Value::Object(fields) => Self::Key(fields.into_iter().collect()),
                _ => return Err(bad()),
            },
            "i" => Self::Index(rest.parse().map_err(|_| bad())?),
            one if one.chars().count() == 1 => return Ok(None),
            _ => return Err(bad()),
        }))
    }

    /// As it stands in `fieldsV1`.
    pub fn to_fields_v1(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(fields) => {
                let fields = fields.iter().cloned().collect();
                format!("k:{}", written(&Value::Object(fields)))
            }
            Self::Value(value) => format!("v:{}", written(value)),
            Self::Index(index) => format!("i:{index}"),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

fn written(value: &Value) -> String {
    to_go_json(value).unwrap_or_else(|_| value.to_string())
}

impl Ord for PathElement {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(left), Self::Field(right)) => left.cmp(right),
            (Self::Key(left), Self::Key(right)) => {
                for ((left_name, left), (right_name, right)) in left.iter().zip(right) {
                    let order = left_name
                        .cmp(right_name)
                        .then_with(|| value::compare(left, right));
                    if order.is_ne() {
                        return order;
                    }
                }
                left.len().cmp(&right.len())
            }
            (Self::Value(left), Self::Value(right)) => value::compare(left, right),
            (Self::Index(left), Self::Index(right)) => left.cmp(right),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for PathElement {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for PathElement {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for PathElement {}

impl fmt::Display for PathElement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(out, ".{name}"),
            Self::Key(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|(name, value)| format!("{name}={}", readable(value)))
                    .collect();
                write!(out, "[{}]", fields.join(","))
            }
            Self::Value(value) => write!(out, "[={}]", readable(value)),
            Self::Index(index) => write!(out, "[{index}]"),
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| element.fmt(out))
    }
}

impl FromIterator<PathElement> for Path {
    fn from_iter<T: IntoIterator<Item = PathElement>>(elements: T) -> Self {
        Self(elements.into_iter().collect())
    }
}

/// A value as it stands in a printed path.
fn readable(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::String(text) => go_quote(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(readable).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name}={}", readable(value)))
                .collect();
            fields.concat()
        }
        Value::Bool(_) | Value::Number(_) => go::plain(value),
    }
}

/// Why a `fieldsV1` can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FieldsError {
    /// A key that is no path element.
    #[error("{} is no element of a path", go_quote(text))]
    PathElement {
        /// The key.
        text: String,
    },
    /// Something else than an object where fields should be.
    #[error("fields are an object, and {found} is none")]
    NotAnObject {
        /// The type that was found, as Go calls it.
        found: &'static str,
    },
    /// More levels than an object may have.
    #[error("fields are nested over {limit} levels")]
    Depth {
        /// The bound.
        limit: usize,
    },
}
