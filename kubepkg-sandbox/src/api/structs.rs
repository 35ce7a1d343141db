//! The Go types of the built-in kinds: which fields they have, of which types, in which order, and how
//! protobuf numbers them.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::OnceLock;

use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Written by `tools/protobuf-fields`.
static RECORDED: &[u8] = include_bytes!("data/types.json.gz");

/// All types.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Types {
    kinds: BTreeMap<String, String>,
    messages: BTreeMap<String, Option<Vec<Field>>>,
}

/// One field of a message.
#[derive(Debug, Deserialize)]
pub(crate) struct Field {
    #[serde(rename = "n")]
    pub(crate) number: u32,
    /// Its name in JSON; empty when its own fields stand in its place.
    #[serde(rename = "j")]
    pub(crate) name: String,
    #[serde(rename = "t")]
    pub(crate) of: String,
    /// `r`: repeated, `o`: left out when empty, `i`: inline, `p`: a pointer.
    #[serde(rename = "f", default)]
    flags: String,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape<'a> {
    String,
    Bool,
    Int32,
    Int64,
    Double,
    Bytes,
    Time,
    MicroTime,
    Duration,
    Quantity,
    IntOrString,
    Raw,
    Message(&'a str),
    /// A message, or a boolean or a list in its place.
    Either(&'a str),
    /// A list that is a type of its own.
    List(&'a str),
    Map(&'a str),
}

impl<'a> Shape<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        match text {
            "bool" => Self::Bool,
            "int32" => Self::Int32,
            "int64" => Self::Int64,
            "double" => Self::Double,
            "bytes" => Self::Bytes,
            "time" => Self::Time,
            "microtime" => Self::MicroTime,
            "duration" => Self::Duration,
            "quantity" => Self::Quantity,
            "intorstring" => Self::IntOrString,
            "raw" => Self::Raw,
            other => match other.split_once(':') {
                Some(("m", name)) => Self::Message(name),
                Some(("e", name)) => Self::Either(name),
                Some(("l", item)) => Self::List(unnamed(item)),
                Some(("x", value)) => Self::Map(unnamed(value)),
                _ => Self::String,
            },
        }
    }
}

/// What a list or a map holds, without its own name.
fn unnamed(of: &str) -> &str {
    of.split_once('=').map_or(of, |(_, item)| item)
}

/// The name of a list or a map that has one.
pub(crate) fn name_of(of: &str) -> Option<&str> {
    let (name, _) = of.split_once('=')?;
    name.strip_prefix("l:").or_else(|| name.strip_prefix("x:"))
}

impl Shape<'_> {
    /// The value that nobody has written: of a structure, one without fields.
    pub(crate) fn zero(self) -> Value {
        match self {
            Self::String => "".into(),
            Self::Quantity => "0".into(),
            Self::Bool => false.into(),
            Self::Int32 | Self::Int64 | Self::Double | Self::IntOrString => 0.into(),
            Self::Message(_) => json!({}),
            _ => Value::Null,
        }
    }
}

impl Field {
    pub(crate) fn repeated(&self) -> bool {
        self.flags.contains('r')
    }

    pub(crate) fn omitted_when_empty(&self) -> bool {
        self.flags.contains('o')
    }

    fn pointer(&self) -> bool {
        self.flags.contains('p')
    }

    pub(crate) fn inline(&self) -> bool {
        self.flags.contains('i')
    }
}

