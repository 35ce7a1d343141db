use kubepkg_api::Digest;
use kubepkg_sandbox::ChartServer;
use kubepkg_source::{Charts, Credential, DockerConfig};

use crate::{chart, fetch, options, password, pinned, text, web, with_credential};

#[tokio::test]
async fn fetches_an_exact_version_without_listing_tags() {
    let server = web().start().unwrap();
    let fetched = fetch(options(), &chart(&server.registry_url(), "web", "1.0.0"))
        .await
        .unwrap();
    assert_eq!(fetched.bytes, server.archive("web", "1.0.0").unwrap());
    let paths: Vec<String> = server.requests().into_iter().map(|r| r.path).collect();
    assert_eq!(
        paths,
        [
            server.manifest_path("web", "1.0.0"),
            server.blob_path("web", "1.0.0").unwrap()
        ]
    );
}

#[tokio::test]
async fn plus_is_an_underscore_in_tags() {
    let server = web().start().unwrap();
    fetch(options(), &chart(&server.registry_url(), "web", "2.0.0+b1"))
        .await
        .unwrap();
    assert_eq!(
        server.requests()[0].path,
        "/v2/charts/web/manifests/2.0.0_b1"
    );
}

#[tokio::test]
async fn tolerates_a_leading_v() {
    let server = web().start().unwrap();
    for (name, asked, stored) in [("web", "v1.0.0", "1.0.0"), ("tool", "0.1.0", "v0.1.0")] {
        let fetched = fetch(options(), &chart(&server.registry_url(), name, asked))
            .await
            .unwrap();
        assert_eq!(
            Some(fetched.digest.to_string()),
            server.digest(name, stored)
        );
    }
}

#[tokio::test]
async fn an_unknown_tag_is_missing() {
    let server = web().start().unwrap();
    let chart = chart(&server.registry_url(), "web", "9.0.0");
    let error = fetch(options(), &chart).await.unwrap_err();
    assert!(error.is_missing() && !error.is_transient());
    assert_eq!(
        text(&server, &error),
        "chart web 9.0.0 from oci://HOST/charts: the registry has no HOST/charts/web:9.0.0; check \
         the repository, the chart's name and its version"
    );
}

#[tokio::test]
async fn another_pinned_digest_is_refused_before_the_download() {
    let server = web().start().unwrap();
    let other = Digest::of(b"something else").to_string();
    let chart = pinned(&server.registry_url(), "web", "1.0.0", &other);
    let error = fetch(options(), &chart).await.unwrap_err();
    assert!(
        error
            .to_string()
            .contains(&format!("the chart reference says {other}")),
        "{error}"
    );
    assert_eq!(server.count("/v2/charts/web/blobs/"), 0);
}

#[tokio::test]
async fn answers_a_basic_challenge() {
    let server = web().basic_auth("me", "s3cret").start().unwrap();
    let chart = chart(&server.registry_url(), "web", "1.0.0");
    fetch(with_credential(password()), &chart).await.unwrap();
    let sent: Vec<bool> = server
        .requests()
        .iter()
        .map(|r| r.authorization.is_some())
        .collect();
    assert_eq!(
        sent,
        [false, true, true],
        "a password is sent when it is asked for"
    );
}

#[tokio::test]
async fn gets_one_token_for_manifest_and_blob() {
    let server = web().token_auth("me", "s3cret").start().unwrap();
    let chart = chart(&server.registry_url(), "web", "1.0.0");
    let charts = Charts::new(with_credential(password())).unwrap();
    charts.fetch(&chart).await.unwrap();
    charts.fetch(&chart).await.unwrap();
    assert_eq!(server.count("/token"), 1);
}

#[tokio::test]
async fn exchanges_an_identity_token() {
    let server = web().token_auth("me", "s3cret").start().unwrap();
    let chart = chart(&server.registry_url(), "web", "1.0.0");
    let token = Credential::IdentityToken("s3cret".into());
    fetch(with_credential(token), &chart).await.unwrap();
}

#[tokio::test]
async fn credentials_come_from_the_docker_config_of_the_repository() {
    let server = web().token_auth("me", "s3cret").start().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.json");
    // base64: me:s3cret = bWU6czNjcmV0, me:wrong = bWU6d3Jvbmc=
    let config = format!(
        r#"{{"auths":{{"{0}":{{"auth":"bWU6d3Jvbmc="}},"{0}/charts/web":{{"auth":"bWU6czNjcmV0"}}}}}}"#,
        server.address()
    );
    std::fs::write(&file, config).unwrap();
    let mut options = options();
    options.credentials = vec![std::sync::Arc::new(DockerConfig::at(file))];
    let charts = Charts::new(options).unwrap();
    charts
        .fetch(&chart(&server.registry_url(), "web", "1.0.0"))
        .await
        .unwrap();
    let error = charts
        .fetch(&chart(&server.registry_url(), "tool", "v0.1.0"))
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("the credentials were refused"),
        "{error}"
    );
    assert!(!error.to_string().contains("wrong"), "{error}");
}

#[tokio::test]
async fn says_that_credentials_are_missing() {
    for server in [
        web().basic_auth("me", "s3cret"),
        web().token_auth("me", "s3cret"),
    ] {
        let server: ChartServer = server.start().unwrap();
        let chart = chart(&server.registry_url(), "web", "1.0.0");
        let error = fetch(options(), &chart).await.unwrap_err();
        let text = text(&server, &error);
        assert!(
            text.contains("401 Unauthorized, and no credentials are known for it; add "),
            "{text}"
        );
        assert!(!error.is_transient());
    }
}

#[tokio::test]
async fn an_index_may_lead_to_a_registry() {
    let server = web().start().unwrap();
    let digest = server.digest("web", "1.0.0").unwrap();
    let index = format!(
        "apiVersion: v1\nentries:\n  web:\n  - name: web\n    version: 1.0.0\n    digest: {}\n    \
         urls: [\"{}/web:1.0.0\"]\n",
        digest.trim_start_matches("sha256:"),
        server.registry_url()
    );
    let front = ChartServer::builder().index(index).start().unwrap();
    let fetched = fetch(options(), &chart(&front.repository_url(), "web", "1.0.0"))
        .await
        .unwrap();
    assert_eq!(fetched.digest.to_string(), digest);
}

#[tokio::test]
async fn an_image_is_no_chart() {
    let server = web().start().unwrap();
    server.push_manifest(
        "charts/image",
        "1.0.0",
        r#"{"schemaVersion":2,"layers":[{"mediaType":"application/vnd.oci.image.layer.v1.tar+gzip","digest":"sha256:00","size":1}]}"#,
    );
    server.push_manifest("charts/broken", "1.0.0", "<html>");
    let url = server.registry_url();
    let error = fetch(options(), &chart(&url, "image", "1.0.0"))
        .await
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("is not a Helm chart: no layer of type"),
        "{error}"
    );
    let error = fetch(options(), &chart(&url, "broken", "1.0.0"))
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("is not an OCI image manifest: "),
        "{error}"
    );
}
