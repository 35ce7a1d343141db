//! The EndpointSlices of a Service with many pods, in the embedded API server and with the real controllers.

use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{Namespace, Pod, Service};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use kube::Client;
use kube::api::{Api, ListParams, PostParams};
use kubepkg_sandbox::{ApiOptions, ApiServer, ControlPlane, eventually};
use serde_json::json;

const PODS: usize = 203;

/// How many endpoints the slices of a Service have whose pods the controller knows when it is made, the fullest first.
async fn sizes(client: Client, namespace: &str) -> Vec<usize> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let services: Api<Service> = Api::namespaced(client.clone(), namespace);
    let slices: Api<EndpointSlice> = Api::namespaced(client, namespace);
    let made = futures::stream::iter(0..PODS).for_each_concurrent(16, |number| {
        let pods = &pods;
        async move {
            let pod = json!({
                "metadata": {"name": format!("p-{number}"), "labels": {"app": "many"}},
                "spec": {"containers": [{"name": "c", "image": "example.test/c:1"}]},
            });
            let pod: Pod = serde_json::from_value(pod).unwrap();
            pods.create(&PostParams::default(), &pod).await.unwrap();
        }
    });
    made.await;
    // What the controller has seen for the one, it knows when it sees the other.
    for name in ["first", "second"] {
        let service = json!({
            "metadata": {"name": name},
            "spec": {"selector": {"app": "many"}, "ports": [{"port": 80}]},
        });
        let service: Service = serde_json::from_value(service).unwrap();
        let made = services.create(&PostParams::default(), &service).await;
        made.unwrap();
        let mine = ListParams::default().labels(&format!("kubernetes.io/service-name={name}"));
        let full = eventually("full slices", Duration::from_mins(2), || async {
            let all = slices.list(&mine).await.unwrap();
            let endpoints = all.iter().map(|slice| slice.endpoints.iter().flatten());
            let mut sizes: Vec<usize> = endpoints
                .map(|all| {
                    let ready = |endpoint: &&Endpoint| {
                        let conditions = endpoint.conditions.as_ref();
                        conditions.is_some_and(|it| it.ready == Some(true))
                    };
                    all.filter(ready).count()
                })
                .collect();
            sizes.sort_unstable_by(|a, b| b.cmp(a));
            (sizes.iter().sum::<usize>() == PODS).then_some(sizes)
        });
        let sizes = full.await.unwrap();
        if name == "second" {
            return sizes;
        }
    }
    unreachable!("the second is the last")
}

#[tokio::test]
async fn slices_have_a_hundred_endpoints_as_with_the_real_controllers() {
    let plane = ControlPlane::shared().await.unwrap();
    let namespace = plane.namespace("many").await.unwrap();
    let real = sizes(plane.client().unwrap(), &namespace).await;
    let server = ApiServer::new(&ApiOptions::default());
    let namespaces: Api<Namespace> = Api::all(server.client());
    let made = serde_json::from_value(json!({"metadata": {"name": namespace}})).unwrap();
    namespaces
        .create(&PostParams::default(), &made)
        .await
        .unwrap();
    assert_eq!(sizes(server.client(), &namespace).await, real);
    assert_eq!(real, [100, 100, 3]);
}
