//! Patches applied to objects, and patches joined with patches.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::lookup::{Rule, Schema, Strategy};
use super::order::{
    Elements, Found, arranged, deduplicated, elements, is_deletion, key_of, only_key,
};
use super::{
    DELETE_PREFIX, DIRECTIVE, ORDER_PREFIX, RETAIN_KEYS, StrategicError, no_list, no_merge_key,
};
use crate::go;

/// What is done with directives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// They are carried out: the patch is applied to an object.
    Apply,
    /// They are kept: the patch is joined with another.
    Join,
}

type Object = Map<String, Value>;

pub(super) fn merge_maps(
    mut original: Object,
    mut patch: Object,
    schema: Schema<'_>,
    mode: Mode,
) -> Result<Object, StrategicError> {
    if let Some(directive) = patch.get(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => {
                patch.remove(DIRECTIVE);
                Ok(patch)
            }
            Some("delete") => Ok(Object::new()),
            _ => Err(unknown(directive, &patch)),
        };
    }
    retain_keys(&mut original, &mut patch, mode)?;
    merge_ordered(&mut original, &mut patch, schema, mode)?;
    for (key, value) in patch {
        if key.starts_with(DELETE_PREFIX) {
            if mode == Mode::Join {
                original.insert(key, value);
                continue;
            }
            let field = field_of(&key, DELETE_PREFIX).ok_or(StrategicError::PrimitiveList)?;
            delete_scalars(&mut original, field, &value, schema)?;
            continue;
        }
        if value.is_null() {
            original.remove(&key);
            if mode == Mode::Join {
                original.insert(key, value);
            }
            continue;
        }
        let merged = match (original.remove(&key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => {
                let rule = schema.of_object(&key)?;
                Some(Value::Object(if rule.strategy == Strategy::Replace {
                    new
                } else {
                    merge_maps(old, new, rule.schema, mode)?
                }))
            }
            (Some(Value::Array(old)), Value::Array(new)) => {
                let rule = schema.of_list(&key)?;
                Some(Value::Array(merge_lists(old, new, &rule, mode)?.items))
            }
            (old, new) => {
                // Scalars over scalars have no nulls in them.
                let fresh = old.is_none_or(|old| go::type_name(&old) != go::type_name(&new));
                let new = if fresh && mode == Mode::Apply {
                    without_nulls(new)
                } else {
                    new
                };
                without_directives(new)
            }
        };
        if let Some(merged) = merged {
            original.insert(key, merged);
        }
    }
    Ok(original)
}

fn unknown(directive: &Value, map: &Object) -> StrategicError {
    StrategicError::Directive {
        directive: go::string_verb(directive),
        map: go::plain(&Value::Object(map.clone())),
    }
}

/// The field that a directive with a slash speaks of.
fn field_of<'k>(key: &'k str, prefix: &str) -> Option<&'k str> {
    let (head, field) = key.split_once('/')?;
    (head == prefix).then_some(field)
}

fn delete_scalars(
    original: &mut Object,
    field: &str,
    value: &Value,
    schema: Schema<'_>,
) -> Result<(), StrategicError> {
    // Null instead of a list deletes all of it.
    if value.is_null() {
        original.remove(field);
        return Ok(());
    }
    let (Some(Value::Array(current)), Value::Array(gone)) = (original.get(field), value) else {
        return Ok(());
    };
    let rule = schema.of_list(field)?;
    if current.is_empty() && gone.is_empty() {
        return Ok(());
    }
    let kept = match elements(&[current, gone])? {
        Elements::Scalars => {
            let kept = current.iter().filter(|item| !gone.contains(item));
            let kept: Vec<Value> = kept.cloned().collect();
            arranged_scalars(kept, gone, current, &rule)?
        }
        Elements::Objects => {
            merge_objects(current.clone(), gone.clone(), &rule, Mode::Apply)?.items
        }
    };
    original.insert(field.to_owned(), Value::Array(kept));
    Ok(())
}

fn arranged_scalars(
    kept: Vec<Value>,
    order: &[Value],
    server_order: &[Value],
    rule: &Rule<'_>,
) -> Result<Vec<Value>, StrategicError> {
    arranged(kept, order, server_order, rule.key, Elements::Scalars)
}

