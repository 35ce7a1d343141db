//! What the templates of a set have in common, kept once: the same chains of names stand in many of them.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::bytestring::GoString;
use crate::node::Names;

#[derive(Debug, Default)]
pub(crate) struct Pool {
    /// Chains by how they are written.
    chains: HashMap<GoString, Names, RandomState>,
}

impl Pool {
    /// The names of a chain such as `.a.b` or `$x.a`.
    pub(crate) fn chain(&mut self, written: &[u8]) -> Names {
        if let Some(names) = self.chains.get(written) {
            return names.clone();
        }
        let plain = written.strip_prefix(b".").unwrap_or(written);
        let names: Names = plain
            .split(|byte| *byte == b'.')
            .map(GoString::from)
            .collect();
        self.chains.insert(written.into(), names.clone());
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_that_are_written_alike_are_one() {
        let mut pool = Pool::default();
        let (one, other) = (pool.chain(b".Values.a"), pool.chain(b".Values.a"));
        assert!(std::sync::Arc::ptr_eq(&one, &other));
        assert_eq!(*one, [GoString::from("Values"), GoString::from("a")]);
        assert_eq!(*pool.chain(b"$x.a"), ["$x", "a"].map(GoString::from));
    }
}
