//! Defaults of built-in kinds: `pkg/apis/*/v1/defaults.go` of Kubernetes, and what the server
//! allots itself (addresses, ports, the service account of a pod).

use serde_json::{Value, json};

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
            labelled(object, "labels", "kubernetes.io/metadata.name", &name);
            phase(object, "Active");
        }
        ("discovery.k8s.io", _) => {
            for port in items(object, "/ports") {
                default(port, "name", "");
                default(port, "protocol", "TCP");
            }
        }
        ("", "limitranges") => {
            for limit in items(object, "/spec/limits") {
                limits(limit);
            }
        }
        ("", "pods") => at(object, "/spec", |spec| {
            pod(spec);
            requests(spec);
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
                at(spec, "/hostPath", |path| default(path, "type", ""));
            });
            phase(object, "Pending");
        }
        ("", "replicationcontrollers") => replication_controller(object),
        ("apiregistration.k8s.io", _) => at(object, "/spec/service", |service| {
            default(service, "port", 443);
        }),
        ("apps", _) => {
            if kind.plural == "daemonsets" {
                let key = "deprecated.daemonset.template.generation";
                labelled(object, "annotations", key, "1");
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
        ("admissionregistration.k8s.io", _) => webhooks(kind, object),
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

/// What the server allots to a new object.
pub(crate) fn server(world: &mut World, kind: &Kind, object: &mut Value) -> Result<(), Failure> {
    if kind.is("", "pods") {
        account(world, kind, object)?;
    }
    Ok(())
}

fn pod(spec: &mut Value) {
    default(spec, "restartPolicy", "Always");
    default(spec, "terminationGracePeriodSeconds", 30);
    default(spec, "dnsPolicy", "ClusterFirst");
    default(spec, "securityContext", json!({}));
    default(spec, "schedulerName", "default-scheduler");
    let account = spec["serviceAccountName"].clone();
    if !account.is_null() {
        default(spec, "serviceAccount", account);
    } else if !spec["serviceAccount"].is_null() {
        let account = spec["serviceAccount"].clone();
        default(spec, "serviceAccountName", account);
    }
    for field in ["containers", "initContainers"] {
        for container in items(spec, &format!("/{field}")) {
            container_defaults(container);
        }
    }
    for volume in items(spec, "/volumes") {
        for source in ["configMap", "secret", "downwardAPI", "projected"] {
            at(volume, &format!("/{source}"), |source| {
                default(source, "defaultMode", 420);
            });
        }
        at(volume, "/hostPath", |path| default(path, "type", ""));
        for source in items(volume, "/projected/sources") {
            at(source, "/serviceAccountToken", |token| {
                default(token, "expirationSeconds", 3600);
            });
            for item in items(source, "/downwardAPI/items") {
                field_ref(item, "/fieldRef");
            }
        }
        for item in items(volume, "/downwardAPI/items") {
            field_ref(item, "/fieldRef");
        }
        let named = ["name"];
        let only_name = volume
            .as_object()
            .is_some_and(|fields| fields.keys().all(|key| named.contains(&key.as_str())));
        if only_name {
            default(volume, "emptyDir", json!({}));
        }
    }
}

fn field_ref(value: &mut Value, pointer: &str) {
    if let Some(reference) = value.pointer_mut(pointer) {
        default(reference, "apiVersion", "v1");
    }
}

/// In pods, not in templates, requests follow limits.
fn requests(pod: &mut Value) {
    for field in ["/containers", "/initContainers"] {
        for container in items(pod, field) {
            let limits = container["resources"]["limits"].as_object().cloned();
            for (resource, limit) in limits.into_iter().flatten() {
                if container["resources"]["requests"].get(&resource).is_none() {
                    container["resources"]["requests"][&resource] = limit;
                }
            }
        }
    }
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

/// Changes a part, if it is there.
fn at(value: &mut Value, pointer: &str, change: impl FnOnce(&mut Value)) {
    if let Some(part) = value.pointer_mut(pointer).filter(|part| part.is_object()) {
        change(part);
    }
}

fn container_defaults(container: &mut Value) {
    if !container.is_object() {
        return;
    }
    default(container, "resources", json!({}));
    default(container, "terminationMessagePath", "/dev/termination-log");
    default(container, "terminationMessagePolicy", "File");
    let policy = match tag(object::text(container, "image")) {
        "latest" => "Always",
        _ => "IfNotPresent",
    };
    default(container, "imagePullPolicy", policy);
    for port in items(container, "/ports") {
        default(port, "protocol", "TCP");
    }
    for variable in items(container, "/env") {
        field_ref(variable, "/valueFrom/fieldRef");
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        at(container, &format!("/{probe}"), probe_defaults);
    }
    for hook in ["postStart", "preStop"] {
        at(container, &format!("/lifecycle/{hook}/httpGet"), |get| {
            default(get, "path", "/");
            default(get, "scheme", "HTTP");
        });
    }
}

fn probe_defaults(probe: &mut Value) {
    default(probe, "timeoutSeconds", 1);
    default(probe, "periodSeconds", 10);
    default(probe, "successThreshold", 1);
    default(probe, "failureThreshold", 3);
    at(probe, "/httpGet", |get| {
        default(get, "path", "/");
        default(get, "scheme", "HTTP");
    });
    at(probe, "/grpc", |grpc| default(grpc, "service", ""));
}

/// The tag of an image: `latest` when there is none, nothing when there is a digest.
fn tag(image: &str) -> &str {
    if image.contains('@') {
        return "";
    }
    let name = image.rsplit('/').next().unwrap_or_default();
    name.rsplit_once(':').map_or("latest", |(_, tag)| tag)
}

fn workload(kind: &Kind, object: &mut Value) {
    let Some(spec) = object.pointer_mut("/spec").filter(|spec| spec.is_object()) else {
        return;
    };
    match kind.plural.as_str() {
        "deployments" => {
            default(spec, "replicas", 1);
            default(spec, "revisionHistoryLimit", 10);
            default(spec, "progressDeadlineSeconds", 600);
            default(spec, "strategy", json!({}));
            let strategy = &mut spec["strategy"];
            default(strategy, "type", "RollingUpdate");
            if strategy["type"] == "RollingUpdate" {
                default(strategy, "rollingUpdate", json!({}));
                default(&mut strategy["rollingUpdate"], "maxUnavailable", "25%");
                default(&mut strategy["rollingUpdate"], "maxSurge", "25%");
            }
        }
        "statefulsets" => {
            default(spec, "replicas", 1);
            default(spec, "revisionHistoryLimit", 10);
            default(spec, "podManagementPolicy", "OrderedReady");
            default(spec, "updateStrategy", json!({}));
            let update = &mut spec["updateStrategy"];
            if object::text(update, "type").is_empty() {
                update["type"] = "RollingUpdate".into();
                default(update, "rollingUpdate", json!({}));
            }
            if update["type"] == "RollingUpdate" && update["rollingUpdate"].is_object() {
                default(&mut update["rollingUpdate"], "partition", 0);
            }
            default(spec, "persistentVolumeClaimRetentionPolicy", json!({}));
            let policy = &mut spec["persistentVolumeClaimRetentionPolicy"];
            default(policy, "whenDeleted", "Retain");
            default(policy, "whenScaled", "Retain");
            for claim in items(spec, "/volumeClaimTemplates") {
                default(claim, "kind", "PersistentVolumeClaim");
                default(claim, "apiVersion", "v1");
                default(claim, "status", json!({}));
                at(claim, "/status", |status| {
                    default(status, "phase", "Pending");
                });
                at(claim, "/spec", |spec| {
                    default(spec, "volumeMode", "Filesystem");
                });
            }
            default(spec, "serviceName", "");
        }
        "daemonsets" => {
            default(spec, "revisionHistoryLimit", 10);
            default(spec, "updateStrategy", json!({}));
            default(&mut spec["updateStrategy"], "type", "RollingUpdate");
            if spec["updateStrategy"]["type"] == "RollingUpdate" {
                default(&mut spec["updateStrategy"], "rollingUpdate", json!({}));
                let rolling = &mut spec["updateStrategy"]["rollingUpdate"];
                default(rolling, "maxUnavailable", 1);
                default(rolling, "maxSurge", 0);
            }
        }
        "replicasets" => default(spec, "replicas", 1),
        _ => return,
    }
    template(spec);
}

/// A controller of the first days: its labels and its selector follow those of its pods.
fn replication_controller(object: &mut Value) {
    let labels = object["spec"]["template"]["metadata"]["labels"].clone();
    at(object, "/spec", |spec| {
        if labels.as_object().is_some_and(|labels| !labels.is_empty()) {
            default(spec, "selector", labels.clone());
        }
        default(spec, "replicas", 1);
        template(spec);
    });
    let own = object["metadata"]["labels"].as_object();
    if own.is_none_or(serde_json::Map::is_empty) && labels.is_object() {
        object::set(object, "labels", labels);
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

fn template(spec: &mut Value) {
    at(spec, "/template", |template| {
        default(template, "metadata", json!({}));
        at(template, "/spec", pod);
    });
}

fn job(spec: &mut Value) {
    if spec["parallelism"].is_null() && spec["completions"].is_null() {
        default(spec, "completions", 1);
    }
    default(spec, "parallelism", 1);
    default(spec, "backoffLimit", 6);
    default(spec, "completionMode", "NonIndexed");
    default(spec, "suspend", false);
    default(spec, "manualSelector", false);
    let policy = if spec["podFailurePolicy"].is_null() {
        "TerminatingOrFailed"
    } else {
        "Failed"
    };
    default(spec, "podReplacementPolicy", policy);
    template(spec);
}

fn cron_job(spec: &mut Value) {
    default(spec, "concurrencyPolicy", "Allow");
    default(spec, "suspend", false);
    default(spec, "successfulJobsHistoryLimit", 3);
    default(spec, "failedJobsHistoryLimit", 1);
    at(spec, "/jobTemplate", |job| {
        default(job, "metadata", json!({}));
        at(job, "/spec", template);
    });
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
        default(
            spec,
            "sessionAffinityConfig",
            json!({"clientIP": {"timeoutSeconds": 10800}}),
        );
    }
}

/// The service account of a pod, its token, and the tolerations that every pod gets.
fn account(world: &mut World, kind: &Kind, object: &mut Value) -> Result<(), Failure> {
    let namespace = object::namespace(object).to_owned();
    let pod = object::name(object).to_owned();
    let spec = &mut object["spec"];
    default(spec, "serviceAccountName", "default");
    let account = object::text(spec, "serviceAccountName").to_owned();
    spec["serviceAccount"] = account.clone().into();
    let Some(found) = world
        .store
        .get("serviceaccounts", &namespace, &account)
        .cloned()
    else {
        let why = format!(
            "error looking up service account {namespace}/{account}: serviceaccount \
             \"{account}\" not found"
        );
        return Err(Failure::forbidden(kind, &pod, &why));
    };
    let wanted = spec["automountServiceAccountToken"]
        .as_bool()
        .or_else(|| found["automountServiceAccountToken"].as_bool())
        .unwrap_or(true);
    if wanted {
        let name = format!("kube-api-access-{}", world.ids.suffix(5));
        let volume = json!({"name": name, "projected": {"defaultMode": 420, "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt",
                "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace",
                "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
        ]}});
        push(spec, "volumes", volume);
        for field in ["containers", "initContainers"] {
            for container in items(spec, &format!("/{field}")) {
                let mount = json!({"name": name, "readOnly": true,
                    "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"});
                push(container, "volumeMounts", mount);
            }
        }
    }
    tolerations(spec);
    default(spec, "priority", 0);
    default(spec, "preemptionPolicy", "PreemptLowerPriority");
    Ok(())
}

/// A pod stays for a while where something is wrong with the node.
fn tolerations(spec: &mut Value) {
    for condition in ["not-ready", "unreachable"] {
        let key = format!("node.kubernetes.io/{condition}");
        if object::list(&spec["tolerations"]).any(|one| one["key"] == key.as_str()) {
            continue;
        }
        push(
            spec,
            "tolerations",
            json!({"key": key, "operator": "Exists", "effect": "NoExecute",
                "tolerationSeconds": 300}),
        );
    }
}

fn push(value: &mut Value, field: &str, item: Value) {
    match value[field].as_array_mut() {
        Some(items) => items.push(item),
        None => value[field] = json!([item]),
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
