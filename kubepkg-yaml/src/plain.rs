//! The short way from nodes to a value, for documents that need no other.
//!
//! Nearly all documents have neither aliases nor merge keys, and only text as keys. Their values
//! are built from the nodes at once. Any other document, and any that some rule or limit refuses,
//! is left to `decode.rs` and `json.rs`, which know all rules and which error comes first.

use serde_json::Value;

use crate::compose::{Document, NodeKind, ROOT};
use crate::decode::{is_merge, scalar};
use crate::json::{Numbers, cost, leaf_value};
use crate::limits::Limits;
use crate::tree::Val;

/// The document as a value, or none if it has to go the long way.
pub(crate) fn value(document: &Document<'_>, numbers: Numbers, limits: &Limits) -> Option<Value> {
    if document.has_alias || document.nodes.is_empty() {
        return None;
    }
    let mut plain = Plain {
        document,
        numbers,
        max_depth: limits.value_depth,
        budget: limits.output,
        items: Vec::new(),
        members: Vec::new(),
    };
    plain.one(ROOT, 0)
}

struct Plain<'d, 'a> {
    document: &'d Document<'a>,
    numbers: Numbers,
    max_depth: usize,
    budget: usize,
    /// Items of sequences that are still open.
    items: Vec<Value>,
    /// Members of maps that are still open.
    members: Vec<(String, Value)>,
}

impl Plain<'_, '_> {
    fn spend(&mut self, bytes: usize) -> Option<()> {
        self.budget = self.budget.checked_sub(bytes)?;
        Some(())
    }

    /// Recursion is as deep as the value may be nested.
    fn one(&mut self, index: u32, depth: usize) -> Option<Value> {
        if depth > self.max_depth {
            return None;
        }
        let document = self.document;
        match document.node(index).kind {
            NodeKind::Scalar { .. } => {
                let value = scalar(document, index).ok()?;
                self.spend(cost(value))?;
                leaf_value(value, self.numbers).ok()
            }
            NodeKind::Sequence(end) => {
                self.spend(2)?;
                let base = self.items.len();
                let mut item = index + 1;
                while item < end {
                    let value = self.one(item, depth + 1)?;
                    self.items.push(value);
                    item = document.after(item);
                }
                Some(Value::Array(self.items.drain(base..).collect()))
            }
            NodeKind::Mapping(end) => {
                self.spend(2)?;
                let base = self.members.len();
                let mut key = index + 1;
                while key < end {
                    let name = self.key(key)?.to_owned();
                    // The key is a scalar, so its value is the next node.
                    let value = self.one(key + 1, depth + 1)?;
                    self.members.push((name, value));
                    key = document.after(key + 1);
                }
                // The last of equal keys stays, as in Go.
                Some(Value::Object(self.members.drain(base..).collect()))
            }
            NodeKind::Alias { .. } => None,
        }
    }

    /// A key that is text.
    fn key(&mut self, index: u32) -> Option<&str> {
        let document = self.document;
        if !matches!(document.node(index).kind, NodeKind::Scalar { .. })
            || is_merge(document, index)
        {
            return None;
        }
        let Val::Str(text) = scalar(document, index).ok()? else {
            return None;
        };
        self.spend(text.len())?;
        Some(text)
    }
}
