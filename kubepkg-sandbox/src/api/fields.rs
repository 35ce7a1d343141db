//! Fields that are there twice, and fields that no schema knows.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Number, Value};

use super::decode;
use super::kind::Kind;
use super::quantity;
use super::structs::{self, Field, Shape, Types};
use super::times;

/// Reads JSON and says which fields are there more than once; the last one counts.
pub(crate) fn parse(body: &[u8]) -> Result<(Value, Vec<String>), String> {
    let mut notes = Notes::default();
    let value = read(body, &mut notes)?;
    Ok((value, notes.duplicates))
}

/// The same as Go reads it into a structure: what is in several objects of one name counts.
pub(crate) fn parse_merging(body: &[u8]) -> Result<(Value, Vec<String>), String> {
    let mut notes = Notes {
        merging: true,
        ..Notes::default()
    };
    let value = read(body, &mut notes)?;
    Ok((value, notes.duplicates))
}

/// Where these fields are in a document, each as often as it is there.
pub(crate) fn in_order(body: &[u8], wanted: BTreeSet<String>) -> Vec<String> {
    let mut notes = Notes {
        wanted,
        ..Notes::default()
    };
    // A document that cannot be read has no order.
    match read(body, &mut notes) {
        Ok(_) => notes.found,
        Err(_) => Vec::new(),
    }
}

fn read(body: &[u8], notes: &mut Notes) -> Result<Value, String> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let seed = Seed {
        path: String::new(),
        notes,
    };
    let value = seed
        .deserialize(&mut reader)
        .map_err(|error| go_message(&error, body))?;
    match reader.end() {
        Ok(()) => Ok(value),
        Err(error) => Err(go_trailing(&error, body)),
    }
}

/// What is looked for while a document is read, and what was found.
#[derive(Debug, Default)]
struct Notes {
    duplicates: Vec<String>,
    merging: bool,
    wanted: BTreeSet<String>,
    found: Vec<String>,
}

/// What Go's decoder says of more than one value.
fn go_trailing(error: &serde_json::Error, body: &[u8]) -> String {
    match body.get(place_of(error, body)) {
        Some(byte) => format!(
            "invalid character '{}' after top-level value",
            char::from(*byte)
        ),
        None => error.to_string(),
    }
}

/// Which byte an error is about.
fn place_of(error: &serde_json::Error, body: &[u8]) -> usize {
    let before: usize = body
        .split_inclusive(|byte| *byte == b'\n')
        .take(error.line().saturating_sub(1))
        .map(<[u8]>::len)
        .sum();
    before + error.column().saturating_sub(1)
}

/// What Go's decoder says.
fn go_message(error: &serde_json::Error, body: &[u8]) -> String {
    if error.is_eof() {
        return "unexpected end of JSON input".to_owned();
    }
    let at = place_of(error, body);
    match body.get(at) {
        Some(byte) if at == 0 => format!(
            "invalid character '{}' looking for beginning of value",
            char::from(*byte)
        ),
        Some(byte) => format!("invalid character '{}' in literal", char::from(*byte)),
        None => error.to_string(),
    }
}

struct Seed<'a> {
    path: String,
    notes: &'a mut Notes,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        loop {
            let path = format!("{}[{}]", self.path, all.len());
            if self.notes.wanted.contains(&path) {
                self.notes.found.push(path.clone());
            }
            let seed = Seed {
                path,
                notes: self.notes,
            };
            match items.next_element_seed(seed)? {
                Some(item) => all.push(item),
                None => return Ok(Value::Array(all)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut all = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let path = if self.path.is_empty() {
                key.clone()
            } else {
                format!("{}.{key}", self.path)
            };
            if self.notes.wanted.contains(&path) {
                self.notes.found.push(path.clone());
            }
            if all.contains_key(&key) {
                self.notes.duplicates.push(path.clone());
                if self.notes.duplicates.len() > 10_000 {
                    return Err(A::Error::custom("too many duplicate fields"));
                }
            }
            let seed = Seed {
                path,
                notes: self.notes,
            };
            let merging = seed.notes.merging;
            let value = entries.next_value_seed(seed)?;
            match (all.get_mut(&key), value) {
                (Some(before), value) if merging => merge(before, value),
                (_, value) => drop(all.insert(key, value)),
            }
        }
        Ok(Value::Object(all))
    }
}

