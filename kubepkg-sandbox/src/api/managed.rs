//! Who wrote which field: `metadata.managedFields`.
//!
//! `kubepkg-patch` works it out; here stand the types of the kinds and which fields a resource
//! does not write.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use jiff::Timestamp;
use kubepkg_patch::builtin;
use kubepkg_patch::schema::{GroupVersionKind, Model, Type};
use kubepkg_patch::ssa::{FieldManager, FieldSet, PathElement, SsaError, Versions};
use serde_json::{Value, json};

use super::encode;
use super::failure::Failure;
use super::kind::Kind;
use super::object;
use super::registry::Registry;
use super::structs::Types;
use super::write::Writer;

/// The type of a kind, for merging.
pub(crate) fn type_of(kind: &Kind) -> Type {
    match &kind.custom {
        Some(custom) => custom.merge_type.clone(),
        None => builtin::model()
            .kind(&GroupVersionKind::new(&kind.api_version(), &kind.kind))
            .unwrap_or_else(Type::deduced),
    }
}

/// The type of a custom resource of this schema.
pub(crate) fn custom_type(kind: &GroupVersionKind, schema: &Value, preserve: bool) -> Type {
    static KNOWN: LazyLock<Mutex<BTreeMap<String, Type>>> = LazyLock::new(Mutex::default);
    let key = format!("{kind} {preserve} {schema}");
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known.get(&key) {
        return found.clone();
    }
    let made = Model::custom_resource(kind, schema, preserve)
        .ok()
        .and_then(|model| model.kind(kind))
        .unwrap_or_else(Type::deduced);
    if known.len() > 1000 {
        known.clear();
    }
    known.insert(key, made.clone());
    made
}

/// The versions of a resource, within its group: what was written by way of the other group for Events is forgotten.
struct Served<'a> {
    registry: &'a Registry,
    kind: &'a Kind,
}

impl Served<'_> {
    fn version(&self, api_version: &str) -> Option<&Kind> {
        let found = self.registry.of_kind(api_version, &self.kind.kind)?;
        let same = found.stored_in == self.kind.stored_in && found.group == self.kind.group;
        same.then_some(found)
    }
}

impl Versions for Served<'_> {
    fn type_in(&self, api_version: &str) -> Option<Type> {
        self.version(api_version).map(type_of)
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Option<Value>, String> {
        Ok(self.version(api_version).map(|other| {
            // Fields that the other version does not have stay, and are told as fields that nobody knows.
            if other.custom.is_some() {
                let mut object = object.clone();
                object["apiVersion"] = api_version.into();
                return object;
            }
            let from = object["apiVersion"].as_str().unwrap_or_default();
            let from = self.version(from).unwrap_or(self.kind);
            let stored = super::convert::stored(from, object.clone());
            encode::with_type(other, &stored)
        }))
    }
}

/// The fields that a write through this resource does not change.
fn reset(kind: &Kind, subresource: &str) -> BTreeMap<String, FieldSet> {
    let mut set = FieldSet::new();
    match subresource {
        "status" => {
            let fields: &[&[&str]] = if kind.custom.is_some() {
                &[&["apiVersion"], &["kind"], &["metadata"], &["spec"]]
            } else {
                &[&["spec"]]
            };
            for path in fields {
                let path: Vec<PathElement> =
                    path.iter().map(|name| PathElement::field(*name)).collect();
                set.insert(&path);
            }
        }
        _ if kind.has_status() => set.insert(&[PathElement::field("status")]),
        _ => {}
    }
    BTreeMap::from([(kind.api_version(), set)])
}

