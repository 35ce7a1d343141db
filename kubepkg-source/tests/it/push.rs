//! Writing to a registry that fails, and what people complained about in others.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use kubepkg_sandbox::{ChartServer, Fault};
use kubepkg_source::{Artifact, Blob, Charts, OciReference, Pushed};

use crate::{chart, options, password, text, web, with_credential};

fn artifact(size: usize) -> Artifact {
    let blob = |media_type: &str, content: Vec<u8>| Blob {
        media_type: media_type.into(),
        content: Bytes::from(content),
    };
    // The bytes differ, so that a piece in the wrong place is noticed.
    let content = (0..size)
        .map(|at| u8::try_from(at % 251).unwrap())
        .collect();
    let layer = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
    Artifact {
        config: blob("application/vnd.cncf.helm.config.v1+json", b"{}".to_vec()),
        layers: vec![blob(layer, content)],
        annotations: BTreeMap::new(),
        mount_from: Vec::new(),
    }
}

fn reference(server: &ChartServer, name: &str) -> OciReference {
    OciReference::parse(&format!("{}/charts/{name}:1.0.0", server.address())).unwrap()
}

async fn push(charts: &Charts, server: &ChartServer, artifact: &Artifact) -> Pushed {
    charts
        .push(&reference(server, "new"), artifact)
        .await
        .unwrap()
}

#[tokio::test]
async fn what_is_pushed_can_be_fetched() {
    let server = web().token_auth("me", "s3cret").start().unwrap();
    let charts = Charts::new(with_credential(password())).unwrap();
    let artifact = artifact(1000);
    let pushed = push(&charts, &server, &artifact).await;
    assert_eq!(pushed.uploaded, 2);
    let fetched = charts
        .fetch(&chart(&server.registry_url(), "new", "1.0.0"))
        .await
        .unwrap();
    assert_eq!(fetched.bytes, artifact.layers[0].content);
}

#[tokio::test]
async fn what_is_there_is_not_sent_again() {
    let server = web().start().unwrap();
    let charts = Charts::new(options()).unwrap();
    push(&charts, &server, &artifact(1000)).await;
    server.clear_requests();
    let again = push(&charts, &server, &artifact(1000)).await;
    assert_eq!(again.uploaded, 0);
    assert_eq!(server.count("/v2/charts/new/blobs/uploads/"), 0);
}

#[tokio::test]
async fn a_large_blob_goes_on_where_it_stopped() {
    let server = web().start().unwrap();
    let mut options = options();
    options.limits.upload_chunk_bytes = 1000;
    let charts = Charts::new(options).unwrap();
    let place = "/v2/charts/new/blobs/uploads/1";
    server.fault(place, Fault::ServerError { times: 1 });
    let artifact = artifact(2500);
    push(&charts, &server, &artifact).await;
    let methods: Vec<String> = server
        .requests()
        .into_iter()
        .filter(|request| request.path == place)
        .map(|request| format!("{} {}", request.method, request.status))
        .collect();
    assert_eq!(
        methods,
        [
            "PATCH 503",
            "GET 204",
            "PATCH 202",
            "PATCH 202",
            "PATCH 202",
            "PUT 201"
        ]
    );
    let fetched = charts
        .fetch(&chart(&server.registry_url(), "new", "1.0.0"))
        .await
        .unwrap();
    assert_eq!(fetched.bytes, artifact.layers[0].content);
}

#[tokio::test]
async fn a_busy_registry_is_waited_for() {
    let server = web().start().unwrap();
    let manifest = server.manifest_path("new", "1.0.0");
    for path in ["/v2/charts/new/blobs/uploads/", &manifest] {
        let fault = Fault::RateLimited {
            retry_after: 0,
            times: 1,
        };
        server.fault(path, fault);
    }
    let charts = Charts::new(options()).unwrap();
    assert_eq!(push(&charts, &server, &artifact(10)).await.uploaded, 2);
    assert_eq!(server.count(&manifest), 2);
}

#[tokio::test]
async fn a_refused_push_names_the_reference_and_no_secret() {
    let server = web().basic_auth("me", "other").start().unwrap();
    let charts = Charts::new(with_credential(password())).unwrap();
    let error = charts
        .push(&reference(&server, "new"), &artifact(10))
        .await
        .unwrap_err();
    let shown = format!("{} {error:?}", text(&server, &error));
    assert!(
        shown.starts_with("chart new 1.0.0 from oci://HOST/charts: ")
            && shown.contains("401 Unauthorized: the credentials were refused"),
        "{shown}"
    );
    assert!(!shown.contains("s3cret"), "{shown}");
}

#[tokio::test]
async fn an_upload_that_goes_elsewhere_goes_without_credentials() {
    let server = web().basic_auth("me", "s3cret").start().unwrap();
    let charts = Charts::new(with_credential(password())).unwrap();
    server.fault("/v2/charts/new/blobs/uploads/", Fault::UploadElsewhere);
    push(&charts, &server, &artifact(10)).await;
    let elsewhere: Vec<_> = server
        .requests()
        .into_iter()
        .filter(|request| request.elsewhere)
        .collect();
    assert_eq!(elsewhere.len(), 2, "both blobs");
    assert!(
        elsewhere
            .iter()
            .all(|request| request.authorization.is_none())
    );
}

