//! Serving the kinds under a group.

use std::time::{Duration, Instant};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use kubepkg_api::{ApiGroup, crd};
use kubepkg_sandbox::ControlPlane;

/// A control plane that serves the kinds under `group`.
pub(crate) async fn served(group: &ApiGroup) -> (&'static ControlPlane, Client) {
    let plane = ControlPlane::shared().await.unwrap();
    let client = plane.client().unwrap();
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let params = PatchParams::apply("kubepkg-api-tests").force();
    for crd in crd::crds(group) {
        let name = crd.metadata.name.clone().unwrap();
        api.patch(&name, &params, &Patch::Apply(&crd))
            .await
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(30);
        while !is_established(&api.get(&name).await.unwrap()) {
            assert!(Instant::now() < deadline, "{name} is not established");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    (plane, client)
}

/// Established, and nothing to complain about: a schema that is not structural is a condition of its own.
fn is_established(crd: &CustomResourceDefinition) -> bool {
    let conditions = crd
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    let mut established = false;
    for condition in conditions {
        assert_ne!(
            (condition.type_.as_str(), condition.status.as_str()),
            ("NonStructuralSchema", "True"),
            "{:?}",
            condition.message
        );
        established |= condition.type_ == "Established" && condition.status == "True";
    }
    established
}
