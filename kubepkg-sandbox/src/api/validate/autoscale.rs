//! Autoscalers, as their second version: `pkg/apis/autoscaling/validation`.

use serde_json::{Value, json};

use super::parts::{name, one_of, one_of_if_given};
use crate::api::failure::Cause;
use crate::api::names;
use crate::api::object::{list, text};

const KINDS: [(&str, &str); 5] = [
    ("ContainerResource", "containerResource"),
    ("External", "external"),
    ("Object", "object"),
    ("Pods", "pods"),
    ("Resource", "resource"),
];
const SEGMENT: fn(&str) -> Vec<String> = names::path_segment;

pub(super) fn autoscaler(causes: &mut Vec<Cause>, spec: &Value) {
    let least = &spec["minReplicas"];
    if least.as_i64().is_some_and(|number| number < 1) {
        let why = "must be greater than or equal to 1";
        causes.push(Cause::invalid("spec.minReplicas", least, why));
    }
    let most = spec["maxReplicas"].as_i64().unwrap_or(0);
    match most {
        0 => causes.push(Cause::required(
            "spec.maxReplicas",
            "must be set and greater than 0",
        )),
        1.. => {}
        _ => {
            let why = "must be greater than or equal to 1";
            causes.push(Cause::invalid("spec.maxReplicas", &json!(most), why));
        }
    }
    if least.as_i64().is_some_and(|least| most < least) {
        let why = "must be greater than or equal to `minReplicas`";
        causes.push(Cause::invalid("spec.maxReplicas", &json!(most), why));
    }
    reference(causes, "spec.scaleTargetRef", &spec["scaleTargetRef"]);
    let target = &spec["scaleTargetRef"];
    let version = text(target, "apiVersion");
    let at = "spec.scaleTargetRef.apiVersion";
    if version.matches('/').count() > 1 {
        let why = format!("unexpected GroupVersion string: {version}");
        causes.push(Cause::invalid(at, &json!(version), &why));
    } else if version
        .split_once('/')
        .is_none_or(|(group, _)| group.is_empty())
        && text(target, "kind") != "ReplicationController"
    {
        let why = "apiVersion must specify API group";
        causes.push(Cause::invalid(at, &json!(version), why));
    }
    let mut outside = false;
    for (index, metric) in list(&spec["metrics"]).enumerate() {
        self::metric(causes, &format!("spec.metrics[{index}]"), metric);
        outside |= matches!(text(metric, "type"), "Object" | "External");
    }
    if least.as_i64() == Some(0) && !outside {
        let why = "must specify at least one Object or External metric to support scaling to zero replicas";
        causes.push(Cause::forbidden("spec.metrics", why));
    }
    for way in ["scaleUp", "scaleDown"] {
        if !spec["behavior"][way].is_null() {
            rules(
                causes,
                &format!("spec.behavior.{way}"),
                &spec["behavior"][way],
            );
        }
    }
}

/// Kind and name of another object.
fn reference(causes: &mut Vec<Cause>, at: &str, reference: &Value) {
    for field in ["kind", "name"] {
        let at = format!("{at}.{field}");
        match text(reference, field) {
            "" => causes.push(Cause::required(at, "")),
            own => name(causes, &at, own, SEGMENT),
        }
    }
}

fn metric(causes: &mut Vec<Cause>, at: &str, metric: &Value) {
    let kind = text(metric, "type");
    let type_at = format!("{at}.type");
    if kind.is_empty() {
        causes.push(Cause::required(
            &type_at,
            "must specify a metric source type",
        ));
    }
    let known = KINDS.map(|(kind, _)| kind);
    one_of(causes, &type_at, kind, &known);
    source(causes, at, metric);
    // The server looks twice, and tells both times.
    one_of(causes, &type_at, kind, &known);
}

/// What is wrong with where a metric comes from.
fn source(causes: &mut Vec<Cause>, at: &str, metric: &Value) {
    let kind = text(metric, "type");
    // Of several the first is looked at.
    let [of_container, external, object, pods, resource] = KINDS;
    let in_order = [object, external, pods, resource, of_container];
    let mut sources = in_order
        .iter()
        .filter(|(_, field)| !metric[*field].is_null());
    let first = sources.next();
    let several = sources.next().is_some();
    for (known, field) in KINDS {
        if known == kind && metric[field].is_null() {
            let why = "must populate information for the given metric source";
            causes.push(Cause::required(format!("{at}.{field}"), why));
        }
        if known != kind && !metric[field].is_null() && several {
            let why = "must populate the given metric source only";
            causes.push(Cause::forbidden(format!("{at}.{field}"), why));
        }
    }
    let Some((kind, field)) = first else {
        return;
    };
    let (kind, source) = (*kind, &metric[*field]);
    let at = format!("{at}.{field}");
    match kind {
        "Object" => {
            reference(
                causes,
                &format!("{at}.describedObject"),
                &source["describedObject"],
            );
            identifier(causes, &at, source);
        }
        "Pods" | "External" => identifier(causes, &at, source),
        _ => {
            if text(source, "name").is_empty() {
                causes.push(Cause::required(
                    format!("{at}.name"),
                    "must specify a resource name",
                ));
            }
            if kind == "ContainerResource" && text(source, "container").is_empty() {
                causes.push(Cause::required(
                    format!("{at}.container"),
                    "must specify a container",
                ));
            }
        }
    }
    target(causes, &format!("{at}.target"), kind, &source["target"]);
}

