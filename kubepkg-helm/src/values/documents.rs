//! The text of a values file: one or more YAML documents, each a map.

use std::borrow::Cow;

use serde_json::Map;

use super::{Values, ValuesError, make_floats, merge_maps};
use crate::go::decode::decode_map;

impl Values {
    /// Reads the text of a values file. Several documents are merged, later ones win; an empty text is empty.
    ///
    /// # Errors
    /// [`ValuesError::Separator`] and [`ValuesError::Document`].
    pub fn from_yaml_documents(text: &[u8]) -> Result<Self, ValuesError> {
        let mut values = Map::new();
        for document in documents(text)? {
            let mut read =
                decode_map(&document).map_err(|message| ValuesError::Document { message })?;
            read.values_mut().for_each(make_floats);
            if values.is_empty() {
                values = read;
            } else {
                merge_maps(&mut values, read);
            }
        }
        Ok(Self::from(values))
    }
}

/// Cuts a text where a line begins with `---`, as the YAML reader of Kubernetes does.
fn documents(text: &[u8]) -> Result<Vec<Cow<'_, [u8]>>, ValuesError> {
    let mut lines = text.split(|byte| *byte == b'\n');
    if text.ends_with(b"\n") && !text.contains(&b'\r') && !lines.any(|l| l.starts_with(b"---")) {
        return Ok(vec![Cow::Borrowed(text)]);
    }
    let mut found = Vec::new();
    let mut document = Vec::new();
    let lines = text
        .strip_suffix(b"\n")
        .unwrap_or(text)
        .split(|byte| *byte == b'\n');
    for line in lines.take(if text.is_empty() { 0 } else { usize::MAX }) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Some(behind) = line.strip_prefix(b"---") {
            let behind = String::from_utf8_lossy(behind);
            let behind = behind.trim();
            if !behind.is_empty() && !behind.starts_with('#') {
                return Err(ValuesError::Separator {
                    found: behind.to_owned(),
                });
            }
            if !document.is_empty() {
                found.push(Cow::Owned(std::mem::take(&mut document)));
                continue;
            }
        }
        document.extend_from_slice(line);
        document.push(b'\n');
    }
    if !document.is_empty() {
        found.push(Cow::Owned(document));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::documents;

    #[test]
    fn separator_lines_split_and_refuse_trailing_text() {
        // k8s.io/apimachinery YAMLReader: a separator before any content stays in the document.
        let split = documents(b"---\na: 1\n--- # c\nb: 2\n").unwrap();
        assert_eq!(split, [b"---\na: 1\n".to_vec(), b"b: 2\n".to_vec()]);
        assert!(documents(b"a: 1\n---b: 2\n").is_err());
    }
}
