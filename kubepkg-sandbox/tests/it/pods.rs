//! The pretend node against the real controllers.

use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Namespace, PersistentVolumeClaim, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kubepkg_sandbox::{ControlPlane, FATE_ANNOTATION, Fate, READY_AFTER_ANNOTATION, eventually};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

async fn plane() -> &'static ControlPlane {
    ControlPlane::shared().await.unwrap()
}

fn object<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn template(annotations: &Value) -> Value {
    json!({
        "metadata": {"labels": {"app": "x"}, "annotations": annotations},
        "spec": {"containers": [{"name": "c", "image": "example.test/c:1"}]},
    })
}

fn deployment(annotations: &Value) -> Deployment {
    object(json!({
        "metadata": {"name": "x"},
        "spec": {
            "replicas": 2, "progressDeadlineSeconds": 600,
            "selector": {"matchLabels": {"app": "x"}}, "template": template(annotations),
        },
    }))
}

fn job(annotations: &Value) -> Job {
    let mut template = template(annotations);
    template["spec"]["restartPolicy"] = json!("Never");
    object(json!({
        "metadata": {"name": "x"},
        "spec": {"backoffLimit": 0, "template": template},
    }))
}

async fn wait_for<T, F: Future<Output = Option<T>>>(what: &str, ask: impl FnMut() -> F) -> T {
    eventually(what, Duration::from_mins(1), ask).await.unwrap()
}

async fn available(api: &Api<Deployment>, replicas: i32) {
    wait_for("available deployment", || async {
        let status = api.get("x").await.unwrap().status.unwrap_or_default();
        (status.available_replicas.unwrap_or(0) == replicas).then_some(())
    })
    .await;
}

async fn job_condition(api: &Api<Job>, kind: &str) {
    wait_for(kind, || async {
        let status = api.get("x").await.unwrap().status.unwrap_or_default();
        status
            .conditions
            .into_iter()
            .flatten()
            .any(|condition| condition.type_ == kind && condition.status == "True")
            .then_some(())
    })
    .await;
}

#[tokio::test]
async fn workloads_roll_out_and_services_get_addresses() {
    let plane = plane().await;
    let namespace = plane.namespace("rollout").await.unwrap();
    let client = plane.client().unwrap();
    let new = PostParams::default();
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), &namespace);
    deployments
        .create(&new, &deployment(&json!({})))
        .await
        .unwrap();
    let selector = json!({"matchLabels": {"app": "x"}});
    let sets: Api<StatefulSet> = Api::namespaced(client.clone(), &namespace);
    let set = json!({"metadata": {"name": "s"}, "spec": {
        "replicas": 2, "serviceName": "s", "selector": selector, "template": template(&json!({})),
    }});
    sets.create(&new, &object(set)).await.unwrap();
    let daemons: Api<DaemonSet> = Api::namespaced(client.clone(), &namespace);
    let daemon = json!({"metadata": {"name": "d"}, "spec": {
        "selector": selector, "template": template(&json!({})),
    }});
    daemons.create(&new, &object(daemon)).await.unwrap();
    let services: Api<Service> = Api::namespaced(client.clone(), &namespace);
    let service = json!({"metadata": {"name": "x"}, "spec": {
        "selector": {"app": "x"}, "ports": [{"port": 80}],
    }});
    services.create(&new, &object(service)).await.unwrap();

    available(&deployments, 2).await;
    wait_for("stateful set", || async {
        let status = sets.get("s").await.unwrap().status.unwrap_or_default();
        (status.ready_replicas == Some(2)).then_some(())
    })
    .await;
    wait_for("daemon set", || async {
        let status = daemons.get("d").await.unwrap().status.unwrap_or_default();
        (status.number_ready == 1).then_some(())
    })
    .await;
    let slices: Api<EndpointSlice> = Api::namespaced(client, &namespace);
    wait_for("addresses of all five pods", || async {
        let all = slices.list(&ListParams::default()).await.unwrap();
        let ready = all
            .items
            .iter()
            .flat_map(|slice| slice.endpoints.iter().flatten())
            .count();
        (ready == 5).then_some(())
    })
    .await;
}

