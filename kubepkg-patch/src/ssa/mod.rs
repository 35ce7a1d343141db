//! Server-side apply: who owns which fields of an object, what an apply makes of it, and conflicts.
//!
//! [`FieldManager`] does what the API server does to an object and its `metadata.managedFields` on every write:
//! [`FieldManager::apply`] for an apply, [`FieldManager::update`] for all others. [`upgrade`] moves fields from
//! client-side to server-side apply.
//!
//! The rules and texts are those of `sigs.k8s.io/structured-merge-diff` v6 and of
//! `k8s.io/apimachinery/pkg/util/managedfields`. Values are nested up to 256 levels.

mod error;
mod fields;
mod manager;
mod merge;
mod owners;
mod path;
mod reconcile;
mod set;
mod typed;
mod update;
mod validate;
mod versions;

pub mod upgrade;

pub use error::{Conflict, Conflicts, ObjectName, SsaError};
pub use manager::{FieldManager, LAST_APPLIED};
pub use owners::{ManagedFields, ManagedFieldsError, Manager, Operation, Owned};
pub use path::{FieldsError, Path, PathElement};
pub use set::FieldSet;
pub use validate::{TypeError, TypeErrors};
pub use versions::{SingleVersion, Versions};

/// How deep objects may be nested.
const MAX_DEPTH: usize = 256;
