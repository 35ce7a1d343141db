//! Tables, as `kubectl get` shows them: columns and cells, `pkg/printers/internalversion` of
//! Kubernetes.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::kind::Kind;
use super::object::{self, list, text};
use super::path;
use super::subresources::selector_text;

/// The column definitions of a kind.
pub(crate) fn columns(kind: &Kind) -> Value {
    Value::Array(kind.columns.to_vec())
}

/// The cells of one object.
#[expect(clippy::too_many_lines, reason = "an arm for each kind")]
pub(crate) fn cells(kind: &Kind, value: &Value, now: Timestamp) -> Vec<Value> {
    if let Some(custom) = &kind.custom {
        return custom_cells(&custom.written, value, now);
    }
    let age = || age_of(&value["metadata"]["creationTimestamp"], now);
    let name = json!(object::name(value));
    let spec = &value["spec"];
    let status = &value["status"];
    let count = |value: &Value| value.as_i64().unwrap_or(0);
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "pods") => super::table_pods::cells(value, now),
        ("apps", "deployments") => {
            let ready = format!(
                "{}/{}",
                count(&status["readyReplicas"]),
                count(&spec["replicas"])
            );
            let mut cells = vec![
                name,
                json!(ready),
                json!(count(&status["updatedReplicas"])),
                json!(count(&status["availableReplicas"])),
                json!(age()),
            ];
            cells.extend(images(&spec["template"]["spec"]));
            cells.push(json!(selector_text(&spec["selector"])));
            cells
        }
        ("apps", "replicasets") | ("", "replicationcontrollers") => {
            let mut cells = vec![
                name,
                json!(count(&spec["replicas"])),
                json!(count(&status["replicas"])),
                json!(count(&status["readyReplicas"])),
                json!(age()),
            ];
            cells.extend(images(&spec["template"]["spec"]));
            cells.push(json!(selector_text(&spec["selector"])));
            cells
        }
        ("apps", "statefulsets") => {
            let ready = format!(
                "{}/{}",
                count(&status["readyReplicas"]),
                count(&spec["replicas"])
            );
            let mut cells = vec![name, json!(ready), json!(age())];
            cells.extend(images(&spec["template"]["spec"]));
            cells
        }
        ("apps", "daemonsets") => {
            let mut cells = vec![name];
            for field in [
                "desiredNumberScheduled",
                "currentNumberScheduled",
                "numberReady",
                "updatedNumberScheduled",
                "numberAvailable",
            ] {
                cells.push(json!(count(&status[field])));
            }
            cells.push(json!(pairs(&spec["template"]["spec"]["nodeSelector"])));
            cells.push(json!(age()));
            cells.extend(images(&spec["template"]["spec"]));
            cells.push(json!(selector_text(&spec["selector"])));
            cells
        }
        ("batch", "jobs") => job(value, now),
        ("batch", "cronjobs") => {
            let mut cells = vec![
                name,
                spec["schedule"].clone(),
                json!(spec["timeZone"].as_str().unwrap_or("<none>")),
                json!(if spec["suspend"] == true {
                    "True"
                } else {
                    "False"
                }),
                json!(list(&status["active"]).count()),
                json!(match &status["lastScheduleTime"] {
                    Value::Null => "<none>".to_owned(),
                    time => age_of(time, now),
                }),
                json!(age()),
            ];
            cells.extend(images(&spec["jobTemplate"]["spec"]["template"]["spec"]));
            cells.push(json!(or_none(&selector_text(
                &spec["jobTemplate"]["spec"]["selector"]
            ))));
            cells
        }
        ("", "services") => service(value, now),
        ("", "configmaps") => {
            let entries = size(&value["data"]) + size(&value["binaryData"]);
            vec![name, json!(entries), json!(age())]
        }
        ("", "secrets") => {
            vec![
                name,
                value["type"].clone(),
                json!(size(&value["data"])),
                json!(age()),
            ]
        }
        ("", "namespaces") => vec![name, status["phase"].clone(), json!(age())],
        ("", "nodes") => node(value, now),
        ("", "persistentvolumeclaims") => claim(value, now),
        ("", "endpoints") => vec![name, json!(endpoints(value)), json!(age())],
        ("discovery.k8s.io", "endpointslices") => {
            let ports = list(&value["ports"]).map(|port| match (&port["port"], &port["name"]) {
                (Value::Null, Value::String(name)) => name.clone(),
                (Value::Null, _) => "*".to_owned(),
                (number, _) => number.to_string(),
            });
            let addresses = list(&value["endpoints"])
                .flat_map(|endpoint| list(&endpoint["addresses"]))
                .filter_map(|address| address.as_str().map(str::to_owned));
            let (ports, addresses): (Vec<String>, Vec<String>) =
                (ports.collect(), addresses.collect());
            let (ports, addresses) = (json!(three(&ports)), json!(three(&addresses)));
            let family = value["addressType"].clone();
            vec![name, family, ports, addresses, json!(age())]
        }
        ("" | "events.k8s.io", "events") => event(value, now),
        ("networking.k8s.io", "ingresses") => ingress(value, now),
        ("networking.k8s.io", "networkpolicies") => {
            let selector = selector_text(&spec["podSelector"]);
            vec![name, json!(or_none(&selector)), json!(age())]
        }
        ("networking.k8s.io", "ingressclasses") => {
            let parameters = &spec["parameters"];
            let parameters = if parameters.is_object() {
                let group = text(parameters, "apiGroup");
                let kind = super::failure::qualify(text(parameters, "kind"), group);
                format!("{kind}/{}", text(parameters, "name"))
            } else {
                "<none>".to_owned()
            };
            vec![
                name,
                spec["controller"].clone(),
                json!(parameters),
                json!(age()),
            ]
        }
        ("policy", "poddisruptionbudgets") => {
            let shown = |value: &Value| match value {
                Value::Null => "N/A".to_owned(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            vec![
                name,
                json!(shown(&spec["minAvailable"])),
                json!(shown(&spec["maxUnavailable"])),
                json!(count(&status["disruptionsAllowed"])),
                json!(age()),
            ]
        }
        ("rbac.authorization.k8s.io", "rolebindings" | "clusterrolebindings") => {
            let role = format!(
                "{}/{}",
                text(&value["roleRef"], "kind"),
                text(&value["roleRef"], "name")
            );
            let of = |kind: &str| {
                let chosen = list(&value["subjects"]).filter(|subject| subject["kind"] == kind);
                let names: Vec<String> = chosen
                    .map(|subject| match text(subject, "namespace") {
                        "" => text(subject, "name").to_owned(),
                        namespace => format!("{namespace}/{}", text(subject, "name")),
                    })
                    .collect();
                names.join(", ")
            };
            vec![
                name,
                json!(role),
                json!(age()),
                json!(of("User")),
                json!(of("Group")),
                json!(of("ServiceAccount")),
            ]
        }
        ("storage.k8s.io", "storageclasses") => {
            let default = "storageclass.kubernetes.io/is-default-class";
            let is_default = value["metadata"]["annotations"][default] == "true";
            let shown = if is_default {
                format!("{} (default)", object::name(value))
            } else {
                object::name(value).to_owned()
            };
            vec![
                json!(shown),
                value["provisioner"].clone(),
                value["reclaimPolicy"].clone(),
                value["volumeBindingMode"].clone(),
                json!(value["allowVolumeExpansion"].as_bool().unwrap_or(false)),
                json!(age()),
            ]
        }
        ("scheduling.k8s.io", "priorityclasses") => vec![
            name,
            json!(count(&value["value"])),
            json!(value["globalDefault"].as_bool().unwrap_or(false)),
            json!(age()),
            value["preemptionPolicy"].clone(),
        ],
        ("coordination.k8s.io", "leases") => {
            vec![name, json!(text(spec, "holderIdentity")), json!(age())]
        }
        (
            "admissionregistration.k8s.io",
            "validatingwebhookconfigurations" | "mutatingwebhookconfigurations",
        ) => {
            vec![name, json!(list(&value["webhooks"]).count()), json!(age())]
        }
        ("apps", "controllerrevisions") => {
            let owner = object::controller(value).map_or("<none>".to_owned(), |owner| {
                let group = text(owner, "apiVersion")
                    .split_once('/')
                    .map_or("", |(group, _)| group);
                let kind = super::failure::qualify(&text(owner, "kind").to_lowercase(), group);
                format!("{kind}/{}", text(owner, "name"))
            });
            vec![
                name,
                json!(owner),
                json!(count(&value["revision"])),
                json!(age()),
            ]
        }
        ("autoscaling", _) => autoscaler(value, now),
        _ => plain(kind, value, now),
    }
}

