//! Where each part of a document stands, for messages that name file, line and column.
//!
//! Positions are kept by JSON pointer (RFC 6901), since that is how validators and planners name
//! a place. A value that comes from an alias or a merge has the position of the text that it
//! came from. When a key is repeated, the position is that of the one that counts.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::compose::{Document, NodeKind, ROOT, compose};
use crate::decode::is_merge;
use crate::error::{Position, YamlError};
use crate::json::{Numbers, lossy};
use crate::limits::Limits;
use crate::load::{check_input, document_value};
use crate::number;
use crate::read::Decoded;
use crate::scalar::{self, Meaning, Tag};

/// Where a value and its key stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Start of the key, for a member of a map.
    pub key: Option<Position>,
    /// Start of the value.
    pub value: Position,
}

/// A value with the places of its parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Spanned {
    /// The data, as [`crate::load`] gives it.
    pub value: Value,
    spans: BTreeMap<String, Span>,
}

impl Spanned {
    /// The place of the value at a JSON pointer (`""`, `/spec/replicas`, `/items/0`).
    pub fn span(&self, pointer: &str) -> Option<Span> {
        self.spans.get(pointer).copied()
    }

    /// The place of the value at `pointer`, or of the nearest value around it: a message about a
    /// missing field still points somewhere.
    pub fn nearest(&self, pointer: &str) -> Option<Span> {
        let mut pointer = pointer;
        loop {
            if let Some(span) = self.span(pointer) {
                return Some(span);
            }
            (pointer, _) = pointer.rsplit_once('/')?;
        }
    }

    /// All places, sorted by pointer.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Span)> {
        self.spans
            .iter()
            .map(|(pointer, span)| (pointer.as_str(), *span))
    }
}

/// Loads the first document of `input` together with the place of every part. `first_line` is
/// the line of the file on which `input` starts, 1 for a whole file.
///
/// # Errors
/// As [`crate::load`]. The text of all pointers together counts against [`Limits::output`].
pub fn load_spanned(
    input: &[u8],
    first_line: usize,
    limits: &Limits,
) -> Result<Spanned, YamlError> {
    check_input(input, limits)?;
    let decoded = Decoded::new(input);
    let document = compose(&decoded, limits)?;
    let value = document_value(&document, Numbers::Exact, limits)?;
    let mut walk = Walk {
        document: &document,
        spans: BTreeMap::new(),
        offset: first_line.saturating_sub(1),
        budget: limits.output,
        limit: limits.output,
    };
    if !document.nodes.is_empty() {
        walk.node(ROOT, None, &mut String::new())?;
    }
    Ok(Spanned {
        value,
        spans: walk.spans,
    })
}

struct Walk<'d, 'a> {
    document: &'d Document<'a>,
    spans: BTreeMap<String, Span>,
    offset: usize,
    budget: usize,
    limit: usize,
}

impl Walk<'_, '_> {
    fn position(&self, node: u32) -> Position {
        let position = self.document.node(node).position();
        Position {
            line: position.line + self.offset,
            ..position
        }
    }

    /// Recursion is as deep as the value, which `value_of` has checked.
    fn node(&mut self, node: u32, key: Option<u32>, path: &mut String) -> Result<(), YamlError> {
        let span = Span {
            key: key.map(|key| self.position(key)),
            value: self.position(node),
        };
        let cost = path.len() + std::mem::size_of::<Span>();
        self.budget = self.budget.checked_sub(cost).ok_or(YamlError::Limit {
            kind: crate::error::LimitKind::Output,
            limit: self.limit,
        })?;
        // A later key replaces an earlier one with everything under it.
        if self.spans.insert(path.clone(), span).is_some() {
            let prefix = format!("{path}/");
            let stale: Vec<String> = self
                .spans
                .range(prefix.clone()..)
                .take_while(|(pointer, _)| pointer.starts_with(&prefix))
                .map(|(pointer, _)| pointer.clone())
                .collect();
            for pointer in stale {
                self.spans.remove(&pointer);
            }
        }
        self.children(self.target(node), path)
    }

    fn target(&self, node: u32) -> u32 {
        match self.document.node(node).kind {
            NodeKind::Alias { target, .. } => target,
            _ => node,
        }
    }

