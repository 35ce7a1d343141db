//! Models from OpenAPI v3 schemas, and the two types of values without one.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map as JsonMap, Value, json};

use super::{
    DEDUCED_ID, Definition, Field, GroupVersionKind, Items, List, Map, Model, PatchRule, Scalar,
    TypeId, Types, UNTYPED_ID,
};

/// How deep schemas may be nested. The API server refuses a custom resource far below it.
const MAX_DEPTH: usize = 128;
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";

/// Why a schema can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// A reference to a schema that isn't there.
    #[error("{at}: no schema is called {name}")]
    UnknownReference {
        /// Where the reference stands.
        at: String,
        /// What it names.
        name: String,
    },
    /// A part of a schema says what the API server doesn't know.
    #[error("{at}: {what} may not be {value}")]
    Unknown {
        /// Where it stands.
        at: String,
        /// The key.
        what: &'static str,
        /// Its value.
        value: String,
    },
    /// A list says that its items have keys, and not which.
    #[error("{at}: a list of x-kubernetes-list-type map has no x-kubernetes-list-map-keys")]
    MissingKeys {
        /// Where the list stands.
        at: String,
    },
    /// The schemas are nested too deeply.
    #[error("{at}: schemas are nested over {MAX_DEPTH} levels")]
    Depth {
        /// Where they get too deep.
        at: String,
    },
}

impl Model {
    /// Reads the schemas of an OpenAPI v3 document, the object under `components.schemas`. Kinds are known by
    /// their `x-kubernetes-group-version-kind`.
    ///
    /// # Errors
    /// When a schema says what the API server would not accept, or refers to one that is missing.
    pub fn from_openapi(schemas: &JsonMap<String, Value>) -> Result<Self, SchemaError> {
        Builder::default().read(schemas, false)
    }

    /// Reads the schema of one version of a custom resource (`openAPIV3Schema`). What the API server adds to every
    /// one, type and metadata, is added. With `preserve_unknown_fields` (a property of old CRDs) all objects may
    /// have fields that the schema doesn't name.
    ///
    /// # Errors
    /// As for [`Model::from_openapi`].
    pub fn custom_resource(
        kind: &GroupVersionKind,
        schema: &Value,
        preserve_unknown_fields: bool,
    ) -> Result<Self, SchemaError> {
        let mut root = schema.clone();
        add_embedded(&mut root, 0)?;
        if let Some(root) = root.as_object_mut() {
            add_type_and_metadata(root);
            root.insert(
                "x-kubernetes-group-version-kind".to_owned(),
                json!([{"group": kind.group, "version": kind.version, "kind": kind.kind}]),
            );
        }
        let mut schemas = super::meta_schemas();
        schemas.insert(kind.kind.clone(), root);
        Builder::default().read(&schemas, preserve_unknown_fields)
    }
}

/// Objects inside an object that have a type of their own get what every object has.
fn add_embedded(schema: &mut Value, depth: usize) -> Result<(), SchemaError> {
    if depth > MAX_DEPTH {
        let at = "custom resource".to_owned();
        return Err(SchemaError::Depth { at });
    }
    let Some(schema) = schema.as_object_mut() else {
        return Ok(());
    };
    for (key, value) in schema.iter_mut() {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for property in properties.values_mut() {
                    add_embedded(property, depth + 1)?;
                }
            }
            ("items" | "additionalProperties", value) => add_embedded(value, depth + 1)?,
            _ => {}
        }
    }
    if schema.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true)) {
        add_type_and_metadata(schema);
    }
    Ok(())
}

fn add_type_and_metadata(schema: &mut JsonMap<String, Value>) {
    let properties = schema
        .entry("properties")
        .or_insert_with(|| json!({}))
        .as_object_mut();
    if let Some(properties) = properties {
        properties.insert("apiVersion".to_owned(), json!({"type": "string"}));
        properties.insert("kind".to_owned(), json!({"type": "string"}));
        let reference = format!("#/components/schemas/{OBJECT_META}");
        properties.insert("metadata".to_owned(), json!({"$ref": reference}));
    }
}

/// The types of what has no schema, by themselves.
pub(super) fn deduced() -> Types {
    Builder::default().types
}

struct Builder {
    types: Types,
    /// Types that are another one but for being atomic or not.
    overrides: BTreeMap<(TypeId, bool), TypeId>,
}

/// The definitions of [`UNTYPED_ID`] and [`DEDUCED_ID`] stand first in every model.
impl Default for Builder {
    fn default() -> Self {
        let both = |name: &str, element, atomic| Definition {
            name: Some(name.to_owned()),
            scalar: Some(Scalar::Untyped),
            list: Some(List {
                element: UNTYPED_ID,
                items: Items::Atomic,
            }),
            map: Some(Map {
                fields: BTreeMap::new(),
                element: Some(element),
                atomic,
            }),
        };
        let types = Types {
            definitions: vec![
                both("untyped", UNTYPED_ID, true),
                both("deduced", DEDUCED_ID, false),
            ],
            ..Types::default()
        };
        Self {
            types,
            overrides: BTreeMap::new(),
        }
    }
}

