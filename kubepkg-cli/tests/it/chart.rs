//! `chart` with the built program, Debian's registry and a repository in this process.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use kubepkg_sandbox::{ChartServer, DockerRegistry};

/// What a run came to: its exit code and what it wrote.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) results: String,
    pub(crate) messages: String,
}

/// Runs `kubepkg chart` in a folder that is also its home.
fn chart(home: &Path, arguments: &[&str], input: &str) -> Run {
    chart_with(home, arguments, input, &[])
}

/// The same with more in the environment than a home.
pub(crate) fn chart_with(
    home: &Path,
    arguments: &[&str],
    input: &str,
    environment: &[(&str, &str)],
) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kubepkg"))
        .arg("chart")
        .args(arguments)
        .current_dir(home)
        .env_clear()
        .env("HOME", home)
        .envs(environment.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code(),
        results: String::from_utf8(output.stdout).unwrap(),
        messages: String::from_utf8(output.stderr).unwrap(),
    }
}

pub(crate) fn write_chart(folder: &Path, yaml: &str) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("Chart.yaml"), yaml).unwrap();
}

#[test]
fn a_chart_goes_to_a_registry_and_comes_back() {
    let registry = DockerRegistry::start_with_password().unwrap();
    let home = tempfile::tempdir().unwrap();
    let home = home.path();
    let run = |arguments: &[&str], input: &str| chart(home, arguments, input);
    let done = |arguments: &[&str], input: &str| {
        let run = run(arguments, input);
        assert_eq!(run.code, Some(0), "{arguments:?}: {}", run.messages);
        run.results
    };
    write_chart(
        &home.join("web"),
        "apiVersion: v2\nname: web\nversion: 1.0.0+b\n",
    );
    assert_eq!(done(&["package", "web"], ""), "./web-1.0.0+b.tgz\n");

    let (host, url) = (registry.address().to_string(), registry.url());
    let refused = run(&["push", "web-1.0.0+b.tgz", &url], "");
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.messages.contains("no credentials are known"),
        "{}",
        refused.messages
    );

    let login = [
        "login",
        &host,
        "--username",
        DockerRegistry::USER,
        "--password-stdin",
    ];
    let wrong = run(&login, "wr0ng\n");
    assert_eq!(wrong.code, Some(1));
    assert!(!wrong.messages.contains("wr0ng"), "{}", wrong.messages);
    done(&login, &format!("{}\n", DockerRegistry::PASSWORD));
    let pushed = done(&["push", "web-1.0.0+b.tgz", &url], "");
    assert!(
        pushed.starts_with(&format!("{host}/web:1.0.0_b\nsha256:")),
        "{pushed}"
    );

    let web = format!("{url}/web");
    let pulled = done(&["pull", &web, "--version", "^1", "-d", "here"], "");
    assert!(
        pulled.starts_with("here/web-1.0.0+b.tgz\nsha256:"),
        "{pulled}"
    );
    done(&["pull", &web, "--untar", "-d", "here"], "");
    assert!(home.join("here/web/Chart.yaml").is_file());
    done(&["logout", &host], "");
    assert_eq!(run(&["pull", &web], "").code, Some(1));
}

#[test]
fn dependencies_come_from_a_repository() {
    let server = ChartServer::builder()
        .chart("db", "1.0.0", [("templates/x.yaml", "")])
        .start()
        .unwrap();
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("p");
    let yaml = |version: &str| {
        let url = server.repository_url();
        format!(
            "apiVersion: v2\nname: p\nversion: 1.0.0\ndependencies:\n\
             - {{name: db, version: {version}, repository: '{url}'}}\n"
        )
    };
    write_chart(&folder, &yaml("^1"));
    let run = |arguments: &[&str]| chart(home.path(), arguments, "");
    assert_eq!(
        run(&["dependency", "update", "p"]).results,
        "charts/db-1.0.0.tgz\nlock written\n"
    );
    assert_eq!(
        run(&["dependency", "build", "p"]).results,
        "charts/db-1.0.0.tgz\n"
    );
    let listed = run(&["dependency", "list", "p"]).results;
    assert!(listed.contains("db") && listed.contains("ok"), "{listed}");
    write_chart(&folder, &yaml("^2"));
    let refused = run(&["dependency", "build", "p"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused
            .messages
            .ends_with("  try: kubepkg chart dependency update\n"),
        "{}",
        refused.messages
    );
}

#[test]
fn a_folder_of_archives_becomes_a_repository() {
    let home = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| chart(home.path(), arguments, "");
    write_chart(
        &home.path().join("web"),
        "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    );
    run(&["package", "web", "-d", "repo"]);
    let url = "https://h.example/charts";
    assert_eq!(
        run(&["index", "repo", "--url", url]).results,
        "repo/index.yaml\n"
    );
    let text = std::fs::read_to_string(home.path().join("repo/index.yaml")).unwrap();
    assert!(
        text.contains("- https://h.example/charts/web-1.0.0.tgz\n"),
        "{text}"
    );
    run(&["index", "repo", "--url", url, "--json"]);
    let text = std::fs::read_to_string(home.path().join("repo/index.yaml")).unwrap();
    assert!(text.starts_with("{\n  \"apiVersion\": \"v1\","), "{text}");
    assert!(
        text.contains("\"https://h.example/charts/web-1.0.0.tgz\""),
        "{text}"
    );
}
