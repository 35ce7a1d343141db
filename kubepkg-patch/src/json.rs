//! JSON patches, as the API server applies them.
//!
//! The interface: `Patch::parse(text: &[u8]) -> Result<Patch, JsonPatchError>`,
//! `Patch::apply(&self, document: &Value) -> Result<Value, JsonPatchError>`, and
//! `Patch::apply_text(&self, document: &[u8]) -> Result<String, JsonPatchError>` for exact bytes.
