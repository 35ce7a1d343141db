//! Helm and this crate take turns on one release; a twin of it is Helm's alone. After every step both are equal:
//! what was said, the objects, their managed fields, the records.

use super::charts::{config_map, deployment, five};
use super::interop::ChartFolder;
use super::twins::{By, Choice, Step, World, assert_same};
use serde_json::{Value, json};

/// A Job that is a hook, as a chart has it.
fn hook(name: &str, events: &str, delete: &str, fate: &str) -> Value {
    let mut job = json!({"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "annotations": {"helm.sh/hook": events}},
        "spec": {"backoffLimit": 0, "template": {
            "metadata": {"annotations": {"sandbox.kubepkg.dev/fate": fate}},
            "spec": {"restartPolicy": "Never",
                "containers": [{"name": "c", "image": "example.test/c:1"}]}}}});
    if !delete.is_empty() {
        job["metadata"]["annotations"]["helm.sh/hook-delete-policy"] = json!(delete);
    }
    job
}

fn kept(name: &str) -> Value {
    let mut object = config_map(name, "kept");
    object["metadata"]["annotations"] = json!({"helm.sh/resource-policy": "keep"});
    object
}

/// The life of a release: charts, and the step that is taken with each.
fn life(server_side: Option<bool>) -> Vec<(&'static str, Vec<Value>, Step)> {
    let all = |mut more: Vec<Value>| {
        more.push(hook(
            "pre",
            "pre-install,pre-upgrade,pre-rollback",
            "",
            "run",
        ));
        more.push(hook(
            "post",
            "post-upgrade,post-delete",
            "hook-succeeded",
            "run",
        ));
        more
    };
    let first = all([five("1"), vec![kept("k"), deployment("web", "run")]].concat());
    let mut changed = deployment("web", "run");
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = json!("example.test/c:2");
    let mut fewer = five("2");
    fewer.drain(2..4);
    let second = all([fewer, vec![changed, config_map("new", "1")]].concat());
    let broken = all([
        five("3"),
        vec![deployment("web", "never"), config_map("late", "1")],
    ]
    .concat());
    let bad_hook = [
        second.clone(),
        vec![hook("bad", "pre-upgrade", "hook-failed", "fail")],
    ]
    .concat();
    let wait = |timeout| Choice {
        wait: true,
        timeout,
        ..Choice::default()
    };
    vec![
        (
            "install",
            first.clone(),
            Step::Install(Choice {
                server_side,
                ..wait(None)
            }),
        ),
        ("upgrade", second.clone(), Step::Upgrade(Choice::default())),
        ("upgrade again", second.clone(), Step::Upgrade(wait(None))),
        ("failed upgrade", broken, Step::Upgrade(wait(Some(6)))),
        (
            "rollback of the failure",
            second.clone(),
            Step::Rollback(3, wait(None)),
        ),
        ("failed hook", bad_hook, Step::Upgrade(wait(Some(30)))),
        (
            "upgrade after that",
            first.clone(),
            Step::Upgrade(wait(None)),
        ),
        (
            "rollback to the first",
            first.clone(),
            Step::Rollback(1, Choice::default()),
        ),
        ("uninstall", first, Step::Uninstall(Choice::default())),
    ]
}

/// Ours performs the steps of one parity, Helm the others.
async fn alternate(parity: usize, server_side: Option<bool>) {
    let (theirs, both) = tokio::join!(World::new("alone"), World::new("turns"));
    for (index, (what, objects, step)) in life(server_side).into_iter().enumerate() {
        let chart = ChartFolder::new(&format!("1.{index}.0"), &objects);
        let by = if index % 2 == parity {
            By::Ours
        } else {
            By::Helm
        };
        let (alone, turns) = tokio::join!(
            theirs.perform(By::Helm, &step, &chart),
            both.perform(by, &step, &chart)
        );
        let when = format!("{what} by {by:?}");
        assert_eq!(alone, turns, "{when}");
        assert_same(&theirs.snapshot().await, &both.snapshot().await, &when);
    }
}

#[tokio::test]
async fn ours_begins_and_helm_continues_in_turns() {
    alternate(0, None).await;
}

#[tokio::test]
async fn helm_begins_and_ours_continues_in_turns() {
    alternate(1, None).await;
}

#[tokio::test]
async fn turns_are_taken_on_a_release_that_clients_write() {
    tokio::join!(alternate(0, Some(false)), alternate(1, Some(false)));
}

/// From the client to the server and back, with fields that one of them dropped.
#[tokio::test]
async fn a_release_moves_between_client_and_server_as_in_helm() {
    let with = |server_side| Choice {
        server_side,
        ..Choice::default()
    };
    let object = |keys: &[&str]| {
        let mut object = config_map("a", "1");
        for key in keys {
            object["data"][*key] = json!("x");
        }
        vec![object, deployment("web", "run")]
    };
    let steps = [
        (object(&["b", "c"]), Step::Install(with(Some(false)))),
        (object(&["c"]), Step::Upgrade(with(Some(true)))),
        (object(&["d"]), Step::Upgrade(with(None))),
        (object(&["e"]), Step::Upgrade(with(Some(false)))),
        (object(&["f"]), Step::Upgrade(with(None))),
        (object(&[]), Step::Rollback(2, with(None))),
    ];
    let (theirs, ours) = tokio::join!(World::new("moves"), World::new("moves"));
    for (index, (objects, step)) in steps.iter().enumerate() {
        let chart = ChartFolder::new(&format!("1.{index}.0"), objects);
        let alone = theirs.perform(By::Helm, step, &chart).await;
        assert_eq!(
            alone,
            ours.perform(By::Ours, step, &chart).await,
            "{step:?}"
        );
        let when = format!("{index}: {step:?}");
        assert_same(&theirs.snapshot().await, &ours.snapshot().await, &when);
    }
}
