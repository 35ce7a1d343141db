//! What is asked of containers, and what they are told when they begin and end.

use serde_json::{Value, json};

use super::parts::{name, not_negative, one_of, port_or_name, required};
use super::pod::Around;
use crate::api::failure::Cause;
use crate::api::object::{list, text};

pub(super) const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];

/// Hooks and probes.
pub(super) fn handled(causes: &mut Vec<Cause>, at: &str, container: &Value, around: &Around<'_>) {
    for hook in ["postStart", "preStop"] {
        let value = &container["lifecycle"][hook];
        if !value.is_null() {
            handler(
                causes,
                &format!("{at}.lifecycle.{hook}"),
                value,
                around.grace,
            );
        }
    }
    for field in PROBES {
        let probe = &container[field];
        if probe.is_null() {
            continue;
        }
        let at = format!("{at}.{field}");
        handler(causes, &at, probe, around.grace);
        for number in [
            "initialDelaySeconds",
            "timeoutSeconds",
            "periodSeconds",
            "successThreshold",
            "failureThreshold",
        ] {
            not_negative(causes, &format!("{at}.{number}"), &probe[number]);
        }
        let grace = &probe["terminationGracePeriodSeconds"];
        let grace_at = format!("{at}.terminationGracePeriodSeconds");
        if grace.as_i64().is_some_and(|seconds| seconds <= 0) {
            causes.push(Cause::invalid(&grace_at, grace, "must be greater than 0"));
        }
        if field == "readinessProbe" {
            if !grace.is_null() {
                let why = "must not be set for readinessProbes";
                causes.push(Cause::invalid(grace_at, grace, why));
            }
        } else if probe["successThreshold"].as_i64() != Some(1) {
            let found = &probe["successThreshold"];
            causes.push(Cause::invalid(
                format!("{at}.successThreshold"),
                found,
                "must be 1",
            ));
        }
    }
}

fn handler(causes: &mut Vec<Cause>, at: &str, handler: &Value, grace: Option<i64>) {
    let mut some = false;
    for way in ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] {
        let value = &handler[way];
        if value.is_null() {
            continue;
        }
        let at = format!("{at}.{way}");
        if some {
            causes.push(Cause::forbidden(
                at,
                "may not specify more than 1 handler type",
            ));
            continue;
        }
        some = true;
        match way {
            "exec" => {
                if list(&value["command"]).next().is_none() {
                    causes.push(Cause::required(format!("{at}.command"), ""));
                }
            }
            "httpGet" => {
                required(causes, &at, value, "path");
                port_or_name(causes, &format!("{at}.port"), &value["port"]);
                one_of(
                    causes,
                    &format!("{at}.scheme"),
                    text(value, "scheme"),
                    &["HTTP", "HTTPS"],
                );
                for header in list(&value["httpHeaders"]) {
                    let at = format!("{at}.httpHeaders");
                    name(causes, &at, text(header, "name"), header_name);
                }
            }
            "sleep" => {
                let seconds = value["seconds"].as_i64().unwrap_or(0);
                if let Some(grace) = grace.filter(|grace| seconds < 0 || seconds > *grace) {
                    let why = format!(
                        "must be non-negative and less than terminationGracePeriodSeconds ({grace})"
                    );
                    causes.push(Cause::invalid(at, &json!(seconds), &why));
                }
            }
            _ => port_or_name(causes, &format!("{at}.port"), &value["port"]),
        }
    }
    if !some {
        causes.push(Cause::required(at, "must specify a handler type"));
    }
}

fn header_name(name: &str) -> Vec<String> {
    let known = |sign: u8| sign.is_ascii_alphanumeric() || sign == b'-';
    if !name.is_empty() && name.bytes().all(known) {
        return Vec::new();
    }
    vec![
        "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used \
         for validation is '[-A-Za-z0-9]+')"
            .to_owned(),
    ]
}
