//! How many requests operations cost. Helm's own figures for the same objects are printed by
//! `helm_costs_more`, which measures the real one.

use super::charts::{config_map, five, install, rendered, upgrade};
use super::interop::ChartFolder;
use super::{create, helm_of, plane};
use kubepkg_helm::{
    Helm, HelmOptions, InstallRequest, ReleaseOptions, RollbackRequest, Unchanged, UninstallRequest,
};
use kubepkg_sandbox::Requests;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::Barrier;

async fn count<T>(user: &str, work: impl Future<Output = T>) -> (usize, Requests) {
    let plane = plane().await;
    let mark = plane.audit().mark().unwrap();
    work.await;
    let requests = plane.audit().since(mark).unwrap().by_user(user);
    (requests.count(), requests)
}

#[tokio::test]
async fn five_objects_cost_few_requests() {
    let namespace = plane().await.namespace("few").await.unwrap();
    // No other test uses this identity.
    let user = "operator";
    let helm = helm_of(user).await;
    helm.cluster().discovery().await.unwrap();
    let (installed, requests) = count(user, async {
        let request = install(&namespace, ReleaseOptions::default());
        let chart = rendered("1.0.0", &five("1"), vec![]);
        helm.begin_install_rendered(request, chart)
            .await
            .unwrap()
            .run()
            .await
            .unwrap();
    })
    .await;
    // One list of records, one record made, five objects, one record written.
    assert_eq!(installed, 8, "{:?}", requests.tally());
    let (looked, requests) = count(user, async {
        helm.latest(&namespace, "demo").await.unwrap();
    })
    .await;
    assert_eq!(looked, 1, "{:?}", requests.tally());
    let upgrade_to = async |value: &str, unchanged: Unchanged| {
        let options = ReleaseOptions {
            unchanged,
            ..ReleaseOptions::default()
        };
        let chart = rendered("1.1.0", &five(value), vec![]);
        let request = upgrade(&namespace, options);
        let mut operation = helm.begin_upgrade_rendered(request, chart).await.unwrap();
        operation.run().await.unwrap()
    };
    let (upgraded, requests) = count(user, upgrade_to("2", Unchanged::Compare)).await;
    // One list, one record read, one made, one object applied and four looked at, two records written.
    assert_eq!(upgraded, 10, "{:?}", requests.tally());
    assert_eq!(objects_written(&requests), 1, "{:?}", requests.tally());
    let (same, requests) = count(user, upgrade_to("2", Unchanged::Compare)).await;
    // One list, one record read, five objects looked at, one record made, one written.
    assert_eq!(same, 9, "{:?}", requests.tally());
    assert_eq!(objects_written(&requests), 0, "{:?}", requests.tally());
    let (trusted, requests) = count(user, upgrade_to("2", Unchanged::Trust)).await;
    // The same without looking at objects.
    assert_eq!(trusted, 4, "{:?}", requests.tally());
    assert_eq!(objects_written(&requests), 0, "{:?}", requests.tally());
    let (back, requests) = count(user, async {
        let request = RollbackRequest {
            name: "demo".to_owned(),
            namespace: namespace.clone(),
            to: Some(1),
            options: ReleaseOptions::default(),
        };
        helm.rollback(request).await.unwrap();
    })
    .await;
    // As an upgrade, and one record more that is read.
    assert_eq!(back, 11, "{:?}", requests.tally());
    let request = async || {
        let request = UninstallRequest::new(&namespace, "demo");
        assert!(helm.uninstall(request).await.unwrap().succeeded());
    };
    let (removed, requests) = count(user, request()).await;
    // One list, one record read and marked, five objects deleted, five records deleted.
    assert_eq!(removed, 13, "{:?}", requests.tally());

    // A release of one revision, as peers are measured.
    let chart = rendered("1.0.0", &five("1"), vec![]);
    let install = install(&namespace, ReleaseOptions::default());
    let operation = helm.begin_install_rendered(install, chart).await;
    operation.unwrap().run().await.unwrap();
    let (removed, requests) = count(user, request()).await;
    assert_eq!(removed, 9, "{:?}", requests.tally());
}

/// Gathers the writes of ConfigMaps: none goes on before this many are under way. Tells the order of all writes.
async fn gathering(together: usize) -> (Helm, Arc<Mutex<Vec<String>>>) {
    let inner = plane().await.client_as("kubepkg").unwrap();
    let gate = Arc::new(Barrier::new(together));
    let order = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&order);
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let (inner, gate, told) = (inner.clone(), Arc::clone(&gate), Arc::clone(&told));
        async move {
            let path = request.uri().path().to_owned();
            let writes = request.method() == http::Method::PATCH;
            if writes && path.contains("/configmaps/") {
                gate.wait().await;
            }
            let answer = inner.send(request).await.map_err(tower::BoxError::from);
            if writes {
                let kind = path.rsplit('/').nth(1).unwrap_or_default().to_owned();
                told.lock().unwrap().push(kind);
            }
            answer
        }
    });
    let client = kube::Client::new(service, "default");
    (Helm::new(client, HelmOptions::default()), order)
}

