//! A namespace, a chart server and a backend, and what is done with them again and again.

use std::collections::BTreeMap;
use std::process::Output;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::Api;
use kubepkg_api::{ChartRef, Digest, chain};
use kubepkg_backend::{
    Backend, BackendError, ChartSource, Component, HelmBackend, HelmBackendOptions, Outcome,
    Placement, Target, UpgradeCrds,
};
use kubepkg_sandbox::{ChartServer, ControlPlane, Mark, Requests};
use kubepkg_source::{Charts, SourceOptions};
use serde_json::{Value, json};

/// The user that the backend is in the audit log.
const USER: &str = "kubepkg";

pub(crate) struct Stage {
    pub(crate) plane: &'static ControlPlane,
    pub(crate) namespace: String,
    pub(crate) server: ChartServer,
    pub(crate) backend: HelmBackend,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        let plane = ControlPlane::shared().await.unwrap();
        let namespace = plane.namespace("backend").await.unwrap();
        let server = crate::charts::server();
        let backend = backend(plane);
        Self {
            plane,
            namespace,
            server,
            backend,
        }
    }

    /// A backend as another process would have it: it remembers nothing.
    pub(crate) fn restarted(&self) -> HelmBackend {
        backend(self.plane)
    }

    pub(crate) fn chart(&self, name: &str, version: &str) -> (ChartSource, Digest) {
        let reference = ChartRef {
            repository: self.server.registry_url(),
            name: name.into(),
            version: version.into(),
            ..ChartRef::default()
        };
        let digest = self.server.digest(name, version).unwrap();
        (
            ChartSource::Published(reference),
            Digest::new(&digest).unwrap(),
        )
    }

    pub(crate) fn target(&self, revision: u64) -> Target {
        Target {
            package: "shop".into(),
            uid: format!("{}-uid", self.namespace),
            component: "web".into(),
            placement: Placement {
                namespace: self.namespace.clone(),
                release: "web".into(),
            },
            revision,
            timeout: Duration::from_mins(2),
            keep_crds: true,
        }
    }

    /// The component of package revision `revision`: a version of `web` with values.
    pub(crate) fn component(&self, revision: u64, version: &str, values: Value) -> Component {
        self.component_of("web", revision, version, values)
    }

    pub(crate) fn component_of(
        &self,
        name: &str,
        revision: u64,
        version: &str,
        values: Value,
    ) -> Component {
        let (chart, chart_digest) = self.chart(name, version);
        Component {
            target: self.target(revision),
            chart,
            chart_digest,
            values: serde_json::from_value(values).unwrap(),
            labels: BTreeMap::new(),
            upgrade_crds: UpgradeCrds::Skip,
            adopt: false,
            history: 20,
        }
    }

    /// Applies until it settles.
    pub(crate) async fn apply(&self, component: &Component) -> Outcome {
        settle(|| self.backend.apply(component)).await
    }

    pub(crate) async fn installed(&self) -> u64 {
        ready(&self.apply(&self.component(1, "1.0.0", json!({}))).await)
    }

    pub(crate) async fn config(&self) -> Option<BTreeMap<String, String>> {
        let api: Api<ConfigMap> = Api::namespaced(self.plane.client().unwrap(), &self.namespace);
        api.get_opt("web")
            .await
            .unwrap()
            .map(|config| config.data.unwrap_or_default())
    }

    /// What the backend asked of the server in this namespace.
    pub(crate) fn requests_since(&self, mark: Mark) -> Requests {
        let requests = self.plane.audit().since(mark).unwrap();
        requests.by_user(USER).in_namespace(&self.namespace)
    }

    pub(crate) fn helm(&self, arguments: &[&str]) -> Output {
        let mut command = self.plane.command("helm", "helm").unwrap();
        command
            .args(arguments)
            .args(["--namespace", &self.namespace])
            .output()
            .unwrap()
    }

    /// What real Helm says, as JSON.
    pub(crate) fn helm_json(&self, arguments: &[&str]) -> Value {
        let output = self.helm(&[arguments, &["-o", "json"]].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "helm {arguments:?}: {error}");
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Revision and status of every record, as real Helm tells them.
    pub(crate) fn history(&self) -> Vec<(u64, String)> {
        let rows = self.helm_json(&["history", "web"]);
        let row = |row: &Value| {
            (
                row["revision"].as_u64().unwrap(),
                row["status"].as_str().unwrap().to_owned(),
            )
        };
        rows.as_array().unwrap().iter().map(row).collect()
    }
}

fn backend(plane: &ControlPlane) -> HelmBackend {
    let mut options = SourceOptions::default();
    options.limits.retry.attempts = 1;
    let charts = Arc::new(Charts::new(options).unwrap());
    HelmBackend::new(
        plane.client_as(USER).unwrap(),
        charts,
        HelmBackendOptions::default(),
    )
}

/// Calls until the answer is not to wait.
pub(crate) async fn settle<F: Future<Output = Result<Outcome, BackendError>>>(
    mut call: impl FnMut() -> F,
) -> Outcome {
    let mut last = None;
    for _ in 0..600 {
        match call().await {
            Ok(Outcome::Waiting {
                message,
                check_after,
            }) => {
                tokio::time::sleep(check_after.min(Duration::from_millis(200))).await;
                last = Some(message);
            }
            Ok(outcome) => return outcome,
            Err(error) if error.is_transient() => {
                last = Some(chain(&error));
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
            Err(error) => panic!("{}", chain(&error)),
        }
    }
    panic!("still waiting: {last:?}");
}

/// The backend's revision of a settled release.
pub(crate) fn ready(outcome: &Outcome) -> u64 {
    match outcome {
        Outcome::Ready { revision } => *revision,
        other => panic!("not ready: {other:?}"),
    }
}

/// The message of an answer to wait.
pub(crate) fn waiting(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Waiting { message, .. } => message,
        other => panic!("not waiting: {other:?}"),
    }
}
