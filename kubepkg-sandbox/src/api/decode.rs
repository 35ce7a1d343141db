//! From the bytes of a request to an object.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use kubepkg_yaml::YamlError;
use serde_json::Value;

use super::failure::Failure;
use super::fields::{self, Reading};
use super::kind::Kind;
use super::object;
use super::protobuf;
use super::request::Call;
use super::structs::Types;
use super::write::{FieldValidation, Writer};

const JSON: &str = "application/json";
const YAML: &str = "application/yaml";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// The object in the body, without `kind` and `apiVersion`, which must fit the path.
pub(crate) fn object(kind: &Kind, call: &Call, writer: &mut Writer) -> Result<Value, Failure> {
    let media = call.media_type();
    let yaml = media == YAML;
    if media == PROTOBUF && kind.custom.is_none() {
        let value = protobuf::decode(&call.body)
            .map_err(|error| not_recognized(kind, &error.to_string(), &call.body))?;
        return typed(kind, value, &[], &call.body, writer);
    }
    if !(yaml || media == JSON || media.is_empty()) {
        let protobuf = if kind.custom.is_some() {
            ""
        } else {
            ", application/vnd.kubernetes.protobuf"
        };
        return Err(Failure {
            details: None,
            ..Failure::unsupported_media_type(format!(
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json, application/yaml{protobuf}"
            ))
        });
    }
    if yaml {
        return in_yaml(kind, call, writer);
    }
    let read = if kind.custom.is_some() {
        fields::parse(&call.body)
    } else {
        fields::parse_merging(&call.body)
    };
    let (value, duplicates) = read.map_err(|error| unrecognized(kind, &error, &call.body))?;
    typed(kind, value, &duplicates, &call.body, writer)
}

/// The body of a subresource whose objects are of a kind of their own.
pub(crate) fn part(
    (group, version, kind): (&str, &str, &str),
    call: &Call,
    writer: &mut Writer,
) -> Result<Value, Failure> {
    let kind = Kind {
        group: group.to_owned(),
        version: version.to_owned(),
        plural: String::new(),
        singular: String::new(),
        kind: kind.to_owned(),
        list_kind: String::new(),
        namespaced: true,
        verbs: Vec::new(),
        short_names: Vec::new(),
        categories: Vec::new(),
        subresources: BTreeMap::new(),
        columns: Arc::default(),
        stored_in: "".into(),
        custom: None,
    };
    object(&kind, call, writer)
}

/// The same of a body in YAML, whose reader tells of keys that are there twice by their lines.
fn in_yaml(kind: &Kind, call: &Call, writer: &mut Writer) -> Result<Value, Failure> {
    let value = kubepkg_yaml::load(&call.body)
        .map_err(|error| not_recognized(kind, &error.to_string(), &call.body))?;
    let Err(error) = kubepkg_yaml::load_strict(&call.body) else {
        return typed(kind, value, &[], &call.body, writer);
    };
    if writer.validation == FieldValidation::Warn
        && let YamlError::DuplicateKeys(keys) = &error
    {
        let told = keys
            .iter()
            .map(|key| format!("line {}: key {} already set in map", key.line, key.key));
        writer.warnings.extend(told);
    }
    if writer.validation != FieldValidation::Strict {
        return typed(kind, value, &[], &call.body, writer);
    }
    let mut asked = Writer {
        validation: FieldValidation::Warn,
        warnings: Vec::new(),
        ..writer.clone()
    };
    typed(kind, value, &[], &call.body, &mut asked)?;
    let mut told = vec![error.to_string()];
    told.extend(asked.warnings);
    let why = format!("strict decoding error: {}", told.join(", "));
    Err(Failure::bad_request(cannot_be_handled(kind, &why)))
}

