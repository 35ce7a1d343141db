//! The flags of Helm's command line and the choices of this crate do the same.

use super::charts::{config_map, deployment};
use super::interop::ChartFolder;
use super::twins::{By, Choice, Step, World, assert_same, live_alike};
use super::{config_map_path, create, live, plane};
use kubepkg_helm::{ChangeKind, OnFailure, Propagation, ReleaseOptions, ReuseValues, TestRequest};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn with(change: impl FnOnce(&mut Choice)) -> Choice {
    let mut choice = Choice::default();
    change(&mut choice);
    choice
}

#[tokio::test]
async fn values_are_reused_as_helm_reuses_them() {
    let object = |names: &[&str]| {
        let mut object = config_map("a", "1");
        for name in names {
            object["data"][*name] = json!(format!("{{{{ .Values.{name} }}}}"));
        }
        [object]
    };
    let old = ChartFolder::new("1.0.0", &object(&["a", "b"])).with_values("a: 0\nb: 0\n");
    let new =
        ChartFolder::new("1.1.0", &object(&["a", "b", "c"])).with_values("a: 9\nb: 9\nc: 9\n");
    let mut runs = Vec::new();
    for reuse in [
        None,
        Some(ReuseValues::Reset),
        Some(ReuseValues::Reuse),
        Some(ReuseValues::ResetThenReuse),
    ] {
        for set in [vec![], vec!["b=5"]] {
            let install = Step::Install(with(|choice| choice.set = vec!["a=7"]));
            let upgrade = Step::Upgrade(with(|choice| {
                choice.reuse = reuse;
                choice.set.clone_from(&set);
            }));
            runs.push([("install", &old, install), ("upgrade", &new, upgrade)]);
        }
    }
    for run in &runs {
        live_alike("reuse", run).await;
    }
}

#[tokio::test]
async fn a_name_is_used_again_as_in_helm() {
    let good = ChartFolder::new("1.0.0", &[config_map("a", "1")]);
    let bad = ChartFolder::new("1.1.0", &[deployment("web", "never")]);
    let install = |replace| {
        Step::Install(with(|choice| {
            choice.replace = replace;
            choice.wait = true;
            choice.timeout = Some(4);
        }))
    };
    let either = || Step::Upgrade(with(|choice| choice.install = true));
    let gone = || Step::Uninstall(with(|choice| choice.keep_history = true));
    live_alike(
        "again",
        &[
            (
                "upgrade of nothing",
                &good,
                Step::Upgrade(Choice::default()),
            ),
            ("failed install", &bad, install(false)),
            ("in use", &good, install(false)),
            ("replaced", &good, install(true)),
            ("in use by a good one", &good, install(true)),
            ("upgrade or install: upgrade", &good, either()),
            ("removed, history kept", &good, gone()),
            ("removed twice", &good, gone()),
            ("in use by a removed one", &good, install(false)),
            ("upgrade or install: install", &good, either()),
        ],
    )
    .await;
}

#[tokio::test]
async fn failures_are_undone_as_in_helm() {
    let good = ChartFolder::new("1.0.0", &[config_map("a", "1")]);
    let bad = ChartFolder::new("1.1.0", &[config_map("b", "2"), deployment("web", "never")]);
    let undo = |on_failure| {
        with(|choice| {
            choice.on_failure = on_failure;
            choice.wait = on_failure != OnFailure::RollBack;
            choice.timeout = Some(4);
        })
    };
    let (clean, back) = (OnFailure::CleanUp, OnFailure::RollBack);
    live_alike(
        "undo",
        &[
            ("install undone", &bad, Step::Install(undo(back))),
            ("install", &good, Step::Install(Choice::default())),
            ("upgrade cleaned up", &bad, Step::Upgrade(undo(clean))),
            ("upgrade undone", &bad, Step::Upgrade(undo(back))),
        ],
    )
    .await;
}

