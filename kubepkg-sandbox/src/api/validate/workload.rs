//! Deployments, ReplicaSets, StatefulSets, DaemonSets and replication controllers: `pkg/apis/apps/validation`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::parts::{name, not_negative, required_one_of, selector};
use super::pod;
use super::storage;
use crate::api::failure::Cause;
use crate::api::names;
use crate::api::object::{list, text};
use crate::api::selector::Labels;
use crate::api::structs::Types;

pub(super) fn deployment(causes: &mut Vec<Cause>, spec: &Value) {
    not_negative(causes, "spec.replicas", &spec["replicas"]);
    if selected(causes, spec, "deployment") {
        replicated(causes, spec);
    }
    let strategy = &spec["strategy"];
    match text(strategy, "type") {
        "Recreate" if !strategy["rollingUpdate"].is_null() => {
            let why = "may not be specified when strategy `type` is 'Recreate'";
            causes.push(Cause::forbidden("spec.strategy.rollingUpdate", why));
        }
        "Recreate" => {}
        "RollingUpdate" => rolling(causes, &strategy["rollingUpdate"], "spec.strategy"),
        _ => {
            let known = ["Recreate", "RollingUpdate"];
            causes.push(Cause::unsupported(
                "spec.strategy",
                &own_form(strategy),
                &known,
            ));
        }
    }
    for field in [
        "minReadySeconds",
        "revisionHistoryLimit",
        "progressDeadlineSeconds",
    ] {
        not_negative(causes, &format!("spec.{field}"), &spec[field]);
    }
    let seconds = &spec["progressDeadlineSeconds"];
    let ready = spec["minReadySeconds"].as_i64().unwrap_or(0);
    if seconds.as_i64().is_some_and(|seconds| seconds <= ready) {
        let why = "must be greater than minReadySeconds";
        causes.push(Cause::invalid("spec.progressDeadlineSeconds", seconds, why));
    }
}

pub(super) fn replica_set(causes: &mut Vec<Cause>, spec: &Value) {
    for field in ["replicas", "minReadySeconds"] {
        not_negative(causes, &format!("spec.{field}"), &spec[field]);
    }
    // The server's own word.
    if selected(causes, spec, "deployment") {
        replicated(causes, spec);
    }
}

pub(super) fn stateful_set(causes: &mut Vec<Cause>, spec: &Value) {
    let policy = text(spec, "podManagementPolicy");
    if !matches!(policy, "OrderedReady" | "Parallel") {
        let why = "must be 'OrderedReady' or 'Parallel'";
        causes.push(Cause::invalid(
            "spec.podManagementPolicy",
            &json!(policy),
            why,
        ));
    }
    let update = &spec["updateStrategy"];
    let rolling = &update["rollingUpdate"];
    match text(update, "type") {
        "OnDelete" if !rolling.is_null() => {
            let shown = own_rolling(rolling);
            let why = "only allowed for updateStrategy 'RollingUpdate'";
            causes.push(Cause::shown(
                "spec.updateStrategy.rollingUpdate",
                &shown,
                why,
            ));
        }
        "OnDelete" => {}
        "RollingUpdate" => {
            let at = "spec.updateStrategy.rollingUpdate.partition";
            not_negative(causes, at, &rolling["partition"]);
        }
        _ => {
            let why = "must be 'RollingUpdate' or 'OnDelete'";
            let rolling = match rolling {
                Value::Null => "null".to_owned(),
                _ => own_rolling(rolling),
            };
            let kind = json!(text(update, "type"));
            let shown = format!("{{\"Type\":{kind},\"RollingUpdate\":{rolling}}}");
            causes.push(Cause::shown("spec.updateStrategy", &shown, why));
        }
    }
    let retention = &spec["persistentVolumeClaimRetentionPolicy"];
    for field in ["whenDeleted", "whenScaled"] {
        if !retention.is_null() {
            let at = format!("spec.persistentVolumeClaimRetentionPolicy.{field}");
            required_one_of(causes, &at, text(retention, field), &["Retain", "Delete"]);
        }
    }
    for (index, claim) in list(&spec["volumeClaimTemplates"]).enumerate() {
        let at = format!("spec.volumeClaimTemplates[{index}].spec");
        storage::claim_spec(causes, &at, &claim["spec"]);
    }
    for field in ["replicas", "minReadySeconds"] {
        not_negative(causes, &format!("spec.{field}"), &spec[field]);
    }
    not_negative(causes, "spec.ordinals.start", &spec["ordinals"]["start"]);
    let service = text(spec, "serviceName");
    if !service.is_empty() {
        name(causes, "spec.serviceName", service, names::label);
    }
    if wanted(causes, spec, "statefulset") {
        let template = claimed(spec);
        mismatch(causes, spec);
        pod::template(causes, "spec.template", &template);
        // Looked at by two rules.
        pod::template_metadata(causes, "spec.template", &template);
    } else if !spec["selector"].is_null() {
        causes.push(Cause::shown(
            "spec.selector",
            &spec["selector"].to_string(),
            "",
        ));
    } else {
        mismatch_of(causes, spec);
        pod::template(causes, "spec.template", &claimed(spec));
        pod::template_metadata(causes, "spec.template", &spec["template"]);
    }
    pod::lasting(causes, spec, "StatefulSet");
}

