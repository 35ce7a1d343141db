//! Dependencies beside `helm dependency`: the same lock, the same archives, the same list.

use kubepkg_charts::dependencies::{DependencyError, DependencyOptions, build, update};
use kubepkg_charts::{PushRequest, Repositories, push};
use kubepkg_helm::{ChartLimits, list_dependencies};
use kubepkg_sandbox::{ChartServer, DockerRegistry, Fault};

use crate::client;
use crate::helm::{Helm, names, tree, write};

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n";

fn repository() -> ChartServer {
    let mut builder = ChartServer::builder();
    for (name, version) in [
        ("db", "1.0.0"),
        ("db", "1.4.0"),
        ("db", "2.0.0"),
        ("mq", "0.3.0"),
    ] {
        builder = builder.chart(name, version, [("templates/cm.yaml", CONFIG_MAP)]);
    }
    builder.start().unwrap()
}

/// Two charts of two repositories in a registry.
async fn registry(helm: &Helm) -> DockerRegistry {
    let registry = DockerRegistry::start().unwrap();
    for (name, version) in [("app", "1.0.0"), ("app", "1.1.0"), ("side", "0.2.0+b1")] {
        helm.chart(
            name,
            &format!("apiVersion: v2\nname: {name}\nversion: {version}\n"),
        );
        let archive = helm.package(name);
        let request = PushRequest::of_file(&archive, &format!("{}/charts", registry.url()));
        push(&client(), &request.unwrap()).await.unwrap();
    }
    registry
}

/// A chart that asks for something from everywhere, twice: for Helm and for us.
fn parents(helm: &Helm, server: &ChartServer, registry: &DockerRegistry) {
    helm.chart("local", "apiVersion: v2\nname: local\nversion: 0.1.5\n");
    let yaml = format!(
        "apiVersion: v2\nname: parent\nversion: 1.0.0\ndependencies:\n\
         - {{name: db, version: ^1, repository: '{http}'}}\n\
         - {{name: db, version: ^1, repository: '{http}', alias: second, condition: second.on, tags: [t]}}\n\
         - {{name: mq, version: '>=0.1 <1', repository: '{http}'}}\n\
         - {{name: app, version: ~1.0, repository: '{oci}/charts'}}\n\
         - {{name: side, version: 0.2.0+b1, repository: '{oci}/charts', import-values: [data]}}\n\
         - {{name: local, version: 0.1.x, repository: 'file://../local'}}\n\
         - {{name: inner, version: '*', repository: ''}}\n",
        http = server.repository_url(),
        oci = registry.url(),
    );
    for folder in ["theirs", "ours"] {
        helm.chart(folder, &yaml);
        helm.chart(
            &format!("{folder}/charts/inner"),
            "apiVersion: v2\nname: inner\nversion: 9.0.0\n",
        );
        write(&helm.path(folder).join("charts/_notes.txt"), "kept");
    }
}

/// A lock without the time that it was made at.
fn lock(helm: &Helm, folder: &str) -> String {
    let text = std::fs::read_to_string(helm.path(folder).join("Chart.lock")).unwrap();
    let (text, _) = text.split_once("generated: ").unwrap();
    text.to_owned()
}

#[tokio::test]
async fn an_update_leaves_what_helm_leaves() {
    let (helm, server) = (Helm::new(), repository());
    let registry = registry(&helm).await;
    parents(&helm, &server, &registry);
    // A chart that nobody asks for any more.
    for folder in ["theirs", "ours"] {
        let old = helm.path(folder).join("charts/old-1.0.0.tgz");
        helm.chart("old", "apiVersion: v2\nname: old\nversion: 1.0.0\n");
        std::fs::copy(helm.package("old"), old).unwrap();
    }
    helm.run(&["dependency", "update", "theirs", "--plain-http"]);
    let options = DependencyOptions::default();
    let brought = update(&client(), &helm.path("ours"), &options)
        .await
        .unwrap();
    assert!(brought.lock_written);
    assert_eq!(brought.removed, ["old-1.0.0.tgz"]);
    assert_eq!(lock(&helm, "ours"), lock(&helm, "theirs"));
    let charts = |folder: &str| helm.path(folder).join("charts");
    assert_eq!(names(&charts("ours")), names(&charts("theirs")));
    // Archives from repositories are the very bytes; a local one has times of its own.
    let fetched = |folder: &str| {
        let files = tree(&charts(folder)).into_iter();
        files
            .filter(|(name, _)| !name.starts_with("local-"))
            .collect::<Vec<_>>()
    };
    assert_eq!(fetched("ours"), fetched("theirs"));
    let again = update(&client(), &helm.path("ours"), &options)
        .await
        .unwrap();
    assert!(!again.lock_written, "the same lock is not written again");
}

