//! An applied configuration laid over an object, and fields taken out of one.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map as JsonMap, Value};

use super::path::PathElement;
use super::set::FieldSet;
use super::typed::{Atom, Part, element_of};
use crate::schema::{Items, List, Map, Type, TypeId, Types};

/// The live object with what was applied. Nothing is removed by this.
pub(super) fn merged(live: &Value, applied: &Value, kind: &Type) -> Value {
    merge(kind.types(), kind.id(), Some(live), Some(applied)).unwrap_or_default()
}

fn leaf(live: Option<&Value>, applied: Option<&Value>) -> Option<Value> {
    applied.or(live).cloned()
}

fn merge(
    types: &Types,
    id: TypeId,
    live: Option<&Value>,
    applied: Option<&Value>,
) -> Option<Value> {
    let atom = Atom::at(types, id);
    let part = atom.deduced(applied.or(live)).part();
    match part {
        Part::Nothing => None,
        Part::Scalar(_) => leaf(live, applied),
        Part::List(list) => {
            let (left, right) = (
                live.and_then(Value::as_array),
                applied.and_then(Value::as_array),
            );
            let empty = |list: Option<&Vec<Value>>| list.is_none_or(Vec::is_empty);
            // Empty and null are told apart as leaves are.
            if list.items == Items::Atomic || (empty(left) && empty(right)) {
                return leaf(live, applied);
            }
            let left = left.map(Vec::as_slice).unwrap_or_default();
            let right = right.map(Vec::as_slice).unwrap_or_default();
            let items = merge_items(types, list, left, right);
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Part::Map(map) => {
            let (left, right) = (
                live.and_then(Value::as_object),
                applied.and_then(Value::as_object),
            );
            let empty = |map: Option<&JsonMap<_, _>>| map.is_none_or(JsonMap::is_empty);
            if map.atomic || (empty(left) && empty(right)) {
                return leaf(live, applied);
            }
            let fields = merge_fields(types, map, left, right);
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
    }
}

fn merge_fields(
    types: &Types,
    map: &Map,
    live: Option<&JsonMap<String, Value>>,
    applied: Option<&JsonMap<String, Value>>,
) -> JsonMap<String, Value> {
    let mut out = JsonMap::new();
    let mut field = |key: &String, live: Option<&Value>, applied: Option<&Value>| {
        let merged = map
            .type_of(key)
            .and_then(|id| merge(types, id, live, applied));
        if let Some(merged) = merged {
            out.insert(key.clone(), merged);
        }
    };
    for (key, value) in live.into_iter().flatten() {
        field(key, Some(value), applied.and_then(|it| it.get(key)));
    }
    for (key, value) in applied.into_iter().flatten() {
        if live.is_none_or(|it| !it.contains_key(key)) {
            field(key, None, Some(value));
        }
    }
    out
}

/// The elements of a list in its order, and the item of each; null for an element that stands there twice.
fn indexed<'v>(
    types: &Types,
    list: &List,
    items: &'v [Value],
) -> (
    Vec<(PathElement, &'v Value)>,
    BTreeMap<PathElement, &'v Value>,
) {
    static NULL: Value = Value::Null;
    let (mut order, mut by_element) = (Vec::with_capacity(items.len()), BTreeMap::new());
    for item in items {
        // Values are checked before they are merged, so an item that can't be told apart doesn't come here.
        let Ok(element) = element_of(types, list, item) else {
            continue;
        };
        // Items of one key are not merged with the new one, they give way to it.
        let twice = by_element.contains_key(&element);
        by_element.insert(element.clone(), if twice { &NULL } else { item });
        order.push((element, item));
    }
    (order, by_element)
}

/// Applied items come in the applier's order; the others stay where they are between them.
fn merge_items(types: &Types, list: &List, live: &[Value], applied: &[Value]) -> Vec<Value> {
    let (left, left_by_element) = indexed(types, list, live);
    let (right, right_by_element) = indexed(types, list, applied);
    let mut out = Vec::with_capacity(left.len().max(right.len()));
    let mut shared = right
        .iter()
        .map(|(element, _)| element)
        .filter(|element| left_by_element.contains_key(element));
    let mut next_shared = shared.next();
    let mut done: BTreeSet<&PathElement> = BTreeSet::new();
    let mut push = |live: Option<&Value>, applied: Option<&Value>| {
        out.extend(merge(types, list.element, live, applied));
    };
    let (mut left, mut right) = (left.iter().peekable(), right.iter().peekable());
    while left.peek().is_some() || right.peek().is_some() {
        if let (Some((mine, _)), Some((theirs, item))) = (left.peek(), right.peek()) {
            if mine == theirs {
                done.insert(theirs);
                push(left_by_element.get(mine).copied(), Some(item));
                left.next();
                right.next();
                next_shared = shared.next();
                continue;
            }
            let is_shared = right_by_element.contains_key(mine);
            if is_shared && next_shared.is_some_and(|next| next != mine) {
                // One of both, but not the one whose turn it is.
                left.next();
                continue;
            }
        }
        if let Some((mine, item)) = left.peek() {
            if !right_by_element.contains_key(mine) {
                push(Some(item), None);
                left.next();
                continue;
            }
            if done.contains(mine) {
                left.next();
            }
        }
        if let Some((theirs, item)) = right.next() {
            done.insert(theirs);
            push(left_by_element.get(theirs).copied(), Some(item));
            if next_shared == Some(theirs) {
                next_shared = shared.next();
            }
        }
    }
    out
}

/// A value without some fields. A list or map that loses everything becomes null.
pub(super) fn without(value: Value, fields: &FieldSet, kind: &Type) -> Value {
    remove(kind.types(), Some(kind.id()), value, fields)
}

fn remove(types: &Types, id: Option<TypeId>, value: Value, fields: &FieldSet) -> Value {
    let atom = id.map(|id| Atom::at(types, id)).unwrap_or_default();
    match (atom.deduced(Some(&value)).part(), value) {
        (Part::Scalar(_), value) => value,
        (Part::List(list), Value::Array(items)) if list.items != Items::Atomic => {
            let mut kept = Vec::with_capacity(items.len());
            for item in items {
                let Ok(element) = element_of(types, list, &item) else {
                    kept.push(item);
                    continue;
                };
                if fields.has(&element) {
                    continue;
                }
                kept.push(match fields.below(&element) {
                    Some(below) => remove(types, Some(list.element), item, below),
                    None => item,
                });
            }
            if kept.is_empty() {
                Value::Null
            } else {
                Value::Array(kept)
            }
        }
        (Part::Map(map), Value::Object(entries)) if !map.atomic => {
            let mut kept = JsonMap::new();
            for (key, value) in entries {
                let element = PathElement::Field(key);
                if fields.has(&element) {
                    continue;
                }
                let below = fields.below(&element);
                let PathElement::Field(key) = element else {
                    continue;
                };
                let value = match below {
                    Some(below) => remove(types, map.type_of(&key), value, below),
                    None => value,
                };
                kept.insert(key, value);
            }
            if kept.is_empty() {
                Value::Null
            } else {
                Value::Object(kept)
            }
        }
        _ => Value::Null,
    }
}
