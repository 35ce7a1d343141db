//! What hooks print. The pretend node of the sandbox has no logs to give, so the Pods of these tests are bound to a
//! node of their own, whose kubelet is a server in this process: the API server fetches logs from it as from any.

use super::charts::config_map;
use super::interop::ChartFolder;
use super::{helm_of, plane};
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kubepkg_helm::{
    Chart, ChartLimits, HookLog, InstallRequest, ReleaseOptions, TestRequest, Values,
};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// A node whose kubelet prints, for every container, which one it is.
struct LogNode {
    name: String,
    /// The paths that were asked for.
    asked: Arc<Mutex<Vec<String>>>,
}

impl LogNode {
    async fn start() -> Self {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["kubelet".to_owned()]).unwrap();
        let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
        let config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let paths = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, paths) = (acceptor.clone(), Arc::clone(&paths));
                tokio::spawn(async move {
                    let stream = acceptor.accept(stream).await.ok()?;
                    let mut stream = BufReader::new(stream);
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        if stream.read_until(b'\n', &mut head).await.ok()? == 0 {
                            return None;
                        }
                    }
                    let head = String::from_utf8(head).ok()?;
                    let path = head.split(' ').nth(1)?.to_owned();
                    let text = format!("this is {}\nwith two lines\n", container(&path));
                    paths.lock().unwrap().push(path.clone());
                    let answer = format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\
                         connection: close\r\n\r\n{text}",
                        text.len()
                    );
                    stream.write_all(answer.as_bytes()).await.ok()?;
                    stream.shutdown().await.ok()
                });
            }
        });
        let name = plane().await.unique("lognode");
        let nodes: Api<Node> = Api::all(plane().await.client().unwrap());
        // The taint keeps away the Pods of others, not those that name the node.
        let node = json!({"metadata": {"name": name},
            "spec": {"taints": [{"key": "logs", "effect": "NoSchedule"}]}});
        let node = serde_json::from_value(node).unwrap();
        nodes.create(&PostParams::default(), &node).await.unwrap();
        let status = json!({"status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }});
        nodes
            .patch_status(&name, &PatchParams::default(), &Patch::Merge(status))
            .await
            .unwrap();
        Self { name, asked }
    }

    async fn end(self) {
        let nodes: Api<Node> = Api::all(plane().await.client().unwrap());
        let delete = DeleteParams::default();
        nodes.delete(&self.name, &delete).await.unwrap();
    }

    /// The paths that were asked for since the last call.
    fn take_asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    fn spec(&self, containers: &[&str]) -> Value {
        let containers: Vec<Value> = containers
            .iter()
            .map(|name| json!({"name": name, "image": "example.test/c:1"}))
            .collect();
        json!({"nodeName": self.name, "restartPolicy": "Never", "containers": containers})
    }

    fn pod(&self, name: &str, event: &str, policy: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "annotations": annotations(event, policy)},
            "spec": self.spec(&[name])})
    }

    fn job(&self, name: &str, policy: &str, fate: &str, containers: &[&str]) -> Value {
        json!({"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": name, "annotations": annotations("pre-install", policy)},
            "spec": {"backoffLimit": 0, "template": {
                "metadata": {"annotations": {"sandbox.kubepkg.dev/fate": fate}},
                "spec": self.spec(containers)}}})
    }
}

fn annotations(event: &str, policy: &str) -> Value {
    let mut annotations = json!({"helm.sh/hook": event});
    if !policy.is_empty() {
        annotations["helm.sh/hook-output-log-policy"] = json!(policy);
    }
    annotations
}

fn request(namespace: &str, chart: &ChartFolder) -> InstallRequest {
    let chart = Chart::load_dir(chart.path().as_ref(), &ChartLimits::default()).unwrap();
    InstallRequest {
        name: "demo".to_owned(),
        namespace: namespace.to_owned(),
        chart: chart.into(),
        values: Values::default(),
        options: ReleaseOptions::default(),
    }
}

/// Hook, container and text of logs.
fn told(logs: &[HookLog]) -> Vec<(&str, &str, &str)> {
    logs.iter()
        .map(|log| (&*log.hook, &*log.container, &*log.text))
        .collect()
}

