//! JSON merge patches: applied, made from two versions of a document, and made from three.
//!
//! The API server applies them with `json-patch` v4 ([`Dialect::V4`]); v5 keeps the order of keys and takes any
//! patch. In both, nulls in what is added are taken out, also from objects in lists, where RFC 7396 would keep them.

mod create;

use serde_json::{Map, Value};

pub use create::create_text;

use crate::go;
use crate::text::{self, Node, Object, Style, TextError, check};
use crate::value::is_deeper_than;

/// Which of Go's libraries is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// `gopkg.in/evanphx/json-patch.v4`, in the API server and kubectl.
    V4,
    /// `github.com/evanphx/json-patch/v5`, in Helm.
    V5,
}

/// Why there is no result. The texts are Go's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// The document is none that can be merged.
    #[error("Invalid JSON Document")]
    Document,
    /// The patch is none that can be merged.
    #[error("Invalid JSON Patch")]
    Patch,
    /// One of two documents is a list, and the other is none.
    #[error("Mismatched JSON Documents")]
    Mismatched,
    /// A document is nested too deeply.
    #[error("the document is nested over {limit} levels")]
    Depth {
        /// The bound.
        limit: usize,
    },
    /// The patch changes what must stay.
    #[error("precondition failed for: {patch}")]
    Precondition {
        /// The patch, as Go prints it.
        patch: String,
    },
    /// What is added and what is deleted contradict each other.
    #[error("patch:\n{patch}\nconflicts with changes made from original to current:\n{changes}\n")]
    Conflict {
        /// The additions, in YAML.
        patch: String,
        /// The deletions, in YAML.
        changes: String,
    },
}

/// What a patch that is made must not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precondition {
    /// A field of the object, such as `apiVersion`.
    KeyUnchanged(&'static str),
    /// A field of its metadata, such as `name`.
    MetadataKeyUnchanged(&'static str),
}

impl Precondition {
    /// Those of `kubectl apply`.
    pub const KUBECTL: &'static [Self] = &[
        Self::KeyUnchanged("apiVersion"),
        Self::KeyUnchanged("kind"),
        Self::MetadataKeyUnchanged("name"),
    ];

    /// Whether a patch leaves it alone.
    pub(crate) fn holds(self, patch: &Value) -> bool {
        match self {
            Self::KeyUnchanged(key) => patch.get(key).is_none(),
            Self::MetadataKeyUnchanged(key) => {
                patch.get("metadata").and_then(|it| it.get(key)).is_none()
            }
        }
    }
}

/// How deep values may be nested; deeper ones could not be read again.
const MAX_DEPTH: usize = 127;

/// Applies a merge patch as the API server does.
///
/// # Errors
/// When the document is null, or the patch is no object or list.
pub fn apply(document: &Value, patch: &Value) -> Result<Value, MergeError> {
    check_depth(document)?;
    check_depth(patch)?;
    let (document, patch) = (document.to_string(), patch.to_string());
    let text = apply_text(document.as_bytes(), patch.as_bytes(), Dialect::V4)?;
    serde_json::from_str(&text).map_err(|_| MergeError::Document)
}

/// Applies a merge patch to a text and gives the bytes that Go's library gives. Keys that v5 adds come sorted, as Go
/// adds them in no order.
///
/// # Errors
/// When either is no JSON, or can't be merged.
pub fn apply_text(document: &[u8], patch: &[u8], dialect: Dialect) -> Result<String, MergeError> {
    let (document, patch) = (
        String::from_utf8_lossy(document),
        String::from_utf8_lossy(patch),
    );
    let too_deep = MergeError::Depth {
        limit: text::MAX_DEPTH,
    };
    for (text, error) in [
        (&document, MergeError::Document),
        (&patch, MergeError::Patch),
    ] {
        check(text).map_err(|why| match why {
            TextError::Syntax(_) => error,
            TextError::Depth => too_deep.clone(),
        })?;
    }
    let Some(root) = Node::open(&document) else {
        return Err(MergeError::Document);
    };
    let result = match (root, Node::open(&patch)) {
        (_, None | Some(Node::Raw(_) | Node::Null)) => {
            return match dialect {
                Dialect::V4 => Err(MergeError::Patch),
                // Any value is a patch to v5, and stays as it is written.
                Dialect::V5 => Ok(patch.into_owned()),
            };
        }
        (Node::Object(mut root), Some(Node::Object(change))) => {
            merge_objects(&mut root, change);
            Node::Object(root)
        }
        (_, Some(mut change)) => {
            prune(&mut change);
            change
        }
    };
    let style = Style {
        sorted: dialect == Dialect::V4,
        html: true,
    };
    let mut out = String::new();
    result.write(style, &mut out);
    Ok(out)
}

