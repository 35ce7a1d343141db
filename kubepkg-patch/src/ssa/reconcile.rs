//! What managers own after a schema has changed under them: fields of a map or list that is one value now are
//! owned as that one value.

use super::path::PathElement;
use super::set::FieldSet;
use super::typed::{Atom, Part};
use crate::schema::{DEDUCED_ID, Items, Map, Scalar, Type, TypeId, Types};

/// The set as it is for the type as it is now.
pub(super) fn reconciled(set: &FieldSet, kind: &Type) -> FieldSet {
    let mut walk = Walk {
        types: kind.types(),
        path: Vec::new(),
        atomic: FieldSet::default(),
    };
    walk.value(kind.id(), set, false);
    if walk.atomic.is_empty() {
        return set.clone();
    }
    set.recursive_difference(&walk.atomic).union(&walk.atomic)
}

struct Walk<'t> {
    types: &'t Types,
    path: Vec<PathElement>,
    /// The places of values that are owned in part and are one value.
    atomic: FieldSet,
}

impl Walk<'_> {
    fn value(&mut self, id: TypeId, set: &FieldSet, is_atomic: bool) {
        match Atom::at(self.types, id).part() {
            Part::Nothing | Part::Scalar(_) => {}
            Part::List(list) if list.items == Items::Atomic => {
                if !is_atomic {
                    self.atomic.insert(&self.path);
                }
            }
            Part::List(list) => self.level(set, |_| Some(list.element)),
            Part::Map(map) if is_deduced(map, self.types) => {}
            Part::Map(map) if map.atomic => {
                if !is_atomic && !set.is_empty() {
                    self.atomic.insert(&self.path);
                }
            }
            Part::Map(map) => self.level(set, |element| match element {
                PathElement::Field(name) => map.type_of(name),
                _ => map.element,
            }),
        }
    }

    fn level(&mut self, set: &FieldSet, type_of: impl Fn(&PathElement) -> Option<TypeId>) {
        for (element, member, below) in set.level() {
            // Fields that the schema doesn't know are left alone.
            if let Some(id) = type_of(element) {
                self.path.push(element.clone());
                self.value(id, below, member && below.is_empty());
                self.path.pop();
            }
        }
    }
}

/// Whether a map has no fields of its own, and values of any type.
fn is_deduced(map: &Map, types: &Types) -> bool {
    let untyped = |id: TypeId| {
        let definition = types.get(id);
        id == DEDUCED_ID
            || definition.is_some_and(|it| it.name.is_none() && it.scalar == Some(Scalar::Untyped))
    };
    map.fields.is_empty() && map.element.is_some_and(untyped)
}
