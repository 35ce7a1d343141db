//! JSON merge patches.
//!
//! The interface: `apply(document: &Value, patch: &Value) -> Result<Value, MergeError>` as the API server does,
//! `create(from: &Value, to: &Value) -> Result<Value, MergeError>`, and `three_way(original: &Value, modified: &Value,
//! current: &Value, preconditions: &[Precondition]) -> Result<Value, MergeError>`.
