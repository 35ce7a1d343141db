//! Defaults of built-in kinds: `pkg/apis/*/v1/defaults.go` of Kubernetes, and what the server
//! allots itself (addresses, ports, the service account of a pod).

mod classes;
mod pod;
mod priority;
mod workload;

use serde_json::{Value, json};

use self::pod::{account, alone, pod, tolerations, volume_source};
use self::workload::{cron_job, job, replication_controller, workload};
use super::failure::Failure;
use super::kind::Kind;
use super::object::{self, default};
use super::patch::Way;
use super::world::World;
use crate::crd;

/// Fills in what a client may leave out.
pub(crate) fn apply(kind: &Kind, object: &mut Value, way: Option<Way>) {
    if let Some(custom) = &kind.custom {
        // Patches bring fields that no client was warned of.
        crd::prune(object, &custom.schema);
        if way != Some(Way::Apply) {
            crd::drop_nulls(object, &custom.schema);
        }
        crd::set_defaults(object, &custom.schema);
        return;
    }
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "namespaces") => {
            let name = object::name(object).to_owned();
            // Whatever a client has made of it.
            if let Some(labels) = object["metadata"]["labels"].as_object_mut() {
                labels.remove(NAME_LABEL);
            }
            labelled(object, "labels", NAME_LABEL, &name);
            phase(object, "Active");
        }
        ("discovery.k8s.io", _) => {
            for port in items(object, "/ports") {
                default(port, "name", "");
                default(port, "protocol", "TCP");
            }
        }
        ("", "endpoints") => items(object, "/subsets").for_each(ports_of),
        ("", "limitranges") => {
            for limit in items(object, "/spec/limits") {
                limits(limit);
            }
        }
        ("", "pods") => at(object, "/spec", |spec| {
            pod(spec);
            alone(spec);
            default(spec, "enableServiceLinks", true);
        }),
        ("", "secrets") => {
            super::prepare::merge_string_data(object);
            default(object, "type", "Opaque");
        }
        ("", "services") => at(object, "/spec", service),
        ("", "persistentvolumeclaims") => {
            at(object, "/spec", |spec| {
                default(spec, "volumeMode", "Filesystem");
            });
            phase(object, "Pending");
        }
        ("", "persistentvolumes") => {
            at(object, "/spec", |spec| {
                default(spec, "volumeMode", "Filesystem");
                default(spec, "persistentVolumeReclaimPolicy", "Retain");
                volume_source(spec);
            });
            phase(object, "Pending");
        }
        ("", "podtemplates") => at(object, "/template/spec", pod::pod),
        ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations") => {
            at(object, "/spec/limited", |limited| {
                default(limited, "lendablePercent", 0);
            });
        }
        ("", "replicationcontrollers") => replication_controller(object),
        ("apiregistration.k8s.io", _) => at(object, "/spec/service", |service| {
            default(service, "port", 443);
        }),
        ("apps", _) => {
            if kind.plural == "daemonsets" {
                labelled(object, "annotations", super::prepare::TEMPLATES, "1");
            }
            workload(kind, object);
        }
        ("batch", "jobs") => at(object, "/spec", job),
        ("batch", "cronjobs") => at(object, "/spec", cron_job),
        ("", "events") => event(object),
        ("networking.k8s.io", "ingressclasses") => at(object, "/spec/parameters", |of| {
            default(of, "scope", "Cluster");
        }),
        ("networking.k8s.io", "networkpolicies") => at(object, "/spec", network_policy),
        ("autoscaling", _) => at(object, "/spec", autoscaler),
        ("rbac.authorization.k8s.io", _) => rbac(kind, object),
        ("storage.k8s.io", "storageclasses") => {
            default(object, "reclaimPolicy", "Delete");
            default(object, "volumeBindingMode", "Immediate");
        }
        ("storage.k8s.io", "csidrivers") => at(object, "/spec", csi_driver),
        ("scheduling.k8s.io", "priorityclasses") => {
            default(object, "preemptionPolicy", "PreemptLowerPriority");
        }
        ("admissionregistration.k8s.io", _) => {
            webhooks(kind, object);
            admission_policy(kind, object);
        }
        ("apiextensions.k8s.io", "customresourcedefinitions") => {
            crate::crd::definition::complete(object);
        }
        _ => {}
    }
}