/// What is in both objects counts, and what comes later before what came first.
fn merge(before: &mut Value, later: Value) {
    match (before, later) {
        (Value::Object(before), Value::Object(later)) => {
            for (key, value) in later {
                match before.get_mut(&key) {
                    Some(before) => merge(before, value),
                    None => drop(before.insert(key, value)),
                }
            }
        }
        (before, later) => *before = later,
    }
}

/// Drops fields that the kind does not have and names them. The error says which values have the
/// wrong type, as Go's decoder says it.
pub(crate) fn known(
    kind: &Kind,
    value: &mut Value,
    reading: Reading,
) -> Result<Vec<String>, WrongTypes> {
    let types = Types::get();
    let message = types.of_kind(&kind.api_version(), &kind.kind);
    let Some(message) = message.filter(|_| kind.custom.is_none()) else {
        return Ok(Vec::new());
    };
    let unknown = fit(message, value, reading)?;
    complete(kind, value);
    Ok(unknown)
}

/// An object of the server's own, as it would be read from a client: without what says nothing, and with what Go
/// prints all the same.
pub(crate) fn complete(kind: &Kind, value: &mut Value) {
    let types = Types::get();
    if let Some(message) = types.of_kind(&kind.api_version(), &kind.kind) {
        types.tidy(message, value);
        types.fill(message, value);
    }
}

/// Drops fields that a structure does not have and names them.
pub(crate) fn fit(
    message: &str,
    value: &mut Value,
    reading: Reading,
) -> Result<Vec<String>, WrongTypes> {
    let mut check = Check {
        types: Types::get(),
        unknown: Vec::new(),
        wrong: Vec::new(),
        reading,
    };
    check.message(message, value, "");
    if check.wrong.is_empty() {
        Ok(check.unknown)
    } else {
        Err(WrongTypes(check.wrong))
    }
}

/// How many values of wrong types are looked at for the one that comes first.
const MAX_WRONG: usize = 10_000;

/// Values of wrong types. Go's decoder tells of the first that it comes across, and goes on until a type that reads
/// itself refuses its value: then of that.
#[derive(Debug)]
pub(crate) struct WrongTypes(Vec<Wrong>);

#[derive(Debug)]
struct Wrong {
    path: String,
    why: String,
    /// Whether nothing behind it is read.
    ends: bool,
}

impl WrongTypes {
    /// Of values that nobody has written in an order.
    pub(crate) fn first(&self) -> String {
        let ends = self.0.iter().find(|wrong| wrong.ends);
        let first = ends.or(self.0.first());
        first.map(|wrong| wrong.why.clone()).unwrap_or_default()
    }

    /// The one that stands first in this document.
    pub(crate) fn first_in(&self, body: &[u8]) -> String {
        if self.0.len() < 2 {
            return self.first();
        }
        let ends = self.0.iter().any(|wrong| wrong.ends);
        let told: Vec<&Wrong> = self.0.iter().filter(|wrong| wrong.ends == ends).collect();
        let paths = told.iter().map(|wrong| wrong.path.clone()).collect();
        let found = in_order(body, paths);
        let first = found
            .first()
            .and_then(|path| told.iter().find(|wrong| wrong.path == *path));
        first.map_or_else(|| self.first(), |wrong| wrong.why.clone())
    }
}

/// Which part of Kubernetes reads, which is told by its words for wrong types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// A decoder of JSON.
    Json,
    /// A converter of what a strategic patch has made.
    Converted,
}

