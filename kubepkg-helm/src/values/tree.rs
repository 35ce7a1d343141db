//! Values with Go's sharing, as templates see them: a map that stands in two places is one map. Coalescing globals
//! and templates that change their values can be seen through it, so the tree is kept until rendering is over.

use std::fmt::Write as _;

use kubepkg_gotemplate::{GoString, List};
pub(crate) use kubepkg_gotemplate::{Map as Table, Value as Tree};
use serde_json::{Map, Number, Value};

use super::Values;
use crate::go::text::float_g;

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

/// As Go's `fmt` prints it with `%v`.
pub(crate) fn printed(tree: &Tree) -> String {
    let mut out = String::new();
    print(tree, &mut out, false, true);
    out
}

/// As Go's `fmt` prints it with the verb `%t`, which fits booleans only.
pub(crate) fn printed_as_bool(tree: &Tree) -> String {
    let mut out = String::new();
    print(tree, &mut out, true, true);
    out
}

fn print(tree: &Tree, out: &mut String, as_bool: bool, top: bool) {
    let (kind, text) = match tree {
        Tree::Bool(yes) => return out.push_str(if *yes { "true" } else { "false" }),
        Tree::Int(_, whole) => ("int64=", whole.to_string()),
        Tree::Float(_, float) => ("float64=", float_g(&format!("{float:e}"))),
        Tree::String(text) => ("string=", text.to_encoded()),
        Tree::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(' ');
                }
                print(item, out, as_bool, false);
            }
            return out.push(']');
        }
        Tree::Map(table) => {
            out.push_str("map[");
            for (at, (key, item)) in table.borrow().iter().enumerate() {
                if at > 0 {
                    out.push(' ');
                }
                print(&Tree::String(key.clone()), out, as_bool, false);
                out.push(':');
                print(item, out, as_bool, false);
            }
            return out.push(']');
        }
        _ if as_bool && top => ("", "<nil>".to_owned()),
        _ => return out.push_str("<nil>"),
    };
    let written = if as_bool {
        write!(out, "%!t({kind}{text})")
    } else {
        write!(out, "{text}")
    };
    debug_assert!(written.is_ok(), "a String takes everything");
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
