//! The field manager: what the API server does to an object and its `managedFields` on every write.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::MAX_DEPTH;
use super::error::{Conflicts, ObjectName, SsaError};
use super::fields::{compared, mentioned};
use super::owners::{ManagedFields, Manager, Operation, is_reset, remove_from};
use super::path::PathElement;
use super::set::FieldSet;
use super::update::{Owners, Typed, Updater, cap};
use super::validate::{TypeErrors, validate};
use super::versions::Versions;
use crate::schema::{GroupVersionKind, Type};
use crate::value::is_deeper_than;

/// The annotation that `kubectl apply` keeps its configuration in.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Bytes that the annotations of an object may have.
const MAX_ANNOTATIONS: usize = 256 << 10;

/// Fields that the API server sets itself, which nobody owns.
static UNTRACKED: LazyLock<FieldSet> = LazyLock::new(|| {
    let mut set = FieldSet::new();
    for name in ["apiVersion", "kind", "metadata"] {
        set.insert(&[PathElement::field(name)]);
    }
    for name in [
        "clusterName",
        "creationTimestamp",
        "generation",
        "managedFields",
        "name",
        "namespace",
        "resourceVersion",
        "selfLink",
        "uid",
    ] {
        set.insert(&[PathElement::field("metadata"), PathElement::field(name)]);
    }
    set
});

/// Works out writes to objects of one kind, in one version, through the object or one of its subresources.
#[derive(Clone)]
pub struct FieldManager<'a> {
    /// The type that is written.
    pub kind: GroupVersionKind,
    /// The subresource that is written to; empty for the object itself.
    pub subresource: &'a str,
    /// The versions of the kind.
    pub versions: &'a dyn Versions,
    /// By API version, the fields that a write through this resource doesn't change, such as `status`: nobody
    /// owns them here.
    pub reset: &'a BTreeMap<String, FieldSet>,
    /// The time that entries get.
    pub now: Timestamp,
}