/// Kinds without a printer: name, and the age where there is a column for it.
fn plain(kind: &Kind, value: &Value, now: Timestamp) -> Vec<Value> {
    let columns = kind.columns.iter();
    let cells = columns.map(|column| match text(column, "name") {
        "Name" => json!(object::name(value)),
        "Created At" => value["metadata"]["creationTimestamp"].clone(),
        "Age" => json!(age_of(&value["metadata"]["creationTimestamp"], now)),
        _ => json!("<unknown>"),
    });
    cells.collect()
}

fn custom_cells(written: &Value, value: &Value, now: Timestamp) -> Vec<Value> {
    let mut cells = vec![json!(object::name(value))];
    let mut columns = list(&written["additionalPrinterColumns"]).peekable();
    if columns.peek().is_none() {
        cells.push(json!(age_of(&value["metadata"]["creationTimestamp"], now)));
    }
    for column in columns {
        let found = path::find(value, text(column, "jsonPath"));
        cells.push(custom_cell(text(column, "type"), found, now));
    }
    cells
}

/// The value of a printer column (`tableconvertor.go` of the API server for custom resources).
fn custom_cell(kind: &str, found: Option<&Value>, now: Timestamp) -> Value {
    match (kind, found) {
        ("integer", Some(Value::Number(number))) => match number.as_i64() {
            Some(number) => json!(number),
            None => json!(number.as_f64().map(|number| format!("{number:.0}"))),
        },
        ("number", Some(value)) if value.is_number() => value.clone(),
        ("boolean", Some(value)) if value.is_boolean() => value.clone(),
        ("string", Some(Value::Object(_) | Value::Array(_))) => json!(found.map(Value::to_string)),
        ("string", Some(Value::String(text))) => json!(text),
        ("string", Some(other)) => json!(other.to_string()),
        ("date", Some(value)) => match object::parse_time(value) {
            Some(_) => json!(age_of(value, now)),
            None => json!("<invalid>"),
        },
        _ => Value::Null,
    }
}

