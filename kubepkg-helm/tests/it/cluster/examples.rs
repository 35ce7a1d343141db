//! The examples do what they say on a real API server.

use super::charts::config_map;
use super::interop::{ChartFolder, helm};
use super::plane;

#[expect(dead_code, reason = "`main` is for people")]
#[path = "../../../examples/install.rs"]
mod install;
#[expect(dead_code, reason = "`main` is for people")]
#[path = "../../../examples/list.rs"]
mod list;
#[expect(dead_code, reason = "`main` is for people")]
#[path = "../../../examples/render.rs"]
mod render;
#[expect(dead_code, reason = "`main` is for people")]
#[path = "../../../examples/upgrade.rs"]
mod upgrade;

fn owned(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(ToString::to_string).collect()
}

/// What an example prints.
macro_rules! example {
    ($name:ident, $arguments:expr $(, $wait:tt)?) => {{
        let mut printed = Vec::new();
        $name::run(&owned($arguments), &mut printed)$(.$wait)?.unwrap();
        String::from_utf8(printed).unwrap()
    }};
}

#[tokio::test]
async fn examples_render_install_upgrade_and_list() {
    let plane = plane().await;
    let namespace = plane.namespace("examples").await.unwrap();
    let kubeconfig = plane.kubeconfig().to_str().unwrap();
    let chart = ChartFolder::new("1.0.0", &[config_map("a", "1"), config_map("b", "1")]);
    let to = [kubeconfig, &namespace, "demo", chart.path()];

    // The manifest is that of the helm program.
    let rendered = example!(render, &[chart.path(), "demo"]);
    let (origins, manifest) = rendered.split_once("---\n").unwrap();
    assert_eq!(
        origins,
        "ConfigMap/a from demo/templates/0.yaml:1\nConfigMap/b from demo/templates/1.yaml:1\n"
    );
    let helms = helm("helm", &["template", "demo", chart.path()]).await;
    assert_eq!(format!("---\n{manifest}").trim_end(), helms.trim_end());

    let installed = example!(install, &to, await);
    assert!(installed.contains(" Apply(0, 2)\n"), "{installed}");
    assert!(
        installed.contains("demo is installed, revision 1\n"),
        "{installed}"
    );

    // Without consent an upgrade only tells what it would do.
    chart.write("1.1.0", &[config_map("a", "2"), config_map("c", "1")]);
    let preview = example!(upgrade, &to, await);
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
    assert_eq!(example!(list, &of_namespace, await), listed);

    let upgraded = example!(upgrade, &[&to[..], &["--yes"]].concat(), await);
    assert!(
        upgraded.contains("demo is upgraded, revision 2; 0 objects"),
        "{upgraded}"
    );
    let shown = example!(list, &[kubeconfig, &namespace, "demo"], await);
    let values = ["get", "values", "demo", "-n", &namespace, "-o", "json"];
    let values = helm("helm", &values).await;
    let heads = format!(
        "revision 1 superseded\nrevision 2 deployed\nchart demo 1.1.0\n\
         description Upgrade complete\nvalues {values}---\n"
    );
    assert!(shown.starts_with(&heads), "{shown}");
}