/// The same for the metadata of custom resources and of objects in them. Paths in errors start there.
pub(crate) fn known_metadata(meta: &mut Value) -> Result<Vec<String>, String> {
    const MESSAGE: &str = "k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta";
    if !meta.is_object() && !meta.is_null() {
        let found = decode::go_type(meta);
        return Err(format!(
            "json: cannot unmarshal {found} into Go value of type v1.ObjectMeta"
        ));
    }
    fit(MESSAGE, meta, Reading::Json).map_err(|wrong| wrong.first())
}

struct Check<'a> {
    types: &'a Types,
    unknown: Vec<String>,
    wrong: Vec<Wrong>,
    reading: Reading,
}

impl Check<'_> {
    fn message(&mut self, message: &str, value: &mut Value, path: &str) {
        let types = self.types;
        let Some(fields) = value.as_object_mut() else {
            return;
        };
        let mut unknown = Vec::new();
        for (name, value) in fields.iter_mut() {
            let mut within = Vec::new();
            let field = types.field_within(message, name, &mut within);
            let mut path = path.to_owned();
            let within = within.into_iter().map(|name| format!("{WITHIN}{name}"));
            for part in within.chain([name.clone()]) {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(&part);
            }
            match field {
                // An object within another says what it is, too.
                None if matches!(path_end(&path), "apiVersion" | "kind")
                    && types.is_kind(message) =>
                {
                    if !value.is_string() && !value.is_null() {
                        let wrong = Place {
                            message,
                            path: &embedded(&path),
                            reading: self.reading,
                        };
                        self.note(&path, "string", Err(wrong.wrong(value, "string")));
                    }
                }
                None => {
                    unknown.push(name.clone());
                    self.unknown.push(plain(&path));
                }
                Some(field) => {
                    let place = Place {
                        message,
                        path: &path,
                        reading: self.reading,
                    };
                    let fits = self.field(field, value, &place);
                    self.note(&path, &field.of, fits);
                }
            }
        }
        for name in unknown {
            fields.remove(&name);
        }
    }

    /// Goes on after a value of a wrong type.
    fn note(&mut self, path: &str, of: &str, fits: Result<(), String>) {
        if let Err(why) = fits
            && self.wrong.len() < MAX_WRONG
        {
            let ends = matches!(
                Shape::of(of),
                Shape::Quantity | Shape::IntOrString | Shape::Time | Shape::MicroTime
            );
            let path = plain(path);
            self.wrong.push(Wrong { path, why, ends });
        }
    }

    fn field(&mut self, field: &Field, value: &mut Value, place: &Place<'_>) -> Result<(), String> {
        if !field.repeated() {
            return self.value(&field.of, value, place);
        }
        match value {
            Value::Null => Ok(()),
            Value::Array(items) => {
                self.items(&field.of, items, place);
                Ok(())
            }
            other => Err(place.wrong(other, &format!("[]{}", go_name(&field.of)))),
        }
    }

    fn items(&mut self, of: &str, items: &mut [Value], place: &Place<'_>) {
        for (index, item) in items.iter_mut().enumerate() {
            let path = format!("{}[{index}]", place.path);
            self.entry(of, item, &place.at(&path));
        }
    }

    /// A value in a list or a map, where null stands for what nobody has written.
    fn entry(&mut self, of: &str, value: &mut Value, place: &Place<'_>) {
        if value.is_null() {
            *value = match Shape::of(of) {
                Shape::Bytes => "".into(),
                shape => shape.zero(),
            };
        }
        let fits = self.value(of, value, place);
        self.note(place.path, of, fits);
    }

    fn value(&mut self, of: &str, value: &mut Value, place: &Place<'_>) -> Result<(), String> {
        if value.is_null() {
            return Ok(());
        }
        let fits = match Shape::of(of) {
            Shape::String => value.is_string(),
            Shape::Bool => value.is_boolean(),
            Shape::Int32 => value.as_i64().is_some_and(|n| i32::try_from(n).is_ok()),
            Shape::Int64 => value.is_i64(),
            Shape::Double => value.is_number(),
            Shape::Bytes => return bytes(value, place),
            Shape::Time | Shape::MicroTime => match value.as_str() {
                Some(text) => {
                    let micro = Shape::of(of) == Shape::MicroTime;
                    return times::offence(text, micro).map_or(Ok(()), Err);
                }
                None => false,
            },
            Shape::Raw | Shape::Duration => true,
            Shape::IntOrString => {
                let small = value.as_i64().is_some_and(|n| i32::try_from(n).is_ok());
                if value.is_string() || small {
                    return Ok(());
                }
                return Err(place.wrong(value, "int32"));
            }
            Shape::Quantity => {
                let text = match &*value {
                    Value::String(text) => text.clone(),
                    Value::Number(number) => number.to_string(),
                    _ => String::new(),
                };
                *value = quantity::canonical(text.trim())?.into();
                true
            }
            Shape::Message(name) => {
                if value.is_object() {
                    self.message(name, value, place.path);
                    return Ok(());
                }
                if self.reading == Reading::Converted {
                    let found = not_converted(value, "[]");
                    let found = found.rsplit(' ').next().unwrap_or_default();
                    return Err(format!("cannot restore struct from: {found}"));
                }
                false
            }
            Shape::Either(name) => {
                self.either(name, value, place.path);
                true
            }
            Shape::List(item) => match value {
                Value::Array(items) => {
                    self.items(item, items, place);
                    true
                }
                _ => false,
            },
            Shape::Map(item) => match value {
                Value::Object(entries) => {
                    for (key, entry) in entries.iter_mut() {
                        let path = format!("{}{KEY}{}", place.path, key.replace('.', DOT));
                        self.entry(item, entry, &place.at(&path));
                        if Shape::of(item) == Shape::Quantity
                            && let Some(kept) = entry.as_str().and_then(quantity::of_resource)
                        {
                            *entry = kept.into();
                        }
                    }
                    true
                }
                _ => false,
            },
        };
        if fits {
            Ok(())
        } else {
            Err(place.wrong(value, &go_name(of)))
        }
    }

    /// Go reads these apart from the rest: fields that nobody knows are dropped in silence.
    fn either(&mut self, name: &str, value: &mut Value, path: &str) {
        let known = self.unknown.len();
        let all = match value {
            Value::Array(items) => items.as_mut_slice(),
            other => std::slice::from_mut(other),
        };
        for schema in all {
            self.message(name, schema, path);
        }
        self.unknown.truncate(known);
    }
}