impl Builder {
    fn read(
        mut self,
        schemas: &JsonMap<String, Value>,
        preserve: bool,
    ) -> Result<Model, SchemaError> {
        for name in schemas.keys() {
            let id = self.reserve();
            self.types.names.insert(name.clone(), id);
        }
        for (name, schema) in schemas {
            let Some(&id) = self.types.names.get(name) else {
                continue;
            };
            let mut definition = match name.as_str() {
                // The API server writes these two down by hand.
                QUANTITY => Definition {
                    scalar: Some(Scalar::Untyped),
                    ..Definition::default()
                },
                RAW_EXTENSION => self.types.get(UNTYPED_ID).cloned().unwrap_or_default(),
                _ => self.definition(schema, preserve, name, 0)?,
            };
            definition.name = Some(name.rsplit('.').next().unwrap_or(name).to_owned());
            self.set(id, definition);
            for kind in kinds(schema) {
                self.types.kinds.insert(kind, id);
            }
        }
        self.resolve_overrides();
        Ok(Model {
            types: Arc::new(self.types),
        })
    }

    fn reserve(&mut self) -> TypeId {
        self.types.definitions.push(Definition::default());
        TypeId(self.types.definitions.len() - 1)
    }

    fn set(&mut self, id: TypeId, definition: Definition) {
        if let Some(place) = self.types.definitions.get_mut(id.0) {
            *place = definition;
        }
    }

    /// Copies what the overridden types are, once all of them are known.
    fn resolve_overrides(&mut self) {
        for ((base, atomic), id) in std::mem::take(&mut self.overrides) {
            let mut definition = self.types.get(base).cloned().unwrap_or_default();
            if let Some(map) = &mut definition.map {
                map.atomic = atomic;
            } else if let Some(list) = &mut definition.list
                && atomic
            {
                list.items = Items::Atomic;
            }
            self.set(id, definition);
        }
    }

    fn definition(
        &mut self,
        schema: &Value,
        preserve: bool,
        at: &str,
        depth: usize,
    ) -> Result<Definition, SchemaError> {
        if depth > MAX_DEPTH {
            let at = at.to_owned();
            return Err(SchemaError::Depth { at });
        }
        let preserve = preserve || is_true(schema, "x-kubernetes-preserve-unknown-fields");
        let mut definition = Definition::default();
        match schema.get("type").and_then(Value::as_str) {
            None | Some("") => {
                definition.scalar = Some(Scalar::Untyped);
                definition.list = Some(self.list(schema, preserve, at, depth)?);
                definition.map = Some(self.map(schema, preserve, at, depth)?);
            }
            Some("object") => definition.map = Some(self.map(schema, preserve, at, depth)?),
            Some("array") => definition.list = Some(self.list(schema, preserve, at, depth)?),
            Some("integer" | "number") => definition.scalar = Some(Scalar::Numeric),
            Some("boolean") => definition.scalar = Some(Scalar::Boolean),
            Some("string") => {
                definition.scalar = match schema.get("format").and_then(Value::as_str).unwrap_or("")
                {
                    "" | "byte" => Some(Scalar::String),
                    _ => Some(Scalar::Untyped),
                };
            }
            Some(other) => return Err(unknown(at, "type", &Value::from(other))),
        }
        Ok(definition)
    }

    fn reference(
        &mut self,
        schema: &Value,
        preserve: bool,
        at: &str,
        depth: usize,
    ) -> Result<TypeId, SchemaError> {
        let Some(name) = referred(schema) else {
            let definition = self.definition(schema, preserve, at, depth + 1)?;
            let id = self.reserve();
            self.set(id, definition);
            return Ok(id);
        };
        let base = self.types.names.get(name).copied();
        let Some(base) = base else {
            return Err(SchemaError::UnknownReference {
                at: at.to_owned(),
                name: name.to_owned(),
            });
        };
        match map_type(schema, at)? {
            None => Ok(base),
            Some(atomic) => {
                if let Some(id) = self.overrides.get(&(base, atomic)) {
                    return Ok(*id);
                }
                let id = self.reserve();
                self.overrides.insert((base, atomic), id);
                Ok(id)
            }
        }
    }

