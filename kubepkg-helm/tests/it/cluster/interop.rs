//! The real Helm and this crate on the same releases.

use super::charts::{config_map, deployment, five, install, job_hook, rendered, upgrade};
use super::{config_map_path, helm_of, live, plane};
use kubepkg_helm::{HookEvent, ReleaseOptions, ReleaseStatus, RollbackRequest, UninstallRequest};
use serde_json::Value;

/// A chart `demo` on disk.
pub(crate) struct ChartFolder(tempfile::TempDir);

impl ChartFolder {
    pub(crate) fn new(version: &str, objects: &[Value]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write(version, objects);
        folder
    }

    /// Adds a `values.yaml`.
    pub(crate) fn with_values(self, values: &str) -> Self {
        std::fs::write(self.0.path().join("values.yaml"), values).unwrap();
        self
    }

    pub(crate) fn write(&self, version: &str, objects: &[Value]) {
        let root = self.0.path();
        let templates = root.join("templates");
        std::fs::remove_dir_all(&templates).ok();
        std::fs::create_dir_all(&templates).unwrap();
        let metadata = format!("apiVersion: v2\nname: demo\nversion: {version}\n");
        std::fs::write(root.join("Chart.yaml"), metadata).unwrap();
        for (index, object) in objects.iter().enumerate() {
            std::fs::write(templates.join(format!("{index}.yaml")), object.to_string()).unwrap();
        }
    }

    pub(crate) fn path(&self) -> &str {
        self.0.path().to_str().unwrap()
    }
}

/// Runs the real Helm and returns what it prints.
pub(crate) async fn helm(user: &str, arguments: &[&str]) -> String {
    let mut command = plane().await.command("helm", user).unwrap();
    command.args(arguments);
    let shown = format!("helm {}", arguments.join(" "));
    let output = tokio::task::spawn_blocking(move || command.output())
        .await
        .unwrap()
        .unwrap();
    let (out, error) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{shown}: {out}{error}");
    out.into_owned()
}

async fn helm_json(arguments: &[&str]) -> Value {
    let mut all = arguments.to_vec();
    all.extend(["-o", "json"]);
    serde_json::from_str(&helm("helm", &all).await).unwrap()
}

#[tokio::test]
async fn helm_reads_and_continues_a_release_of_this_crate() {
    let namespace = plane().await.namespace("ours").await.unwrap();
    let ours = helm_of("kubepkg").await;
    let hooks = vec![job_hook("pre", HookEvent::PreInstall, 0, "", "run")];
    let chart = rendered("1.0.0", &five("1"), hooks);
    let request = install(&namespace, ReleaseOptions::default());
    let outcome = ours
        .begin_install_rendered(request, chart.clone())
        .await
        .unwrap()
        .run()
        .await
        .unwrap();
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
    let n = ["-n", namespace.as_str()];

    let list = helm_json(&["list", n[0], n[1]]).await;
    assert_eq!(list[0]["name"], "demo");
    assert_eq!(
        (&list[0]["status"], &list[0]["chart"]),
        (&"deployed".into(), &"demo-1.0.0".into())
    );
    let status = helm_json(&["status", "demo", n[0], n[1]]).await;
    assert_eq!(status["info"]["description"], "Install complete");
    assert_eq!(status["info"]["notes"], "thank you\n");
    assert_eq!(
        helm("helm", &["get", "manifest", "demo", n[0], n[1]]).await,
        chart.manifest + "\n"
    );
    assert!(
        helm("helm", &["get", "hooks", "demo", n[0], n[1]])
            .await
            .contains("\"name\":\"pre\"")
    );

    // Helm upgrades, drops the Role and its binding, and changes the ConfigMap.
    let mut objects = five("2");
    objects.drain(2..4);
    let folder = ChartFolder::new("1.1.0", &objects);
    helm(
        "helm",
        &["upgrade", "demo", folder.path(), n[0], n[1], "--wait"],
    )
    .await;
    assert_eq!(
        live(&config_map_path(&namespace, "five")).await.unwrap()["data"]["k"],
        "2"
    );
    let role = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/roles/five");
    assert!(live(&role).await.is_none());
    let read = ours.status(&namespace, "demo").await.unwrap();
    assert_eq!((read.revision, read.chart_version()), (2, "1.1.0"));
    assert_eq!(read.info.status, ReleaseStatus::Deployed);

    // This crate upgrades what Helm upgraded; Helm rolls back to Helm's; this crate to its own; Helm removes.
    let chart = rendered("1.2.0", &five("3"), vec![]);
    let request = upgrade(&namespace, ReleaseOptions::default());
    let outcome = ours
        .begin_upgrade_rendered(request, chart)
        .await
        .unwrap()
        .run()
        .await
        .unwrap();
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
    assert_eq!(
        live(&config_map_path(&namespace, "five")).await.unwrap()["data"]["k"],
        "3"
    );
    helm("helm", &["rollback", "demo", "2", n[0], n[1]]).await;
    assert_eq!(
        live(&config_map_path(&namespace, "five")).await.unwrap()["data"]["k"],
        "2"
    );
    assert!(live(&role).await.is_none());
    let request = RollbackRequest {
        name: "demo".to_owned(),
        namespace: namespace.clone(),
        to: Some(1),
        options: ReleaseOptions::default(),
    };
    let outcome = ours.rollback(request).await.unwrap();
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
    assert!(live(&role).await.is_some());
    assert_history(&namespace).await;
    helm("helm", &["uninstall", "demo", n[0], n[1]]).await;
    assert!(live(&role).await.is_none());
    assert!(ours.latest(&namespace, "demo").await.unwrap().is_none());
}

