//! What every cluster has from the start: namespaces, the `kubernetes` service, classes of priority, a node, a role.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::kind::Kind;
use super::managed;
use super::world::World;
use super::write::Writer;
use crate::kubelet::{NODE, node_labels, node_status};

/// Namespaces that are there from the start.
const NAMESPACES: [&str; 4] = ["kube-system", "kube-public", "kube-node-lease", "default"];

/// Priority classes that are there from the start: name, value, what they are for.
pub(crate) const CLASSES: [(&str, i64, &str); 2] = [
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
];

/// Writes it.
pub(crate) fn furnish(world: &mut World, now: Timestamp) {
    let core = |plural| ("", "v1", plural);
    let rights = |plural| ("rbac.authorization.k8s.io", "v1", plural);
    for name in NAMESPACES {
        let namespace = json!({"metadata": {"name": name}});
        let fields = json!({
            "f:metadata": {"f:labels": {".": {}, "f:kubernetes.io/metadata.name": {}}},
        });
        own(world, core("namespaces"), "", (namespace, fields), now);
    }
    let service = json!({
        "metadata": {
            "name": "kubernetes",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "clusterIP": "10.0.0.1",
            "ports": [{"name": "https", "port": 443, "targetPort": 6443}],
        },
    });
    let fields = json!({
        "f:metadata": {"f:labels": {".": {}, "f:component": {}, "f:provider": {}}},
        "f:spec": {
            "f:clusterIP": {}, "f:internalTrafficPolicy": {}, "f:ipFamilyPolicy": {},
            "f:ports": {".": {}, "k:{\"port\":443,\"protocol\":\"TCP\"}": {
                ".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}, "f:targetPort": {},
            }},
            "f:sessionAffinity": {}, "f:type": {},
        },
    });
    own(world, core("services"), "default", (service, fields), now);
    for (name, value, description) in CLASSES {
        let class = json!({
            "metadata": {"name": name}, "value": value, "description": description,
        });
        let fields = json!({"f:description": {}, "f:preemptionPolicy": {}, "f:value": {}});
        let kind = ("scheduling.k8s.io", "v1", "priorityclasses");
        own(world, kind, "", (class, fields), now);
    }
    let (updated, default) = (
        "rbac.authorization.kubernetes.io/autoupdate",
        "kubernetes.io/bootstrapping",
    );
    let metadata = json!({
        "name": "cluster-admin",
        "annotations": {updated: "true"}, "labels": {default: "rbac-defaults"},
    });
    let said = json!({
        "f:annotations": {".": {}, format!("f:{updated}"): {}},
        "f:labels": {".": {}, format!("f:{default}"): {}},
    });
    let role = json!({
        "metadata": metadata,
        "rules": [
            {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
            {"nonResourceURLs": ["*"], "verbs": ["*"]},
        ],
    });
    let fields = json!({"f:metadata": said, "f:rules": {}});
    own(world, rights("clusterroles"), "", (role, fields), now);
    let group = "rbac.authorization.k8s.io";
    let binding = json!({
        "metadata": metadata,
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": group, "kind": "Group", "name": "system:masters"}],
    });
    let fields = json!({"f:metadata": said, "f:roleRef": {}, "f:subjects": {}});
    let kind = rights("clusterrolebindings");
    own(world, kind, "", (binding, fields), now);
    if world.plays {
        let node = json!({"metadata": {"name": NODE, "labels": node_labels()}});
        if let Some(made) = make(world, ("", "v1", "nodes"), "", node, now) {
            let mut node = Value::clone(&made);
            node["status"] = node_status(now);
            world.store.put(&"nodes".into(), node);
        }
    }
    super::settle::settle(world, now);
}

/// Creates an object of which the server itself has written these fields.
fn own(
    world: &mut World,
    kind: (&str, &str, &str),
    namespace: &str,
    (object, fields): (Value, Value),
    now: Timestamp,
) {
    let (group, version, _) = kind;
    let api_version = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    let managed = managed::written_by("kube-apiserver", &api_version, fields, now);
    make_managed(world, kind, namespace, (object, managed), now);
}

/// Creates an object of the server's own; `None` when it is refused. Nobody asks who wrote it.
pub(crate) fn make(
    world: &mut World,
    kind: (&str, &str, &str),
    namespace: &str,
    object: Value,
    now: Timestamp,
) -> Option<Arc<Value>> {
    make_managed(world, kind, namespace, (object, Value::Null), now)
}

/// Creates an object of the server's own with its managed fields.
pub(crate) fn make_managed(
    world: &mut World,
    (group, version, plural): (&str, &str, &str),
    namespace: &str,
    (object, managed): (Value, Value),
    now: Timestamp,
) -> Option<Arc<Value>> {
    let kind: Arc<Kind> = Arc::clone(world.registry.find(group, version, plural)?);
    let mut writer = Writer::internal("kube-apiserver", "", now);
    writer.managed = Some(managed);
    world.commit_new(&kind, namespace, object, &mut writer).ok()
}
