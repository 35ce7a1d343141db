//! JSON patches, as the API server applies them: `gopkg.in/evanphx/json-patch.v4` v4.13, which is not quite RFC 6902.
//! Negative indices count from the end, `add` without a value adds null, and an absent key equals null to `test`.
//!
//! [`Patch::apply`] works on values. [`Patch::apply_text`] gives the exact bytes: objects on the way to a change
//! are written with sorted keys, all others as they stood.

mod document;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use self::document::Document;
use crate::text::{Level, Node, Style, TextError, check, level, unquoted};

/// Why a patch can't be read or doesn't apply. The texts are the API server's library's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonPatchError {
    /// The patch or the document is no JSON.
    #[error("{message}")]
    Syntax {
        /// What is wrong.
        message: String,
    },
    /// The patch or the document is JSON of another shape.
    #[error("json: cannot unmarshal {found} into Go value of type {wanted}")]
    Shape {
        /// The kind that was found.
        found: &'static str,
        /// Go's name of the type that was wanted.
        wanted: &'static str,
    },
    /// An operation of a kind that isn't known.
    #[error("Unexpected kind: {kind}")]
    Kind {
        /// The kind.
        kind: String,
    },
    /// `test` found another value.
    #[error("testing value {path} failed: test failed")]
    TestFailed {
        /// The path of the test.
        path: String,
    },
    /// An operation doesn't apply to the document.
    #[error("{message}")]
    DoesNotApply {
        /// What is wrong.
        message: String,
    },
    /// A document is nested too deeply.
    #[error("exceeded max depth")]
    Depth,
    /// Copies make the document too large.
    #[error(
        "Unable to complete the copy, the accumulated size increase of copy is {size}, exceeding the limit {limit}"
    )]
    CopySize {
        /// The size of all copies.
        size: usize,
        /// The limit.
        limit: usize,
    },
}

impl From<TextError> for JsonPatchError {
    fn from(error: TextError) -> Self {
        match error {
            TextError::Syntax(error) => Self::Syntax {
                message: error.message,
            },
            TextError::Depth => Self::Depth,
        }
    }
}

const MISSING: &str = "missing value";

fn refused(message: String) -> JsonPatchError {
    JsonPatchError::DoesNotApply { message }
}

/// A JSON patch.
#[derive(Debug, Clone, Default)]
pub struct Patch {
    operations: Vec<Operation>,
}

/// The fields of an operation as text; null where the text is `null`.
#[derive(Debug, Clone, Default)]
struct Operation(BTreeMap<String, Option<String>>);

impl Patch {
    /// Reads a patch. Bytes that are no UTF-8 count as U+FFFD.
    ///
    /// # Errors
    /// When it is no list of objects.
    pub fn parse(text: &[u8]) -> Result<Self, JsonPatchError> {
        let text = String::from_utf8_lossy(text);
        check(&text)?;
        let shape = |found, wanted| Err(JsonPatchError::Shape { found, wanted });
        let items = match level(&text) {
            Level::Array(items) => items,
            Level::Null => Vec::new(),
            Level::Object(_) => return shape("object", "jsonpatch.Patch"),
            Level::Scalar(found) => return shape(found, "jsonpatch.Patch"),
        };
        let mut operations = Vec::with_capacity(items.len());
        for item in items {
            operations.push(match level(item) {
                Level::Null => Operation::default(),
                Level::Array(_) => return shape("array", "jsonpatch.Operation"),
                Level::Scalar(found) => return shape(found, "jsonpatch.Operation"),
                Level::Object(fields) => {
                    let text = |part: &str| (part != "null").then(|| part.to_owned());
                    let fields = fields.into_iter().map(|(key, part)| (key, text(part)));
                    Operation(fields.collect())
                }
            });
        }
        Ok(Self { operations })
    }

    /// How many operations it has.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Whether it does nothing.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Applies the patch to a value.
    ///
    /// # Errors
    /// When an operation doesn't apply; nothing is changed then.
    pub fn apply(&self, document: &Value) -> Result<Value, JsonPatchError> {
        let text = self.apply_text(document.to_string().as_bytes())?;
        serde_json::from_str(&text).map_err(|error| JsonPatchError::Syntax {
            message: error.to_string(),
        })
    }

    /// Applies the patch to a document and gives the bytes that the API server's library gives. An empty document
    /// stays empty.
    ///
    /// # Errors
    /// When the document is no object or list, or an operation doesn't apply.
    pub fn apply_text(&self, document: &[u8]) -> Result<String, JsonPatchError> {
        let text = String::from_utf8_lossy(document);
        if text.is_empty() {
            return Ok(String::new());
        }
        check(&text)?;
        let is_list = text.starts_with('[');
        let shape = |found| {
            let wanted = "jsonpatch.partialDoc";
            Err(JsonPatchError::Shape { found, wanted })
        };
        match level(&text) {
            Level::Scalar(found) => return shape(found),
            // Only a bracket at the very start makes a list.
            Level::Array(_) if !is_list => return shape("array"),
            _ => {}
        }
        let mut document = Document::new(Node::open(&text));
        for operation in &self.operations {
            document.perform(operation)?;
        }
        let mut out = String::new();
        let style = Style {
            sorted: true,
            html: true,
        };
        crate::text::write_or_null(document.root(), style, &mut out);
        Ok(out)
    }
}

impl Operation {
    /// A field that is a text.
    fn text(&self, field: &str, missing: &str) -> Result<String, String> {
        match self.0.get(field) {
            Some(Some(raw)) => match level(raw) {
                Level::Scalar("string") => Ok(unquoted(raw)),
                Level::Scalar(found) => Err(wrong_kind(found)),
                Level::Object(_) => Err(wrong_kind("object")),
                Level::Array(_) => Err(wrong_kind("array")),
                Level::Null => Ok(String::new()),
            },
            _ => Err(format!("{missing}: {MISSING}")),
        }
    }

    fn kind(&self) -> String {
        self.text("op", "").unwrap_or_else(|_| "unknown".to_owned())
    }

    fn path(&self) -> Result<String, String> {
        self.text("path", "operation missing path field")
    }

    fn from(&self) -> Result<String, String> {
        self.text("from", "operation, missing from field")
    }

    /// The value: none if it is missing, which adds null and equals nothing.
    fn value<'t>(&self) -> Option<Node<'t>> {
        let value = self.0.get("value")?;
        Some(match value {
            None => Node::Null,
            Some(raw) => Node::Raw(Cow::Owned(raw.clone())),
        })
    }
}

fn wrong_kind(found: &str) -> String {
    format!("json: cannot unmarshal {found} into Go value of type string")
}
