//! Values: what a chart's templates see under `.Values`, and every way to put them together.
//!
//! A [`Values`] is a JSON object that remembers Go's two kinds of numbers. Numbers of YAML and JSON texts are
//! `float64` (so `5000000` prints `5e+06` in a template, as with Helm), whole numbers of `--set` are `int64`.

mod coalesce;
mod flags;
mod literal;
mod strvals;
mod tree;

use std::collections::BTreeMap;
use std::sync::Arc;

use kubepkg_yaml::YamlError;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Number, Value};

pub use coalesce::{Coalesced, coalesce_tables, coalesce_values, merge_values};
pub use flags::ValueSources;
pub use strvals::{SetError, set, set_file, set_json, set_literal, set_string};

pub(crate) use coalesce::{coalesce, merge_tables};
pub(crate) use tree::{Table, Tree, deep_copy, printed, table_at, to_values, tree_of, value_at};

/// Values that can't be read or put together. `Display` is the whole sentence, as Helm prints it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValuesError {
    /// A document is no YAML, or no map, or something stands behind a `---`.
    #[error(transparent)]
    Yaml(#[from] YamlError),
    /// A values file can't be read as values.
    #[error("failed to parse {file}: {source}")]
    File {
        /// Its name.
        file: String,
        /// Why.
        source: Box<ValuesError>,
    },
    /// A values file can't be read at all.
    #[error("{message}")]
    Unreadable {
        /// What the reader says.
        message: String,
    },
    /// The argument of a `--set` flag.
    #[error("failed parsing {flag} data: {source}")]
    Set {
        /// The flag.
        flag: &'static str,
        /// Why.
        source: SetError,
    },
    /// The argument of `--set-json`.
    #[error("failed parsing --set-json data {}{argument}", if *object { "JSON: " } else { "" })]
    SetJson {
        /// The argument.
        argument: String,
        /// Whether it began as a JSON object.
        object: bool,
    },
    /// The values of a subchart are no map.
    #[error("type mismatch on {chart}: {found}")]
    TypeMismatch {
        /// The subchart.
        chart: String,
        /// The value, as Go prints it with the verb `%t`.
        found: String,
    },
}

/// Values of a chart or a user. Whole numbers are Go's `int64`, others its `float64`.
///
/// A clone shares the entries until one of the two is changed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Values(Arc<Map<String, Value>>);

impl Values {
    /// Takes JSON as Go's decoder does: every number is a `float64`. Anything but an object is empty.
    pub fn from_json(value: Value) -> Self {
        match floats(value) {
            Value::Object(map) => Self::from(map),
            _ => Self::default(),
        }
    }

    /// Reads the text of a values file. Several documents are merged, later ones win; an empty text is empty.
    ///
    /// # Errors
    /// [`ValuesError::Yaml`].
    pub fn from_yaml_documents(text: &[u8]) -> Result<Self, ValuesError> {
        Ok(Self::from(kubepkg_yaml::load_values(text)?))
    }

    /// The entries.
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.0
    }

    /// The entries, whole numbers and floats told apart by their JSON form.
    pub fn into_json(self) -> Value {
        Value::Object(Arc::unwrap_or_clone(self.0))
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Lays `other` over these values: maps are merged, everything else is replaced. This is how several values
    /// files of one command line come together.
    pub fn merge(&mut self, other: Self) {
        kubepkg_yaml::merge(Arc::make_mut(&mut self.0), Arc::unwrap_or_clone(other.0));
    }

    pub(crate) fn to_tree(&self) -> Table {
        tree::table_of(&self.0)
    }
}

/// As the release record holds them: a float without a fraction is written without a point.
impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        short_map(&self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from_json(Value::Object(Map::deserialize(
            deserializer,
        )?)))
    }
}

impl From<Map<String, Value>> for Values {
    /// Takes the entries as they are.
    fn from(map: Map<String, Value>) -> Self {
        Self(Arc::new(map))
    }
}

impl From<Value> for Values {
    fn from(value: Value) -> Self {
        Self::from_json(value)
    }
}

impl From<&Value> for Values {
    fn from(value: &Value) -> Self {
        Self::from_json(value.clone())
    }
}

fn short_map(map: &Map<String, Value>) -> BTreeMap<&str, Value> {
    map.iter()
        .map(|(key, value)| (key.as_str(), short(value)))
        .collect()
}

/// Floats without a fraction as whole numbers, where both kinds of Rust number can hold them.
pub(crate) fn short(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(short).collect(),
        Value::Object(map) => short_object(map),
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap_or_default();
            let whole = float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0;
            #[expect(
                clippy::cast_possible_truncation,
                reason = "checked to be whole and in range"
            )]
            if whole && !(float == 0.0 && float.is_sign_negative()) {
                Value::from(float as i64)
            } else {
                value.clone()
            }
        }
        other => other.clone(),
    }
}

/// As [`short`], of entries.
pub(crate) fn short_object(map: &Map<String, Value>) -> Value {
    let entries = map.iter().map(|(key, value)| (key.clone(), short(value)));
    Value::Object(entries.collect())
}

/// Every number a float.
pub(crate) fn floats(mut value: Value) -> Value {
    make_floats(&mut value);
    value
}

fn make_floats(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(make_floats),
        Value::Object(map) => map.values_mut().for_each(make_floats),
        Value::Number(number) => {
            if let Some(float) = number.as_f64().and_then(Number::from_f64) {
                *number = float;
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Values;

    #[test]
    fn numbers_of_json_are_floats_and_written_short() {
        let values = Values::from_json(json!({"a": 5, "b": 1.5, "c": [1]}));
        assert!(values.as_map()["a"].is_f64());
        assert_eq!(
            serde_json::to_string(&values).unwrap(),
            r#"{"a":5,"b":1.5,"c":[1]}"#
        );
    }
}
