//! Compiled schemas are kept: compiling one costs many times what checking values against it does, and a program that
//! renders a chart often renders it again. Kept by the text of the schema, as many as a distribution's charts have; all
//! are let go of when there would be more.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use boon::{SchemaIndex, Schemas};

/// Schemas that are kept at most.
const MAX_SCHEMAS: usize = 64;
/// Bytes of text that all of them may have together.
const MAX_BYTES: usize = 4 << 20;

/// A schema, ready to check values.
pub(super) struct Compiled {
    pub(super) schemas: Schemas,
    pub(super) wanted: SchemaIndex,
}

#[derive(Default)]
struct Kept {
    schemas: HashMap<Arc<[u8]>, Arc<Compiled>>,
    bytes: usize,
}

static KEPT: LazyLock<Mutex<Kept>> = LazyLock::new(Mutex::default);

/// The compiled schema of this text; made by `compile` when it is not kept. One that can't be compiled is not kept.
pub(super) fn or_compile(
    text: &[u8],
    compile: impl FnOnce() -> Result<Compiled, String>,
) -> Result<Arc<Compiled>, String> {
    let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let found = kept().schemas.get(text).cloned();
    if let Some(found) = found {
        return Ok(found);
    }
    let compiled = Arc::new(compile()?);
    if text.len() <= MAX_BYTES {
        let mut kept = kept();
        if kept.schemas.len() >= MAX_SCHEMAS || kept.bytes + text.len() > MAX_BYTES {
            *kept = Kept::default();
        }
        if kept.schemas.insert(text.into(), compiled.clone()).is_none() {
            kept.bytes += text.len();
        }
    }
    Ok(compiled)
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
    fn the_same_text_is_compiled_once_and_an_error_each_time() {
        let text = b"{\"title\": \"kept\"}";
        let first = or_compile(text, || Ok(compiled())).unwrap();
        let second = or_compile(text, || Err("compiled twice".into())).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        let broken = b"{\"title\": \"broken\"}";
        for reason in ["one", "two"] {
            let refused = or_compile(broken, || Err(reason.into()));
            assert_eq!(refused.err().as_deref(), Some(reason));
        }
    }
}