/// Values that stay when a writer leaves them out: the API server copies them from the stored
/// object.
pub(crate) fn carried(kind: &Kind, old: &Value, new: &mut Value) {
    if kind.is("", "pods") && new["spec"]["nodeName"].is_null() {
        let node = old["spec"]["nodeName"].clone();
        if !node.is_null() {
            new["spec"]["nodeName"] = node;
        }
    }
    if kind.is("", "pods") && new["spec"] != old["spec"] {
        tolerations(&mut new["spec"]);
    }
}

/// The label by which namespaces are selected.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// What the server allots to a new object.
pub(crate) fn server(world: &mut World, kind: &Kind, object: &mut Value) -> Result<(), Failure> {
    if kind.is("", "pods") {
        account(world, kind, object)?;
        priority::of_class(world, kind, object)?;
        tolerations(&mut object["spec"]);
    }
    if kind.is("scheduling.k8s.io", "priorityclasses") {
        priority::only_one(world, kind, object)?;
    }
    if kind.is("", "persistentvolumeclaims") || kind.is("networking.k8s.io", "ingresses") {
        classes::of_class(world, kind, object);
    }
    Ok(())
}

/// A label or annotation that is always there.
fn labelled(object: &mut Value, field: &str, key: &str, value: &str) {
    let Some(metadata) = object::metadata(object) else {
        return;
    };
    let slot = metadata.entry(field).or_insert(Value::Null);
    if slot.is_null() {
        *slot = json!({});
    }
    if let Some(slot) = slot.as_object_mut() {
        slot.entry(key).or_insert_with(|| value.into());
    }
}

/// The items of a list, if it is there.
fn items<'a>(value: &'a mut Value, pointer: &str) -> impl Iterator<Item = &'a mut Value> + use<'a> {
    let list = value.pointer_mut(pointer).and_then(Value::as_array_mut);
    list.into_iter().flatten()
}

fn ports_of(subset: &mut Value) {
    for port in items(subset, "/ports") {
        default(port, "protocol", "TCP");
    }
}

/// Changes a part, if it is there.
fn at(value: &mut Value, pointer: &str, change: impl FnOnce(&mut Value)) {
    if let Some(part) = value.pointer_mut(pointer).filter(|part| part.is_object()) {
        change(part);
    }
}

/// What a status says when nobody has said anything.
fn phase(object: &mut Value, phase: &str) {
    if object["status"].is_null() {
        object["status"] = json!({});
    }
    let none = object["status"]["phase"].as_str().is_none_or(str::is_empty);
    if none && object["status"].is_object() {
        object["status"]["phase"] = phase.into();
    }
}

fn service(spec: &mut Value) {
    default(spec, "type", "ClusterIP");
    default(spec, "sessionAffinity", "None");
    let kind = object::text(spec, "type").to_owned();
    for port in items(spec, "/ports") {
        default(port, "protocol", "TCP");
        let number = port["port"].clone();
        if port["targetPort"] == "" || port["targetPort"] == 0 {
            port["targetPort"] = Value::Null;
        }
        default(port, "targetPort", number);
    }
    if kind == "ExternalName" {
        return;
    }
    default(spec, "internalTrafficPolicy", "Cluster");
    let outside = object::list(&spec["externalIPs"]).next().is_some();
    if outside || matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
        default(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
        default(spec, "allocateLoadBalancerNodePorts", true);
    }
    if spec["sessionAffinity"] == "None"
        && let Some(fields) = spec.as_object_mut()
    {
        fields.remove("sessionAffinityConfig");
    }
    if spec["sessionAffinity"] == "ClientIP" {
        default(spec, "sessionAffinityConfig", json!({}));
        let config = &mut spec["sessionAffinityConfig"];
        default(config, "clientIP", json!({}));
        default(&mut config["clientIP"], "timeoutSeconds", 10800);
    }
}

fn event(event: &mut Value) {
    default(event, "source", json!({}));
    default(event, "reportingComponent", "");
    default(event, "reportingInstance", "");
    for field in ["firstTimestamp", "lastTimestamp", "eventTime"] {
        default(event, field, Value::Null);
    }
}

fn network_policy(spec: &mut Value) {
    let mut types = vec!["Ingress"];
    if spec["egress"]
        .as_array()
        .is_some_and(|rules| !rules.is_empty())
    {
        types.push("Egress");
    }
    default(spec, "policyTypes", json!(types));
    for direction in ["ingress", "egress"] {
        for rule in items(spec, &format!("/{direction}")) {
            for port in items(rule, "/ports") {
                default(port, "protocol", "TCP");
            }
        }
    }
}

