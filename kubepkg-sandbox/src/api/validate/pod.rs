//! What pods and templates of pods must be: `ValidatePodSpec` of `pkg/apis/core/validation`.
//!
//! Windows, resource claims of pods and what a node tells are left out.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::container;
use super::parts::{address, labels, name, one_of, required_one_of};
use super::placement;
use super::security;
use super::volume;
use crate::api::app_armor;
use crate::api::failure::Cause;
use crate::api::names;
use crate::api::object::{list, text};

/// What the rules of containers must know of their pod.
pub(super) struct Around<'v> {
    pub(super) volumes: BTreeMap<&'v str, &'v Value>,
    /// How long the pod takes to end.
    pub(super) grace: Option<i64>,
    pub(super) restart: &'v str,
    pub(super) host_users: bool,
}

/// A pod itself.
pub(super) fn pod(causes: &mut Vec<Cause>, pod: &Value) {
    app_armor::check(causes, "metadata", pod);
    app_armor::compare(causes, pod);
    spec(causes, "spec", &pod["spec"], true);
    for field in ["containers", "initContainers"] {
        for (index, container) in list(&pod["spec"][field]).enumerate() {
            let image = text(container, "image");
            if image.trim() != image {
                let why = "must not have leading or trailing whitespace";
                let at = format!("spec.{field}[{index}].image");
                causes.push(Cause::invalid(at, &json!(image), why));
            }
        }
    }
}

/// A template, at its path.
pub(super) fn template(causes: &mut Vec<Cause>, at: &str, template: &Value) {
    template_metadata(causes, at, template);
    spec(causes, &format!("{at}.spec"), &template["spec"], false);
    if list(&template["spec"]["ephemeralContainers"])
        .next()
        .is_some()
    {
        let why = "ephemeral containers not allowed in pod template";
        causes.push(Cause::forbidden(
            format!("{at}.spec.ephemeralContainers"),
            why,
        ));
    }
}

/// What is wrong with the labels and annotations of a template.
pub(super) fn template_metadata(causes: &mut Vec<Cause>, at: &str, template: &Value) {
    let metadata = &template["metadata"];
    labels(causes, &format!("{at}.labels"), &metadata["labels"]);
    for (key, _) in metadata["annotations"].as_object().into_iter().flatten() {
        for why in names::qualified_name(&key.to_lowercase()) {
            causes.push(Cause::invalid(
                format!("{at}.annotations"),
                &json!(key),
                &why,
            ));
        }
    }
    app_armor::check(causes, at, template);
}

fn spec(causes: &mut Vec<Cause>, at: &str, spec: &Value, is_pod: bool) {
    let field = |name: &str| format!("{at}.{name}");
    let grace = spec["terminationGracePeriodSeconds"].as_i64();
    if grace.is_none() {
        causes.push(Cause::required(field("terminationGracePeriodSeconds"), ""));
    }
    let around = Around {
        volumes: volume::all(causes, &field("volumes"), spec),
        grace,
        restart: text(spec, "restartPolicy"),
        host_users: spec["hostUsers"] != false,
    };
    container::regular(causes, &field("containers"), spec, &around);
    container::first(causes, &field("initContainers"), spec, &around);
    host_ports(causes, at, spec, is_pod);
    let restarts = ["Always", "OnFailure", "Never"];
    required_one_of(causes, &field("restartPolicy"), around.restart, &restarts);
    let policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    required_one_of(
        causes,
        &field("dnsPolicy"),
        text(spec, "dnsPolicy"),
        &policies,
    );
    labels(causes, &field("nodeSelector"), &spec["nodeSelector"]);
    security::of_pod(causes, &field("securityContext"), spec);
    placement::affinity(causes, &field("affinity"), &spec["affinity"]);
    dns(causes, &field("dnsConfig"), spec);
    for (index, gate) in list(&spec["readinessGates"]).enumerate() {
        let at = field(&format!("readinessGates[{index}].conditionType"));
        name(
            causes,
            &at,
            text(gate, "conditionType"),
            names::qualified_name,
        );
    }
    let mut seen = Vec::new();
    for (index, gate) in list(&spec["schedulingGates"]).enumerate() {
        let at = field(&format!("schedulingGates[{index}]"));
        let gate = text(gate, "name");
        name(causes, &at, gate, names::qualified_name);
        if seen.contains(&gate) {
            causes.push(Cause::duplicate(at, gate));
        }
        seen.push(gate);
    }
    placement::spread(causes, &field("topologySpreadConstraints"), spec);
    for (what, rule) in [
        (
            "serviceAccountName",
            names::subdomain as fn(&str) -> Vec<String>,
        ),
        ("nodeName", names::subdomain),
    ] {
        if !text(spec, what).is_empty() {
            name(causes, &field(what), text(spec, what), rule);
        }
    }
    let deadline = &spec["activeDeadlineSeconds"];
    if deadline
        .as_i64()
        .is_some_and(|seconds| !(1..=i64::from(i32::MAX)).contains(&seconds))
    {
        let why = "must be between 1 and 2147483647, inclusive";
        causes.push(Cause::invalid(
            field("activeDeadlineSeconds"),
            deadline,
            why,
        ));
    }
    for what in ["hostname", "subdomain"] {
        if !text(spec, what).is_empty() {
            name(causes, &field(what), text(spec, what), names::label);
        }
    }
    placement::tolerations(causes, &field("tolerations"), spec);
    for (index, alias) in list(&spec["hostAliases"]).enumerate() {
        let at = field(&format!("hostAliases[{index}]"));
        address(causes, &format!("{at}.ip"), text(alias, "ip"));
        for (index, host) in list(&alias["hostnames"]).enumerate() {
            let host = host.as_str().unwrap_or_default();
            name(
                causes,
                &format!("{at}.hostnames[{index}]"),
                host,
                names::subdomain,
            );
        }
    }
    for what in ["priorityClassName", "runtimeClassName"] {
        let value = text(spec, what);
        if !value.is_empty() || (what == "runtimeClassName" && !spec[what].is_null()) {
            name(causes, &field(what), value, names::subdomain);
        }
    }
    if !spec["preemptionPolicy"].is_null() {
        let policy = text(spec, "preemptionPolicy");
        let known = ["PreemptLowerPriority", "Never"];
        required_one_of(causes, &field("preemptionPolicy"), policy, &known);
    }
}

