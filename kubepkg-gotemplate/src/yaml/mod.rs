//! YAML of template values: Helm's `toYaml`, `toYamlPretty`, `fromYaml`, `fromYamlArray`.
//!
//! `toYaml` goes through JSON, as `sigs.k8s.io/yaml` does; `toYamlPretty` writes Go values with the
//! emitter of `go.yaml.in/yaml/v3` and an indent of two (`pretty.rs`): other quoting, other key
//! order, no folding, lists indented.

mod pretty;
mod sort;

use crate::collection::{List, Map};
use crate::json;
use crate::value::{ToJsonError, Value};

pub(crate) use pretty::encode_pretty;

/// `yaml.Marshal` without the last line break; the error is Go's text.
pub(crate) fn encode(value: &Value) -> Result<String, String> {
    let json = value.to_json().map_err(|error| {
        let error = match error {
            ToJsonError::TooDeep => format!(
                "json: unsupported value: encountered a cycle via {}",
                value.type_name()
            ),
            other => other.to_string(),
        };
        format!("error marshaling into JSON: {error}")
    })?;
    // Go writes JSON text and reads it as YAML; `to_yaml` takes that way only where it changes something.
    let mut yaml = kubepkg_yaml::to_yaml(&json)
        .map_err(|error| format!("error converting JSON to YAML: {error}"))?;
    if yaml.ends_with('\n') {
        yaml.pop();
    }
    Ok(yaml)
}

/// JSON of the first document; the error is Go's text.
fn to_json(text: &[u8]) -> Result<String, String> {
    kubepkg_yaml::yaml_to_json(text).map_err(|error| {
        let text = error.to_string();
        if text.starts_with("error ") {
            text
        } else {
            format!("error converting YAML to JSON: {text}")
        }
    })
}

fn decoding(error: &str) -> String {
    format!("error unmarshaling JSON: while decoding JSON: {error}")
}

/// `yaml.Unmarshal` into an empty map: the map as far as it was read, and the error.
pub(crate) fn decode_map(text: &[u8]) -> (Map, Option<String>) {
    match to_json(text) {
        Err(error) => (Map::default(), Some(error)),
        Ok(json) if json.trim() == "null" => (Map::default(), None),
        Ok(json) => {
            let (map, error) = json::decode_map(json.as_bytes());
            (map, error.as_deref().map(decoding))
        }
    }
}

/// `yaml.Unmarshal` into an empty list.
pub(crate) fn decode_list(text: &[u8]) -> (List, Option<String>) {
    match to_json(text) {
        Err(error) => (List::new(Vec::new()), Some(error)),
        Ok(json) if json.trim() == "null" => (List::new(Vec::new()), None),
        Ok(json) => {
            let (list, error) = json::decode_list(json.as_bytes());
            (list, error.as_deref().map(decoding))
        }
    }
}