fn retain_keys(
    original: &mut Object,
    patch: &mut Object,
    mode: Mode,
) -> Result<(), StrategicError> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    if mode == Mode::Join {
        return match original.get(RETAIN_KEYS) {
            Some(known) if *known != keys => Err(StrategicError::DifferentRetainKeys {
                left: go::plain(known),
                right: go::plain(&keys),
            }),
            Some(_) => Ok(()),
            None => {
                original.insert(RETAIN_KEYS.to_owned(), keys);
                Ok(())
            }
        };
    }
    let keys = keys.as_array().ok_or(StrategicError::RetainKeys)?;
    let is_kept = |key: &str| keys.iter().any(|known| known.as_str() == Some(key));
    for (key, value) in &*patch {
        let is_directive = key.starts_with(DELETE_PREFIX) || key.starts_with(ORDER_PREFIX);
        if !value.is_null() && !is_directive && !is_kept(key) {
            return Err(StrategicError::RetainKeys);
        }
    }
    original.retain(|key, _| is_kept(key));
    Ok(())
}

/// Merges the lists whose order is asked for, and takes them out of the patch.
fn merge_ordered(
    original: &mut Object,
    patch: &mut Object,
    schema: Schema<'_>,
    mode: Mode,
) -> Result<(), StrategicError> {
    let orders: Vec<String> = patch
        .keys()
        .filter(|key| key.starts_with(ORDER_PREFIX))
        .cloned()
        .collect();
    for directive in orders {
        let Some(order) = patch.remove(&directive) else {
            continue;
        };
        if mode == Mode::Join {
            match original.get(&directive) {
                Some(known) if *known != order => return Err(StrategicError::ElementOrder),
                Some(_) => {}
                None => {
                    original.insert(directive.clone(), order.clone());
                }
            }
        }
        let order = order.as_array().ok_or_else(|| no_list(&order))?;
        let field = field_of(&directive, ORDER_PREFIX).ok_or(StrategicError::ElementOrder)?;
        let list = |value: Option<&Value>| match value {
            None => Ok(None),
            Some(Value::Array(list)) => Ok(Some(list.clone())),
            Some(other) => Err(no_list(other)),
        };
        let (old, new) = (list(original.get(field))?, list(patch.get(field))?);
        let rule = schema.of_list(field)?;
        check_order(new.as_deref().unwrap_or_default(), order, rule.key)?;
        let merged = match (old.clone(), new.clone()) {
            (None, None) => continue,
            (Some(old), None) => Merged::plain(old),
            (None, Some(new)) => match without_directives(Value::Array(new)) {
                Some(Value::Array(new)) => Merged {
                    items: new,
                    server_order: Vec::new(),
                },
                _ => continue,
            },
            (Some(old), Some(new)) => merge_lists(old, new, &rule, mode)?,
        };
        let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
        let kinds = elements(&[&old, &new])?;
        let arranged = arranged(merged.items, order, &merged.server_order, rule.key, kinds)?;
        original.insert(field.to_owned(), Value::Array(arranged));
        patch.remove(field);
    }
    Ok(())
}

/// Whether the patch's items stand in the order that it asks for.
fn check_order(patch: &[Value], order: &[Value], key: &str) -> Result<(), StrategicError> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut items = Vec::with_capacity(patch.len());
    for item in patch {
        if !key.is_empty() {
            let map = item.as_object().ok_or_else(|| super::no_map(item))?;
            // Deletions and replacements have no place in the order.
            if map.contains_key(DIRECTIVE) {
                continue;
            }
        }
        items.push(item);
    }
    let mut items = items.into_iter().peekable();
    for place in order {
        let Some(item) = items.peek() else {
            break;
        };
        let same = if key.is_empty() {
            *item == place
        } else {
            key_of(item, key)? == key_of(place, key)?
        };
        if same {
            items.next();
        }
    }
    if items.peek().is_some() {
        return Err(StrategicError::Order {
            patch: go::plain(&Value::from(patch.to_vec())),
            order: go::plain(&Value::from(order.to_vec())),
        });
    }
    Ok(())
}

/// A merged list, and the order that the server's list is then taken to have had.
struct Merged {
    items: Vec<Value>,
    server_order: Vec<Value>,
}

impl Merged {
    fn plain(items: Vec<Value>) -> Self {
        Self {
            server_order: items.clone(),
            items,
        }
    }
}

