//! Services: `validateService` of `pkg/apis/core/validation`; addresses are looked at where they are allotted.

use serde_json::{Value, json};

use super::parts::{
    address, labels, name, network, one_of, one_of_if_given, port, port_or_name, protocol,
    required_one_of,
};
use crate::api::failure::Cause;
use crate::api::names;
use crate::api::object::{list, text};

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];

pub(super) fn service(causes: &mut Vec<Cause>, spec: &Value) {
    let kind = text(spec, "type");
    let headless = spec["clusterIP"] == "None";
    if list(&spec["ports"]).next().is_none() && kind != "ExternalName" && !headless {
        causes.push(Cause::required("spec.ports", ""));
    }
    match kind {
        "LoadBalancer" | "NodePort" if headless => {
            let why = format!("may not be set to 'None' for {kind} services");
            causes.push(Cause::invalid("spec.clusterIPs[0]", &json!("None"), &why));
        }
        "ExternalName" => external_name(causes, spec),
        _ => {}
    }
    ports(causes, spec);
    labels(causes, "spec.selector", &spec["selector"]);
    let affinity = text(spec, "sessionAffinity");
    required_one_of(
        causes,
        "spec.sessionAffinity",
        affinity,
        &["ClientIP", "None"],
    );
    if affinity == "ClientIP" {
        let seconds = &spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"];
        if seconds
            .as_i64()
            .is_some_and(|seconds| !(1..=86400).contains(&seconds))
        {
            let at = "spec.sessionAffinityConfig.clientIP.timeoutSeconds";
            causes.push(Cause::invalid(
                at,
                seconds,
                "must be greater than 0 and less than 86400",
            ));
        }
    }
    families(causes, spec);
    for (index, outside) in list(&spec["externalIPs"]).enumerate() {
        let outside = outside.as_str().unwrap_or_default();
        endpoint(causes, &format!("spec.externalIPs[{index}]"), outside);
    }
    required_one_of(causes, "spec.type", kind, &TYPES);
    node_ports(causes, spec, kind);
    balancer(causes, spec, kind);
    traffic(causes, spec, kind);
}

fn external_name(causes: &mut Vec<Cause>, spec: &Value) {
    for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        let none = spec[field].is_null() || spec[field].as_array().is_some_and(Vec::is_empty);
        let address = field == "clusterIPs" && !text(spec, "clusterIP").is_empty();
        if !none || address {
            let why = "may not be set for ExternalName services";
            causes.push(Cause::forbidden(format!("spec.{field}"), why));
        }
    }
    let own = text(spec, "externalName");
    match own.strip_suffix('.').unwrap_or(own) {
        "" => causes.push(Cause::required("spec.externalName", "")),
        own => name(causes, "spec.externalName", own, names::subdomain),
    }
}

fn ports(causes: &mut Vec<Cause>, spec: &Value) {
    let many = list(&spec["ports"]).count() > 1;
    let mut seen = Vec::new();
    for (index, one) in list(&spec["ports"]).enumerate() {
        let at = format!("spec.ports[{index}]");
        let own = text(one, "name");
        let name_at = format!("{at}.name");
        if own.is_empty() {
            if many {
                causes.push(Cause::required(name_at, ""));
            }
        } else {
            name(causes, &name_at, own, names::label);
            if seen.contains(&own) {
                causes.push(Cause::duplicate(name_at, own));
            }
            seen.push(own);
        }
        port(causes, &format!("{at}.port"), &one["port"]);
        protocol(causes, &at, one);
        port_or_name(causes, &format!("{at}.targetPort"), &one["targetPort"]);
        if let Some(protocol) = one["appProtocol"].as_str() {
            name(
                causes,
                &format!("{at}.appProtocol"),
                protocol,
                names::qualified_name,
            );
        }
    }
}

/// What is wrong with the kinds of addresses that a Service asks for.
pub(crate) fn families(causes: &mut Vec<Cause>, spec: &Value) {
    for (index, family) in list(&spec["ipFamilies"]).enumerate() {
        let at = format!("spec.ipFamilies[{index}]");
        one_of(
            causes,
            &at,
            family.as_str().unwrap_or_default(),
            &["IPv4", "IPv6"],
        );
    }
    let known = ["PreferDualStack", "RequireDualStack", "SingleStack"];
    one_of_if_given(causes, "spec", spec, "ipFamilyPolicy", &known);
}

