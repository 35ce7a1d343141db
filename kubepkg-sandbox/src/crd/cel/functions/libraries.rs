//! Functions of the libraries of Kubernetes whose errors read otherwise on the API server.

use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::OptionalValue;
use kubepkg_yaml::go_quote;

use super::super::run::{Fault, Meter, Outcome};
use super::{Called, Function, hand_on};

const QUANTITY: &str = "quantities must match the regular expression \
    '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

pub(super) fn named(name: &str) -> Option<Function> {
    Some(match name {
        "format.named" => named_format,
        "asInteger" | "cidr" | "ip" | "quantity" | "url" => reworded,
        "isQuantity" | "isURL" | "isIP" | "isCIDR" | "isSemver" | "semver" => of_text,
        "sign" => |called| {
            let mut call = called.with(called.values);
            call.member = true;
            hand_on(&mut call)
        },
        _ => return None,
    })
}

/// A value of a library as text, where that library makes one.
pub(in super::super) fn text_of(value: &Value) -> Option<String> {
    let mut meter = Meter::default();
    let made = hand_on(&mut Called {
        name: "string",
        member: false,
        values: std::slice::from_ref(value),
        meter: &mut meter,
    });
    match made {
        Ok(Value::String(text)) => Some(text.as_str().to_owned()),
        _ => None,
    }
}

fn named_format(called: &mut Called<'_>) -> Outcome {
    let found = match hand_on(called)? {
        Value::Null => OptionalValue::none(),
        format => OptionalValue::of(format),
    };
    Ok(Value::Opaque(Arc::new(found)))
}

/// Functions that are only for texts.
fn of_text(called: &mut Called<'_>) -> Outcome {
    match called.values {
        [Value::String(_), ..] => hand_on(called),
        _ => Err(called.no_overload()),
    }
}

fn reworded(called: &mut Called<'_>) -> Outcome {
    if let [Value::Int(_) | Value::Bool(_) | Value::Float(_) | Value::Null] = called.values {
        return Err(called.no_overload());
    }
    let words = words(called.name, called.values);
    hand_on(called).map_err(|fault| match (words, fault) {
        (Some(words), Fault::Error(_)) => Fault::Error(words),
        (_, fault) => fault,
    })
}

fn words(name: &str, values: &[Value]) -> Option<String> {
    Some(match (name, values) {
        ("asInteger", _) => "cannot convert value to integer".to_owned(),
        ("quantity", _) => QUANTITY.to_owned(),
        ("ip", [Value::String(text)]) => {
            let numbers: Vec<&str> = text.split('.').collect();
            let plain =
                |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            let why = if numbers.len() == 4 && numbers.iter().all(plain) {
                "IPv4 field has value >255"
            } else {
                "unable to parse IP"
            };
            let quoted = go_quote(text);
            format!(
                "IP Address {quoted} parse error during conversion from string: ParseAddr({quoted}): {why}"
            )
        }
        ("cidr", [Value::String(text)]) => {
            let why = match text.rsplit_once('/') {
                None => "no '/'",
                Some((address, _)) if address.parse::<std::net::IpAddr>().is_ok() => {
                    "prefix length out of range"
                }
                Some(_) => "unable to parse IP",
            };
            let words = "network address parse error during conversion from string";
            format!(
                "{words}: {words}: netip.ParsePrefix({}): {why}",
                go_quote(text)
            )
        }
        ("url", [Value::String(text)]) => {
            let why = if text.starts_with(':') {
                "missing protocol scheme"
            } else {
                "invalid URI for request"
            };
            let quoted = go_quote(text);
            format!("URL parse error during conversion from string: parse {quoted}: {why}")
        }
        _ => return None,
    })
}