#[tokio::test]
async fn a_token_for_one_repository_is_not_used_for_another() {
    let server = web().token_auth("me", "s3cret").start().unwrap();
    let charts = Charts::new(with_credential(password())).unwrap();
    for (name, version) in [("web", "1.0.0"), ("tool", "v0.1.0"), ("web", "2.0.0+b1")] {
        charts
            .fetch(&chart(&server.registry_url(), name, version))
            .await
            .unwrap();
    }
    assert_eq!(server.count("/token"), 2);
}

#[tokio::test]
async fn a_forbidden_list_of_tags_matters_to_constraints_only() {
    let server = web().start().unwrap();
    server.fault("/v2/charts/web/tags/list", Fault::Forbidden);
    let charts = Charts::new(options()).unwrap();
    let of = |version| chart(&server.registry_url(), "web", version);
    assert_eq!(charts.resolve(&of("1.0.0")).await.unwrap(), "1.0.0");
    charts.fetch(&of("1.0.0")).await.unwrap();
    assert_eq!(server.count("/v2/charts/web/tags/list"), 0);
    let error = charts.resolve(&of("^1")).await.unwrap_err();
    assert!(error.to_string().contains("403 Forbidden"), "{error}");
}

#[tokio::test]
async fn a_constraint_means_the_highest_version_that_fits() {
    let server = web().start().unwrap();
    let charts = Charts::new(options()).unwrap();
    for repository in [server.registry_url(), server.repository_url()] {
        for (wanted, expected) in [
            ("^1", "1.0.0"),
            ("", "2.0.0+b1"),
            (">=1.0.0 <3", "2.0.0+b1"),
        ] {
            let found = charts.resolve(&chart(&repository, "web", wanted)).await;
            assert_eq!(found.unwrap(), expected, "{wanted:?} of {repository}");
        }
        let error = charts
            .resolve(&chart(&repository, "web", "^9"))
            .await
            .unwrap_err();
        assert!(
            error
                .to_string()
                .contains("could not locate a version matching"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_location_may_end_with_the_name_of_the_chart() {
    let server = web().start().unwrap();
    let charts = Charts::new(options()).unwrap();
    for location in [
        server.registry_url(),
        format!("{}/web", server.registry_url()),
        format!("{}/web/", server.registry_url()),
    ] {
        let fetched = charts
            .fetch(&chart(&location, "web", "1.0.0"))
            .await
            .unwrap();
        assert_eq!(
            Some(fetched.digest.to_string()),
            server.digest("web", "1.0.0"),
            "{location}"
        );
        let found = charts.resolve(&chart(&location, "web", "^1")).await;
        assert_eq!(found.unwrap(), "1.0.0", "{location}");
    }
}

#[tokio::test]
async fn a_download_goes_on_where_it_broke_off() {
    // Large enough to be on its way when the connection ends.
    let content: Bytes = artifact(400_000).layers[0].content.clone();
    let server = ChartServer::builder()
        .archive("big", "1.0.0", content.clone())
        .ranges()
        .start()
        .unwrap();
    let blob = server.blob_path("big", "1.0.0").unwrap();
    let archive = server.archive_path("big", "1.0.0");
    for (repository, path) in [
        (server.registry_url(), blob),
        (server.repository_url(), archive),
    ] {
        server.fault(&path, Fault::BrokenOff { times: 1 });
        let charts = Charts::new(options()).unwrap();
        let fetched = charts
            .fetch(&chart(&repository, "big", "1.0.0"))
            .await
            .unwrap();
        assert_eq!(fetched.bytes, content);
        let statuses: Vec<u16> = server
            .requests()
            .into_iter()
            .filter(|request| request.path == path)
            .map(|request| request.status)
            .collect();
        assert_eq!(statuses, [200, 206], "{path}");
    }
}

#[tokio::test]
async fn a_login_is_checked_against_the_registry() {
    for server in [
        web().basic_auth("me", "s3cret"),
        web().token_auth("me", "s3cret"),
    ] {
        let server = server.start().unwrap();
        let host = server.address().to_string();
        let charts = Charts::new(options()).unwrap();
        charts.check_login(&host, &password()).await.unwrap();
        let wrong = kubepkg_source::Credential::Basic {
            user: "me".into(),
            password: "wr0ng".into(),
        };
        let error = charts.check_login(&host, &wrong).await.unwrap_err();
        let shown = format!("{} {error:?}", text(&server, &error));
        assert!(shown.contains("the credentials were refused"), "{shown}");
        assert!(!shown.contains("wr0ng"), "{shown}");
    }
}

#[tokio::test]
async fn a_slow_registry_times_out() {
    let server = web().start().unwrap();
    server.fault(
        "/v2/charts/new/blobs/uploads/",
        Fault::Slow(Duration::from_mins(1)),
    );
    let mut options = options();
    options.limits.request_time = Duration::from_secs(1);
    options.limits.retry.attempts = 2;
    let charts = Charts::new(options).unwrap();
    let error = charts
        .push(&reference(&server, "new"), &artifact(10))
        .await
        .unwrap_err();
    assert!(error.is_transient(), "{error}");
    assert_eq!(server.count("/v2/charts/new/blobs/uploads/"), 2);
}
