//! Configurations of webhooks: `pkg/apis/admissionregistration/validation`.

use serde_json::{Value, json};

use super::parts::{name, one_of, one_of_if_given, selector};
use super::policy;
use crate::api::failure::Cause;
use crate::api::names;
use crate::api::object::{list, text};
use crate::api::policies::Environment;
use crate::crd::definition;

pub(super) fn webhooks(causes: &mut Vec<Cause>, object: &Value) {
    let mut seen = Vec::new();
    for (index, webhook) in list(&object["webhooks"]).enumerate() {
        let at = format!("webhooks[{index}]");
        self::webhook(causes, &at, webhook);
        let own = text(webhook, "name");
        if seen.contains(&own) {
            causes.push(Cause::duplicate(format!("{at}.name"), own));
        }
        if !own.is_empty() {
            seen.push(own);
        }
    }
}

fn webhook(causes: &mut Vec<Cause>, at: &str, webhook: &Value) {
    let field = |name: &str| format!("{at}.{name}");
    let own = text(webhook, "name");
    if own.is_empty() {
        causes.push(Cause::required(field("name"), ""));
    } else {
        name(causes, &field("name"), own, names::subdomain);
        if names::subdomain(own).is_empty() && own.split('.').count() < 3 {
            let why = "should be a domain with at least three segments separated by dots";
            causes.push(Cause::invalid(field("name"), &json!(own), why));
        }
    }
    for (index, rule) in list(&webhook["rules"]).enumerate() {
        self::rule(causes, &field(&format!("rules[{index}]")), rule);
    }
    one_of_if_given(causes, at, webhook, "failurePolicy", &["Fail", "Ignore"]);
    one_of_if_given(causes, at, webhook, "matchPolicy", &["Equivalent", "Exact"]);
    let effects = ["None", "NoneOnDryRun"];
    if webhook["sideEffects"].is_null() {
        let why = "must specify one of None, NoneOnDryRun";
        causes.push(Cause::required(field("sideEffects"), why));
    }
    one_of_if_given(causes, at, webhook, "sideEffects", &effects);
    let seconds = &webhook["timeoutSeconds"];
    if seconds
        .as_i64()
        .is_some_and(|seconds| !(1..=30).contains(&seconds))
    {
        let why = "the timeout value must be between 1 and 30 seconds";
        causes.push(Cause::invalid(field("timeoutSeconds"), seconds, why));
    }
    selector(
        causes,
        &field("namespaceSelector"),
        &webhook["namespaceSelector"],
    );
    selector(causes, &field("objectSelector"), &webhook["objectSelector"]);
    client(causes, &field("clientConfig"), &webhook["clientConfig"]);
    let environment = Environment {
        authorizer: true,
        ..Environment::default()
    };
    let conditions = &webhook["matchConditions"];
    policy::conditions(causes, &field("matchConditions"), conditions, &environment);
    versions(causes, &field("admissionReviewVersions"), webhook);
    one_of_if_given(
        causes,
        at,
        webhook,
        "reinvocationPolicy",
        &["IfNeeded", "Never"],
    );
}

fn versions(causes: &mut Vec<Cause>, at: &str, webhook: &Value) {
    let versions: Vec<&str> = list(&webhook["admissionReviewVersions"])
        .filter_map(Value::as_str)
        .collect();
    if versions.is_empty() {
        causes.push(Cause::required(at, "must specify one of v1, v1beta1"));
        return;
    }
    let mut seen: Vec<&str> = Vec::new();
    let mut known = false;
    for (index, version) in versions.iter().enumerate() {
        let at = format!("{at}[{index}]");
        if seen.contains(version) {
            causes.push(Cause::invalid(at, &json!(version), "duplicate version"));
            continue;
        }
        name(causes, &at, version, names::old_label);
        seen.push(version);
        known |= matches!(*version, "v1" | "v1beta1");
    }
    if !known {
        let why = "must include at least one of v1, v1beta1";
        causes.push(Cause::invalid(at, &webhook["admissionReviewVersions"], why));
    }
}