#[tokio::test]
async fn jobs_end_as_their_fate_says() {
    let plane = plane().await;
    let client = plane.client().unwrap();
    for (fate, condition) in [("run", "Complete"), ("crash", "Failed")] {
        let namespace = plane.namespace("job").await.unwrap();
        let api: Api<Job> = Api::namespaced(client.clone(), &namespace);
        let made = job(&json!({FATE_ANNOTATION: fate}));
        api.create(&PostParams::default(), &made).await.unwrap();
        job_condition(&api, condition).await;
    }
}

#[tokio::test]
async fn held_pods_wait_until_they_are_released() {
    let plane = plane().await;
    let namespace = plane.namespace("hold").await.unwrap();
    let client = plane.client().unwrap();
    let held = plane.pods().hold(&namespace, "app=x").unwrap();
    let api: Api<Deployment> = Api::namespaced(client.clone(), &namespace);
    api.create(&PostParams::default(), &deployment(&json!({})))
        .await
        .unwrap();
    let pods: Api<Pod> = Api::namespaced(client, &namespace);
    let bound = || async {
        let list = pods.list(&ListParams::default()).await.unwrap();
        let bound = list
            .items
            .iter()
            .filter(|pod| pod.spec.as_ref().unwrap().node_name.is_some());
        (bound.count() == 2).then_some(list.items)
    };
    let bound = wait_for("binding", bound).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(
        bound
            .iter()
            .all(|pod| pod.status.as_ref().unwrap().phase.as_deref() == Some("Pending"))
    );
    held.release();
    available(&api, 2).await;

    let crash = plane.pods().decide(&namespace, "", Fate::Crash).unwrap();
    available(&api, 0).await;
    drop(crash);
    available(&api, 2).await;
}

#[tokio::test]
async fn ready_after_delays_availability() {
    let plane = plane().await;
    let namespace = plane.namespace("delay").await.unwrap();
    let api: Api<Deployment> = Api::namespaced(plane.client().unwrap(), &namespace);
    let started = Instant::now();
    let made = deployment(&json!({READY_AFTER_ANNOTATION: "1500ms"}));
    api.create(&PostParams::default(), &made).await.unwrap();
    available(&api, 2).await;
    assert!(started.elapsed() >= Duration::from_millis(1500));
}

#[tokio::test]
async fn pull_errors_are_reported_in_the_containers() {
    let plane = plane().await;
    let namespace = plane.namespace("pull").await.unwrap();
    let client = plane.client().unwrap();
    let api: Api<Deployment> = Api::namespaced(client.clone(), &namespace);
    let made = deployment(&json!({FATE_ANNOTATION: "pull-error"}));
    api.create(&PostParams::default(), &made).await.unwrap();
    let pods: Api<Pod> = Api::namespaced(client, &namespace);
    wait_for("pull error", || async {
        let list = pods.list(&ListParams::default()).await.unwrap();
        list.items.iter().find_map(|pod| {
            let container = pod.status.as_ref()?.container_statuses.as_ref()?.first()?;
            let reason = container.state.as_ref()?.waiting.as_ref()?.reason.clone()?;
            (reason == "ImagePullBackOff").then_some(())
        })
    })
    .await;
}

#[tokio::test]
async fn namespace_with_pods_job_and_claim_goes() {
    let plane = plane().await;
    let namespace = plane.namespace("goes").await.unwrap();
    let client = plane.client().unwrap();
    let new = PostParams::default();
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), &namespace);
    deployments
        .create(&new, &deployment(&json!({})))
        .await
        .unwrap();
    let jobs: Api<Job> = Api::namespaced(client.clone(), &namespace);
    jobs.create(&new, &job(&json!({FATE_ANNOTATION: "never"})))
        .await
        .unwrap();
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), &namespace);
    let claim = json!({"metadata": {"name": "c"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
    }});
    claims.create(&new, &object(claim)).await.unwrap();
    available(&deployments, 2).await;
    let namespaces: Api<Namespace> = Api::all(client);
    namespaces
        .delete(&namespace, &DeleteParams::default())
        .await
        .unwrap();
    wait_for("removal of the namespace", || async {
        namespaces
            .get_opt(&namespace)
            .await
            .unwrap()
            .is_none()
            .then_some(())
    })
    .await;
}
