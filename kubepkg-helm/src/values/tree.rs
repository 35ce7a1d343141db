//! Values with Go's sharing: a map that stands in two places is one map. Coalescing globals and templates
//! that change their values can be seen through it, so the tree is kept until rendering is over.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::rc::Rc;

use serde_json::{Map, Number, Value};

use super::Values;
use crate::go::text::float_g;

/// A map that may be shared.
pub(crate) type Table = Rc<RefCell<BTreeMap<String, Tree>>>;

/// A value.
#[derive(Debug, Clone)]
pub(crate) enum Tree {
    /// `nil`
    Null,
    /// `bool`
    Bool(bool),
    /// `int64`
    Int(i64),
    /// `float64`
    Float(f64),
    /// `string`
    Text(String),
    /// `[]interface {}`, never changed in place
    List(Rc<Vec<Tree>>),
    /// `map[string]interface {}`
    Map(Table),
}

/// An empty map.
pub(crate) fn empty() -> Table {
    Rc::default()
}

/// A map that shares nothing with anything.
pub(crate) fn table_of(map: &Map<String, Value>) -> Table {
    Rc::new(RefCell::new(
        map.iter()
            .map(|(key, value)| (key.clone(), Tree::from(value)))
            .collect(),
    ))
}

impl From<&Value> for Tree {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(yes) => Self::Bool(*yes),
            Value::Number(number) => match number.as_i64() {
                Some(whole) if !number.is_f64() => Self::Int(whole),
                _ => Self::Float(number.as_f64().unwrap_or_default()),
            },
            Value::String(text) => Self::Text(text.clone()),
            Value::Array(items) => Self::List(Rc::new(items.iter().map(Self::from).collect())),
            Value::Object(map) => Self::Map(table_of(map)),
        }
    }
}

impl Tree {
    pub(crate) fn as_table(&self) -> Option<&Table> {
        match self {
            Self::Map(table) => Some(table),
            _ => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// A copy that shares nothing.
    pub(crate) fn deep_copy(&self) -> Self {
        match self {
            Self::List(items) => Self::List(Rc::new(items.iter().map(Self::deep_copy).collect())),
            Self::Map(table) => Self::Map(deep_copy(table)),
            other => other.clone(),
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(yes) => Value::Bool(*yes),
            Self::Int(whole) => Value::from(*whole),
            Self::Float(float) => Number::from_f64(*float).map_or(Value::Null, Value::Number),
            Self::Text(text) => Value::String(text.clone()),
            Self::List(items) => items.iter().map(Self::to_json).collect(),
            Self::Map(table) => to_json(table),
        }
    }

    /// As Go's `fmt` prints it with `%v`.
    pub(crate) fn printed(&self) -> String {
        let mut out = String::new();
        self.print(&mut out, false, true);
        out
    }

    /// As Go's `fmt` prints it with the verb `%t`, which fits booleans only.
    pub(crate) fn printed_as_bool(&self) -> String {
        let mut out = String::new();
        self.print(&mut out, true, true);
        out
    }

    fn print(&self, out: &mut String, as_bool: bool, top: bool) {
        let (kind, text) = match self {
            Self::Null if as_bool && top => ("", "<nil>".to_owned()),
            Self::Null => return out.push_str("<nil>"),
            Self::Bool(yes) => return out.push_str(if *yes { "true" } else { "false" }),
            Self::Int(whole) => ("int64=", whole.to_string()),
            Self::Float(float) => ("float64=", float_g(&format!("{float:e}"))),
            Self::Text(text) => ("string=", text.clone()),
            Self::List(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(' ');
                    }
                    item.print(out, as_bool, false);
                }
                return out.push(']');
            }
            Self::Map(table) => {
                out.push_str("map[");
                for (at, (key, item)) in table.borrow().iter().enumerate() {
                    if at > 0 {
                        out.push(' ');
                    }
                    Self::Text(key.clone()).print(out, as_bool, false);
                    out.push(':');
                    item.print(out, as_bool, false);
                }
                return out.push(']');
            }
        };
        let written = if as_bool {
            write!(out, "%!t({kind}{text})")
        } else {
            write!(out, "{text}")
        };
        debug_assert!(written.is_ok(), "a String takes everything");
    }
}

/// A copy of a map that shares nothing.
pub(crate) fn deep_copy(table: &Table) -> Table {
    let copy = table
        .borrow()
        .iter()
        .map(|(key, value)| (key.clone(), value.deep_copy()))
        .collect();
    Rc::new(RefCell::new(copy))
}

/// The JSON of a map.
pub(crate) fn to_json(table: &Table) -> Value {
    Value::Object(
        table
            .borrow()
            .iter()
            .map(|(key, value)| (key.clone(), value.to_json()))
            .collect(),
    )
}

/// The values of a map.
pub(crate) fn to_values(table: &Table) -> Values {
    match to_json(table) {
        Value::Object(map) => Values::from(map),
        _ => Values::default(),
    }
}

/// The map at a dotted path, as `Values.Table` of Helm; `Err` names the part that is no map.
pub(crate) fn table_at(table: &Table, path: &str) -> Result<Table, String> {
    let mut at = Rc::clone(table);
    for part in path.split('.') {
        let inner = at
            .borrow()
            .get(part)
            .and_then(|value| value.as_table().cloned());
        at = inner.ok_or_else(|| part.to_owned())?;
    }
    Ok(at)
}

/// The value at a dotted path unless it is a map, as `Values.PathValue` of Helm.
pub(crate) fn value_at(table: &Table, path: &str) -> Option<Tree> {
    let (at, key) = match path.rsplit_once('.') {
        Some((tables, key)) => (table_at(table, tables).ok()?, key),
        None => (Rc::clone(table), path),
    };
    let value = at.borrow().get(key).cloned();
    value.filter(|value| value.as_table().is_none())
}