/// The last part of a path.
fn path_end(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or_default()
}

/// A path as Go writes it where a field belongs to the type and not to the structure itself.
fn embedded(path: &str) -> String {
    match path.rsplit_once('.') {
        Some((before, name)) => format!("{before}.TypeMeta.{name}"),
        None => path.to_owned(),
    }
}

/// Stands before the key of a map in a path: it is told of fields that nobody knows, not of wrong types.
const KEY: char = '\u{1}';
/// Stands for a dot in such a key.
const DOT: &str = "\u{2}";
/// Stands before a structure whose fields show among the others: it is told of wrong types alone.
const WITHIN: char = '\u{3}';

/// A path as it stands in a document.
fn plain(path: &str) -> String {
    let parts = path.split('.').filter(|part| !part.starts_with(WITHIN));
    let path = parts.collect::<Vec<_>>().join(".");
    path.replace(KEY, ".").replace(DOT, ".")
}

/// Where a value stands.
#[derive(Clone, Copy)]
struct Place<'a> {
    message: &'a str,
    path: &'a str,
    reading: Reading,
}

impl Place<'_> {
    /// A part of it.
    fn at<'p>(&self, path: &'p str) -> Place<'p>
    where
        Self: 'p,
    {
        Place { path, ..*self }
    }

    fn wrong(&self, value: &Value, wanted: &str) -> String {
        if self.reading == Reading::Converted {
            return not_converted(value, wanted);
        }
        let found = match value {
            // Go names the number when it is one of a wrong kind.
            Value::Number(number) if wanted.starts_with("int") || wanted == "uint8" => {
                format!("number {number}")
            }
            other => decode::go_type(other).to_owned(),
        };
        let structure = self.message.rsplit('.').next().unwrap_or_default();
        let path: String = self
            .path
            .split('.')
            .map(|part| part.trim_start_matches(WITHIN))
            .map(|part| part.split(['[', KEY]).next().unwrap_or_default())
            .collect::<Vec<_>>()
            .join(".");
        format!(
            "json: cannot unmarshal {found} into Go struct field {structure}.{path} of type {wanted}"
        )
    }
}

