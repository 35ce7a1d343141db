//! What the API server fills into pods and templates of pods, and what its admission of service accounts adds.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

use super::{at, items};
use crate::api::failure::Failure;
use crate::api::kind::Kind;
use crate::api::names;
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

/// Of an image whose tag is `latest`, or that has neither tag nor digest. What is no reference has no tag
/// (`ParseImageName`).
fn pull_policy(image: &str) -> &'static str {
    let parts = REFERENCE.as_ref().and_then(|known| known.captures(image));
    let latest = parts.is_some_and(|parts| {
        let tag = parts.name("tag").map(|tag| tag.as_str());
        let is_latest = tag.map_or(parts.name("digest").is_none(), |tag| tag == "latest");
        is_latest && parts["path"].len() <= MAX_NAME && !is_number(image)
    });
    if latest { "Always" } else { "IfNotPresent" }
}

/// Whether this is the number of an image, and so no name.
fn is_number(image: &str) -> bool {
    image.len() == 64
        && image
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The longest name of an image, without that of its registry.
const MAX_NAME: usize = 255;

/// A reference as the `distribution/reference` package of Go reads it: registry, path, tag and digest.
static REFERENCE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let label = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
    let host = format!(r"(?:{label}(?:\.{label})*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?");
    let part = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*";
    let name = format!("(?:{host}/)?(?P<path>{part}(?:/{part})*)");
    let tag = r"(?::(?P<tag>[0-9A-Za-z_][0-9A-Za-z_.-]{0,127}))?";
    let digest =
        r"(?:@(?P<digest>[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?";
    Regex::new(&format!("^{name}{tag}{digest}$")).ok()
});

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
        let wrong = names::path_segment(&account);
        let what = if wrong.is_empty() {
            format!("serviceaccount \"{account}\" not found")
        } else {
            format!("invalid resource name \"{account}\": [{}]", wrong.join(" "))
        };
        let why = format!("error looking up service account {namespace}/{account}: {what}");
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
