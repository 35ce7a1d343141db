//! Every fault of the server has a text of its own and is repeated only when that can help.

use std::time::{Duration, Instant};

use kubepkg_sandbox::{ChartServer, Fault};
use kubepkg_source::SourceOptions;

use crate::{chart, fetch, options, password, text, web, with_credential};

/// What a fault must lead to.
struct Expected {
    /// Part of the text, `HOST` for the server's address.
    text: &'static str,
    transient: bool,
    /// Requests to the path with the fault.
    requests: usize,
}

/// Options with limits that a test can wait for.
fn impatient() -> SourceOptions {
    let mut options = options();
    options.limits.read_time = Duration::from_millis(200);
    options.limits.request_time = Duration::from_millis(400);
    options.limits.retry.attempts = 2;
    options
}

/// Both ways to a chart, with the path of the document and the path of the archive.
fn ways(server: &ChartServer) -> [(String, [String; 2]); 2] {
    [
        (
            server.repository_url(),
            [server.index_path(), server.archive_path("web", "1.0.0")],
        ),
        (
            server.registry_url(),
            [
                server.manifest_path("web", "1.0.0"),
                server.blob_path("web", "1.0.0").unwrap(),
            ],
        ),
    ]
}

async fn check(fault: Fault, expected: Expected) {
    for way in 0..2 {
        for step in 0..2 {
            let server = web().start().unwrap();
            let (url, paths) = &ways(&server)[way];
            let path = &paths[step];
            server.fault(path, fault.clone());
            let error = fetch(impatient(), &chart(url, "web", "1.0.0"))
                .await
                .unwrap_err();
            let text = text(&server, &error);
            let named = format!(
                "chart web 1.0.0 from {}: ",
                url.replace(&server.address().to_string(), "HOST")
            );
            assert!(text.starts_with(&named), "{text}");
            assert!(text.contains(expected.text), "{fault:?} at {path}: {text}");
            assert_eq!(error.is_transient(), expected.transient, "{text}");
            assert_eq!(server.count(path), expected.requests, "{fault:?} at {path}");
        }
    }
}

#[tokio::test]
async fn unauthorized_is_final() {
    let text = "answered 401 Unauthorized, and no credentials are known for it; add credentials";
    check(
        Fault::Unauthorized,
        Expected {
            text,
            transient: false,
            requests: 1,
        },
    )
    .await;
}

#[tokio::test]
async fn forbidden_is_final() {
    let text = "answered 403 Forbidden, and no credentials are known for it; add credentials";
    check(
        Fault::Forbidden,
        Expected {
            text,
            transient: false,
            requests: 1,
        },
    )
    .await;
}

#[tokio::test]
async fn not_found_is_missing_and_says_what() {
    let server = web().start().unwrap();
    let texts = [
        [
            "there is no index at http://HOST/charts/index.yaml",
            "index.yaml leads to http://HOST/charts/web-1.0.0.tgz",
        ],
        [
            "the registry has no HOST/charts/web:1.0.0",
            "the manifest leads to http://HOST/v2/charts/web/blobs/sha256:",
        ],
    ];
    for ((url, paths), texts) in ways(&server).iter().zip(texts) {
        for (path, expected) in paths.iter().zip(texts) {
            server.clear_faults();
            server.fault(path, Fault::NotFound);
            let error = fetch(impatient(), &chart(url, "web", "1.0.0"))
                .await
                .unwrap_err();
            let text = text(&server, &error);
            assert!(text.contains(expected), "{text}");
            assert!(error.is_missing() && !error.is_transient(), "{text}");
        }
    }
}

#[tokio::test]
async fn server_errors_are_tried_again_and_then_named() {
    let text = "answered 503 Service Unavailable; it is tried again";
    let fault = Fault::ServerError { times: 9 };
    check(
        fault,
        Expected {
            text,
            transient: true,
            requests: 2,
        },
    )
    .await;
}

#[tokio::test]
async fn a_server_that_recovers_is_no_error() {
    for way in 0..2 {
        let server = web().start().unwrap();
        let (url, paths) = &ways(&server)[way];
        for path in paths {
            server.fault(path, Fault::ServerError { times: 1 });
        }
        let fetched = fetch(options(), &chart(url, "web", "1.0.0")).await.unwrap();
        assert_eq!(
            Some(fetched.digest.to_string()),
            server.digest("web", "1.0.0")
        );
    }
}