    fn children(&mut self, node: u32, path: &mut String) -> Result<(), YamlError> {
        let length = path.len();
        match self.document.node(node).kind {
            NodeKind::Sequence(end) => {
                for (index, child) in self.document.children(node, end).enumerate() {
                    let _ = write!(path, "/{index}");
                    self.node(child, None, path)?;
                    path.truncate(length);
                }
            }
            NodeKind::Mapping(end) => {
                let mut members = self.document.children(node, end);
                while let (Some(key), Some(value)) = (members.next(), members.next()) {
                    if is_merge(self.document, key) {
                        self.merged(value, path)?;
                    } else if let Some(text) = self.key_text(key) {
                        path.push('/');
                        path.push_str(&text.replace('~', "~0").replace('/', "~1"));
                        self.node(value, Some(key), path)?;
                        path.truncate(length);
                    }
                }
            }
            NodeKind::Scalar { .. } | NodeKind::Alias { .. } => {}
        }
        Ok(())
    }

    fn merged(&mut self, value: u32, path: &mut String) -> Result<(), YamlError> {
        let target = self.target(value);
        match self.document.node(target).kind {
            NodeKind::Sequence(end) => {
                let maps: Vec<u32> = self.document.children(target, end).collect();
                // Earlier maps win.
                for map in maps.into_iter().rev() {
                    self.children(self.target(map), path)?;
                }
                Ok(())
            }
            _ => self.children(target, path),
        }
    }

    /// The key as it is in the value.
    fn key_text(&self, key: u32) -> Option<String> {
        let node = self.document.node(self.target(key));
        let NodeKind::Scalar { value, implicit } = &node.kind else {
            return None;
        };
        if node.tag == Tag::None && !implicit {
            return Some(value.clone().into_owned());
        }
        if let Some(bytes) = self.document.binary(self.target(key)) {
            return Some(lossy(bytes));
        }
        Some(
            match scalar::resolve(node.tag, value, || node.position()).ok()? {
                Meaning::Bool(value) => value.to_string(),
                Meaning::Int(value) => value.to_string(),
                Meaning::Float(value) => {
                    let mut text = String::new();
                    number::key(&mut text, value);
                    text
                }
                Meaning::Null | Meaning::Uint(_) => return None,
                Meaning::Str | Meaning::Timestamp => value.clone().into_owned(),
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(spanned: &Spanned, pointer: &str) -> (usize, usize) {
        let span = spanned.span(pointer).unwrap();
        (span.value.line, span.value.column)
    }

    #[test]
    fn every_part_has_a_place() {
        let text = b"a:\n- x: 1\n  y/z: &q [2]\nb:\n  <<: {p: 3}\n  c: *q\nb2: 1\n";
        let spanned = load_spanned(text, 11, &Limits::DEFAULT).unwrap();
        assert_eq!(at(&spanned, ""), (11, 1));
        assert_eq!(at(&spanned, "/a/0/x"), (12, 6));
        assert_eq!(at(&spanned, "/a/0/y~1z/0"), (13, 12));
        assert_eq!(at(&spanned, "/b/p"), (15, 11));
        assert_eq!(at(&spanned, "/b/c/0"), (13, 12));
        assert_eq!(
            spanned.span("/b/c").unwrap().key,
            Some(Position {
                line: 16,
                column: 3
            })
        );
        assert_eq!(spanned.nearest("/b/none/deeper"), spanned.span("/b"));
    }

    #[test]
    fn keys_are_those_of_the_value() {
        let text = b".inf: 1\n-.inf: 1\n.nan: 1\n1.5: 1\n0x10: 1\nyes: 1\n!!binary YQ==: 1\n!!binary iGeEaA==: 1\n";
        let spanned = load_spanned(text, 1, &Limits::DEFAULT).unwrap();
        for (key, _) in spanned.value.as_object().unwrap() {
            assert!(spanned.span(&format!("/{key}")).is_some(), "{key}");
        }
        assert_eq!(spanned.iter().count(), 9);
    }

    #[test]
    fn the_last_of_equal_keys_counts() {
        let spanned = load_spanned(b"a: {b: 1}\na: 2\n", 1, &Limits::DEFAULT).unwrap();
        assert_eq!(at(&spanned, "/a"), (2, 4));
        assert!(spanned.span("/a/b").is_none());
    }
}
