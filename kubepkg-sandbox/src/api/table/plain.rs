//! Kinds that are seldom looked at, column by column.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::kinds::modes;
use super::{age_of, human, list, object, text};
use crate::api::kind::Kind;
use crate::api::subresources::selector_text;

/// The cells of an object: what is in its columns by their names.
pub(super) fn cells(kind: &Kind, value: &Value, now: Timestamp) -> Vec<Value> {
    let columns = kind.columns.iter();
    let cells = columns.map(|column| match text(column, "name") {
        "Name" => json!(object::name(value)),
        "Created At" => value["metadata"]["creationTimestamp"].clone(),
        "Age" => json!(age_of(&value["metadata"]["creationTimestamp"], now)),
        column => cell(&kind.plural, column, value).unwrap_or_else(|| json!("<unknown>")),
    });
    cells.collect()
}

fn cell(plural: &str, column: &str, value: &Value) -> Option<Value> {
    let (spec, status) = (&value["spec"], &value["status"]);
    let count = |value: &Value| json!(list(value).count());
    Some(match (plural, column) {
        ("persistentvolumes", column) => return volume(column, value),
        ("csidrivers", column) => return driver(column, spec),
        ("prioritylevelconfigurations", column) => return level(column, spec),
        ("resourcequotas", "Request") => json!(quota(status, false)),
        ("resourcequotas", "Limit") => json!(quota(status, true)),
        ("validatingadmissionpolicies", "Validations") => count(&spec["validations"]),
        ("mutatingadmissionpolicies", "Mutations") => count(&spec["mutations"]),
        ("validatingadmissionpolicies" | "mutatingadmissionpolicies", "ParamKind") => {
            let kind = &spec["paramKind"];
            let shown = format!("{}/{}", text(kind, "apiVersion"), text(kind, "kind"));
            json!(if kind.is_null() { "<unset>" } else { &shown })
        }
        ("validatingadmissionpolicybindings" | "mutatingadmissionpolicybindings", "PolicyName") => {
            or(&spec["policyName"], "")
        }
        ("validatingadmissionpolicybindings" | "mutatingadmissionpolicybindings", "ParamRef") => {
            json!(param_ref(&spec["paramRef"]))
        }
        ("certificatesigningrequests", "SignerName") => or(&spec["signerName"], "<none>"),
        ("certificatesigningrequests", "Requestor") => or(&spec["username"], ""),
        ("certificatesigningrequests", "RequestedDuration") => {
            let seconds = spec["expirationSeconds"].as_i64();
            json!(seconds.map_or_else(|| "<none>".to_owned(), human))
        }
        ("certificatesigningrequests", "Condition") => json!(signed(status)),
        ("flowschemas", "PriorityLevel") => or(&spec["priorityLevelConfiguration"]["name"], ""),
        ("flowschemas", "MatchingPrecedence") => {
            json!(spec["matchingPrecedence"].as_i64().unwrap_or(0))
        }
        ("flowschemas", "DistinguisherMethod") => {
            or(&spec["distinguisherMethod"]["type"], "<none>")
        }
        ("flowschemas", "MissingPL") => {
            let mut all = list(&status["conditions"]);
            let dangling = all.find(|condition| condition["type"] == "Dangling");
            or(dangling.map_or(&Value::Null, |it| &it["status"]), "?")
        }
        ("volumeattachments", "Attacher") => or(&spec["attacher"], ""),
        ("volumeattachments", "PV") => or(&spec["source"]["persistentVolumeName"], ""),
        ("volumeattachments", "Node") => or(&spec["nodeName"], ""),
        ("volumeattachments", "Attached") => json!(status["attached"].as_bool().unwrap_or(false)),
        ("csinodes", "Drivers") => count(&spec["drivers"]),
        ("runtimeclasses", "Handler") => or(&value["handler"], ""),
        ("apiservices", "Service") => match &spec["service"] {
            Value::Null => json!("Local"),
            service => json!(format!(
                "{}/{}",
                text(service, "namespace"),
                text(service, "name")
            )),
        },
        ("apiservices", "Available") => {
            let mut all = list(&status["conditions"]);
            let available = all.find(|condition| condition["type"] == "Available");
            let available = available.unwrap_or(&Value::Null);
            let status = available["status"].as_str().unwrap_or("Unknown");
            json!(match text(available, "reason") {
                reason if status != "True" && !reason.is_empty() => format!("{status} ({reason})"),
                _ => status.to_owned(),
            })
        }
        ("volumeattributesclasses", "DriverName") => or(&value["driverName"], ""),
        ("servicecidrs", "CIDRs") => json!(joined(&spec["cidrs"])),
        ("podtemplates", "Containers" | "Images") => {
            let field = if column == "Images" { "image" } else { "name" };
            let all: Vec<&str> = list(&value["template"]["spec"]["containers"])
                .map(|container| text(container, field))
                .collect();
            json!(all.join(","))
        }
        ("podtemplates", "Pod Labels") => {
            let labels = json!({"matchLabels": value["template"]["metadata"]["labels"]});
            match selector_text(&labels).as_str() {
                "" => json!("<none>"),
                labels => json!(labels),
            }
        }
        _ => return None,
    })
}

