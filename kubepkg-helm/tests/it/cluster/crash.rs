//! A process that ends between any two requests, and another that goes on.

use super::charts::{config_map, install, job_hook, rendered, upgrade};
use super::{config_map_path, helm_of, live, plane};
use kubepkg_helm::{
    Helm, HelmOptions, HookEvent, Operation, OperationError, ReleaseOptions, Rendered,
    UninstallRequest, Wait,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Helm whose requests fail without being sent after so many.
async fn mortal(requests: usize) -> Helm {
    let inner = plane().await.client_as("kubepkg").unwrap();
    let left = Arc::new(AtomicUsize::new(requests));
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        let (inner, left) = (inner.clone(), Arc::clone(&left));
        async move {
            let alive = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                left.checked_sub(1)
            });
            match alive {
                Ok(_) => inner.send(request).await.map_err(tower::BoxError::from),
                Err(_) => Err("the process has ended".into()),
            }
        }
    });
    Helm::new(
        kube::Client::new(service, "default"),
        HelmOptions::default(),
    )
}

/// Advances until something fails; the operation is dropped as a process drops it.
async fn until_the_end(begun: Result<Operation, OperationError>) -> Option<bool> {
    let mut operation = begun.ok()?;
    loop {
        match operation.advance().await {
            Ok(kubepkg_helm::Advance::Finished(outcome)) => return Some(outcome.succeeded()),
            Ok(kubepkg_helm::Advance::Stepped(_)) => {}
            Ok(kubepkg_helm::Advance::Waiting { .. }) => {
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
            Err(_) => return None,
        }
    }
}

fn chart(version: &str, objects: &[serde_json::Value], event: HookEvent) -> Rendered {
    rendered(
        version,
        objects,
        vec![job_hook("once", event, 0, "", "run")],
    )
}

fn options() -> ReleaseOptions {
    ReleaseOptions {
        wait: Wait::Ready,
        ..ReleaseOptions::default()
    }
}

#[tokio::test]
async fn an_install_that_crashes_anywhere_is_finished_by_another_process() {
    let plane = plane().await;
    let good = helm_of("kubepkg").await;
    let mut finished = false;
    for requests in 0.. {
        let namespace = plane.namespace("crash").await.unwrap();
        let helm = mortal(requests).await;
        let first = chart(
            "1.0.0",
            &[config_map("a", "1"), config_map("b", "1")],
            HookEvent::PreInstall,
        );
        let begun = helm
            .begin_install_rendered(install(&namespace, options()), first.clone())
            .await;
        finished = until_the_end(begun).await == Some(true);
        let job = format!("/apis/batch/v1/namespaces/{namespace}/jobs/once");
        let ran = live(&job).await;
        if !finished {
            match good.resume(&namespace, "demo").await {
                Ok(mut operation) => assert!(operation.run().await.unwrap().succeeded()),
                // It crashed before the record, or after the last write.
                Err(OperationError::NotFound { .. }) => {
                    assert!(ran.is_none());
                    let request = install(&namespace, options());
                    let operation = good.begin_install_rendered(request, first).await;
                    assert!(operation.unwrap().run().await.unwrap().succeeded());
                }
                Err(OperationError::NothingToResume { .. }) => {}
                Err(error) => panic!("after {requests} requests: {error}"),
            }
        }
        let release = good.status(&namespace, "demo").await.unwrap();
        assert_eq!(
            release.info.description, "Install complete",
            "after {requests} requests"
        );
        assert_eq!(release.hooks[0].last_run.phase.as_str(), "Succeeded");
        assert_eq!(
            live(&config_map_path(&namespace, "b")).await.unwrap()["data"]["k"],
            "1"
        );
        if let Some(ran) = ran {
            let now = live(&job).await.unwrap();
            assert_eq!(
                ran["metadata"]["uid"], now["metadata"]["uid"],
                "the hook ran twice"
            );
        }
        if finished {
            break;
        }
        assert!(
            requests < 60,
            "the install needs more requests than it should"
        );
    }
    assert!(finished);
}

#[tokio::test]
async fn an_upgrade_and_a_removal_that_crash_anywhere_are_finished_by_another_process() {
    let plane = plane().await;
    let good = helm_of("kubepkg").await;
    for requests in (1..40).step_by(2) {
        let namespace = plane.namespace("crashup").await.unwrap();
        let first = rendered(
            "1.0.0",
            &[config_map("a", "1"), config_map("b", "1")],
            vec![],
        );
        let begun = good
            .begin_install_rendered(install(&namespace, options()), first)
            .await;
        assert!(begun.unwrap().run().await.unwrap().succeeded());
        let helm = mortal(requests).await;
        let second = chart(
            "1.1.0",
            &[config_map("a", "2"), config_map("c", "1")],
            HookEvent::PostUpgrade,
        );
        let begun = helm
            .begin_upgrade_rendered(upgrade(&namespace, options()), second.clone())
            .await;
        let finished = until_the_end(begun).await == Some(true);
        if !finished {
            match good.resume(&namespace, "demo").await {
                Ok(mut operation) => assert!(operation.run().await.unwrap().succeeded()),
                Err(OperationError::NothingToResume { revision: 1, .. }) => {
                    let request = upgrade(&namespace, options());
                    let operation = good.begin_upgrade_rendered(request, second).await;
                    assert!(operation.unwrap().run().await.unwrap().succeeded());
                }
                Err(OperationError::NothingToResume { .. }) => {}
                Err(error) => panic!("after {requests} requests: {error}"),
            }
        }
        let history = good.history(&namespace, "demo").await.unwrap();
        let told: Vec<&str> = history.iter().map(|head| head.status.as_str()).collect();
        assert_eq!(
            told,
            ["superseded", "deployed"],
            "after {requests} requests"
        );
        assert_eq!(
            live(&config_map_path(&namespace, "a")).await.unwrap()["data"]["k"],
            "2"
        );
        assert!(live(&config_map_path(&namespace, "b")).await.is_none());
        assert!(live(&config_map_path(&namespace, "c")).await.is_some());

        let helm = mortal(requests).await;
        let begun = helm
            .begin_uninstall(UninstallRequest::new(&namespace, "demo"))
            .await;
        if until_the_end(begun).await != Some(true) {
            match good.resume(&namespace, "demo").await {
                Ok(mut operation) => assert!(operation.run().await.unwrap().succeeded()),
                Err(OperationError::NotFound { .. }) => {}
                Err(OperationError::NothingToResume { .. }) => {
                    let request = UninstallRequest::new(&namespace, "demo");
                    assert!(good.uninstall(request).await.unwrap().succeeded());
                }
                Err(error) => panic!("after {requests} requests: {error}"),
            }
        }
        assert!(good.history(&namespace, "demo").await.unwrap().is_empty());
        assert!(live(&config_map_path(&namespace, "a")).await.is_none());
        if finished && requests > 25 {
            break;
        }
    }
}

/// Helm that loses the answer to one request, after the server has acted on it.
async fn deaf(request: usize) -> (Helm, Arc<AtomicUsize>) {
    let inner = plane().await.client_as("kubepkg").unwrap();
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&sent);
    let service = tower::service_fn(move |asked: http::Request<kube::client::Body>| {
        let (inner, counter) = (inner.clone(), Arc::clone(&counter));
        async move {
            let number = counter.fetch_add(1, Ordering::SeqCst);
            let answer = inner.send(asked).await.map_err(tower::BoxError::from)?;
            if number == request {
                return Err(tower::BoxError::from("the connection broke"));
            }
            Ok(answer)
        }
    });
    let client = kube::Client::new(service, "default");
    (Helm::new(client, HelmOptions::default()), sent)
}

