//! The fields that a value mentions, and how two values differ.

use std::collections::BTreeMap;

use serde_json::Value;

use super::path::PathElement;
use super::set::{FieldSet, Node};
use super::typed::{Atom, Part, element_of};
use crate::schema::{Items, List, Map, Type, TypeId, Types};
use crate::value::equal;

/// Every leaf that a value mentions, items of lists, and keys of maps.
pub(super) fn mentioned(value: &Value, kind: &Type) -> FieldSet {
    mentioned_node(value, kind.types(), kind.id()).children
}

fn mentioned_node(value: &Value, types: &Types, id: TypeId) -> Node {
    match Atom::at(types, id).deduced(Some(value)).part() {
        Part::Nothing => Node::default(),
        Part::Scalar(_) => Node::leaf(),
        Part::List(list) if list.items == Items::Atomic => Node::leaf(),
        Part::Map(map) if map.atomic => Node::leaf(),
        Part::List(list) => {
            let mut node = Node::default();
            for (element, items) in grouped(types, list, value.as_array()) {
                let child = match items.as_slice() {
                    // Of items with the same key, only that they are there is owned.
                    [one] => mentioned_node(one, types, list.element),
                    _ => Node::default(),
                };
                let child = Node {
                    member: true,
                    ..child
                };
                node.children.attach(element, child);
            }
            node
        }
        Part::Map(map) => {
            let mut node = Node::default();
            for (key, value) in value.as_object().into_iter().flatten() {
                let mut child = match map.type_of(key) {
                    Some(id) => mentioned_node(value, types, id),
                    None => Node::default(),
                };
                let is_empty = match value {
                    Value::Null => true,
                    Value::Object(fields) => fields.is_empty(),
                    _ => false,
                };
                child.member |= is_empty || !map.fields.contains_key(key);
                node.children.attach(PathElement::field(key), child);
            }
            node
        }
    }
}

/// Items by what tells them apart; those of one key stay in their order.
fn grouped<'v>(
    types: &Types,
    list: &List,
    items: Option<&'v Vec<Value>>,
) -> BTreeMap<PathElement, Vec<&'v Value>> {
    let mut groups: BTreeMap<PathElement, Vec<&Value>> = BTreeMap::new();
    for item in items.into_iter().flatten() {
        // Values are checked before they are compared, so an item that can't be told apart doesn't come here.
        if let Ok(element) = element_of(types, list, item) {
            groups.entry(element).or_default().push(item);
        }
    }
    groups
}

/// How one value differs from another. No field is in two of the sets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    pub(super) removed: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) added: FieldSet,
}

impl Comparison {
    /// Without these fields and what is below them.
    pub(super) fn without(self, fields: Option<&FieldSet>) -> Self {
        match fields {
            None => self,
            Some(fields) => Self {
                removed: self.removed.recursive_difference(fields),
                modified: self.modified.recursive_difference(fields),
                added: self.added.recursive_difference(fields),
            },
        }
    }
}

/// How `new` differs from `old`.
pub(super) fn compared(old: &Value, new: &Value, kind: &Type) -> Comparison {
    let types = kind.types();
    let change = compare(types, kind.id(), Some(old), Some(new));
    Comparison {
        removed: change.removed.children,
        modified: change.modified.children,
        added: change.added.children,
    }
}

#[derive(Default)]
struct Change {
    removed: Node,
    modified: Node,
    added: Node,
}

impl Change {
    fn attach(&mut self, element: PathElement, child: Change) {
        self.removed.children.attach(element.clone(), child.removed);
        self.modified
            .children
            .attach(element.clone(), child.modified);
        self.added.children.attach(element, child.added);
    }

    fn absorb(&mut self, other: Change) {
        for (mine, theirs) in [
            (&mut self.removed, other.removed),
            (&mut self.modified, other.modified),
            (&mut self.added, other.added),
        ] {
            mine.member |= theirs.member;
            mine.children = mine.children.union(&theirs.children);
        }
    }
}

