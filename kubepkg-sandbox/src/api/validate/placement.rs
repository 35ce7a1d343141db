//! Where pods go: affinities, tolerations, and how they are spread.

use serde_json::{Value, json};

use super::parts::{label_values, name, one_of, selector};
use crate::api::failure::Cause;
use crate::api::names;
use crate::api::object::{list, text};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const OPERATOR: &str = "not a valid selector operator";

pub(super) fn affinity(causes: &mut Vec<Cause>, at: &str, affinity: &Value) {
    let nodes = &affinity["nodeAffinity"];
    let node_at = format!("{at}.nodeAffinity");
    if !nodes[REQUIRED].is_null() {
        node_selector(causes, &format!("{node_at}.{REQUIRED}"), &nodes[REQUIRED]);
    }
    for (index, term) in list(&nodes[PREFERRED]).enumerate() {
        let at = format!("{node_at}.{PREFERRED}[{index}]");
        weight(causes, &at, term);
        node_term(
            causes,
            &format!("{at}.preference"),
            &term["preference"],
            false,
        );
    }
    for side in ["podAffinity", "podAntiAffinity"] {
        for (index, term) in list(&affinity[side][REQUIRED]).enumerate() {
            pod_term(causes, &format!("{at}.{side}.{REQUIRED}[{index}]"), term);
        }
        for (index, term) in list(&affinity[side][PREFERRED]).enumerate() {
            let at = format!("{at}.{side}.{PREFERRED}[{index}]");
            weight(causes, &at, term);
            pod_term(
                causes,
                &format!("{at}.podAffinityTerm"),
                &term["podAffinityTerm"],
            );
        }
    }
}

fn weight(causes: &mut Vec<Cause>, at: &str, term: &Value) {
    let weight = term["weight"].as_i64().unwrap_or(0);
    if !(1..=100).contains(&weight) {
        let why = "must be in the range 1-100";
        causes.push(Cause::invalid(format!("{at}.weight"), &json!(weight), why));
    }
}

/// Terms of which a node must meet one.
pub(super) fn node_selector(causes: &mut Vec<Cause>, at: &str, selector: &Value) {
    let at = format!("{at}.nodeSelectorTerms");
    if list(&selector["nodeSelectorTerms"]).next().is_none() {
        let why = "must have at least one node selector term";
        causes.push(Cause::required(at, why));
        return;
    }
    for (index, term) in list(&selector["nodeSelectorTerms"]).enumerate() {
        node_term(causes, &format!("{at}[{index}]"), term, true);
    }
}

fn node_term(causes: &mut Vec<Cause>, at: &str, term: &Value, required: bool) {
    for (index, wanted) in list(&term["matchExpressions"]).enumerate() {
        let at = format!("{at}.matchExpressions[{index}]");
        let count = list(&wanted["values"]).count();
        let operator = text(wanted, "operator");
        match operator {
            "In" | "NotIn" if count == 0 => {
                let why = "must be specified when `operator` is 'In' or 'NotIn'";
                causes.push(Cause::required(format!("{at}.values"), why));
            }
            "Exists" | "DoesNotExist" if count > 0 => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                causes.push(Cause::forbidden(format!("{at}.values"), why));
            }
            "Gt" | "Lt" if count != 1 => {
                let why = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                causes.push(Cause::required(format!("{at}.values"), why));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            _ => causes.push(Cause::invalid(
                format!("{at}.operator"),
                &json!(operator),
                OPERATOR,
            )),
        }
        name(
            causes,
            &format!("{at}.key"),
            text(wanted, "key"),
            names::qualified_name,
        );
        if required {
            label_values(causes, &at, &wanted["values"]);
        }
    }
    for (index, wanted) in list(&term["matchFields"]).enumerate() {
        let at = format!("{at}.matchFields[{index}]");
        let operator = text(wanted, "operator");
        if !matches!(operator, "In" | "NotIn") {
            causes.push(Cause::invalid(
                format!("{at}.operator"),
                &json!(operator),
                OPERATOR,
            ));
        } else if list(&wanted["values"]).count() != 1 {
            let why =
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
            causes.push(Cause::required(format!("{at}.values"), why));
        }
        let key = text(wanted, "key");
        if key == "metadata.name" {
            for (index, value) in list(&wanted["values"]).enumerate() {
                let value = value.as_str().unwrap_or_default();
                name(
                    causes,
                    &format!("{at}.values[{index}]"),
                    value,
                    names::subdomain,
                );
            }
        } else {
            let why = "not a valid field selector key";
            causes.push(Cause::invalid(format!("{at}.key"), &json!(key), why));
        }
    }
}

fn pod_term(causes: &mut Vec<Cause>, at: &str, term: &Value) {
    selector(
        causes,
        &format!("{at}.labelSelector"),
        &term["labelSelector"],
    );
    selector(
        causes,
        &format!("{at}.namespaceSelector"),
        &term["namespaceSelector"],
    );
    for namespace in list(&term["namespaces"]) {
        let namespace = namespace.as_str().unwrap_or_default();
        name(causes, &format!("{at}.namespace"), namespace, names::label);
    }
    label_keys(causes, at, term);
    let key = text(term, "topologyKey");
    let at = format!("{at}.topologyKey");
    if key.is_empty() {
        causes.push(Cause::required(&at, "can not be empty"));
    }
    name(causes, &at, key, names::qualified_name);
}

