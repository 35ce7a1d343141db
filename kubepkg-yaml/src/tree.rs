//! Values after all of YAML is resolved: what Go has in an `interface{}` after loading.
//!
//! A tree is flat: sequences and maps are ranges in two lists, and an aliased collection is one
//! range that is referred to several times. Keys keep their type, since `1` and `"1"` are two
//! keys in Go until they become JSON.

use std::cmp::Ordering;

/// One value. Text is borrowed from the nodes or from the caller's value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Val<'n> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Str(&'n str),
    /// A `!!binary` value that is no UTF-8.
    Bytes(&'n [u8]),
    Seq(Range),
    Map(Range),
}

/// A stretch of [`Tree::items`] or [`Tree::entries`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A document's values.
#[derive(Debug)]
pub(crate) struct Tree<'n> {
    pub(crate) items: Vec<Val<'n>>,
    /// Entries of each map, sorted by [`compare_keys`], without duplicates.
    pub(crate) entries: Vec<(Val<'n>, Val<'n>)>,
    pub(crate) root: Val<'n>,
}

impl<'n> Tree<'n> {
    pub(crate) fn empty() -> Self {
        Tree {
            items: Vec::new(),
            entries: Vec::new(),
            root: Val::Null,
        }
    }

    pub(crate) fn items(&self, range: Range) -> &[Val<'n>] {
        self.items.get(range.start..range.end).unwrap_or_default()
    }

    pub(crate) fn entries(&self, range: Range) -> &[(Val<'n>, Val<'n>)] {
        self.entries.get(range.start..range.end).unwrap_or_default()
    }

    /// Stores a finished sequence.
    pub(crate) fn add_items(&mut self, items: impl Iterator<Item = Val<'n>>) -> Val<'n> {
        let start = self.items.len();
        self.items.extend(items);
        Val::Seq(Range {
            start,
            end: self.items.len(),
        })
    }

    /// Stores a finished map, which is `open` from `base` on: sorted, the last of equal keys wins.
    pub(crate) fn add_entries(
        &mut self,
        open: &mut Vec<(Val<'n>, Val<'n>)>,
        base: usize,
    ) -> Val<'n> {
        let start = self.entries.len();
        let entries = open.get_mut(base..).unwrap_or_default();
        if entries.is_sorted_by(|a, b| compare_keys(a.0, b.0) == Ordering::Less) {
            self.entries.extend_from_slice(entries);
        } else {
            entries.sort_by(|a, b| compare_keys(a.0, b.0));
            for &entry in &*entries {
                match self.entries.get_mut(start..).and_then(<[_]>::last_mut) {
                    Some(last) if same_key(last.0, entry.0) => *last = entry,
                    _ => self.entries.push(entry),
                }
            }
        }
        open.truncate(base);
        Val::Map(Range {
            start,
            end: self.entries.len(),
        })
    }
}

impl Val<'_> {
    /// The bytes of a string.
    pub(crate) fn text(&self) -> Option<&[u8]> {
        match self {
            Val::Str(text) => Some(text.as_bytes()),
            Val::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    fn rank(self) -> u8 {
        match self {
            Val::Null => 0,
            Val::Bool(_) => 1,
            Val::Int(_) => 2,
            Val::Uint(_) => 3,
            Val::Float(_) => 4,
            Val::Str(_) | Val::Bytes(_) => 5,
            Val::Seq(_) => 6,
            Val::Map(_) => 7,
        }
    }
}

/// A total order of keys: by type, then by value; text by bytes.
pub(crate) fn compare_keys(a: Val<'_>, b: Val<'_>) -> Ordering {
    match (a, b) {
        (Val::Str(a), Val::Str(b)) => a.cmp(b),
        (Val::Bool(a), Val::Bool(b)) => a.cmp(&b),
        (Val::Int(a), Val::Int(b)) => a.cmp(&b),
        (Val::Uint(a), Val::Uint(b)) => a.cmp(&b),
        (Val::Float(a), Val::Float(b)) => match (a.is_nan(), b.is_nan()) {
            (false, false) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
            (a, b) => b.cmp(&a),
        },
        _ => match (a.text(), b.text()) {
            (Some(a), Some(b)) => a.cmp(b),
            _ => a.rank().cmp(&b.rank()),
        },
    }
}

/// Whether two keys are one key in a Go map (NaN is not even equal to itself).
fn same_key(a: Val<'_>, b: Val<'_>) -> bool {
    compare_keys(a, b) == Ordering::Equal && !matches!(a, Val::Float(value) if value.is_nan())
}