/// Checks the type of an object and its fields.
pub(crate) fn typed(
    kind: &Kind,
    mut value: Value,
    duplicates: &[String],
    body: &[u8],
    writer: &mut Writer,
) -> Result<Value, Failure> {
    if value.is_null() && kind.custom.is_none() {
        // Go leaves a structure as it is.
        value = Value::Object(serde_json::Map::new());
    }
    if !value.is_object() {
        return Err(unrecognized(kind, &no_object(&value), body));
    }
    for field in ["apiVersion", "kind"] {
        let wrong = &value[field];
        if !wrong.is_null() && !wrong.is_string() && kind.custom.is_none() {
            let what = go_type(wrong);
            let why = format!(
                "json: cannot unmarshal {what} into Go struct field .{field} of type string"
            );
            return Err(unrecognized(kind, &why, body));
        }
    }
    let said_kind = object::text(&value, "kind").to_owned();
    let said_version = object::text(&value, "apiVersion").to_owned();
    if kind.custom.is_none() && said_version.matches('/').count() > 1 {
        let why = format!("unexpected GroupVersion string: {said_version}");
        return Err(not_recognized(kind, &why, body));
    }
    if kind.custom.is_some() && said_kind.is_empty() {
        let text = String::from_utf8_lossy(body);
        return Err(Failure::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): Object 'Kind' is missing \
             in '{text}' ({})",
            kind.kind,
            shown(body),
        )));
    }
    let other_kind = !said_kind.is_empty() && said_kind != kind.kind;
    let may_be_left_out = kind.custom.is_none();
    let other_version =
        !(said_version.is_empty() && may_be_left_out) && said_version != kind.api_version();
    if other_kind || other_version {
        return Err(wrong_type(
            kind,
            &said_kind,
            &said_version,
            object::name(&value),
        ));
    }
    if let Some(all) = value.as_object_mut() {
        all.remove("kind");
        all.remove("apiVersion");
    }
    let refused = |why: String| Failure::bad_request(cannot_be_handled(kind, &why));
    let mut unknown = fields::known(kind, &mut value, writer.reading)
        .map_err(|wrong| refused(wrong.first_in(body)))?;
    if let Some(custom) = &kind.custom {
        if let Some(meta) = value.get_mut("metadata") {
            let found = fields::known_metadata(meta).map_err(refused)?;
            unknown.extend(found.iter().map(|path| format!("metadata.{path}")));
        }
        unknown.extend(crate::crd::prune(&mut value, &custom.schema));
        crate::crd::each_embedded(&mut value, &custom.schema, &mut |path, object| {
            unknown.extend(embedded(path, object)?);
            Ok(())
        })
        .map_err(refused)?;
    }
    let complaints = complaints(kind, &unknown, duplicates, body);
    match writer.validation {
        FieldValidation::Ignore => {}
        FieldValidation::Warn => writer.warnings.extend(complaints),
        FieldValidation::Strict if complaints.is_empty() => {}
        FieldValidation::Strict => {
            let why = format!("strict decoding error: {}", complaints.join(", "));
            return Err(Failure::bad_request(cannot_be_handled(kind, &why)));
        }
    }
    if kind.group != "apiextensions.k8s.io" {
        drop_empty_times(&mut value);
    }
    Ok(value)
}

/// What is told of fields that nobody knows and that are there twice. A decoder of Go tells it as it reads.
fn complaints(kind: &Kind, unknown: &[String], duplicates: &[String], body: &[u8]) -> Vec<String> {
    let first = unknown
        .iter()
        .map(|path| (path, 0, format!("unknown field \"{path}\"")));
    let mut times: BTreeMap<&String, usize> = BTreeMap::new();
    let again = duplicates.iter().map(|path| {
        let time = times.entry(path).or_default();
        *time += 1;
        (path, *time, format!("duplicate field \"{path}\""))
    });
    let mut all: Vec<(&String, usize, String)> = first.chain(again).collect();
    if all.len() > 1 && kind.custom.is_none() {
        let wanted = unknown.iter().chain(duplicates).cloned().collect();
        let found = fields::in_order(body, wanted);
        let mut places: BTreeMap<(&String, usize), usize> = BTreeMap::new();
        let mut seen: BTreeMap<&String, usize> = BTreeMap::new();
        for (place, path) in found.iter().enumerate() {
            let time = seen.entry(path).or_default();
            places.insert((path, *time), place);
            *time += 1;
        }
        all.sort_by_key(|(path, time, _)| places.get(&(*path, *time)).copied());
    }
    all.into_iter().map(|(_, _, told)| told).collect()
}

/// Reads type and metadata of an object in another; gives the paths of fields of metadata that nobody knows.
fn embedded(path: &str, object: &mut Value) -> Result<Vec<String>, String> {
    for field in ["apiVersion", "kind"] {
        if let Some(wrong) = object.get(field).filter(|value| !value.is_string()) {
            return Err(format!(
                "{path}.{field}: Invalid value: {wrong}: must be a string"
            ));
        }
    }
    let Some(meta) = object.get_mut("metadata") else {
        return Ok(Vec::new());
    };
    let sent = meta.to_string();
    let unknown = fields::known_metadata(meta)
        .map_err(|why| format!("{path}.metadata: Invalid value: {sent}: {why}"))?;
    let paths = unknown
        .iter()
        .map(|field| format!("{path}.metadata.{field}"));
    Ok(paths.collect())
}

