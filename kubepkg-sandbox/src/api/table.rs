//! Tables, as `kubectl get` shows them: columns and cells, `pkg/printers/internalversion` of
//! Kubernetes.

mod kinds;
mod plain;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::kinds::{autoscaler, claim, endpoints, event, ingress, job, node, service};
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
                json!(by_default(
                    value,
                    "ingressclass.kubernetes.io/is-default-class"
                )),
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
                    .map(|subject| match (kind, text(subject, "namespace")) {
                        ("ServiceAccount", namespace) => {
                            format!("{namespace}/{}", text(subject, "name"))
                        }
                        _ => text(subject, "name").to_owned(),
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
            vec![
                json!(by_default(
                    value,
                    "storageclass.kubernetes.io/is-default-class"
                )),
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
        _ => plain::cells(kind, value, now),
    }
}

/// The name of a class, and whether it is the one for who names none.
fn by_default(class: &Value, annotation: &str) -> String {
    let name = object::name(class);
    if class["metadata"]["annotations"][annotation] == "true" {
        format!("{name} (default)")
    } else {
        name.to_owned()
    }
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
    let mut all: Vec<String> = value
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    all.sort();
    or_none(&all.join(","))
}

pub(crate) fn or_none(text: &str) -> String {
    if text.is_empty() {
        "<none>".to_owned()
    } else {
        text.to_owned()
    }
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
