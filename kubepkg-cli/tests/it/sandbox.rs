//! `sandbox`: a cluster around a command, and one that is kept.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use kubepkg_sandbox::Assets;

use crate::desk::{Ran, ran};

fn kubepkg(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubepkg"));
    command.args(arguments).env_remove("KUBECONFIG");
    command
}

fn run(arguments: &[&str]) -> Ran {
    ran(kubepkg(arguments).output().unwrap())
}

/// This program, for the command in the sandbox.
const PROGRAM: &str = env!("CARGO_BIN_EXE_kubepkg");

#[test]
fn the_sandbox_ends_with_the_exit_code_of_its_command() {
    let done = run(&[
        "sandbox",
        "--",
        "sh",
        "-c",
        "test -r \"$KUBECONFIG\" && exit 7",
    ]);
    assert_eq!((done.code, done.stdout.as_str()), (7, ""));
    let killed = run(&["sandbox", "--bare", "--", "sh", "-c", "kill -TERM $$"]);
    assert_eq!(killed.code, 128 + 15);
}

#[test]
fn its_operator_and_kinds_are_there_unless_it_is_bare() {
    let listed = run(&["sandbox", "--", PROGRAM, "list"]);
    assert_eq!(
        (listed.code, listed.stderr.as_str()),
        (0, "no packages are installed\n")
    );
    let bare = run(&["sandbox", "--bare", "--", PROGRAM, "list"]);
    assert_eq!(bare.code, 1);
    assert!(
        bare.stderr.contains("does not serve kubepkg.dev"),
        "{}",
        bare.stderr
    );
    let other = ["--api-group", "acme.example.org"];
    let line = [
        &other[..],
        &["sandbox", "--", PROGRAM],
        &other[..],
        &["list"],
    ]
    .concat();
    assert_eq!(run(&line).code, 0);
}

#[test]
fn a_command_that_is_not_there_is_named() {
    let missing = run(&["sandbox", "--bare", "--", "no-such-program"]);
    assert_eq!(missing.code, 1);
    assert!(
        missing
            .stderr
            .starts_with("error: cannot run no-such-program\n"),
        "{}",
        missing.stderr
    );
}

#[test]
fn without_a_command_it_says_how_to_use_it_until_it_is_interrupted() {
    let mut running = Running::start(&[]);
    let listed = running.run(PROGRAM, &["list"]);
    assert_eq!(listed.code, 0, "{}", listed.stderr);
    let interrupt = format!("kill -INT {}", running.child.id());
    let interrupted = Command::new("sh").args(["-c", &interrupt]).status();
    assert!(interrupted.unwrap().success());
    assert_eq!(running.child.wait().unwrap().code(), Some(0));
    assert!(!Path::new(&running.kubeconfig).exists());
}

#[test]
fn what_is_installed_in_a_folder_is_there_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("state");
    let dir = dir.to_str().unwrap();
    let source = folder.path().join("shop.yaml");
    let text = include_str!("../../demo/packages/shop/1.0.0.yaml");
    // Nothing listens there, so the package stays where it is: asked for.
    std::fs::write(
        &source,
        text.replace("https://charts.example.org", "http://127.0.0.1:1"),
    )
    .unwrap();
    let source = source.to_str().unwrap();
    let install = [
        "sandbox", "--dir", dir, "--", PROGRAM, "install", "-f", source, "--yes",
    ];
    let installed = run(&install);
    assert_eq!(installed.code, 0, "{}", installed.stderr);
    let list = ["sandbox", "--dir", dir, "--", PROGRAM, "list", "-o", "name"];
    assert_eq!(run(&list).stdout, "package.kubepkg.dev/shop\n");
}

#[test]
fn the_operator_logs_into_the_folder_and_to_who_asks() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("state");
    let dir = dir.to_str().unwrap();
    let log = |directives: &str, flags: &[&str]| {
        let mut command = kubepkg(&["sandbox", "--dir", dir]);
        command.args(flags).args(["--", "true"]);
        let done = ran(command.env("RUST_LOG", directives).output().unwrap());
        assert_eq!(done.code, 0, "{}", done.stderr);
        let kept = std::fs::read_to_string(folder.path().join("state/operator.log")).unwrap();
        (kept, done.stderr)
    };
    assert_eq!(log("off", &[]), (String::new(), String::new()));
    let (kept, shown) = log("trace", &["-v"]);
    assert!(kept.contains(" TRACE ") && shown.contains("TRACE"));
    let (more, shown) = log("trace", &[]);
    assert!(more.starts_with(&kept) && more.len() > kept.len());
    assert_eq!(shown, "");
    assert_eq!(run(&["sandbox", "--bare", "-v", "--", "true"]).code, 2);
}

