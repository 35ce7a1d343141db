//! The operations, on a document that is opened as far as they look into it. The texts of errors are the library's.

use std::borrow::Cow;

use super::{JsonPatchError, MISSING, Operation, refused};
use crate::text::{MAX_DEPTH, Node, Object, compact};

/// Bytes by which `copy` may make a document larger; the API server's limit.
const MAX_COPIED: usize = 3 << 20;

/// A place in a document: what holds it, and its key.
enum Place<'d, 't> {
    Object(&'d mut Object<'t>, String),
    Array(&'d mut Vec<Option<Node<'t>>>, String),
    /// In a document that is null, which nothing can be added to.
    Nowhere(String),
}

fn invalid_index(index: i64) -> String {
    format!("Unable to access invalid index: {index}: invalid index referenced")
}

/// `strconv.Atoi`.
fn number(key: &str) -> Result<i64, String> {
    let digits = key.strip_prefix(['+', '-']).unwrap_or(key);
    let quoted = kubepkg_yaml::go_quote(key);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("strconv.Atoi: parsing {quoted}: invalid syntax"));
    }
    key.parse()
        .map_err(|_| format!("strconv.Atoi: parsing {quoted}: value out of range"))
}

/// An index into a list of some length; negative ones count from the end.
fn index(key: &str, length: usize) -> Result<usize, String> {
    let wanted = number(key)?;
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let found = if wanted < 0 { wanted + length } else { wanted };
    if found < 0 || found >= length {
        return Err(invalid_index(wanted));
    }
    usize::try_from(found).map_err(|_| invalid_index(wanted))
}

const NULL_DOCUMENT: &str = "assignment to entry in nil map";

impl<'t> Place<'_, 't> {
    fn get(&mut self) -> Result<Option<&mut Node<'t>>, String> {
        match self {
            Self::Object(object, key) => Ok(object.fields.get_mut(key).and_then(Option::as_mut)),
            Self::Array(items, key) => {
                let at = index(key, items.len())?;
                Ok(items.get_mut(at).and_then(Option::as_mut))
            }
            Self::Nowhere(_) => Ok(None),
        }
    }

    fn add(self, value: Option<Node<'t>>) -> Result<(), String> {
        match self {
            Self::Object(object, key) => {
                object.set(&key, value);
                Ok(())
            }
            Self::Array(items, key) if key == "-" => {
                items.push(value);
                Ok(())
            }
            Self::Array(items, key) => {
                if let Err(error) = number(&key) {
                    return Err(format!(
                        "value was not a proper array index: '{key}': {error}"
                    ));
                }
                let at = index(&key, items.len() + 1)?;
                items.insert(at, value);
                Ok(())
            }
            Self::Nowhere(_) => Err(NULL_DOCUMENT.to_owned()),
        }
    }

    fn set(self, value: Option<Node<'t>>) -> Result<(), String> {
        match self {
            Self::Array(items, key) => {
                let at = index(&key, items.len())?;
                if let Some(item) = items.get_mut(at) {
                    *item = value;
                }
                Ok(())
            }
            other => other.add(value),
        }
    }

    fn remove(self) -> Result<Option<Node<'t>>, String> {
        let nonexistent = |key: &str| format!("Unable to remove nonexistent key: {key}: {MISSING}");
        match self {
            Self::Object(object, key) => {
                let value = object.fields.get_mut(&key).map(Option::take);
                object.remove(&key);
                value.ok_or_else(|| nonexistent(&key))
            }
            Self::Array(items, key) => {
                let at = index(&key, items.len())?;
                Ok(items.remove(at))
            }
            Self::Nowhere(key) => Err(nonexistent(&key)),
        }
    }
}

pub(super) struct Document<'t> {
    root: Option<Node<'t>>,
    /// Bytes that copies have added.
    copied: usize,
}

impl<'t> Document<'t> {
    pub(super) fn new(root: Option<Node<'t>>) -> Self {
        Self { root, copied: 0 }
    }

