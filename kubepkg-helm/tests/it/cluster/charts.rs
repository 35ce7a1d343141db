//! What tests install: rendered by hand, because rendering has tests of its own.

use kubepkg_helm::{
    Chart, Hook, HookEvent, InstallRequest, ReleaseOptions, Rendered, UpgradeRequest, Values,
};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;

/// A rendering of a chart `demo` with these objects and hooks.
pub(crate) fn rendered(version: &str, objects: &[Value], hooks: Vec<Hook>) -> Rendered {
    let mut chart = Chart::default();
    "demo".clone_into(&mut chart.metadata.name);
    version.clone_into(&mut chart.metadata.version);
    "v2".clone_into(&mut chart.metadata.api_version);
    "1".clone_into(&mut chart.metadata.app_version);
    let mut manifest = String::new();
    for (index, object) in objects.iter().enumerate() {
        writeln!(
            manifest,
            "---
# Source: demo/templates/{index}.yaml
{object}"
        )
        .unwrap();
    }
    Rendered {
        chart,
        config: Values::default(),
        values: Values::default(),
        manifest,
        hooks,
        hook_places: Vec::new(),
        notes: "thank you\n".to_owned(),
        crds: Vec::new(),
        objects: Vec::new(),
        warnings: Vec::new(),
    }
}

pub(crate) fn install(namespace: &str, options: ReleaseOptions) -> InstallRequest {
    InstallRequest {
        name: "demo".to_owned(),
        namespace: namespace.to_owned(),
        chart: Arc::new(Chart::default()),
        values: Values::default(),
        options,
    }
}

pub(crate) fn upgrade(namespace: &str, options: ReleaseOptions) -> UpgradeRequest {
    UpgradeRequest {
        name: "demo".to_owned(),
        namespace: namespace.to_owned(),
        chart: Arc::new(Chart::default()),
        values: Values::default(),
        options,
    }
}

pub(crate) fn config_map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": value}})
}

/// The five small objects of the measurements: ConfigMap, ServiceAccount, Role, RoleBinding, headless Service.
pub(crate) fn five(value: &str) -> Vec<Value> {
    vec![
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "five"}}),
        config_map("five", value),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": {"name": "five"},
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"name": "five"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "five"},
            "subjects": [{"kind": "ServiceAccount", "name": "five"}]}),
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "five"},
            "spec": {"clusterIP": "None", "ports": [{"port": 80}]}}),
    ]
}

pub(crate) fn deployment(name: &str, fate: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name},
                    "annotations": {"sandbox.kubepkg.dev/fate": fate}},
                "spec": {"containers": [{"name": "c", "image": "example.test/c:1"}]}}}})
}

/// A Job that is a hook. Its pod succeeds at once, or fails when `fate` says so.
pub(crate) fn job_hook(
    name: &str,
    event: HookEvent,
    weight: i64,
    delete: &str,
    fate: &str,
) -> Hook {
    let mut annotations = json!({
        "helm.sh/hook": event.as_str(), "helm.sh/hook-weight": weight.to_string(),
    });
    if !delete.is_empty() {
        annotations["helm.sh/hook-delete-policy"] = json!(delete);
    }
    let manifest = json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"backoffLimit": 0, "template": {
            "metadata": {"annotations": {"sandbox.kubepkg.dev/fate": fate}},
            "spec": {"restartPolicy": "Never",
                "containers": [{"name": "c", "image": "example.test/c:1"}]}}}});
    Hook {
        name: name.to_owned(),
        kind: "Job".to_owned(),
        path: format!("demo/templates/{name}.yaml"),
        manifest: format!("# hook\n{manifest}\n"),
        events: vec![event],
        weight,
        delete_policies: delete
            .split(',')
            .filter(|policy| !policy.is_empty())
            .map(|policy| policy.to_owned().into())
            .collect(),
        ..Hook::default()
    }
}
