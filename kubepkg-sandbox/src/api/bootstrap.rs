//! What every cluster has from the start: namespaces, the `kubernetes` service, a node, roles.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::kind::Kind;
use super::world::World;
use super::write::Writer;
use crate::kubelet::{NODE, node_labels, node_status};

/// Namespaces that are there from the start.
const NAMESPACES: [&str; 4] = ["kube-system", "kube-public", "kube-node-lease", "default"];

/// Writes it.
pub(crate) fn furnish(world: &mut World, now: Timestamp) {
    for name in NAMESPACES {
        make(
            world,
            ("", "v1", "namespaces"),
            "",
            json!({"metadata": {"name": name}}),
            now,
        );
    }
    make(
        world,
        ("", "v1", "services"),
        "default",
        json!({
            "metadata": {
                "name": "kubernetes",
                "labels": {"component": "apiserver", "provider": "kubernetes"},
            },
            "spec": {
                "clusterIP": "10.0.0.1",
                "ports": [{"name": "https", "port": 443, "targetPort": 6443}],
            },
        }),
        now,
    );
    let role = json!({
        "metadata": {"name": "cluster-admin"},
        "rules": [
            {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
            {"nonResourceURLs": ["*"], "verbs": ["*"]},
        ],
    });
    make(
        world,
        ("rbac.authorization.k8s.io", "v1", "clusterroles"),
        "",
        role,
        now,
    );
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
