//! What the API server fills into pods and templates of pods, and what its admission of service accounts adds.

use serde_json::{Value, json};

use super::{at, items};
use crate::api::failure::Failure;
use crate::api::kind::Kind;
use crate::api::object::{self, default};
use crate::api::world::World;

pub(super) fn pod(spec: &mut Value) {
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
    for field in ["containers", "initContainers", "ephemeralContainers"] {
        for container in items(spec, &format!("/{field}")) {
            container_defaults(container);
        }
    }
    for volume in items(spec, "/volumes") {
        volume_source(volume);
        at(volume, "/image", |image| {
            let policy = pull_policy(object::text(image, "reference"));
            default(image, "pullPolicy", policy);
        });
        at(volume, "/ephemeral/volumeClaimTemplate/spec", |claim| {
            default(claim, "volumeMode", "Filesystem");
        });
        for source in ["configMap", "secret", "downwardAPI", "projected"] {
            at(volume, &format!("/{source}"), |source| {
                default(source, "defaultMode", 420);
            });
        }
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

/// What is filled in of disks, in pods and in volumes of their own.
pub(super) fn volume_source(volume: &mut Value) {
    const TEXTS: [(&str, &str, &str); 10] = [
        ("/hostPath", "type", ""),
        ("/rbd", "pool", "rbd"),
        ("/rbd", "user", "admin"),
        ("/rbd", "keyring", "/etc/ceph/keyring"),
        ("/iscsi", "iscsiInterface", "default"),
        ("/azureDisk", "cachingMode", "ReadWrite"),
        ("/azureDisk", "fsType", "ext4"),
        ("/azureDisk", "kind", "Shared"),
        ("/scaleIO", "storageMode", "ThinProvisioned"),
        ("/scaleIO", "fsType", "xfs"),
    ];
    for (source, field, text) in TEXTS {
        at(volume, source, |source| default(source, field, text));
    }
    at(volume, "/azureDisk", |disk| {
        default(disk, "readOnly", false);
    });
}

fn field_ref(value: &mut Value, pointer: &str) {
    if let Some(reference) = value.pointer_mut(pointer) {
        default(reference, "apiVersion", "v1");
    }
}

/// In pods, not in templates, requests follow limits, and ports of the node those of containers.
pub(super) fn alone(pod: &mut Value) {
    let shared = pod["hostNetwork"] == true;
    for field in ["/containers", "/initContainers"] {
        for container in items(pod, field) {
            let limits = container["resources"]["limits"].as_object().cloned();
            for (resource, limit) in limits.into_iter().flatten() {
                if container["resources"]["requests"].get(&resource).is_none() {
                    container["resources"]["requests"][&resource] = limit;
                }
            }
            for port in items(container, "/ports").filter(|_| shared) {
                let own = port["containerPort"].clone();
                default(port, "hostPort", own);
            }
        }
    }
}

fn container_defaults(container: &mut Value) {
    if !container.is_object() {
        return;
    }
    default(container, "resources", json!({}));
    default(container, "terminationMessagePath", "/dev/termination-log");
    default(container, "terminationMessagePolicy", "File");
    let policy = pull_policy(object::text(container, "image"));
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

fn pull_policy(image: &str) -> &'static str {
    match tag(image) {
        "latest" => "Always",
        _ => "IfNotPresent",
    }
}

/// The tag of an image: `latest` when there is none, nothing when there is a digest.
fn tag(image: &str) -> &str {
    if image.contains('@') {
        return "";
    }
    let name = image.rsplit('/').next().unwrap_or_default();
    name.rsplit_once(':').map_or("latest", |(_, tag)| tag)
}

/// The service account of a pod, and its token.
pub(super) fn account(world: &mut World, kind: &Kind, object: &mut Value) -> Result<(), Failure> {
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
    Ok(())
}

/// A pod stays for a while where something is wrong with the node.
pub(super) fn tolerations(spec: &mut Value) {
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
