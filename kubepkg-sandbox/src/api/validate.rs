//! Whether an object is valid: metadata for every kind, and the rules of a kind that people meet.
//!
//! Kubernetes has some thousand rules; those here are the ones that decide what clients do next
//! (names, labels, owners, finalizers, selectors, immutable fields). The conformance suite lists
//! what is compared.

mod kept;
mod status;

use serde_json::{Value, json};

use super::failure::Cause;
use super::kind::Kind;
use super::names;
use super::object;
use super::object_meta;
use super::selector::Labels;
use super::service_addresses;
use crate::crd;

/// What is wrong with a new object.
pub(crate) fn new(kind: &Kind, object: &Value) -> Vec<Cause> {
    let mut causes = metadata(kind, object, true);
    causes.extend(of_kind(kind, object));
    if kind.is("apiextensions.k8s.io", "customresourcedefinitions") {
        causes.extend(of_schema(crd::definition::check(object)));
    }
    if let Some(custom) = &kind.custom {
        causes.extend(of_schema(crd::validate(object, &custom.schema)));
    }
    causes
}

/// Causes of what a schema refuses.
fn of_schema(errors: Vec<crd::FieldError>) -> impl Iterator<Item = Cause> {
    errors.into_iter().map(|error| Cause {
        reason: error.reason,
        message: error.message,
        field: error.field,
    })
}

/// What is wrong with a changed object.
pub(crate) fn changed(kind: &Kind, old: &Value, new: &Value, subresource: &str) -> Vec<Cause> {
    let mut causes = metadata(kind, new, false);
    if kind.custom.is_none() {
        // The server looks several times, and tells each time.
        let twice = [
            "metadata.labels",
            "metadata.annotations",
            "metadata.ownerReferences",
        ];
        let again: Vec<Cause> = causes
            .iter()
            .filter(|cause| twice.contains(&cause.field.as_str()))
            .cloned()
            .collect();
        let whole = ["configmaps", "secrets", "services", "serviceaccounts"];
        let times = if kind.group.is_empty() && whole.contains(&kind.plural.as_str()) {
            3
        } else {
            2
        };
        causes.extend(std::iter::repeat_n(again, times).flatten());
    }
    if object::terminating(old) {
        let before = object::finalizers(old);
        let added: Vec<String> = object::finalizers(new)
            .into_iter()
            .filter(|one| !before.contains(one))
            .map(|one| format!("{one:?}"))
            .collect();
        // The server looks twice, and tells both times.
        for _ in added.iter().take(1).chain(added.iter().take(1)) {
            let why = format!(
                "no new finalizers can be added if the object is being deleted, found new \
                 finalizers []string{{{}}}",
                added.join(", ")
            );
            causes.push(Cause::forbidden("metadata.finalizers", &why));
        }
    }
    if subresource == "status" {
        causes.extend(status::changed(kind, old, new));
    }
    if kind.is("", "services") {
        causes.extend(service_addresses::changed(old, new));
    }
    causes.extend(of_kind(kind, new));
    causes.extend(immutable(kind, old, new));
    if subresource.is_empty() && kind.is("", "pods") {
        causes.extend(kept::pod(old, new));
    }
    if subresource.is_empty() && kind.is("", "persistentvolumeclaims") {
        causes.extend(kept::claim(old, new));
    }
    let definition = kind.is("apiextensions.k8s.io", "customresourcedefinitions");
    if definition && subresource.is_empty() {
        causes.extend(of_schema(crd::definition::check_update(old, new)));
    }
    if let Some(custom) = &kind.custom {
        causes.extend(of_schema(crd::validate_update(old, new, &custom.schema)));
    }
    causes
}

/// Metadata that the server alone writes and that a client sends otherwise than it is.
pub(crate) fn frozen(old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for field in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let sent = &new["metadata"][field];
        let none = sent.is_null() || *sent == "";
        if !none && *sent != old["metadata"][field] {
            // The server looks twice, and tells both times.
            for _ in 0..2 {
                let at = format!("metadata.{field}");
                causes.push(Cause::invalid(at, sent, "field is immutable"));
            }
        }
    }
    causes
}

