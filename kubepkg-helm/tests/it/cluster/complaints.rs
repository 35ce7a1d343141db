//! What people have complained about in public, each as a rule.

use super::charts::{config_map, install, rendered, upgrade};
use super::interop::ChartFolder;
use super::twins::{By, Choice, Step, World, assert_same};
use super::{config_map_path, create, helm_of, live, plane};
use kubepkg_helm::{
    ChartFile, ConfigMaps, Helm, HelmOptions, KeptBecause, Memory, OperationError, Outcome,
    RecordError, RecordLimits, ReleaseOptions, ReleaseStatus, Rendered, UninstallRequest,
};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

async fn installed(helm: &Helm, namespace: &str, chart: Rendered) -> Outcome {
    let request = install(namespace, ReleaseOptions::default());
    let mut operation = helm.begin_install_rendered(request, chart).await.unwrap();
    let outcome = operation.run().await.unwrap();
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
    outcome
}

async fn upgraded(
    helm: &Helm,
    namespace: &str,
    chart: Rendered,
    options: ReleaseOptions,
) -> Outcome {
    let request = upgrade(namespace, options);
    let mut operation = helm.begin_upgrade_rendered(request, chart).await.unwrap();
    let outcome = operation.run().await.unwrap();
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
    outcome
}

async fn request(method: &str, path: &str, kind: &str, body: Value) {
    let client = plane().await.client().unwrap();
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", kind)
        .body(if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        })
        .unwrap();
    client.request::<Value>(request).await.unwrap();
}

#[tokio::test]
async fn a_rollback_meets_objects_that_were_kept_or_made_anew() {
    let mut kept = config_map("k", "1");
    kept["metadata"]["annotations"] = json!({"helm.sh/resource-policy": "keep"});
    let first = ChartFolder::new("1.0.0", &[config_map("a", "1"), kept]);
    let second = ChartFolder::new("1.1.0", &[config_map("a", "2")]);
    for remade in [None, Some("1"), Some("theirs")] {
        let (theirs, ours) = tokio::join!(World::new("kept"), World::new("kept"));
        let mut said = Vec::new();
        for (world, by) in [(&theirs, By::Helm), (&ours, By::Ours)] {
            let install = Step::Install(Choice::default());
            assert_eq!(world.perform(by, &install, &first).await, "ok");
            let upgrade = Step::Upgrade(Choice::default());
            assert_eq!(world.perform(by, &upgrade, &second).await, "ok");
            let path = config_map_path(&world.namespace, "k");
            assert!(live(&path).await.is_some());
            if let Some(value) = remade {
                request("DELETE", &path, "application/json", Value::Null).await;
                let collection = path.trim_end_matches("/k");
                create(collection, &config_map("k", value)).await;
            }
            let back = Step::Rollback(1, Choice::default());
            said.push(world.perform(by, &back, &first).await);
        }
        assert_eq!(said[0], said[1], "{remade:?}");
        let when = format!("remade {remade:?}");
        let (mut theirs, mut ours) = (theirs.snapshot().await, ours.snapshot().await);
        if said[0] != "ok" {
            // After a rollback that failed, Helm has no deployed revision any more; ours stays what it is.
            assert_eq!(theirs["records"][1]["status"], "superseded");
            assert_eq!(ours["records"][1]["status"], "deployed");
            for seen in [&mut theirs, &mut ours] {
                seen["records"][1]["status"] = Value::Null;
            }
        }
        assert_same(&theirs, &ours, &when);
    }
}