/// An address that somebody else may reach.
pub(super) fn endpoint(causes: &mut Vec<Cause>, at: &str, text: &str) {
    let before = causes.len();
    address(causes, at, text);
    let Ok(found) = text.parse::<std::net::IpAddr>() else {
        return;
    };
    if causes.len() > before {
        return;
    }
    let mut say = |why: &str| causes.push(Cause::invalid(at, &json!(text), why));
    if found.is_unspecified() {
        say("may not be unspecified (0.0.0.0 or ::)");
    }
    if found.is_loopback() {
        say("may not be in the loopback range (127.0.0.0/8, ::1/128)");
    }
    let link_local = match found {
        std::net::IpAddr::V4(found) => found.is_link_local(),
        std::net::IpAddr::V6(found) => found.segments()[0] & 0xffc0 == 0xfe80,
    };
    if link_local {
        say("may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    }
    let link_multicast = match found {
        std::net::IpAddr::V4(found) => found.octets()[..3] == [224, 0, 0],
        std::net::IpAddr::V6(found) => found.segments()[0] & 0xff0f == 0xff02,
    };
    if link_multicast {
        say("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
    }
}

fn node_ports(causes: &mut Vec<Cause>, spec: &Value, kind: &str) {
    let number = |port: &Value| port["nodePort"].as_i64().unwrap_or(0);
    if kind == "ClusterIP" {
        for (index, port) in list(&spec["ports"]).enumerate() {
            if number(port) != 0 {
                let why = "may not be used when `type` is 'ClusterIP'";
                causes.push(Cause::forbidden(
                    format!("spec.ports[{index}].nodePort"),
                    why,
                ));
            }
        }
    }
    let mut of_nodes = Vec::new();
    for (index, port) in list(&spec["ports"]).enumerate() {
        let key = (text(port, "protocol"), number(port));
        if key.1 != 0 && of_nodes.contains(&key) {
            let at = format!("spec.ports[{index}].nodePort");
            causes.push(Cause::duplicate_of(at, &key.1.to_string()));
        }
        of_nodes.push(key);
    }
    let mut own = Vec::new();
    for (index, port) in list(&spec["ports"]).enumerate() {
        let (protocol, number) = (text(port, "protocol"), port["port"].as_i64().unwrap_or(0));
        if own.contains(&(protocol, number)) {
            let shown = format!(
                "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{number},\"TargetPort\":0,\"NodePort\":0}}",
                json!(protocol)
            );
            causes.push(Cause::duplicate_of(format!("spec.ports[{index}]"), &shown));
        }
        own.push((protocol, number));
    }
}

fn balancer(causes: &mut Vec<Cause>, spec: &Value, kind: &str) {
    let why = "may only be used when `type` is 'LoadBalancer'";
    let balanced = kind == "LoadBalancer";
    let at = "spec.LoadBalancerSourceRanges";
    if list(&spec["loadBalancerSourceRanges"]).next().is_some() {
        if !balanced {
            causes.push(Cause::forbidden(at, why));
        }
        for (index, range) in list(&spec["loadBalancerSourceRanges"]).enumerate() {
            let range = range.as_str().unwrap_or_default();
            network(causes, &format!("{at}[{index}]"), range.trim());
        }
    }
    if !balanced && !spec["allocateLoadBalancerNodePorts"].is_null() {
        causes.push(Cause::forbidden("spec.allocateLoadBalancerNodePorts", why));
    }
    let class = &spec["loadBalancerClass"];
    if class.is_null() {
        return;
    }
    let at = "spec.loadBalancerClass";
    if balanced {
        name(
            causes,
            at,
            class.as_str().unwrap_or_default(),
            names::qualified_name,
        );
    } else {
        causes.push(Cause::forbidden(at, why));
    }
}

fn traffic(causes: &mut Vec<Cause>, spec: &Value, kind: &str) {
    let policies = ["Cluster", "Local"];
    let outside = matches!(kind, "LoadBalancer" | "NodePort")
        || (kind == "ClusterIP" && list(&spec["externalIPs"]).next().is_some());
    let (policy, at) = (
        text(spec, "externalTrafficPolicy"),
        "spec.externalTrafficPolicy",
    );
    if outside {
        required_one_of(causes, at, policy, &policies);
    } else if !policy.is_empty() {
        let why = "may only be set for externally-accessible services";
        causes.push(Cause::invalid(at, &json!(policy), why));
    }
    let checked = kind == "LoadBalancer" && policy == "Local";
    let health = &spec["healthCheckNodePort"];
    if !checked && health.as_i64().unwrap_or(0) != 0 {
        let why =
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        causes.push(Cause::invalid("spec.healthCheckNodePort", health, why));
    }
    one_of_if_given(causes, "spec", spec, "internalTrafficPolicy", &policies);
    let known = ["PreferClose", "PreferSameZone", "PreferSameNode"];
    one_of_if_given(causes, "spec", spec, "trafficDistribution", &known);
}