#[tokio::test]
async fn each_builds_from_the_lock_of_the_other() {
    let (helm, server) = (Helm::new(), repository());
    let registry = registry(&helm).await;
    parents(&helm, &server, &registry);
    update(&client(), &helm.path("ours"), &DependencyOptions::default())
        .await
        .unwrap();
    helm.run(&["dependency", "update", "theirs", "--plain-http"]);
    let whole = names(&helm.path("theirs/charts"));
    for folder in ["ours", "theirs"] {
        for name in &whole {
            if name.contains(".tgz") {
                std::fs::remove_file(helm.path(folder).join("charts").join(name)).unwrap();
            }
        }
    }
    // Helm builds from repositories that were added alone.
    helm.run(&["repo", "add", "here", &server.repository_url()]);
    helm.run(&["dependency", "build", "ours", "--plain-http"]);
    build(
        &client(),
        &helm.path("theirs"),
        &DependencyOptions::default(),
    )
    .await
    .unwrap();
    assert_eq!(names(&helm.path("ours/charts")), whole);
    assert_eq!(names(&helm.path("theirs/charts")), whole);
}

#[tokio::test]
async fn a_lock_for_something_else_is_refused() {
    let (helm, server) = (Helm::new(), repository());
    let parent = |version: &str| {
        let url = server.repository_url();
        format!(
            "apiVersion: v2\nname: p\nversion: 1.0.0\ndependencies:\n\
             - {{name: db, version: '{version}', repository: '{url}'}}\n"
        )
    };
    let folder = helm.chart("p", &parent("^1"));
    let options = DependencyOptions::default();
    update(&client(), &folder, &options).await.unwrap();
    write(&folder.join("Chart.yaml"), &parent("^2"));
    let before = tree(&folder);
    let error = build(&client(), &folder, &options).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the lock file (Chart.lock) is out of sync with the dependencies file (Chart.yaml)"
    );
    let theirs = helm.try_run(&["dependency", "build", "p"]).unwrap_err();
    assert!(theirs.contains(&error.to_string()), "{theirs}");
    assert_eq!(tree(&folder), before);
}

#[tokio::test]
async fn a_failure_leaves_the_folder_as_it_was() {
    let (helm, server) = (Helm::new(), repository());
    let url = server.repository_url();
    let yaml = |more: &str| {
        format!(
            "apiVersion: v2\nname: p\nversion: 1.0.0\ndependencies:\n\
             - {{name: db, version: ^1, repository: '{url}'}}\n{more}"
        )
    };
    let folder = helm.chart("p", &yaml(""));
    let options = DependencyOptions::default();
    update(&client(), &folder, &options).await.unwrap();
    let mq = format!("- {{name: mq, version: 0.3.0, repository: '{url}'}}\n");
    for (more, fault) in [
        (mq.as_str(), Some(Fault::NotFound)),
        (mq.as_str(), Some(Fault::WrongDigest)),
        ("- {name: mq, version: ^7, repository: 'URL'}\n", None),
        ("- {name: none, version: ^7, repository: 'URL'}\n", None),
        (
            "- {name: x, version: ^7, repository: 'file://../none'}\n",
            None,
        ),
        ("- {name: x, version: ^7, repository: ''}\n", None),
        ("- {name: x, version: ^7, repository: '@none'}\n", None),
        ("- {name: x, version: nonsense!, repository: 'URL'}\n", None),
    ] {
        write(
            &folder.join("Chart.yaml"),
            &yaml(&more.replace("URL", &url)),
        );
        if let Some(fault) = fault {
            server.fault(&server.archive_path("mq", "0.3.0"), fault);
        }
        let before = tree(&folder);
        let outcome = update(&client(), &folder, &options).await;
        assert!(outcome.is_err(), "{more}");
        assert_eq!(tree(&folder), before, "{more}");
        server.clear_faults();
    }
    let not_a_chart = server.add_archive("mq", "0.3.0", b"not a chart".to_vec());
    assert!(!not_a_chart.is_empty());
    write(&folder.join("Chart.yaml"), &yaml(&mq));
    let before = tree(&folder);
    let error = update(&client(), &folder, &options).await.unwrap_err();
    assert!(
        matches!(error, DependencyError::NoChart { .. }),
        "{error:?}"
    );
    assert_eq!(tree(&folder), before);
}

#[tokio::test]
async fn a_location_with_the_name_of_the_chart_and_a_second_chart_of_a_registry() {
    let helm = Helm::new();
    let server = repository_with_tokens();
    let oci = server.registry_url();
    let folder = helm.chart(
        "p",
        &format!(
            "apiVersion: v2\nname: p\nversion: 1.0.0\ndependencies:\n\
             - {{name: db, version: ^1, repository: '{oci}/db'}}\n\
             - {{name: mq, version: ^0.3, repository: '{oci}'}}\n"
        ),
    );
    let mut options = crate::options();
    options.credentials = vec![std::sync::Arc::new(Known)];
    let charts = kubepkg_source::Charts::new(options).unwrap();
    let brought = update(&charts, &folder, &DependencyOptions::default())
        .await
        .unwrap();
    assert_eq!(brought.archives, ["db-1.4.0.tgz", "mq-0.3.0.tgz"]);
}

