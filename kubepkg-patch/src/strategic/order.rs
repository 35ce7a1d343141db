//! Lists: what their items are, what tells them apart, and their order.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{DIRECTIVE, StrategicError, no_map, no_merge_key};
use crate::go;

/// What the items of some lists are. All must be of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Elements {
    Objects,
    Scalars,
}

pub(super) fn elements(lists: &[&[Value]]) -> Result<Elements, StrategicError> {
    let mut found: Option<&'static str> = None;
    for item in lists.iter().copied().flatten() {
        let kind = go::type_name(item);
        match found {
            None if item.is_array() => return Err(StrategicError::ListOfLists),
            None => found = Some(kind),
            Some(known) if known == kind => {}
            Some(_) => {
                let lists = lists.iter().map(|list| Value::from(list.to_vec()));
                return Err(StrategicError::MixedList {
                    lists: go::plain(&Value::Array(lists.collect())),
                });
            }
        }
    }
    match found {
        None => Err(StrategicError::EmptyLists),
        Some("map[string]interface {}") => Ok(Elements::Objects),
        Some(_) => Ok(Elements::Scalars),
    }
}

/// What tells an item apart: the value of its key, or itself. As text, so that it can be looked up.
fn identity(item: &Value, key: &str, elements: Elements) -> String {
    match elements {
        Elements::Scalars => item.to_string(),
        Elements::Objects => item.get(key).unwrap_or(&Value::Null).to_string(),
    }
}

/// The value of an item's key.
pub(super) fn key_of<'v>(item: &'v Value, key: &str) -> Result<&'v Value, StrategicError> {
    let map = item.as_object().ok_or_else(|| no_map(item))?;
    map.get(key).ok_or_else(|| no_merge_key(map, key))
}

/// Places of items by what tells them apart: the first of each.
struct Places(BTreeMap<String, usize>);

impl Places {
    fn of(list: &[Value], key: &str, elements: Elements) -> Self {
        let mut places = BTreeMap::new();
        for (index, item) in list.iter().enumerate() {
            places.entry(identity(item, key, elements)).or_insert(index);
        }
        Self(places)
    }

    fn get(&self, item: &Value, key: &str, elements: Elements) -> Option<usize> {
        self.0.get(&identity(item, key, elements)).copied()
    }
}

/// Sorts items by an order; items to delete come last.
pub(super) fn sorted(
    items: Vec<Value>,
    order: &[Value],
    key: &str,
    elements: Elements,
) -> Result<Vec<Value>, StrategicError> {
    let (mut kept, mut deleted) = (items, Vec::new());
    if elements == Elements::Objects {
        for item in kept.iter().chain(order) {
            key_of(item, key)?;
        }
        (deleted, kept) = kept.into_iter().partition(is_deletion);
    }
    let places = Places::of(order, key, elements);
    let mut ranked: Vec<(Option<usize>, Value)> = kept
        .into_iter()
        .map(|item| (places.get(&item, key, elements), item))
        .collect();
    if ranked.iter().all(|(place, _)| place.is_some()) {
        ranked.sort_by_key(|(place, _)| *place);
    } else {
        // Items without a place go before all others that come before them, as Go's sort moves them.
        for index in 1..ranked.len() {
            let mut at = index;
            while at > 0 && goes_before(&ranked, at, at - 1) {
                ranked.swap(at, at - 1);
                at -= 1;
            }
        }
    }
    let ranked = ranked.into_iter().map(|(_, item)| item);
    Ok(ranked.chain(deleted).collect())
}

fn goes_before(placed: &[(Option<usize>, Value)], left: usize, right: usize) -> bool {
    let place = |at: usize| placed.get(at).and_then(|(place, _)| *place);
    match (place(left), place(right)) {
        (Some(left), Some(right)) => left < right,
        _ => true,
    }
}

pub(super) fn is_deletion(item: &Value) -> bool {
    item.get(DIRECTIVE).and_then(Value::as_str) == Some("delete")
}

/// The items of a merged list in the order that is asked for; those that only the server has keep their order, and
/// their place before the first of the others that they stood before.
pub(super) fn arranged(
    merged: Vec<Value>,
    order: &[Value],
    server_order: &[Value],
    key: &str,
    elements: Elements,
) -> Result<Vec<Value>, StrategicError> {
    if !key.is_empty() {
        for item in &merged {
            key_of(item, key)?;
        }
    }
    // Without a key, items are told apart by themselves.
    let by = if key.is_empty() {
        Elements::Scalars
    } else {
        elements
    };
    let asked: BTreeSet<String> = order.iter().map(|item| identity(item, key, by)).collect();
    let (patched, server_only): (Vec<Value>, Vec<Value>) = merged
        .into_iter()
        .partition(|item| asked.contains(&identity(item, key, by)));
    let patched = sorted(patched, order, key, elements)?;
    let server_only = sorted(server_only, server_order, key, elements)?;
    let places = Places::of(server_order, key, elements);
    let mut out = Vec::with_capacity(patched.len() + server_only.len());
    let mut patched = patched.into_iter().peekable();
    for item in server_only {
        let mine = places.get(&item, key, elements);
        while let Some(next) = patched.peek() {
            let theirs = places.get(next, key, elements);
            if mine.zip(theirs).is_some_and(|(mine, theirs)| mine < theirs) {
                break;
            }
            out.extend(patched.next());
        }
        out.push(item);
    }
    out.extend(patched);
    Ok(out)
}

/// Scalars in the order of their texts. Go puts equal ones in reverse.
pub(super) fn sorted_scalars(list: &[Value]) -> Vec<Value> {
    let mut list: Vec<Value> = list.iter().rev().cloned().collect();
    list.sort_by_cached_key(go::plain);
    list
}

/// Each scalar once. The last item takes the place of one that is dropped, as in Go.
pub(super) fn deduplicated(mut list: Vec<Value>) -> Vec<Value> {
    let mut seen = BTreeSet::new();
    if list.iter().all(|item| seen.insert(item.to_string())) {
        return list;
    }
    let mut index = 0;
    while index < list.len() {
        let mut other = index + 1;
        while other < list.len() {
            if list.get(index) == list.get(other) {
                list.swap_remove(other);
            } else {
                other += 1;
            }
        }
        index += 1;
    }
    list
}

/// Places of the objects of a list in the order of the texts of their keys; equal ones in reverse.
pub(super) fn by_key(list: &[Value], key: &str) -> Vec<usize> {
    let text = |index: &usize| {
        let value = list.get(*index).and_then(|item| item.get(key));
        value.map_or_else(|| "<nil>".to_owned(), go::plain)
    };
    let mut places: Vec<usize> = (0..list.len()).rev().collect();
    places.sort_by_cached_key(text);
    places
}

/// The objects of a list by what tells them apart: the first of each.
pub(super) struct Found(BTreeMap<String, usize>);

impl Found {
    pub(super) fn of(list: &[Value], key: &str) -> Self {
        let mut found = BTreeMap::new();
        for (index, item) in list.iter().enumerate() {
            if let Some(value) = item.get(key) {
                found.entry(value.to_string()).or_insert(index);
            }
        }
        Self(found)
    }

    pub(super) fn get(&self, value: &Value) -> Option<usize> {
        self.0.get(&value.to_string()).copied()
    }

    pub(super) fn add(&mut self, value: &Value, index: usize) {
        self.0.insert(value.to_string(), index);
    }
}

/// Only the key of an object.
pub(super) fn only_key(key: &str, value: &Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), value.clone())]))
}