fn or(value: &Value, none: &str) -> Value {
    json!(value.as_str().unwrap_or(none))
}

fn joined(values: &Value) -> String {
    let values: Vec<&str> = list(values).filter_map(Value::as_str).collect();
    values.join(",")
}

fn volume(column: &str, value: &Value) -> Option<Value> {
    let (spec, status) = (&value["spec"], &value["status"]);
    Some(match column {
        "Capacity" => or(&spec["capacity"]["storage"], "0"),
        "Access Modes" => json!(modes(&spec["accessModes"])),
        "Reclaim Policy" => or(&spec["persistentVolumeReclaimPolicy"], ""),
        "Status" if object::terminating(value) => json!("Terminating"),
        "Status" => or(&status["phase"], ""),
        "Claim" if spec["claimRef"].is_null() => json!(""),
        "Claim" => {
            let claim = |field| text(&spec["claimRef"], field);
            json!(format!("{}/{}", claim("namespace"), claim("name")))
        }
        "StorageClass" => or(&spec["storageClassName"], ""),
        "VolumeAttributesClass" => or(&spec["volumeAttributesClassName"], "<unset>"),
        "Reason" => or(&status["reason"], ""),
        "VolumeMode" => or(&spec["volumeMode"], "<unset>"),
        _ => return None,
    })
}

fn driver(column: &str, spec: &Value) -> Option<Value> {
    let flag = |field: &str, none: bool| json!(spec[field].as_bool().unwrap_or(none));
    Some(match column {
        "AttachRequired" => flag("attachRequired", true),
        "PodInfoOnMount" => flag("podInfoOnMount", false),
        "StorageCapacity" => flag("storageCapacity", false),
        "TokenRequests" if spec["tokenRequests"].is_null() => json!("<unset>"),
        "TokenRequests" => {
            let all: Vec<&str> = list(&spec["tokenRequests"])
                .map(|request| text(request, "audience"))
                .collect();
            json!(all.join(","))
        }
        "RequiresRepublish" => flag("requiresRepublish", false),
        "Modes" => match joined(&spec["volumeLifecycleModes"]).as_str() {
            "" => json!("<none>"),
            modes => json!(modes),
        },
        _ => return None,
    })
}

fn level(column: &str, spec: &Value) -> Option<Value> {
    let queuing = &spec["limited"]["limitResponse"]["queuing"];
    let number = match column {
        "Type" => return Some(or(&spec["type"], "")),
        "NominalConcurrencyShares" => &spec["limited"]["nominalConcurrencyShares"],
        "Queues" => &queuing["queues"],
        "HandSize" => &queuing["handSize"],
        "QueueLengthLimit" => &queuing["queueLengthLimit"],
        _ => return None,
    };
    Some(number.as_i64().map_or_else(|| json!("<none>"), Value::from))
}

/// What is used of what may be, of limits or of the rest.
fn quota(status: &Value, of_limits: bool) -> String {
    let hard = status["hard"].as_object();
    let parts: Vec<String> = hard
        .into_iter()
        .flatten()
        .filter(|(resource, _)| resource.starts_with("limits.") == of_limits)
        .map(|(resource, hard)| {
            let used = status["used"][resource].as_str().unwrap_or("0");
            format!("{resource}: {used}/{}", hard.as_str().unwrap_or("0"))
        })
        .collect();
    parts.join(", ")
}

fn param_ref(params: &Value) -> String {
    if params.is_null() {
        return "<unset>".to_owned();
    }
    match (text(params, "namespace"), text(params, "name")) {
        (_, "") => in_go(&params["selector"]),
        ("", name) => format!("*/{name}"),
        (namespace, name) => format!("{namespace}/{name}"),
    }
}

/// A selector as Go shows the structure.
fn in_go(selector: &Value) -> String {
    let mut labels = String::new();
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        // Writing into a text does not fail.
        let _ = write!(labels, "{key}: {},", value.as_str().unwrap_or_default());
    }
    let mut expressions = String::new();
    for one in list(&selector["matchExpressions"]) {
        let values: Vec<&str> = list(&one["values"]).filter_map(Value::as_str).collect();
        let _ = write!(
            expressions,
            "LabelSelectorRequirement{{Key:{},Operator:{},Values:[{}],}},",
            text(one, "key"),
            text(one, "operator"),
            values.join(" ")
        );
    }
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},\
         MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}

/// How far a request to sign a certificate has come.
fn signed(status: &Value) -> String {
    let is = |kind: &str| list(&status["conditions"]).any(|condition| condition["type"] == kind);
    let mut shown = match (is("Denied"), is("Approved")) {
        (true, _) => "Denied",
        (_, true) => "Approved",
        _ => "Pending",
    }
    .to_owned();
    if is("Failed") {
        shown.push_str(",Failed");
    }
    if !text(status, "certificate").is_empty() {
        shown.push_str(",Issued");
    }
    shown
}
