//! `test`: what it finds in packages, and that it finds nothing where nothing is wrong.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::desk::{Ran, ran};

fn run(arguments: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubepkg"));
    ran(command.arg("test").args(arguments).output().unwrap())
}

fn write(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// The shop at a version, in a folder of its own.
fn shop(root: &Path, version: &str, source: &str) -> PathBuf {
    let folder = root.join(version);
    write(&folder, "shop.yaml", source);
    let demo = Path::new(env!("CARGO_MANIFEST_DIR")).join("demo/charts");
    for chart in ["store", "web"] {
        let templates = format!("templates/{chart}.yaml");
        for file in [
            "Chart.yaml",
            "values.yaml",
            "templates/_labels.tpl",
            &templates,
        ] {
            let text = std::fs::read_to_string(demo.join(chart).join(file)).unwrap();
            let is_head = file == "Chart.yaml" && chart == "web";
            let text = if is_head {
                text.replace("1.0.0", version)
            } else {
                text
            };
            write(&folder, &format!("charts/{chart}/{file}"), &text);
        }
    }
    folder
}

#[test]
fn a_sound_package_goes_through_its_whole_life() {
    let root = tempfile::tempdir().unwrap();
    let old = shop(
        root.path(),
        "1.0.0",
        include_str!("../../demo/packages/shop/1.0.0.yaml"),
    );
    let new = shop(
        root.path(),
        "1.0.1",
        include_str!("../../demo/packages/shop/1.0.1.yaml"),
    );
    let junit = root.path().join("junit.xml");
    let [old, new, junit] = [&old, &new, &junit].map(|path| path.to_str().unwrap());
    let done = run(&[new, "--from", old, "--junit", junit]);
    assert_eq!(done.code, 0, "{}{}", done.stdout, done.stderr);
    insta::with_settings!({ filters => vec![(r"\d+\.\ds", "N.Ns")] }, {
        insta::assert_snapshot!(done.stdout, @r"
        VERSION  STEP                RESULT  FINDINGS  TIME
        1.0.0    check               ok      0         N.Ns
        1.0.1    check               ok      0         N.Ns
        1.0.0    install             ok      0         N.Ns
        1.0.1    upgrade from 1.0.0  ok      0         N.Ns
        1.0.1    rollback to 1.0.0   ok      0         N.Ns
        1.0.1    remove              ok      0         N.Ns
        ");
    });
    let junit = std::fs::read_to_string(junit).unwrap();
    assert!(
        junit.contains("<testsuite name=\"shop\" tests=\"6\" failures=\"0\""),
        "{junit}"
    );
}

/// A package of one chart with these files, and these lines in its spec.
fn package(spec: &str, files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let source = format!(
        "apiVersion: kubepkg.dev/v1\nkind: PackageSource\nmetadata: {{name: shop}}\nspec:\n  version: 1.0.0\n{spec}  \
         variants:\n  - name: default\n    components:\n    - name: web\n      chart: {{repository: \
         https://charts.example.org, name: web, version: 1.0.0}}\n      install: {{namespace: shop}}\n"
    );
    write(folder.path(), "shop.yaml", &source);
    let head = "apiVersion: v2\nname: web\nversion: 1.0.0\n";
    write(folder.path(), "charts/web/Chart.yaml", head);
    for (file, text) in files {
        write(folder.path(), &format!("charts/web/{file}"), text);
    }
    folder
}

/// What is found, as `step: rule object at place`, in JSON and by the exit code.
fn found(folder: &TempDir) -> BTreeSet<String> {
    let path = folder.path().to_str().unwrap();
    let done = run(&[path, "--timeout", "2s", "-o", "json"]);
    let result: Value = serde_json::from_str(&done.stdout).unwrap();
    let mut all = BTreeSet::new();
    for case in result["cases"].as_array().unwrap() {
        for finding in case["findings"].as_array().unwrap() {
            let text = |field: &str| finding[field].as_str().unwrap();
            for field in ["message", "remedy"] {
                assert!(!text(field).is_empty(), "{finding}");
            }
            let step = case["step"].as_str().unwrap();
            let place = text("place").replace(path, "DIR");
            all.insert(format!(
                "{step}: {} {} at {place}",
                text("rule"),
                text("object")
            ));
        }
    }
    assert_eq!(done.code, i32::from(!all.is_empty()), "{}", done.stderr);
    all
}

fn texts(all: &[&str]) -> BTreeSet<String> {
    all.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn all_objects_that_the_server_refuses_are_named_with_their_lines() {
    let maps = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndatas: {}\n---\n\
                apiVersion: v1\nkind: ConfigMap\nmetadata: {name: B}\n---\n\
                apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n";
    let found = found(&package("", &[("templates/maps.yaml", maps)]));
    assert!(
        found.contains("check: accepted ConfigMap shop/a at web/templates/maps.yaml:1"),
        "{found:?}"
    );
    assert!(
        found.contains("check: accepted ConfigMap shop/B at web/templates/maps.yaml:6"),
        "{found:?}"
    );
    assert!(!found.iter().any(|one| one.contains("shop/c")), "{found:?}");
    assert!(
        found.contains("install: settles Package shop at DIR/shop.yaml"),
        "{found:?}"
    );
}

#[test]
fn a_chart_that_does_not_render_is_one_finding_of_its_check() {
    let files = [(
        "templates/a.yaml",
        "{{ required \"name is needed\" .Values.name }}\n",
    )];
    let found = found(&package("", &files));
    let expected = [
        "check: renders component web at ",
        "install: settles Package shop at DIR/shop.yaml",
    ];
    assert_eq!(found, texts(&expected));
}

#[test]
fn names_that_leave_no_room_are_found() {
    // 53 characters: the server takes it, and no Pod of it can ever be made.
    let name = "a".repeat(53);
    let set = format!(
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: {name}}}\nspec:\n  serviceName: a\n  replicas: 0\n  \
         selector: {{matchLabels: {{app: a}}}}\n  template:\n    metadata: {{labels: {{app: a}}}}\n    spec:\n      \
         containers: [{{name: c, image: example.test/c}}]\n"
    );
    let found = found(&package("", &[("templates/set.yaml", &set)]));
    let expected =
        format!("check: name-length StatefulSet shop/{name} at web/templates/set.yaml:1");
    assert_eq!(found, texts(&[&expected]));
}

#[test]
fn hooks_that_never_end_are_found_before_and_while_they_do_not() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: migrate\n  annotations: {helm.sh/hook: pre-install, \
               helm.sh/hook-delete-policy: before-hook-creation}\nspec:\n  containers: [{name: c, image: \
               example.test/c}]\n";
    let found = found(&package("", &[("templates/pod.yaml", pod)]));
    assert!(
        found.contains("check: hook-ends Pod shop/migrate at web/templates/pod.yaml:1"),
        "{found:?}"
    );
    assert!(
        found.contains("install: settles Package shop at DIR/shop.yaml"),
        "{found:?}"
    );
}

