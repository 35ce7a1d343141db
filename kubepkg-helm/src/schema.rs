//! `values.schema.json`: whether a chart's values are what the chart asks for, in Helm's words.
//!
//! Every chart of the tree that has a schema is asked about its own part of the values. References are resolved
//! inside the schema only: `urn:` references are taken as "anything" as Helm does, `http:` and `https:` ones are
//! refused, because rendering never reaches the network (Helm would fetch them). Refused, too, are schemas that take more
//! steps than any honest one does (`cost.rs`).

mod cost;
mod formats;
mod kept;
mod message;
mod place;
mod plain;

use std::error::Error;

use boon::{CompileError, Compiler, Schemas, SchemeUrlLoader, UrlLoader};
use serde_json::Value;

use crate::beside::beside;
use crate::chart::Chart;
use crate::go::json::syntax_error;
use crate::go::text::quote;
use crate::values::{Values, short_object};
use kept::{Compiled, Schema};

/// Where a chart's schema stands, as the messages name it.
const LOCATION: &str = "file:///values.schema.json";

/// Checks the values of a chart and of its subcharts.
///
/// # Errors
/// One block for each chart that complains: its name, then what is wrong, a line each.
fn validate(chart: &Chart, values: &serde_json::Map<String, Value>) -> Result<(), String> {
    let mut complaints = String::new();
    if let Some(schema) = &chart.schema
        && let Err(complaint) = validate_here(schema, values)
    {
        complaints.push_str(chart.name());
        complaints.push_str(":\n");
        complaints.push_str(&complaint);
    }
    for subchart in &chart.dependencies {
        let name = subchart.name();
        match values.get(name) {
            None | Some(Value::Null) => {}
            Some(Value::Object(values)) => {
                if let Err(complaint) = validate(subchart, values) {
                    complaints.push_str(&complaint);
                }
            }
            Some(other) => {
                let kind = match other {
                    Value::Bool(_) => "bool",
                    Value::Number(number) if number.is_f64() => "float64",
                    Value::Number(_) => "int64",
                    Value::String(_) => "string",
                    _ => "[]interface {}",
                };
                for part in [
                    name,
                    ":\ninvalid type for values: expected object (map), got ",
                    kind,
                    "\n",
                ] {
                    complaints.push_str(part);
                }
            }
        }
    }
    if complaints.is_empty() {
        Ok(())
    } else {
        Err(complaints)
    }
}

/// Checks the coalesced values of a chart tree against the schemas of its charts.
///
/// # Errors
/// One block for each chart that complains: its name, then what is wrong, a line each.
pub fn validate_values(chart: &Chart, values: &Values) -> Result<(), String> {
    validate_beside(chart, values, || ()).0
}

/// As [`validate_values`], beside other work where the machine has a processor for each.
pub(crate) fn validate_beside<T>(
    chart: &Chart,
    values: &Values,
    work: impl FnOnce() -> T,
) -> (Result<(), String>, T) {
    let check = || validate(chart, values.as_map());
    if has_schema(chart) {
        check_beside(check, work)
    } else {
        (check(), work())
    }
}

fn has_schema(chart: &Chart) -> bool {
    chart.schema.is_some() || chart.dependencies.iter().any(has_schema)
}

/// Checks values against the text of one schema.
///
/// # Errors
/// What is wrong with the values (ending in a line end) or with the schema.
pub fn validate_against_schema(schema: &[u8], values: &Values) -> Result<(), String> {
    check_beside(|| validate_here(schema, values.as_map()), || ()).0
}

/// The stack of a check: enough for the deepest that is not refused, and taken as it is needed.
const STACK: usize = 64 << 20;

/// A check on a thread of its own, and other work on this one: compiler and validator go through schema and values by
/// recursion, deeper than the stack of a worker may be.
fn check_beside<T>(
    check: impl FnOnce() -> Result<(), String> + Send,
    work: impl FnOnce() -> T,
) -> (Result<(), String>, T) {
    let (outcome, done) = beside(STACK, check, work);
    let no_thread = |error| Err(format!("the schema can't be checked: {error}"));
    (outcome.unwrap_or_else(no_thread), done)
}