#[tokio::test]
async fn an_answer_that_is_lost_changes_nothing() {
    for batch in 0.. {
        let mut lives = tokio::task::JoinSet::new();
        for request in 0..8 {
            lives.spawn(live_without_answer(batch * 8 + request));
        }
        if lives.join_all().await.contains(&false) {
            break;
        }
        assert!(
            batch < 15,
            "the operations need more requests than they should"
        );
    }
}

/// A whole life of a release in which one answer is lost; false when there were not so many requests.
async fn live_without_answer(request: usize) -> bool {
    let plane = plane().await;
    let good = helm_of("kubepkg").await;
    let namespace = plane.namespace("deaf").await.unwrap();
    let (helm, sent) = deaf(request).await;
    let patient = |error: OperationError| assert!(error.is_transient(), "{error}");
    let first = chart(
        "1.0.0",
        &[config_map("a", "1"), config_map("b", "1")],
        HookEvent::PreInstall,
    );
    let mut operation = loop {
        let request = install(&namespace, options());
        match helm.begin_install_rendered(request, first.clone()).await {
            Ok(operation) => break operation,
            Err(error) => patient(error),
        }
    };
    assert!(
        operation.run().await.unwrap().succeeded(),
        "answer {request}"
    );
    let second = chart(
        "1.1.0",
        &[config_map("a", "2"), config_map("c", "1")],
        HookEvent::PostUpgrade,
    );
    let mut operation = loop {
        let request = upgrade(&namespace, options());
        match helm.begin_upgrade_rendered(request, second.clone()).await {
            Ok(operation) => break operation,
            Err(error) => patient(error),
        }
    };
    assert!(
        operation.run().await.unwrap().succeeded(),
        "answer {request}"
    );
    let history = good.history(&namespace, "demo").await.unwrap();
    let told: Vec<&str> = history.iter().map(|head| head.status.as_str()).collect();
    assert_eq!(told, ["superseded", "deployed"], "answer {request}");
    assert!(history.iter().all(|head| head.progress.is_none()));
    assert!(live(&config_map_path(&namespace, "b")).await.is_none());
    let mut operation = loop {
        let request = UninstallRequest::new(&namespace, "demo");
        match helm.begin_uninstall(request).await {
            Ok(operation) => break operation,
            Err(error) => patient(error),
        }
    };
    assert!(
        operation.run().await.unwrap().succeeded(),
        "answer {request}"
    );
    assert!(live(&config_map_path(&namespace, "c")).await.is_none());
    assert!(good.latest(&namespace, "demo").await.unwrap().is_none());
    sent.load(Ordering::SeqCst) > request
}

