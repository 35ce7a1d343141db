//! The objects of a rendered file, read as Kubernetes' decoder of YAML or JSON reads them.
//!
//! A text that begins with a brace is tried as a series of JSON values; where that ends, YAML documents follow. Their
//! heads are read into typed fields, keys without case; an error in any document is the last thing that is read.

use kubepkg_yaml::{Limits, YamlError};
use serde::Deserialize;
use serde_json::Value;

use crate::go::decode::{GoField, GoStruct, GoType, decode, decode_yaml};
use crate::go::json::syntax_error;

/// The head of an object.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Object {
    #[serde(rename = "apiVersion")]
    pub(super) api_version: String,
    #[serde(rename = "Kind")]
    pub(super) kind: String,
    #[serde(rename = "Metadata")]
    metadata: ObjectMetadata,
}

#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct ObjectMetadata {
    #[serde(rename = "Name")]
    name: String,
}

impl Object {
    pub(super) fn name(&self) -> &str {
        &self.metadata.name
    }
}

const fn text(json: &'static str) -> GoField {
    GoField {
        json,
        ty: &GoType::Text,
    }
}

static METADATA: GoType = GoType::Struct(&GoStruct {
    name: "k8sYamlMetadata",
    printed: "rules.k8sYamlMetadata",
    fields: &[text("Namespace"), text("Name")],
});
static OBJECT: GoType = GoType::Struct(&GoStruct {
    name: "k8sYamlStruct",
    printed: "rules.k8sYamlStruct",
    fields: &[
        text("apiVersion"),
        text("Kind"),
        GoField {
            json: "Metadata",
            ty: &METADATA,
        },
    ],
});

/// The objects of a text, empty documents left out. After an error there is nothing more.
pub(super) fn objects(text: &[u8]) -> Vec<Result<Object, String>> {
    let mut objects = Vec::new();
    let mut rest = text;
    let mut json_error = None;
    if text.trim_ascii_start().starts_with(b"{") {
        match json_objects(text, &mut objects) {
            Json::Ended => return objects,
            Json::Failed(error) => {
                objects.push(Err(error));
                return objects;
            }
            Json::Yaml { error, from } => {
                json_error = Some(error);
                rest = text.get(from..).unwrap_or_default();
            }
        }
    }
    let documents = match kubepkg_yaml::documents(rest, &Limits::DEFAULT) {
        Ok(documents) => documents,
        Err(error) => return vec![Err(error.to_string())],
    };
    for document in documents {
        let read = match document {
            Ok(document) => decode_yaml(&document.text, &OBJECT),
            Err(YamlError::Separator { rest, .. }) => {
                Err(format!("invalid Yaml document separator: {rest}"))
            }
            Err(error) => Err(error.to_string()),
        };
        match read.and_then(object) {
            Ok(object) => objects.extend(object.map(Ok)),
            // When in doubt, the complaint is that of the JSON decoder.
            Err(error) => {
                objects.push(Err(json_error.unwrap_or(error)));
                break;
            }
        }
        json_error = None;
    }
    objects
}

fn object(read: Option<Value>) -> Result<Option<Object>, String> {
    let object = read.map(serde_json::from_value).transpose();
    object.map_err(|error| error.to_string())
}

enum Json {
    /// The text was JSON to its end.
    Ended,
    /// It was a series of JSON values, and one of them is broken.
    Failed(String),
    /// What follows may be YAML; the error counts when it is not.
    Yaml { error: String, from: usize },
}

fn json_objects(text: &[u8], objects: &mut Vec<Result<Object, String>>) -> Json {
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<Value>();
    let (mut count, mut at) = (0, 0);
    loop {
        let error = match values.next() {
            None => return Json::Ended,
            Some(Ok(value)) => match decode(&value, text, &OBJECT).and_then(object) {
                Ok(object) if !has_numbers(&value) => {
                    objects.extend(object.map(Ok));
                    (count, at) = (count + 1, values.byte_offset());
                    continue;
                }
                Ok(_) => "json: cannot unmarshal number into Go value of type string".to_owned(),
                Err(error) => error
                    .strip_prefix("error unmarshaling JSON: while decoding JSON: ")
                    .map_or(error.clone(), str::to_owned),
            },
            Some(Err(error)) => {
                let offset = offset(text, &error);
                format!("json: offset {offset}: {}", syntax_error(text, &error))
            }
        };
        if count > 1 {
            return Json::Failed(error);
        }
        // White space goes up to and with the first line end.
        let rest = text.get(at..).unwrap_or_default();
        let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace());
        let blanks = blank.count();
        let line = rest.iter().position(|byte| *byte == b'\n');
        let skipped = line.map_or(blanks, |line| blanks.min(line + 1));
        return Json::Yaml {
            error,
            from: at + skipped,
        };
    }
}

/// Whether a head has a number where only YAML makes a text of it.
fn has_numbers(value: &Value) -> bool {
    let plain = |value: Option<&Value>| {
        value.is_some_and(|value| matches!(value, Value::Number(_) | Value::Bool(_)))
    };
    let metadata = value.get("metadata");
    plain(value.get("apiVersion"))
        || plain(value.get("kind"))
        || plain(metadata.and_then(|metadata| metadata.get("name")))
        || plain(metadata.and_then(|metadata| metadata.get("namespace")))
}

/// How far Go had read when it found the error.
fn offset(text: &[u8], error: &serde_json::Error) -> usize {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let before = lines.take(error.line().saturating_sub(1));
    before.map(<[u8]>::len).sum::<usize>() + error.column()
}

#[cfg(test)]
mod tests {
    use super::objects;

    fn kinds(text: &str) -> Vec<Result<String, String>> {
        let objects = objects(text.as_bytes()).into_iter();
        objects
            .map(|object| object.map(|object| object.kind))
            .collect()
    }

    #[test]
    fn json_values_and_yaml_documents_follow_each_other() {
        // As NewYAMLOrJSONDecoder of apimachinery 0.37.1 reads them.
        let a = || Ok("A".to_owned());
        assert_eq!(kinds("{\"kind\": \"A\"}\n{\"kind\": \"A\"}"), [a(), a()]);
        assert_eq!(kinds("{\"kind\": \"A\"}\n---\nkind: A\n"), [a(), a()]);
        assert_eq!(kinds("kind: A\n---\n# nothing\n---\nkind: A\n"), [a(), a()]);
        assert_eq!(kinds("{kind: A}"), [a()]);
    }

    #[test]
    fn a_bad_separator_ends_the_file() {
        let wanted = Err("invalid Yaml document separator: x".to_owned());
        assert_eq!(kinds("kind: A\n--- x\nkind: A\n"), [wanted]);
    }
}
