//! The shape of kinds, as far as patches and server-side apply need it: what is a structure, a map, a list or a
//! scalar; which of them are one value to their owner (atomic); by which fields the items of a list are told
//! apart; and how a strategic merge patch treats a field.
//!
//! A [`Model`] comes from the schemas of an OpenAPI v3 document ([`Model::from_openapi`]), from the schema of a
//! custom resource ([`Model::custom_resource`]), or from nothing: [`Type::deduced`] takes every value for what it
//! looks like, with lists as one value each.
//!
//! The rules of reading are those of `k8s.io/kube-openapi/pkg/schemaconv`, which the API server uses.

mod compact;
mod kind;
mod openapi;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

pub use kind::GroupVersionKind;
pub use openapi::SchemaError;

/// Types by name and kind. The default has none.
#[derive(Debug, Clone, Default)]
pub struct Model {
    types: Arc<Types>,
}

/// What belongs to one model: definitions that refer to each other by number.
#[derive(Debug, Default)]
pub(crate) struct Types {
    definitions: Vec<Definition>,
    names: BTreeMap<String, TypeId>,
    kinds: BTreeMap<GroupVersionKind, TypeId>,
}

/// The number of a definition in its model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TypeId(usize);

/// The type of values that are one value whatever they hold.
pub(crate) const UNTYPED_ID: TypeId = TypeId(0);
/// The type of values whose maps are granular.
pub(crate) const DEDUCED_ID: TypeId = TypeId(1);

/// What a value of a type may be: each of the three that is there is allowed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Definition {
    /// The last part of its name in the document, if it has one.
    pub(crate) name: Option<String>,
    pub(crate) scalar: Option<Scalar>,
    pub(crate) list: Option<List>,
    pub(crate) map: Option<Map>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalar {
    Numeric,
    String,
    Boolean,
    /// Any of them.
    Untyped,
}

#[derive(Debug, Clone)]
pub(crate) struct List {
    pub(crate) element: TypeId,
    pub(crate) items: Items,
}

/// What the items of a list are to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Items {
    /// Parts of one value.
    Atomic,
    /// Told apart by their values.
    Set,
    /// Told apart by these fields.
    Keyed(Vec<String>),
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Map {
    pub(crate) fields: BTreeMap<String, Field>,
    /// The type of the values of other keys; none are allowed when it is missing.
    pub(crate) element: Option<TypeId>,
    pub(crate) atomic: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) id: TypeId,
    pub(crate) default: Option<Value>,
    pub(crate) patch: PatchRule,
}

/// How a strategic merge patch treats a field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PatchRule {
    pub(crate) merge_key: Option<String>,
    pub(crate) strategies: Vec<String>,
}

impl Types {
    pub(crate) fn get(&self, id: TypeId) -> Option<&Definition> {
        self.definitions.get(id.0)
    }
}

/// The schemas of `metadata`, which every kind has.
pub(crate) fn meta_schemas() -> serde_json::Map<String, Value> {
    serde_json::from_str(include_str!("meta.json")).unwrap_or_default()
}

impl Model {
    /// The type of a kind, if the model has it.
    pub fn kind(&self, kind: &GroupVersionKind) -> Option<Type> {
        self.types.kinds.get(kind).map(|id| self.at(*id))
    }

    /// The type of this name in the document, such as `io.k8s.api.core.v1.PodSpec`.
    pub fn named(&self, name: &str) -> Option<Type> {
        self.types.names.get(name).map(|id| self.at(*id))
    }

    /// The kinds that the model has.
    pub fn kinds(&self) -> impl Iterator<Item = &GroupVersionKind> {
        self.types.kinds.keys()
    }

    fn at(&self, id: TypeId) -> Type {
        Type {
            types: Arc::clone(&self.types),
            id,
        }
    }
}

/// One type of a model. Cheap to clone.
#[derive(Clone)]
pub struct Type {
    types: Arc<Types>,
    id: TypeId,
}

impl Type {
    /// The type of what has no schema: maps are granular, lists are one value, scalars are of any kind.
    pub fn deduced() -> Self {
        static DEDUCED: LazyLock<Type> = LazyLock::new(|| Type {
            types: Arc::new(openapi::deduced()),
            id: DEDUCED_ID,
        });
        DEDUCED.clone()
    }

    pub(crate) fn types(&self) -> &Types {
        &self.types
    }

    pub(crate) fn id(&self) -> TypeId {
        self.id
    }
}

/// Types are large and refer to themselves, so only the name is shown.
impl fmt::Debug for Type {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.types.get(self.id).and_then(|it| it.name.as_deref());
        out.debug_tuple("Type")
            .field(&name.unwrap_or("inlined"))
            .finish()
    }
}
