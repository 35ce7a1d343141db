//! Waiting on watches, and failures that are seen at once.

use super::charts::{config_map, deployment, install, rendered, upgrade};
use super::{create, helm_of, plane};
use kubepkg_helm::{
    Advance, Failure, FailureReason, Helm, HelmOptions, Operation, ReleaseOptions, Status, Wait,
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn waiting(wait: Wait) -> ReleaseOptions {
    ReleaseOptions {
        wait,
        timeout: Duration::from_mins(1),
        ..ReleaseOptions::default()
    }
}

async fn begin(
    helm: &Helm,
    namespace: &str,
    objects: &[Value],
    options: ReleaseOptions,
) -> Operation {
    let chart = rendered("1.0.0", objects, vec![]);
    let request = install(namespace, options);
    helm.begin_install_rendered(request, chart).await.unwrap()
}

fn job(name: &str, fate: &str) -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
        "spec": {"backoffLimit": 0, "template": {
            "metadata": {"annotations": {"sandbox.kubepkg.dev/fate": fate}},
            "spec": {"restartPolicy": "Never",
                "containers": [{"name": "c", "image": "example.test/c:1"}]}}}})
}

fn stateful_set(name: &str, fate: &str) -> Value {
    let mut object = deployment(name, fate);
    object["kind"] = json!("StatefulSet");
    object["spec"]["serviceName"] = json!(name);
    object
}

/// Installs what fails, and tells why and how soon.
async fn failure(objects: &[Value], options: ReleaseOptions) -> (Failure, Duration) {
    let namespace = plane().await.namespace("fails").await.unwrap();
    let helm = helm_of("kubepkg").await;
    let began = Instant::now();
    let outcome = begin(&helm, &namespace, objects, options)
        .await
        .run()
        .await
        .unwrap();
    let mut failure = outcome.failure.expect("a failure");
    failure.message = failure.message.replace(&namespace, "NS");
    (failure, began.elapsed())
}

#[tokio::test]
async fn a_change_is_seen_at_once_and_looks_cost_nothing() {
    let plane = plane().await;
    let namespace = plane.namespace("watch").await.unwrap();
    let rule = plane.pods().hold(&namespace, "app=web").unwrap();
    let helm = helm_of("kubepkg").await;
    let objects = [config_map("a", "1"), deployment("web", "run")];
    let mut operation = begin(&helm, &namespace, &objects, waiting(Wait::Ready)).await;
    while !matches!(operation.advance().await.unwrap(), Advance::Waiting { .. }) {}
    let mark = plane.audit().mark().unwrap();
    let shown = std::sync::Mutex::new(0);
    let run = async {
        let outcome = operation.run_with(|_| *shown.lock().unwrap() += 1).await;
        (outcome.unwrap(), Instant::now())
    };
    let release = async {
        tokio::time::sleep(Duration::from_secs(7)).await;
        rule.release();
        Instant::now()
    };
    let ((outcome, ended), released) = tokio::join!(run, release);
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
    // Polling would have looked every five seconds by then.
    assert!(
        ended - released < Duration::from_secs(3),
        "{:?}",
        ended - released
    );
    assert!(*shown.lock().unwrap() > 3);
    let requests = plane.audit().since(mark).unwrap().by_user("kubepkg");
    // Pods are looked at for missing images, from time to time.
    let about = |verb: &str| {
        requests
            .iter()
            .filter(|one| one.verb == verb && one.namespace == namespace)
            .filter(|one| !["secrets", "pods"].contains(&one.resource.as_str()))
            .count()
    };
    // The watch began with the first look, before the mark.
    assert_eq!(
        (about("get"), about("list")),
        (0, 0),
        "{:?}",
        requests.tally()
    );
}

