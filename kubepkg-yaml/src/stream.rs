//! Streams of documents, split as Kubernetes and Helm split them: by lines, not by grammar.
//!
//! A line that begins with `---` ends a document, wherever it stands (in a block scalar too, if
//! it is not indented). After the dashes only blanks or a comment may follow. The rule is
//! `NewYAMLReader` of k8s.io/apimachinery; [`load_values`] is Helm 4's `loader.LoadValues` and
//! [`read_values`] its `common.ReadValues`.

use serde_json::{Map, Value};

use crate::error::{LimitKind, YamlError};
use crate::json::Numbers;
use crate::limits::Limits;
use crate::load::{check_input, load_numbers};

/// One document of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentText<'a> {
    /// Line of the stream on which the document starts, from 1.
    pub line: usize,
    /// Its text, every line ended by a line feed. The first document keeps a leading `---`.
    pub text: std::borrow::Cow<'a, [u8]>,
}

/// Splits a stream into documents. Empty ones, between two separators, are left out.
///
/// # Errors
/// [`YamlError::Separator`] for a line like `--- a` or `----`; more documents than
/// [`Limits::documents`].
pub fn split_documents<'a>(
    input: &'a [u8],
    limits: &Limits,
) -> Result<Vec<DocumentText<'a>>, YamlError> {
    documents(input, limits)?.collect()
}

/// As [`split_documents`], one document after the other: what stands before a bad separator is there to be read.
///
/// # Errors
/// More bytes than [`Limits::input`].
pub fn documents<'a>(
    input: &'a [u8],
    limits: &Limits,
) -> Result<impl Iterator<Item = Result<DocumentText<'a>, YamlError>> + use<'a>, YamlError> {
    Documents::new(input, limits)
}

/// Documents one by one: an error in one comes before a bad separator after it.
struct Documents<'a> {
    input: &'a [u8],
    at: usize,
    line: usize,
    left: usize,
    limit: usize,
}

impl<'a> Documents<'a> {
    fn new(input: &'a [u8], limits: &Limits) -> Result<Self, YamlError> {
        check_input(input, limits)?;
        Ok(Documents {
            input,
            at: 0,
            line: 0,
            left: limits.documents,
            limit: limits.documents,
        })
    }

    /// The end of the document that starts here.
    fn end(&mut self) -> Result<usize, YamlError> {
        let from = self.at;
        while let Some(rest) = self.input.get(self.at..).filter(|rest| !rest.is_empty()) {
            let length = rest
                .iter()
                .position(|&byte| byte == b'\n')
                .map_or(rest.len(), |end| end + 1);
            let text = rest.get(..length).unwrap_or_default();
            self.line += 1;
            let start = self.at;
            self.at += length;
            let Some(tail) = text.strip_prefix(b"---") else {
                continue;
            };
            let tail = String::from_utf8_lossy(tail);
            let tail = tail.trim();
            if !(tail.is_empty() || tail.starts_with('#')) {
                return Err(YamlError::Separator {
                    rest: tail.to_owned(),
                    line: self.line,
                });
            }
            // With nothing before it the separator belongs to the document that it opens.
            if start > from {
                return Ok(start);
            }
        }
        Ok(self.input.len())
    }
}

impl<'a> Iterator for Documents<'a> {
    type Item = Result<DocumentText<'a>, YamlError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (from, line) = (self.at, self.line + 1);
        if from >= self.input.len() {
            return None;
        }
        let end = match self.end() {
            Ok(end) => end,
            Err(error) => {
                self.at = self.input.len();
                return Some(Err(error));
            }
        };
        let Some(left) = self.left.checked_sub(1) else {
            return Some(Err(YamlError::Limit {
                kind: LimitKind::Documents,
                limit: self.limit,
            }));
        };
        self.left = left;
        let text = with_line_feeds(self.input.get(from..end).unwrap_or_default());
        Some(Ok(DocumentText { line, text }))
    }
}

/// CR LF becomes LF, and the last line gets one.
fn with_line_feeds(text: &[u8]) -> std::borrow::Cow<'_, [u8]> {
    if text.ends_with(b"\n") && !text.windows(2).any(|pair| pair == b"\r\n") {
        return std::borrow::Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len() + 1);
    for line in text.split_inclusive(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        out.extend_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
        out.push(b'\n');
    }
    std::borrow::Cow::Owned(out)
}

/// Loads a values file as Helm does: every document must be a map or empty, maps of later
/// documents are merged into earlier ones (lists and scalars replace, null too), and all numbers
/// are floats, so integers above 2^53 lose digits. Write the result with [`crate::to_yaml`] to
/// get what `toYaml .Values` prints.
///
/// # Errors
/// Helm's errors, in Helm's words; [`YamlError::Document`] also tells on which line of the file
/// the document starts.
pub fn load_values(input: &[u8]) -> Result<Map<String, Value>, YamlError> {
    load_values_with(input, &Limits::DEFAULT)
}

/// [`load_values`] under the caller's limits.
///
/// # Errors
/// As [`load_values`].
pub fn load_values_with(input: &[u8], limits: &Limits) -> Result<Map<String, Value>, YamlError> {
    let mut values = Map::new();
    for document in Documents::new(input, limits)? {
        let document = document?;
        let map =
            load_map(&document.text, "map[string]interface {}", limits).map_err(|source| {
                YamlError::Document {
                    line: document.line,
                    source: Box::new(source),
                }
            })?;
        merge(&mut values, map);
    }
    Ok(values)
}

/// Loads the first document of a values text as Helm's `ReadValues` does (`--values` files,
/// values in release records): no splitting by lines.
///
/// # Errors
/// As [`crate::yaml_to_json`]; [`YamlError::NotAMap`] for other data.
pub fn read_values(input: &[u8]) -> Result<Map<String, Value>, YamlError> {
    load_map(input, "common.Values", &Limits::DEFAULT)
}

fn load_map(
    input: &[u8],
    target: &'static str,
    limits: &Limits,
) -> Result<Map<String, Value>, YamlError> {
    let value = load_numbers(input, Numbers::Float, limits).map_err(|error| match error {
        YamlError::Limit { .. } => error,
        _ => YamlError::Convert {
            source: Box::new(error),
        },
    })?;
    let found = match value {
        Value::Object(map) => return Ok(map),
        Value::Null => return Ok(Map::new()),
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
    };
    Err(YamlError::NotAMap { found, target })
}

/// Merges `from` into `into`, as the documents of a values file and several such files come together: maps go into
/// maps, all else replaces.
pub fn merge(into: &mut Map<String, Value>, from: Map<String, Value>) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => merge(old, new),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_know_their_lines() {
        let input = b"---\na: 1\n--- # next\n\nb: 2\n---\n---\nc: 3";
        let documents = split_documents(input, &Limits::DEFAULT).unwrap();
        let lines: Vec<_> = documents.iter().map(|document| document.line).collect();
        assert_eq!(lines, [1, 4, 7]);
        assert_eq!(&*documents[2].text, b"---\nc: 3\n");
    }

    #[test]
    fn the_first_problem_is_reported() {
        let error = load_values(b"a: [\n---\nb: 1\n--- c\n").unwrap_err();
        assert!(
            matches!(error, YamlError::Document { line: 1, .. }),
            "{error}"
        );
    }

    #[test]
    fn position_in_a_document_is_a_position_in_the_file() {
        let error = load_values(b"a: 1\n---\nb: 2\nc: [\n").unwrap_err();
        assert_eq!(error.position().map(|position| position.line), Some(5));
    }
}
