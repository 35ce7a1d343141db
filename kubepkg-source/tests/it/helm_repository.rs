use kubepkg_api::Digest;
use kubepkg_source::Charts;

use crate::{chart, fetch, options, password, pinned, text, web, with_cache, with_credential};

#[tokio::test]
async fn fetches_an_exact_version() {
    let server = web().start().unwrap();
    let fetched = fetch(options(), &chart(&server.repository_url(), "web", "1.0.0"))
        .await
        .unwrap();
    assert_eq!(fetched.bytes, server.archive("web", "1.0.0").unwrap());
    assert_eq!(
        Some(fetched.digest.to_string()),
        server.digest("web", "1.0.0")
    );
    assert!(!fetched.from_cache);
}

#[tokio::test]
async fn tolerates_a_leading_v_and_build_metadata() {
    let server = web().start().unwrap();
    let url = server.repository_url();
    for (name, asked, stored) in [
        ("web", "v1.0.0", "1.0.0"),
        ("tool", "0.1.0", "v0.1.0"),
        ("web", "2.0.0", "2.0.0+b1"),
    ] {
        let fetched = fetch(options(), &chart(&url, name, asked)).await.unwrap();
        assert_eq!(
            Some(fetched.digest.to_string()),
            server.digest(name, stored),
            "{asked}"
        );
    }
}

#[tokio::test]
async fn follows_absolute_urls() {
    let server = web().absolute_urls().start().unwrap();
    fetch(options(), &chart(&server.repository_url(), "web", "1.0.0"))
        .await
        .unwrap();
}

#[tokio::test]
async fn asks_for_the_index_with_its_entity_tag() {
    let server = web().start().unwrap();
    let charts = Charts::new(options()).unwrap();
    charts
        .fetch(&chart(&server.repository_url(), "web", "1.0.0"))
        .await
        .unwrap();
    charts
        .fetch(&chart(&server.repository_url(), "tool", "v0.1.0"))
        .await
        .unwrap();
    let statuses: Vec<u16> = server
        .requests()
        .iter()
        .filter(|request| request.path == server.index_path())
        .map(|request| request.status)
        .collect();
    assert_eq!(statuses, [200, 304]);

    server
        .add_chart("web", "3.0.0", [("templates/a.yaml", "")])
        .unwrap();
    charts
        .fetch(&chart(&server.repository_url(), "web", "3.0.0"))
        .await
        .unwrap();
}

#[tokio::test]
async fn the_entity_tag_outlives_the_process() {
    let server = web().start().unwrap();
    let folder = tempfile::tempdir().unwrap();
    fetch(
        with_cache(&folder),
        &chart(&server.repository_url(), "web", "1.0.0"),
    )
    .await
    .unwrap();
    server.clear_requests();
    fetch(
        with_cache(&folder),
        &chart(&server.repository_url(), "tool", "v0.1.0"),
    )
    .await
    .unwrap();
    assert_eq!(server.requests()[0].status, 304);
}

#[tokio::test]
async fn sends_its_name() {
    let server = web().start().unwrap();
    fetch(options(), &chart(&server.repository_url(), "web", "1.0.0"))
        .await
        .unwrap();
    let wanted = concat!("kubepkg/", env!("CARGO_PKG_VERSION"));
    assert!(
        server
            .requests()
            .iter()
            .all(|r| r.user_agent.as_deref() == Some(wanted))
    );
}

#[tokio::test]
async fn sends_credentials_of_the_config_and_of_the_location() {
    let server = web().basic_auth("me", "s3cret").start().unwrap();
    let url = server.repository_url();
    fetch(with_credential(password()), &chart(&url, "web", "1.0.0"))
        .await
        .unwrap();
    let with_user = url.replace("http://", "http://me:s3cret@");
    fetch(options(), &chart(&with_user, "web", "1.0.0"))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_wrong_password_is_named_and_never_shown() {
    let server = web().basic_auth("me", "s3cret").start().unwrap();
    let url = server
        .repository_url()
        .replace("http://", "http://me:wr0ng@");
    let error = fetch(options(), &chart(&url, "web", "1.0.0"))
        .await
        .unwrap_err();
    assert_eq!(
        text(&server, &error),
        "chart web 1.0.0 from http://HOST/charts: http://HOST/charts/index.yaml answered 401 \
         Unauthorized: the credentials were refused; renew the credentials in the registry config"
    );
    assert!(!format!("{error:?}").contains("wr0ng"));
    assert_eq!(server.requests().len(), 1, "a refusal is not repeated");
}

#[tokio::test]
async fn an_unknown_chart_and_an_unknown_version_differ() {
    let server = web().start().unwrap();
    let url = server.repository_url();
    let error = fetch(options(), &chart(&url, "other", "1.0.0"))
        .await
        .unwrap_err();
    assert!(error.is_missing() && !error.is_transient());
    assert_eq!(
        text(&server, &error),
        "chart other 1.0.0 from http://HOST/charts: http://HOST/charts/index.yaml has no chart of \
         that name; check the repository, the chart's name and its version"
    );
    let error = fetch(options(), &chart(&url, "web", "9.0.0"))
        .await
        .unwrap_err();
    assert!(error.is_missing());
    assert_eq!(
        text(&server, &error),
        "chart web 9.0.0 from http://HOST/charts: http://HOST/charts/index.yaml has the chart, but \
         not that version; check the version"
    );
}

#[tokio::test]
async fn the_digest_of_the_index_counts_without_a_pinned_one() {
    let server = web().start().unwrap();
    server.fault(
        &server.archive_path("web", "1.0.0"),
        kubepkg_sandbox::Fault::WrongDigest,
    );
    let chart = chart(&server.repository_url(), "web", "1.0.0");
    let error = fetch(options(), &chart).await.unwrap_err();
    assert!(
        error.to_string().contains("index.yaml says sha256:"),
        "{error}"
    );
    assert!(!error.is_transient());
}

#[tokio::test]
async fn the_pinned_digest_counts_without_one_in_the_index() {
    let server = web().without_index_digests().start().unwrap();
    let url = server.repository_url();
    let digest = server.digest("web", "1.0.0").unwrap();
    fetch(options(), &pinned(&url, "web", "1.0.0", &digest))
        .await
        .unwrap();
    let other = Digest::of(b"something else").to_string();
    let error = fetch(options(), &pinned(&url, "web", "1.0.0", &other))
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains(&format!("the chart reference says {other}")),
        "{error}"
    );
    assert!(
        error
            .to_string()
            .contains(&format!("the content has {digest}")),
        "{error}"
    );
}

#[tokio::test]
async fn refuses_what_is_no_chart_reference() {
    let server = web().start().unwrap();
    let url = server.repository_url();
    for (repository, version, digest, expected) in [
        ("charts", "1.0.0", "", "it is not an absolute URL"),
        (
            "ftp://h/charts",
            "1.0.0",
            "",
            "scheme \"ftp\" are not supported",
        ),
        (
            url.as_str(),
            ">=1.0.0",
            "",
            "version \">=1.0.0\" is not an exact version",
        ),
        (
            url.as_str(),
            "1.0.0",
            "sha256:12",
            "invalid digest \"sha256:12\"",
        ),
    ] {
        let error = fetch(options(), &pinned(repository, "web", version, digest))
            .await
            .unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(!error.is_transient());
    }
    assert!(server.requests().is_empty());
}
