//! What needs no packages: usage, version, completions, and clusters without kubepkg.

use crate::desk::Desk;

#[tokio::test]
async fn version_is_bare_and_usage_errors_end_with_2() {
    let desk = Desk::without_kinds().await;
    let ran = desk.run(&["version"]);
    assert_eq!(
        (ran.code, ran.stdout.trim()),
        (0, env!("CARGO_PKG_VERSION"))
    );

    let ran = desk.run(&["instal", "x"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("install"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
    for wrong in [
        &["install"][..],
        &["install", "Not_A_Name"],
        &["remove"],
        &["list", "--api-group", "x"],
        &[],
    ] {
        assert_eq!(desk.run(wrong).code, 2, "{wrong:?}");
    }
}

#[tokio::test]
async fn help_names_the_exit_codes_and_fits_the_screen() {
    let desk = Desk::without_kinds().await;
    let ran = desk.run(&["--help"]);
    assert_eq!(ran.code, 0);
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("4 not ready in time"), "{text}");
    for command in [
        "install",
        "list",
        "history",
        "rollback",
        "remove",
        "version",
        "completions",
    ] {
        let help = desk.run(&[command, "--help"]).stdout;
        assert!(
            help.lines().all(|line| line.chars().count() <= 80),
            "{help}"
        );
        assert!(ran.stdout.contains(command));
    }
}

#[tokio::test]
async fn completions_are_for_the_shell_that_is_named() {
    let desk = Desk::without_kinds().await;
    let ran = desk.run(&["completions", "bash"]);
    assert_eq!(ran.code, 0);
    assert!(ran.stdout.contains("_kubepkg()"), "{}", ran.stdout);
    assert!(
        desk.run(&["completions", "fish"])
            .stdout
            .contains("complete -c kubepkg")
    );
}

#[tokio::test]
async fn a_cluster_without_kubepkg_says_how_to_get_it() {
    let desk = Desk::without_kinds().await;
    for command in [
        &["list"][..],
        &["install", "a"],
        &["remove", "a"],
        &["history", "a"],
        &["rollback", "a"],
    ] {
        let ran = desk.run(command);
        assert_eq!(ran.code, 1, "{command:?}");
        let text = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        let expected = format!(
            "error: kubepkg is not installed there: the cluster does not serve {}",
            desk.group
        );
        assert!(text.starts_with(&expected), "{text}");
        assert!(text.contains("try: kubepkg-operator crds"), "{text}");
    }
}

#[tokio::test]
async fn a_context_that_does_not_exist_is_named() {
    let desk = Desk::without_kinds().await;
    let ran = desk.run(&["list", "--context", "nowhere"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr
            .starts_with("error: cannot tell which cluster to talk to\n  because: "),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("nowhere"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("try: kubectl config get-contexts"),
        "{}",
        ran.stderr
    );
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error_with_its_cause() {
    let desk = Desk::without_kinds().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config");
    let kubeconfig = "apiVersion: v1\nkind: Config\ncurrent-context: x\n\
        contexts: [{name: x, context: {cluster: x, user: x}}]\nusers: [{name: x, user: {}}]\n\
        clusters: [{name: x, cluster: {server: 'http://127.0.0.1:1'}}]\n";
    std::fs::write(&path, kubeconfig).unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_kubepkg"))
        .args(["list", "--api-group", desk.group.as_str(), "--kubeconfig"])
        .arg(path)
        .output();
    let ran = crate::desk::ran(output.unwrap());
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr
            .starts_with("error: cannot ask the cluster which APIs it serves\n  because: "),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("try: kubectl cluster-info"),
        "{}",
        ran.stderr
    );
}