/// The template with the volumes that stand for the claims, and without the names that each pod gets.
fn claimed(spec: &Value) -> Value {
    let mut template = spec["template"].clone();
    let Some(pod) = template.get_mut("spec").and_then(Value::as_object_mut) else {
        return template;
    };
    for field in ["hostname", "subdomain"] {
        pod.remove(field);
    }
    // One name, one claim.
    let claims: BTreeSet<&str> = list(&spec["volumeClaimTemplates"])
        .map(|claim| text(&claim["metadata"], "name"))
        .collect();
    if claims.is_empty() {
        return template;
    }
    let mut volumes: Vec<Value> = claims
        .iter()
        .map(|name| json!({"name": name, "persistentVolumeClaim": {"claimName": name}}))
        .collect();
    let own = list(&spec["template"]["spec"]["volumes"]);
    volumes.extend(
        own.filter(|volume| !claims.contains(&text(volume, "name")))
            .cloned(),
    );
    pod.insert("volumes".to_owned(), volumes.into());
    template
}

pub(super) fn daemon_set(causes: &mut Vec<Cause>, spec: &Value) {
    let before = causes.len();
    selector(causes, "spec.selector", &spec["selector"]);
    let readable = causes.len() == before;
    let labels = Labels::of(&spec["selector"]);
    match &labels {
        None => mismatch_of(causes, spec),
        Some(_) if readable => mismatch(causes, spec),
        Some(_) => {}
    }
    if labels.is_some_and(|labels| labels.is_empty()) {
        empty(causes, spec, "daemonset");
    }
    pod::template(causes, "spec.template", &spec["template"]);
    pod::lasting(causes, spec, "DaemonSet");
    not_negative(causes, "spec.minReadySeconds", &spec["minReadySeconds"]);
    let update = &spec["updateStrategy"];
    match text(update, "type") {
        "OnDelete" => {}
        "RollingUpdate" => rolling(causes, &update["rollingUpdate"], "spec.updateStrategy"),
        _ => {
            let known = ["RollingUpdate", "OnDelete"];
            causes.push(Cause::unsupported(
                "spec.updateStrategy",
                &own_form(update),
                &known,
            ));
        }
    }
    not_negative(
        causes,
        "spec.revisionHistoryLimit",
        &spec["revisionHistoryLimit"],
    );
}

pub(super) fn replication_controller(causes: &mut Vec<Cause>, spec: &Value) {
    not_negative(causes, "spec.minReadySeconds", &spec["minReadySeconds"]);
    let selector = &spec["selector"];
    let none = selector.as_object().is_none_or(serde_json::Map::is_empty);
    if none {
        causes.push(Cause::required("spec.selector", ""));
    }
    not_negative(causes, "spec.replicas", &spec["replicas"]);
    if spec["template"].is_null() {
        causes.push(Cause::required("spec.template", ""));
        return;
    }
    let labels = Labels::of(&json!({"matchLabels": selector}));
    if !none && labels.is_some_and(|labels| !labels.matches(&spec["template"])) {
        mismatch_of(causes, spec);
    }
    pod::template(causes, "spec.template", &spec["template"]);
    pod::lasting(causes, spec, "ReplicationController");
}