fn merge<'t>(mut current: Node<'t>, mut patch: Node<'t>) -> Node<'t> {
    let Some(object) = current.as_object() else {
        prune(&mut patch);
        return patch;
    };
    // A list over an object keeps its nulls.
    let Some(change) = patch.as_object() else {
        return patch;
    };
    merge_objects(object, std::mem::take(change));
    current
}

fn merge_objects<'t>(object: &mut Object<'t>, patch: Object<'t>) {
    for (key, value) in patch.fields {
        let Some(mut value) = value else {
            object.remove(&key);
            continue;
        };
        let current = object.fields.get_mut(&key).and_then(Option::take);
        let merged = if let Some(current) = current {
            merge(current, value)
        } else {
            prune(&mut value);
            value
        };
        object.set(&key, Some(merged));
    }
}

/// Takes nulls out of objects, also of those in lists; null items of lists stay.
fn prune(node: &mut Node<'_>) {
    if let Some(object) = node.as_object() {
        let nulls: Vec<String> = object
            .fields
            .iter()
            .filter(|(_, value)| value.is_none())
            .map(|(key, _)| key.clone())
            .collect();
        for key in nulls {
            object.remove(&key);
        }
        object.fields.values_mut().flatten().for_each(prune);
    } else if let Some(items) = node.as_array() {
        items.iter_mut().flatten().for_each(prune);
    }
}

fn check_depth(value: &Value) -> Result<(), MergeError> {
    if is_deeper_than(value, MAX_DEPTH) {
        return Err(MergeError::Depth { limit: MAX_DEPTH });
    }
    Ok(())
}

/// The merge patch that makes `to` out of `from`, as Helm makes it for kinds whose types it doesn't know. Two lists
/// give a list of patches, one for each pair of objects. Null is an empty object.
///
/// # Errors
/// When they are neither two objects nor two lists of objects of one length.
pub fn create(from: &Value, to: &Value) -> Result<Value, MergeError> {
    create_with(from, to, Dialect::V5)
}

fn create_with(from: &Value, to: &Value, dialect: Dialect) -> Result<Value, MergeError> {
    check_depth(from)?;
    check_depth(to)?;
    let (from, to) = (from.to_string(), to.to_string());
    let text = create_text(from.as_bytes(), to.as_bytes(), dialect)?;
    serde_json::from_str(&text).map_err(|_| MergeError::Document)
}

/// The merge patch of `kubectl apply` for kinds without a schema: what is in `modified` and not so in `current`, and
/// null for what was in `original` and is not in `modified`. Missing versions are null.
///
/// # Errors
/// When one of them is no object, or the patch changes what `preconditions` name.
pub fn three_way(
    original: &Value,
    modified: &Value,
    current: &Value,
    preconditions: &[Precondition],
) -> Result<Value, MergeError> {
    for document in [original, modified, current] {
        check_depth(document)?;
    }
    let changes = object_of(create_with(current, modified, Dialect::V4)?)?;
    let changes = Value::Object(filtered(changes, false));
    let deletions = object_of(create_with(original, modified, Dialect::V4)?)?;
    let deletions = Value::Object(filtered(deletions, true));
    if conflict(&changes, &deletions) {
        let yaml = |value| kubepkg_yaml::to_yaml(value).unwrap_or_default();
        return Err(MergeError::Conflict {
            patch: yaml(&changes),
            changes: yaml(&deletions),
        });
    }
    let patch = apply(&deletions, &changes)?;
    if preconditions.iter().any(|it| !it.holds(&patch)) {
        return Err(MergeError::Precondition {
            patch: go::plain(&patch),
        });
    }
    Ok(patch)
}

fn object_of(value: Value) -> Result<Map<String, Value>, MergeError> {
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(MergeError::Document),
    }
}

/// Only the nulls of a patch, or all but them. Empty objects are values.
fn filtered(patch: Map<String, Value>, nulls: bool) -> Map<String, Value> {
    let mut kept = Map::new();
    for (key, value) in patch {
        match value {
            Value::Null if nulls => {
                kept.insert(key, Value::Null);
            }
            Value::Null => {}
            Value::Object(inner) if !inner.is_empty() => {
                let inner = filtered(inner, nulls);
                if !inner.is_empty() {
                    kept.insert(key, Value::Object(inner));
                }
            }
            other if !nulls => {
                kept.insert(key, other);
            }
            _ => {}
        }
    }
    kept
}

/// Whether two patches set a field to different values.
fn conflict(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => left
            .iter()
            .any(|(key, left)| right.get(key).is_some_and(|right| conflict(left, right))),
        (Value::Array(left), Value::Array(right)) => {
            let mut pairs = left.iter().zip(right);
            left.len() != right.len() || pairs.any(|(left, right)| conflict(left, right))
        }
        (left, right) => left != right,
    }
}
