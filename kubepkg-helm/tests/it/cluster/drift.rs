//! What somebody changed behind a release's back, and what the next upgrade makes of it: the same as Helm's,
//! although objects that need no change are not written.

use super::charts::{config_map, deployment};
use super::interop::ChartFolder;
use super::plane;
use super::twins::{By, Choice, Step, World, assert_same};
use futures::StreamExt as _;
use serde_json::{Value, json};

const MERGE: &str = "application/merge-patch+json";

/// A request of somebody else, as the administrator.
async fn meddle(namespace: &str, what: &Meddling) {
    let client = plane().await.client().unwrap();
    let body = match &what.body {
        Value::Null => Vec::new(),
        body => body.to_string().into_bytes(),
    };
    let request = http::Request::builder()
        .method(what.method)
        .uri(what.path.replace("NS", namespace))
        .header("content-type", what.kind)
        .body(body)
        .unwrap();
    client.request::<Value>(request).await.unwrap();
}

struct Meddling {
    what: &'static str,
    method: &'static str,
    path: &'static str,
    kind: &'static str,
    body: Value,
}

fn meddlings() -> Vec<Meddling> {
    let (cm, web) = (
        "/api/v1/namespaces/NS/configmaps/a?fieldManager=other",
        "/apis/apps/v1/namespaces/NS/deployments/web?fieldManager=other",
    );
    let row = |what, method, path, kind, body| Meddling {
        what,
        method,
        path,
        kind,
        body,
    };
    vec![
        row("nothing", "PATCH", cm, MERGE, json!({})),
        row(
            "value changed",
            "PATCH",
            cm,
            MERGE,
            json!({"data": {"k": "theirs"}}),
        ),
        row(
            "value removed",
            "PATCH",
            cm,
            MERGE,
            json!({"data": {"k": null}}),
        ),
        row(
            "key added",
            "PATCH",
            cm,
            MERGE,
            json!({"data": {"mine": "x"}}),
        ),
        row(
            "mark removed",
            "PATCH",
            cm,
            MERGE,
            json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": null}}}),
        ),
        row("deleted", "DELETE", cm, MERGE, Value::Null),
        row(
            "scaled",
            "PATCH",
            "/apis/apps/v1/namespaces/NS/deployments/web/scale?fieldManager=kubectl",
            MERGE,
            json!({"spec": {"replicas": 3}}),
        ),
        row(
            "image changed",
            "PATCH",
            web,
            "application/strategic-merge-patch+json",
            json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "other/c:2"}]}}}}),
        ),
        row(
            "container added",
            "PATCH",
            web,
            "application/strategic-merge-patch+json",
            json!({"spec": {"template": {"spec": {"containers": [{"name": "d", "image": "other/d:2"}]}}}}),
        ),
        row(
            "taken over by force",
            "PATCH",
            "/api/v1/namespaces/NS/configmaps/a?fieldManager=other&force=true",
            "application/apply-patch+yaml",
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "theirs"}}),
        ),
        row(
            "shared with the same value",
            "PATCH",
            cm,
            "application/apply-patch+yaml",
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "1"}}),
        ),
    ]
}

#[tokio::test]
async fn an_unchanged_upgrade_meets_drift_as_helm_does() {
    let objects = [config_map("a", "1"), deployment("web", "run")];
    let chart = ChartFolder::new("1.0.0", &objects);
    let rows = [false, true]
        .into_iter()
        .flat_map(|force| meddlings().into_iter().map(move |row| (force, row)));
    futures::stream::iter(rows)
        .for_each_concurrent(4, async |(force_conflicts, meddling)| {
            let choice = Choice {
                force_conflicts,
                ..Choice::default()
            };
            let (theirs, ours) = tokio::join!(World::new("drift"), World::new("drift"));
            let when = format!("{}, force {force_conflicts}", meddling.what);
            let mut said = Vec::new();
            let mut seen = Vec::new();
            for (world, by) in [(&theirs, By::Helm), (&ours, By::Ours)] {
                let install = Step::Install(Choice::default());
                assert_eq!(world.perform(by, &install, &chart).await, "ok", "{when}");
                meddle(&world.namespace, &meddling).await;
                let upgrade = Step::Upgrade(choice.clone());
                said.push(world.perform(by, &upgrade, &chart).await);
                seen.push(world.snapshot().await);
            }
            assert_eq!(said[0], said[1], "{when}");
            assert_same(&seen[0], &seen[1], &when);
        })
        .await;
}