#[test]
fn a_damaged_folder_is_refused_with_the_file_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().to_str().unwrap();
    assert_eq!(run(&["sandbox", "--dir", dir, "--", "true"]).code, 0);
    let state = folder.path().join("state");
    let whole = std::fs::read(&state).unwrap();
    std::fs::write(&state, &whole[..whole.len() / 2]).unwrap();
    let refused = run(&["sandbox", "--dir", dir, "--", "true"]);
    assert_eq!(refused.code, 1);
    let first = refused.stderr.lines().next().unwrap();
    assert!(
        first.contains("state is damaged at line"),
        "{}",
        refused.stderr
    );
    assert!(
        refused
            .stderr
            .contains("try: put a copy of the folder back"),
        "{}",
        refused.stderr
    );
    assert_eq!(std::fs::read(&state).unwrap(), &whole[..whole.len() / 2]);
}

/// A running sandbox, and the kubeconfig that it printed.
struct Running {
    child: Child,
    kubeconfig: String,
}

impl Running {
    fn start(arguments: &[&str]) -> Self {
        let mut child = kubepkg(&[&["sandbox"], arguments].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let kubeconfig = line.trim_end().strip_prefix("export KUBECONFIG=").unwrap();
        Self {
            kubeconfig: kubeconfig.to_owned(),
            child,
        }
    }

    fn run(&self, program: impl AsRef<Path>, arguments: &[&str]) -> Ran {
        let mut command = Command::new(program.as_ref());
        let home = Path::new(&self.kubeconfig).parent().unwrap();
        let command = command.args(arguments).env("HOME", home);
        ran(command
            .env("KUBECONFIG", &self.kubeconfig)
            .output()
            .unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Not asked, but killed: nothing may depend on an end in order.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_kill_loses_nothing_that_was_answered() {
    let folder = tempfile::tempdir().unwrap();
    let kubectl = Assets::find().unwrap().program("kubectl").unwrap();
    let uid = [
        "get",
        "configmap",
        "-o",
        "jsonpath={.items[*].metadata.uid}",
    ];
    let dir = folder.path().join("state");
    let dir = ["--dir", dir.to_str().unwrap(), "--bare"];
    let mut before = String::new();
    for number in 0..5 {
        let running = Running::start(&dir);
        let found = running.run(&kubectl, &uid);
        assert!(
            found.stdout.starts_with(&before),
            "{} does not go on {before}",
            found.stdout
        );
        let name = format!("zz-{number}");
        let made = running.run(&kubectl, &["create", "configmap", &name]);
        assert_eq!(made.code, 0, "{}", made.stderr);
        before = running.run(&kubectl, &uid).stdout;
        assert_eq!(before.split(' ').count(), number + 2);
        let second = run(&["sandbox", dir[0], dir[1], "--", "true"]);
        assert!(
            second.stderr.contains("is in use by another sandbox"),
            "{}",
            second.stderr
        );
    }
}

#[test]
fn helm_and_kubectl_find_what_they_need_in_it() {
    let assets = Assets::find().unwrap();
    let running = Running::start(&[]);
    let chart = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo/charts/web");
    let install = [
        "install",
        "web",
        chart.to_str().unwrap(),
        "--wait",
        "--timeout",
        "60s",
    ];
    let installed = running.run(assets.program("helm").unwrap(), &install);
    assert_eq!(installed.code, 0, "{}", installed.stderr);
    let kubectl = assets.program("kubectl").unwrap();
    let ready = [
        "get",
        "deploy",
        "web",
        "-o",
        "jsonpath={.status.readyReplicas}",
    ];
    assert_eq!(running.run(&kubectl, &ready).stdout, "2");
    let packages = running.run(&kubectl, &["get", "packages"]);
    assert_eq!(
        (packages.code, packages.stderr.as_str()),
        (0, "No resources found\n")
    );
}
