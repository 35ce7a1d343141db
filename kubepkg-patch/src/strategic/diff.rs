//! Patches made from two versions of an object.

use serde_json::{Map, Value, json};

use super::lookup::{Rule, Schema, Strategy};
use super::order::{
    Elements, by_key, deduplicated, elements, key_of, only_key, sorted, sorted_scalars,
};
use super::{DELETE_PREFIX, DIRECTIVE, ORDER_PREFIX, RETAIN_KEYS, StrategicError};
use crate::go;

/// What a patch is to hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// `$setElementOrder` for lists that change.
    pub(super) order: bool,
    /// Which differences.
    pub(super) part: Part,
    /// `$retainKeys` with the keys that are to stay.
    pub(super) retain_keys: bool,
}

/// Which differences a patch is to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    All,
    /// Changes and additions.
    Changes,
    Deletions,
}

impl Wanted {
    fn changes(self) -> bool {
        self.part != Part::Deletions
    }

    fn deletions(self) -> bool {
        self.part != Part::Changes
    }
}

/// What makes `modified` out of `original`. Lists of scalars that merge are left sorted in the original, as in Go.
pub(super) fn diff_maps(
    original: &mut Map<String, Value>,
    modified: &Map<String, Value>,
    schema: Schema<'_>,
    wanted: Wanted,
) -> Result<Map<String, Value>, StrategicError> {
    let mut patch = Map::new();
    let mut retained = Vec::new();
    for (key, new) in modified {
        if wanted.retain_keys && !new.is_null() {
            retained.push(json!(key));
        }
        let Some(old) = original.get_mut(key) else {
            if wanted.changes() {
                patch.insert(key.clone(), new.clone());
            }
            continue;
        };
        if key == DIRECTIVE {
            if !old.is_string() || !new.is_string() {
                return Err(StrategicError::DirectiveValue);
            }
            if old != new {
                patch.insert(key.clone(), new.clone());
            }
            continue;
        }
        match (old, new) {
            (Value::Object(old), Value::Object(new)) => {
                diff_object(key, old, new, &mut patch, schema, wanted)?;
            }
            (Value::Array(old), Value::Array(new)) => {
                diff_list(key, old, new, &mut patch, schema, wanted)?;
            }
            (old, new) => {
                if wanted.changes() && old != new {
                    patch.insert(key.clone(), new.clone());
                }
            }
        }
    }
    if wanted.deletions() {
        for key in original.keys().filter(|key| !modified.contains_key(*key)) {
            patch.insert(key.clone(), Value::Null);
        }
    }
    let mut others = original.iter().filter(|(_, value)| !value.is_null());
    let has_others = others.any(|(key, _)| !modified.contains_key(key));
    if !retained.is_empty() && (!patch.is_empty() || has_others) {
        patch.insert(
            RETAIN_KEYS.to_owned(),
            Value::Array(sorted_scalars(&retained)),
        );
    }
    Ok(patch)
}

fn diff_object(
    key: &str,
    old: &mut Map<String, Value>,
    new: &Map<String, Value>,
    patch: &mut Map<String, Value>,
    schema: Schema<'_>,
    wanted: Wanted,
) -> Result<(), StrategicError> {
    let rule = match schema.of_object(key) {
        Ok(rule) => rule,
        // Where nothing differs it doesn't matter that the type doesn't know the field.
        Err(_) if old == new => return Ok(()),
        Err(error) => return Err(error),
    };
    if rule.strategy == Strategy::Replace {
        if wanted.changes() {
            patch.insert(key.to_owned(), Value::Object(new.clone()));
        }
        return Ok(());
    }
    let wanted = Wanted {
        retain_keys: rule.retain_keys,
        ..wanted
    };
    let inner = diff_maps(old, new, rule.schema, wanted)?;
    if !inner.is_empty() {
        patch.insert(key.to_owned(), Value::Object(inner));
    }
    Ok(())
}

fn diff_list(
    key: &str,
    old: &mut Vec<Value>,
    new: &[Value],
    patch: &mut Map<String, Value>,
    schema: Schema<'_>,
    wanted: Wanted,
) -> Result<(), StrategicError> {
    let rule = match schema.of_list(key) {
        Ok(rule) => rule,
        Err(_) if old.as_slice() == new => return Ok(()),
        Err(error) => return Err(error),
    };
    if rule.strategy != Strategy::Merge {
        if wanted.changes() && old.as_slice() != new {
            patch.insert(key.to_owned(), Value::from(new.to_vec()));
        }
        return Ok(());
    }
    let wanted = Wanted {
        retain_keys: rule.retain_keys,
        ..wanted
    };
    let change = diff_merging_lists(old, new, &rule, wanted)?;
    let mut put = |key: String, list: Vec<Value>| {
        if !list.is_empty() {
            patch.insert(key, Value::Array(list));
        }
    };
    put(key.to_owned(), change.items);
    put(format!("{DELETE_PREFIX}/{key}"), change.deleted);
    put(format!("{ORDER_PREFIX}/{key}"), change.order);
    Ok(())
}