const CRD: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: \
    things.example.org}\nspec:\n  group: example.org\n  scope: Namespaced\n  names: {plural: things, singular: thing, \
    kind: Thing, listKind: ThingList}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    schema: \
    {openAPIV3Schema: {type: object}}\n";
const THING: &str = "apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: one}\n";

#[test]
fn crds_are_those_that_the_package_says_it_owns() {
    let files = [("crds/things.yaml", CRD), ("templates/thing.yaml", THING)];
    let undeclared = found(&package("", &files));
    let expected =
        "check: crds-declared CustomResourceDefinition things.example.org at web/crds/things.yaml";
    assert_eq!(undeclared, texts(&[expected]));
    assert_eq!(
        found(&package("  crds: [things.example.org]\n", &files)),
        texts(&[])
    );
}

#[test]
fn kinds_that_nobody_defines_are_found() {
    let found = found(&package("", &[("templates/thing.yaml", THING)]));
    assert!(
        found.contains("check: kind-served Thing one at web/templates/thing.yaml:1"),
        "{found:?}"
    );
}

#[test]
fn hooks_that_stay_behind_are_found_with_their_template() {
    let job = "\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n  annotations: {helm.sh/hook: \
               pre-install}\nspec:\n  template:\n    spec:\n      restartPolicy: Never\n      containers: [{name: c, \
               image: example.test/c}]\n";
    let found = found(&package("", &[("templates/job.yaml", job)]));
    assert!(
        found.contains("remove: nothing-left Job shop/migrate at web/templates/job.yaml:2"),
        "{found:?}"
    );
    assert!(
        found
            .iter()
            .all(|one| one.starts_with("remove: nothing-left ")),
        "{found:?}"
    );
}

#[test]
fn folders_without_one_package_are_refused_by_name() {
    let empty = tempfile::tempdir().unwrap();
    let path = empty.path().to_str().unwrap();
    let refused = run(&[path]);
    assert_eq!(refused.code, 1);
    assert!(
        refused.stderr.contains("no YAML file with a PackageSource"),
        "{}",
        refused.stderr
    );
    write(empty.path(), "a.yaml", "kind: ConfigMap\napiVersion: v1\n");
    assert!(run(&[path]).stderr.contains("kind is \"ConfigMap\""));
    write(empty.path(), "b.yaml", "{}");
    assert!(run(&[path]).stderr.contains("a.yaml and "));
}
