//! YAML, JSON and TOML: Helm's functions and the JSON functions of Sprig that Helm keeps.

use super::args::{any, bytes, panic, text};
use crate::collection::{List, Map};
use crate::context::Context;
use crate::func::{FuncError, FuncPtr, FuncResult, Function, Signature};
use crate::gotype::{ANY, MAP_ANY, SLICE_ANY, STRING};
use crate::json::{self, Style};
use crate::toml::{self, EncodeError};
use crate::value::{ToJsonError, Value};
use crate::yaml;

/// Functions of this module.
pub(super) fn table() -> Vec<Function> {
    let write = Signature::new(types!(ANY), &STRING);
    let read_any = Signature::new(types!(STRING), &ANY);
    let read_map = Signature::new(types!(STRING), &MAP_ANY);
    let read_list = Signature::new(types!(STRING), &SLICE_ANY);
    let entries: [(&'static str, Signature, FuncPtr); 17] = [
        ("fromJson", read_map, |ctx, args| {
            Ok(map_or_error(json::decode_map(read(ctx, args)?)))
        }),
        ("fromJsonArray", read_list, |ctx, args| {
            Ok(list_or_error(json::decode_list(read(ctx, args)?)))
        }),
        ("fromToml", read_map, |ctx, args| {
            Ok(map_or_error(toml::decode(read(ctx, args)?)))
        }),
        ("fromYaml", read_map, |ctx, args| {
            Ok(map_or_error(yaml::decode_map(read(ctx, args)?)))
        }),
        ("fromYamlArray", read_list, |ctx, args| {
            Ok(list_or_error(yaml::decode_list(read(ctx, args)?)))
        }),
        ("mustFromJson", read_any, |ctx, args| {
            let decoded = json::decode(read(ctx, args)?).map_err(FuncError::new)?;
            match decoded.complaint {
                Some(complaint) => Err(FuncError::new(complaint)),
                None => Ok(decoded.value),
            }
        }),
        ("mustToJson", write, |_, args| {
            must_json(args, Style::COMPACT)
        }),
        ("mustToPrettyJson", write, |_, args| {
            must_json(args, Style::PRETTY)
        }),
        ("mustToRawJson", write, |_, args| {
            must_json(args, Style::RAW)
        }),
        ("mustToToml", write, |ctx, args| to_toml(ctx, args, true)),
        ("mustToYaml", write, |_, args| {
            yaml::encode(any(args, 0))
                .map(bytes)
                .map_err(FuncError::new)
        }),
        ("toJson", write, |_, args| {
            Ok(json_or_empty(args, Style::COMPACT))
        }),
        ("toPrettyJson", write, |_, args| {
            Ok(json_or_empty(args, Style::PRETTY))
        }),
        ("toRawJson", write, |_, args| must_json(args, Style::RAW)),
        ("toToml", write, |ctx, args| to_toml(ctx, args, false)),
        ("toYaml", write, |_, args| {
            Ok(bytes(yaml::encode(any(args, 0)).unwrap_or_default()))
        }),
        ("toYamlPretty", write, |_, args| {
            yaml::encode_pretty(any(args, 0)).map(bytes).map_err(panic)
        }),
    ];
    entries
        .into_iter()
        .map(|(name, signature, call)| Function::plain(name, signature, call))
        .collect()
}

/// The text to be read. A byte of it can become a value of many, so every one is paid for.
fn read<'a>(ctx: &mut Context<'_>, args: &'a [Value]) -> Result<&'a [u8], FuncError> {
    let source = text(args, 0);
    ctx.charge(source.len() as u64)?;
    Ok(source)
}

/// Helm puts an error under the key `Error` of what was read so far.
fn map_or_error((map, error): (Map, Option<String>)) -> Value {
    if let Some(error) = error {
        map.insert("Error".into(), bytes(error));
    }
    Value::Map(map)
}

/// Helm answers with a list of the error alone.
fn list_or_error((list, error): (List, Option<String>)) -> Value {
    Value::List(error.map_or(list, |error| List::new(vec![bytes(error)])))
}

/// Go finds a cycle where we find great depth.
fn complaint(error: &ToJsonError, value: &Value) -> String {
    match error {
        ToJsonError::TooDeep => {
            format!(
                "json: unsupported value: encountered a cycle via {}",
                value.type_name()
            )
        }
        other => other.to_string(),
    }
}

fn must_json(args: &[Value], style: Style) -> FuncResult {
    let value = any(args, 0);
    json::encode(value, style)
        .map(bytes)
        .map_err(|error| FuncError::new(complaint(&error, value)))
}

fn json_or_empty(args: &[Value], style: Style) -> Value {
    bytes(json::encode(any(args, 0), style).unwrap_or_default())
}

fn to_toml(_: &mut Context<'_>, args: &[Value], must: bool) -> FuncResult {
    match toml::encode(any(args, 0)) {
        Ok(text) => Ok(bytes(text)),
        Err(EncodeError::Panic(text)) => Err(panic(text)),
        Err(EncodeError::Refused(text)) if must => Err(FuncError::new(text)),
        Err(EncodeError::Refused(text)) => Ok(bytes(text)),
    }
}