/// How long ago, as Kubernetes writes it (`duration.HumanDuration`).
pub(crate) fn age_of(time: &Value, now: Timestamp) -> String {
    match object::parse_time(time) {
        None => "<unknown>".to_owned(),
        Some(time) => human(now.duration_since(time).as_secs()),
    }
}

/// A duration of whole seconds.
pub(crate) fn human(seconds: i64) -> String {
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    let seconds = seconds.max(0);
    let two = |large: i64, name: &str, small: i64, small_name: &str| {
        if small == 0 {
            format!("{large}{name}")
        } else {
            format!("{large}{name}{small}{small_name}")
        }
    };
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        s if s < 120 => format!("{s}s"),
        s if minutes < 10 => two(minutes, "m", s % 60, "s"),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => two(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if hours < 192 => two(days, "d", hours % 24, "h"),
        _ if days < 730 => format!("{days}d"),
        _ if days < 8 * 365 => two(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

/// Names and images of the containers.
fn images(pod: &Value) -> [Value; 2] {
    let join = |field: &str| {
        let all: Vec<&str> = list(&pod["containers"])
            .map(|container| text(container, field))
            .collect();
        json!(all.join(","))
    };
    [join("name"), join("image")]
}

fn size(value: &Value) -> usize {
    value.as_object().map_or(0, serde_json::Map::len)
}

/// `a=b,c=d`, or `<none>`.
pub(crate) fn pairs(value: &Value) -> String {
    let all: Vec<String> = value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    or_none(&all.join(","))
}

pub(crate) fn or_none(text: &str) -> String {
    if text.is_empty() {
        "<none>".to_owned()
    } else {
        text.to_owned()
    }
}

fn job(value: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&value["spec"], &value["status"]);
    let has = |name: &str| super::crds::condition(value, name) == Some(true);
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

fn service(value: &Value, now: Timestamp) -> Vec<Value> {
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

fn node(value: &Value, now: Timestamp) -> Vec<Value> {
    let ready = match super::crds::condition(value, "Ready") {
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

fn claim(value: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (&value["spec"], &value["status"]);
    let phase = if object::terminating(value) {
        "Terminating"
    } else {
        text(status, "phase")
    };
    let bound = !text(spec, "volumeName").is_empty();
    let modes: Vec<&str> = list(&status["accessModes"])
        .filter_map(|mode| match mode.as_str()? {
            "ReadWriteOnce" => Some("RWO"),
            "ReadOnlyMany" => Some("ROX"),
            "ReadWriteMany" => Some("RWX"),
            "ReadWriteOncePod" => Some("RWOP"),
            _ => None,
        })
        .collect();
    let (capacity, modes) = if bound {
        (
            text(&status["capacity"], "storage").to_owned(),
            modes.join(","),
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

fn endpoints(value: &Value) -> String {
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

/// The first three of several, and how many more there are.
fn three(all: &[String]) -> String {
    match all.get(..3) {
        Some(first) if all.len() > 3 => {
            format!("{} + {} more...", first.join(","), all.len() - 3)
        }
        _ if all.is_empty() => "<unset>".to_owned(),
        _ => all.join(","),
    }
}

fn event(value: &Value, now: Timestamp) -> Vec<Value> {
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

fn ingress(value: &Value, now: Timestamp) -> Vec<Value> {
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

fn autoscaler(value: &Value, now: Timestamp) -> Vec<Value> {
    let spec = &value["spec"];
    let target = &spec["scaleTargetRef"];
    let targets: Vec<String> = list(&spec["metrics"])
        .map(|metric| {
            let resource = &metric["resource"];
            let wanted = &resource["target"]["averageUtilization"];
            match wanted.as_i64() {
                Some(wanted) => format!("{}: <unknown>/{wanted}%", text(resource, "name")),
                None => "<unknown>".to_owned(),
            }
        })
        .collect();
    vec![
        json!(object::name(value)),
        json!(format!("{}/{}", text(target, "kind"), text(target, "name"))),
        json!(or_none(&targets.join(", "))),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_written_as_kubernetes_writes_them() {
        // From the table of `TestHumanDuration` in k8s.io/apimachinery/pkg/util/duration.
        let cases = [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (121, "2m1s"),
            (600, "10m"),
            (180 * 60, "3h"),
            (7 * 3600 + 60, "7h1m"),
            (47 * 3600, "47h"),
            (48 * 3600, "2d"),
            (49 * 3600, "2d1h"),
            (8 * 86_400, "8d"),
            (730 * 86_400, "2y"),
            (731 * 86_400, "2y1d"),
            (-5, "<invalid>"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(human(seconds), expected, "{seconds}");
        }
    }
}
