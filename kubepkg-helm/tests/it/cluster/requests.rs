//! How many requests operations cost. Helm's own figures for the same objects are printed by
//! `helm_costs_more`, which measures the real one.

use super::charts::{five, install, rendered, upgrade};
use super::interop::ChartFolder;
use super::{helm_of, plane};
use kubepkg_helm::{ReleaseOptions, UninstallRequest};
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
    let (upgraded, requests) = count(user, async {
        let request = upgrade(&namespace, ReleaseOptions::default());
        let chart = rendered("1.1.0", &five("2"), vec![]);
        helm.begin_upgrade_rendered(request, chart)
            .await
            .unwrap()
            .run()
            .await
            .unwrap();
    })
    .await;
    // One list, one record read, one made, five objects, two records written.
    assert_eq!(upgraded, 10, "{:?}", requests.tally());
    let (removed, requests) = count(user, async {
        helm.uninstall(UninstallRequest::new(&namespace, "demo"))
            .await
            .unwrap();
    })
    .await;
    // One list, one record read and marked, five objects looked at and deleted, two records deleted.
    assert_eq!(removed, 15, "{:?}", requests.tally());
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
