//! What the API server refuses, with the message that the user reads.

use kube::api::{ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use kubepkg_api::{
    ApiGroup, IMMUTABLE_RULE, Kind, NAME_LENGTH_RULE, ONE_CHART_RULE, ONE_REQUIREMENT_RULE,
    POSITIVE_DURATION_RULE, Package, PackageRevision, PackageSet, PackageSource, Repository,
    SHAPED_MEMBER_RULE, SOURCE_REF_RULE, THRESHOLD_RULE, TREE_ONLY_RULE,
};
use serde_json::{Value, json};

use crate::served::served;

/// The message of the refusal of an object; a dry run, so nothing is left behind.
async fn refusal<K: Kind>(client: &Client, group: &ApiGroup, name: &str, spec: Value) -> String {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::erase::<K>(group));
    let object: DynamicObject = serde_json::from_value(json!({
        "apiVersion": group.api_version(), "kind": K::KIND, "metadata": { "name": name }, "spec": spec
    }))
    .unwrap();
    let params = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    match api.create(&params, &object).await {
        Ok(_) => panic!("accepted: {spec}"),
        Err(kube::Error::Api(status)) => status.message,
        Err(other) => panic!("{other}"),
    }
}

fn one_variant(variant: Value) -> Value {
    let mut variant = variant;
    variant["name"] = json!("default");
    json!({ "variants": [variant] })
}

#[tokio::test]
async fn every_rule_refuses_with_its_message_under_both_groups() {
    for group in [
        ApiGroup::default(),
        ApiGroup::new("packages.example.org").unwrap(),
    ] {
        let (plane, client) = served(&group).await;
        let chart =
            json!({ "repository": "https://charts.example.org", "name": "c", "version": "1.0.0" });
        let sources = [
            (
                one_variant(json!({ "requires": [{}] })),
                ONE_REQUIREMENT_RULE.message,
            ),
            (
                one_variant(json!({ "requires": [{ "package": "a", "capability": "b" }] })),
                ONE_REQUIREMENT_RULE.message,
            ),
            (
                one_variant(json!({ "requires": [{ "capability": "b", "variant": "ha" }] })),
                SHAPED_MEMBER_RULE.message,
            ),
            (
                one_variant(
                    json!({ "requires": [{ "capability": "b", "values": { "c": { "x": 1 } } }] }),
                ),
                SHAPED_MEMBER_RULE.message,
            ),
            (
                one_variant(json!({ "components": [{ "name": "c" }] })),
                ONE_CHART_RULE.message,
            ),
            (
                one_variant(
                    json!({ "components": [{ "name": "c", "path": "p", "chart": chart }] }),
                ),
                ONE_CHART_RULE.message,
            ),
            (
                one_variant(
                    json!({ "components": [{ "name": "c", "chart": chart, "libraries": ["l"] }] }),
                ),
                TREE_ONLY_RULE.message,
            ),
            (
                one_variant(
                    json!({ "components": [{ "name": "c", "chart": chart, "valuesFiles": ["f"] }] }),
                ),
                TREE_ONLY_RULE.message,
            ),
            (
                json!({ "sourceRef": { "kind": "OCIArtifact" } }),
                SOURCE_REF_RULE.message,
            ),
            (
                json!({ "sourceRef": { "kind": "GitRepository", "name": "a" } }),
                SOURCE_REF_RULE.message,
            ),
            (
                json!({ "sourceRef": { "kind": "OCIRepository", "namespace": "a" } }),
                SOURCE_REF_RULE.message,
            ),
        ];
        for (spec, message) in sources {
            let text =
                refusal::<PackageSource>(&client, &group, &plane.unique("bad"), spec.clone()).await;
            assert!(text.contains(message), "{spec}: {text}");
        }

        let long = "a".repeat(64);
        for text in [
            refusal::<Package>(&client, &group, &long, json!({})).await,
            refusal::<PackageSource>(&client, &group, &long, json!({})).await,
        ] {
            assert!(text.contains(NAME_LENGTH_RULE.message), "{text}");
        }

        let spec = json!({ "upgrade": { "timeout": "-1m" } });
        let text = refusal::<Package>(&client, &group, "bad", spec).await;
        assert!(text.contains(POSITIVE_DURATION_RULE.message), "{text}");
        let spec = json!({ "url": "u", "interval": "0" });
        let text = refusal::<Repository>(&client, &group, "bad", spec).await;
        assert!(text.contains(POSITIVE_DURATION_RULE.message), "{text}");
        let spec = json!({ "url": "u", "trust": { "rootKeys": ["a"], "rootThreshold": 2 } });
        let text = refusal::<Repository>(&client, &group, "bad", spec).await;
        assert!(text.contains(THRESHOLD_RULE.message), "{text}");
    }
}