fn metadata(kind: &Kind, object: &Value, new: bool) -> Vec<Cause> {
    let name = |name: &str| {
        let mut wrong = name_rule(kind)(name);
        if new && kind.is("apiextensions.k8s.io", "customresourcedefinitions") {
            let offence = crd::definition::name_offence(object, name);
            wrong.extend(offence.map(str::to_owned));
        }
        wrong
    };
    let rules = object_meta::Rules {
        name: &name,
        named: true,
        finalizers: kind.custom.is_none(),
    };
    object_meta::causes(&object["metadata"], "metadata", &rules)
}

/// The rule for names of a kind.
fn name_rule(kind: &Kind) -> fn(&str) -> Vec<String> {
    match (kind.group.as_str(), kind.plural.as_str()) {
        _ if kind.custom.is_some() => names::subdomain,
        ("", "namespaces" | "services") => names::label,
        ("rbac.authorization.k8s.io", _) => names::path_segment,
        _ => names::subdomain,
    }
}

fn of_kind(kind: &Kind, object: &Value) -> Vec<Cause> {
    let spec = &object["spec"];
    let mut causes = Vec::new();
    match (kind.group.as_str(), kind.plural.as_str()) {
        _ if kind.custom.is_some() => {}
        ("", "configmaps") => {
            for field in ["data", "binaryData"] {
                keys(&mut causes, object, field);
            }
        }
        ("", "services") => service(&mut causes, spec),
        ("", "secrets") => {
            keys(&mut causes, object, "data");
            if object["type"] == "kubernetes.io/tls" {
                for key in ["tls.crt", "tls.key"] {
                    if object["data"][key].is_null() {
                        causes.push(Cause::required(format!("data[{key}]"), ""));
                    }
                }
            }
        }
        ("", "persistentvolumeclaims") if object::list(&spec["accessModes"]).next().is_none() => {
            let why = "at least 1 access mode is required";
            causes.push(Cause::required("spec.accessModes", why));
        }
        ("apps", "deployments" | "replicasets" | "statefulsets" | "daemonsets") => {
            workload(&mut causes, spec, kind.singular.as_str());
            let strategy = &spec["strategy"];
            if strategy["type"] == "Recreate" && !strategy["rollingUpdate"].is_null() {
                let why = "may not be specified when strategy `type` is 'Recreate'";
                causes.push(Cause::forbidden("spec.strategy.rollingUpdate", why));
            }
            let (at, update) = if kind.plural == "daemonsets" {
                ("spec.updateStrategy", &spec["updateStrategy"])
            } else {
                ("spec.strategy", strategy)
            };
            if update["type"] == "RollingUpdate" && kind.plural != "statefulsets" {
                rolling(&mut causes, &update["rollingUpdate"], at);
            }
            let seconds = &spec["progressDeadlineSeconds"];
            let ready = spec["minReadySeconds"].as_i64().unwrap_or(0);
            if seconds.as_i64().is_some_and(|seconds| seconds <= ready) {
                let why = "must be greater than minReadySeconds";
                causes.push(Cause::invalid("spec.progressDeadlineSeconds", seconds, why));
            }
        }
        ("batch", "jobs") => {
            let pod = &spec["template"]["spec"];
            containers(&mut causes, pod, "spec.template.spec");
            if !matches!(object::text(pod, "restartPolicy"), "OnFailure" | "Never") {
                let why = "valid values: \"OnFailure\", \"Never\"";
                let at = "spec.template.spec.restartPolicy";
                causes.push(Cause::required(at, why));
            }
        }
        ("", "pods") => containers(&mut causes, spec, "spec"),
        _ => {}
    }
    causes
}

