//! Schemas are kept: reading one, and compiling it above all, costs many times what checking values against it does, and
//! a program that renders a chart often renders it again. Kept by the text of the schema, as many as a distribution's
//! charts have; all are let go of when there would be more.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use boon::{SchemaIndex, Schemas};
use serde_json::Value;

use super::plain::Plain;

/// Schemas that are kept at most.
const MAX_SCHEMAS: usize = 64;
/// Bytes of text that all of them may have together.
const MAX_BYTES: usize = 4 << 20;

/// A schema, ready to check values.
pub(super) struct Compiled {
    pub(super) schemas: Schemas,
    pub(super) wanted: SchemaIndex,
}

/// A schema that was read.
pub(super) struct Schema {
    pub(super) document: Value,
    /// Set when it can be asked as it stands.
    pub(super) plain: Option<Plain>,
    compiled: OnceLock<Result<Compiled, String>>,
}

impl Schema {
    pub(super) fn new(document: Value) -> Self {
        Self {
            plain: Plain::of(&document),
            document,
            compiled: OnceLock::new(),
        }
    }

    /// The compiled form, made when it is first asked for, or why there is none.
    pub(super) fn compiled(
        &self,
        compile: impl FnOnce(&Value) -> Result<Compiled, String>,
    ) -> Result<&Compiled, String> {
        let compiled = self.compiled.get_or_init(|| compile(&self.document));
        compiled.as_ref().map_err(Clone::clone)
    }
}

#[derive(Default)]
struct Kept {
    schemas: HashMap<Arc<[u8]>, Arc<Schema>>,
    bytes: usize,
}

static KEPT: LazyLock<Mutex<Kept>> = LazyLock::new(Mutex::default);

/// The schema of this text; read by `read` when it is not kept. One that can't be read is not kept.
pub(super) fn or_read(
    text: &[u8],
    read: impl FnOnce() -> Result<Value, String>,
) -> Result<Arc<Schema>, String> {
    let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let found = kept().schemas.get(text).cloned();
    if let Some(found) = found {
        return Ok(found);
    }
    let schema = Arc::new(Schema::new(read()?));
    if text.len() <= MAX_BYTES {
        let mut kept = kept();
        if kept.schemas.len() >= MAX_SCHEMAS || kept.bytes + text.len() > MAX_BYTES {
            *kept = Kept::default();
        }
        if kept.schemas.insert(text.into(), schema.clone()).is_none() {
            kept.bytes += text.len();
        }
    }
    Ok(schema)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled() -> Compiled {
        let (mut schemas, mut compiler) = (Schemas::new(), boon::Compiler::new());
        compiler.add_resource("file:///s", true.into()).unwrap();
        let wanted = compiler.compile("file:///s", &mut schemas).unwrap();
        Compiled { schemas, wanted }
    }

    #[test]
    fn the_same_text_is_read_and_compiled_once() {
        let text = b"{\"title\": \"kept\"}";
        let first = or_read(text, || Ok(true.into())).unwrap();
        let second = or_read(text, || Err("read twice".into())).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        assert!(first.compiled(|_| Ok(compiled())).is_ok());
        assert!(second.compiled(|_| Err("compiled twice".into())).is_ok());
        let broken = b"{\"title\": \"broken\"";
        for reason in ["one", "two"] {
            let refused = or_read(broken, || Err(reason.into()));
            assert_eq!(refused.err().as_deref(), Some(reason));
        }
    }
}
