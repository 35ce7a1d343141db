//! Ingresses and their classes: `pkg/apis/networking/validation`.

use serde_json::{Value, json};

use super::parts::{is_address, name, one_of, port, port_name, required};
use crate::api::failure::Cause;
use crate::api::names;
use crate::api::object::{list, text};

pub(super) fn ingress(causes: &mut Vec<Cause>, ingress: &Value) {
    let spec = &ingress["spec"];
    let rules = list(&spec["rules"]).count();
    if rules == 0 && spec["defaultBackend"].is_null() {
        let why = "either `defaultBackend` or `rules` must be specified";
        causes.push(Cause::invalid("spec", &Value::Null, why));
    }
    if !spec["defaultBackend"].is_null() {
        backend(causes, "spec.defaultBackend", &spec["defaultBackend"]);
    }
    for (index, rule) in list(&spec["rules"]).enumerate() {
        let at = format!("spec.rules[{index}]");
        if !text(rule, "host").is_empty() {
            host(causes, &format!("{at}.host"), text(rule, "host"), true);
        }
        if rule["http"].is_null() {
            continue;
        }
        let at = format!("{at}.http.paths");
        if list(&rule["http"]["paths"]).next().is_none() {
            causes.push(Cause::required(&at, ""));
        }
        for (index, path) in list(&rule["http"]["paths"]).enumerate() {
            self::path(causes, &format!("{at}[{index}]"), path);
        }
    }
    for (index, tls) in list(&spec["tls"]).enumerate() {
        let at = format!("spec.tls[{index}]");
        for (index, one) in list(&tls["hosts"]).enumerate() {
            let one = one.as_str().unwrap_or_default();
            host(causes, &format!("{at}.hosts[{index}]"), one, false);
        }
        if !text(tls, "secretName").is_empty() {
            name(
                causes,
                &format!("{at}.secretName"),
                text(tls, "secretName"),
                names::subdomain,
            );
        }
    }
    if !spec["ingressClassName"].is_null() {
        let class = text(spec, "ingressClassName");
        name(causes, "spec.ingressClassName", class, names::subdomain);
    }
}

/// What a new one may not say twice.
pub(super) fn new(causes: &mut Vec<Cause>, ingress: &Value) {
    const KEY: &str = "kubernetes.io/ingress.class";
    let annotated = &ingress["metadata"]["annotations"][KEY];
    let class = &ingress["spec"]["ingressClassName"];
    if !annotated.is_null() && !class.is_null() && annotated != class {
        let why = "must match `ingressClassName` when both are specified";
        causes.push(Cause::invalid(format!("annotations.{KEY}"), annotated, why));
    }
}

fn host(causes: &mut Vec<Cause>, at: &str, host: &str, named: bool) {
    if named && is_address(host) {
        let why = "must be a DNS name, not an IP address";
        causes.push(Cause::invalid(at, &json!(host), why));
    }
    if host.contains('*') {
        name(causes, at, host, wildcard);
    } else {
        name(causes, at, host, names::subdomain);
    }
}

fn wildcard(text: &str) -> Vec<String> {
    let rest = text.strip_prefix("*.");
    if rest.is_some_and(|rest| names::subdomain(rest).is_empty()) {
        return Vec::new();
    }
    vec![
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist \
         of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. \
         '*.example.com', regex used for validation is \
         '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
            .to_owned(),
    ]
}