fn service(causes: &mut Vec<Cause>, spec: &Value) {
    const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    let kind = object::text(spec, "type");
    let ports: Vec<&Value> = object::list(&spec["ports"]).collect();
    if ports.is_empty() && kind != "ExternalName" && spec["clusterIP"] != "None" {
        causes.push(Cause::required("spec.ports", ""));
    }
    let mut seen: Vec<&str> = Vec::new();
    for (index, port) in ports.iter().enumerate() {
        let at = format!("spec.ports[{index}].name");
        let name = object::text(port, "name");
        if name.is_empty() {
            if ports.len() > 1 {
                causes.push(Cause::required(at, ""));
            }
        } else if seen.contains(&name) {
            causes.push(Cause::duplicate(at, name));
        }
        seen.push(name);
    }
    if !TYPES.contains(&kind) {
        let shown = json!(kind).to_string();
        causes.push(Cause::unsupported("spec.type", &shown, &TYPES));
    }
}

fn keys(causes: &mut Vec<Cause>, object: &Value, field: &str) {
    for key in object[field]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, _)| key)
    {
        for why in names::config_key(key) {
            causes.push(Cause::invalid(format!("{field}[{key}]"), &json!(key), &why));
        }
    }
}

fn workload(causes: &mut Vec<Cause>, spec: &Value, word: &str) {
    if let Some(replicas) = spec["replicas"].as_i64().filter(|replicas| *replicas < 0) {
        let why = "must be greater than or equal to 0";
        causes.push(Cause::invalid("spec.replicas", &json!(replicas), why));
    }
    let template = &spec["template"];
    match Labels::of(&spec["selector"]) {
        None => {
            causes.push(Cause::required("spec.selector", ""));
            mismatch(causes, template);
        }
        Some(selector) if selector.is_empty() => {
            let why = format!("empty selector is invalid for {word}");
            causes.push(Cause::invalid("spec.selector", &spec["selector"], &why));
        }
        Some(selector) if !selector.matches(template) => mismatch(causes, template),
        Some(_) => {}
    }
    containers(causes, &template["spec"], "spec.template.spec");
}

/// How many may be too many or too few while a workload is rolled over.
fn rolling(causes: &mut Vec<Cause>, rolling: &Value, at: &str) {
    let daemons = at == "spec.updateStrategy";
    let fields = ["maxUnavailable", "maxSurge"].map(|field| (field, &rolling[field]));
    let path = |field: &str| format!("{at}.rollingUpdate.{field}");
    for (field, value) in fields {
        match value {
            Value::String(text) if percent(text).is_none() => {
                let why = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  \
                           or '93%', regex used for validation is '[0-9]+%')";
                causes.push(Cause::invalid(path(field), value, why));
            }
            Value::Number(number) if number.as_i64().is_some_and(|number| number < 0) => {
                let why = "must be greater than or equal to 0";
                causes.push(Cause::invalid(path(field), value, why));
            }
            _ => {}
        }
    }
    let some = |value: &Value| match value {
        Value::String(text) => percent(text).unwrap_or(0) != 0,
        other => other.as_i64().unwrap_or(0) != 0,
    };
    let too_much = |causes: &mut Vec<Cause>| {
        for (field, value) in fields {
            let over = value
                .as_str()
                .and_then(percent)
                .is_some_and(|percent| percent > 100);
            if over && (daemons || field == "maxUnavailable") {
                let why = "must not be greater than 100%";
                causes.push(Cause::invalid(path(field), value, why));
            }
        }
    };
    let [(_, unavailable), (_, surge)] = fields;
    if daemons {
        too_much(causes);
        match (some(unavailable), some(surge)) {
            (true, true) => {
                let why = "may not be set when maxUnavailable is non-zero";
                causes.push(Cause::invalid(path("maxSurge"), surge, why));
            }
            (false, false) => {
                let why = "cannot be 0 when maxSurge is 0";
                causes.push(Cause::required(path("maxUnavailable"), why));
            }
            _ => {}
        }
        return;
    }
    if !some(unavailable) && !some(surge) {
        let why = "may not be 0 when `maxSurge` is 0";
        causes.push(Cause::invalid(path("maxUnavailable"), unavailable, why));
    }
    too_much(causes);
}

