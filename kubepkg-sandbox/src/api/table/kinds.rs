//! The cells of kinds with more to say.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{age_of, human, images, or_none, pairs, three};
use crate::api::crds;
use crate::api::object::{self, list, text};
use crate::api::subresources::selector_text;

pub(super) fn job(value: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&value["spec"], &value["status"]);
    let has = |name: &str| crds::condition(value, name) == Some(true);
    let state = if has("Complete") {
        "Complete"
    } else if has("Failed") {
        "Failed"
    } else if object::terminating(value) {
        "Terminating"
    } else if has("Suspended") {
        "Suspended"
    } else if has("FailureTarget") {
        "FailureTarget"
    } else if has("SuccessCriteriaMet") {
        "SuccessCriteriaMet"
    } else {
        "Running"
    };
    let done = status["succeeded"].as_i64().unwrap_or(0);
    let completions = match (spec["completions"].as_i64(), spec["parallelism"].as_i64()) {
        (Some(all), _) => format!("{done}/{all}"),
        (None, Some(parallel)) if parallel > 1 => format!("{done}/1 of {parallel}"),
        (None, _) => format!("{done}/1"),
    };
    let duration = match (
        object::parse_time(&status["startTime"]),
        object::parse_time(&status["completionTime"]),
    ) {
        (None, _) => String::new(),
        (Some(start), Some(end)) => human(end.duration_since(start).as_secs()),
        (Some(start), None) => human(now.duration_since(start).as_secs()),
    };
    let mut cells = vec![
        json!(object::name(value)),
        json!(state),
        json!(completions),
        json!(duration),
        json!(age_of(&value["metadata"]["creationTimestamp"], now)),
    ];
    cells.extend(images(&spec["template"]["spec"]));
    cells.push(json!(selector_text(&spec["selector"])));
    cells
}

pub(super) fn service(value: &Value, now: Timestamp) -> Vec<Value> {
    let spec = &value["spec"];
    let kind = text(spec, "type");
    let ports: Vec<String> = list(&spec["ports"])
        .map(|port| {
            let number = port["port"].as_i64().unwrap_or(0);
            let node = port["nodePort"].as_i64().filter(|node| *node > 0);
            let node = node.map_or(String::new(), |node| format!(":{node}"));
            format!("{number}{node}/{}", text(port, "protocol"))
        })
        .collect();
    let external: Vec<&str> = list(&spec["externalIPs"])
        .filter_map(Value::as_str)
        .collect();
    let external = match kind {
        "ExternalName" => text(spec, "externalName").to_owned(),
        "LoadBalancer" => {
            let found: Vec<&str> = list(&value["status"]["loadBalancer"]["ingress"])
                .map(|ingress| match text(ingress, "ip") {
                    "" => text(ingress, "hostname"),
                    ip => ip,
                })
                .chain(external.iter().copied())
                .collect();
            if found.is_empty() {
                "<pending>".to_owned()
            } else {
                found.join(",")
            }
        }
        _ => or_none(&external.join(",")),
    };
    vec![
        json!(object::name(value)),
        json!(kind),
        json!(or_none(text(spec, "clusterIP"))),
        json!(external),
        json!(or_none(&ports.join(","))),
        json!(age_of(&value["metadata"]["creationTimestamp"], now)),
        json!(pairs(&spec["selector"])),
    ]
}

pub(super) fn node(value: &Value, now: Timestamp) -> Vec<Value> {
    let ready = match crds::condition(value, "Ready") {
        Some(true) => "Ready",
        Some(false) => "NotReady",
        None => "Unknown",
    };
    let ready = if value["spec"]["unschedulable"] == true {
        format!("{ready},SchedulingDisabled")
    } else {
        ready.to_owned()
    };
    let info = &value["status"]["nodeInfo"];
    let address = |kind: &str| {
        let found = list(&value["status"]["addresses"]).find(|address| address["type"] == kind);
        found.map_or("<none>".to_owned(), |address| {
            text(address, "address").to_owned()
        })
    };
    let or_unknown = |field: &str| match text(info, field) {
        "" => "<unknown>".to_owned(),
        known => known.to_owned(),
    };
    vec![
        json!(object::name(value)),
        json!(ready),
        json!("<none>"),
        json!(age_of(&value["metadata"]["creationTimestamp"], now)),
        json!(text(info, "kubeletVersion")),
        json!(address("InternalIP")),
        json!(address("ExternalIP")),
        json!(or_unknown("osImage")),
        json!(or_unknown("kernelVersion")),
        json!(or_unknown("containerRuntimeVersion")),
    ]
}

/// Ways to use a volume, in short and in the order of the server.
pub(super) fn modes(modes: &Value) -> String {
    const MODES: [(&str, &str); 4] = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let given = MODES
        .iter()
        .filter(|(mode, _)| list(modes).any(|one| one == mode));
    let short: Vec<&str> = given.map(|(_, short)| *short).collect();
    short.join(",")
}

pub(super) fn claim(value: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&value["spec"], &value["status"]);
    let phase = if object::terminating(value) {
        "Terminating"
    } else {
        text(status, "phase")
    };
    let bound = !text(spec, "volumeName").is_empty();
    let (capacity, modes) = if bound {
        (
            text(&status["capacity"], "storage").to_owned(),
            modes(&status["accessModes"]),
        )
    } else {
        (String::new(), String::new())
    };
    vec![
        json!(object::name(value)),
        json!(phase),
        json!(text(spec, "volumeName")),
        json!(capacity),
        json!(modes),
        json!(text(spec, "storageClassName")),
        json!(
            spec["volumeAttributesClassName"]
                .as_str()
                .unwrap_or("<unset>")
        ),
        json!(age_of(&value["metadata"]["creationTimestamp"], now)),
        json!(spec["volumeMode"].as_str().unwrap_or("<unset>")),
    ]
}

