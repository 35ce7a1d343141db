//! How objects go over the wire: as they are, as a `Table`, or as their metadata alone.

use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::convert;
use super::failure::Failure;
use super::kind::Kind;
use super::prepare;
use super::request::{Call, Target};
use super::table;
use super::world::Answer;

const YAML: &str = "application/yaml";

/// What the client asked for with `Accept`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Plain,
    Table(Include),
    Metadata,
}

/// What the rows of a table carry beside their cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Include {
    None,
    Metadata,
    Object,
}

impl Form {
    /// Reads what a request accepts; the first form that is known wins.
    pub(crate) fn of(call: &Call) -> Result<Self, Failure> {
        let one =
            matches!(Target::parse(&call.path), Target::Objects(place) if !place.name.is_empty());
        let listed = call.method == Method::GET && !one;
        let include = call.query.get("includeObject");
        let form = Self::negotiate(&call.accept, include, listed)?;
        let known = ["", "None", "Metadata", "Object"];
        if matches!(form, Self::Table(_)) && !known.contains(&include) {
            return Err(Failure::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {}: must be 'Metadata', \
                 'Object', 'None', or empty",
                kubepkg_yaml::go_quote(include)
            )));
        }
        Ok(form)
    }

    fn negotiate(accept: &str, include: &str, listed: bool) -> Result<Self, Failure> {
        let include = match include {
            "None" => Include::None,
            "Object" => Include::Object,
            _ => Include::Metadata,
        };
        if accept.trim().is_empty() {
            return Ok(Self::Plain);
        }
        let mut json = false;
        for range in by_quality(accept) {
            let mut parts = range.split(';').map(str::trim);
            let media = parts.next().unwrap_or_default();
            if !matches!(media, "application/json" | YAML | "*/*") {
                continue;
            }
            json = true;
            let parameter = |name: &str| {
                let mut all = range.split(';').map(str::trim);
                all.find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
            };
            let (group, version) = (parameter("g"), parameter("v"));
            match parameter("as") {
                None => return Ok(Self::Plain),
                Some("Table") if group == Some("meta.k8s.io") && version == Some("v1") => {
                    return Ok(Self::Table(include));
                }
                Some("PartialObjectMetadata" | "PartialObjectMetadataList")
                    if group == Some("meta.k8s.io") && version == Some("v1") =>
                {
                    return Ok(Self::Metadata);
                }
                Some(_) => {}
            }
        }
        let message = if json {
            "only the following media types are accepted: application/json, application/yaml, \
             application/vnd.kubernetes.protobuf"
        } else if listed {
            "406: Not Acceptable\n\nAvailable representations: application/json, \
             application/yaml, application/vnd.kubernetes.protobuf, \
             application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
        } else {
            "406: Not Acceptable\n\nAvailable representations: application/json, \
             application/yaml, application/vnd.kubernetes.protobuf"
        };
        Err(Failure {
            reason: Some("NotAcceptable"),
            details: (!json).then(|| json!({})),
            ..Failure::plain(406, message)
        })
    }
}

/// The media types that a client accepts, the ones it likes best first.
fn by_quality(accept: &str) -> Vec<&str> {
    let mut ranges: Vec<&str> = accept.split(',').collect();
    let quality = |range: &&str| {
        let mut parameters = range.split(';').skip(1).map(str::trim);
        let given = parameters.find_map(|one| one.strip_prefix("q=")?.parse::<f64>().ok());
        given.unwrap_or(1.0)
    };
    ranges.sort_by(|one, other| quality(other).total_cmp(&quality(one)));
    ranges
}