#[tokio::test]
async fn a_crd_that_moves_from_the_templates_to_crds_survives_with_its_objects() {
    let plane = plane().await;
    let namespace = plane.namespace("moved").await.unwrap();
    let plural = plane.unique("moveds").replace('-', "");
    let kind = format!("M{plural}");
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.test")},
        "spec": {"group": "example.test", "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": format!("{plural}x")},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object",
                    "x-kubernetes-preserve-unknown-fields": true}}}]}});
    let helm = helm_of("kubepkg").await;
    installed(
        &helm,
        &namespace,
        rendered("1.0.0", std::slice::from_ref(&crd), vec![]),
    )
    .await;
    let collection = format!("/apis/example.test/v1/namespaces/{namespace}/{plural}");
    while live(&collection).await.is_none() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let object =
        json!({"apiVersion": "example.test/v1", "kind": kind, "metadata": {"name": "one"}});
    create(&collection, &object).await;
    let path =
        format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.example.test");
    let uids = async || {
        let (crd, one) = (live(&path).await, live(&format!("{collection}/one")).await);
        (
            crd.unwrap()["metadata"]["uid"].clone(),
            one.unwrap()["metadata"]["uid"].clone(),
        )
    };
    let before = uids().await;
    let mut next = rendered("1.1.0", &[config_map("a", "1")], vec![]);
    next.crds = vec![kubepkg_helm::CrdFile {
        path: "demo/crds/m.yaml".to_owned(),
        data: crd.to_string().into_bytes().into(),
    }];
    let outcome = upgraded(&helm, &namespace, next, ReleaseOptions::default()).await;
    assert_eq!(outcome.kept[0].because, KeptBecause::Shipped);
    assert_eq!(uids().await, before);
    helm.uninstall(UninstallRequest::new(&namespace, "demo"))
        .await
        .unwrap();
    assert_eq!(uids().await, before);
}

