//! Bodies in protobuf, which the generated clients of Go send: decoded to the JSON that the same
//! client would have sent otherwise.
//!
//! The envelope is `k8s\0` and a `runtime.Unknown`
//! (<https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding>). Answers go out as
//! JSON, which these clients accept.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::structs::{Field, Shape, Types, is_empty};

/// Messages within messages.
const DEPTH_LIMIT: usize = 64;

/// A body that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProtobufError {
    #[error(
        "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
    )]
    Prefix,
    #[error("unexpected EOF")]
    End,
    #[error("illegal wireType {0}")]
    Wire(u8),
    #[error("no kind \"{kind}\" is registered for version \"{version}\"")]
    Kind { kind: String, version: String },
    #[error("nested too deeply")]
    Depth,
}

/// Decodes a body.
pub(crate) fn decode(body: &[u8]) -> Result<Value, ProtobufError> {
    let rest = body.strip_prefix(b"k8s\0").ok_or(ProtobufError::Prefix)?;
    let (mut version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for part in parts(rest) {
        match part? {
            (1, Wire::Bytes(meta)) => {
                for part in parts(meta) {
                    match part? {
                        (1, Wire::Bytes(text)) => version = text_of(text),
                        (2, Wire::Bytes(text)) => kind = text_of(text),
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let types = Types::get();
    let Some(message) = types.of_kind(&version, &kind) else {
        return Err(ProtobufError::Kind { kind, version });
    };
    let mut object = message_of(types, message, raw, 0)?;
    object.insert("apiVersion".into(), version.into());
    object.insert("kind".into(), kind.into());
    Ok(Value::Object(object))
}

enum Wire<'a> {
    Number(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32,
}

type Part<'a> = Result<(u32, Wire<'a>), ProtobufError>;

/// The fields of a message, in order.
fn parts(bytes: &[u8]) -> impl Iterator<Item = Part<'_>> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let part = part(&mut rest);
        if part.is_err() {
            rest = &[];
        }
        Some(part)
    })
}

fn part<'a>(rest: &mut &'a [u8]) -> Part<'a> {
    let key = varint(rest)?;
    let number = u32::try_from(key >> 3).map_err(|_| ProtobufError::End)?;
    let wire = match key & 7 {
        0 => Wire::Number(varint(rest)?),
        1 => {
            let bytes = take(rest, 8)?;
            let bytes = <[u8; 8]>::try_from(bytes).map_err(|_| ProtobufError::End)?;
            Wire::Fixed64(u64::from_le_bytes(bytes))
        }
        2 => {
            let length = varint(rest)?;
            let length = usize::try_from(length).map_err(|_| ProtobufError::End)?;
            Wire::Bytes(take(rest, length)?)
        }
        5 => {
            take(rest, 4)?;
            Wire::Fixed32
        }
        other => return Err(ProtobufError::Wire(u8::try_from(other).unwrap_or(7))),
    };
    Ok((number, wire))
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], ProtobufError> {
    let (taken, tail) = rest.split_at_checked(length).ok_or(ProtobufError::End)?;
    *rest = tail;
    Ok(taken)
}

fn varint(rest: &mut &[u8]) -> Result<u64, ProtobufError> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, tail) = rest.split_first().ok_or(ProtobufError::End)?;
        *rest = tail;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(ProtobufError::End)
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn message_of(
    types: &Types,
    message: &str,
    bytes: &[u8],
    depth: usize,
) -> Result<Map<String, Value>, ProtobufError> {
    if depth > DEPTH_LIMIT {
        return Err(ProtobufError::Depth);
    }
    let fields = types.fields(message);
    let mut object = Map::new();
    for part in parts(bytes) {
        let (number, wire) = part?;
        let Some(field) = fields.iter().find(|field| field.number == number) else {
            continue;
        };
        if field.inline() {
            if let (Shape::Message(inner), Wire::Bytes(bytes)) = (Shape::of(&field.of), wire) {
                object.extend(message_of(types, inner, bytes, depth + 1)?);
            }
            continue;
        }
        put(types, &mut object, field, wire, depth)?;
    }
    for field in fields {
        if field.omitted_when_empty() && object.get(&field.name).is_some_and(is_empty) {
            object.remove(&field.name);
        }
    }
    Ok(object)
}

fn put(
    types: &Types,
    object: &mut Map<String, Value>,
    field: &Field,
    wire: Wire<'_>,
    depth: usize,
) -> Result<(), ProtobufError> {
    if let (Shape::Map(of), Wire::Bytes(entry)) = (Shape::of(&field.of), &wire) {
        let (mut key, mut value) = (String::new(), Value::Null);
        for part in parts(entry) {
            match part? {
                (1, Wire::Bytes(text)) => key = text_of(text),
                (2, wire) => value = value_of(types, of, wire, depth)?,
                _ => {}
            }
        }
        let slot = object
            .entry(field.name.clone())
            .or_insert_with(|| json!({}));
        if let Some(map) = slot.as_object_mut() {
            map.insert(key, value);
        }
        return Ok(());
    }
    let value = value_of(types, &field.of, wire, depth)?;
    if field.repeated() {
        let slot = object
            .entry(field.name.clone())
            .or_insert_with(|| json!([]));
        if let Some(items) = slot.as_array_mut() {
            items.push(value);
        }
    } else {
        object.insert(field.name.clone(), value);
    }
    Ok(())
}