impl Types {
    /// The types of Kubernetes 1.36.
    pub(crate) fn get() -> &'static Self {
        static TYPES: OnceLock<Types> = OnceLock::new();
        TYPES.get_or_init(|| {
            let mut text = Vec::new();
            // The data is part of the program; a test reads it, so neither step fails.
            let read = GzDecoder::new(RECORDED).read_to_end(&mut text);
            let types = read.ok().and_then(|_| serde_json::from_slice(&text).ok());
            types.unwrap_or_default()
        })
    }

    /// The message of a kind.
    pub(crate) fn of_kind(&self, api_version: &str, kind: &str) -> Option<&str> {
        let key = format!("{api_version} {kind}");
        self.kinds.get(&key).map(String::as_str)
    }

    /// Whether a message is that of a kind.
    pub(crate) fn is_kind(&self, message: &str) -> bool {
        self.kinds.values().any(|known| known == message)
    }

    /// The fields of a message.
    pub(crate) fn fields(&self, message: &str) -> &[Field] {
        let fields = self.messages.get(message).and_then(Option::as_ref);
        fields.map(Vec::as_slice).unwrap_or_default()
    }

    /// The object of a message that nobody has written into, as Go prints it.
    pub(crate) fn zero(&self, message: &str) -> Map<String, Value> {
        let mut object = Map::new();
        self.add_zeros(message, &mut object);
        object
    }

    /// Adds the fields of such an object that are not there.
    fn add_zeros(&self, message: &str, object: &mut Map<String, Value>) {
        for field in self.fields(message) {
            if field.pointer() || field.omitted_when_empty() {
                continue;
            }
            let shape = Shape::of(&field.of);
            if let (Shape::Message(inner), true) = (shape, field.inline()) {
                self.add_zeros(inner, object);
                continue;
            }
            if object.contains_key(&field.name) {
                continue;
            }
            let value = match shape {
                _ if field.repeated() => Value::Null,
                Shape::Message(inner) => Value::Object(self.zero(inner)),
                shape => shape.zero(),
            };
            object.insert(field.name.clone(), value);
        }
    }

    /// Adds what Go prints even when nobody has written it.
    pub(crate) fn fill(&self, message: &str, value: &mut Value) {
        let Some(object) = value.as_object_mut() else {
            return;
        };
        self.add_zeros(message, object);
        for (name, value) in object.iter_mut() {
            if let Some(field) = self.field(message, name) {
                each_message(&field.of, value, &mut |inner, value| {
                    self.fill(inner, value);
                });
            }
        }
    }

    /// Takes away what says nothing: nulls, and empty fields that may be left out. [`Self::fill`] adds what Go prints
    /// all the same.
    pub(crate) fn tidy(&self, message: &str, value: &mut Value) {
        let Some(object) = value.as_object_mut() else {
            return;
        };
        object.retain(|name, value: &mut Value| {
            let Some(field) = self.field(message, name) else {
                return true;
            };
            each_message(&field.of, value, &mut |inner, value| {
                self.tidy(inner, value);
            });
            !(value.is_null() || field.omitted_when_empty() && is_empty(value))
        });
    }

    /// Makes null of lists that are empty and printed all the same, as protobuf does, in which they are stored.
    pub(crate) fn store(&self, message: &str, value: &mut Value) {
        let Some(object) = value.as_object_mut() else {
            return;
        };
        for (name, value) in object.iter_mut() {
            let Some(field) = self.field(message, name) else {
                continue;
            };
            if field.repeated() && value.as_array().is_some_and(Vec::is_empty) {
                *value = Value::Null;
            }
            each_message(&field.of, value, &mut |inner, value| {
                self.store(inner, value);
            });
        }
    }

    /// A value of a message as Go writes it: fields in the order of the structure.
    pub(crate) fn written(&self, message: &str, value: &Value) -> String {
        let mut out = String::new();
        self.write_message(message, value, &mut out);
        out
    }

    fn write_message(&self, message: &str, value: &Value, out: &mut String) {
        let Some(object) = value.as_object() else {
            out.push_str(&value.to_string());
            return;
        };
        let mut order = Vec::new();
        self.names(message, &mut order);
        if self.is_kind(message) {
            // Kind and version of an object come first.
            order.splice(0..0, ["kind", "apiVersion"]);
        }
        let mut all: Vec<(&String, &Value)> = object.iter().collect();
        let place = |name: &str| order.iter().position(|one| *one == name);
        all.sort_by_key(|(name, _)| place(name).unwrap_or(usize::MAX));
        write_object(
            all,
            out,
            &|name, value, out| match self.field(message, name) {
                Some(field) => self.write_value(&field.of, value, out),
                None => out.push_str(&value.to_string()),
            },
        );
    }

    fn write_value(&self, of: &str, value: &Value, out: &mut String) {
        match (Shape::of(of), value) {
            (Shape::Message(inner) | Shape::Either(inner), Value::Object(_)) => {
                self.write_message(inner, value, out);
            }
            (Shape::Map(item), Value::Object(entries)) => {
                let entries = entries.iter().collect();
                write_object(entries, out, &|_, value, out| {
                    self.write_value(item, value, out);
                });
            }
            (shape, Value::Array(items)) => {
                let of = match shape {
                    Shape::List(item) => item,
                    _ => of,
                };
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    self.write_value(of, item, out);
                }
                out.push(']');
            }
            _ => out.push_str(&value.to_string()),
        }
    }

    /// The fields of a message in Go's order, those of inline structures in their places.
    fn names<'a>(&'a self, message: &str, names: &mut Vec<&'a str>) {
        for field in self.fields(message) {
            match Shape::of(&field.of) {
                Shape::Message(inner) if field.inline() => self.names(inner, names),
                _ => names.push(&field.name),
            }
        }
    }

    /// The field of this name in JSON, inline ones searched too.
    pub(crate) fn field(&self, message: &str, name: &str) -> Option<&Field> {
        self.field_within(message, name, &mut Vec::new())
    }

    /// The same, with the names of the structures in which it stands though it shows among the others.
    pub(crate) fn field_within<'t>(
        &'t self,
        message: &str,
        name: &str,
        within: &mut Vec<&'t str>,
    ) -> Option<&'t Field> {
        let fields = self.fields(message);
        let own = fields
            .iter()
            .find(|field| field.name == name && !field.inline());
        own.or_else(|| {
            let mut inline = fields.iter().filter(|field| field.inline());
            inline.find_map(|field| match Shape::of(&field.of) {
                Shape::Message(inner) => {
                    within.push(inner.rsplit('.').next().unwrap_or_default());
                    let found = self.field_within(inner, name, within);
                    if found.is_none() {
                        within.pop();
                    }
                    found
                }
                _ => None,
            })
        })
    }
}