#[tokio::test]
async fn dependents_are_treated_as_in_helm() {
    let chart = ChartFolder::new("1.0.0", &[deployment("web", "run")]);
    for propagation in [Propagation::Foreground, Propagation::Orphan] {
        let step = with(|choice| {
            choice.propagation = propagation;
            choice.wait = true;
        });
        let install = Step::Install(with(|choice| choice.wait = true));
        let expected = usize::from(propagation == Propagation::Orphan);
        let (theirs, ours) = tokio::join!(World::new("cascade"), World::new("cascade"));
        let mut left = Vec::new();
        for (world, by) in [(&theirs, By::Helm), (&ours, By::Ours)] {
            assert_eq!(world.perform(by, &install, &chart).await, "ok");
            assert_eq!(
                world
                    .perform(by, &Step::Uninstall(step.clone()), &chart)
                    .await,
                "ok"
            );
            let path = format!("/apis/apps/v1/namespaces/{}/replicasets", world.namespace);
            let count = async || {
                live(&path).await.unwrap()["items"]
                    .as_array()
                    .unwrap()
                    .len()
            };
            // A garbage collector that has not seen the ReplicaSet yet lets its owner go before it.
            let end = Instant::now() + Duration::from_secs(20);
            while count().await != expected && Instant::now() < end {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            left.push(count().await);
        }
        assert_eq!(left, [expected, expected], "{propagation:?}");
    }
}

/// The time-out of a hook is that of the operation.
#[tokio::test]
async fn a_hook_that_does_not_end_in_time_fails_as_in_helm() {
    let mut hook = test_pod("slow", "never", "before-hook-creation");
    hook["metadata"]["annotations"]["helm.sh/hook"] = json!("pre-upgrade");
    let good = ChartFolder::new("1.0.0", &[config_map("a", "1")]);
    let slow = ChartFolder::new("1.1.0", &[config_map("a", "2"), hook]);
    let upgrade = Step::Upgrade(with(|choice| choice.timeout = Some(4)));
    live_alike(
        "hooktime",
        &[
            ("install", &good, Step::Install(Choice::default())),
            ("slow hook", &slow, upgrade),
            ("rollback", &slow, Step::Rollback(1, Choice::default())),
        ],
    )
    .await;
}

fn test_pod(name: &str, fate: &str, delete: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": {
            "helm.sh/hook": "test", "helm.sh/hook-delete-policy": delete,
            "sandbox.kubepkg.dev/fate": fate}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "example.test/c:1"}]}})
}

#[tokio::test]
async fn tests_run_as_in_helm() {
    let objects = |fate: &str| {
        [
            config_map("a", "1"),
            test_pod("first", "run", "hook-succeeded"),
            test_pod("second", fate, "before-hook-creation"),
        ]
    };
    let good = ChartFolder::new("1.0.0", &objects("run"));
    let bad = ChartFolder::new("1.1.0", &objects("fail"));
    let test = || Step::Test(with(|choice| choice.timeout = Some(30)));
    live_alike(
        "test",
        &[
            ("install", &good, Step::Install(Choice::default())),
            ("test", &good, test()),
            ("test again", &good, test()),
            ("upgrade", &bad, Step::Upgrade(Choice::default())),
            ("failing test", &bad, test()),
        ],
    )
    .await;
}

#[tokio::test]
async fn the_tests_that_are_asked_for_run_and_no_others() {
    let world = World::new("some").await;
    let objects = [test_pod("first", "run", ""), test_pod("second", "fail", "")];
    let chart = ChartFolder::new("1.0.0", &objects);
    let install = Step::Install(Choice::default());
    assert_eq!(world.perform(By::Helm, &install, &chart).await, "ok");
    let request = TestRequest {
        except: vec!["second".to_owned()],
        logs: true,
        ..TestRequest::new(&world.namespace, "demo")
    };
    let outcome = world.ours.test(request).await.unwrap();
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
    let pod = format!("/api/v1/namespaces/{}/pods/second", world.namespace);
    assert!(live(&pod).await.is_none());
    // The pretend node has no logs to give, which is no failure.
    assert!(outcome.logs.is_empty());
    assert!(
        outcome.warnings[0].starts_with("logs of hook first can't be read"),
        "{:?}",
        outcome.warnings
    );
}