/// Runs with the field manager of a resource.
fn with<T>(
    registry: &Registry,
    kind: &Kind,
    writer: &Writer,
    run: impl FnOnce(&FieldManager<'_>) -> T,
) -> T {
    let versions = Served { registry, kind };
    let reset = reset(kind, &writer.subresource);
    run(&FieldManager {
        kind: GroupVersionKind::new(&kind.api_version(), &kind.kind),
        subresource: &writer.subresource,
        versions: &versions,
        reset: &reset,
        now: writer.now,
    })
}

/// The object that a new one is compared with: in Go its structures are there before anybody
/// writes, so nobody owns them.
fn zero(kind: &Kind) -> Option<Value> {
    if kind.custom.is_some() {
        return None;
    }
    let types = Types::get();
    let object = match types.of_kind(&kind.api_version(), &kind.kind) {
        Some(message) => Value::Object(types.zero(message)),
        None => return None,
    };
    Some(encode::with_type(kind, &object))
}

/// The managed fields after an ordinary write.
pub(crate) fn updated(
    registry: &Registry,
    kind: &Kind,
    old: Option<&Value>,
    new: &Value,
    sent: Option<&Value>,
    writer: &Writer,
) -> Value {
    let live = match old {
        Some(old) => Some(encode::with_type(kind, old)),
        None => zero(kind),
    };
    let mut new = encode::with_type(kind, new);
    match sent {
        Some(sent) => object::set(&mut new, "managedFields", sent.clone()),
        None => object::unset(&mut new, "managedFields"),
    }
    let done = with(registry, kind, writer, |fields| {
        fields.update_or_forget(live.as_ref(), &new, &writer.manager)
    });
    let mut entries = done["metadata"]["managedFields"].clone();
    // Through scale the server knows no time (`NewScaleHandler`).
    if writer.subresource == "scale" {
        for entry in entries.as_array_mut().into_iter().flatten() {
            if entry["subresource"] == "scale"
                && let Some(entry) = entry.as_object_mut()
            {
                entry.remove("time");
            }
        }
    }
    entries
}

/// The managed fields of an object that one part of the server has written alone, where it is known which they are:
/// working it out takes longer than all the rest of such a write.
pub(crate) fn written_by(manager: &str, api_version: &str, fields: Value, now: Timestamp) -> Value {
    let mut entry = json!({
        "manager": manager, "operation": "Update", "apiVersion": api_version,
        "time": object::time(now), "fieldsType": "FieldsV1",
    });
    entry["fieldsV1"] = fields;
    Value::Array(vec![entry])
}

/// The object after an apply, with its new managed fields.
pub(crate) fn applied(
    registry: &Registry,
    kind: &Kind,
    old: Option<&Value>,
    applied: &Value,
    force: bool,
    writer: &Writer,
) -> Result<Value, Failure> {
    let live = old.map(|old| encode::with_type(kind, old));
    with(registry, kind, writer, |fields| {
        fields.apply(live.as_ref(), applied, &writer.manager, force)
    })
    .map_err(|error| refused(&error))
}

fn refused(error: &SsaError) -> Failure {
    match error {
        SsaError::Conflict(conflicts) => {
            let causes: Vec<Value> = conflicts
                .0
                .iter()
                .map(|conflict| {
                    json!({
                        "reason": "FieldManagerConflict", "message": conflict.message(),
                        "field": conflict.path.to_string(),
                    })
                })
                .collect();
            Failure {
                reason: Some("Conflict"),
                details: Some(json!({"causes": causes})),
                ..Failure::plain(409, error.to_string())
            }
        }
        // The API server does not say which version it is that does not know the fields.
        SsaError::TypedVersion { errors, .. } => Failure::plain(500, errors.to_string()),
        SsaError::InvalidType { .. } | SsaError::ManagedFieldsInPatch => {
            Failure::bad_request(error.to_string())
        }
        _ => Failure::plain(500, error.to_string()),
    }
}

/// Puts managed fields in their place.
pub(crate) fn put(object: &mut Value, fields: Value) {
    match fields {
        Value::Array(entries) if !entries.is_empty() => {
            object::set(object, "managedFields", Value::Array(entries));
        }
        _ => object::unset(object, "managedFields"),
    }
}

/// Whether a write changes nothing: only times in managed fields may differ.
pub(crate) fn equal_but_for_times(old: &Value, new: &Value) -> bool {
    if old == new {
        return true;
    }
    let (Some(a), Some(b)) = (old.as_object(), new.as_object()) else {
        return false;
    };
    // Cheap first: most writes change something outside of metadata.
    let rest = |fields: &serde_json::Map<String, Value>| {
        let rest = fields.iter().filter(|(field, _)| *field != "metadata");
        rest.count()
    };
    let differs =
        |(field, value): (&String, &Value)| field != "metadata" && b.get(field) != Some(value);
    if rest(a) != rest(b) || a.iter().any(differs) {
        return false;
    }
    let without_times = |object: &Value| {
        let mut metadata = object["metadata"].clone();
        let entries = metadata
            .get_mut("managedFields")
            .and_then(Value::as_array_mut);
        for entry in entries.into_iter().flatten() {
            if let Some(entry) = entry.as_object_mut() {
                entry.remove("time");
            }
        }
        metadata
    };
    without_times(old) == without_times(new)
}
