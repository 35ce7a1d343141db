//! Post-renderers of installs and upgrades, beside those that Helm has as plugins.

use super::charts::config_map;
use super::interop::ChartFolder;
use super::twins::{By, Choice, Step, World, assert_same};
use super::{config_map_path, live, plane};
use kubepkg_helm::{
    Chart, ChartLimits, InstallRequest, OperationError, Outcome, PostRenderError,
    PostRenderStrategy, PostRendering, ReleaseOptions, UpgradeRequest, Values,
};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder with Helm's plugin `mark`: what stands for `MARK` is `marked` afterwards; `fail` fails.
fn plugins() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, script) in [
        ("mark", "#!/bin/sh\nexec sed s/MARK/marked/g\n"),
        ("fail", "#!/bin/sh\ncat > /dev/null\nexit 3\n"),
    ] {
        let plugin = folder.path().join(name);
        std::fs::create_dir(&plugin).unwrap();
        let yaml = format!(
            "apiVersion: v1\nname: {name}\nversion: 1.0.0\ntype: postrenderer/v1\n\
             runtime: subprocess\nruntimeConfig:\n  platformCommand:\n  \
             - command: ${{HELM_PLUGIN_DIR}}/run.sh\n"
        );
        std::fs::write(plugin.join("plugin.yaml"), yaml).unwrap();
        let program = plugin.join("run.sh");
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

fn mark(stream: &str) -> String {
    stream.replace("MARK", "marked")
}

async fn by_helm(world: &World, verb: &str, chart: &ChartFolder, plugin: &str) -> String {
    let folder = plugins();
    let mut command = plane().await.command("helm", "helm").unwrap();
    command
        .env("HELM_PLUGINS", folder.path())
        .args([verb, "demo", chart.path(), "-n", &world.namespace])
        .args(["--post-renderer", plugin]);
    let output = tokio::task::spawn_blocking(move || command.output()).await;
    let output = output.unwrap().unwrap();
    if output.status.success() {
        return "ok".to_owned();
    }
    String::from_utf8_lossy(&output.stderr).into_owned()
}

async fn by_us(
    world: &World,
    verb: &str,
    chart: &ChartFolder,
    post_render: PostRendering,
) -> Result<Outcome, OperationError> {
    let chart = Chart::load_dir(chart.path().as_ref(), &ChartLimits::default()).unwrap();
    let (name, namespace) = ("demo".to_owned(), world.namespace.clone());
    let options = ReleaseOptions {
        post_render: Some(post_render),
        ..ReleaseOptions::default()
    };
    let (chart, values) = (chart.into(), Values::default());
    if verb == "install" {
        let request = InstallRequest {
            name,
            namespace,
            chart,
            values,
            options,
        };
        world.ours.install(request).await
    } else {
        let request = UpgradeRequest {
            name,
            namespace,
            chart,
            values,
            options,
        };
        world.ours.upgrade(request).await
    }
}

/// A chart whose templates are written in blocks: Helm keeps the style of what a post-renderer changes, here it is
/// blocks always.
fn write(chart: &ChartFolder, version: &str, objects: &[Value]) {
    chart.write(version, objects);
    for (index, object) in objects.iter().enumerate() {
        let file = format!("{}/templates/{index}.yaml", chart.path());
        std::fs::write(file, kubepkg_yaml::to_yaml(object).unwrap()).unwrap();
    }
}

fn hook(name: &str, event: &str, value: &str) -> Value {
    let mut object = config_map(name, value);
    object["metadata"]["annotations"] = json!({"helm.sh/hook": event});
    object
}

#[tokio::test]
async fn what_a_post_renderer_gives_is_applied_and_recorded_as_in_helm() {
    let (theirs, ours) = tokio::join!(World::new("post"), World::new("post"));
    // Every document has something to be changed: those that are left alone keep their text here, not in Helm.
    let chart = ChartFolder::new("1.0.0", &[]);
    let objects = [
        config_map("b", "MARK"),
        hook("h", "pre-install,pre-upgrade", "MARK-1"),
        config_map("a", "MARK"),
    ];
    write(&chart, "1.0.0", &objects);
    let combined = || {
        let mark = |stream: &str| Ok::<_, PostRenderError>(mark(stream));
        PostRendering::new(mark, PostRenderStrategy::Combined)
    };
    for verb in ["install", "upgrade"] {
        assert_eq!(by_helm(&theirs, verb, &chart, "mark").await, "ok");
        let outcome = by_us(&ours, verb, &chart, combined()).await.unwrap();
        assert!(outcome.succeeded(), "{:?}", outcome.failure);
        assert_same(&theirs.snapshot().await, &ours.snapshot().await, verb);
        let objects = [
            hook("h", "pre-install,pre-upgrade", "MARK-2"),
            config_map("a", "MARK-2"),
        ];
        write(&chart, "1.1.0", &objects);
    }
    let value = async |name: &str| {
        let path = config_map_path(&ours.namespace, name);
        live(&path).await.map(|object| object["data"]["k"].clone())
    };
    assert_eq!(value("a").await, Some(json!("marked-2")));
    assert_eq!(value("h").await, Some(json!("marked-2")), "hooks are in it");
    assert_eq!(value("b").await, None);

    // A rollback brings back what was recorded; there is nothing to render.
    for (world, by) in [(&theirs, By::Helm), (&ours, By::Ours)] {
        let back = Step::Rollback(1, Choice::default());
        assert_eq!(world.perform(by, &back, &chart).await, "ok");
    }
    assert_eq!(value("a").await, Some(json!("marked")));
    let (theirs, ours) = (theirs.snapshot().await, ours.snapshot().await);
    assert_same(&theirs, &ours, "after the rollback");
}

/// Helm's program has no flag for the strategy.
#[tokio::test]
async fn hooks_are_left_out_or_go_apart_when_that_is_asked_for() {
    for (strategy, of_hook, streams) in [
        (PostRenderStrategy::NoHooks, "MARK", 1),
        (PostRenderStrategy::Separate, "marked", 2),
    ] {
        let world = World::new("poststrategy").await;
        let objects = [hook("h", "pre-install", "MARK"), config_map("a", "MARK")];
        let chart = ChartFolder::new("1.0.0", &objects);
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let counting = move |stream: &str| {
            counter.fetch_add(1, Ordering::Relaxed);
            Ok::<_, PostRenderError>(mark(stream))
        };
        let post_render = PostRendering::new(counting, strategy);
        let outcome = by_us(&world, "install", &chart, post_render).await.unwrap();
        assert!(outcome.succeeded(), "{:?}", outcome.failure);
        for (name, expected) in [("a", "marked"), ("h", of_hook)] {
            let path = config_map_path(&world.namespace, name);
            assert_eq!(live(&path).await.unwrap()["data"]["k"], expected, "{name}");
        }
        assert_eq!(asked.load(Ordering::Relaxed), streams, "{strategy:?}");
    }
}

#[tokio::test]
async fn a_post_renderer_that_fails_leaves_nothing_behind() {
    let (theirs, ours) = tokio::join!(World::new("postfail"), World::new("postfail"));
    let chart = ChartFolder::new("1.0.0", &[config_map("a", "1")]);
    let told = by_helm(&theirs, "install", &chart, "fail").await;
    let start = "error while running post render on files: ";
    assert!(told.contains(start), "{told}");
    let fail = |_: &str| Err(PostRenderError::new("no"));
    let post_render = PostRendering::new(fail, PostRenderStrategy::Combined);
    let error = by_us(&ours, "install", &chart, post_render).await;
    assert_eq!(error.unwrap_err().to_string(), format!("{start}no"));
    let (theirs, ours) = (theirs.snapshot().await, ours.snapshot().await);
    assert_same(&theirs, &ours, "after the failure");
    assert_eq!(ours["records"], json!([]));
}