#[tokio::test]
async fn objects_of_one_kind_are_applied_together_and_kinds_in_helms_order() {
    let namespace = plane().await.namespace("together").await.unwrap();
    let mut objects: Vec<Value> = (0..8)
        .map(|number| config_map(&format!("c{number}"), "1"))
        .collect();
    let of_kind = |kind: &str, name: &str| json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name}});
    // Helm's order: ServiceAccount, Secret, ConfigMap, Service.
    let mut service = of_kind("Service", "s");
    service["spec"] = json!({"clusterIP": "None", "ports": [{"port": 80}]});
    objects.insert(0, of_kind("Secret", "x"));
    objects.insert(0, of_kind("ServiceAccount", "a"));
    objects.push(service);
    let (helm, order) = gathering(8).await;
    let chart = rendered("1.0.0", &objects, vec![]);
    let request = install(&namespace, ReleaseOptions::default());
    let mut operation = helm.begin_install_rendered(request, chart).await.unwrap();
    let done = tokio::time::timeout(Duration::from_mins(1), operation.run()).await;
    let outcome = done.expect("eight are under way at a time").unwrap();
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
    let order = order.lock().unwrap().clone();
    let expected = ["serviceaccounts", "secrets"]
        .into_iter()
        .chain(["configmaps"; 8])
        .chain(["services"]);
    assert_eq!(order, expected.collect::<Vec<_>>());
}

/// Helm that counts its requests for what the server serves.
async fn counting() -> (Helm, Arc<AtomicUsize>) {
    let inner = plane().await.client_as("kubepkg").unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        if ["/version", "/api", "/apis"].contains(&request.uri().path()) {
            counter.fetch_add(1, Ordering::SeqCst);
        }
        let inner = inner.clone();
        async move { inner.send(request).await.map_err(tower::BoxError::from) }
    });
    let client = kube::Client::new(service, "default");
    (Helm::new(client, HelmOptions::default()), asked)
}

#[tokio::test]
async fn discovery_is_asked_once_and_again_for_a_kind_that_it_lacks() {
    let plane = plane().await;
    let namespace = plane.namespace("kinds").await.unwrap();
    let (helm, asked) = counting().await;
    let install = async |name: &str, object: Value| {
        let request = InstallRequest {
            name: name.to_owned(),
            ..install(&namespace, ReleaseOptions::default())
        };
        let chart = rendered("1.0.0", &[object], vec![]);
        let mut operation = helm.begin_install_rendered(request, chart).await.ok()?;
        Some(operation.run().await.unwrap().succeeded())
    };
    for name in ["one", "two", "three"] {
        assert_eq!(install(name, config_map(name, "1")).await, Some(true));
    }
    assert_eq!(asked.load(Ordering::SeqCst), 3);

    // Somebody else brings a kind.
    let plural = plane.unique("kinds").replace('-', "");
    let kind = format!("K{plural}");
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.test")},
        "spec": {"group": "example.test", "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": format!("{plural}x")},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}}]}});
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    create(crds, &crd).await;
    let object = |name: &str| json!({"apiVersion": "example.test/v1", "kind": kind, "metadata": {"name": name}});
    let mut tries = 0;
    while install("four", object("four")).await != Some(true) {
        // A kind that the server does not list yet is refused before anything is written.
        tries += 1;
        assert!(tries < 300, "the kind is not listed");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let known = asked.load(Ordering::SeqCst);
    assert!(known > 3 && known.is_multiple_of(3), "{known}");
    assert_eq!(install("five", object("five")).await, Some(true));
    assert_eq!(asked.load(Ordering::SeqCst), known, "it is known now");
}

/// Requests that write anything but records.
fn objects_written(requests: &Requests) -> usize {
    requests
        .clone()
        .writes()
        .iter()
        .filter(|request| request.resource != "secrets")
        .count()
}

#[tokio::test]
async fn helm_costs_more() {
    let namespace = plane().await.namespace("more").await.unwrap();
    // No other test uses this identity.
    let user = "test";
    let folder = ChartFolder::new("1.0.0", &five("1"));
    let chart = folder.path().to_owned();
    let (installed, _) = count(user, async {
        super::interop::helm(user, &["install", "demo", &chart, "-n", &namespace]).await;
    })
    .await;
    folder.write("1.1.0", &five("2"));
    let (upgraded, _) = count(user, async {
        super::interop::helm(user, &["upgrade", "demo", &chart, "-n", &namespace]).await;
    })
    .await;
    let (unchanged, _) = count(user, async {
        super::interop::helm(user, &["upgrade", "demo", &chart, "-n", &namespace]).await;
    })
    .await;
    let (removed, _) = count(user, async {
        super::interop::helm(user, &["uninstall", "demo", "-n", &namespace]).await;
    })
    .await;
    println!(
        "helm: install {installed}, upgrade {upgraded}, unchanged {unchanged}, removal {removed}"
    );
    assert!(installed > 8 && upgraded > 10 && unchanged > 1 && removed > 15);
}
