//! Regular expressions of schemas, as Go reads them.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use kubepkg_gotemplate::{Pattern, PatternError};

/// Patterns that are kept compiled.
const MAX_PATTERNS: usize = 1000;

type Compiled = Result<Arc<Pattern>, PatternError>;

fn compiled(pattern: &str) -> Compiled {
    static COMPILED: LazyLock<Mutex<BTreeMap<String, Compiled>>> = LazyLock::new(Mutex::default);
    let known = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.get(pattern) {
        return known.clone();
    }
    // Nobody waits while one is compiled.
    drop(known);
    let new = Pattern::compile(pattern).map(Arc::new);
    let mut known = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if known.len() >= MAX_PATTERNS {
        known.clear();
    }
    known.insert(pattern.to_owned(), new.clone());
    new
}

/// Whether a text matches a pattern; one that can't be read matches nothing.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    compiled(pattern).is_ok_and(|pattern| pattern.is_match(text))
}

/// Why a pattern can't be read.
pub(super) fn offence(pattern: &str) -> Option<String> {
    compiled(pattern).err().map(|error| error.to_string())
}