fn repository_with_tokens() -> ChartServer {
    ChartServer::builder()
        .chart("db", "1.4.0", [("templates/cm.yaml", CONFIG_MAP)])
        .chart("mq", "0.3.0", [("templates/cm.yaml", CONFIG_MAP)])
        .token_auth("me", "s3cret")
        .start()
        .unwrap()
}

struct Known;

impl kubepkg_source::CredentialSource for Known {
    fn credential(
        &self,
        _: &str,
        _: &str,
    ) -> Result<Option<kubepkg_source::Credential>, kubepkg_source::CredentialError> {
        Ok(Some(kubepkg_source::Credential::Basic {
            user: "me".into(),
            password: "s3cret".into(),
        }))
    }
}

#[tokio::test]
async fn a_repository_with_a_name_stands_for_its_address() {
    let helm = Helm::new();
    let server = ChartServer::builder()
        .chart("db", "1.0.0", [("templates/cm.yaml", CONFIG_MAP)])
        .basic_auth("me", "s3cret")
        .start()
        .unwrap();
    let url = server.repository_url();
    helm.run(&[
        "repo",
        "add",
        "shop",
        &url,
        "--username",
        "me",
        "--password",
        "s3cret",
    ]);
    let file = helm.run(&["env", "HELM_REPOSITORY_CONFIG"]);
    let repositories = Repositories::load(file.trim().as_ref()).unwrap();
    for (folder, name) in [("theirs", "@shop"), ("ours", "alias:shop")] {
        helm.chart(
            folder,
            &format!(
                "apiVersion: v2\nname: p\nversion: 1.0.0\ndependencies:\n\
                 - {{name: db, version: ^1, repository: '{name}'}}\n"
            ),
        );
    }
    helm.run(&["dependency", "update", "theirs"]);
    let mut options = crate::options();
    options.credentials = vec![std::sync::Arc::new(repositories.clone())];
    let charts = kubepkg_source::Charts::new(options).unwrap();
    let wanted = DependencyOptions {
        repositories,
        ..DependencyOptions::default()
    };
    update(&charts, &helm.path("ours"), &wanted).await.unwrap();
    assert_eq!(lock(&helm, "ours"), lock(&helm, "theirs"));
}

#[tokio::test]
async fn a_chart_of_the_first_format_has_its_own_lock() {
    let (helm, server) = (Helm::new(), repository());
    for folder in ["theirs", "ours"] {
        helm.chart(folder, "apiVersion: v1\nname: p\nversion: 1.0.0\n");
        let text = format!(
            "dependencies:\n- {{name: db, version: ^1, repository: '{}'}}\n",
            server.repository_url()
        );
        write(&helm.path(folder).join("requirements.yaml"), &text);
    }
    helm.run(&["dependency", "update", "theirs"]);
    update(&client(), &helm.path("ours"), &DependencyOptions::default())
        .await
        .unwrap();
    let lock = |folder: &str| {
        let path = helm.path(folder).join("requirements.lock");
        let text = std::fs::read_to_string(path).unwrap();
        text.split_once("generated: ").unwrap().0.to_owned()
    };
    assert_eq!(lock("ours"), lock("theirs"));
    build(&client(), &helm.path("ours"), &DependencyOptions::default())
        .await
        .unwrap();
}

#[tokio::test]
async fn the_list_is_the_one_that_helm_shows() {
    let (helm, server) = (Helm::new(), repository());
    let registry = registry(&helm).await;
    parents(&helm, &server, &registry);
    let check = |when: &str| {
        let listing = list_dependencies(&helm.path("ours"), &ChartLimits::default()).unwrap();
        let theirs = helm.run(&["dependency", "list", "ours", "--max-col-width", "200"]);
        let path = helm.path("").display().to_string();
        assert_eq!(
            listing.to_text(200).replace(&path, "").trim_end(),
            theirs.trim_end(),
            "{when}"
        );
    };
    check("nothing is there");
    update(&client(), &helm.path("ours"), &DependencyOptions::default())
        .await
        .unwrap();
    check("all is there");
    let charts = helm.path("ours/charts");
    std::fs::write(charts.join("app-1.0.0.tgz"), "broken").unwrap();
    std::fs::copy(
        charts.join("mq-0.3.0.tgz"),
        charts.join("side-0.2.0+b1.tgz"),
    )
    .unwrap();
    std::fs::rename(charts.join("mq-0.3.0.tgz"), charts.join("other.tgz")).unwrap();
    std::fs::copy(charts.join("db-1.4.0.tgz"), charts.join("db-1.5.0.tgz")).unwrap();
    helm.chart(
        "ours/charts/stranger",
        "apiVersion: v2\nname: stranger\nversion: 1.0.0\n",
    );
    // A broken archive keeps the chart from being loaded, here as there.
    assert!(list_dependencies(&helm.path("ours"), &ChartLimits::default()).is_err());
    assert!(helm.try_run(&["dependency", "list", "ours"]).is_err());
    std::fs::remove_file(charts.join("app-1.0.0.tgz")).unwrap();
    check("much is wrong");
}