/// The number before a sign of percent.
fn percent(text: &str) -> Option<u64> {
    let digits = text.strip_suffix('%')?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().unwrap_or(u64::MAX))
}

fn mismatch(causes: &mut Vec<Cause>, template: &Value) {
    causes.push(Cause::invalid(
        "spec.template.metadata.labels",
        &template["metadata"]["labels"],
        "`selector` does not match template `labels`",
    ));
}

fn containers(causes: &mut Vec<Cause>, pod: &Value, path: &str) {
    let all = pod["containers"].as_array();
    if all.is_none_or(Vec::is_empty) {
        causes.push(Cause::required(format!("{path}.containers"), ""));
        return;
    }
    let mut seen = Vec::new();
    for (index, container) in all.into_iter().flatten().enumerate() {
        let at = format!("{path}.containers[{index}]");
        let name = object::text(container, "name");
        if name.is_empty() {
            causes.push(Cause::required(format!("{at}.name"), ""));
        } else {
            for why in names::label(name) {
                causes.push(Cause::invalid(format!("{at}.name"), &json!(name), &why));
            }
            if seen.contains(&name) {
                causes.push(Cause::duplicate(format!("{at}.name"), name));
            }
            seen.push(name);
        }
        if object::text(container, "image").is_empty() && path != "spec" {
            causes.push(Cause::required(format!("{at}.image"), ""));
        }
    }
}

/// Fields that may not change.
fn immutable(kind: &Kind, old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut fixed = |field: &str, pointer: &str| {
        let none = Value::Null;
        let before = old.pointer(pointer).unwrap_or(&none);
        let after = new.pointer(pointer).unwrap_or(&none);
        if before != after {
            causes.push(Cause::invalid(field, after, "field is immutable"));
        }
    };
    match (kind.group.as_str(), kind.plural.as_str()) {
        _ if kind.custom.is_some() => {}
        ("apps", "deployments" | "replicasets" | "daemonsets") => {
            fixed("spec.selector", "/spec/selector");
        }
        ("batch", "jobs") => {
            fixed("spec.selector", "/spec/selector");
            fixed("spec.template", "/spec/template");
            fixed("spec.completionMode", "/spec/completionMode");
        }
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings")
            if old["roleRef"] != new["roleRef"] =>
        {
            let why = "cannot change roleRef";
            // As the server prints its own type.
            let role = &new["roleRef"];
            let shown = json!({
                "APIGroup": role["apiGroup"], "Kind": role["kind"], "Name": role["name"],
            });
            causes.push(Cause::invalid("roleRef", &shown, why));
        }
        ("", "secrets") if old["type"] != new["type"] => fixed("type", "/type"),
        ("apps", "statefulsets") => {
            let changeable = [
                "minReadySeconds",
                "ordinals",
                "persistentVolumeClaimRetentionPolicy",
                "replicas",
                "revisionHistoryLimit",
                "template",
                "updateStrategy",
            ];
            let rest = |object: &Value| {
                let mut spec = object["spec"].as_object().cloned().unwrap_or_default();
                spec.retain(|field, _| !changeable.contains(&field.as_str()));
                spec
            };
            if rest(old) != rest(new) {
                causes.push(Cause::forbidden(
                    "spec",
                    "updates to statefulset spec for fields other than 'replicas', 'ordinals', \
                     'template', 'updateStrategy', 'revisionHistoryLimit', \
                     'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
                ));
            }
        }
        _ => {}
    }
    if kind.group.is_empty()
        && matches!(kind.plural.as_str(), "configmaps" | "secrets")
        && old["immutable"] == true
    {
        for field in ["immutable", "data", "binaryData"] {
            if old[field] != new[field] {
                let why = "field is immutable when `immutable` is set";
                causes.push(Cause::forbidden(field, why));
            }
        }
    }
    causes
}
