//! The versions of a kind: their types, and objects turned from one into another.

use serde_json::Value;

use crate::schema::Type;

/// What server-side apply must know about the versions of one kind. Managers may have written other versions than
/// the one that is written now; their fields are compared in theirs.
pub trait Versions {
    /// The type of the kind in this API version, if it is served.
    fn type_in(&self, api_version: &str) -> Option<Type>;

    /// The object in another API version, with `apiVersion` set to it; none if that version isn't there (any
    /// more), which makes the owners of its fields be forgotten.
    ///
    /// # Errors
    /// When the object can't be converted, with the reason.
    fn convert(&self, object: &Value, api_version: &str) -> Result<Option<Value>, String>;
}

/// One version of a kind, and no other.
#[derive(Debug, Clone)]
pub struct SingleVersion {
    /// The API version, such as `apps/v1`.
    pub api_version: String,
    /// The type of the kind.
    pub kind: Type,
}

impl Versions for SingleVersion {
    fn type_in(&self, api_version: &str) -> Option<Type> {
        (api_version == self.api_version).then(|| self.kind.clone())
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Option<Value>, String> {
        Ok((api_version == self.api_version).then(|| object.clone()))
    }
}