/// `matchLabelKeys` and `mismatchLabelKeys`.
fn label_keys(causes: &mut Vec<Cause>, at: &str, term: &Value) {
    for field in ["matchLabelKeys", "mismatchLabelKeys"] {
        let at = format!("{at}.{field}");
        if list(&term[field]).next().is_none() {
            continue;
        }
        if term["labelSelector"].is_null() {
            let why = "must not be specified when labelSelector is not set";
            causes.push(Cause::forbidden(at, why));
            continue;
        }
        for (index, key) in list(&term[field]).enumerate() {
            let key = key.as_str().unwrap_or_default();
            name(
                causes,
                &format!("{at}[{index}]"),
                key,
                names::qualified_name,
            );
        }
    }
    for (index, key) in list(&term["matchLabelKeys"]).enumerate() {
        if list(&term["mismatchLabelKeys"]).any(|other| other == key) {
            let why = "exists in both matchLabelKeys and mismatchLabelKeys";
            causes.push(Cause::invalid(
                format!("{at}.matchLabelKeys[{index}]"),
                key,
                why,
            ));
        }
    }
}

pub(super) fn spread(causes: &mut Vec<Cause>, at: &str, spec: &Value) {
    const WHEN: [&str; 2] = ["DoNotSchedule", "ScheduleAnyway"];
    let all: Vec<&Value> = list(&spec["topologySpreadConstraints"]).collect();
    for (index, constraint) in all.iter().enumerate() {
        let at = format!("{at}[{index}]");
        let skew = constraint["maxSkew"].as_i64().unwrap_or(0);
        if skew <= 0 {
            let why = "must be greater than zero";
            causes.push(Cause::invalid(format!("{at}.maxSkew"), &json!(skew), why));
        }
        let (key, when) = (
            text(constraint, "topologyKey"),
            text(constraint, "whenUnsatisfiable"),
        );
        if key.is_empty() {
            causes.push(Cause::required(
                format!("{at}.topologyKey"),
                "can not be empty",
            ));
        }
        one_of(causes, &format!("{at}.whenUnsatisfiable"), when, &WHEN);
        let again = all.iter().skip(index + 1).any(|other| {
            text(other, "topologyKey") == key && text(other, "whenUnsatisfiable") == when
        });
        if again {
            let at = format!("{at}.{{topologyKey, whenUnsatisfiable}}");
            causes.push(Cause::duplicate(at, &format!("{{{key}, {when}}}")));
        }
        let least = &constraint["minDomains"];
        if let Some(number) = least.as_i64() {
            let at = format!("{at}.minDomains");
            if number <= 0 {
                causes.push(Cause::invalid(&at, least, "must be greater than zero"));
            }
            if when != "DoNotSchedule" {
                let why = format!(
                    "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {when}"
                );
                causes.push(Cause::invalid(&at, least, &why));
            }
        }
        for field in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            if !constraint[field].is_null() {
                let policy = text(constraint, field);
                one_of(
                    causes,
                    &format!("{at}.{field}"),
                    policy,
                    &["Honor", "Ignore"],
                );
            }
        }
        label_keys(causes, &at, constraint);
        selector(
            causes,
            &format!("{at}.labelSelector"),
            &constraint["labelSelector"],
        );
    }
}

pub(super) fn tolerations(causes: &mut Vec<Cause>, at: &str, spec: &Value) {
    for (index, toleration) in list(&spec["tolerations"]).enumerate() {
        let at = format!("{at}[{index}]");
        let [key, operator, value, effect] =
            ["key", "operator", "value", "effect"].map(|field| text(toleration, field));
        let operator_at = format!("{at}.operator");
        if !key.is_empty() {
            name(causes, &format!("{at}.key"), key, names::qualified_name);
        } else if operator != "Exists" {
            let why = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
            causes.push(Cause::invalid(&operator_at, &json!(operator), why));
        }
        if !toleration["tolerationSeconds"].is_null() && effect != "NoExecute" {
            let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            causes.push(Cause::invalid(format!("{at}.effect"), &json!(effect), why));
        }
        match operator {
            "Equal" | "" => {
                if let Some(why) = names::label_value(value) {
                    causes.push(Cause::invalid(&operator_at, &json!(value), &why));
                }
            }
            "Exists" if !value.is_empty() => {
                let why = "value must be empty when `operator` is 'Exists'";
                causes.push(Cause::invalid(&operator_at, &json!(value), why));
            }
            "Exists" => {}
            "Lt" | "Gt" => {
                let known = ["Equal", "Exists", "Lt", "Gt"];
                let shown = json!(operator).to_string();
                causes.push(Cause::unsupported(&operator_at, &shown, &known));
            }
            _ => one_of(causes, &operator_at, operator, &["Equal", "Exists"]),
        }
        if !effect.is_empty() {
            let known = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
            one_of(causes, &format!("{at}.effect"), effect, &known);
        }
    }
}