/// What `DefaultUnstructuredConverter` says of a value of a wrong type.
fn not_converted(value: &Value, wanted: &str) -> String {
    let found = match value {
        Value::Bool(_) => "bool",
        Value::String(_) => "string",
        Value::Array(_) => "slice",
        Value::Object(_) => "map",
        Value::Number(number) if number.is_f64() => "float64",
        _ => "int64",
    };
    if wanted.starts_with("[]") {
        return format!("cannot restore slice from {found}");
    }
    if wanted.starts_with("map[") {
        return format!("cannot restore map from {found}");
    }
    match wanted {
        "bool" => "unrecognized type: bool".to_owned(),
        "int32" | "int64" | "float64" if found == "float64" => {
            format!("cannot convert float64 to {wanted}")
        }
        "int32" | "int64" | "float64" => format!("unrecognized type: {wanted}"),
        // Go turns a number into a letter, which the converter refuses.
        _ if found == "int64" => format!("cannot convert int64 to {wanted}"),
        _ => "unrecognized type: string".to_owned(),
    }
}

/// A type as Go writes it.
fn go_name(of: &str) -> String {
    if let Some(named) = of.strip_prefix("s:") {
        return named.to_owned();
    }
    if let Some(named) = structs::name_of(of) {
        return named.to_owned();
    }
    match Shape::of(of) {
        Shape::Bool => "bool".to_owned(),
        Shape::Int32 => "int32".to_owned(),
        Shape::Int64 => "int64".to_owned(),
        Shape::Double => "float64".to_owned(),
        Shape::Message(name) => name.rsplit('/').next().unwrap_or_default().to_owned(),
        Shape::List(item) => format!("[]{}", go_name(item)),
        Shape::Map("bytes") => "map[string][]uint8".to_owned(),
        Shape::Map(item) => format!("map[string]{}", go_name(item)),
        _ => "string".to_owned(),
    }
}

/// Bytes are base64 in JSON, which is written anew: without line breaks and bits that say nothing. A list of numbers
/// is bytes, too.
fn bytes(value: &mut Value, place: &Place<'_>) -> Result<(), String> {
    use base64::Engine as _;
    let bytes = match &*value {
        Value::String(text) => {
            kubepkg_yaml::decode_base64(text.as_bytes()).map_err(|error| error.to_string())?
        }
        Value::Array(items) => {
            let byte = |item: &Value| {
                let number = if item.is_null() {
                    Some(0)
                } else {
                    item.as_u64()
                };
                let byte = number.and_then(|number| u8::try_from(number).ok());
                byte.ok_or_else(|| place.wrong(item, "uint8"))
            };
            items.iter().map(byte).collect::<Result<Vec<u8>, _>>()?
        }
        other => return Err(place.wrong(other, "[]uint8")),
    };
    *value = base64::engine::general_purpose::STANDARD
        .encode(bytes)
        .into();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_of_two_fields_counts_and_is_named() {
        let (value, duplicates) = parse(br#"{"a":{"b":1,"b":2},"c":[{"d":1,"d":1}]}"#).unwrap();
        assert_eq!(value, json!({"a": {"b": 2}, "c": [{"d": 1}]}));
        assert_eq!(duplicates, ["a.b", "c[0].d"]);
    }

    #[test]
    fn broken_text_is_named_as_go_names_it() {
        let message = |text: &str| parse(text.as_bytes()).unwrap_err();
        assert_eq!(message(r#"{"a":"#), "unexpected end of JSON input");
        assert_eq!(
            message("meta"),
            "invalid character 'm' looking for beginning of value"
        );
    }
}
