//! Strategic merge patches.
//!
//! The interface: `apply(document: &Value, patch: &Value, kind: &Type) -> Result<Value, StrategicError>`,
//! `two_way(original: &Value, modified: &Value, kind: &Type) -> Result<Value, StrategicError>`, and
//! `three_way(original: &Value, modified: &Value, current: &Value, kind: &Type, overwrite: bool,
//! preconditions: &[Precondition]) -> Result<Value, StrategicError>`.