fn write_object(
    entries: Vec<(&String, &Value)>,
    out: &mut String,
    write: &dyn Fn(&str, &Value, &mut String),
) {
    out.push('{');
    for (index, (name, value)) in entries.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(&Value::from(name.as_str()).to_string());
        out.push(':');
        write(name, value, out);
    }
    out.push('}');
}

/// Does something to every message in the value of a field.
fn each_message(of: &str, value: &mut Value, act: &mut dyn FnMut(&str, &mut Value)) {
    match (Shape::of(of), value) {
        (Shape::Message(inner) | Shape::Either(inner), Value::Array(items)) => {
            for item in items {
                act(inner, item);
            }
        }
        (Shape::Message(inner) | Shape::Either(inner), value) => act(inner, value),
        (Shape::List(item), Value::Array(items)) => {
            for value in items {
                each_message(item, value, act);
            }
        }
        (Shape::Map(item), Value::Object(entries)) => {
            for value in entries.values_mut() {
                each_message(item, value, act);
            }
        }
        _ => {}
    }
}

/// What Go's `omitempty` leaves out.
pub(crate) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_written_in_the_order_of_the_structure() {
        const META: &str = "k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta";
        let value = json!({
            "finalizers": ["a"], "name": "x", "labels": {"b": "1", "a": "2"},
            "ownerReferences": [{"controller": true, "uid": "u", "kind": "K", "apiVersion": "v1"}],
        });
        let types = Types::get();
        assert_eq!(
            types.written(META, &value),
            r#"{"name":"x","labels":{"a":"2","b":"1"},"ownerReferences":[{"apiVersion":"v1","kind":"K","uid":"u","controller":true}],"finalizers":["a"]}"#
        );
    }
}
