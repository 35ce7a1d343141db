use super::charts::{config_map, install, job_hook, rendered, upgrade};
use super::{config_map_path, helm_of, live, plane};
use kubepkg_helm::{
    FailureReason, HookEvent, HookPhase, ReleaseOptions, ReleaseStatus, UninstallRequest,
};

fn job_path(namespace: &str, name: &str) -> String {
    format!("/apis/batch/v1/namespaces/{namespace}/jobs/{name}")
}

#[tokio::test]
async fn hooks_run_by_weight_and_are_deleted_by_policy() {
    let namespace = plane().await.namespace("hooks").await.unwrap();
    let helm = helm_of("kubepkg").await;
    let hooks = vec![
        job_hook("second", HookEvent::PreInstall, 5, "", "run"),
        job_hook("first", HookEvent::PreInstall, -5, "hook-succeeded", "run"),
        job_hook("after", HookEvent::PostInstall, 0, "", "run"),
        job_hook("never", HookEvent::PreUpgrade, 0, "", "run"),
    ];
    let chart = rendered("1.0.0", &[config_map("a", "1")], hooks);
    let request = install(&namespace, ReleaseOptions::default());
    let outcome = helm
        .begin_install_rendered(request, chart.clone())
        .await
        .unwrap()
        .run()
        .await
        .unwrap();
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
    let release = helm.status(&namespace, "demo").await.unwrap();
    let phases: Vec<&str> = release
        .hooks
        .iter()
        .map(|hook| hook.last_run.phase.as_str())
        .collect();
    assert_eq!(phases, ["Succeeded", "Succeeded", "Succeeded", ""]);
    let started = |index: usize| release.hooks[index].last_run.started_at.clone().unwrap();
    assert!(started(1) < started(0) && started(0) < started(2));
    assert!(live(&job_path(&namespace, "first")).await.is_none());
    assert!(live(&job_path(&namespace, "after")).await.is_some());
    assert!(live(&job_path(&namespace, "never")).await.is_none());

    // A hook that stayed is deleted before it runs again; hooks without marks of a release are no objects of it.
    let old = live(&job_path(&namespace, "second")).await.unwrap();
    helm.uninstall(UninstallRequest::new(&namespace, "demo"))
        .await
        .unwrap();
    assert!(live(&job_path(&namespace, "second")).await.is_some());
    let request = install(&namespace, ReleaseOptions::default());
    let outcome = helm
        .begin_install_rendered(request, chart)
        .await
        .unwrap()
        .run()
        .await
        .unwrap();
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
    let new = live(&job_path(&namespace, "second")).await.unwrap();
    assert_ne!(old["metadata"]["uid"], new["metadata"]["uid"]);
}

#[tokio::test]
async fn a_failed_hook_fails_the_release_before_its_objects() {
    let namespace = plane().await.namespace("badhook").await.unwrap();
    let helm = helm_of("kubepkg").await;
    let hooks = vec![
        job_hook("good", HookEvent::PreInstall, 0, "hook-succeeded", "run"),
        job_hook("bad", HookEvent::PreInstall, 1, "hook-failed", "fail"),
    ];
    let chart = rendered("1.0.0", &[config_map("a", "1")], hooks);
    let request = install(&namespace, ReleaseOptions::default());
    let outcome = helm
        .begin_install_rendered(request, chart)
        .await
        .unwrap()
        .run()
        .await
        .unwrap();
    let failure = outcome.failure.unwrap();
    assert_eq!(failure.reason, FailureReason::Hook);
    let text = format!(
        "failed pre-install: resource Job/{namespace}/bad not ready. status: Failed, message: Job Failed. failed: 1/1"
    );
    assert_eq!(failure.message, text);
    let release = helm.status(&namespace, "demo").await.unwrap();
    assert_eq!(release.info.status, ReleaseStatus::Failed);
    assert_eq!(
        release.info.description,
        format!("Release \"demo\" failed: {text}")
    );
    assert_eq!(release.hooks[1].last_run.phase, HookPhase::Failed);
    assert!(live(&config_map_path(&namespace, "a")).await.is_none());
    assert!(live(&job_path(&namespace, "good")).await.is_none());
    assert!(live(&job_path(&namespace, "bad")).await.is_none());

    // An upgrade puts it right: there is no deployed revision, the failed one is replaced.
    let chart = rendered("1.0.1", &[config_map("a", "1")], vec![]);
    let request = upgrade(&namespace, ReleaseOptions::default());
    let outcome = helm
        .begin_upgrade_rendered(request, chart)
        .await
        .unwrap()
        .run()
        .await
        .unwrap();
    assert!(outcome.succeeded(), "{:?}", outcome.failure);
    let told: Vec<String> = helm
        .history(&namespace, "demo")
        .await
        .unwrap()
        .iter()
        .map(|head| head.status.to_string())
        .collect();
    assert_eq!(told, ["superseded", "deployed"]);
}

#[tokio::test]
async fn hooks_can_be_skipped() {
    let namespace = plane().await.namespace("nohooks").await.unwrap();
    let helm = helm_of("kubepkg").await;
    let hooks = vec![job_hook("bad", HookEvent::PreInstall, 1, "", "fail")];
    let options = ReleaseOptions {
        skip_hooks: true,
        ..ReleaseOptions::default()
    };
    let chart = rendered("1.0.0", &[config_map("a", "1")], hooks);
    let operation = helm
        .begin_install_rendered(install(&namespace, options), chart)
        .await;
    assert!(operation.unwrap().run().await.unwrap().succeeded());
    assert!(live(&job_path(&namespace, "bad")).await.is_none());
}

#[tokio::test]
async fn hooks_of_other_events_are_not_looked_at() {
    let namespace = plane().await.namespace("tests").await.unwrap();
    let helm = helm_of("kubepkg").await;
    let mut test = job_hook("test", HookEvent::Test, 0, "", "run");
    test.manifest =
        "apiVersion: nope.test/v1\nkind: Nope\nmetadata:\n  generateName: x\n".to_owned();
    let chart = rendered("1.0.0", &[config_map("a", "1")], vec![test]);
    let request = install(&namespace, ReleaseOptions::default());
    let mut operation = helm.begin_install_rendered(request, chart).await.unwrap();
    assert!(operation.run().await.unwrap().succeeded());
    // What is no name of a release finds nothing.
    for name in ["demo,owner=helm", "", "../demo"] {
        assert!(helm.latest(&namespace, name).await.unwrap().is_none());
    }
}