fn value_of(types: &Types, of: &str, wire: Wire<'_>, depth: usize) -> Result<Value, ProtobufError> {
    use base64::Engine as _;
    Ok(match (Shape::of(of), wire) {
        (Shape::Bool, Wire::Number(number)) => json!(number != 0),
        (_, Wire::Number(number)) => json!(signed(number)),
        (Shape::Double, Wire::Fixed64(bits)) => json!(f64::from_bits(bits)),
        (Shape::String, Wire::Bytes(bytes)) => json!(text_of(bytes)),
        (Shape::Bytes, Wire::Bytes(bytes)) => {
            json!(base64::engine::general_purpose::STANDARD.encode(bytes))
        }
        (Shape::Time, Wire::Bytes(bytes)) => time(bytes, "%Y-%m-%dT%H:%M:%SZ")?,
        (Shape::MicroTime, Wire::Bytes(bytes)) => time(bytes, "%Y-%m-%dT%H:%M:%S%.6fZ")?,
        (Shape::Duration, Wire::Bytes(bytes)) => {
            let nanos = number_in(bytes, 1)?;
            json!(format!("{}s", nanos / 1_000_000_000))
        }
        (Shape::Quantity, Wire::Bytes(bytes)) => json!(text_in(bytes, 1)?),
        (Shape::IntOrString, Wire::Bytes(bytes)) => {
            if number_in(bytes, 1)? == 1 {
                json!(text_in(bytes, 3)?)
            } else {
                json!(number_in(bytes, 2)?)
            }
        }
        (Shape::Raw, Wire::Bytes(bytes)) => {
            let mut raw = Value::Null;
            for part in parts(bytes) {
                if let (1, Wire::Bytes(text)) = part? {
                    raw = serde_json::from_slice(text).unwrap_or_default();
                }
            }
            raw
        }
        (Shape::Message(name), Wire::Bytes(bytes)) => {
            Value::Object(message_of(types, name, bytes, depth + 1)?)
        }
        (Shape::List(item), Wire::Bytes(bytes)) => {
            let mut items = Vec::new();
            for part in parts(bytes) {
                if let (1, wire) = part? {
                    items.push(value_of(types, item, wire, depth + 1)?);
                }
            }
            Value::Array(items)
        }
        (Shape::Either(name), Wire::Bytes(bytes)) => {
            let mut found = Value::Bool(false);
            for part in parts(bytes) {
                match part? {
                    (1 | 2, Wire::Bytes(bytes)) => {
                        found = Value::Object(message_of(types, name, bytes, depth + 1)?);
                    }
                    (1, Wire::Number(number)) if !found.is_object() => found = json!(number != 0),
                    _ => {}
                }
            }
            found
        }
        _ => Value::Null,
    })
}

/// A number of two's complement.
fn signed(number: u64) -> i64 {
    i64::from_le_bytes(number.to_le_bytes())
}

fn number_in(bytes: &[u8], wanted: u32) -> Result<i64, ProtobufError> {
    let mut found = 0;
    for part in parts(bytes) {
        if let (number, Wire::Number(value)) = part?
            && number == wanted
        {
            found = signed(value);
        }
    }
    Ok(found)
}

fn text_in(bytes: &[u8], wanted: u32) -> Result<String, ProtobufError> {
    let mut found = String::new();
    for part in parts(bytes) {
        if let (number, Wire::Bytes(value)) = part?
            && number == wanted
        {
            found = text_of(value);
        }
    }
    Ok(found)
}

/// Seconds and nanoseconds; an empty message is no time.
fn time(bytes: &[u8], format: &str) -> Result<Value, ProtobufError> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (seconds, nanos) = (number_in(bytes, 1)?, number_in(bytes, 2)?);
    let nanos = i32::try_from(nanos).unwrap_or(0);
    Ok(match Timestamp::new(seconds, nanos) {
        Ok(time) => json!(time.strftime(format).to_string()),
        Err(_) => Value::Null,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field of bytes.
    fn bytes(number: u8, content: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2, u8::try_from(content.len()).unwrap()];
        out.extend_from_slice(content);
        out
    }

    fn envelope(version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
        let meta = [bytes(1, version.as_bytes()), bytes(2, kind.as_bytes())].concat();
        [b"k8s\0".to_vec(), bytes(1, &meta), bytes(2, raw)].concat()
    }

    #[test]
    fn reads_what_the_numbers_say() {
        // Field numbers from k8s.io/api/core/v1/generated.proto: Secret.data 2, type 3,
        // stringData 4, immutable 5; ObjectMeta.name 1, creationTimestamp 8.
        let metadata = [bytes(1, b"x"), bytes(8, b"")].concat();
        let entry = [bytes(1, b"k"), bytes(2, b"v")].concat();
        let raw = [
            bytes(1, &metadata),
            bytes(2, &entry),
            bytes(3, b""),
            vec![5 << 3, 0],
        ]
        .concat();
        let secret = decode(&envelope("v1", "Secret", &raw)).unwrap();
        assert_eq!(
            secret,
            json!({
                "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"},
                "data": {"k": "dg=="}, "immutable": false,
            })
        );
    }

    #[test]
    fn broken_bodies_are_refused() {
        assert_eq!(decode(b"{}"), Err(ProtobufError::Prefix));
        let mut cut = envelope("v1", "Secret", &bytes(1, b"abc"));
        cut.pop();
        assert_eq!(decode(&cut), Err(ProtobufError::End));
        assert!(matches!(
            decode(&envelope("v9", "X", b"")),
            Err(ProtobufError::Kind { .. })
        ));
    }
}