#[tokio::test]
async fn where_watching_is_forbidden_objects_are_read() {
    let plane = plane().await;
    let namespace = plane.namespace("poll").await.unwrap();
    let inner = plane.client_as("kubepkg").unwrap();
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let inner = inner.clone();
        async move {
            if request
                .uri()
                .query()
                .is_some_and(|query| query.contains("watch=true"))
            {
                let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
                    "reason": "Forbidden", "message": "no watching here", "code": 403});
                let body = kube::client::Body::from(status.to_string().into_bytes());
                return Ok(http::Response::builder().status(403).body(body).unwrap());
            }
            inner.send(request).await.map_err(tower::BoxError::from)
        }
    });
    let client = kube::Client::new(service, "default");
    let helm = Helm::new(client, HelmOptions::default());
    let rule = plane.pods().hold(&namespace, "app=web").unwrap();
    let objects = [deployment("web", "run")];
    let mut operation = begin(&helm, &namespace, &objects, waiting(Wait::Ready)).await;
    while !matches!(operation.advance().await.unwrap(), Advance::Waiting { .. }) {}
    rule.release();
    let outcome = operation.run().await.unwrap();
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
}

#[tokio::test]
async fn a_failed_job_is_not_hidden_behind_a_slow_stateful_set() {
    let objects = [stateful_set("slow", "never"), job("broken", "fail")];
    let (failure, took) = failure(&objects, waiting(Wait::ReadyWithJobs)).await;
    assert!(took < Duration::from_secs(30), "{took:?}");
    assert_eq!(failure.reason, FailureReason::NotReady);
    // The words of Helm 4.3.1 (`pkg/kube/statuswait.go`).
    assert_eq!(
        failure.message,
        "resource Job/NS/broken not ready. status: Failed, message: Job Failed. failed: 1/1"
    );
    let [broken] = failure.objects.as_slice() else {
        panic!("{failure:?}")
    };
    assert_eq!(
        (broken.status, broken.reason.as_str()),
        (Status::Failed, "JobFailed")
    );
    // The one that says that the Job has failed may come a moment later.
    assert!(!broken.events.is_empty());
}

#[tokio::test]
async fn a_deployment_past_its_deadline_fails_at_once() {
    let mut web = deployment("web", "never");
    web["spec"]["progressDeadlineSeconds"] = json!(2);
    let (failure, took) = failure(&[web], waiting(Wait::Ready)).await;
    assert!(took < Duration::from_secs(30), "{took:?}");
    assert_eq!(
        failure.message,
        "resource Deployment/NS/web not ready. status: Failed, message: Progress deadline exceeded"
    );
    assert_eq!(failure.objects[0].reason, "ProgressDeadlineExceeded");
}

#[tokio::test]
async fn an_image_that_is_missing_for_too_long_is_a_failure() {
    let options = ReleaseOptions {
        image_patience: Some(Duration::from_secs(2)),
        ..waiting(Wait::Ready)
    };
    let (failure, took) = failure(&[deployment("web", "pull-error")], options).await;
    assert!(took < Duration::from_secs(30), "{took:?}");
    assert_eq!(failure.reason, FailureReason::NotReady);
    assert!(
        failure
            .message
            .contains("image \"example.test/c:1\" of container \"c\" of Pod web-"),
        "{}",
        failure.message
    );
    let web = &failure.objects[0];
    assert_eq!(web.reason, "ImagePullBackOff");
    assert!(
        web.events
            .iter()
            .any(|event| event.kind == "Pod" && event.reason == "ImagePullBackOff")
    );
}

#[tokio::test]
async fn what_containers_wait_for_is_told_while_they_are_awaited() {
    let options = ReleaseOptions {
        image_patience: Some(Duration::from_secs(8)),
        ..waiting(Wait::Ready)
    };
    let namespace = plane().await.namespace("held").await.unwrap();
    let helm = helm_of("kubepkg").await;
    let web = [deployment("web", "pull-error")];
    let mut operation = begin(&helm, &namespace, &web, options).await;
    let mut told = Vec::new();
    let outcome = operation.run_with(|advance| {
        if let Advance::Waiting { not_ready, .. } = advance {
            told.extend(not_ready.iter().flat_map(|object| object.events.clone()));
        }
    });
    assert!(!outcome.await.unwrap().succeeded());
    let reasons: Vec<&str> = told.iter().map(|event| event.reason.as_str()).collect();
    assert!(reasons.contains(&"ImagePullBackOff"), "{reasons:?}");
    assert!(told.iter().all(|event| event.name.starts_with("web-")));
}