impl FieldManager<'_> {
    /// Applies a configuration to an object, or creates one from it. The answer is the object with its new
    /// `managedFields`; nothing is defaulted.
    ///
    /// # Errors
    /// On conflicts, unless `force`d, and when anything is not of its type.
    pub fn apply(
        &self,
        live: Option<&Value>,
        applied: &Value,
        manager: &str,
        force: bool,
    ) -> Result<Value, SsaError> {
        let empty = self.empty();
        let live = live.unwrap_or(&empty);
        check_depth(live)?;
        check_depth(applied)?;
        let owners = ManagedFields::of(live)
            .map_err(|source| SsaError::ManagedFields { source })?
            .owners;
        let found = GroupVersionKind::of(applied);
        if found != self.kind {
            return Err(SsaError::InvalidType { found });
        }
        let mut done = self.apply_typed(live, applied, owners.clone(), manager, force);
        // An object of client-side apply may be taken over by kubectl as far as its last configuration still holds.
        if manager == "kubectl"
            && let Err(SsaError::Conflict(conflicts)) = &done
            && let Some(allowed) = self.last_applied_fields(live)
        {
            let conflicts = conflicts.0.iter();
            let others: Vec<_> = conflicts
                .filter(|conflict| !allowed.contains(&conflict.path.0))
                .cloned()
                .collect();
            done = if others.is_empty() {
                self.apply_typed(live, applied, owners, manager, true)
            } else {
                Err(SsaError::Conflict(Conflicts(others)))
            };
        }
        let (mut object, owners) = done?;
        if manager == "kubectl" {
            sync_last_applied(&mut object, applied);
        }
        ManagedFields { owners }.store(&mut object);
        Ok(object)
    }

    fn apply_typed(
        &self,
        live: &Value,
        applied: &Value,
        mut owners: Owners,
        manager: &str,
        force: bool,
    ) -> Result<(Value, Owners), SsaError> {
        let kind = self.type_of()?;
        if owners.is_empty() {
            // What was there before owners were written down is somebody's too.
            let before = self.manager("before-first-apply", Operation::Update);
            owners = self.update_typed(&self.empty(), live, owners, &before)?;
        }
        let sent = applied.pointer("/metadata/managedFields");
        if sent.is_some_and(|sent| !sent.is_null()) {
            return Err(SsaError::ManagedFieldsInPatch);
        }
        let typed_patch = typed(applied, &kind, false).map_err(|errors| SsaError::TypedPatch {
            object: Box::new(ObjectName::of(applied)),
            errors,
        })?;
        let typed_live = typed_live(live, &kind)?;
        let writer = self.manager(manager, Operation::Apply);
        let api_version = self.kind.api_version();
        let updater = self.updater(&api_version);
        let (object, mut owners) =
            updater.apply(&typed_live, &typed_patch, owners, &writer, force)?;
        strip(&mut owners, &writer);
        let object = match object {
            Some(object) => {
                if let Some(owned) = owners.get_mut(&writer) {
                    owned.time = Some(self.now);
                }
                object
            }
            None => live.clone(),
        };
        Ok((object, owners))
    }

    /// Works out the `managedFields` of an object that is written otherwise: created, replaced or patched. `new`
    /// is what is to be stored; the `managedFields` in it are those that the client sent.
    ///
    /// # Errors
    /// When an object isn't of its type. The API server then stores the object without owners, see
    /// [`FieldManager::update_or_forget`].
    pub fn update(
        &self,
        live: Option<&Value>,
        new: &Value,
        manager: &str,
    ) -> Result<Value, SsaError> {
        let empty = self.empty();
        let before = live.unwrap_or(&empty);
        check_depth(before)?;
        check_depth(new)?;
        let mut owners = self.sent_or_stored(before, new);
        let mut object = new.clone();
        remove_from(&mut object);
        // An object that was never tracked, and exists, stays untracked.
        let uid = before.pointer("/metadata/uid").and_then(Value::as_str);
        if !owners.is_empty() || uid.unwrap_or_default().is_empty() {
            let writer = self.manager(manager, Operation::Update);
            owners = self.update_typed(before, &object, owners, &writer)?;
            cap(&mut owners);
        }
        ManagedFields { owners }.store(&mut object);
        Ok(object)
    }

    /// The same, but where owners can't be worked out they are forgotten.
    pub fn update_or_forget(&self, live: Option<&Value>, new: &Value, manager: &str) -> Value {
        self.update(live, new, manager).unwrap_or_else(|_| {
            let mut object = new.clone();
            remove_from(&mut object);
            object
        })
    }

    fn update_typed(
        &self,
        live: &Value,
        new: &Value,
        owners: Owners,
        writer: &Manager,
    ) -> Result<Owners, SsaError> {
        let kind = self.type_of()?;
        let typed_new = typed(new, &kind, true).map_err(|errors| SsaError::TypedNew {
            object: Box::new(ObjectName::of(new)),
            errors,
        })?;
        let typed_live = typed_live(live, &kind)?;
        let api_version = self.kind.api_version();
        // No entry has an empty version, so this one is told apart from all that are stored.
        let current = Manager {
            name: "current-operation".to_owned(),
            operation: Operation::Update,
            api_version: String::new(),
            subresource: String::new(),
        };
        let updater = self.updater(&api_version);
        let mut owners = updater.update(&typed_live, &typed_new, owners, &current)?;
        strip(&mut owners, &current);
        if let Some(mut owned) = owners.remove(&current) {
            if let Some(previous) = owners.get(writer) {
                owned.fields = owned.fields.union(&previous.fields);
            }
            owned.time = Some(self.now);
            owners.insert(writer.clone(), owned);
        }
        Ok(owners)
    }

    /// The owners that the client sent; those that are stored if it sent none or none that can be read, or writes
    /// to a subresource.
    fn sent_or_stored(&self, live: &Value, new: &Value) -> Owners {
        if self.subresource.is_empty() {
            if is_reset(new) {
                return Owners::new();
            }
            match ManagedFields::of(new) {
                Ok(sent) if !sent.is_empty() => return sent.owners,
                _ => {}
            }
        }
        ManagedFields::of(live).unwrap_or_default().owners
    }

    /// What `kubectl apply` wrote last and is still so.
    fn last_applied_fields(&self, live: &Value) -> Option<FieldSet> {
        let annotations = live.pointer("/metadata/annotations")?;
        let text = annotations.get(LAST_APPLIED)?.as_str()?;
        let last: Value = serde_json::from_str(text).ok()?;
        let version = last.get("apiVersion").and_then(Value::as_str);
        if version != Some(self.kind.api_version().as_str()) {
            return None;
        }
        let kind = self.type_of().ok()?;
        validate(live, &kind, false).ok()?;
        validate(&last, &kind, false).ok()?;
        let change = compared(&last, live, &kind);
        let fields = mentioned(&last, &kind)
            .difference(&change.modified)
            .difference(&change.added)
            .difference(&change.removed);
        Some(fields)
    }

    fn type_of(&self) -> Result<Type, SsaError> {
        let kind = self.versions.type_in(&self.kind.api_version());
        kind.ok_or_else(|| SsaError::NoType {
            kind: self.kind.clone(),
        })
    }

    fn updater<'s>(&'s self, api_version: &'s str) -> Updater<'s> {
        Updater {
            versions: self.versions,
            api_version,
            reset: self.reset,
        }
    }

    fn manager(&self, name: &str, operation: Operation) -> Manager {
        let name = if name.is_empty() { "unknown" } else { name };
        Manager {
            name: name.to_owned(),
            operation,
            api_version: match operation {
                Operation::Apply => String::new(),
                Operation::Update => self.kind.api_version(),
            },
            subresource: self.subresource.to_owned(),
        }
    }

    /// What there is before an object exists.
    fn empty(&self) -> Value {
        json!({"apiVersion": self.kind.api_version(), "kind": self.kind.kind})
    }
}

