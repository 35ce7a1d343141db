//! Debian's registry between Helm and this crate, in both directions.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use kubepkg_charts::{ChartAddress, PullError, PullOptions, PushRequest, Repositories, pull, push};
use kubepkg_helm::ChartLimits;
use kubepkg_sandbox::DockerRegistry;
use kubepkg_source::{Charts, Credential, DockerConfig};

use crate::helm::{Helm, tree};
use crate::{client, options};

const WEB: &str = "\
apiVersion: v2
name: web
version: 1.2.0+b.1
appVersion: \"7\"
description: 'less < more & \"quotes\"'
home: https://web.example
sources: [https://src.example/a, https://src.example/b]
maintainers:
- {name: Ann, email: ann@example.com}
- {name: Bob}
annotations:
  org.opencontainers.image.title: ignored
  org.opencontainers.image.url: https://other.example
  example.com/key: value
keywords: [x]
dependencies: []
";

/// The body of a manifest, as the registry has it.
fn manifest(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         Accept: application/vnd.oci.image.manifest.v1+json\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
    body.to_owned()
}

async fn pulled(charts: &Charts, text: &str, version: &str) -> kubepkg_charts::Pulled {
    let address = ChartAddress::parse(text, &Repositories::default()).unwrap();
    let options = PullOptions {
        version: version.into(),
        ..PullOptions::default()
    };
    pull(charts, &address, &options).await.unwrap()
}

#[tokio::test]
async fn the_manifest_is_the_one_that_helm_pushes() {
    let (helm, registry) = (Helm::new(), DockerRegistry::start().unwrap());
    helm.chart("web", WEB);
    let archive = helm.package("web");
    let theirs = format!("{}/theirs", registry.url());
    helm.run(&["push", archive.to_str().unwrap(), &theirs, "--plain-http"]);
    let request = PushRequest::of_file(&archive, &format!("{}/ours/", registry.url())).unwrap();
    let pushed = push(&client(), &request).await.unwrap();
    assert_eq!(
        pushed.reference.to_string(),
        format!("{}/ours/web:1.2.0_b.1", registry.address())
    );
    let of = |name: &str| {
        manifest(
            registry.address(),
            &format!("/v2/{name}/web/manifests/1.2.0_b.1"),
        )
    };
    assert_eq!(of("ours"), of("theirs"));
}

#[tokio::test]
async fn each_pulls_what_the_other_pushed() {
    let (helm, registry) = (Helm::new(), DockerRegistry::start().unwrap());
    helm.chart("web", WEB);
    let archive = helm.package("web");
    let bytes = std::fs::read(&archive).unwrap();
    let (ours, theirs) = (
        format!("{}/ours", registry.url()),
        format!("{}/theirs", registry.url()),
    );
    push(&client(), &PushRequest::of_file(&archive, &ours).unwrap())
        .await
        .unwrap();
    helm.run(&["push", archive.to_str().unwrap(), &theirs, "--plain-http"]);

    std::fs::create_dir(helm.path("by-helm")).unwrap();
    let web = format!("{ours}/web");
    helm.run(&[
        "pull",
        &web,
        "--version",
        "1.2.0+b.1",
        "-d",
        "by-helm",
        "--plain-http",
    ]);
    assert_eq!(
        std::fs::read(helm.path("by-helm/web-1.2.0+b.1.tgz")).unwrap(),
        bytes
    );
    helm.run(&[
        "pull",
        &web,
        "--version",
        "^1",
        "--untar",
        "-d",
        "by-helm",
        "--plain-http",
    ]);

    let web = format!("{theirs}/web");
    for (text, version) in [
        (web.clone(), "1.2.0+b.1"),
        (web.clone(), "^1"),
        (web.clone(), ""),
        (format!("{web}:1.2.0_b.1"), ""),
        (format!("{web}:1.2.0+b.1"), "1.2.0+b.1"),
    ] {
        let pulled = pulled(&client(), &text, version).await;
        assert_eq!(pulled.file, "web-1.2.0+b.1.tgz", "{text} {version}");
        assert_eq!(pulled.archive, bytes, "{text} {version}");
    }
    let last = pulled(&client(), &web, "").await;
    last.save(&helm.path("by-us")).unwrap();
    last.unpack(&helm.path("by-us"), &ChartLimits::default())
        .unwrap();
    assert_eq!(tree(&helm.path("by-us")), tree(&helm.path("by-helm")));
    let again = last.unpack(&helm.path("by-us"), &ChartLimits::default());
    assert!(
        matches!(again, Err(PullError::Unpack { .. })),
        "what is there stays"
    );
}

#[tokio::test]
async fn a_digest_names_a_chart_without_a_tag() {
    let (helm, registry) = (Helm::new(), DockerRegistry::start().unwrap());
    helm.chart("web", WEB);
    let archive = helm.package("web");
    let request = PushRequest::of_file(&archive, &registry.url()).unwrap();
    let pushed = push(&client(), &request).await.unwrap();
    let text = format!("{}/web@{}", registry.url(), pushed.manifest.digest);
    let found = pulled(&client(), &text, "").await;
    assert_eq!(found.archive, request.archive);
}

#[tokio::test]
async fn blobs_are_mounted_and_sent_once() {
    let (helm, registry) = (Helm::new(), DockerRegistry::start().unwrap());
    helm.chart("web", WEB);
    let archive = helm.package("web");
    let to = |path: &str| format!("{}/{path}", registry.url());
    let mut request = PushRequest::of_file(&archive, &to("one")).unwrap();
    assert_eq!(push(&client(), &request).await.unwrap().uploaded, 2);
    assert_eq!(push(&client(), &request).await.unwrap().uploaded, 0);
    request.destination = to("two");
    request.mount_from = vec!["none/web".into(), "one/web".into()];
    assert_eq!(push(&client(), &request).await.unwrap().uploaded, 0);
    assert_eq!(
        pulled(&client(), &to("two/web"), "^1").await.archive,
        request.archive
    );
}

#[tokio::test]
async fn a_large_archive_goes_in_chunks() {
    let (helm, registry) = (Helm::new(), DockerRegistry::start().unwrap());
    helm.chart("web", WEB);
    let archive = helm.package("web");
    let mut options = options();
    options.limits.upload_chunk_bytes = 100;
    let charts = Charts::new(options).unwrap();
    let request = PushRequest::of_file(&archive, &registry.url()).unwrap();
    assert!(request.archive.len() > 300, "several chunks");
    push(&charts, &request).await.unwrap();
    let web = format!("{}/web", registry.url());
    assert_eq!(pulled(&charts, &web, "^1").await.archive, request.archive);
}

#[tokio::test]
async fn each_uses_the_login_of_the_other() {
    let (helm, registry) = (Helm::new(), DockerRegistry::start_with_password().unwrap());
    let host = registry.address().to_string();
    helm.chart("web", WEB);
    let archive = helm.package("web");
    let push_by_helm = [
        "push",
        archive.to_str().unwrap(),
        &registry.url(),
        "--plain-http",
    ];
    let (user, password) = (DockerRegistry::USER, DockerRegistry::PASSWORD);

    let mut with_config = options();
    let config = DockerConfig::at(helm.registry_config());
    with_config.credentials = vec![Arc::new(config.clone())];
    let charts = Charts::new(with_config).unwrap();
    let request = PushRequest::of_file(&archive, &registry.url()).unwrap();

    // Ours, used by Helm.
    assert!(helm.try_run(&push_by_helm).is_err(), "nobody is logged in");
    let credential = Credential::Basic {
        user: user.into(),
        password: password.into(),
    };
    charts.check_login(&host, &credential).await.unwrap();
    config.store(&host, &credential).unwrap();
    helm.run(&push_by_helm);
    assert_eq!(push(&charts, &request).await.unwrap().uploaded, 0);
    config.erase(&host).unwrap();
    assert!(helm.try_run(&push_by_helm).is_err(), "we logged out");

    // Helm's, used by us.
    assert!(
        push(&charts, &request).await.is_err(),
        "Helm is not logged in"
    );
    let login = [
        "registry",
        "login",
        &host,
        "-u",
        user,
        "-p",
        password,
        "--plain-http",
    ];
    helm.run(&login);
    push(&charts, &request).await.unwrap();
    helm.run(&["registry", "logout", &host]);
    let error = push(&charts, &request).await.unwrap_err();
    let mut text = format!("{error:?}");
    let mut cause: Option<&dyn std::error::Error> = Some(&error);
    while let Some(error) = cause {
        text.push_str(&error.to_string());
        cause = error.source();
    }
    assert!(text.contains("401 Unauthorized"), "{text}");
    assert!(!text.contains(password), "{text}");
}

#[tokio::test]
async fn a_wrong_password_is_refused_before_it_is_kept() {
    let registry = DockerRegistry::start_with_password().unwrap();
    let wrong = Credential::Basic {
        user: DockerRegistry::USER.into(),
        password: "wr0ng".into(),
    };
    let host = registry.address().to_string();
    let error = client().check_login(&host, &wrong).await.unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(text.contains("the credentials were refused"), "{text}");
    assert!(!text.contains("wr0ng"), "{text}");
}