fn merge_lists(
    old: Vec<Value>,
    new: Vec<Value>,
    rule: &Rule<'_>,
    mode: Mode,
) -> Result<Merged, StrategicError> {
    if rule.strategy != Strategy::Merge {
        return Ok(Merged {
            items: new,
            server_order: old,
        });
    }
    if old.is_empty() && new.is_empty() {
        return Ok(Merged::plain(old));
    }
    match elements(&[&old, &new])? {
        Elements::Objects => merge_objects(old, new, rule, mode),
        Elements::Scalars => {
            let both = old.iter().chain(&new).cloned().collect();
            let items = arranged_scalars(deduplicated(both), &new, &old, rule)?;
            Ok(Merged {
                items,
                server_order: old,
            })
        }
    }
}

fn merge_objects(
    old: Vec<Value>,
    new: Vec<Value>,
    rule: &Rule<'_>,
    mode: Mode,
) -> Result<Merged, StrategicError> {
    let key = rule.key;
    if key.is_empty() {
        return Err(StrategicError::NoKeyDeclared {
            kind: rule.schema.kind(),
        });
    }
    let mut left = carry_out(old, new, key)?;
    let mut merged = left.old.clone();
    let mut places = Found::of(&merged, key);
    let mut added = 0;
    for item in &left.new {
        let value = key_of(item, key)?;
        let known = places.get(value).and_then(|at| merged.get_mut(at));
        if let (Some(Value::Object(known)), Value::Object(item)) = (known, item) {
            let map = std::mem::take(known);
            *known = merge_maps(map, item.clone(), rule.schema, mode)?;
        } else {
            // Go adds items where deleted ones stood in the list that it then takes the order from.
            if !left.replaced
                && let Some(place) = left.server_order.get_mut(left.old.len() + added)
            {
                *place = only_key(key, value);
            }
            added += 1;
            places.add(value, merged.len());
            merged.push(item.clone());
        }
    }
    Ok(Merged {
        items: arranged(merged, &left.new, &left.old, key, Elements::Objects)?,
        server_order: left.server_order,
    })
}

/// What directives among the items leave.
struct Left {
    old: Vec<Value>,
    new: Vec<Value>,
    replaced: bool,
    /// The keys of the old list as Go's memory has them: items behind a deleted one move up, and the last stays.
    server_order: Vec<Value>,
}

/// Carries out the directives among the items.
fn carry_out(mut old: Vec<Value>, new: Vec<Value>, key: &str) -> Result<Left, StrategicError> {
    let (mut items, mut replaced) = (Vec::with_capacity(new.len()), false);
    // Places in the old list.
    let mut order: Vec<usize> = (0..old.len()).collect();
    let mut count = order.len();
    for item in new {
        let Some(map) = item.as_object() else {
            continue;
        };
        let Some(directive) = map.get(DIRECTIVE) else {
            items.push(item);
            continue;
        };
        match directive.as_str() {
            Some("delete") if is_deletion(&item) => {
                let gone = map.get(key).ok_or_else(|| no_merge_key(map, key))?;
                let is_gone =
                    |place: &usize| old.get(*place).and_then(|item| item.get(key)) == Some(gone);
                while let Some(at) = order.iter().take(count).position(is_gone) {
                    order.copy_within(at + 1..count, at);
                    count -= 1;
                }
            }
            Some("replace") => replaced = true,
            Some("merge") => return Err(StrategicError::MergeOfList),
            _ => return Err(unknown(directive, map)),
        }
    }
    let key_at = |place: &usize| {
        let value = old.get(*place).and_then(|item| item.get(key));
        only_key(key, value.unwrap_or(&Value::Null))
    };
    let server_order = order.iter().map(key_at).collect();
    if replaced {
        return Ok(Left {
            old: items,
            new: Vec::new(),
            replaced,
            server_order,
        });
    }
    order.truncate(count);
    let kept: BTreeSet<usize> = order.into_iter().collect();
    let mut place = 0..;
    old.retain(|_| place.next().is_some_and(|place| kept.contains(&place)));
    Ok(Left {
        old,
        new: items,
        replaced,
        server_order,
    })
}

/// A value without objects that are directives; none if it is one itself.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(map) if map.contains_key(DIRECTIVE) => None,
        Value::Object(map) => {
            let kept = map
                .into_iter()
                .filter_map(|(key, value)| Some((key, without_directives(value)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(items) => Some(Value::Array(
            items.into_iter().filter_map(without_directives).collect(),
        )),
        other => Some(other),
    }
}

/// A value without nulls in its objects.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.into_iter().filter(|(_, value)| !value.is_null());
            Value::Object(
                kept.map(|(key, value)| (key, without_nulls(value)))
                    .collect(),
            )
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        other => other,
    }
}
