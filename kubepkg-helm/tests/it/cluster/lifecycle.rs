use super::charts::{config_map, five, install, rendered, upgrade};
use super::{config_map_path, helm_of, live, plane};
use kubepkg_helm::{
    KeptBecause, NamespaceSpec, ReleaseOptions, ReleaseStatus, RollbackRequest, UninstallRequest,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn kept(name: &str) -> Value {
    let mut object = config_map(name, "kept");
    object["metadata"]["annotations"] = json!({"helm.sh/resource-policy": "keep"});
    object
}

#[tokio::test]
async fn a_release_lives_from_install_to_removal() {
    let namespace = plane().await.namespace("life").await.unwrap();
    let helm = helm_of("kubepkg").await;
    let options = ReleaseOptions {
        labels: BTreeMap::from([("team".to_owned(), "x".to_owned())]),
        ..ReleaseOptions::default()
    };
    let first = rendered(
        "1.0.0",
        &[config_map("a", "1"), config_map("b", "1"), kept("c")],
        vec![],
    );
    let mut operation = helm
        .begin_install_rendered(install(&namespace, options), first)
        .await
        .unwrap();
    let outcome = operation.run().await.unwrap();
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
    assert_eq!(outcome.release.info.description, "Install complete");
    let object = live(&config_map_path(&namespace, "a")).await.unwrap();
    assert_eq!(
        object["metadata"]["labels"]["app.kubernetes.io/managed-by"],
        "Helm"
    );
    assert_eq!(
        object["metadata"]["annotations"]["meta.helm.sh/release-name"],
        "demo"
    );
    assert_eq!(object["metadata"]["managedFields"][0]["manager"], "helm");
    assert_eq!(object["metadata"]["managedFields"][0]["operation"], "Apply");

    // The second revision changes a, drops b and c (which asks to be kept) and adds d.
    let second = rendered(
        "1.1.0",
        &[config_map("a", "2"), config_map("d", "1")],
        vec![],
    );
    let request = upgrade(&namespace, ReleaseOptions::default());
    let outcome = helm
        .begin_upgrade_rendered(request, second)
        .await
        .unwrap()
        .run()
        .await
        .unwrap();
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
    assert_eq!(outcome.release.info.description, "Upgrade complete");
    assert_eq!(
        outcome.release.labels.get("team").map(String::as_str),
        Some("x")
    );
    assert_eq!(
        live(&config_map_path(&namespace, "a")).await.unwrap()["data"]["k"],
        "2"
    );
    assert!(live(&config_map_path(&namespace, "b")).await.is_none());
    assert!(live(&config_map_path(&namespace, "c")).await.is_some());
    assert!(live(&config_map_path(&namespace, "d")).await.is_some());
    assert_eq!(
        outcome
            .kept
            .iter()
            .map(|kept| (kept.name.as_str(), kept.because))
            .collect::<Vec<_>>(),
        [("c", KeptBecause::Policy)]
    );

    let request = RollbackRequest {
        name: "demo".to_owned(),
        namespace: namespace.clone(),
        to: Some(1),
        options: ReleaseOptions::default(),
    };
    let outcome = helm.rollback(request).await.unwrap();
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
    assert_eq!(outcome.release.info.description, "Rollback to 1");
    assert_eq!(
        live(&config_map_path(&namespace, "a")).await.unwrap()["data"]["k"],
        "1"
    );
    assert!(live(&config_map_path(&namespace, "b")).await.is_some());
    assert!(live(&config_map_path(&namespace, "d")).await.is_none());
    let history = helm.history(&namespace, "demo").await.unwrap();
    let told: Vec<(u32, &str)> = history
        .iter()
        .map(|head| (head.revision, head.status.as_str()))
        .collect();
    assert_eq!(
        told,
        [(1, "superseded"), (2, "superseded"), (3, "deployed")]
    );
    assert!(history.iter().all(|head| head.progress.is_none()));

    let mut request = UninstallRequest::new(&namespace, "demo");
    request.wait = true;
    let outcome = helm.uninstall(request).await.unwrap();
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
    assert!(live(&config_map_path(&namespace, "a")).await.is_none());
    assert!(live(&config_map_path(&namespace, "c")).await.is_some());
    assert!(helm.latest(&namespace, "demo").await.unwrap().is_none());
}

#[tokio::test]
async fn a_removal_can_keep_the_history() {
    let namespace = plane().await.namespace("history").await.unwrap();
    let helm = helm_of("kubepkg").await;
    let first = rendered("1.0.0", &five("1"), vec![]);
    let request = install(&namespace, ReleaseOptions::default());
    helm.begin_install_rendered(request, first)
        .await
        .unwrap()
        .run()
        .await
        .unwrap();
    let mut request = UninstallRequest::new(&namespace, "demo");
    request.keep_history = true;
    let outcome = helm.uninstall(request).await.unwrap();
    assert!(outcome.succeeded());
    let release = helm.status(&namespace, "demo").await.unwrap();
    assert_eq!(release.info.status, ReleaseStatus::Uninstalled);
    assert_eq!(release.info.description, "Uninstallation complete");
    assert!(live(&config_map_path(&namespace, "five")).await.is_none());
}

#[tokio::test]
async fn history_is_bounded_and_keeps_the_deployed_revision() {
    let namespace = plane().await.namespace("bound").await.unwrap();
    let helm = helm_of("kubepkg").await;
    let request = install(&namespace, ReleaseOptions::default());
    let first = rendered("1.0.0", &[config_map("a", "1")], vec![]);
    helm.begin_install_rendered(request, first)
        .await
        .unwrap()
        .run()
        .await
        .unwrap();
    for round in 2..6 {
        let options = ReleaseOptions {
            max_history: 3,
            ..ReleaseOptions::default()
        };
        let next = rendered("1.0.0", &[config_map("a", &round.to_string())], vec![]);
        let request = upgrade(&namespace, options);
        helm.begin_upgrade_rendered(request, next)
            .await
            .unwrap()
            .run()
            .await
            .unwrap();
    }
    let history = helm.history(&namespace, "demo").await.unwrap();
    assert_eq!(
        history.iter().map(|head| head.revision).collect::<Vec<_>>(),
        [3, 4, 5]
    );
}

#[tokio::test]
async fn an_install_makes_its_namespace_and_leaves_one_that_exists() {
    let namespace = plane().await.unique("made");
    let helm = helm_of("kubepkg").await;
    let spec = NamespaceSpec {
        labels: BTreeMap::from([("tier".to_owned(), "one".to_owned())]),
        annotations: BTreeMap::new(),
    };
    let options = ReleaseOptions {
        create_namespace: Some(spec),
        ..ReleaseOptions::default()
    };
    let first = rendered("1.0.0", &[config_map("a", "1")], vec![]);
    let request = install(&namespace, options);
    let outcome = helm
        .begin_install_rendered(request, first)
        .await
        .unwrap()
        .run()
        .await
        .unwrap();
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
    let made = live(&format!("/api/v1/namespaces/{namespace}"))
        .await
        .unwrap();
    assert_eq!(made["metadata"]["labels"]["tier"], "one");
    assert_eq!(made["metadata"]["labels"]["name"], json!(namespace));
}

#[tokio::test]
async fn crds_come_before_their_objects_and_are_replaced_only_when_asked() {
    let plane = plane().await;
    let namespace = plane.namespace("crds").await.unwrap();
    let plural = plane.unique("widgets").replace('-', "");
    let kind = format!("W{plural}");
    let helm = helm_of("kubepkg").await;
    let crd = |note: &str| {
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.example.test"), "annotations": {"note": note}},
            "spec": {"group": "example.test", "scope": "Namespaced",
                "names": {"kind": kind, "plural": plural, "singular": format!("{plural}x")},
                "versions": [{"name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object",
                        "x-kubernetes-preserve-unknown-fields": true}}}]}})
    };
    let file = |note: &str| kubepkg_helm::CrdFile {
        path: "demo/crds/w.yaml".to_owned(),
        data: crd(note).to_string().into_bytes().into(),
    };
    let object =
        json!({"apiVersion": "example.test/v1", "kind": kind, "metadata": {"name": "one"}});
    let mut first = rendered("1.0.0", std::slice::from_ref(&object), vec![]);
    first.crds = vec![file("old")];
    let request = install(&namespace, ReleaseOptions::default());
    let outcome = helm
        .begin_install_rendered(request, first.clone())
        .await
        .unwrap()
        .run()
        .await
        .unwrap();
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
    let path =
        format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.example.test");
    assert_eq!(
        live(&path).await.unwrap()["metadata"]["annotations"]["note"],
        "old"
    );
    // An upgrade brings a CRD that the cluster lacks, and another state of the one that it has.
    let mut added = crd("added");
    added["metadata"]["name"] = json!(format!("{plural}b.example.test"));
    added["spec"]["names"] = json!({"kind": format!("{kind}b"), "plural": format!("{plural}b"),
        "singular": format!("{plural}bx")});
    let added = kubepkg_helm::CrdFile {
        path: "demo/crds/b.yaml".to_owned(),
        data: added.to_string().into_bytes().into(),
    };
    let added_path = path.replace(&plural, &format!("{plural}b"));
    for (policy, note, brings) in [
        (None, "old", false),
        (Some(kubepkg_helm::CrdPolicy::Create), "old", true),
        (Some(kubepkg_helm::CrdPolicy::CreateReplace), "new", true),
    ] {
        let mut next = first.clone();
        next.crds = vec![file("new"), added.clone()];
        let options = ReleaseOptions {
            crds: policy,
            ..ReleaseOptions::default()
        };
        let request = upgrade(&namespace, options);
        let outcome = helm
            .begin_upgrade_rendered(request, next)
            .await
            .unwrap()
            .run()
            .await
            .unwrap();
        assert!(outcome.succeeded(), "{:?}", outcome.failure);
        assert_eq!(
            live(&path).await.unwrap()["metadata"]["annotations"]["note"],
            note
        );
        assert_eq!(live(&added_path).await.is_some(), brings, "{policy:?}");
    }
    // The CRD outlives the release.
    helm.uninstall(UninstallRequest::new(&namespace, "demo"))
        .await
        .unwrap();
    assert!(live(&path).await.is_some());
}