fn compare(types: &Types, id: TypeId, old: Option<&Value>, new: Option<&Value>) -> Change {
    let atom = Atom::at(types, id);
    let (before, after) = (atom.deduced(old), atom.deduced(new));
    let (mut change, leaf) = if new.is_none() {
        compare_part(types, before.part(), old, new)
    } else if old.is_none() || before.is_same(after) {
        compare_part(types, after.part(), old, new)
    } else {
        // A value that was a map and is a list now has lost the fields of the one and won those of the other.
        let (lost, _) = compare_part(types, before.part(), old, new);
        let (mut change, leaf) = compare_part(types, after.part(), old, new);
        change.absorb(lost);
        (change, leaf)
    };
    if !leaf {
        change.added.member |= old.is_none();
        change.removed.member |= new.is_none();
    }
    change
}

fn compare_leaf(old: Option<&Value>, new: Option<&Value>) -> (Change, bool) {
    let mut change = Change::default();
    match (old, new) {
        (None, _) => change.added.member = true,
        (_, None) => change.removed.member = true,
        (Some(old), Some(new)) => change.modified.member = !equal(old, new),
    }
    (change, true)
}

/// The change, and whether the value was compared as one.
fn compare_part(
    types: &Types,
    part: Part<'_>,
    old: Option<&Value>,
    new: Option<&Value>,
) -> (Change, bool) {
    match part {
        Part::Nothing => (Change::default(), false),
        Part::Scalar(_) => compare_leaf(old, new),
        Part::List(list) => {
            let (before, after) = (old.and_then(Value::as_array), new.and_then(Value::as_array));
            let empty = |list: Option<&Vec<Value>>| list.is_none_or(Vec::is_empty);
            // Empty and null are told apart as leaves are.
            if list.items == Items::Atomic || (empty(before) && empty(after)) {
                return compare_leaf(old, new);
            }
            (compare_items(types, list, before, after), false)
        }
        Part::Map(map) => {
            let (before, after) = (
                old.and_then(Value::as_object),
                new.and_then(Value::as_object),
            );
            let empty = |map: Option<&JsonMap>| map.is_none_or(JsonMap::is_empty);
            if map.atomic || (empty(before) && empty(after)) {
                return compare_leaf(old, new);
            }
            (compare_fields(types, map, before, after), false)
        }
    }
}

type JsonMap = serde_json::Map<String, Value>;

fn compare_fields(
    types: &Types,
    map: &Map,
    old: Option<&JsonMap>,
    new: Option<&JsonMap>,
) -> Change {
    let mut change = Change::default();
    let mut field = |key: &String, before: Option<&Value>, after: Option<&Value>| {
        if let Some(id) = map.type_of(key) {
            let child = compare(types, id, before, after);
            change.attach(PathElement::field(key), child);
        }
    };
    for (key, before) in old.into_iter().flatten() {
        field(key, Some(before), new.and_then(|new| new.get(key)));
    }
    for (key, after) in new.into_iter().flatten() {
        if old.is_none_or(|old| !old.contains_key(key)) {
            field(key, None, Some(after));
        }
    }
    change
}

fn compare_items(
    types: &Types,
    list: &List,
    old: Option<&Vec<Value>>,
    new: Option<&Vec<Value>>,
) -> Change {
    let (old, mut new) = (grouped(types, list, old), grouped(types, list, new));
    let mut change = Change::default();
    for (element, before) in old {
        let after = new.remove(&element).unwrap_or_default();
        let child = compare_item(types, list, &before, &after);
        change.attach(element, child);
    }
    for (element, after) in new {
        let child = compare_item(types, list, &[], &after);
        change.attach(element, child);
    }
    change
}

/// Items of one key. Several of them are compared as if they were one value.
fn compare_item(types: &Types, list: &List, old: &[&Value], new: &[&Value]) -> Change {
    let several = |items: &[&Value]| items.len() >= 2;
    match (several(old), several(new)) {
        (false, false) => compare(
            types,
            list.element,
            old.first().copied(),
            new.first().copied(),
        ),
        (true, true) => {
            let same =
                old.len() == new.len() && old.iter().zip(new).all(|(old, new)| equal(old, new));
            let mut change = Change::default();
            change.modified.member = !same;
            change
        }
        (true, false) => {
            let mut change = match new.first() {
                Some(new) => compare(types, list.element, None, Some(new)),
                None => Change::default(),
            };
            change.removed.member = true;
            change
        }
        (false, true) => {
            let mut change = match old.first() {
                Some(old) => compare(types, list.element, Some(old), None),
                None => Change::default(),
            };
            change.added.member = true;
            change
        }
    }
}