#[tokio::test]
async fn retry_after_is_waited_for() {
    let server = web().start().unwrap();
    server.fault(
        &server.index_path(),
        Fault::RateLimited {
            retry_after: 1,
            times: 1,
        },
    );
    let begun = Instant::now();
    fetch(options(), &chart(&server.repository_url(), "web", "1.0.0"))
        .await
        .unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(1));
}

#[tokio::test]
async fn a_retry_after_beyond_the_limit_is_reported_at_once() {
    let server = web().start().unwrap();
    server.fault(
        &server.index_path(),
        Fault::RateLimited {
            retry_after: 3600,
            times: 9,
        },
    );
    let chart = chart(&server.repository_url(), "web", "1.0.0");
    let error = fetch(options(), &chart).await.unwrap_err();
    assert!(error.is_transient());
    assert_eq!(error.retry_after(), Some(Duration::from_hours(1)));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_silent_server_times_out() {
    let text = "did not answer completely in time; check the address, the network and the proxy";
    let fault = Fault::Slow(Duration::from_secs(30));
    check(
        fault,
        Expected {
            text,
            transient: true,
            requests: 2,
        },
    )
    .await;
}

#[tokio::test]
async fn a_trickling_server_times_out_as_a_whole() {
    let text = "did not answer completely in time";
    let fault = Fault::Trickle(Duration::from_millis(50));
    check(
        fault,
        Expected {
            text,
            transient: true,
            requests: 2,
        },
    )
    .await;
}

#[tokio::test]
async fn the_whole_fetch_has_a_limit() {
    let server = web().start().unwrap();
    server.fault(&server.index_path(), Fault::Slow(Duration::from_secs(30)));
    let mut options = options();
    options.limits.total_time = Duration::from_millis(300);
    let begun = Instant::now();
    let chart = chart(&server.repository_url(), "web", "1.0.0");
    let error = fetch(options, &chart).await.unwrap_err();
    assert!(error.to_string().contains("gave up after 0.3 s"), "{error}");
    assert!(error.is_transient());
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_broken_off_answer_is_tried_again() {
    let expected = Expected {
        text: "broke off: ",
        transient: true,
        requests: 2,
    };
    check(Fault::Truncated, expected).await;
}

#[tokio::test]
async fn content_with_another_digest_is_final() {
    let server = web().start().unwrap();
    for (url, [_, archive]) in ways(&server) {
        server.fault(&archive, Fault::WrongDigest);
        let error = fetch(impatient(), &chart(&url, "web", "1.0.0"))
            .await
            .unwrap_err();
        assert!(error.to_string().contains("digest mismatch at "), "{error}");
        assert!(!error.is_transient());
        assert_eq!(server.count(&archive), 1);
    }
}

#[tokio::test]
async fn an_announced_size_over_the_limit_is_refused() {
    let text = "is larger than the limit of ";
    check(
        Fault::TooLarge,
        Expected {
            text,
            transient: false,
            requests: 1,
        },
    )
    .await;
}

#[tokio::test]
async fn an_endless_body_is_cut_at_the_limit() {
    let server = web().start().unwrap();
    for (url, paths) in ways(&server) {
        for path in paths {
            server.clear_faults();
            server.fault(&path, Fault::Endless);
            let mut options = options();
            options.limits.archive_bytes = 100_000;
            options.limits.index_bytes = 100_000;
            options.limits.manifest_bytes = 100_000;
            let error = fetch(options, &chart(&url, "web", "1.0.0"))
                .await
                .unwrap_err();
            assert!(
                error
                    .to_string()
                    .contains("larger than the limit of 100000 bytes"),
                "{error}"
            );
        }
    }
}

#[tokio::test]
async fn credentials_do_not_follow_a_redirect_elsewhere() {
    let server = web().basic_auth("me", "s3cret").start().unwrap();
    for (url, paths) in ways(&server) {
        for path in paths {
            server.clear_faults();
            server.clear_requests();
            server.fault(&path, Fault::RedirectElsewhere);
            fetch(with_credential(password()), &chart(&url, "web", "1.0.0"))
                .await
                .unwrap();
            let elsewhere: Vec<_> = server
                .requests()
                .into_iter()
                .filter(|request| request.elsewhere)
                .collect();
            assert_eq!(elsewhere.len(), 1, "{path}");
            assert_eq!(elsewhere[0].authorization, None, "{path}");
        }
    }
}

#[tokio::test]
async fn nobody_listening_is_transient() {
    let url = {
        let server = web().start().unwrap();
        server.repository_url()
    };
    let mut options = options();
    options.limits.retry.attempts = 2;
    let error = fetch(options, &chart(&url, "web", "1.0.0"))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("can't connect to "), "{error}");
    assert!(error.is_transient());
}
