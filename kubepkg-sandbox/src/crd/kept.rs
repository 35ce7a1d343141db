//! Compiled forms that are kept by their source.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Forms that are kept at most; all are let go of when there would be more.
const MAX_KEPT: usize = 1000;

pub(crate) struct Kept<T>(Mutex<BTreeMap<String, T>>);

impl<T: Clone> Kept<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// The form of a source; made when it is not kept.
    pub(crate) fn or_compile(&self, source: &str, compile: impl FnOnce(&str) -> T) -> T {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = known().get(source).cloned();
        if let Some(found) = found {
            return found;
        }
        // Nobody waits while one is compiled.
        let new = compile(source);
        let mut known = known();
        if known.len() >= MAX_KEPT {
            known.clear();
        }
        known.insert(source.to_owned(), new.clone());
        new
    }
}
