//! What containers must be.

use serde_json::{Value, json};

use super::mounts::mounts;
use super::parts::{name, one_of, one_of_if_given, port, port_name, protocol, required_one_of};
use super::pod::Around;
use super::probes::{PROBES, handled};
use super::resources;
use super::security;
use super::variables::variables;
use crate::api::failure::Cause;
use crate::api::names;
use crate::api::object::{list, text};

/// The containers that run side by side.
pub(super) fn regular(causes: &mut Vec<Cause>, at: &str, pod: &Value, around: &Around<'_>) {
    if list(&pod["containers"]).next().is_none() {
        causes.push(Cause::required(at, ""));
        return;
    }
    let mut seen = Vec::new();
    for (index, container) in list(&pod["containers"]).enumerate() {
        let at = format!("{at}[{index}]");
        common(causes, &at, container, around);
        let name = text(container, "name");
        if seen.contains(&name) {
            causes.push(Cause::duplicate(format!("{at}.name"), name));
        }
        seen.push(name);
        handled(causes, &at, container, around);
        let known = ["Always", "Never", "OnFailure"];
        one_of_if_given(causes, &at, container, "restartPolicy", &known);
    }
    let containers: Vec<&Value> = list(&pod["containers"]).collect();
    host_ports(causes, at, &containers);
}

/// The containers that run first, one after the other.
pub(super) fn first(causes: &mut Vec<Cause>, at: &str, pod: &Value, around: &Around<'_>) {
    let mut seen: Vec<&str> = list(&pod["containers"])
        .map(|container| text(container, "name"))
        .collect();
    for (index, container) in list(&pod["initContainers"]).enumerate() {
        let list_at = at;
        let at = format!("{at}[{index}]");
        common(causes, &at, container, around);
        let policy = text(container, "restartPolicy");
        if !container["restartPolicy"].is_null() {
            let known = ["Always", "Never", "OnFailure"];
            one_of(causes, &format!("{at}.restartPolicy"), policy, &known);
        }
        let name = text(container, "name");
        if seen.contains(&name) {
            causes.push(Cause::duplicate(format!("{at}.name"), name));
        } else if !name.is_empty() {
            seen.push(name);
        }
        host_ports(causes, list_at, &[container]);
        if policy == "Always" {
            handled(causes, &at, container, around);
            continue;
        }
        for field in ["lifecycle"].into_iter().chain(PROBES) {
            if !container[field].is_null() {
                let why = "may not be set for init containers without restartPolicy=Always";
                causes.push(Cause::forbidden(format!("{at}.{field}"), why));
            }
        }
    }
}

fn host_ports(causes: &mut Vec<Cause>, at: &str, containers: &[&Value]) {
    let mut seen = Vec::new();
    for (place, container) in containers.iter().enumerate() {
        for (index, port) in list(&container["ports"]).enumerate() {
            let number = port["hostPort"].as_i64().unwrap_or(0);
            if number == 0 {
                continue;
            }
            let shown = format!(
                "{}/{}/{number}",
                text(port, "protocol"),
                text(port, "hostIP")
            );
            if seen.contains(&shown) {
                let at = format!("{at}[{place}].ports[{index}].hostPort");
                causes.push(Cause::duplicate(at, &shown));
            } else {
                seen.push(shown);
            }
        }
    }
}

fn common(causes: &mut Vec<Cause>, at: &str, container: &Value, around: &Around<'_>) {
    let field = |name: &str| format!("{at}.{name}");
    let own = text(container, "name");
    if own.is_empty() {
        causes.push(Cause::required(field("name"), ""));
    } else {
        name(causes, &field("name"), own, names::label);
    }
    if text(container, "image").is_empty() {
        causes.push(Cause::required(field("image"), ""));
    }
    let policies = ["File", "FallbackToLogsOnError"];
    let policy = text(container, "terminationMessagePolicy");
    required_one_of(
        causes,
        &field("terminationMessagePolicy"),
        policy,
        &policies,
    );
    ports(causes, &field("ports"), container);
    variables(causes, at, container);
    mounts(causes, &field("volumeMounts"), container, around);
    let policies = ["Always", "IfNotPresent", "Never"];
    let policy = text(container, "imagePullPolicy");
    required_one_of(causes, &field("imagePullPolicy"), policy, &policies);
    resources::of_container(causes, &field("resources"), &container["resources"]);
    for policy in list(&container["resizePolicy"]) {
        let at = field("resizePolicy");
        required_one_of(
            causes,
            &at,
            text(policy, "resourceName"),
            &["cpu", "memory"],
        );
        let restart = text(policy, "restartPolicy");
        required_one_of(causes, &at, restart, &["NotRequired", "RestartContainer"]);
        if around.restart == "Never" && restart != "NotRequired" {
            let why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            causes.push(Cause::invalid(at, &json!(restart), why));
        }
    }
    let context = &container["securityContext"];
    security::of_container(
        causes,
        &field("securityContext"),
        context,
        around.host_users,
    );
}

fn ports(causes: &mut Vec<Cause>, at: &str, container: &Value) {
    let mut seen = Vec::new();
    for (index, one) in list(&container["ports"]).enumerate() {
        let at = format!("{at}[{index}]");
        let own = text(one, "name");
        if !own.is_empty() {
            name(causes, &format!("{at}.name"), own, port_name);
            if port_name(own).is_empty() && seen.contains(&own) {
                causes.push(Cause::duplicate(format!("{at}.name"), own));
            }
            seen.push(own);
        }
        let number = &one["containerPort"];
        if number.as_i64().unwrap_or(0) == 0 {
            causes.push(Cause::required(format!("{at}.containerPort"), ""));
        } else {
            port(causes, &format!("{at}.containerPort"), number);
        }
        if one["hostPort"].as_i64().unwrap_or(0) != 0 {
            port(causes, &format!("{at}.hostPort"), &one["hostPort"]);
        }
        protocol(causes, &at, one);
    }
}