#[tokio::test]
async fn malformed_fields_are_named() {
    let group = ApiGroup::default();
    let (_, client) = served(&group).await;
    let source = |spec: Value| {
        let (client, group) = (client.clone(), group.clone());
        async move { refusal::<PackageSource>(&client, &group, "bad", spec).await }
    };
    let package = |spec: Value| {
        let (client, group) = (client.clone(), group.clone());
        async move { refusal::<Package>(&client, &group, "bad", spec).await }
    };
    for (text, field) in [
        (source(json!({ "build": -1 })).await, "spec.build"),
        (source(json!({ "provides": ["a b"] })).await, "spec.provides[0]"),
        (source(json!({ "conflicts": ["api:x"] })).await, "spec.conflicts[0]"),
        (source(json!({ "crds": ["nodots"] })).await, "spec.crds[0]"),
        (source(json!({ "images": ["alpine:3"] })).await, "spec.images[0]"),
        (source(json!({ "permissions": { "rules": [{}] } })).await, "spec.permissions.rules[0].verbs"),
        (source(json!({ "sourceRef": { "kind": "Bucket" } })).await, "spec.sourceRef.kind"),
        (
            source(one_variant(json!({
                "components": [{ "name": "c", "chart": { "repository": "s3://b", "name": "c", "version": "1" } }]
            })))
            .await,
            "spec.variants[0].components[0].chart.repository",
        ),
        (
            source(one_variant(json!({
                "components": [{ "name": "c", "chart": { "repository": "oci://b", "name": "c", "version": "1", "digest": "sha256:0" } }]
            })))
            .await,
            "spec.variants[0].components[0].chart.digest",
        ),
        (
            source(one_variant(json!({ "components": [{ "name": "c", "path": "p" }, { "name": "c", "path": "q" }] }))).await,
            "spec.variants[0].components[1]",
        ),
        (source(json!({ "variants": [{ "name": "a" }, { "name": "a" }] })).await, "spec.variants[1]"),
        (package(json!({ "crdPolicy": "Drop" })).await, "spec.crdPolicy"),
        (package(json!({ "revisionHistoryLimit": 0 })).await, "spec.revisionHistoryLimit"),
        (package(json!({ "upgrade": { "timeout": "10 minutes" } })).await, "spec.upgrade.timeout"),
        (package(json!({ "components": { "c": { "values": [] } } })).await, "spec.components.c.values"),
        (
            refusal::<PackageSet>(&client, &group, "bad", json!({ "packages": [{ "name": "a" }, { "name": "a" }] })).await,
            "spec.packages[1]",
        ),
        (
            refusal::<Repository>(&client, &group, "bad", json!({ "url": "u", "trust": { "rootKeys": [] } })).await,
            "spec.trust.rootKeys",
        ),
    ] {
        assert!(text.contains(field), "want {field} in: {text}");
    }
}

#[tokio::test]
async fn the_spec_of_a_revision_never_changes() {
    let group = ApiGroup::default();
    let (plane, client) = served(&group).await;
    let package = plane.unique("frozen");
    let name = kubepkg_api::revision_name(&package, 1);
    let api: Api<PackageRevision> = Api::all_with(client, &group);
    let spec =
        serde_json::from_value(json!({ "package": package, "revision": 1, "version": "1.0.0" }))
            .unwrap();
    api.create(
        &PostParams::default(),
        &PackageRevision::new(&group, &name, spec),
    )
    .await
    .unwrap();

    let params = PatchParams::default();
    let change = api
        .patch(
            &name,
            &params,
            &Patch::Merge(json!({ "spec": { "version": "2.0.0" } })),
        )
        .await;
    let Err(kube::Error::Api(status)) = change else {
        panic!("{change:?}")
    };
    assert!(
        status.message.contains(IMMUTABLE_RULE.message),
        "{}",
        status.message
    );

    let label = json!({ "metadata": { "labels": { "kubepkg.dev/package": package } } });
    api.patch(&name, &params, &Patch::Merge(label))
        .await
        .unwrap();
    let status = json!({ "status": { "phase": "Applied" } });
    api.patch_status(&name, &params, &Patch::Merge(status))
        .await
        .unwrap();
    api.delete(&name, &DeleteParams::default()).await.unwrap();
}
