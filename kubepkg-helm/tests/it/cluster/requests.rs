//! How many requests operations cost. Helm's own figures for the same objects are printed by
//! `helm_costs_more`, which measures the real one.

use super::charts::{five, install, rendered, upgrade};
use super::interop::ChartFolder;
use super::{helm_of, plane};
use kubepkg_helm::{ReleaseOptions, RollbackRequest, Unchanged, UninstallRequest};
use kubepkg_sandbox::Requests;

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
