//! Why an object isn't written, in the API server's words.

use std::collections::BTreeMap;
use std::fmt;

use super::owners::{ManagedFieldsError, Manager};
use super::path::Path;
use super::validate::TypeErrors;
use crate::schema::GroupVersionKind;

/// A field that somebody else owns, with another value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conflict {
    /// Who owns it.
    pub manager: Manager,
    /// The field.
    pub path: Path,
}

impl Conflict {
    /// The message of its cause in the API server's answer. The cause's field is the path, its type
    /// `FieldManagerConflict`.
    pub fn message(&self) -> String {
        format!("conflict with {}", self.manager)
    }
}

/// Conflicts of one apply, sorted by manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflicts(pub Vec<Conflict>);

impl fmt::Display for Conflicts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = self.0.as_slice() {
            return write!(
                out,
                "Apply failed with 1 conflict: {}: {}",
                only.message(),
                only.path
            );
        }
        let mut by_manager: BTreeMap<String, (&Manager, Vec<&Path>)> = BTreeMap::new();
        for Conflict { manager, path } in &self.0 {
            let paths = by_manager.entry(manager.identifier());
            paths.or_insert_with(|| (manager, Vec::new())).1.push(path);
        }
        let mut lines = Vec::new();
        for (manager, paths) in by_manager.into_values() {
            lines.push(format!("conflicts with {manager}:"));
            lines.extend(paths.iter().map(|path| format!("- {path}")));
        }
        write!(
            out,
            "Apply failed with {} conflicts: {}",
            self.0.len(),
            lines.join("\n")
        )
    }
}

/// An object in a message: `NAMESPACE/NAME; GROUP/VERSION, Kind=KIND`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectName {
    /// Its namespace, if it has one.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: GroupVersionKind,
}

impl ObjectName {
    pub(super) fn of(object: &serde_json::Value) -> Self {
        let text = |pointer: &str| {
            let text = object.pointer(pointer).and_then(serde_json::Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        Self {
            namespace: text("/metadata/namespace"),
            name: text("/metadata/name"),
            kind: GroupVersionKind::of(object),
        }
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}; {}", self.namespace, self.name, self.kind)
    }
}

/// Why an object isn't written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SsaError {
    /// Somebody else owns fields with other values. The API server answers 409 with reason `Conflict` and the
    /// conflicts as causes.
    #[error("{0}")]
    Conflict(Conflicts),
    /// What is applied is of another type than the request's; 400.
    #[error("invalid object type: {found}")]
    InvalidType {
        /// The type that it says it is of.
        found: GroupVersionKind,
    },
    /// What is applied sets `metadata.managedFields`; 400.
    #[error("metadata.managedFields must be nil")]
    ManagedFieldsInPatch,
    /// What is applied isn't of its type; 500.
    #[error("failed to create typed patch object ({object}): {errors}")]
    TypedPatch {
        /// The object.
        object: Box<ObjectName>,
        /// What is wrong.
        errors: TypeErrors,
    },
    /// What is stored isn't of its type; 500.
    #[error("failed to create typed live object ({object}): {errors}")]
    TypedLive {
        /// The object.
        object: Box<ObjectName>,
        /// What is wrong.
        errors: TypeErrors,
    },
    /// What is written isn't of its type; 500.
    #[error("failed to convert new object ({object}) to smd typed: {errors}")]
    TypedNew {
        /// The object.
        object: Box<ObjectName>,
        /// What is wrong.
        errors: TypeErrors,
    },
    /// An object of another version isn't of its type; 500.
    #[error("failed to convert object ({object}) to {api_version}: {errors}")]
    TypedVersion {
        /// The object.
        object: Box<ObjectName>,
        /// The version that it was turned into.
        api_version: String,
        /// What is wrong.
        errors: TypeErrors,
    },
    /// The type of the object's version isn't known; 500.
    #[error("no corresponding type for {kind}")]
    NoType {
        /// The type that is missing.
        kind: GroupVersionKind,
    },
    /// The owners of the stored object can't be read; 500.
    #[error("failed to decode managed fields: {source}")]
    ManagedFields {
        /// Why.
        source: ManagedFieldsError,
    },
    /// An object can't be turned into another version; 500.
    #[error("failed to convert object to {api_version}: {reason}")]
    Conversion {
        /// The version.
        api_version: String,
        /// What the converter says.
        reason: String,
    },
    /// More levels than an object may have.
    #[error("the object is nested over {limit} levels")]
    Depth {
        /// The bound.
        limit: usize,
    },
}