pub(super) fn endpoints(value: &Value) -> String {
    let mut all = Vec::new();
    for subset in list(&value["subsets"]) {
        for address in list(&subset["addresses"]) {
            let ip = text(address, "ip");
            let mut ports = list(&subset["ports"]).peekable();
            if ports.peek().is_none() {
                all.push(ip.to_owned());
            }
            for port in ports {
                all.push(format!("{ip}:{}", port["port"].as_i64().unwrap_or(0)));
            }
        }
    }
    if all.is_empty() {
        return or_none("");
    }
    three(&all)
}

pub(super) fn event(value: &Value, now: Timestamp) -> Vec<Value> {
    let first = match &value["firstTimestamp"] {
        Value::Null => &value["eventTime"],
        time => time,
    };
    let series = &value["series"]["lastObservedTime"];
    let last = [series, &value["lastTimestamp"], first]
        .into_iter()
        .find(|time| !time.is_null())
        .unwrap_or(first);
    let count = value["series"]["count"]
        .as_i64()
        .or(value["count"].as_i64())
        .unwrap_or(1);
    let object = &value["involvedObject"];
    let target = format!(
        "{}/{}",
        text(object, "kind").to_lowercase(),
        text(object, "name")
    );
    let source = match (
        text(&value["source"], "component"),
        text(&value["source"], "host"),
    ) {
        ("", _) => text(value, "reportingComponent").to_owned(),
        (component, "") => component.to_owned(),
        (component, host) => format!("{component}, {host}"),
    };
    vec![
        json!(age_of(last, now)),
        json!(text(value, "type")),
        json!(text(value, "reason")),
        json!(target),
        json!(text(object, "fieldPath")),
        json!(source),
        json!(text(value, "message").trim()),
        json!(age_of(first, now)),
        json!(count),
        json!(object::name(value)),
    ]
}

pub(super) fn ingress(value: &Value, now: Timestamp) -> Vec<Value> {
    let spec = &value["spec"];
    let hosts: Vec<&str> = list(&spec["rules"])
        .map(|rule| text(rule, "host"))
        .filter(|host| !host.is_empty())
        .collect();
    let hosts = match hosts.len() {
        0 => "*".to_owned(),
        1..=3 => hosts.join(","),
        more => format!(
            "{} + {} more...",
            hosts.get(..3).unwrap_or_default().join(","),
            more - 3
        ),
    };
    let addresses: Vec<&str> = list(&value["status"]["loadBalancer"]["ingress"])
        .map(|ingress| match text(ingress, "ip") {
            "" => text(ingress, "hostname"),
            ip => ip,
        })
        .collect();
    let tls = list(&spec["tls"]).next().is_some();
    vec![
        json!(object::name(value)),
        json!(spec["ingressClassName"].as_str().unwrap_or("<none>")),
        json!(hosts),
        json!(addresses.join(",")),
        json!(if tls { "80, 443" } else { "80" }),
        json!(age_of(&value["metadata"]["creationTimestamp"], now)),
    ]
}

pub(super) fn autoscaler(value: &Value, now: Timestamp) -> Vec<Value> {
    let spec = &value["spec"];
    let target = &spec["scaleTargetRef"];
    let found: Vec<&Value> = list(&value["status"]["currentMetrics"]).collect();
    let mut targets: Vec<String> = list(&spec["metrics"])
        .enumerate()
        .map(|(index, metric)| measured(metric, found.get(index).copied().unwrap_or(&Value::Null)))
        .collect();
    let more = targets.len().saturating_sub(METRICS);
    targets.truncate(METRICS);
    let targets = match more {
        0 => targets.join(", "),
        more => format!("{} + {more} more...", targets.join(", ")),
    };
    vec![
        json!(object::name(value)),
        json!(format!("{}/{}", text(target, "kind"), text(target, "name"))),
        json!(or_none(&targets)),
        json!(
            spec["minReplicas"]
                .as_i64()
                .map_or("<unset>".to_owned(), |n| n.to_string())
        ),
        json!(spec["maxReplicas"].as_i64().unwrap_or(0)),
        json!(value["status"]["currentReplicas"].as_i64().unwrap_or(0)),
        json!(age_of(&value["metadata"]["creationTimestamp"], now)),
    ]
}

/// Metrics of an autoscaler that a table shows.
const METRICS: usize = 2;

/// What an autoscaler looks at: what it has found, and what it wants.
fn measured(metric: &Value, found: &Value) -> String {
    let kind = text(metric, "type");
    let (field, named) = match kind {
        "External" => ("external", false),
        "Pods" => ("pods", false),
        "Object" => ("object", false),
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        _ => return "<unknown type>".to_owned(),
    };
    let (target, current) = (&metric[field]["target"], &found[field]["current"]);
    let seen = |field: &str| current[field].as_str().unwrap_or("<unknown>");
    let percent = |of: &Value, none: &str| {
        let number = of["averageUtilization"].as_i64();
        number.map_or_else(|| none.to_owned(), |number| format!("{number}%"))
    };
    let shown = match target["averageValue"].as_str() {
        Some(wanted) if named || kind == "Pods" => format!("{}/{wanted}", seen("averageValue")),
        Some(wanted) => format!("{}/{wanted} (avg)", seen("averageValue")),
        None if named => {
            let (current, target) = (percent(current, "<unknown>"), percent(target, "<auto>"));
            format!("{current}/{target}")
        }
        None => format!(
            "{}/{}",
            seen("value"),
            target["value"].as_str().unwrap_or("0")
        ),
    };
    if named {
        return format!("{}: {shown}", text(&metric[field], "name"));
    }
    shown
}
