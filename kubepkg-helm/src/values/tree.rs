//! Values with Go's sharing, as templates see them: a map that stands in two places is one map. Coalescing globals
//! and templates that change their values can be seen through it, so the tree is kept until rendering is over.

use kubepkg_gotemplate::fmt::printf;
use kubepkg_gotemplate::{GoString, List};
pub(crate) use kubepkg_gotemplate::{Map as Table, Value as Tree};
use serde_json::{Map, Number, Value};

use super::Values;

/// A map that shares nothing with anything.
pub(crate) fn table_of(map: &Map<String, Value>) -> Table {
    map.iter()
        .map(|(key, value)| (GoString::from(key), tree_of(value)))
        .collect()
}

/// A value; whole numbers are `int64`, others `float64`.
pub(crate) fn tree_of(value: &Value) -> Tree {
    Tree::from_json_with_ints(value)
}

/// A copy of a map that shares nothing but texts.
pub(crate) fn deep_copy(table: &Table) -> Table {
    table
        .borrow()
        .iter()
        .map(|(key, value)| (key.clone(), copy(value)))
        .collect()
}

fn copy(tree: &Tree) -> Tree {
    match tree {
        Tree::List(list) => {
            let items = list.iter().map(copy).collect();
            Tree::List(List::with_capacity(list.go_type(), items, list.capacity()))
        }
        Tree::Map(table) => Tree::Map(deep_copy(table)),
        other => other.clone(),
    }
}

fn to_json(tree: &Tree) -> Value {
    match tree {
        Tree::Bool(yes) => Value::Bool(*yes),
        Tree::Int(_, whole) => Value::from(*whole),
        Tree::Float(_, float) => Number::from_f64(*float).map_or(Value::Null, Value::Number),
        Tree::String(text) => Value::String(text.to_encoded()),
        Tree::List(items) => items.iter().map(to_json).collect(),
        Tree::Map(table) => Value::Object(json_entries(table)),
        _ => Value::Null,
    }
}

fn json_entries(table: &Table) -> Map<String, Value> {
    table
        .borrow()
        .iter()
        .map(|(key, value)| (key.to_encoded(), to_json(value)))
        .collect()
}

/// The values of a map.
pub(crate) fn to_values(table: &Table) -> Values {
    Values::from(json_entries(table))
}

/// As Go's `fmt` prints it with a verb: `%v`, or `%t`, which fits booleans only. What is too large to be printed is
/// told of instead.
pub(crate) fn printed(verb: &str, tree: &Tree) -> String {
    match printf(verb.as_bytes(), std::slice::from_ref(tree)) {
        Ok(text) => String::from_utf8_lossy(&text).into_owned(),
        Err(error) => error.to_string(),
    }
}

/// The map at a dotted path, as `Values.Table` of Helm; `Err` names the part that is no map.
pub(crate) fn table_at(table: &Table, path: &str) -> Result<Table, String> {
    let mut at = table.clone();
    for part in path.split('.') {
        match at.get(part.as_bytes()) {
            Some(Tree::Map(inner)) => at = inner,
            _ => return Err(part.to_owned()),
        }
    }
    Ok(at)
}

/// The value at a dotted path unless it is a map, as `Values.PathValue` of Helm.
pub(crate) fn value_at(table: &Table, path: &str) -> Option<Tree> {
    let (at, key) = match path.rsplit_once('.') {
        Some((tables, key)) => (table_at(table, tables).ok()?, key),
        None => (table.clone(), path),
    };
    at.get(key.as_bytes())
        .filter(|value| value.as_map().is_none())
}