    pub(super) fn root(&self) -> Option<&Node<'t>> {
        self.root.as_ref()
    }

    /// The place that a path names; none if what should hold it isn't there.
    fn find(&mut self, path: &str) -> Option<Place<'_, 't>> {
        let (_, path) = path.split_once('/')?;
        let mut parts: Vec<&str> = path.split('/').collect();
        let last = parts.pop()?;
        if parts.len() > MAX_DEPTH {
            return None;
        }
        let Some(mut holder) = self.root.as_mut() else {
            return parts.is_empty().then(|| Place::Nowhere(key(last)));
        };
        for part in parts {
            let part = key(part);
            holder = match holder {
                Node::Object(object) => object.fields.get_mut(&part)?.as_mut()?,
                Node::Array(items) => {
                    let at = index(&part, items.len()).ok()?;
                    items.get_mut(at)?.as_mut()?
                }
                _ => return None,
            };
            // Opens it, if it can be.
            if holder.as_array().is_none() {
                holder.as_object()?;
            }
        }
        match holder {
            Node::Object(object) => Some(Place::Object(object, key(last))),
            Node::Array(items) => Some(Place::Array(items, key(last))),
            _ => None,
        }
    }

    pub(super) fn perform(&mut self, operation: &Operation) -> Result<(), JsonPatchError> {
        match operation.kind().as_str() {
            "add" => self.add(operation),
            "remove" => self.remove(operation),
            "replace" => self.replace(operation),
            "move" => self.shift(operation),
            "test" => self.test(operation),
            "copy" => self.copy(operation),
            other => Err(JsonPatchError::Kind {
                kind: other.to_owned(),
            }),
        }
    }

    fn add(&mut self, operation: &Operation) -> Result<(), JsonPatchError> {
        let path = operation.path();
        let path =
            path.map_err(|_| refused(format!("add operation failed to decode path: {MISSING}")))?;
        let Some(place) = self.find(&path) else {
            return Err(refused(format!(
                "add operation does not apply: doc is missing path: \"{path}\": {MISSING}"
            )));
        };
        place
            .add(operation.value())
            .map_err(|error| refused(format!("error in add for path: '{path}': {error}")))
    }

    fn remove(&mut self, operation: &Operation) -> Result<(), JsonPatchError> {
        let path = operation.path();
        let path = path
            .map_err(|_| refused(format!("remove operation failed to decode path: {MISSING}")))?;
        let Some(place) = self.find(&path) else {
            return Err(refused(format!(
                "remove operation does not apply: doc is missing path: \"{path}\": {MISSING}"
            )));
        };
        let removed = place.remove();
        removed
            .map(|_| ())
            .map_err(|error| refused(format!("error in remove for path: '{path}': {error}")))
    }

    fn replace(&mut self, operation: &Operation) -> Result<(), JsonPatchError> {
        let path = operation.path();
        let path = path.map_err(|error| {
            refused(format!("replace operation failed to decode path: {error}"))
        })?;
        if path.is_empty() {
            // The verb that nothing is given for is in the library's text.
            let wrong = || {
                let message = "replace operation value must be object or array: %!w(<nil>)";
                refused(message.to_owned())
            };
            let mut value = operation.value().ok_or_else(wrong)?;
            if value.as_object().is_none() && value.as_array().is_none() {
                return Err(wrong());
            }
            self.root = Some(value);
            return Ok(());
        }
        let Some(mut place) = self.find(&path) else {
            return Err(refused(format!(
                "replace operation does not apply: doc is missing path: {path}: {MISSING}"
            )));
        };
        if place.get().is_err() {
            return Err(refused(format!(
                "replace operation does not apply: doc is missing key: {path}: {MISSING}"
            )));
        }
        place
            .set(operation.value())
            .map_err(|error| refused(format!("error in remove for path: '{path}': {error}")))
    }

    fn shift(&mut self, operation: &Operation) -> Result<(), JsonPatchError> {
        let from = operation.from();
        let from = from
            .map_err(|error| refused(format!("move operation failed to decode from: {error}")))?;
        let Some(mut place) = self.find(&from) else {
            return Err(refused(format!(
                "move operation does not apply: doc is missing from path: {from}: {MISSING}"
            )));
        };
        let key = match &place {
            Place::Object(_, key) | Place::Array(_, key) | Place::Nowhere(key) => key.clone(),
        };
        let wrong = |error| refused(format!("error in move for path: '{key}': {error}"));
        place.get().map_err(wrong)?;
        let value = place.remove().map_err(wrong)?;
        // What was opened is closed, so that no sequence of moves makes it deeper than a path.
        let value = value.map(|node| match node {
            Node::Object(_) | Node::Array(_) => Node::Raw(Cow::Owned(node.closed(false))),
            closed => closed,
        });
        let path = operation.path();
        let path = path
            .map_err(|error| refused(format!("move operation failed to decode path: {error}")))?;
        let Some(place) = self.find(&path) else {
            return Err(refused(format!(
                "move operation does not apply: doc is missing destination path: {path}: {MISSING}"
            )));
        };
        place
            .add(value)
            .map_err(|error| refused(format!("error in move for path: '{path}': {error}")))
    }

    fn test(&mut self, operation: &Operation) -> Result<(), JsonPatchError> {
        let path = operation.path();
        let path = path
            .map_err(|error| refused(format!("test operation failed to decode path: {error}")))?;
        let failed = || JsonPatchError::TestFailed { path: path.clone() };
        let mut wanted = operation.value();
        if path.is_empty() {
            let mut root = self.root.clone().unwrap_or(Node::Object(Object::default()));
            let mut wanted = wanted.ok_or_else(failed)?;
            return if equal(&mut root, &mut wanted, 0)? {
                Ok(())
            } else {
                Err(failed())
            };
        }
        let Some(mut place) = self.find(&path) else {
            return Err(refused(format!(
                "test operation does not apply: is missing path: {path}: {MISSING}"
            )));
        };
        let found = place
            .get()
            .map_err(|error| refused(format!("error in test for path: '{path}': {error}")))?;
        let is_met = match (found, wanted.as_mut()) {
            (None, None | Some(Node::Null)) => true,
            (Some(found), Some(wanted)) => equal(&mut found.clone(), wanted, 0)?,
            _ => false,
        };
        if is_met { Ok(()) } else { Err(failed()) }
    }

    fn copy(&mut self, operation: &Operation) -> Result<(), JsonPatchError> {
        let from = operation.from();
        let from = from
            .map_err(|error| refused(format!("copy operation failed to decode from: {error}")))?;
        let Some(mut place) = self.find(&from) else {
            return Err(refused(format!(
                "copy operation does not apply: doc is missing from path: {from}: {MISSING}"
            )));
        };
        let found = place
            .get()
            .map_err(|error| refused(format!("error in copy for from: '{from}': {error}")))?;
        let value = found.map(|node| node.closed(true));
        let path = operation.path();
        let path =
            path.map_err(|_| refused(format!("copy operation failed to decode path: {MISSING}")))?;
        self.copied += value.as_ref().map_or(0, String::len);
        if self.copied > MAX_COPIED {
            return Err(JsonPatchError::CopySize {
                size: self.copied,
                limit: MAX_COPIED,
            });
        }
        let Some(place) = self.find(&path) else {
            return Err(refused(format!(
                "copy operation does not apply: doc is missing destination path: {path}: {MISSING}"
            )));
        };
        place
            .add(value.map(|text| Node::Raw(Cow::Owned(text))))
            .map_err(|error| refused(format!("error while adding value during copy: {error}")))
    }
}

