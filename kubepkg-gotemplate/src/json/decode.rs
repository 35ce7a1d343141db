//! Reading JSON into template values.

use kubepkg_yaml::{JsonScanner, JsonToken as Token, unescape_json};

use crate::bytestring::GoString;
use crate::collection::List;
use crate::collection::Map;
use crate::gotype;
use crate::value::Value;

/// A value, and the first complaint that did not stop reading (a number too large for a float64).
pub(crate) struct Decoded {
    pub(crate) value: Value,
    pub(crate) complaint: Option<String>,
}

enum Open {
    Array(Vec<Value>),
    Object(Map, Option<GoString>),
}

fn unescape(body: &[u8]) -> GoString {
    if !body.contains(&b'\\') && std::str::from_utf8(body).is_ok() {
        return GoString::from(body);
    }
    GoString::from(unescape_json(body).into_bytes())
}

/// `json.Unmarshal` into `interface{}`; the error is Go's text.
///
/// # Errors
/// Text that is not one JSON value.
pub(crate) fn decode(text: &[u8]) -> Result<Decoded, String> {
    let mut scanner = JsonScanner::new(text);
    let mut stack: Vec<Open> = Vec::new();
    let mut result = Value::Nil;
    let mut complaint = None;
    while let Some(token) = scanner.next().map_err(|error| error.message)? {
        let value = match token {
            Token::Null => Value::Nil,
            Token::True => Value::Bool(true),
            Token::False => Value::Bool(false),
            Token::String(body) => Value::String(unescape(body)),
            Token::Number(digits) => {
                let digits = String::from_utf8_lossy(digits);
                match digits.parse::<f64>() {
                    Ok(x) if x.is_finite() => Value::float64(x),
                    _ => {
                        complaint.get_or_insert_with(|| {
                            format!(
                                "json: cannot unmarshal number {digits} into Go value of type float64"
                            )
                        });
                        Value::Nil
                    }
                }
            }
            Token::Key(body) => {
                if let Some(Open::Object(_, key)) = stack.last_mut() {
                    *key = Some(unescape(body));
                }
                continue;
            }
            Token::ArrayStart => {
                stack.push(Open::Array(Vec::new()));
                continue;
            }
            Token::ObjectStart => {
                stack.push(Open::Object(Map::default(), None));
                continue;
            }
            Token::ArrayEnd | Token::ObjectEnd => match stack.pop() {
                Some(Open::Array(items)) => Value::List(List::decoded(items)),
                Some(Open::Object(map, _)) => Value::Map(map),
                None => Value::Nil,
            },
        };
        match stack.last_mut() {
            Some(Open::Array(items)) => items.push(value),
            Some(Open::Object(map, key)) => {
                if let Some(key) = key.take() {
                    map.insert(key, value);
                }
            }
            None => result = value,
        }
    }
    Ok(Decoded {
        value: result,
        complaint,
    })
}

/// The kind of a top-level value that is not the wanted one; nil is a number out of range.
fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Bool(_) => "bool",
        Value::Nil | Value::Float(..) => "number",
        Value::String(_) => "string",
        Value::List(_) => "array",
        _ => "object",
    }
}

/// `json.Unmarshal` into a `map[string]interface{}`: the map as far as it was read, and the error.
pub(crate) fn decode_map(text: &[u8]) -> (Map, Option<String>) {
    match decode(text) {
        Err(error) => (Map::default(), Some(error)),
        Ok(Decoded {
            value: Value::Map(map),
            complaint,
        }) => (map, complaint),
        Ok(Decoded {
            value: Value::Nil,
            complaint: None,
        }) => (Map::nil(&gotype::MAP_ANY), None),
        Ok(Decoded { value, .. }) => {
            let kind = json_kind(&value);
            let error = format!(
                "json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
            );
            (Map::default(), Some(error))
        }
    }
}

/// `json.Unmarshal` into a `[]interface{}`.
pub(crate) fn decode_list(text: &[u8]) -> (List, Option<String>) {
    match decode(text) {
        Err(error) => (List::new(Vec::new()), Some(error)),
        Ok(Decoded {
            value: Value::List(list),
            complaint,
        }) => (list, complaint),
        Ok(Decoded {
            value: Value::Nil,
            complaint: None,
        }) => (List::nil(&gotype::SLICE_ANY), None),
        Ok(Decoded { value, .. }) => {
            let kind = json_kind(&value);
            let error =
                format!("json: cannot unmarshal {kind} into Go value of type []interface {{}}");
            (List::new(Vec::new()), Some(error))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        match decode(text.as_bytes()) {
            Ok(_) => "accepted".to_owned(),
            Err(error) => error,
        }
    }

    #[test]
    fn complains_as_go_does() {
        for (text, want) in [
            ("", "unexpected end of JSON input"),
            (
                "{bad",
                "invalid character 'b' looking for beginning of object key string",
            ),
            (
                "[1,]",
                "invalid character ']' looking for beginning of value",
            ),
            ("{\"a\":1} x", "invalid character 'x' after top-level value"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("[1 2]", "invalid character '2' after array element"),
            (
                "nul",
                "invalid character ' ' in literal null (expecting 'l')",
            ),
            (
                "nux",
                "invalid character 'x' in literal null (expecting 'l')",
            ),
            ("-x", "invalid character 'x' in numeric literal"),
            ("01", "invalid character '1' after top-level value"),
            ("\"a\nb\"", "invalid character '\\n' in string literal"),
            (
                "'a'",
                "invalid character '\\'' looking for beginning of value",
            ),
            ("é", "invalid character 'Ã' looking for beginning of value"),
        ] {
            assert_eq!(error(text), want);
        }
    }

    #[test]
    fn deep_nesting_is_read_without_recursion() {
        assert_eq!(error(&"[".repeat(10_001)), "exceeded max depth");
        let text = format!("{}{}", "[".repeat(9_000), "]".repeat(9_000));
        assert_eq!(error(&text), "accepted");
    }
}
