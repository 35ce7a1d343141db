//! Real Helm against the chart server.

use std::path::Path;
use std::process::{Command, Output};

use kubepkg_sandbox::{Assets, ChartServer, ChartServerBuilder};

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n";

fn web() -> ChartServerBuilder {
    ChartServer::builder().chart("web", "1.0.0+b1", [("templates/cm.yaml", CONFIG_MAP)])
}

/// Runs Helm with a home of its own.
fn helm(home: &Path, arguments: &[&str]) -> Output {
    Command::new(Assets::find().unwrap().program("helm").unwrap())
        .args(arguments)
        .current_dir(home)
        .env_clear()
        .env("HOME", home)
        .output()
        .unwrap()
}

fn succeed(home: &Path, arguments: &[&str]) -> String {
    let output = helm(home, arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "helm {arguments:?}: {error}");
    text + &error
}

#[test]
fn helm_uses_the_repository() {
    let server = web().basic_auth("me", "s3cret").start().unwrap();
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let url = server.repository_url();
    let login = ["--username", "me", "--password", "s3cret"];
    succeed(
        home,
        &[&["repo", "add", "local", &url][..], &login].concat(),
    );
    let rendered = succeed(
        home,
        &["template", "r", "local/web", "--version", "1.0.0+b1"],
    );
    assert!(rendered.contains("kind: ConfigMap"), "{rendered}");
    assert!(
        !helm(home, &["pull", "web", "--repo", &url])
            .status
            .success()
    );
}

#[test]
fn helm_pulls_from_the_registry_and_pushes_to_it() {
    for server in [
        web(),
        web().basic_auth("me", "s3cret"),
        web().token_auth("me", "s3cret"),
    ] {
        let server = server.start().unwrap();
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let url = server.registry_url();
        let web = format!("{url}/web");
        let login = ["--plain-http", "--username", "me", "--password", "s3cret"];

        succeed(
            home,
            &[&["pull", &web, "--version", "1.0.0+b1"][..], &login].concat(),
        );
        let archive = home.join("web-1.0.0+b1.tgz");
        assert_eq!(
            std::fs::read(&archive).unwrap(),
            server.archive("web", "1.0.0+b1").unwrap()
        );

        succeed(home, &["create", "pushed"]);
        succeed(home, &["package", "pushed", "--version", "2.0.0"]);
        succeed(
            home,
            &[&["push", "pushed-2.0.0.tgz", &url][..], &login].concat(),
        );
        let pushed = format!("{url}/pushed");
        let shown = succeed(home, &[&["show", "chart", &pushed][..], &login].concat());
        assert!(shown.contains("version: 2.0.0"), "{shown}");
    }
}