/// The answer in YAML, when that is what the client would rather have.
pub(crate) fn as_asked(accept: &str, answer: Answer) -> Answer {
    let media = |range: &str| {
        range
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    let known = by_quality(accept)
        .into_iter()
        .map(media)
        .find(|media| matches!(media.as_str(), "application/json" | YAML | "*/*"));
    if known.as_deref() != Some(YAML) || answer.content_type != "application/json" {
        return answer;
    }
    let value = serde_json::from_slice(&answer.body).ok();
    match value.and_then(|value: Value| kubepkg_yaml::to_yaml(&value).ok()) {
        Some(text) => Answer {
            content_type: YAML,
            body: text.into(),
            ..answer
        },
        None => answer,
    }
}

/// One object of a response or an event.
pub(crate) fn one(kind: &Kind, object: &Arc<Value>, form: Form, now: Timestamp) -> Bytes {
    match form {
        Form::Plain => typed(kind, object),
        Form::Metadata => {
            let partial = partial(kind, object);
            serde_json::to_vec(&partial).unwrap_or_default().into()
        }
        Form::Table(include) => {
            let rows = [Arc::clone(object)];
            let version = object["metadata"].get("resourceVersion");
            let metadata = version.map_or(json!({}), |version| json!({"resourceVersion": version}));
            let table = as_table(kind, &rows, &metadata, include, now);
            serde_json::to_vec(&table).unwrap_or_default().into()
        }
    }
}

/// A list.
pub(crate) fn many(
    kind: &Kind,
    objects: &[Arc<Value>],
    metadata: &Value,
    form: Form,
    now: Timestamp,
) -> Bytes {
    match form {
        Form::Table(include) => {
            let table = as_table(kind, objects, metadata, include, now);
            serde_json::to_vec(&table).unwrap_or_default().into()
        }
        Form::Metadata => {
            let items: Vec<Value> = objects.iter().map(|object| partial(kind, object)).collect();
            let list = json!({
                "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1",
                "metadata": metadata,
                "items": if items.is_empty() { Value::Null } else { items.into() },
            });
            serde_json::to_vec(&list).unwrap_or_default().into()
        }
        Form::Plain => {
            let head = json!({
                "kind": kind.list_kind, "apiVersion": kind.api_version(), "metadata": metadata,
            });
            let mut bytes = serde_json::to_vec(&head).unwrap_or_default();
            bytes.pop();
            bytes.extend_from_slice(b",\"items\":[");
            for (index, object) in objects.iter().enumerate() {
                if index > 0 {
                    bytes.push(b',');
                }
                // Lists of built-in kinds name the kind once, lists of custom ones every time.
                if kind.custom.is_some() {
                    bytes.extend_from_slice(&typed(kind, object));
                } else {
                    let shown = convert::shown(kind, object);
                    let _ = serde_json::to_writer(&mut bytes, &*shown);
                }
            }
            bytes.extend_from_slice(b"]}");
            bytes.into()
        }
    }
}

/// The object with its `kind` and `apiVersion`, without copying it.
fn typed(kind: &Kind, object: &Value) -> Bytes {
    let shown = convert::shown(kind, object);
    let head = json!({"kind": kind.kind, "apiVersion": kind.api_version()});
    let mut bytes = serde_json::to_vec(&head).unwrap_or_default();
    let body = serde_json::to_vec(&*shown).unwrap_or_default();
    if body.len() > 2 {
        bytes.pop();
        bytes.push(b',');
        bytes.extend_from_slice(body.get(1..).unwrap_or_default());
    }
    bytes.into()
}

/// The object with its `kind` and `apiVersion`.
pub(crate) fn with_type(kind: &Kind, object: &Value) -> Value {
    let mut object = convert::shown(kind, object).into_owned();
    if let Some(fields) = object.as_object_mut() {
        fields.insert("kind".into(), kind.kind.clone().into());
        fields.insert("apiVersion".into(), kind.api_version().into());
    }
    object
}

fn partial(kind: &Kind, object: &Value) -> Value {
    let mut metadata = object["metadata"].clone();
    // The server's own type has a field for it.
    if kind.is("apps", "daemonsets")
        && let Some(annotations) = metadata["annotations"].as_object_mut()
    {
        annotations.remove(prepare::TEMPLATES);
        if annotations.is_empty() {
            metadata
                .as_object_mut()
                .map(|fields| fields.remove("annotations"));
        }
    }
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata})
}

fn as_table(
    kind: &Kind,
    objects: &[Arc<Value>],
    metadata: &Value,
    include: Include,
    now: Timestamp,
) -> Value {
    let rows: Vec<Value> = objects
        .iter()
        .map(|object| {
            let mut row = json!({"cells": table::cells(kind, object, now)});
            match include {
                Include::None => row["object"] = Value::Null,
                Include::Metadata => row["object"] = partial(kind, object),
                Include::Object => row["object"] = with_type(kind, object),
            }
            row
        })
        .collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        "columnDefinitions": table::columns(kind), "rows": rows,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_known_form_wins() {
        let form = |accept: &str| Form::negotiate(accept, "", true).ok();
        assert_eq!(form(""), Some(Form::Plain));
        assert_eq!(
            form("application/vnd.kubernetes.protobuf,application/json"),
            Some(Form::Plain)
        );
        // As kubectl asks.
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        assert_eq!(form(kubectl), Some(Form::Table(Include::Metadata)));
        assert_eq!(
            form("application/json;as=Other;v=v1;g=x,application/json"),
            Some(Form::Plain)
        );
        assert_eq!(form("text/html"), None);
    }
}