/// What Helm tells of a release that both have written in turn.
async fn assert_history(namespace: &str) {
    let history = helm_json(&["history", "demo", "-n", namespace]).await;
    let told: Vec<(u64, &str, &str)> = history
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["revision"].as_u64().unwrap(),
                row["status"].as_str().unwrap(),
                row["description"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (1, "superseded", "Install complete"),
            (2, "superseded", "Upgrade complete"),
            (3, "superseded", "Upgrade complete"),
            (4, "superseded", "Rollback to 2"),
            (5, "deployed", "Rollback to 1"),
        ]
    );
}

#[tokio::test]
async fn this_crate_continues_a_release_of_helm() {
    let namespace = plane().await.namespace("theirs").await.unwrap();
    let ours = helm_of("kubepkg").await;
    let n = ["-n", namespace.as_str()];
    let folder = ChartFolder::new("1.0.0", &[config_map("a", "1"), deployment("web", "run")]);
    helm(
        "helm",
        &[
            "install",
            "demo",
            folder.path(),
            n[0],
            n[1],
            "--wait",
            "--labels",
            "team=x",
        ],
    )
    .await;
    let read = ours.status(&namespace, "demo").await.unwrap();
    assert_eq!(read.labels.get("team").map(String::as_str), Some("x"));
    assert_eq!(read.chart().unwrap().metadata.version, "1.0.0");
    // Its record is written back as Helm wrote it.
    let again = kubepkg_helm::Release::from_payload(
        read.to_payload().unwrap().as_bytes(),
        "again",
        &kubepkg_helm::RecordLimits::default(),
    )
    .unwrap();
    assert_eq!(
        (&again.manifest, &again.chart, &again.info),
        (&read.manifest, &read.chart, &read.info)
    );

    let chart = rendered(
        "1.1.0",
        &[config_map("a", "2"), config_map("b", "2")],
        vec![],
    );
    let options = ReleaseOptions {
        wait: kubepkg_helm::Wait::Ready,
        ..ReleaseOptions::default()
    };
    let request = upgrade(&namespace, options);
    let outcome = ours
        .begin_upgrade_rendered(request, chart)
        .await
        .unwrap()
        .run()
        .await
        .unwrap();
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
    let web = format!("/apis/apps/v1/namespaces/{namespace}/deployments/web");
    assert!(live(&web).await.is_none());
    helm("helm", &["rollback", "demo", "1", n[0], n[1], "--wait"]).await;
    assert!(live(&web).await.is_some());
    assert!(live(&config_map_path(&namespace, "b")).await.is_none());
    let outcome = ours
        .uninstall(UninstallRequest::new(&namespace, "demo"))
        .await
        .unwrap();
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
    assert!(live(&web).await.is_none());
    assert_eq!(
        helm_json(&["list", n[0], n[1]]).await,
        serde_json::json!([])
    );
}

#[tokio::test]
async fn helm_sees_an_operation_under_way_as_pending() {
    let namespace = plane().await.namespace("pending").await.unwrap();
    let ours = helm_of("kubepkg").await;
    let chart = rendered("1.0.0", &[config_map("a", "1")], vec![]);
    let request = install(&namespace, ReleaseOptions::default());
    let mut operation = ours.begin_install_rendered(request, chart).await.unwrap();
    operation.advance().await.unwrap();
    let list = helm_json(&["list", "-n", &namespace]).await;
    assert_eq!(list[0]["status"], "pending-install");
    assert!(operation.run().await.unwrap().succeeded());
}