fn identifier(causes: &mut Vec<Cause>, at: &str, source: &Value) {
    let at = format!("{at}.metric.name");
    match text(&source["metric"], "name") {
        "" => causes.push(Cause::required(at, "must specify a metric name")),
        own => name(causes, &at, own, SEGMENT),
    }
}

fn target(causes: &mut Vec<Cause>, at: &str, kind: &str, target: &Value) {
    let field = |name: &str| format!("{at}.{name}");
    let what = text(target, "type");
    if what.is_empty() {
        causes.push(Cause::required(
            field("type"),
            "must specify a metric target type",
        ));
    }
    if !matches!(what, "Utilization" | "Value" | "AverageValue") {
        let why = "must be either Utilization, Value, or AverageValue";
        causes.push(Cause::invalid(field("type"), &json!(what), why));
    }
    let (share, value, average) = (
        &target["averageUtilization"],
        &target["value"],
        &target["averageValue"],
    );
    if kind.ends_with("Resource") && !share.is_null() && share.as_i64().unwrap_or(0) < 1 {
        let why = "must be greater than 0";
        causes.push(Cause::invalid(field("averageUtilization"), share, why));
    }
    for (name, value) in [("value", value), ("averageValue", average)] {
        let text = value.as_str().unwrap_or("1");
        if text == "0" || text.starts_with('-') {
            causes.push(Cause::invalid(field(name), value, "must be positive"));
        }
    }
    match kind {
        "Resource" | "ContainerResource" => {
            if share.is_null() && average.is_null() {
                let why = "must set either a target raw value or a target utilization";
                causes.push(Cause::required(field("averageUtilization"), why));
            }
            if !share.is_null() && !average.is_null() {
                let why = "may not set both a target raw value and a target utilization";
                causes.push(Cause::forbidden(field("averageValue"), why));
            }
        }
        "Pods" => {
            if average.is_null() {
                let why = "must specify a positive target averageValue";
                causes.push(Cause::required(field("averageValue"), why));
            }
        }
        _ => {
            if value.is_null() && average.is_null() {
                let (name, why) = if kind == "Object" {
                    (
                        "averageValue",
                        "must set either a target value or averageValue",
                    )
                } else {
                    (
                        "averageValue",
                        "must set either a target value for metric or a per-pod target",
                    )
                };
                causes.push(Cause::required(field(name), why));
            }
        }
    }
}

fn rules(causes: &mut Vec<Cause>, at: &str, rules: &Value) {
    let window = &rules["stabilizationWindowSeconds"];
    let window_at = format!("{at}.stabilizationWindowSeconds");
    if window.as_i64().is_some_and(|seconds| seconds < 0) {
        let why = "must be greater than or equal to zero";
        causes.push(Cause::invalid(&window_at, window, why));
    }
    if window.as_i64().is_some_and(|seconds| seconds > 3600) {
        let why = "must be less than or equal to 3600";
        causes.push(Cause::invalid(&window_at, window, why));
    }
    one_of_if_given(
        causes,
        at,
        rules,
        "selectPolicy",
        &["Disabled", "Max", "Min"],
    );
    let at = format!("{at}.policies");
    if list(&rules["policies"]).next().is_none() {
        causes.push(Cause::required(&at, "must specify at least one Policy"));
    }
    for (index, policy) in list(&rules["policies"]).enumerate() {
        let at = format!("{at}[{index}]");
        one_of(
            causes,
            &format!("{at}.type"),
            text(policy, "type"),
            &["Percent", "Pods"],
        );
        for field in ["value", "periodSeconds"] {
            let number = policy[field].as_i64().unwrap_or(0);
            let at = format!("{at}.{field}");
            if number <= 0 {
                causes.push(Cause::invalid(
                    &at,
                    &json!(number),
                    "must be greater than zero",
                ));
            }
            if field == "periodSeconds" && number > 1800 {
                let why = "must be less than or equal to 1800";
                causes.push(Cause::invalid(at, &json!(number), why));
            }
        }
    }
}