/// Whose logs the real helm fetches while it installs. Its program throws them away (the writer that it sets is replaced
/// when its configuration is initialised), so what is compared is whom it asks.
async fn asked_by_helm(node: &LogNode, chart: &ChartFolder, succeeds: bool) -> Vec<String> {
    let namespace = plane().await.namespace("logshelm").await.unwrap();
    let mut command = plane().await.command("helm", "helm").unwrap();
    command.args(["install", "demo", chart.path(), "-n", &namespace]);
    let output = tokio::task::spawn_blocking(move || command.output()).await;
    let output = output.unwrap().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.success(), succeeds, "{text}");
    // Helm asks when all hooks of an event are done, from the last to the first.
    let mut asked: Vec<String> = node.take_asked().iter().map(container).collect();
    asked.sort();
    asked
}

/// The container of `/containerLogs/NAMESPACE/POD/CONTAINER?...`, as a kubelet has it.
fn container(path: impl AsRef<str>) -> String {
    let path = path.as_ref().split('?').next().unwrap_or_default();
    path.rsplit('/').next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn hooks_that_ask_for_it_have_their_output_in_the_outcome() {
    let node = LogNode::start().await;
    let helm = helm_of("kubepkg").await;
    let good = [
        config_map("a", "1"),
        node.pod("always", "pre-install", "hook-succeeded,hook-failed"),
        node.job("quiet", "hook-failed", "run", &["quiet"]),
        node.job("two", "hook-succeeded", "run", &["left", "right"]),
        node.pod("silent", "pre-install", ""),
    ];
    let chart = ChartFolder::new("1.0.0", &good);
    let namespace = plane().await.namespace("logs").await.unwrap();
    let outcome = helm.install(request(&namespace, &chart)).await.unwrap();
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
    let line = |name: &str| format!("this is {name}\nwith two lines\n");
    assert_eq!(
        told(&outcome.logs),
        [
            ("always", "always", &*line("always")),
            ("two", "left", &*line("left")),
            ("two", "right", &*line("right")),
        ],
        "{:?}",
        outcome.warnings
    );
    assert_eq!(outcome.logs[0].pod, "always");
    assert_eq!(outcome.logs[0].namespace, namespace);
    // The kubelet is asked for no more than is kept.
    let asked = node.take_asked();
    assert!(
        asked.iter().all(|path| path.contains("limitBytes=65536")),
        "{asked:?}"
    );
    assert_eq!(
        asked_by_helm(&node, &chart, true).await,
        ["always", "left", "right"]
    );
    node.end().await;
}

#[tokio::test]
async fn a_hook_that_failed_shows_why_in_its_output() {
    let node = LogNode::start().await;
    let helm = helm_of("kubepkg").await;
    let bad = [
        node.job("bad", "hook-failed", "fail", &["bad"]),
        node.pod("after", "post-install", "hook-succeeded"),
    ];
    let chart = ChartFolder::new("1.0.0", &bad);
    let namespace = plane().await.namespace("badlogs").await.unwrap();
    let outcome = helm.install(request(&namespace, &chart)).await.unwrap();
    assert!(!outcome.succeeded());
    let line = "this is bad\nwith two lines\n";
    assert_eq!(told(&outcome.logs), [("bad", "bad", line)]);
    assert_eq!(node.take_asked().len(), 1);
    assert_eq!(asked_by_helm(&node, &chart, false).await, ["bad"]);
    node.end().await;
}

#[tokio::test]
async fn tests_have_their_output_in_the_outcome_when_the_caller_asks() {
    let node = LogNode::start().await;
    let helm = helm_of("kubepkg").await;
    let chart = ChartFolder::new("1.0.0", &[node.pod("probe", "test", "")]);
    let namespace = plane().await.namespace("testlogs").await.unwrap();
    helm.install(request(&namespace, &chart)).await.unwrap();
    for logs in [true, false] {
        let request = TestRequest {
            logs,
            ..TestRequest::new(&namespace, "demo")
        };
        let outcome = helm.test(request).await.unwrap();
        assert!(outcome.succeeded(), "{:?}", outcome.failure);
        let line = "this is probe\nwith two lines\n";
        let expected = if logs {
            vec![("probe", "probe", line)]
        } else {
            Vec::new()
        };
        assert_eq!(told(&outcome.logs), expected, "{:?}", outcome.warnings);
    }
    node.end().await;
}
