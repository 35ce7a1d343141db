//! Regular expressions of schemas, as Go reads them.

use std::sync::Arc;

use kubepkg_gotemplate::{Pattern, PatternError};

use super::kept::Kept;

type Compiled = Result<Arc<Pattern>, PatternError>;

fn compiled(pattern: &str) -> Compiled {
    static COMPILED: Kept<Compiled> = Kept::new();
    COMPILED.or_compile(pattern, |pattern| Pattern::compile(pattern).map(Arc::new))
}

/// Whether a text matches a pattern; one that can't be read matches nothing.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    compiled(pattern).is_ok_and(|pattern| pattern.is_match(text))
}

/// Why a pattern can't be read.
pub(super) fn offence(pattern: &str) -> Option<String> {
    compiled(pattern).err().map(|error| error.to_string())
}

/// The parts of a text that match a pattern, at most so many of them, or all when the limit is negative.
pub(super) fn find_all(pattern: &str, text: &str, limit: i64) -> Result<Vec<String>, String> {
    match compiled(pattern) {
        Ok(pattern) => Ok(pattern
            .find_all(text, limit)
            .into_iter()
            .map(str::to_owned)
            .collect()),
        Err(error) => Err(error.to_string()),
    }
}