/// In the network of its node, a pod has the ports of the node.
fn host_ports(causes: &mut Vec<Cause>, at: &str, spec: &Value, is_pod: bool) {
    if spec["hostNetwork"] != true {
        return;
    }
    for (place, container) in list(&spec["containers"]).enumerate() {
        for (index, port) in list(&container["ports"]).enumerate() {
            let number = |field: &str| port[field].as_i64().unwrap_or(0);
            let (host, own) = (number("hostPort"), number("containerPort"));
            if (is_pod || host != 0) && host != own {
                let why = "must match `containerPort` when `hostNetwork` is true";
                let at = format!("{at}.containers[{place}].ports[{index}].hostPort");
                causes.push(Cause::invalid(at, &json!(host), why));
            }
        }
    }
}

fn dns(causes: &mut Vec<Cause>, at: &str, spec: &Value) {
    let config = &spec["dnsConfig"];
    let servers = list(&config["nameservers"]).count();
    if spec["dnsPolicy"] == "None" {
        if config.is_null() {
            let why = "must provide `dnsConfig` when `dnsPolicy` is None";
            causes.push(Cause::required(at, why));
            return;
        }
        if servers == 0 {
            let why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            causes.push(Cause::required(format!("{at}.nameservers"), why));
            return;
        }
    }
    if servers > 3 {
        let why = "must not have more than 3 nameservers";
        let at = format!("{at}.nameservers");
        causes.push(Cause::invalid(at, &config["nameservers"], why));
    }
    for (index, server) in list(&config["nameservers"]).enumerate() {
        let at = format!("{at}.nameservers[{index}]");
        address(causes, &at, server.as_str().unwrap_or_default());
    }
    if list(&config["searches"]).count() > 32 {
        let why = "must not have more than 32 search paths";
        causes.push(Cause::invalid(
            format!("{at}.searches"),
            &config["searches"],
            why,
        ));
    }
    for (index, option) in list(&config["options"]).enumerate() {
        if text(option, "name").is_empty() {
            causes.push(Cause::required(
                format!("{at}.options[{index}]"),
                "must not be empty",
            ));
        }
    }
}

/// A template that is restarted for ever.
pub(super) fn lasting(causes: &mut Vec<Cause>, spec: &Value, controller: &str) {
    let pod = &spec["template"]["spec"];
    one_of(
        causes,
        "spec.template.spec.restartPolicy",
        text(pod, "restartPolicy"),
        &["Always"],
    );
    if !pod["activeDeadlineSeconds"].is_null() {
        let why = format!("activeDeadlineSeconds in {controller} is not Supported");
        causes.push(Cause::forbidden(
            "spec.template.spec.activeDeadlineSeconds",
            &why,
        ));
    }
}