#[tokio::test]
async fn foreign_objects_are_adopted_as_in_helm() {
    let chart = ChartFolder::new("1.0.0", &[config_map("a", "1"), config_map("b", "1")]);
    for take_ownership in [false, true] {
        let (theirs, ours) = tokio::join!(World::new("adopt"), World::new("adopt"));
        let install = Step::Install(with(|choice| {
            choice.take_ownership = take_ownership;
            choice.force_conflicts = take_ownership;
        }));
        let mut said = Vec::new();
        for (world, by) in [(&theirs, By::Helm), (&ours, By::Ours)] {
            let path = format!("/api/v1/namespaces/{}/configmaps", world.namespace);
            create(&path, &config_map("a", "theirs")).await;
            said.push(world.perform(by, &install, &chart).await);
        }
        assert_eq!(said[0].replace("INSTALLATION FAILED: ", ""), said[1]);
        let (theirs, ours) = (theirs.snapshot().await, ours.snapshot().await);
        assert_same(&theirs, &ours, &format!("adoption {take_ownership}"));
    }
}

#[tokio::test]
async fn an_interrupted_upgrade_is_left_by_a_rollback() {
    let first = ChartFolder::new("1.0.0", &[config_map("a", "1")]);
    let second = ChartFolder::new("1.1.0", &[config_map("a", "2"), deployment("web", "never")]);
    let (theirs, ours) = tokio::join!(World::new("broken"), World::new("broken"));
    for world in [&theirs, &ours] {
        let install = Step::Install(Choice::default());
        assert_eq!(world.perform(By::Helm, &install, &first).await, "ok");
        let mut command = plane().await.command("helm", "helm").unwrap();
        command.args([
            "upgrade",
            "demo",
            second.path(),
            "--wait",
            "-n",
            &world.namespace,
        ]);
        let mut child = command.spawn().unwrap();
        let path = format!(
            "/apis/apps/v1/namespaces/{}/deployments/web",
            world.namespace
        );
        while live(&path).await.is_none() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    for (what, step) in [
        ("upgrade", Step::Upgrade(Choice::default())),
        ("rollback", Step::Rollback(1, Choice::default())),
        ("upgrade after that", Step::Upgrade(Choice::default())),
    ] {
        let said = theirs.perform(By::Helm, &step, &first).await;
        assert_eq!(said, ours.perform(By::Ours, &step, &first).await, "{what}");
        assert_same(&theirs.snapshot().await, &ours.snapshot().await, what);
    }
}

#[tokio::test]
async fn a_preview_tells_what_would_happen_and_writes_nothing() {
    let world = World::new("preview").await;
    let first = ChartFolder::new(
        "1.0.0",
        &[
            config_map("a", "1"),
            config_map("b", "1"),
            config_map("c", "1"),
        ],
    );
    let install = Step::Install(Choice::default());
    assert_eq!(world.perform(By::Ours, &install, &first).await, "ok");
    let before = world.snapshot().await;
    let mut wrong = config_map("e", "1");
    wrong["data"]["k"] = json!({"not": "text"});
    let objects = [
        config_map("a", "1"),
        config_map("b", "2"),
        config_map("d", "1"),
        wrong,
    ];
    let chart = super::charts::rendered("1.1.0", &objects, vec![]);
    let request = super::charts::upgrade(&world.namespace, ReleaseOptions::default());
    let operation = world
        .ours
        .begin_upgrade_rendered(request, chart)
        .await
        .unwrap();
    let told: Vec<(String, ChangeKind)> = operation
        .preview()
        .await
        .unwrap()
        .into_iter()
        .map(|change| (change.name, change.what))
        .collect();
    let row = |name: &str, what| (name.to_owned(), what);
    assert_eq!(
        told,
        [
            row("a", ChangeKind::Keep),
            row("b", ChangeKind::Change),
            row("d", ChangeKind::Create),
            row("e", ChangeKind::Refuse),
            row("c", ChangeKind::Delete),
        ]
    );
    assert_same(&before, &world.snapshot().await, "preview");
    assert!(
        live(&config_map_path(&world.namespace, "d"))
            .await
            .is_none()
    );
}