#[tokio::test]
async fn a_timeout_tells_what_last_happened() {
    let options = ReleaseOptions {
        timeout: Duration::from_secs(4),
        ..waiting(Wait::Ready)
    };
    let (failure, _) = failure(&[deployment("web", "pull-error")], options).await;
    assert_eq!(failure.reason, FailureReason::Timeout);
    let reasons: Vec<&str> = failure.objects[0]
        .events
        .iter()
        .map(|event| event.reason.as_str())
        .collect();
    assert!(reasons.contains(&"ScalingReplicaSet"), "{reasons:?}");
    assert!(reasons.contains(&"ImagePullBackOff"), "{reasons:?}");
}

/// Helm 3 called a Deployment of one replica ready with no Pod, when it allowed one to be unavailable.
#[tokio::test]
async fn one_replica_that_may_be_unavailable_is_waited_for() {
    let mut web = deployment("web", "never");
    web["spec"]["strategy"] =
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}});
    let options = ReleaseOptions {
        timeout: Duration::from_secs(3),
        ..waiting(Wait::Ready)
    };
    assert_eq!(
        failure(&[web], options).await.0.reason,
        FailureReason::Timeout
    );
}

#[tokio::test]
async fn an_upgrade_does_not_take_the_old_generation_for_the_new_one() {
    let plane = plane().await;
    let namespace = plane.namespace("stale").await.unwrap();
    let helm = helm_of("kubepkg").await;
    let mut web = deployment("web", "run");
    let mut operation = begin(
        &helm,
        &namespace,
        std::slice::from_ref(&web),
        waiting(Wait::Ready),
    )
    .await;
    assert!(operation.run().await.unwrap().succeeded());
    web["spec"]["template"]["spec"]["containers"][0]["image"] = json!("example.test/c:2");
    web["spec"]["template"]["metadata"]["annotations"]["sandbox.kubepkg.dev/fate"] = json!("never");
    let options = ReleaseOptions {
        timeout: Duration::from_secs(3),
        ..waiting(Wait::Ready)
    };
    let chart = rendered("1.1.0", &[web], vec![]);
    let request = upgrade(&namespace, options);
    let mut operation = helm.begin_upgrade_rendered(request, chart).await.unwrap();
    let outcome = operation.run().await.unwrap();
    assert_eq!(outcome.failure.unwrap().reason, FailureReason::Timeout);
}

#[tokio::test]
async fn a_custom_resource_without_status_does_not_hold_a_release() {
    let plane = plane().await;
    let namespace = plane.namespace("silent").await.unwrap();
    let plural = plane.unique("silents").replace('-', "");
    let kind = format!("S{plural}");
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.test")},
        "spec": {"group": "example.test", "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": format!("{plural}x")},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object",
                    "x-kubernetes-preserve-unknown-fields": true}}}]}});
    // What is known of the cluster's kinds is older than the kind, and old enough to be asked for anew.
    let helm = helm_of("kubepkg").await;
    let known = helm.cluster().discovery().await.unwrap();
    assert!(known.resource("example.test/v1", &kind).is_none());
    tokio::time::sleep(Duration::from_millis(500)).await;
    create(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        &crd,
    )
    .await;
    let object = json!({"apiVersion": "example.test/v1", "kind": kind,
        "metadata": {"name": "one"}, "spec": {"a": 1}});
    let served = format!("/apis/example.test/v1/namespaces/{namespace}/{plural}");
    while super::live(&served).await.is_none() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let outcome = begin(&helm, &namespace, &[object], waiting(Wait::Ready))
        .await
        .run()
        .await
        .unwrap();
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
}
