//! What a provenance file says: the chart's metadata and the digests of files.
//!
//! Two YAML texts with a line `...` of its own between them, since `---` can't stand in a signed text. What follows
//! a second such line is of no meaning. Rules and words are Helm's (vectors `message-block`).

use std::collections::BTreeMap;

use kubepkg_helm::{ChartError, Metadata};
use serde::Serialize;
use serde_json::Value;

/// A text is no message, or a message has no text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The two parts are not there.
    #[error("message block must have at least two parts")]
    Parts,
    /// The first part is no metadata.
    #[error(transparent)]
    Metadata(#[from] ChartError),
    /// The second part is no YAML.
    #[error("error converting YAML to JSON: {0}")]
    Yaml(kubepkg_yaml::YamlError),
    /// The second part is no list of digests.
    #[error("the list of digests has the wrong form")]
    Form,
}

/// What is signed.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Message {
    /// What `Chart.yaml` says.
    pub metadata: Metadata,
    /// Digests by the name of the file.
    pub sums: Sums,
}

/// Digests with their algorithm, `sha256:…`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Sums {
    /// By the name of the file. Absent and empty are not the same to Go.
    pub files: Option<BTreeMap<String, String>>,
    /// By image; nothing writes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<BTreeMap<String, String>>,
}

impl Message {
    /// The message about a file.
    pub fn about(metadata: Metadata, file: &str, digest: &str) -> Self {
        let files = BTreeMap::from([(file.to_owned(), digest.to_owned())]);
        Self {
            metadata,
            sums: Sums {
                files: Some(files),
                images: None,
            },
        }
    }

    /// Reads a message.
    ///
    /// # Errors
    /// In Helm's words where they are Helm's.
    pub fn parse(text: &[u8]) -> Result<Self, MessageError> {
        let (metadata, sums) = parts(text)?;
        let metadata = Metadata::from_yaml(metadata)?;
        Ok(Self {
            metadata,
            sums: Sums::read(sums)?,
        })
    }

    /// The text of the message, as Helm writes it.
    ///
    /// # Errors
    /// The metadata has no YAML form.
    pub fn to_text(&self) -> Result<String, MessageError> {
        let value = serde_json::to_value(&self.sums).map_err(|_| MessageError::Form)?;
        let sums = kubepkg_yaml::to_yaml(&value).map_err(MessageError::Yaml)?;
        Ok(format!("{}\n...\n{sums}", self.metadata.to_yaml()?))
    }
}

/// The two parts of a message.
fn parts(text: &[u8]) -> Result<(&[u8], &[u8]), MessageError> {
    const MARK: &[u8] = b"\n...\n";
    let mark = |text: &[u8]| text.windows(MARK.len()).position(|part| part == MARK);
    let at = mark(text).ok_or(MessageError::Parts)?;
    let rest = &text[at + MARK.len()..];
    Ok((&text[..at], &rest[..mark(rest).unwrap_or(rest.len())]))
}

impl Sums {
    /// Reads the digests of a message alone: for a check, what stands before them is of no meaning.
    ///
    /// # Errors
    /// In Helm's words where they are Helm's.
    pub fn of_message(text: &[u8]) -> Result<Self, MessageError> {
        Self::read(parts(text)?.1)
    }

    fn read(text: &[u8]) -> Result<Self, MessageError> {
        Self::of(&kubepkg_yaml::load(text).map_err(MessageError::Yaml)?)
    }

    fn of(value: &Value) -> Result<Self, MessageError> {
        let table = match value {
            Value::Null => return Ok(Self::default()),
            Value::Object(table) => table,
            _ => return Err(MessageError::Form),
        };
        let field = |name: &str| {
            let found = table.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
            match found.map(|(_, value)| value) {
                None | Some(Value::Null) => Ok(None),
                Some(Value::Object(map)) => map
                    .iter()
                    .map(|(key, value)| Ok((key.clone(), text(value)?)))
                    .collect::<Result<_, _>>()
                    .map(Some),
                Some(_) => Err(MessageError::Form),
            }
        };
        Ok(Self {
            files: field("files")?,
            images: field("images")?,
        })
    }
}

/// Go takes numbers and truth values of YAML for texts here.
fn text(value: &Value) -> Result<String, MessageError> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Null => Ok(String::new()),
        Value::Bool(_) | Value::Number(_) => Ok(value.to_string()),
        _ => Err(MessageError::Form),
    }
}
