//! Formats by name: `library/format.go` of the API server.

use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::Opaque;

use super::super::run::{Outcome, optional};
use super::super::typed;
use super::{Called, Function, urls};
use crate::api::names;
use crate::crd::formats;

/// A format, and how long its pattern is taken to be.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) struct Format {
    name: &'static str,
    pub(in super::super) pattern: u64,
}

impl Opaque for &'static Format {
    fn runtime_type_name(&self) -> &'static str {
        "kubernetes.NamedFormat"
    }
}

const fn format(name: &'static str, pattern: u64) -> Format {
    Format { name, pattern }
}

/// The lengths are those of the API server, which takes some from the patterns of a library.
const FORMATS: &[Format] = &[
    format("dns1123Label", 30),
    format("dns1123Subdomain", 60),
    format("dns1035Label", 30),
    format("qualifiedName", 60),
    format("dns1123LabelPrefix", 30),
    format("dns1123SubdomainPrefix", 60),
    format("dns1035LabelPrefix", 30),
    format("labelValue", 40),
    format("uri", 1103),
    format("uuid", 70),
    format("byte", 84),
    format("date", 71),
    format("datetime", 71),
];

pub(super) fn named(name: &str) -> Option<Function> {
    if name
        .strip_prefix("format.")
        .is_some_and(|name| of(name).is_some())
    {
        return Some(|called| {
            let format = called.name.strip_prefix("format.").and_then(of);
            format.ok_or_else(|| called.no_overload())
        });
    }
    match name {
        "format.named" => Some(|called| match called.values {
            [Value::String(name)] => Ok(optional(of(name))),
            _ => Err(called.no_overload()),
        }),
        "validate" => Some(validate),
        _ => None,
    }
}

fn of(name: &str) -> Option<Value> {
    let format = FORMATS.iter().find(|format| format.name == name)?;
    Some(Value::Opaque(Arc::new(format)))
}

/// The format in a value.
pub(in super::super) fn in_value(value: &Value) -> Option<&'static Format> {
    typed::held::<&'static Format>(value).copied()
}

fn validate(called: &mut Called<'_>) -> Outcome {
    let [format, Value::String(text)] = called.values else {
        return Err(called.no_overload());
    };
    let format = in_value(format).ok_or_else(|| called.no_overload())?;
    let offences = offences(format.name, text);
    let found = (!offences.is_empty()).then(|| {
        let offences = offences.into_iter().map(|why| Value::String(Arc::new(why)));
        Value::List(Arc::new(offences.collect()))
    });
    Ok(optional(found))
}

/// What stands before a generated part may end as no name does.
fn prefix(text: &str) -> String {
    match text.strip_suffix('-') {
        Some(before) if !before.is_empty() => {
            let kept: String = before.chars().take(before.chars().count() - 1).collect();
            format!("{kept}a")
        }
        _ => text.to_owned(),
    }
}

fn offences(format: &str, text: &str) -> Vec<String> {
    // These count characters to people, those of labels bytes.
    let counted = |offences: Vec<String>| -> Vec<String> {
        let each = offences.into_iter();
        each.map(|why| why.replace(" bytes", " characters"))
            .collect()
    };
    let unless = |good: bool, why: &str| {
        if good {
            Vec::new()
        } else {
            vec![why.to_owned()]
        }
    };
    match format {
        "dns1123Label" => counted(names::label(text)),
        "dns1123LabelPrefix" => counted(names::label(&prefix(text))),
        "dns1123Subdomain" => counted(names::subdomain(text)),
        "dns1123SubdomainPrefix" => counted(names::subdomain(&prefix(text))),
        "dns1035Label" => counted(names::old_label(text)),
        "dns1035LabelPrefix" => counted(names::old_label(&prefix(text))),
        "qualifiedName" => names::qualified_name(text),
        "labelValue" => names::label_value(text).into_iter().collect(),
        "uri" => urls::offence(text).into_iter().collect(),
        "uuid" => unless(
            formats::fits("uuid", text),
            "does not match the UUID format",
        ),
        "byte" => unless(
            !text.is_empty() && formats::fits("byte", text),
            "invalid base64",
        ),
        "date" => unless(formats::fits("date", text), "invalid date"),
        _ => unless(formats::fits("date-time", text), "invalid datetime"),
    }
}
