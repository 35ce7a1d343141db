//! Objects of every kind, written and read under two groups.

use std::fmt::Debug;

use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use kubepkg_api::condition::{self, Status};
use kubepkg_api::{
    ApiGroup, Cluster, Guarded, Kind, Package, PackageReason, PackageRevision, PackageSet,
    PackageSource, PackageSourceSpec, PackageSpec, PackageStatus, Repository, keys, spec_digest,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::served::served;

const OTHER_GROUP: &str = "packages.example.org";

/// Creates an object, reads it back, and returns what the server stored.
async fn create<K>(client: &Client, group: &ApiGroup, name: &str, spec: Value) -> K
where
    K: Kind + Clone + Debug + DeserializeOwned + Serialize,
    K::Spec: DeserializeOwned,
{
    let api: Api<K> = Api::all_with(client.clone(), group);
    let object = K::new(group, name, serde_json::from_value(spec).unwrap());
    api.create(&PostParams::default(), &object).await.unwrap();
    let stored = api.get(name).await.unwrap();
    let value = serde_json::to_value(&stored).unwrap();
    assert_eq!(value["apiVersion"], json!(group.api_version()));
    assert_eq!(value["kind"], json!(K::KIND));
    api.delete(name, &DeleteParams::default()).await.unwrap();
    stored
}

#[tokio::test]
async fn every_kind_is_stored_under_both_groups() {
    for group in [ApiGroup::default(), ApiGroup::new(OTHER_GROUP).unwrap()] {
        let (plane, client) = served(&group).await;
        let name = plane.unique("kinds");

        let spec = json!({ "version": "~1.2", "components": { "c": { "values": { "a": { "b": [1, 2.5, "x", true] } } } } });
        let package: Package = create(&client, &group, &name, spec).await;
        assert_eq!(
            package.spec.components["c"].values,
            json!({ "a": { "b": [1, 2.5, "x", true] } })
                .as_object()
                .cloned()
        );

        let spec = json!({
            "version": "1.2.3", "build": 2,
            "sourceRef": { "kind": "OCIArtifact", "url": "oci://registry.example.org/p" },
            "provides": ["ingress", "api:example.org/v1"],
            "permissions": { "rules": [{ "verbs": ["*"], "nonResourceURLs": ["/metrics"] }] },
            "variants": [{
                "name": "default",
                "requires": [{ "package": "a", "version": ">=1 <2", "variant": "ha", "values": { "c": { "x": { "deep": 1 } } } }],
                "components": [
                    { "name": "tree", "path": "charts/tree", "valuesFiles": ["values-ha.yaml"], "install": { "namespace": "default" } },
                    { "name": "published", "chart": { "repository": "https://charts.example.org", "name": "c", "version": "1.0.0" } }
                ]
            }]
        });
        let written: PackageSourceSpec = serde_json::from_value(spec.clone()).unwrap();
        let source: PackageSource = create(&client, &group, &name, spec).await;
        assert_eq!(source.spec, written);
        assert_eq!(
            spec_digest(&source.spec).unwrap(),
            spec_digest(&written).unwrap(),
            "the API server changes nothing that is digested"
        );

        let spec = json!({
            "package": name, "revision": 1,
            "components": [{ "name": "c", "releaseName": "c", "namespace": "default" }]
        });
        create::<PackageRevision>(&client, &group, &format!("{name}-1"), spec).await;

        let spec = json!({ "url": "https://packages.example.org/index.yaml", "trust": { "rootKeys": ["pem"] } });
        let repository: Repository = create(&client, &group, &name, spec).await;
        assert_eq!(repository.spec.interval.unwrap().to_string(), "10m0s");
        assert_eq!(repository.spec.trust.unwrap().root_threshold, Some(1));

        let spec = json!({ "kubeconfigSecretRef": { "namespace": "default", "name": "edge" } });
        let cluster: Cluster = create(&client, &group, &name, spec).await;
        assert_eq!(cluster.spec.kubeconfig_secret_ref.key, "kubeconfig");

        let spec = json!({
            "clusterSelector": { "matchLabels": { "env": "prod" } },
            "packages": [{ "name": "a", "spec": { "version": "~1" } }, { "name": "b" }],
            "rollout": { "maxInProgress": 1 }
        });
        let set: PackageSet = create(&client, &group, &name, spec).await;
        assert!(set.spec.rollout.unwrap().pauses_on_failure());
    }
}

#[tokio::test]
async fn the_server_fills_in_defaults_that_change_no_digest() {
    let group = ApiGroup::default();
    let (plane, client) = served(&group).await;
    let written = json!({ "upgrade": {} });
    let package: Package =
        create(&client, &group, &plane.unique("defaults"), written.clone()).await;
    assert_eq!(
        serde_json::to_value(&package.spec).unwrap(),
        json!({ "revisionHistoryLimit": 10, "crdPolicy": "Retain", "upgrade": { "atomic": true, "timeout": "10m0s" } })
    );
    assert_eq!(package.spec.without_defaults(), PackageSpec::default());
}

#[tokio::test]
async fn the_status_is_written_apart_from_the_spec() {
    let group = ApiGroup::default();
    let (plane, client) = served(&group).await;
    let api: Api<Package> = Api::all_with(client, &group);
    let name = plane.unique("status");
    let created = api
        .create(
            &PostParams::default(),
            &Package::new(&group, &name, PackageSpec::default()),
        )
        .await
        .unwrap();

    let mut status = PackageStatus {
        version: "1.2.3".into(),
        current_revision: 1,
        ..PackageStatus::default()
    };
    condition::set(
        &mut status.conditions,
        keys::READY,
        Status::True,
        PackageReason::ReconciliationSucceeded.as_str(),
        "reconciliation succeeded, revision 1, 1 component(s)",
        created.metadata.generation.unwrap(),
        Timestamp::from_second(1_800_000_000).unwrap(),
    );
    api.patch_status(
        &name,
        &PatchParams::default(),
        &Patch::Merge(json!({ "status": status })),
    )
    .await
    .unwrap();
    let stored = api.get(&name).await.unwrap();
    assert_eq!(stored.status, Some(status));
    assert_eq!(stored.metadata.generation, created.metadata.generation);
    api.delete(&name, &DeleteParams::default()).await.unwrap();
}

#[tokio::test]
async fn a_guarded_list_reads_objects_of_every_served_version() {
    let group = ApiGroup::default();
    let (plane, client) = served(&group).await;
    let name = plane.unique("guarded");
    create_as(&client, "v1alpha1", &name).await;
    let api: Api<Guarded<Package>> = Api::all_with(client.clone(), &group);
    let listed = api.list(&ListParams::default()).await.unwrap();
    let found = listed
        .items
        .iter()
        .find(|item| item.name_any() == name)
        .unwrap();
    assert!(found.0.is_ok());
    let plain: Api<Package> = Api::all_with(client, &group);
    plain.delete(&name, &DeleteParams::default()).await.unwrap();
}

/// Creates an empty Package through an older version of the API.
async fn create_as(client: &Client, version: &str, name: &str) {
    let resource = kube::api::ApiResource {
        group: "kubepkg.dev".into(),
        version: version.into(),
        api_version: format!("kubepkg.dev/{version}"),
        kind: "Package".into(),
        plural: "packages".into(),
    };
    let api: Api<kube::api::DynamicObject> = Api::all_with(client.clone(), &resource);
    api.create(
        &PostParams::default(),
        &kube::api::DynamicObject::new(name, &resource),
    )
    .await
    .unwrap();
}
