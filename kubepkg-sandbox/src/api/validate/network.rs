//! Network policies: `ValidateNetworkPolicySpec` of `pkg/apis/networking/validation`.

use serde_json::{Value, json};

use super::parts::{name, network, one_of, one_of_if_given, port, port_name, selector};
use crate::api::failure::Cause;
use crate::api::object::{list, text};

pub(super) fn policy(causes: &mut Vec<Cause>, spec: &Value) {
    selector(causes, "spec.podSelector", &spec["podSelector"]);
    for (way, peers) in [("ingress", "from"), ("egress", "to")] {
        for (index, rule) in list(&spec[way]).enumerate() {
            let at = format!("spec.{way}[{index}]");
            for (index, port) in list(&rule["ports"]).enumerate() {
                ports(causes, &format!("{at}.ports[{index}]"), port);
            }
            for (index, peer) in list(&rule[peers]).enumerate() {
                self::peer(causes, &format!("{at}.{peers}[{index}]"), peer);
            }
        }
    }
    let types: Vec<&Value> = list(&spec["policyTypes"]).collect();
    if types.len() > 2 {
        let why = "may not specify more than two policyTypes";
        causes.push(Cause::invalid(
            "spec.policyTypes",
            &spec["policyTypes"],
            why,
        ));
        return;
    }
    for (index, one) in types.iter().enumerate() {
        let at = format!("spec.policyTypes[{index}]");
        one_of(
            causes,
            &at,
            one.as_str().unwrap_or_default(),
            &["Ingress", "Egress"],
        );
    }
}

fn ports(causes: &mut Vec<Cause>, at: &str, one: &Value) {
    let known = ["TCP", "UDP", "SCTP"];
    one_of_if_given(causes, at, one, "protocol", &known);
    let own = &one["port"];
    let end = &one["endPort"];
    let end_at = format!("{at}.endPort");
    match own {
        Value::Null if !end.is_null() => {
            let why = "may not be specified when `port` is not specified";
            causes.push(Cause::invalid(end_at, end, why));
        }
        Value::Null => {}
        Value::String(text) => {
            if !end.is_null() {
                let why = "may not be specified when `port` is non-numeric";
                causes.push(Cause::invalid(end_at, end, why));
            }
            name(causes, &format!("{at}.port"), text, port_name);
        }
        number => {
            port(causes, &format!("{at}.port"), number);
            if end.is_null() {
                return;
            }
            if end.as_i64() < number.as_i64() {
                // The server shows the first of the two.
                let why = "must be greater than or equal to `port`";
                causes.push(Cause::invalid(&end_at, number, why));
            }
            port(causes, &end_at, end);
        }
    }
}

fn peer(causes: &mut Vec<Cause>, at: &str, peer: &Value) {
    let mut peers = 0;
    for field in ["podSelector", "namespaceSelector"] {
        if !peer[field].is_null() {
            peers += 1;
            selector(causes, &format!("{at}.{field}"), &peer[field]);
        }
    }
    let block = &peer["ipBlock"];
    if !block.is_null() {
        self::block(causes, &format!("{at}.ipBlock"), block);
        if peers > 0 {
            let why = "may not specify both ipBlock and another peer";
            causes.push(Cause::forbidden(at, why));
        }
    } else if peers == 0 {
        causes.push(Cause::required(at, "must specify a peer"));
    }
}

fn block(causes: &mut Vec<Cause>, at: &str, block: &Value) {
    let cidr = text(block, "cidr");
    if cidr.is_empty() {
        causes.push(Cause::required(format!("{at}.cidr"), ""));
        return;
    }
    if !network(causes, &format!("{at}.cidr"), cidr) {
        return;
    }
    for (index, out) in list(&block["except"]).enumerate() {
        let at = format!("{at}.except[{index}]");
        let out = out.as_str().unwrap_or_default();
        if network(causes, &at, out) && !inside(out, cidr) {
            let why = "must be a strict subset of `cidr`";
            causes.push(Cause::invalid(at, &json!(out), why));
        }
    }
}

/// Whether a network is a real part of another.
fn inside(small: &str, large: &str) -> bool {
    let read = |text: &str| -> Option<(Vec<u8>, u32)> {
        let (address, length) = text.split_once('/')?;
        let bytes = match address.parse::<std::net::IpAddr>().ok()? {
            std::net::IpAddr::V4(address) => address.octets().to_vec(),
            std::net::IpAddr::V6(address) => address.octets().to_vec(),
        };
        Some((bytes, length.parse().ok()?))
    };
    let (Some((inner, longer)), Some((outer, shorter))) = (read(small), read(large)) else {
        return false;
    };
    let bit = |bytes: &[u8], at: u32| {
        let index = usize::try_from(at / 8).unwrap_or(usize::MAX);
        bytes.get(index).map(|byte| byte >> (7 - at % 8) & 1)
    };
    inner.len() == outer.len()
        && longer > shorter
        && (0..shorter).all(|at| bit(&inner, at) == bit(&outer, at))
}