/// Clients written in Go send `creationTimestamp: null`, in templates too.
fn drop_empty_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
                metadata.retain(|_, value| !value.is_null());
            }
            fields.values_mut().for_each(drop_empty_times);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_empty_times),
        _ => {}
    }
}

/// The object that a patch has made; `shown` is what stands for it in messages. What is wrong with it is the
/// patch's fault.
pub(crate) fn patched(
    kind: &Kind,
    mut value: Value,
    shown: &dyn Fn() -> String,
    writer: &mut Writer,
) -> Result<Value, Failure> {
    let refused = |why: &str| {
        let cause = super::failure::Cause::invalid("patch", &shown().into(), why);
        Failure::invalid("", "", "", &[cause])
    };
    let said_kind = object::text(&value, "kind").to_owned();
    let said_version = object::text(&value, "apiVersion").to_owned();
    if kind.custom.is_none() && !said_version.is_empty() {
        let said_kind = if said_kind.is_empty() {
            kind.kind.clone()
        } else {
            said_kind
        };
        if (&*said_kind, &*said_version) != (&*kind.kind, &*kind.api_version()) {
            let why = other_type(kind, &said_kind, &said_version, &mut value);
            return Err(refused(&why));
        }
    } else if kind.custom.is_none()
        && let Some(fields) = value.as_object_mut()
    {
        // Without a version the server reads into its own form of the kind, which has none of these names.
        let unknown = fields.keys().filter(|name| !is_type(name));
        let unknown: Vec<String> = unknown
            .map(|name| format!("unknown field \"{name}\""))
            .collect();
        fields.retain(|name, _| is_type(name));
        match writer.validation {
            FieldValidation::Ignore => {}
            FieldValidation::Warn => writer.warnings.extend(unknown),
            FieldValidation::Strict => {
                let why = format!("strict decoding error: {}", unknown.join(", "));
                return Err(refused(&why));
            }
        }
    }
    let text = if kind.custom.is_some() {
        value.to_string()
    } else {
        String::new()
    };
    typed(kind, value, &[], text.as_bytes(), writer).map_err(|failure| {
        let prefix = cannot_be_handled(kind, "");
        let why = failure
            .message
            .strip_prefix(&prefix)
            .unwrap_or(&failure.message);
        refused(why)
    })
}

/// Whether a field says which type an object has.
fn is_type(name: &str) -> bool {
    matches!(name, "kind" | "apiVersion")
}

/// What is wrong with a patch that makes an object of another kind: the server reads it as that first.
fn other_type(kind: &Kind, said_kind: &str, said_version: &str, value: &mut Value) -> String {
    let Some(message) = Types::get().of_kind(said_version, said_kind) else {
        return format!(
            "no kind \"{said_kind}\" is registered for version \"{said_version}\" in scheme \
             \"pkg/runtime/scheme.go:111\""
        );
    };
    if let Some(fields) = value.as_object_mut() {
        fields.remove("kind");
        fields.remove("apiVersion");
    }
    match fields::fit(message, value, Reading::Json) {
        Err(wrong) => wrong.first(),
        Ok(_) => not_convertible(kind, said_kind, said_version),
    }
}

fn not_convertible(kind: &Kind, said_kind: &str, said_version: &str) -> String {
    let (_, version) = said_version.rsplit_once('/').unwrap_or(("", said_version));
    let package = if kind.group.is_empty() {
        "core"
    } else {
        kind.group.split('.').next().unwrap_or_default()
    };
    format!(
        "converting ({version}.{said_kind}) to ({package}.{}): unknown conversion",
        kind.kind
    )
}

/// What is wrong with an object that an apply has made is the server's own fault.
pub(crate) fn not_converted(kind: &Kind, name: &str, failure: Failure) -> Failure {
    let Some(why) = failure.message.strip_prefix(&cannot_be_handled(kind, "")) else {
        return failure;
    };
    if why.starts_with("strict decoding error") {
        return failure;
    }
    let full = format!("{}/{}, Kind={}", kind.group, kind.version, kind.kind);
    // Types that read themselves are asked without a word of where they stand.
    let read_itself = why.strip_suffix(" of type int32").and_then(|why| {
        let found = why
            .strip_prefix("json: cannot unmarshal ")?
            .split(' ')
            .next()?;
        (found != "number")
            .then(|| format!("json: cannot unmarshal {found} into Go value of type int32"))
    });
    let step = if read_itself.is_some() || why.starts_with("quantities") {
        ""
    } else {
        "error decoding from json: "
    };
    let why = read_itself.as_deref().unwrap_or(why);
    Failure::plain(
        500,
        format!(
            "failed to convert new object (/{name}; {full}) to proper version: unable to convert unstructured object \
             to {full}: {step}{why}"
        ),
    )
}