fn client(causes: &mut Vec<Cause>, at: &str, client: &Value) {
    let (url, service) = (&client["url"], &client["service"]);
    if url.is_null() == service.is_null() {
        let why = "exactly one of url or service is required";
        causes.push(Cause::required(at, why));
        return;
    }
    if let Some(url) = url.as_str() {
        let mut errors = Vec::new();
        definition::address_of_webhook(&format!("{at}.url"), url, &mut errors);
        causes.extend(super::of_schema(errors));
        return;
    }
    // The server mixes the two up.
    for (field, told) in [("namespace", "name"), ("name", "namespace")] {
        if text(service, field).is_empty() {
            causes.push(Cause::required(format!("{at}.service.{told}"), ""));
        }
    }
    let port = &service["port"];
    if port
        .as_i64()
        .is_some_and(|port| !(1..=65535).contains(&port))
    {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        causes.push(Cause::invalid(format!("{at}.service.port"), port, why));
    }
    let Some(path) = service["path"]
        .as_str()
        .filter(|path| !matches!(*path, "" | "/"))
    else {
        return;
    };
    let at = format!("{at}.service.path");
    let mut say = |why: &str| causes.push(Cause::invalid(&at, &json!(path), why));
    if !path.starts_with('/') {
        say("must start with a '/'");
    }
    // The server takes the first byte for a slash, whatever it is.
    let inner = String::from_utf8_lossy(path.as_bytes().get(1..).unwrap_or_default());
    let inner = inner.strip_suffix('/').unwrap_or(&inner);
    for (index, segment) in inner.split('/').enumerate() {
        if segment.is_empty() {
            say(&format!("segment[{index}] may not be empty"));
            continue;
        }
        for why in names::subdomain(segment) {
            say(&format!("segment[{index}]: {why}"));
        }
    }
}

/// A rule that says which requests are meant.
pub(super) fn rule(causes: &mut Vec<Cause>, at: &str, rule: &Value) {
    const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
    let field = |name: &str| format!("{at}.{name}");
    let all = |field: &str| -> Vec<&str> { list(&rule[field]).filter_map(Value::as_str).collect() };
    let alone = |causes: &mut Vec<Cause>, name: &str, what: &str| {
        let values = all(name);
        if values.is_empty() {
            causes.push(Cause::required(field(name), ""));
        } else if values.len() > 1 && values.contains(&"*") {
            let why = format!("if '*' is present, must not specify other {what}");
            causes.push(Cause::invalid(field(name), &rule[name], &why));
        }
    };
    alone(causes, "operations", "operations");
    for (index, operation) in all("operations").iter().enumerate() {
        one_of(
            causes,
            &field(&format!("operations[{index}]")),
            operation,
            &OPERATIONS,
        );
    }
    alone(causes, "apiGroups", "API groups");
    alone(causes, "apiVersions", "API versions");
    let versions = all("apiVersions");
    for (index, version) in versions.iter().enumerate() {
        if version.is_empty() {
            causes.push(Cause::required(field(&format!("apiVersions[{index}]")), ""));
        }
    }
    resources(causes, &field("resources"), rule, &all("resources"));
    let known = ["*", "Cluster", "Namespaced"];
    one_of_if_given(causes, at, rule, "scope", &known);
}

fn resources(causes: &mut Vec<Cause>, at: &str, rule: &Value, resources: &[&str]) {
    if resources.is_empty() {
        causes.push(Cause::required(at, ""));
    }
    let every = resources.contains(&"*/*");
    let mut with_all: Vec<&str> = Vec::new();
    let mut of_all: Vec<&str> = Vec::new();
    for (index, resource) in resources.iter().enumerate() {
        let one = format!("{at}[{index}]");
        if resource.is_empty() {
            causes.push(Cause::required(&one, ""));
        }
        let mut say = |why: &str| causes.push(Cause::invalid(&one, &json!(resource), why));
        let Some((main, sub)) = resource.split_once('/') else {
            continue;
        };
        if with_all.contains(&main) {
            say(&format!(
                "if '{main}/*' is present, must not specify {resource}"
            ));
        }
        if of_all.contains(&sub) {
            say(&format!(
                "if '*/{sub}' is present, must not specify {resource}"
            ));
        }
        if sub == "*" {
            with_all.push(main);
        }
        if main == "*" {
            of_all.push(sub);
        }
    }
    if resources.len() > 1 && every {
        let why = "if '*/*' is present, must not specify other resources";
        causes.push(Cause::invalid(at, &rule["resources"], why));
    }
    if resources.contains(&"*")
        && resources
            .iter()
            .any(|one| !one.contains('/') && *one != "*")
    {
        let why = "if '*' is present, must not specify other resources without subresources";
        causes.push(Cause::invalid(at, &rule["resources"], why));
    }
}