#[tokio::test]
async fn of_two_processes_that_resume_one_goes_on_and_the_other_stops() {
    let plane = plane().await;
    let helm = helm_of("kubepkg").await;
    let namespace = plane.namespace("two").await.unwrap();
    let first = chart("1.0.0", &[config_map("a", "1")], HookEvent::PreInstall);
    let request = install(&namespace, options());
    let mut operation = helm.begin_install_rendered(request, first).await.unwrap();
    operation.advance().await.unwrap();
    drop(operation);
    let mut one = Operation::resume(&helm, &namespace, "demo").await.unwrap();
    let mut other = Operation::resume(&helm, &namespace, "demo").await.unwrap();
    assert!(one.run().await.unwrap().succeeded());
    let stopped = other.run().await.unwrap_err();
    assert!(
        matches!(stopped, OperationError::Overtaken { .. }),
        "{stopped:?}"
    );
    let release = helm.status(&namespace, "demo").await.unwrap();
    assert_eq!(release.info.description, "Install complete");

    // A third process can end what the first has left.
    let second = chart("1.1.0", &[config_map("a", "2")], HookEvent::PreUpgrade);
    let request = upgrade(&namespace, options());
    let mut operation = helm.begin_upgrade_rendered(request, second).await.unwrap();
    operation.advance().await.unwrap();
    drop(operation);
    let mut third = helm.resume(&namespace, "demo").await.unwrap();
    assert!(!third.cancel("given up").await.unwrap().succeeded());
    let history = helm.history(&namespace, "demo").await.unwrap();
    let told: Vec<&str> = history.iter().map(|head| head.status.as_str()).collect();
    assert_eq!(told, ["deployed", "failed"]);
}
