//! The fields of a release record as Helm 4's Go types declare them, and a reader that brings any JSON into
//! that form: unknown members are dropped, keys match without case, absent members become Go's zero values,
//! and a value of another type is refused with Go's text. The same table says in which order a record is
//! written and what is left out when empty.
//! Source of the rules: Helm 4.3.1 `pkg/release/v1`, `pkg/chart/v2`, `pkg/chart/common`.

use super::gojson::{Json, go_float};
use crate::go::time;
use base64::Engine as _;

/// What a Go field holds.
pub(crate) enum Shape {
    Str,
    Int,
    Bool,
    /// `[]byte`, base64 in JSON.
    Bytes,
    Time,
    /// `any`.
    Any,
    /// `map[string]string`.
    Strings,
    /// `map[string]any`.
    Map,
    List(&'static Shape),
    Struct(&'static Struct),
}

/// A Go struct behind a pointer (absent and null are the same).
pub(crate) struct Struct {
    /// The type's name in messages.
    pub(crate) go: &'static str,
    pub(crate) fields: &'static [Field],
    /// `Info` and `HookExecution` read through a map: empty time texts are absent there.
    pub(crate) lenient_times: bool,
}

/// One field: JSON name, shape, and whether Go leaves it out when it is empty.
pub(crate) struct Field(pub(crate) &'static str, pub(crate) Shape, pub(crate) bool);

const MAINTAINER: Struct = Struct {
    go: "Maintainer",
    fields: &[
        Field("name", Shape::Str, true),
        Field("email", Shape::Str, true),
        Field("url", Shape::Str, true),
    ],
    lenient_times: false,
};

const DEPENDENCY: Struct = Struct {
    go: "Dependency",
    fields: &[
        Field("name", Shape::Str, false),
        Field("version", Shape::Str, true),
        Field("repository", Shape::Str, false),
        Field("condition", Shape::Str, true),
        Field("tags", Shape::List(&Shape::Str), true),
        Field("enabled", Shape::Bool, true),
        Field("import-values", Shape::List(&Shape::Any), true),
        Field("alias", Shape::Str, true),
    ],
    lenient_times: false,
};

const METADATA: Struct = Struct {
    go: "Metadata",
    fields: &[
        Field("name", Shape::Str, true),
        Field("home", Shape::Str, true),
        Field("sources", Shape::List(&Shape::Str), true),
        Field("version", Shape::Str, true),
        Field("description", Shape::Str, true),
        Field("keywords", Shape::List(&Shape::Str), true),
        Field(
            "maintainers",
            Shape::List(&Shape::Struct(&MAINTAINER)),
            true,
        ),
        Field("icon", Shape::Str, true),
        Field("apiVersion", Shape::Str, true),
        Field("condition", Shape::Str, true),
        Field("tags", Shape::Str, true),
        Field("appVersion", Shape::Str, true),
        Field("deprecated", Shape::Bool, true),
        Field("annotations", Shape::Strings, true),
        Field("kubeVersion", Shape::Str, true),
        Field(
            "dependencies",
            Shape::List(&Shape::Struct(&DEPENDENCY)),
            true,
        ),
        Field("type", Shape::Str, true),
    ],
    lenient_times: false,
};

const LOCK: Struct = Struct {
    go: "Lock",
    fields: &[
        Field("generated", Shape::Time, false),
        Field("digest", Shape::Str, false),
        Field(
            "dependencies",
            Shape::List(&Shape::Struct(&DEPENDENCY)),
            false,
        ),
    ],
    lenient_times: false,
};

const FILE: Struct = Struct {
    go: "File",
    fields: &[
        Field("name", Shape::Str, false),
        Field("data", Shape::Bytes, false),
        Field("modtime", Shape::Time, true),
    ],
    lenient_times: false,
};

const CHART: Struct = Struct {
    go: "Chart",
    fields: &[
        Field("metadata", Shape::Struct(&METADATA), false),
        Field("lock", Shape::Struct(&LOCK), false),
        Field("templates", Shape::List(&Shape::Struct(&FILE)), false),
        Field("values", Shape::Map, false),
        Field("schema", Shape::Bytes, false),
        Field("schemamodtime", Shape::Time, false),
        Field("files", Shape::List(&Shape::Struct(&FILE)), false),
        Field("modtime", Shape::Time, true),
    ],
    lenient_times: false,
};

const INFO: Struct = Struct {
    go: "infoJSON",
    fields: &[
        Field("first_deployed", Shape::Time, true),
        Field("last_deployed", Shape::Time, true),
        Field("deleted", Shape::Time, true),
        Field("description", Shape::Str, true),
        Field("status", Shape::Str, true),
        Field("rollback_revision", Shape::Int, true),
        Field("notes", Shape::Str, true),
    ],
    lenient_times: true,
};

const EXECUTION: Struct = Struct {
    go: "hookExecutionJSON",
    fields: &[
        Field("started_at", Shape::Time, true),
        Field("completed_at", Shape::Time, true),
        Field("phase", Shape::Str, false),
    ],
    lenient_times: true,
};

const HOOK: Struct = Struct {
    go: "Hook",
    fields: &[
        Field("name", Shape::Str, true),
        Field("kind", Shape::Str, true),
        Field("path", Shape::Str, true),
        Field("manifest", Shape::Str, true),
        Field("events", Shape::List(&Shape::Str), true),
        Field("last_run", Shape::Struct(&EXECUTION), false),
        Field("weight", Shape::Int, true),
        Field("delete_policies", Shape::List(&Shape::Str), true),
        Field("output_log_policies", Shape::List(&Shape::Str), true),
    ],
    lenient_times: false,
};

/// A release record.
pub(crate) const RELEASE: Struct = Struct {
    go: "Release",
    fields: &[
        Field("name", Shape::Str, true),
        Field("info", Shape::Struct(&INFO), true),
        Field("chart", Shape::Struct(&CHART), true),
        Field("config", Shape::Map, true),
        Field("manifest", Shape::Str, true),
        Field("hooks", Shape::List(&Shape::Struct(&HOOK)), true),
        Field("version", Shape::Int, true),
        Field("namespace", Shape::Str, true),
        Field("apply_method", Shape::Str, true),
    ],
    lenient_times: false,
};

/// Brings a JSON text into the form of `RELEASE`.
pub(crate) fn conform_release(json: &Json) -> Result<Json, String> {
    let mut path = Vec::new();
    match json {
        Json::Null => conform_struct(&Json::Object(Vec::new()), &RELEASE, &mut path),
        Json::Object(_) => conform_struct(json, &RELEASE, &mut path),
        other => Err(format!(
            "json: cannot unmarshal {} into Go value of type v1.Release",
            other.go_kind()
        )),
    }
}

struct Place {
    owner: &'static str,
    path: Vec<&'static str>,
}

fn mismatch(what: &str, go_type: &str, place: &Place) -> String {
    format!(
        "json: cannot unmarshal {what} into Go struct field {}.{} of type {go_type}",
        place.owner,
        place.path.join("."),
    )
}

fn conform_struct(
    json: &Json,
    shape: &'static Struct,
    path: &mut Vec<&'static str>,
) -> Result<Json, String> {
    let Json::Object(members) = json else {
        return Ok(Json::Null);
    };
    let mut found: Vec<Option<Json>> = shape.fields.iter().map(|_| None).collect();
    for (key, value) in members {
        let Some(index) = shape
            .fields
            .iter()
            .position(|field| field.0 == key)
            .or_else(|| {
                shape
                    .fields
                    .iter()
                    .position(|field| field.0.eq_ignore_ascii_case(key))
            })
        else {
            continue;
        };
        let (Some(field), Some(slot)) = (shape.fields.get(index), found.get_mut(index)) else {
            continue;
        };
        let empty_time = shape.lenient_times
            && matches!(field.1, Shape::Time)
            && matches!(value, Json::String(text) if text.is_empty());
        if matches!(value, Json::Null) || empty_time {
            // Null leaves a scalar alone and clears a list, map or pointer.
            if !matches!(field.1, Shape::Str | Shape::Int | Shape::Bool | Shape::Time) {
                *slot = None;
            }
            continue;
        }
        path.push(field.0);
        let place = Place {
            owner: shape.go,
            path: path.clone(),
        };
        let read = conform(value, &field.1, &place, path);
        path.pop();
        *slot = Some(read?);
    }
    let mut out = Vec::with_capacity(shape.fields.len());
    for (field, value) in shape.fields.iter().zip(found) {
        let value = value.unwrap_or_else(|| zero(&field.1));
        if !(field.2 && is_empty(&value, &field.1)) {
            out.push((field.0.to_owned(), value));
        }
    }
    Ok(Json::Object(out))
}

fn conform(
    value: &Json,
    shape: &'static Shape,
    place: &Place,
    path: &mut Vec<&'static str>,
) -> Result<Json, String> {
    let wrong = |go_type: &str| Err(mismatch(value.go_kind(), go_type, place));
    match (shape, value) {
        (Shape::Str, Json::String(_)) | (Shape::Bool, Json::Bool(_)) => Ok(value.clone()),
        (Shape::Str, _) => wrong("string"),
        (Shape::Bool, _) => wrong("bool"),
        (Shape::Int, Json::Number(text)) => match text.parse::<i64>() {
            Ok(int) => Ok(Json::Number(int.to_string())),
            Err(_) => Err(mismatch(&format!("number {text}"), "int", place)),
        },
        (Shape::Int, _) => wrong("int"),
        (Shape::Bytes, Json::String(text)) => {
            let bytes =
                kubepkg_yaml::decode_base64(text.as_bytes()).map_err(|error| error.to_string())?;
            Ok(Json::String(
                base64::engine::general_purpose::STANDARD.encode(bytes),
            ))
        }
        (Shape::Bytes, _) => wrong("[]uint8"),
        (Shape::Time, Json::String(text)) => time::normalise(text).map(Json::String),
        (Shape::Time, _) => Err("Time.UnmarshalJSON: input is not a JSON string".to_owned()),
        (Shape::Any, _) | (Shape::Map, Json::Object(_)) => any(value, place),
        (Shape::Map, _) => wrong("map[string]interface {}"),
        (Shape::Strings, Json::Object(members)) => strings(members, place),
        (Shape::Strings, _) => wrong("map[string]string"),
        (Shape::List(item), Json::Array(items)) => items
            .iter()
            .map(|entry| match entry {
                Json::Null => Ok(match item {
                    Shape::Str => Json::String(String::new()),
                    _ => Json::Null,
                }),
                entry => conform(entry, item, place, path),
            })
            .collect::<Result<_, _>>()
            .map(Json::Array),
        (Shape::List(item), _) => wrong(&format!("[]{}", go_type(item))),
        (Shape::Struct(inner), Json::Object(_)) => conform_struct(value, inner, path),
        (Shape::Struct(inner), _) => wrong(&go_type(&Shape::Struct(inner))),
    }
}

fn go_type(shape: &Shape) -> String {
    match shape {
        Shape::Str => "string".to_owned(),
        Shape::Int => "int".to_owned(),
        Shape::Bool => "bool".to_owned(),
        Shape::Bytes => "[]uint8".to_owned(),
        Shape::Time => "time.Time".to_owned(),
        Shape::Any => "interface {}".to_owned(),
        Shape::Strings => "map[string]string".to_owned(),
        Shape::Map => "map[string]interface {}".to_owned(),
        Shape::List(item) => match item {
            Shape::Struct(inner) => format!("[]*{}", go_name(inner)),
            other => format!("[]{}", go_type(other)),
        },
        Shape::Struct(inner) => go_name(inner),
    }
}

fn go_name(shape: &Struct) -> String {
    let package = match shape.go {
        "Release" | "Hook" | "infoJSON" | "hookExecutionJSON" => "v1",
        "File" => "common",
        _ => "v2",
    };
    format!("{package}.{}", shape.go)
}

fn strings(members: &[(String, Json)], place: &Place) -> Result<Json, String> {
    let mut sorted = std::collections::BTreeMap::new();
    for (key, value) in members {
        let text = match value {
            Json::String(text) => text.clone(),
            Json::Null => String::new(),
            other => return Err(mismatch(other.go_kind(), "string", place)),
        };
        sorted.insert(key.clone(), Json::String(text));
    }
    Ok(Json::Object(sorted.into_iter().collect()))
}

/// `any`: numbers become 64-bit floats, members are sorted, the last of equal keys wins.
fn any(value: &Json, place: &Place) -> Result<Json, String> {
    Ok(match value {
        Json::Number(text) => match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Json::Number(go_float(number)),
            _ => return Err(mismatch(&format!("number {text}"), "float64", place)),
        },
        Json::Array(items) => Json::Array(
            items
                .iter()
                .map(|item| any(item, place))
                .collect::<Result<_, _>>()?,
        ),
        Json::Object(members) => {
            let mut sorted = std::collections::BTreeMap::new();
            for (key, member) in members {
                sorted.insert(key.clone(), any(member, place)?);
            }
            Json::Object(sorted.into_iter().collect())
        }
        other => other.clone(),
    })
}

fn zero(shape: &Shape) -> Json {
    match shape {
        Shape::Str => Json::String(String::new()),
        Shape::Int => Json::Number("0".to_owned()),
        Shape::Bool => Json::Bool(false),
        Shape::Time => Json::String(time::ZERO.to_owned()),
        Shape::Struct(inner) if inner.go == "hookExecutionJSON" => {
            Json::Object(vec![("phase".to_owned(), Json::String(String::new()))])
        }
        _ => Json::Null,
    }
}

fn is_empty(value: &Json, shape: &Shape) -> bool {
    match value {
        Json::Null | Json::Bool(false) => true,
        Json::Bool(true) => false,
        Json::Number(text) => text == "0",
        Json::String(text) => match shape {
            Shape::Time => text == time::ZERO,
            _ => text.is_empty(),
        },
        Json::Array(items) => items.is_empty(),
        // A Go pointer to an empty struct is not empty; an empty map is.
        Json::Object(members) => members.is_empty() && !matches!(shape, Shape::Struct(_)),
    }
}