fn check_depth(object: &Value) -> Result<(), SsaError> {
    if is_deeper_than(object, MAX_DEPTH) {
        return Err(SsaError::Depth { limit: MAX_DEPTH });
    }
    Ok(())
}

fn typed<'v>(value: &'v Value, kind: &Type, duplicates: bool) -> Result<Typed<'v>, TypeErrors> {
    validate(value, kind, duplicates)?;
    Ok(Typed {
        value: Cow::Borrowed(value),
        kind: kind.clone(),
    })
}

/// The object as it is stored; lists in it may hold a key twice.
fn typed_live<'v>(live: &'v Value, kind: &Type) -> Result<Typed<'v>, SsaError> {
    typed(live, kind, true).map_err(|errors| SsaError::TypedLive {
        object: Box::new(ObjectName::of(live)),
        errors,
    })
}

fn strip(owners: &mut Owners, writer: &Manager) {
    if let Some(owned) = owners.get_mut(writer) {
        owned.fields = owned.fields.difference(&UNTRACKED);
        if owned.fields.is_empty() {
            owners.remove(writer);
        }
    }
}

/// Keeps the annotation of client-side apply in step, for clients that go back to it.
fn sync_last_applied(object: &mut Value, applied: &Value) {
    let mut applied = applied.clone();
    if let Some(Value::Object(annotations)) = applied.pointer_mut("/metadata/annotations") {
        annotations.remove(LAST_APPLIED);
    }
    let Some(Value::Object(annotations)) = object.pointer_mut("/metadata/annotations") else {
        return;
    };
    let current = annotations.get(LAST_APPLIED).and_then(Value::as_str);
    if current.is_none_or(str::is_empty) {
        return;
    }
    let Ok(text) = kubepkg_yaml::to_go_json(&applied) else {
        return;
    };
    // The encoder ends every object with a line break.
    annotations.insert(LAST_APPLIED.to_owned(), Value::from(text + "\n"));
    let size = annotations
        .iter()
        .map(|(key, value)| key.len() + value.as_str().map_or(0, str::len));
    if size.sum::<usize>() > MAX_ANNOTATIONS {
        annotations.remove(LAST_APPLIED);
    }
}