fn validate_here(text: &[u8], values: &serde_json::Map<String, Value>) -> Result<(), String> {
    let schema = kept::or_read(text, || read(text))?;
    let instance = short_object(values);
    let plain = schema.plain.as_ref();
    if plain.is_some_and(|plain| plain.accepts(&schema.document, &instance)) {
        return Ok(());
    }
    let compiled = schema.compiled(compile)?;
    if refers(text) {
        cost::check(&schema.document, &instance)?;
    }
    check(compiled, &schema, &instance)
}

/// Whether the text of a schema may have a reference in it, perhaps with an escaped letter. Without one, a check makes no
/// more steps than schema and values have parts.
fn refers(schema: &[u8]) -> bool {
    let pairs = |pair: &[u8; 2]| schema.windows(2).any(|window| window == pair);
    pairs(b"\\u")
        || schema
            .windows(4)
            .any(|window| window == b"Ref\"" || window == b"$ref")
}

fn check(compiled: &Compiled, schema: &Schema, instance: &Value) -> Result<(), String> {
    let Err(error) = compiled.schemas.validate(instance, compiled.wanted) else {
        return Ok(());
    };
    if message::is_spurious(&error) {
        return Ok(());
    }
    let text = message::of(&error, &schema.document);
    let heading = format!("jsonschema validation failed with '{LOCATION}#'\n");
    Err(format!(
        "{}\n",
        text.strip_prefix(&heading).unwrap_or(&text)
    ))
}

fn compile(schema: &Value) -> Result<Compiled, String> {
    let mut compiler = Compiler::new();
    let mut loaders = SchemeUrlLoader::new();
    loaders.register("urn", Box::new(Anything));
    compiler.use_loader(Box::new(loaders));
    formats::register(&mut compiler);
    let failed = |error: CompileError| compile_message(&error);
    compiler
        .add_resource(LOCATION, schema.clone())
        .map_err(failed)?;
    let mut schemas = Schemas::new();
    let wanted = compiler.compile(LOCATION, &mut schemas).map_err(failed)?;
    Ok(Compiled { schemas, wanted })
}

/// A reference that nobody resolves but that Helm accepts.
struct Anything;

impl UrlLoader for Anything {
    fn load(&self, _: &str) -> Result<Value, Box<dyn Error>> {
        Ok(Value::Bool(true))
    }
}

/// The schema as JSON, or Go's words for what is none.
fn read(schema: &[u8]) -> Result<Value, String> {
    let mut values = serde_json::Deserializer::from_slice(schema).into_iter::<Value>();
    match values.next() {
        None => Err("EOF".into()),
        Some(Err(error)) => Err(syntax_error(schema, &error)),
        Some(Ok(value)) => {
            let rest = schema.get(values.byte_offset()..).unwrap_or_default();
            if rest.iter().all(u8::is_ascii_whitespace) {
                Ok(value)
            } else {
                Err("invalid character after top-level value".into())
            }
        }
    }
}

fn compile_message(error: &CompileError) -> String {
    let hash = |url: &str| {
        if url.contains('#') {
            url.to_owned()
        } else {
            format!("{url}#")
        }
    };
    match error {
        CompileError::ValidationError { url, src } => {
            format!(
                "{} is not valid against metaschema: {}",
                quote(&hash(url)),
                message::of(src, &Value::Null)
            )
        }
        CompileError::JsonPointerNotFound(url) => {
            format!("json-pointer in {} not found", quote(url))
        }
        CompileError::InvalidJsonPointer(url) => format!("invalid json-pointer {}", quote(url)),
        CompileError::AnchorNotFound { url, reference } => {
            format!(
                "anchor in {} not found in schema {}",
                quote(reference),
                quote(url)
            )
        }
        CompileError::UnsupportedUrlScheme { url } => {
            format!("no URLLoader registered for {}", quote(url))
        }
        CompileError::LoadUrlError { url, src } => format!("failing loading {}: {src}", quote(url)),
        CompileError::ParseUrlError { url, src } => {
            format!("error in parsing {}: {src}", quote(url))
        }
        CompileError::InvalidMetaSchemaUrl { url, src } => {
            format!("invalid $schema in {}: {src}", quote(url))
        }
        CompileError::UnsupportedDraft { url } => format!("draft {} is not supported", quote(url)),
        CompileError::MetaSchemaCycle { url } => {
            format!("cycle in resolving $schema in {}", quote(url))
        }
        other => other.to_string(),
    }
}
