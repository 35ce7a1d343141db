use super::charts::{config_map, install, job_hook, rendered, upgrade};
use super::{config_map_path, helm_of, live, plane};
use k8s_openapi::api::batch::v1::Job;
use kube::api::{Api, DeleteParams};
use kubepkg_helm::{
    Advance, Chart, ChartLimits, FailureReason, HookEvent, HookPhase, InstallRequest,
    ReleaseOptions, ReleaseStatus, Step, UninstallRequest,
};
use kubepkg_sandbox::eventually;
use std::time::Duration;

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

/// The server removes such a Job in the moment it ends: nobody who looks from time to time sees its end.
#[tokio::test]
async fn a_job_that_removes_itself_has_still_succeeded_or_failed() {
    for (fate, phase) in [("run", HookPhase::Succeeded), ("fail", HookPhase::Failed)] {
        let namespace = plane().await.namespace("ttl").await.unwrap();
        let helm = helm_of("kubepkg").await;
        let mut hook = job_hook("brief", HookEvent::PreInstall, 0, "", fate);
        hook.manifest = hook.manifest.replace(
            "\"backoffLimit\":0",
            "\"backoffLimit\":0,\"ttlSecondsAfterFinished\":0",
        );
        let chart = rendered("1.0.0", &[config_map("a", "1")], vec![hook]);
        let request = install(&namespace, ReleaseOptions::default());
        let mut operation = helm.begin_install_rendered(request, chart).await.unwrap();
        while !matches!(operation.next_step(), Some(Step::AwaitHook(_))) {
            operation.advance().await.unwrap();
        }
        eventually("the Job to be gone", Duration::from_secs(30), || async {
            live(&job_path(&namespace, "brief"))
                .await
                .is_none()
                .then_some(())
        })
        .await
        .unwrap();
        let outcome = operation.run().await.unwrap();
        assert_eq!(outcome.succeeded(), fate == "run", "{:?}", outcome.failure);
        let release = helm.status(&namespace, "demo").await.unwrap();
        assert_eq!(release.hooks[0].last_run.phase, phase);
    }
}

/// A Job that somebody deleted before its end is missed, not taken for done.
#[tokio::test]
async fn a_hook_that_was_deleted_before_its_end_has_not_succeeded() {
    let namespace = plane().await.namespace("missed").await.unwrap();
    let helm = helm_of("kubepkg").await;
    let hooks = vec![job_hook("stuck", HookEvent::PreInstall, 0, "", "never")];
    let chart = rendered("1.0.0", &[config_map("a", "1")], hooks);
    let request = install(&namespace, ReleaseOptions::default());
    let mut operation = helm.begin_install_rendered(request, chart).await.unwrap();
    while !matches!(operation.next_step(), Some(Step::AwaitHook(_))) {
        operation.advance().await.unwrap();
    }
    let jobs: Api<Job> = Api::namespaced(plane().await.client().unwrap(), &namespace);
    jobs.delete("stuck", &DeleteParams::background())
        .await
        .unwrap();
    eventually("the Job to be gone", Duration::from_secs(30), || async {
        live(&job_path(&namespace, "stuck"))
            .await
            .is_none()
            .then_some(())
    })
    .await
    .unwrap();
    // The first look is at what the apply returned; the watch that it begins tells of the deletion.
    for look in 0.. {
        let Advance::Waiting { not_ready, .. } = operation.advance().await.unwrap() else {
            panic!("it should go on waiting")
        };
        if not_ready[0].message == "Resource not found" {
            break;
        }
        assert!(look < 50, "{not_ready:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    operation.cancel("enough").await.unwrap();
}

#[tokio::test]
async fn what_the_server_refuses_of_a_hook_is_named_with_its_line() {
    let namespace = plane().await.namespace("hookline").await.unwrap();
    let helm = helm_of("kubepkg").await;
    let hook = "{{/* a comment */}}\n---\napiVersion: v1\nkind: ConfigMap\n\
                metadata: {name: h, annotations: {helm.sh/hook: pre-install}}\nspec: {nope: 1}\n";
    let files = [
        ("Chart.yaml", "apiVersion: v2\nname: demo\nversion: 1.0.0\n"),
        ("templates/h.yaml", hook),
    ];
    let chart = Chart::from_files(files, &ChartLimits::default()).unwrap();
    let request = InstallRequest {
        chart: chart.into(),
        ..install(&namespace, ReleaseOptions::default())
    };
    let message = helm
        .install(request)
        .await
        .unwrap()
        .failure
        .unwrap()
        .message;
    let start = "failed pre-install: warning: Hook pre-install demo/templates/h.yaml failed: ";
    assert!(message.starts_with(start), "{message}");
    let end = ".spec: field not declared in schema (template demo/templates/h.yaml:3)";
    assert!(message.ends_with(end), "{message}");
}
