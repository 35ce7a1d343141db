//! Start, end, and what is left behind: nothing.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use kubepkg_sandbox::{ControlPlane, Controllers, Options};

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a process lives. Linux only, as is the guarantee.
fn lives(id: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    !status.is_empty() && !status.contains(") Z ")
}

/// Processes whose working folder is this one.
fn working_in(folder: &Path) -> Vec<u32> {
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|id| std::fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|cwd| cwd == folder))
        .collect()
}

fn serve(folder: &Path) -> (Child, PathBuf) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_kubepkg-sandbox"))
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    let folder = line
        .trim_end()
        .strip_prefix("ready ")
        .expect("ready line")
        .into();
    (child, folder)
}

#[tokio::test]
async fn plane_ends_with_its_owner_and_leaves_nothing() {
    let plane = ControlPlane::start(Options::default()).await.unwrap();
    let processes = plane.processes().to_vec();
    let folder = plane.folder().to_owned();
    assert_eq!(processes.len(), 3);
    assert!(processes.iter().all(|id| lives(*id)));
    drop(plane);
    assert!(!processes.iter().any(|id| lives(*id)));
    assert!(!folder.exists());
}

#[tokio::test]
async fn plane_ends_with_a_panic() {
    let (send, receive) = std::sync::mpsc::channel();
    let test = tokio::spawn(async move {
        let options = Options::default()
            .controllers(Controllers::None)
            .without_pods();
        let plane = ControlPlane::start(options).await.unwrap();
        send.send(plane.processes().to_vec()).unwrap();
        panic!("on purpose");
    });
    assert!(test.await.unwrap_err().is_panic());
    let processes: Vec<u32> = receive.recv().unwrap();
    assert_eq!(processes.len(), 2);
    assert!(!processes.iter().any(|id| lives(*id)));
}

#[tokio::test]
async fn plane_ends_with_a_killed_process_and_its_folder_can_be_used_again() {
    let root = tempfile::tempdir().unwrap();
    let (mut child, folder) = serve(root.path());
    let joined = ControlPlane::join(&folder).await.unwrap();
    let first = joined.namespace("first").await.unwrap();
    assert_eq!(working_in(&folder).len(), 3);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("programs outlive their killed process", || {
        working_in(&folder).is_empty()
    });

    let (mut child, folder) = serve(root.path());
    let joined = ControlPlane::join(&folder).await.unwrap();
    let namespaces: kube::Api<k8s_openapi::api::core::v1::Namespace> =
        kube::Api::all(joined.client().unwrap());
    assert!(
        namespaces.get_opt(&first).await.unwrap().is_none(),
        "old state is still there"
    );
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert!(working_in(&folder).is_empty());
}

#[tokio::test]
async fn missing_programs_are_an_error_with_the_command() {
    let empty = tempfile::tempdir().unwrap();
    let assets = kubepkg_sandbox::Assets::in_folder(empty.path());
    let error = ControlPlane::start_with(Options::default(), assets)
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("run `cargo xtask assets`"),
        "{error}"
    );
}

#[tokio::test]
async fn refused_flag_is_reported_with_the_words_of_the_server() {
    let mut options = Options::default();
    options.api_server_flags.push("--no-such-flag".to_owned());
    let error = ControlPlane::start(options).await.unwrap_err().to_string();
    assert!(
        error.contains("kube-apiserver ended during the start"),
        "{error}"
    );
    assert!(error.contains("no-such-flag"), "{error}");
}

#[tokio::test]
async fn taken_port_is_left_to_its_owner() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let mut options = Options::default()
        .controllers(Controllers::None)
        .without_pods();
    options.first_port = Some(port);
    let plane = ControlPlane::start(options).await.unwrap();
    assert!(
        !plane.server().ends_with(&format!(":{port}")),
        "{}",
        plane.server()
    );
}