fn cannot_be_handled(kind: &Kind, why: &str) -> String {
    cannot_be_handled_as(&kind.kind, &kind.version, kind, why)
}

fn cannot_be_handled_as(said_kind: &str, version: &str, kind: &Kind, why: &str) -> String {
    format!(
        "{said_kind} in version \"{version}\" cannot be handled as a {}: {why}",
        kind.kind
    )
}

fn wrong_type(kind: &Kind, said_kind: &str, said_version: &str, name: &str) -> Failure {
    let (said_group, version) = said_version.rsplit_once('/').unwrap_or(("", said_version));
    let said_kind = if said_kind.is_empty() {
        &kind.kind
    } else {
        said_kind
    };
    if kind.custom.is_some() && said_version == kind.api_version() {
        let cause = super::failure::Cause::invalid(
            "kind",
            &said_kind.into(),
            &format!("must be {}", kind.kind),
        );
        return Failure::invalid(&kind.group, said_kind, name, &[cause]);
    }
    let known = |kind: &str| Types::get().of_kind(said_version, kind).is_some();
    // A list of a kind is a kind, too, and there is one of anything.
    let listed = said_kind.strip_suffix("List").unwrap_or("");
    let anything = (said_version, said_kind) == ("v1", "List");
    let registered = known(said_kind) || known(listed) || anything;
    let foreign = said_group.contains('.') && said_group != kind.group;
    if kind.custom.is_some() || foreign && registered {
        return Failure::bad_request(format!(
            "the API version in the data ({said_version}) does not match the expected API version \
             ({})",
            kind.api_version()
        ));
    }
    if !registered {
        return Failure::bad_request(cannot_be_handled_as(
            said_kind,
            version,
            kind,
            &format!(
                "no kind \"{said_kind}\" is registered for version \"{said_version}\" in scheme \
                 \"pkg/runtime/scheme.go:111\""
            ),
        ));
    }
    let why = not_convertible(kind, said_kind, said_version);
    Failure::bad_request(cannot_be_handled_as(said_kind, version, kind, &why))
}

fn unrecognized(kind: &Kind, why: &str, body: &[u8]) -> Failure {
    let why = format!("couldn't get version/kind; json parse error: {why}");
    not_recognized(kind, &why, body)
}

fn not_recognized(kind: &Kind, why: &str, body: &[u8]) -> Failure {
    Failure::bad_request(format!(
        "the object provided is unrecognized (must be of type {}): {why} ({})",
        kind.kind,
        shown(body)
    ))
}

/// The body as the message shows it: text that looks like JSON as it is, else in hexadecimal, at
/// most 30 bytes of it (`summarizeData`).
fn shown(body: &[u8]) -> String {
    const SHOWN: usize = 30;
    if body.is_empty() {
        return "<empty>".to_owned();
    }
    let start = body.get(..SHOWN).unwrap_or(body);
    let mut out = String::new();
    if body.starts_with(b"{") {
        out.push_str(&String::from_utf8_lossy(start));
    } else {
        for byte in start {
            let _ = write!(out, "{byte:02x}");
        }
    }
    if body.len() > SHOWN {
        out.push_str(" ...");
    }
    out
}

/// What Go says of a value that is no object.
fn no_object(value: &Value) -> String {
    let what = go_type(value);
    format!(
        "json: cannot unmarshal {what} into Go value of type struct {{ APIVersion string \
         \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
    )
}

/// The name of a JSON type in messages of Go's decoder.
pub(crate) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A small body that is no object of a resource: options, evictions, reviews.
pub(crate) fn small(call: &Call) -> Result<Value, Failure> {
    if call.body.is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    if call.media_type() == PROTOBUF {
        return protobuf::decode(&call.body)
            .map_err(|error| Failure::bad_request(error.to_string()));
    }
    let (value, _) = fields::parse(&call.body).map_err(|error| {
        Failure::bad_request(format!(
            "couldn't get version/kind; json parse error: {error}"
        ))
    })?;
    if value.is_object() {
        Ok(value)
    } else {
        Err(Failure::bad_request(format!(
            "couldn't get version/kind; json parse error: {}",
            no_object(&value)
        )))
    }
}
