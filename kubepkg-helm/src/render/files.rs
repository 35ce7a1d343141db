//! `.Files`: the files of a chart that are neither templates nor read by Helm itself.

use std::sync::Arc;

use kubepkg_gotemplate::gotype::{self, BYTES, SLICE_STRING, STRING, Type};
use kubepkg_gotemplate::{
    Context, Entries, FuncError, FuncResult, GoBytes, GoString, List, Map, Method, Value,
};

use super::yaml_of;
use crate::chart::ChartFile;
use crate::go::glob::Glob;
use crate::go::path::base;

/// `engine.files`
static FILES: Type = Type::defined("engine.files", &gotype::MAP_BYTES, METHODS);

static METHODS: &[Method] = &[
    Method::new("GetBytes", &[&STRING], &BYTES, get_bytes),
    Method::new("Get", &[&STRING], &STRING, get),
    Method::new("Glob", &[&STRING], &FILES, glob),
    Method::new("AsConfig", &[], &STRING, as_config),
    Method::new("AsSecrets", &[], &STRING, as_secrets),
    Method::new("Lines", &[&STRING], &SLICE_STRING, lines),
];

/// The files of a chart as a template sees them.
pub(super) fn files(files: &[ChartFile]) -> Value {
    let bytes =
        |file: &ChartFile| Value::Bytes(GoBytes::new(GoString::from(Arc::clone(&file.data))));
    let entries = files
        .iter()
        .map(|file| (GoString::from(file.name.as_str()), bytes(file)))
        .collect();
    Value::Map(Map::from_entries(&FILES, entries))
}

fn receiver(value: &Value) -> Result<&Map, FuncError> {
    value
        .as_map()
        .ok_or_else(|| FuncError::new("not a set of files"))
}

fn argument(arguments: &[Value]) -> Result<&GoString, FuncError> {
    arguments
        .first()
        .and_then(Value::as_string)
        .ok_or_else(|| FuncError::new("expected string"))
}

fn content(receiver: &Value, name: &GoString) -> Result<Option<GoBytes>, FuncError> {
    Ok(match self::receiver(receiver)?.get(name.as_bytes()) {
        Some(Value::Bytes(bytes)) => Some(bytes),
        _ => None,
    })
}

fn get_bytes(_: &mut Context<'_>, files: &Value, arguments: &[Value]) -> FuncResult {
    let found = content(files, argument(arguments)?)?;
    Ok(Value::Bytes(found.unwrap_or_else(|| GoBytes::new(""))))
}

fn get(_: &mut Context<'_>, files: &Value, arguments: &[Value]) -> FuncResult {
    let found = content(files, argument(arguments)?)?;
    Ok(Value::String(
        found.map(|bytes| bytes.to_go_string()).unwrap_or_default(),
    ))
}

fn glob(context: &mut Context<'_>, files: &Value, arguments: &[Value]) -> FuncResult {
    let glob = Glob::new(&argument(arguments)?.to_str_lossy());
    let files = receiver(files)?;
    context.charge(files.len() as u64)?;
    let matched: Entries = files
        .borrow()
        .iter()
        .filter(|(name, _)| glob.matches(&name.to_str_lossy()))
        .map(|(name, bytes)| (name.clone(), bytes.clone()))
        .collect();
    Ok(Value::Map(Map::from_entries(&FILES, matched)))
}

/// A map of the files' base names, each content made a text by `text`, as YAML.
fn as_map(files: &Value, text: impl Fn(&GoBytes) -> String) -> FuncResult {
    let mut entries = serde_json::Map::new();
    for (name, bytes) in receiver(files)?.borrow().iter() {
        if let Value::Bytes(bytes) = bytes {
            entries.insert(base(&name.to_str_lossy()).to_owned(), text(bytes).into());
        }
    }
    let yaml = yaml_of(&serde_json::Value::Object(entries)).unwrap_or_default();
    Ok(Value::string(yaml.strip_suffix('\n').unwrap_or(&yaml)))
}

fn as_config(_: &mut Context<'_>, files: &Value, _: &[Value]) -> FuncResult {
    as_map(files, |bytes| {
        let mut text = String::new();
        for chunk in bytes.as_bytes().utf8_chunks() {
            text.push_str(chunk.valid());
            // Go writes one replacement character for each byte that is no UTF-8.
            text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
        }
        text
    })
}

fn as_secrets(_: &mut Context<'_>, files: &Value, _: &[Value]) -> FuncResult {
    as_map(files, GoBytes::to_base64)
}

fn lines(_: &mut Context<'_>, files: &Value, arguments: &[Value]) -> FuncResult {
    let found = content(files, argument(arguments)?)?;
    let bytes = found.unwrap_or_default();
    let text = bytes.as_bytes();
    if text.is_empty() {
        return Ok(Value::List(List::typed(&SLICE_STRING, Vec::new())));
    }
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    Ok(Value::string_list(
        text.split(|byte| *byte == b'\n').map(GoString::from),
    ))
}