fn path(causes: &mut Vec<Cause>, at: &str, rule: &Value) {
    const WITHIN: [&str; 5] = ["//", "/./", "/../", "%2f", "%2F"];
    let path = text(rule, "path");
    let path_at = format!("{at}.path");
    let mut say = |why: &str| causes.push(Cause::invalid(&path_at, &json!(path), why));
    match text(rule, "pathType") {
        "Exact" | "Prefix" => {
            if !path.starts_with('/') {
                say("must be an absolute path");
            }
            if !path.is_empty() {
                for part in WITHIN {
                    if path.contains(part) {
                        say(&format!("must not contain '{part}'"));
                    }
                }
                for end in ["/..", "/."] {
                    if path.ends_with(end) {
                        say(&format!("cannot end with '{end}'"));
                    }
                }
            }
        }
        "ImplementationSpecific" => {
            if !path.is_empty() && !path.starts_with('/') {
                say("must be an absolute path");
            }
        }
        // What is behind it is not looked at.
        _ if rule["pathType"].is_null() => {
            let at = format!("{at}.pathType");
            causes.push(Cause::required(at, "pathType must be specified"));
            return;
        }
        other => {
            let known = ["Exact", "ImplementationSpecific", "Prefix"];
            one_of(causes, &format!("{at}.pathType"), other, &known);
        }
    }
    backend(causes, &format!("{at}.backend"), &rule["backend"]);
}

/// What is wrong with the kind and the name of a reference: both are parts of a path.
fn kind_and_name(causes: &mut Vec<Cause>, at: &str, reference: &Value) {
    for field in ["kind", "name"] {
        match text(reference, field) {
            "" => required(causes, at, reference, field),
            own => name(causes, &format!("{at}.{field}"), own, names::path_segment),
        }
    }
}

fn backend(causes: &mut Vec<Cause>, at: &str, backend: &Value) {
    let (service, resource) = (&backend["service"], &backend["resource"]);
    match (service.is_null(), resource.is_null()) {
        (false, false) => {
            let why = "cannot set both resource and service backends";
            causes.push(Cause::invalid(at, &json!(""), why));
        }
        (true, true) => {
            let why = "resource or service backend is required";
            causes.push(Cause::invalid(at, &json!(""), why));
        }
        (true, false) => {
            kind_and_name(causes, &format!("{at}.resource"), resource);
        }
        (false, true) => {
            let own = text(service, "name");
            let name_at = format!("{at}.service.name");
            if own.is_empty() {
                causes.push(Cause::required(name_at, ""));
            } else {
                name(causes, &name_at, own, names::label);
            }
            let (word, number) = (text(&service["port"], "name"), &service["port"]["number"]);
            let numbered = number.as_i64().unwrap_or(0) != 0;
            if !word.is_empty() && numbered {
                let why = "cannot set both port name & port number";
                causes.push(Cause::invalid(at, &json!(""), why));
            } else if !word.is_empty() {
                name(causes, &format!("{at}.service.port.name"), word, port_name);
            } else if numbered {
                port(causes, &format!("{at}.service.port.number"), number);
            } else {
                causes.push(Cause::required(at, "port name or number is required"));
            }
        }
    }
}

pub(super) fn class(causes: &mut Vec<Cause>, spec: &Value) {
    let controller = text(spec, "controller");
    let at = "spec.controller";
    match controller.split_once('/') {
        _ if controller.is_empty() => causes.push(Cause::required(at, "")),
        Some((domain, path)) if !path.is_empty() => {
            name(causes, at, domain, names::subdomain);
        }
        _ => {
            let why = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            causes.push(Cause::invalid(at, &json!(controller), why));
        }
    }
    let of = &spec["parameters"];
    if of.is_null() {
        return;
    }
    kind_and_name(causes, "spec.parameters", of);
    let scope = text(of, "scope");
    one_of(
        causes,
        "spec.parameters.scope",
        scope,
        &["Cluster", "Namespace"],
    );
    let at = "spec.parameters.namespace";
    match (scope, of["namespace"].is_null()) {
        ("Cluster", false) => {
            causes.push(Cause::forbidden(
                at,
                "`parameters.scope` is set to 'Cluster'",
            ));
        }
        ("Namespace", true) => {
            causes.push(Cause::required(
                at,
                "`parameters.scope` is set to 'Namespace'",
            ));
        }
        _ => {}
    }
}