/// A selector that must be there and good; whether it is.
fn selected(causes: &mut Vec<Cause>, spec: &Value, word: &str) -> bool {
    let good = wanted(causes, spec, word);
    if !good && !spec["selector"].is_null() {
        let selector = "k8s.io/apimachinery/pkg/apis/meta/v1.LabelSelector";
        let shown = Types::get().written(selector, &spec["selector"]);
        causes.push(Cause::shown(
            "spec.selector",
            &shown,
            "invalid label selector",
        ));
    } else if !good {
        mismatch_of(causes, spec);
        rest(causes, spec);
    }
    good
}

/// Whether a selector is there and can be read.
fn wanted(causes: &mut Vec<Cause>, spec: &Value, word: &str) -> bool {
    let Some(labels) = Labels::of(&spec["selector"]) else {
        causes.push(Cause::required("spec.selector", ""));
        return false;
    };
    let before = causes.len();
    selector(causes, "spec.selector", &spec["selector"]);
    let good = causes.len() == before;
    if labels.is_empty() {
        empty(causes, spec, word);
    }
    good
}

fn empty(causes: &mut Vec<Cause>, spec: &Value, word: &str) {
    let why = format!("empty selector is invalid for {word}");
    causes.push(Cause::invalid("spec.selector", &spec["selector"], &why));
}

/// The template of a set of equal pods.
fn replicated(causes: &mut Vec<Cause>, spec: &Value) {
    mismatch(causes, spec);
    rest(causes, spec);
}

fn rest(causes: &mut Vec<Cause>, spec: &Value) {
    pod::template(causes, "spec.template", &spec["template"]);
    pod::lasting(causes, spec, "ReplicaSet");
}

fn mismatch(causes: &mut Vec<Cause>, spec: &Value) {
    let labels = Labels::of(&spec["selector"]);
    if labels.is_some_and(|labels| !labels.is_empty() && !labels.matches(&spec["template"])) {
        mismatch_of(causes, spec);
    }
}

fn mismatch_of(causes: &mut Vec<Cause>, spec: &Value) {
    causes.push(Cause::invalid(
        "spec.template.metadata.labels",
        &spec["template"]["metadata"]["labels"],
        "`selector` does not match template `labels`",
    ));
}

/// A strategy as the server prints its own structure.
fn own_form(strategy: &Value) -> String {
    let or_zero = |value: &Value| match value {
        Value::Null => "0".to_owned(),
        value => value.to_string(),
    };
    let rolling = match &strategy["rollingUpdate"] {
        Value::Null => "null".to_owned(),
        rolling => format!(
            "{{\"MaxUnavailable\":{},\"MaxSurge\":{}}}",
            or_zero(&rolling["maxUnavailable"]),
            or_zero(&rolling["maxSurge"])
        ),
    };
    format!(
        "{{\"Type\":{},\"RollingUpdate\":{rolling}}}",
        json!(text(strategy, "type"))
    )
}

/// How a StatefulSet is rolled over, as the server's own type shows it.
fn own_rolling(rolling: &Value) -> String {
    let partition = rolling["partition"].as_i64().unwrap_or(0);
    let unavailable = &rolling["maxUnavailable"];
    format!("{{\"Partition\":{partition},\"MaxUnavailable\":{unavailable}}}")
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
        // What is no share is read as a number.
        Value::String(text) => match percent(text) {
            Some(share) => share != 0,
            None => text.parse::<i64>().is_ok_and(|number| number != 0),
        },
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
pub(super) fn percent(text: &str) -> Option<u64> {
    let digits = text.strip_suffix('%')?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().unwrap_or(u64::MAX))
}