    fn map(
        &mut self,
        schema: &Value,
        preserve: bool,
        at: &str,
        depth: usize,
    ) -> Result<Map, SchemaError> {
        let mut fields = BTreeMap::new();
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            let id = self.reference(property, preserve, &format!("{at}.{name}"), depth)?;
            let default = property.get("default").filter(|value| !value.is_null());
            let field = Field {
                id,
                default: default.cloned(),
                patch: patch_rule(property),
            };
            fields.insert(name.clone(), field);
        }
        let element = match schema.get("additionalProperties") {
            None | Some(Value::Null) if preserve || fields.is_empty() => Some(DEDUCED_ID),
            None | Some(Value::Null | Value::Bool(false)) => None,
            Some(Value::Bool(true)) => Some(DEDUCED_ID),
            Some(other) => Some(self.reference(other, preserve, &format!("{at}.*"), depth)?),
        };
        let atomic = map_type(schema, at)?.unwrap_or(false);
        Ok(Map {
            fields,
            element,
            atomic,
        })
    }

    fn list(
        &mut self,
        schema: &Value,
        preserve: bool,
        at: &str,
        depth: usize,
    ) -> Result<List, SchemaError> {
        let element = match schema.get("items") {
            Some(items) if items.is_object() => {
                self.reference(items, preserve, &format!("{at}[]"), depth)?
            }
            _ => UNTYPED_ID,
        };
        let items = list_items(schema, at)?;
        Ok(List { element, items })
    }
}

fn is_true(schema: &Value, key: &str) -> bool {
    schema.get(key) == Some(&Value::Bool(true))
}

fn unknown(at: &str, what: &'static str, value: &Value) -> SchemaError {
    SchemaError::Unknown {
        at: at.to_owned(),
        what,
        value: value.to_string(),
    }
}

/// The name that a schema refers to, directly or as the only part of an `allOf`, which leaves room for siblings.
fn referred(schema: &Value) -> Option<&str> {
    let direct = schema.get("$ref").and_then(Value::as_str);
    let reference = direct.or_else(|| match schema.get("allOf")?.as_array()?.as_slice() {
        [only] => only.get("$ref")?.as_str(),
        _ => None,
    })?;
    let name = reference.rsplit('/').next()?;
    (!name.is_empty()).then_some(name)
}

fn map_type(schema: &Value, at: &str) -> Result<Option<bool>, SchemaError> {
    const KEY: &str = "x-kubernetes-map-type";
    match schema.get(KEY) {
        None => Ok(None),
        Some(value) => match value.as_str() {
            Some("atomic") => Ok(Some(true)),
            Some("granular") => Ok(Some(false)),
            _ => Err(unknown(at, KEY, value)),
        },
    }
}

fn list_items(schema: &Value, at: &str) -> Result<Items, SchemaError> {
    const TYPE: &str = "x-kubernetes-list-type";
    const STRATEGY: &str = "x-kubernetes-patch-strategy";
    if let Some(value) = schema.get(TYPE) {
        return match value.as_str() {
            Some("atomic") => Ok(Items::Atomic),
            Some("set") => Ok(Items::Set),
            Some("map") => {
                let keys = schema.get("x-kubernetes-list-map-keys");
                let keys = keys.and_then(Value::as_array).into_iter().flatten();
                let keys: Vec<String> = keys.filter_map(Value::as_str).map(str::to_owned).collect();
                if keys.is_empty() {
                    let at = at.to_owned();
                    return Err(SchemaError::MissingKeys { at });
                }
                Ok(Items::Keyed(keys))
            }
            _ => Err(unknown(at, TYPE, value)),
        };
    }
    // Kinds that are older than list types say it through their strategic merge patch.
    match schema.get(STRATEGY) {
        None => Ok(Items::Atomic),
        Some(value) => match value.as_str() {
            Some("merge" | "merge,retainKeys") => {
                let key = schema.get("x-kubernetes-patch-merge-key");
                Ok(match key.and_then(Value::as_str) {
                    Some(key) => Items::Keyed(vec![key.to_owned()]),
                    None => Items::Set,
                })
            }
            Some("retainKeys") => Ok(Items::Atomic),
            _ => Err(unknown(at, STRATEGY, value)),
        },
    }
}

fn patch_rule(schema: &Value) -> PatchRule {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    let strategies = text("x-kubernetes-patch-strategy").unwrap_or_default();
    PatchRule {
        merge_key: text("x-kubernetes-patch-merge-key").map(str::to_owned),
        strategies: strategies
            .split(',')
            .filter(|strategy| !strategy.is_empty())
            .map(str::to_owned)
            .collect(),
    }
}

fn kinds(schema: &Value) -> Vec<GroupVersionKind> {
    let list = schema.get("x-kubernetes-group-version-kind");
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|kind| {
        let text = |key: &str| kind.get(key)?.as_str().map(str::to_owned);
        Some(GroupVersionKind {
            group: text("group")?,
            version: text("version")?,
            kind: text("kind")?,
        })
    })
    .collect()
}