/// A part of a path with its escapes resolved, in one pass.
fn key(part: &str) -> String {
    let mut out = String::with_capacity(part.len());
    let mut rest = part;
    while let Some(at) = rest.find('~') {
        let (before, tilde) = rest.split_at(at);
        out.push_str(before);
        let (sign, width) = match tilde.as_bytes().get(1) {
            Some(b'0') => ('~', 2),
            Some(b'1') => ('/', 2),
            _ => ('~', 1),
        };
        out.push(sign);
        rest = tilde.get(width..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// Whether two values are equal: objects and lists by their parts, scalars by their text.
fn equal(left: &mut Node<'_>, right: &mut Node<'_>, depth: usize) -> Result<bool, JsonPatchError> {
    if depth > MAX_DEPTH {
        return Err(JsonPatchError::Depth);
    }
    if left.as_object().is_none() && left.as_array().is_none() {
        let text = |node: &Node<'_>| match node {
            Node::Raw(text) => {
                let mut out = String::new();
                compact(text, false, &mut out);
                Some(out)
            }
            Node::Null => Some(String::new()),
            Node::Object(_) | Node::Array(_) => None,
        };
        return Ok(text(left) == text(right));
    }
    if let Some(left) = left.as_object() {
        let Some(right) = right.as_object() else {
            return Ok(false);
        };
        if left.fields.len() != right.fields.len() {
            return Ok(false);
        }
        for (key, left) in &mut left.fields {
            let same = match (left, right.fields.get_mut(key)) {
                (None, Some(None)) => true,
                (Some(left), Some(Some(right))) => equal(left, right, depth + 1)?,
                _ => false,
            };
            if !same {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    let (Some(left), Some(right)) = (left.as_array(), right.as_array()) else {
        return Ok(false);
    };
    if left.len() != right.len() {
        return Ok(false);
    }
    for (left, right) in left.iter_mut().zip(right) {
        let (Some(left), Some(right)) = (left, right) else {
            // The library falls over lists that hold null.
            let message = "lists that hold null can't be tested";
            return Err(refused(message.to_owned()));
        };
        if !equal(left, right, depth + 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}