#[tokio::test]
async fn a_release_that_a_client_wrote_is_taken_over_with_all_its_fields() {
    let namespace = plane().await.namespace("client").await.unwrap();
    let ours = helm_of("kubepkg").await;
    let mut first = config_map("a", "1");
    first["data"]["dropped"] = "later".into();
    let folder = ChartFolder::new("1.0.0", &[first]);
    let arguments = [
        "install",
        "demo",
        folder.path(),
        "-n",
        &namespace,
        "--server-side=false",
    ];
    helm("helm", &arguments).await;
    assert_eq!(
        ours.status(&namespace, "demo").await.unwrap().apply_method,
        kubepkg_helm::ApplyMethod::ClientSide
    );

    // Another value without a conflict, and a field less.
    let chart = rendered("1.1.0", &[config_map("a", "2")], vec![]);
    let options = ReleaseOptions {
        server_side: Some(true),
        ..ReleaseOptions::default()
    };
    let request = upgrade(&namespace, options);
    let outcome = ours
        .begin_upgrade_rendered(request, chart)
        .await
        .unwrap()
        .run()
        .await
        .unwrap();
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
    let object = live(&config_map_path(&namespace, "a")).await.unwrap();
    assert_eq!(object["data"], serde_json::json!({"k": "2"}));
    let managers = object["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(managers.len(), 1, "{managers:?}");
    assert_eq!(
        ours.status(&namespace, "demo").await.unwrap().apply_method,
        kubepkg_helm::ApplyMethod::ServerSide
    );
}

/// A chart with what charts use: helpers, values, a subchart with a CRD behind a condition, hooks, notes,
/// capabilities and a lookup.
fn full_chart() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(
        "Chart.yaml",
        "apiVersion: v2\nname: demo\nversion: 2.0.0\nappVersion: \"3\"\ndependencies:\n- name: sub\n  version: 1.0.0\n  condition: sub.enabled\n",
    );
    write("values.yaml", "greeting: hello\nsub:\n  enabled: false\n");
    write(
        "templates/_helpers.tpl",
        "{{- define \"demo.labels\" -}}\nchart: {{ .Chart.Name }}-{{ .Chart.Version }}\n{{- end -}}\n",
    );
    write(
        "templates/cm.yaml",
        r#"apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-cm
  labels:
    {{- include "demo.labels" . | nindent 4 }}
data:
  greeting: {{ .Values.greeting | quote }}
  revision: {{ .Release.Revision | quote }}
  batch: {{ .Capabilities.APIVersions.Has "batch/v1/Job" | quote }}
  version: {{ .Capabilities.KubeVersion.Version | quote }}
  default: {{ (lookup "v1" "ServiceAccount" .Release.Namespace "default").metadata.name | quote }}
  missing: {{ empty (lookup "v1" "ConfigMap" .Release.Namespace "no-such") | quote }}
"#,
    );
    write(
        "templates/hook.yaml",
        r"apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-hook
  annotations:
    helm.sh/hook: pre-install,pre-upgrade
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: c
        image: example.test/c:1
",
    );
    write(
        "templates/NOTES.txt",
        "{{ .Values.greeting }}, {{ .Release.Name }}\n",
    );
    write(
        "charts/sub/Chart.yaml",
        "apiVersion: v2\nname: sub\nversion: 1.0.0\n",
    );
    write(
        "charts/sub/templates/cm.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: sub\n",
    );
    write("charts/sub/crds/broken.yaml", "not: a crd\n");
    folder
}

#[tokio::test]
async fn a_rendered_chart_gives_the_release_that_helm_gives() {
    use kubepkg_helm::{Chart, ChartLimits, Values};
    let folder = full_chart();
    let path = folder.path().to_str().unwrap();
    let chart =
        std::sync::Arc::new(Chart::load_dir(folder.path(), &ChartLimits::default()).unwrap());
    let ours = helm_of("kubepkg").await;
    let mine = plane().await.namespace("mine").await.unwrap();
    let theirs = plane().await.namespace("their").await.unwrap();
    helm(
        "helm",
        &[
            "install",
            "demo",
            path,
            "-n",
            &theirs,
            "--set",
            "greeting=hi",
        ],
    )
    .await;
    let values = || Values::from(serde_json::json!({"greeting": "hi"}));
    let mut request = install(&mine, ReleaseOptions::default());
    (request.chart, request.values) = (std::sync::Arc::clone(&chart), values());
    let outcome = ours.install(request).await.unwrap();
    assert!(outcome.succeeded(), "{:?}", outcome.failure);

    helm(
        "helm",
        &[
            "upgrade",
            "demo",
            path,
            "-n",
            &theirs,
            "--set",
            "greeting=hi",
        ],
    )
    .await;
    let mut request = upgrade(&mine, ReleaseOptions::default());
    (request.chart, request.values) = (chart, values());
    let outcome = ours.upgrade(request).await.unwrap();
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
    for revision in [1, 2] {
        let a = ours.get(&mine, "demo", Some(revision)).await.unwrap();
        let b = ours.get(&theirs, "demo", Some(revision)).await.unwrap();
        assert_eq!(a.manifest.replace(&mine, &theirs), b.manifest);
        assert_eq!((&a.config, &a.info.notes), (&b.config, &b.info.notes));
        assert_eq!(
            (&a.info.status, &a.info.description),
            (&b.info.status, &b.info.description)
        );
        assert_eq!(a.hooks[0].manifest, b.hooks[0].manifest);
        assert_eq!(without_times(&a.chart), without_times(&b.chart));
    }
    let object = live(&config_map_path(&mine, "demo-cm")).await.unwrap();
    assert_eq!(object["data"]["revision"], "2");
    assert_eq!(object["data"]["batch"], "true");
    assert_eq!(object["data"]["default"], "default");
    assert_eq!(object["data"]["missing"], "true");
}

/// Helm records when the files of a folder were written.
fn without_times(chart: &Value) -> Value {
    match chart {
        Value::Object(members) => members
            .iter()
            .filter(|(key, _)| !key.ends_with("modtime"))
            .map(|(key, value)| (key.clone(), without_times(value)))
            .collect(),
        Value::Array(items) => items.iter().map(without_times).collect(),
        other => other.clone(),
    }
}
