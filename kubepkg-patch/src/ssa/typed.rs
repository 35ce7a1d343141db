//! Values and their types: which of the things that a type allows a value is, and what tells the items of a list
//! apart.

use std::fmt;

use kubepkg_yaml::go_quote;
use serde_json::Value;

use super::path::PathElement;
use crate::schema::{Definition, Items, List, Map, Scalar, TypeId, Types};

/// What a type allows, narrowed to what a value is.
#[derive(Clone, Copy, Default)]
pub(super) struct Atom<'t> {
    scalar: Option<Scalar>,
    list: Option<&'t List>,
    map: Option<&'t Map>,
}

/// The one thing that a value is treated as.
#[derive(Clone, Copy)]
pub(super) enum Part<'t> {
    Map(&'t Map),
    Scalar(Scalar),
    List(&'t List),
    /// Nothing is allowed.
    Nothing,
}

impl<'t> Atom<'t> {
    pub(super) fn of(definition: &'t Definition) -> Self {
        Self {
            scalar: definition.scalar,
            list: definition.list.as_ref(),
            map: definition.map.as_ref(),
        }
    }

    pub(super) fn at(types: &'t Types, id: TypeId) -> Self {
        types.get(id).map(Self::of).unwrap_or_default()
    }

    /// What a value is, if the type allows that; else all that it allows.
    pub(super) fn deduced(self, value: Option<&Value>) -> Self {
        match value {
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) if self.scalar.is_some() => {
                Self {
                    scalar: self.scalar,
                    ..Self::default()
                }
            }
            Some(Value::Array(_)) if self.list.is_some() => Self {
                list: self.list,
                ..Self::default()
            },
            Some(Value::Object(_)) if self.map.is_some() => Self {
                map: self.map,
                ..Self::default()
            },
            _ => self,
        }
    }

    pub(super) fn part(self) -> Part<'t> {
        match (self.map, self.scalar, self.list) {
            (Some(map), _, _) => Part::Map(map),
            (_, Some(scalar), _) => Part::Scalar(scalar),
            (_, _, Some(list)) => Part::List(list),
            (None, None, None) => Part::Nothing,
        }
    }

    /// Whether both are narrowed to the same. They are of one type.
    pub(super) fn is_same(self, other: Self) -> bool {
        let parts = |it: Self| (it.scalar.is_some(), it.list.is_some(), it.map.is_some());
        parts(self) == parts(other)
    }
}

impl Map {
    /// The type of a field or key.
    pub(super) fn type_of(&self, key: &str) -> Option<TypeId> {
        match self.fields.get(key) {
            Some(field) => Some(field.id),
            None => self.element,
        }
    }
}

/// Why an item of a list can't be told apart from the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ItemError {
    Atomic,
    KeyedNull,
    KeyedNotAnObject,
    KeyedType,
    NoKeys(Vec<String>),
    SetMap,
    SetList,
    SetNull,
}

impl fmt::Display for ItemError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Atomic => "invalid indexing of non-associative list",
            Self::KeyedNull => "associative list with keys may not have a null element",
            Self::KeyedNotAnObject => "associative list with keys may not have non-map elements",
            Self::KeyedType => "associative list may not have non-map types",
            Self::SetMap => "associative list without keys has an element that's a map type",
            Self::SetList => "not supported: associative list with lists as elements",
            Self::SetNull => "associative list without keys has an element that's an explicit null",
            Self::NoKeys(keys) => {
                let keys: Vec<String> = keys.iter().map(|key| go_quote(key)).collect();
                return write!(
                    out,
                    "associative list with keys has an element that omits all key fields [{}] (and doesn't have \
                     default values for any key fields)",
                    keys.join(" ")
                );
            }
        };
        out.write_str(text)
    }
}

/// What tells an item of a list apart.
pub(super) fn element_of(
    types: &Types,
    list: &List,
    item: &Value,
) -> Result<PathElement, ItemError> {
    match &list.items {
        Items::Atomic => Err(ItemError::Atomic),
        Items::Set => match item {
            Value::Object(_) => Err(ItemError::SetMap),
            Value::Array(_) => Err(ItemError::SetList),
            Value::Null => Err(ItemError::SetNull),
            _ => Ok(PathElement::Value(item.clone())),
        },
        Items::Keyed(keys) => {
            let fields = match item {
                Value::Object(fields) => fields,
                Value::Null => return Err(ItemError::KeyedNull),
                _ => return Err(ItemError::KeyedNotAnObject),
            };
            let mut found = Vec::with_capacity(keys.len());
            for key in keys {
                if let Some(value) = fields.get(key) {
                    found.push((key.clone(), value.clone()));
                    continue;
                }
                let map = types.get(list.element).and_then(|it| it.map.as_ref());
                let map = map.ok_or(ItemError::KeyedType)?;
                // A key without a value and a default is left out: such an item is another than any with it.
                if let Some(value) = map.fields.get(key).and_then(|it| it.default.as_ref()) {
                    found.push((key.clone(), value.clone()));
                }
            }
            if found.is_empty() {
                return Err(ItemError::NoKeys(keys.clone()));
            }
            found.sort_by(|(left, _), (right, _)| left.cmp(right));
            Ok(PathElement::Key(found))
        }
    }
}