/// In containers, what is the most is given, and what is given is asked for.
fn limits(limit: &mut Value) {
    if limit["type"] != "Container" {
        return;
    }
    for (from, to) in [
        ("max", "default"),
        ("default", "defaultRequest"),
        ("min", "defaultRequest"),
    ] {
        let given = limit[from].as_object().cloned();
        for (resource, value) in given.into_iter().flatten() {
            default(limit, to, json!({}));
            default(&mut limit[to], &resource, value);
        }
    }
}

/// How fast an autoscaler goes up and down, once somebody says anything of it.
fn behavior(behavior: &mut Value) {
    let all = [
        (
            "scaleUp",
            json!({"selectPolicy": "Max", "stabilizationWindowSeconds": 0, "policies": [
                {"type": "Pods", "value": 4, "periodSeconds": 15},
                {"type": "Percent", "value": 100, "periodSeconds": 15},
            ]}),
        ),
        (
            "scaleDown",
            json!({"selectPolicy": "Max", "policies": [
                {"type": "Percent", "value": 100, "periodSeconds": 15},
            ]}),
        ),
    ];
    for (way, rules) in all {
        default(behavior, way, json!({}));
        for (field, value) in rules.as_object().into_iter().flatten() {
            default(&mut behavior[way], field, value.clone());
        }
    }
}

fn csi_driver(spec: &mut Value) {
    default(spec, "attachRequired", true);
    default(spec, "podInfoOnMount", false);
    default(spec, "storageCapacity", false);
    default(spec, "fsGroupPolicy", "ReadWriteOnceWithFSType");
    default(spec, "volumeLifecycleModes", json!(["Persistent"]));
    default(spec, "requiresRepublish", false);
    default(spec, "seLinuxMount", false);
}

fn autoscaler(spec: &mut Value) {
    at(spec, "/behavior", behavior);
    default(spec, "minReplicas", 1);
    if spec["metrics"].as_array().is_none_or(Vec::is_empty) {
        spec["metrics"] = json!([{"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 80}}}]);
    }
}

fn rbac(kind: &Kind, object: &mut Value) {
    match kind.plural.as_str() {
        "roles" | "clusterroles" => {}
        _ => {
            at(object, "/roleRef", |role| {
                if object::text(role, "apiGroup").is_empty() {
                    role["apiGroup"] = "rbac.authorization.k8s.io".into();
                }
            });
            for subject in items(object, "/subjects") {
                if matches!(subject["kind"].as_str(), Some("User" | "Group")) {
                    default(subject, "apiGroup", "rbac.authorization.k8s.io");
                }
            }
        }
    }
}

fn webhooks(kind: &Kind, object: &mut Value) {
    let mutating = kind.plural == "mutatingwebhookconfigurations";
    for webhook in items(object, "/webhooks") {
        if mutating {
            default(webhook, "reinvocationPolicy", "Never");
        }
        default(webhook, "failurePolicy", "Fail");
        default(webhook, "matchPolicy", "Equivalent");
        default(webhook, "namespaceSelector", json!({}));
        default(webhook, "objectSelector", json!({}));
        default(webhook, "timeoutSeconds", 10);
        at(webhook, "/clientConfig/service", |service| {
            default(service, "port", 443);
        });
        for rule in items(webhook, "/rules") {
            default(rule, "scope", "*");
        }
    }
}

fn admission_policy(kind: &Kind, object: &mut Value) {
    let policies = ["validatingadmissionpolicies", "mutatingadmissionpolicies"];
    if policies.contains(&kind.plural.as_str()) {
        at(object, "/spec", |spec| {
            default(spec, "failurePolicy", "Fail");
        });
    }
    for field in ["/spec/matchConstraints", "/spec/matchResources"] {
        at(object, field, |resources| {
            default(resources, "matchPolicy", "Equivalent");
            default(resources, "namespaceSelector", json!({}));
            default(resources, "objectSelector", json!({}));
            for rules in ["/resourceRules", "/excludeResourceRules"] {
                for rule in items(resources, rules) {
                    default(rule, "scope", "*");
                }
            }
        });
    }
}
