//! Events: `pkg/apis/core/validation/events.go`. What comes by the group `events.k8s.io` must say more, and may change less.

use serde_json::{Value, json};

use super::parts::name;
use crate::api::failure::Cause;
use crate::api::internal_form;
use crate::api::kind::Kind;
use crate::api::names;
use crate::api::object::{namespace, text};
use crate::api::structs::is_empty;

const GROUP: &str = "events.k8s.io";
/// Bytes of what reports, does and is the reason.
const SHORT: usize = 128;
/// Bytes of the message.
const LONG: usize = 1024;
/// What stays as it is, in the order of the server.
const FIXED: [&str; 13] = [
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "reason",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingComponent",
];

/// An event, old or new, as it is kept.
pub(super) fn event(causes: &mut Vec<Cause>, kind: &Kind, event: &Value) {
    let own = namespace(event);
    let about = text(&event["involvedObject"], "namespace");
    let mut elsewhere = |known: &[&str]| {
        let fits = if about.is_empty() {
            known.contains(&own)
        } else {
            own == about
        };
        if !fits {
            let why = "does not match event.namespace";
            causes.push(Cause::invalid(
                "involvedObject.namespace",
                &json!(about),
                why,
            ));
        }
    };
    if event["eventTime"].is_null() {
        elsewhere(&["", "default"]);
        return;
    }
    if about.is_empty() {
        elsewhere(&["default", "kube-system"]);
    }
    let controller = if kind.group == GROUP {
        "reportingController"
    } else {
        "reportingComponent"
    };
    let by = text(event, "reportingComponent");
    if by.is_empty() {
        causes.push(Cause::required(controller, ""));
    }
    name(causes, controller, by, names::qualified_name);
    for field in ["reportingInstance", "action", "reason"] {
        let given = text(event, field);
        if given.is_empty() {
            causes.push(Cause::required(field, ""));
        }
        too_long(causes, field, given, SHORT);
    }
    too_long(causes, "message", text(event, "message"), LONG);
}

fn too_long(causes: &mut Vec<Cause>, field: &str, given: &str, limit: usize) {
    if given.len() > limit {
        let why = format!("can have at most {limit} characters");
        causes.push(Cause::invalid(field, &json!(""), &why));
    }
}

/// A new event that comes by the group of its own.
pub(super) fn new(causes: &mut Vec<Cause>, event: &Value) {
    series(causes, &event["series"]);
    if event["eventTime"].is_null() {
        causes.push(Cause::required("eventTime", ""));
    }
    let kind = text(event, "type");
    if !matches!(kind, "Normal" | "Warning") {
        let why = format!("has invalid value: {kind}");
        causes.push(Cause::invalid("type", &json!(""), &why));
    }
    let source = ["component", "host"].iter();
    let unset = [
        ("firstTimestamp", event["firstTimestamp"].is_null()),
        ("lastTimestamp", event["lastTimestamp"].is_null()),
        ("count", event["count"].as_i64().unwrap_or(0) == 0),
        (
            "source",
            source
                .clone()
                .all(|field| text(&event["source"], field).is_empty()),
        ),
    ];
    for (field, _) in unset.into_iter().filter(|(_, unset)| !unset) {
        causes.push(Cause::invalid(field, &json!(""), "needs to be unset"));
    }
}

/// A change that comes by that group.
pub(super) fn changed(old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if old["series"] != new["series"] {
        series(&mut causes, &new["series"]);
    }
    for field in FIXED.into_iter().chain(["reportingInstance"]) {
        if old[field] == new[field] || is_empty(&old[field]) && is_empty(&new[field]) {
            continue;
        }
        let (shown, why) = (&new[field], "field is immutable");
        causes.push(match field {
            "involvedObject" | "related" => {
                let shown = internal_form::line("ObjectReference", shown);
                Cause::shown(field, &shown, why)
            }
            "source" => {
                let part = |name| text(shown, name);
                let shown = json!({"Component": part("component"), "Host": part("host")});
                Cause::invalid(field, &shown, why)
            }
            "reportingComponent" => Cause::invalid("reportingController", shown, why),
            _ => Cause::invalid(field, shown, why),
        });
    }
    causes
}

fn series(causes: &mut Vec<Cause>, series: &Value) {
    if series.is_null() {
        return;
    }
    if series["count"].as_i64().unwrap_or(0) < 2 {
        causes.push(Cause::invalid(
            "series.count",
            &json!(""),
            "should be at least 2",
        ));
    }
    if series["lastObservedTime"].is_null() {
        causes.push(Cause::required("series.lastObservedTime", ""));
    }
}