#[tokio::test]
async fn an_object_whose_api_version_alone_changed_is_not_made_anew() {
    let namespace = plane().await.namespace("version").await.unwrap();
    let scaler = |version: &str, more: Value| {
        let mut object = json!({"apiVersion": format!("autoscaling/{version}"),
            "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"},
            "spec": {"maxReplicas": 3, "scaleTargetRef":
                {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
        object["spec"]
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        object
    };
    let helm = helm_of("kubepkg").await;
    let old = scaler("v1", json!({"targetCPUUtilizationPercentage": 50}));
    installed(&helm, &namespace, rendered("1.0.0", &[old], vec![])).await;
    let path = format!("/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers/h");
    let before = live(&path).await.unwrap();
    let new = scaler(
        "v2",
        json!({"metrics": [{"type": "Resource", "resource":
        {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}]}),
    );
    let options = ReleaseOptions {
        force_conflicts: true,
        ..ReleaseOptions::default()
    };
    upgraded(
        &helm,
        &namespace,
        rendered("1.1.0", &[new], vec![]),
        options,
    )
    .await;
    let after = live(&path).await.unwrap();
    assert_eq!(before["metadata"]["uid"], after["metadata"]["uid"]);
    assert_eq!(
        after["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"],
        60
    );
}

#[tokio::test]
async fn a_forced_upgrade_does_not_rewrite_what_did_not_change() {
    let namespace = plane().await.namespace("forced").await.unwrap();
    let helm = helm_of("kubepkg").await;
    let chart = || {
        rendered(
            "1.0.0",
            &[
                config_map("a", "1"),
                super::charts::deployment("web", "run"),
            ],
            vec![],
        )
    };
    installed(&helm, &namespace, chart()).await;
    let path = config_map_path(&namespace, "a");
    let before = live(&path).await.unwrap();
    let options = ReleaseOptions {
        force_conflicts: true,
        ..ReleaseOptions::default()
    };
    let outcome = upgraded(&helm, &namespace, chart(), options).await;
    assert_eq!(outcome.unchanged, 2);
    assert_eq!(live(&path).await.unwrap(), before);
}

#[tokio::test]
async fn fields_that_our_own_manager_once_wrote_by_updates_are_no_conflict() {
    let namespace = plane().await.namespace("own").await.unwrap();
    let helm = helm_of("kubepkg").await;
    installed(
        &helm,
        &namespace,
        rendered("1.0.0", &[config_map("a", "1")], vec![]),
    )
    .await;
    let path = config_map_path(&namespace, "a");
    let body = json!({"data": {"k": "by an update"}});
    request(
        "PATCH",
        &format!("{path}?fieldManager=helm"),
        "application/merge-patch+json",
        body,
    )
    .await;
    let chart = rendered("1.1.0", &[config_map("a", "2")], vec![]);
    upgraded(&helm, &namespace, chart, ReleaseOptions::default()).await;
    assert_eq!(live(&path).await.unwrap()["data"]["k"], "2");
}

/// Text that does not pack: four bits a byte.
fn noise(bytes: usize, seed: u64) -> String {
    let mut state = seed | 1;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from_digit(u32::try_from(state % 16).unwrap(), 16).unwrap()
    };
    (0..bytes).map(next).collect()
}

#[tokio::test]
async fn three_megabytes_of_manifests_are_installed_and_more_than_fits_is_refused_before_anything_is_done()
 {
    let plane = plane().await;
    let namespace = plane.namespace("large").await.unwrap();
    let helm = helm_of("kubepkg").await;
    let maps = |text: &dyn Fn(usize) -> String| -> Vec<Value> {
        (0..30)
            .map(|index| config_map(&format!("m{index}"), &text(index)))
            .collect()
    };
    let plain = maps(&|index| format!("line {index}\n").repeat(12_000));
    assert!(plain.iter().map(|map| map.to_string().len()).sum::<usize>() > 3_000_000);
    installed(&helm, &namespace, rendered("1.0.0", &plain, vec![])).await;

    let random = maps(&|index| noise(100_000, u64::try_from(index).unwrap() + 77));
    let mut request = install(&namespace, ReleaseOptions::default());
    "other".clone_into(&mut request.name);
    request.namespace = plane.unique("unmade");
    let refused = helm
        .begin_install_rendered(request.clone(), rendered("1.0.0", &random, vec![]))
        .await
        .unwrap_err();
    let OperationError::Record(RecordError::TooLarge {
        bytes,
        limit,
        parts,
    }) = &refused
    else {
        panic!("{refused:?}")
    };
    assert!(bytes > limit && *limit <= 1 << 20);
    assert_eq!(parts[0].part, "manifest");
    assert!(parts[0].bytes > 3_000_000);
    assert!(refused.to_string().contains("manifest 3"), "{refused}");
    assert!(
        live(&format!("/api/v1/namespaces/{}", request.namespace))
            .await
            .is_none()
    );
}

#[tokio::test]
async fn a_record_fits_without_the_files_of_its_chart_and_helm_rolls_back_to_it() {
    let namespace = plane().await.namespace("trim").await.unwrap();
    let helm = helm_of("kubepkg").await;
    let mut chart = rendered("1.0.0", &[config_map("a", "1")], vec![]);
    chart.chart.files = vec![ChartFile {
        name: "dashboards/big.json".to_owned(),
        data: noise(2_500_000, 5).into_bytes().into(),
        modified: None,
    }];
    let outcome = installed(&helm, &namespace, chart).await;
    assert!(
        outcome.warnings[0].contains("chart files are left out"),
        "{:?}",
        outcome.warnings
    );
    let chart = rendered("1.1.0", &[config_map("a", "2")], vec![]);
    upgraded(&helm, &namespace, chart, ReleaseOptions::default()).await;
    super::interop::helm("helm", &["rollback", "demo", "1", "-n", &namespace]).await;
    assert_eq!(
        live(&config_map_path(&namespace, "a")).await.unwrap()["data"]["k"],
        "1"
    );
}

#[tokio::test]
async fn records_in_config_maps_are_shared_with_helm() {
    let plane = plane().await;
    let namespace = plane.namespace("maps").await.unwrap();
    let client = plane.client_as("kubepkg").unwrap();
    let cluster = Arc::new(kubepkg_helm::Cluster::new(client, None));
    let storage = ConfigMaps::new(Arc::clone(&cluster), RecordLimits::default(), "helm");
    let helm = Helm::with_storage(cluster, Arc::new(storage), HelmOptions::default());
    installed(
        &helm,
        &namespace,
        rendered("1.0.0", &[config_map("a", "1")], vec![]),
    )
    .await;
    let folder = ChartFolder::new("1.1.0", &[config_map("a", "2")]);
    for arguments in [
        ["upgrade", "demo", folder.path()].as_slice(),
        ["rollback", "demo", "1"].as_slice(),
    ] {
        let mut command = plane.command("helm", "helm").unwrap();
        command
            .env("HELM_DRIVER", "configmap")
            .args(arguments)
            .args(["-n", &namespace]);
        let output = tokio::task::spawn_blocking(move || command.output())
            .await
            .unwrap()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let history = helm.history(&namespace, "demo").await.unwrap();
    let told: Vec<&str> = history.iter().map(|head| head.status.as_str()).collect();
    assert_eq!(told, ["superseded", "superseded", "deployed"]);
    let outcome = helm
        .uninstall(UninstallRequest::new(&namespace, "demo"))
        .await
        .unwrap();
    assert!(outcome.succeeded());
    assert!(
        live(&config_map_path(&namespace, "sh.helm.release.v1.demo.v1"))
            .await
            .is_none()
    );
}

#[tokio::test]
async fn records_in_memory_leave_nothing_in_the_cluster() {
    let plane = plane().await;
    let namespace = plane.namespace("memory").await.unwrap();
    let client = plane.client_as("kubepkg").unwrap();
    let cluster = Arc::new(kubepkg_helm::Cluster::new(client, None));
    let helm = Helm::with_storage(cluster, Arc::new(Memory::default()), HelmOptions::default());
    installed(
        &helm,
        &namespace,
        rendered("1.0.0", &[config_map("a", "1")], vec![]),
    )
    .await;
    let chart = rendered("1.1.0", &[config_map("a", "2")], vec![]);
    upgraded(&helm, &namespace, chart, ReleaseOptions::default()).await;
    assert_eq!(helm.history(&namespace, "demo").await.unwrap().len(), 2);
    let secrets = live(&format!("/api/v1/namespaces/{namespace}/secrets"))
        .await
        .unwrap();
    assert_eq!(secrets["items"], json!([]));
    helm.uninstall(UninstallRequest::new(&namespace, "demo"))
        .await
        .unwrap();
    assert!(helm.latest(&namespace, "demo").await.unwrap().is_none());
    assert!(live(&config_map_path(&namespace, "a")).await.is_none());
}

/// Every call is given up after a while that grows, wherever it is, and made again.
#[tokio::test]
async fn a_call_that_is_dropped_anywhere_is_made_again_with_the_same_result() {
    let namespace = plane().await.namespace("drop").await.unwrap();
    let helm = helm_of("kubepkg").await;
    let hooks = vec![super::charts::job_hook(
        "once",
        kubepkg_helm::HookEvent::PreInstall,
        0,
        "",
        "run",
    )];
    let chart = rendered("1.0.0", &super::charts::five("1"), hooks);
    let request = install(&namespace, ReleaseOptions::default());
    let mut operation = helm.begin_install_rendered(request, chart).await.unwrap();
    let mut patience = Duration::from_micros(200);
    let outcome = loop {
        match tokio::time::timeout(patience, operation.advance()).await {
            Err(_) => patience = patience * 5 / 4,
            Ok(Ok(kubepkg_helm::Advance::Finished(outcome))) => break outcome,
            Ok(Ok(kubepkg_helm::Advance::Waiting { .. })) => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Ok(Ok(_)) => patience = Duration::from_micros(200),
            Ok(Err(error)) => panic!("{error}"),
        }
    };
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
    let release = helm.status(&namespace, "demo").await.unwrap();
    assert_eq!(release.info.status, ReleaseStatus::Deployed);
    assert_eq!(
        live(&config_map_path(&namespace, "five")).await.unwrap()["data"]["k"],
        "1"
    );
}