#[derive(Default)]
struct ListChange {
    items: Vec<Value>,
    deleted: Vec<Value>,
    order: Vec<Value>,
}

fn diff_merging_lists(
    old: &mut Vec<Value>,
    new: &[Value],
    rule: &Rule<'_>,
    wanted: Wanted,
) -> Result<ListChange, StrategicError> {
    let mut change = ListChange::default();
    if old.is_empty() {
        if wanted.changes() {
            change.items = new.to_vec();
        }
        return Ok(change);
    }
    match elements(&[old, new])? {
        Elements::Objects => {
            let (items, deleted) = diff_objects(old, new, rule, wanted)?;
            let mut items = sorted(items, new, rule.key, Elements::Objects)?;
            let same_order = is_order_same(old, new, rule.key)?;
            items.extend(deleted);
            let any = !items.is_empty();
            if wanted.order
                && ((wanted.changes() && (any || !same_order)) || (wanted.deletions() && any))
            {
                for item in new {
                    let value = item.get(rule.key).unwrap_or(&Value::Null);
                    change.order.push(only_key(rule.key, value));
                }
            }
            change.items = items;
        }
        Elements::Scalars => {
            let (items, deleted) = diff_scalars(old, new, wanted);
            change.items = sorted(items, new, rule.key, Elements::Scalars)?;
            let differs = old.as_slice() != new;
            if wanted.order
                && ((wanted.deletions() && !deleted.is_empty()) || (wanted.changes() && differs))
            {
                change.order = new.to_vec();
            }
            change.deleted = deleted;
        }
    }
    Ok(change)
}

fn is_order_same(old: &[Value], new: &[Value], key: &str) -> Result<bool, StrategicError> {
    if old.len() != new.len() {
        return Ok(false);
    }
    for (old, new) in old.iter().zip(new) {
        let same = if key.is_empty() {
            old == new
        } else {
            key_of(old, key)? == key_of(new, key)?
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What is to be added to a list of scalars, and what deleted. The old list is left sorted.
fn diff_scalars(old: &mut Vec<Value>, new: &[Value], wanted: Wanted) -> (Vec<Value>, Vec<Value>) {
    *old = sorted_scalars(old);
    let new = sorted_scalars(new);
    let (mut added, mut deleted) = (Vec::new(), Vec::new());
    let (mut left, mut right) = (old.iter().peekable(), new.iter().peekable());
    loop {
        let order = match (left.peek(), right.peek()) {
            (None, None) => break,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(left), Some(right)) => go::plain(left).cmp(&go::plain(right)),
        };
        let gone = if order.is_le() { left.next() } else { None };
        let come = if order.is_ge() { right.next() } else { None };
        match (gone, come) {
            (Some(gone), None) if wanted.deletions() => deleted.push(gone.clone()),
            (None, Some(come)) if wanted.changes() => added.push(come.clone()),
            _ => {}
        }
    }
    (added, deduplicated(deleted))
}

/// The changed and added objects of a list, and directives for the deleted ones.
fn diff_objects(
    old: &mut [Value],
    new: &[Value],
    rule: &Rule<'_>,
    wanted: Wanted,
) -> Result<(Vec<Value>, Vec<Value>), StrategicError> {
    let key = rule.key;
    let (left, right) = (by_key(old, key), by_key(new, key));
    let (mut items, mut deleted) = (Vec::new(), Vec::new());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    loop {
        let old_key = match left.peek().and_then(|at| old.get(*at)) {
            Some(item) => Some(key_of(item, key)?.clone()),
            None => None,
        };
        let new_item = right.peek().and_then(|at| new.get(*at));
        let new_key = match new_item {
            Some(item) => Some(key_of(item, key)?),
            None => None,
        };
        match (old_key, new_item.zip(new_key)) {
            (Some(old_key), Some((item, new_key))) if go::plain(&old_key) == go::plain(new_key) => {
                let before = left.next().and_then(|at| old.get_mut(at));
                right.next();
                if let (Some(Value::Object(before)), Value::Object(after)) = (before, item) {
                    let mut inner = diff_maps(before, after, rule.schema, wanted)?;
                    if !inner.is_empty() {
                        inner.insert(key.to_owned(), new_key.clone());
                        items.push(Value::Object(inner));
                    }
                }
            }
            (Some(old_key), new)
                if new.is_none_or(|(_, new_key)| go::plain(&old_key) < go::plain(new_key)) =>
            {
                left.next();
                if wanted.deletions() {
                    let mut directive = Map::new();
                    directive.insert(DIRECTIVE.to_owned(), json!("delete"));
                    directive.insert(key.to_owned(), old_key);
                    deleted.push(Value::Object(directive));
                }
            }
            (_, Some((item, _))) => {
                right.next();
                if wanted.changes() {
                    items.push(item.clone());
                }
            }
            (_, None) => break,
        }
    }
    Ok((items, deleted))
}
