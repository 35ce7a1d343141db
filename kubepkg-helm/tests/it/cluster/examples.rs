//! The examples do what they say, as programs, on a real API server.

use super::charts::config_map;
use super::interop::{ChartFolder, helm};
use super::plane;
use std::path::PathBuf;
use std::process::Command;

/// Runs an example that was built with these tests, and gives what it prints.
fn example(name: &str, arguments: &[&str]) -> String {
    let tests = std::env::current_exe().unwrap();
    let programs: PathBuf = tests.parent().unwrap().parent().unwrap().join("examples");
    let output = Command::new(programs.join(name))
        .args(arguments)
        .output()
        .unwrap_or_else(|error| {
            panic!("{name}: {error}; run `cargo build -p kubepkg-helm --examples` first")
        });
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn examples_render_install_upgrade_and_list() {
    let plane = plane().await;
    let namespace = plane.namespace("examples").await.unwrap();
    let kubeconfig = plane.kubeconfig().to_str().unwrap();
    let chart = ChartFolder::new("1.0.0", &[config_map("a", "1"), config_map("b", "1")]);
    let to = [kubeconfig, &namespace, "demo", chart.path()];

    // The manifest is that of the helm program.
    let rendered = example("render", &[chart.path(), "demo"]);
    let (origins, manifest) = rendered.split_once("---\n").unwrap();
    assert_eq!(
        origins,
        "ConfigMap/a from demo/templates/0.yaml:1\nConfigMap/b from demo/templates/1.yaml:1\n"
    );
    let helms = helm("helm", &["template", "demo", chart.path()]).await;
    assert_eq!(format!("---\n{manifest}").trim_end(), helms.trim_end());

    let installed = example("install", &to);
    assert!(installed.contains(" Apply(0, 2)\n"), "{installed}");
    assert!(
        installed.contains("demo is installed, revision 1\n"),
        "{installed}"
    );

    // Without consent an upgrade only tells what it would do.
    chart.write("1.1.0", &[config_map("a", "2"), config_map("c", "1")]);
    let preview = example("upgrade", &to);
    for line in [
        "Change ConfigMap/a\n",
        "-    \"k\": \"1\"\n",
        "+    \"k\": \"2\"\n",
        "Create ConfigMap/c\n",
        "Delete ConfigMap/b\n",
    ] {
        assert!(preview.contains(line), "{line} is not in {preview}");
    }
    let of_namespace = [kubeconfig, &namespace];
    let listed = format!("{namespace}/demo revision 1 deployed\n");
    assert_eq!(example("list", &of_namespace), listed);

    let upgraded = example("upgrade", &[&to[..], &["--yes"]].concat());
    assert!(
        upgraded.contains("demo is upgraded, revision 2; 0 objects"),
        "{upgraded}"
    );
    let shown = example("list", &[kubeconfig, &namespace, "demo"]);
    let heads = "revision 1 superseded\nrevision 2 deployed\nchart demo 1.1.0\n\
                 description Upgrade complete\nvalues {}\n";
    assert!(shown.starts_with(heads), "{shown}");
}
