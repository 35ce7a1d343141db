//! The program `kubepkg-helm`, against what `helm` printed.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use base64::Engine as _;
use serde_json::Value;

use crate::vectors::{run, same};

fn write(case: &Value, folder: &Path) {
    let chart = folder.join("c");
    std::fs::create_dir_all(&chart).unwrap();
    let write = |path: &str, data: &[u8]| {
        let path: PathBuf = match path.strip_prefix("../") {
            Some(beside) => folder.join(beside),
            None => chart.join(path),
        };
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, data).unwrap();
    };
    for (path, text) in case["files"].as_object().into_iter().flatten() {
        write(path, text.as_str().unwrap().as_bytes());
    }
    for (path, text) in case["filesBase64"].as_object().into_iter().flatten() {
        let engine = base64::engine::general_purpose::STANDARD;
        write(path, &engine.decode(text.as_str().unwrap()).unwrap());
    }
}

fn ours(arguments: &[String], folder: &Path) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_kubepkg-helm"));
    program.args(arguments).current_dir(folder);
    for name in ["HELM_NAMESPACE", "SOURCE_DATE_EPOCH"] {
        program.env_remove(name);
    }
    program.output().unwrap()
}

/// What was printed, the folder by the name that it has in the vectors; log lines are for information.
fn printed(bytes: &[u8], folder: &Path) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.replace(&folder.display().to_string(), "<DIR>")
}

fn without_log(text: &str) -> String {
    let lines = text.split_inclusive('\n');
    lines.filter(|line| !line.starts_with("level=")).collect()
}

#[test]
fn prints_as_helm_prints() {
    run("helm-cli", |case| {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        write(case, &folder);
        let arguments: Vec<String> = serde_json::from_value(case["args"].clone()).unwrap();
        let finished = ours(&arguments, &folder);
        let errors = without_log(&printed(&finished.stderr, &folder));
        let wanted = without_log(case["stderr"].as_str().unwrap());
        same("stderr", &errors, &wanted)?;
        let out = printed(&finished.stdout, &folder);
        same("stdout", &out.as_str(), &case["stdout"].as_str().unwrap())?;
        let code = finished.status.code().map(i64::from);
        same("exit", &code, &case["exit"].as_i64())
    });
}

#[test]
fn every_command_that_is_listed_tells_its_flags() {
    let folder = tempfile::tempdir().unwrap();
    let overview = ours(&[], folder.path());
    assert!(overview.status.success());
    let overview = String::from_utf8(overview.stdout).unwrap();
    let commands: Vec<&str> = overview
        .lines()
        .filter_map(|line| line.strip_prefix("  kubepkg-helm "))
        .collect();
    assert_eq!(commands.len(), 9, "{overview}");
    for command in commands {
        let words = command
            .split(' ')
            .take_while(|word| word.chars().all(char::is_lowercase))
            .chain(["--help"]);
        let words: Vec<String> = words.map(str::to_owned).collect();
        let help = ours(&words, folder.path());
        assert!(help.status.success(), "{command}");
        let help = String::from_utf8(help.stdout).unwrap();
        assert!(
            help.contains(&format!("  kubepkg-helm {command}\n")),
            "{help}"
        );
        assert!(help.contains("  -n, --namespace TEXT\n"), "{help}");
    }
}
