//! `install`: plans, confirmation, dry runs, files.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps,
};
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams, PostParams};
use kubepkg_api::{Package, PackageSource, keys};
use serde_json::{Value, json};

use crate::desk::{Desk, source_spec};

#[tokio::test]
async fn installs_what_is_asked_for_with_what_it_requires() {
    let desk = Desk::new().await;
    desk.source("cdi", "1.66.1", json!([])).await;
    desk.source(
        "virtualization",
        "1.0.0",
        json!([{ "package": "cdi", "version": ">=1.60" }]),
    )
    .await;

    let ran = desk.answer("y\n", &["install", "virtualization"]);
    insta::assert_snapshot!(ran.stdout, @r"
    ACTION   PACKAGE         FROM  TO      REPOSITORY             WHY
    install  cdi             -     1.66.1  (local PackageSource)  required by virtualization 1.0.0
    install  virtualization  -     1.0.0   (local PackageSource)  requested
      cdi: a hand-written PackageSource decides the version, not the repositories
      virtualization: a hand-written PackageSource decides the version, not the
        repositories
    ");
    assert_eq!(
        ran.stderr,
        "Apply? [y/N] 2 packages requested; follow them with \"kubepkg list\"\n"
    );
    assert_eq!(ran.code, 0);
    let cdi = desk.package("cdi").await;
    assert_eq!(cdi.spec.version, ">=1.60");
    assert_eq!(
        cdi.annotations()[keys::DEPENDENCY],
        "required by virtualization 1.0.0"
    );
    let virtualization = desk.package("virtualization").await;
    assert_eq!(virtualization.spec.version, "~1.0");
    assert!(!virtualization.annotations().contains_key(keys::DEPENDENCY));

    let ran = desk.run(&["install", "virtualization"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "nothing to do\n"));
    assert!(
        ran.stdout.contains("keep    virtualization  1.0.0"),
        "{}",
        ran.stdout
    );
}

#[tokio::test]
async fn nothing_is_written_without_a_yes() {
    let desk = Desk::new().await;
    desk.source("a", "1.0.0", json!([])).await;
    for answer in ["", "\n", "n\n", "maybe\n"] {
        let ran = desk.answer(answer, &["install", "a"]);
        assert_eq!(ran.code, 1);
        assert!(ran.stderr.ends_with("error: aborted\n"), "{}", ran.stderr);
        assert!(!desk.exists("a").await);
    }
}

#[tokio::test]
async fn a_dry_run_shows_the_plan_writes_nothing_and_ends_with_3() {
    let desk = Desk::new().await;
    desk.source("a", "1.0.0", json!([])).await;
    let ran = desk.run(&["install", "a", "--dry-run"]);
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (3, "dry run: nothing was written\n")
    );
    assert!(ran.stdout.starts_with("ACTION   PACKAGE"), "{}", ran.stdout);
    assert!(!desk.exists("a").await);

    assert_eq!(desk.run(&["install", "a", "-y"]).code, 0);
    assert_eq!(
        desk.run(&["install", "a", "--dry-run"]).code,
        0,
        "no changes are left"
    );
}

#[tokio::test]
async fn formats_for_scripts() {
    let desk = Desk::new().await;
    desk.source("a", "1.0.0", json!([])).await;
    let ran = desk.run(&["install", "a", "--dry-run", "-o", "json"]);
    let plan: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(plan["steps"][0]["action"], json!("install"));
    assert_eq!(plan["steps"][0]["from"], Value::Null);
    assert_eq!(plan["steps"][0]["changes"], json!(true));
    let ran = desk.run(&["install", "a", "-y", "-o", "name"]);
    assert_eq!(ran.stdout, format!("{}\n", desk.object("a")));
    let ran = desk.run(&["list", "-o", "yaml"]);
    assert!(
        ran.stdout.starts_with("apiVersion: v1\nitems:\n"),
        "{}",
        ran.stdout
    );
    assert_eq!(
        desk.run(&["list", "-o", "name"]).stdout,
        format!("{}\n", desk.object("a"))
    );
    let list: Value = serde_json::from_str(&desk.run(&["list", "-o", "json"]).stdout).unwrap();
    assert_eq!(list["items"][0]["metadata"]["name"], json!("a"));
}

#[tokio::test]
async fn refusals_help() {
    let desk = Desk::new().await;
    desk.source("cert-manager", "1.16.2", json!([])).await;
    let ran = desk.run(&["install", "cert-manager@~1.17"]);
    insta::assert_snapshot!(ran.stderr, @r#"
    error: cert-manager 1.16.2 does not satisfy "~1.17"
      PackageSource cert-manager is hand-written and holds 1.16.2 only
      try: kubepkg install cert-manager
    "#);
    assert_eq!(ran.code, 1);
    let ran = desk.run(&["install", "cert-manger"]);
    insta::assert_snapshot!(ran.stderr, @r"
    error: there is no PackageSource cert-manger in the cluster
      there is: cert-manager
      try: kubepkg install -f cert-manger.yaml
    ");
    let ran = desk.run(&["install", "cert-manager", "--variant", "ha"]);
    insta::assert_snapshot!(ran.stderr, @r#"
    error: cert-manager 1.16.2 has no variant "ha"
      its variants are: default
      try: kubepkg install cert-manager --variant default
    "#);
}

#[tokio::test]
async fn a_variant_and_a_constraint_are_written_as_asked_for() {
    let desk = Desk::new().await;
    let mut spec = source_spec("1.0.0", json!([]));
    spec["variants"]
        .as_array_mut()
        .unwrap()
        .push(json!({ "name": "ha" }));
    desk.create::<PackageSource>("a", spec).await;
    assert_eq!(
        desk.run(&["install", "a@>=1 <2", "--variant", "ha", "-y"])
            .code,
        0
    );
    let package = desk.package("a").await;
    assert_eq!(
        (package.spec.version.as_str(), package.spec.variant.as_str()),
        (">=1 <2", "ha")
    );

    let ran = desk.run(&["install", "a@1.0.0", "--variant", "default", "-y"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("constraint >=1 <2 becomes 1.0.0"),
        "{}",
        ran.stdout
    );
    let package = desk.package("a").await;
    assert_eq!(
        (package.spec.version.as_str(), package.spec.variant.as_str()),
        ("1.0.0", "default")
    );
}

#[tokio::test]
async fn a_requirement_that_is_asked_for_is_no_longer_a_requirement() {
    let desk = Desk::new().await;
    desk.source("low", "1.0.0", json!([])).await;
    desk.source("high", "1.0.0", json!([{ "package": "low" }]))
        .await;
    assert_eq!(desk.run(&["install", "high", "-y"]).code, 0);
    assert!(
        desk.package("low")
            .await
            .annotations()
            .contains_key(keys::DEPENDENCY)
    );
    let ran = desk.run(&["install", "low", "-y"]);
    assert!(
        ran.stdout.contains("counts as asked for now"),
        "{}",
        ran.stdout
    );
    assert!(
        !desk
            .package("low")
            .await
            .annotations()
            .contains_key(keys::DEPENDENCY)
    );
}

#[tokio::test]
async fn files_are_applied_before_the_packages_in_them() {
    let desk = Desk::new().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sources.yaml");
    let document = |name: &str, version: &str, requires: Value| {
        let document = json!({
            "apiVersion": desk.group.api_version(), "kind": "PackageSource",
            "metadata": { "name": name }, "spec": source_spec(version, requires)
        });
        serde_json::to_string(&document).unwrap()
    };
    let text = format!(
        "{}\n---\n{}\n",
        document("app", "1.0.0", json!([{ "package": "lib" }])),
        document("lib", "1.0.0", json!([]))
    );
    std::fs::write(&path, text).unwrap();
    let file = path.to_str().unwrap();

    let ran = desk.run(&["install", "app", "-f", file, "--dry-run"]);
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(
        ran.stdout
            .contains("  app: PackageSource comes from a file\n"),
        "{}",
        ran.stdout
    );
    assert!(
        desk.api::<PackageSource>()
            .get_opt("app")
            .await
            .unwrap()
            .is_none()
    );

    assert_eq!(desk.run(&["install", "app", "-f", file, "-y"]).code, 0);
    assert_eq!(
        desk.api::<PackageSource>()
            .get("lib")
            .await
            .unwrap()
            .spec
            .version,
        "1.0.0"
    );
    assert!(
        desk.package("lib")
            .await
            .annotations()
            .contains_key(keys::DEPENDENCY)
    );
    assert_eq!(
        desk.run(&["install", "-f", file]).code,
        1,
        "lib is asked for now, which is a change to confirm"
    );

    std::fs::write(&path, document("app", "1.1.0", json!([]))).unwrap();
    desk.settle("app", "True", "ReconciliationSucceeded", "1.0.0", 1)
        .await;
    let ran = desk.run(&["install", "-f", file, "-y"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("upgrade  app      1.0.0  1.1.0"),
        "{}",
        ran.stdout
    );
    assert_eq!(desk.package("app").await.spec.version, "~1.1");
}

#[tokio::test]
async fn files_with_mistakes_are_refused_before_anything_is_written() {
    let desk = Desk::new().await;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("source.yaml");
    let run = |text: String| {
        std::fs::write(&path, text).unwrap();
        desk.run(&["install", "-f", path.to_str().unwrap(), "-y"])
    };
    let api_version = desk.group.api_version();
    let ran = run(format!(
        "apiVersion: {api_version}\nkind: PackageSource\nmetadata: {{name: a}}\nspec: {{versoin: 1.0.0}}\n"
    ));
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("versoin"), "{}", ran.stderr);
    let ran = run(format!(
        "apiVersion: {api_version}\nkind: PackageSource\nmetadata: {{name: a}}\nspec: {{build: -1}}\n"
    ));
    assert!(ran.stderr.contains("spec.build"), "{}", ran.stderr);
    let ran = run("apiVersion: v1\nkind: ConfigMap\n".to_owned());
    assert!(
        ran.stderr.contains("kind is \"ConfigMap\""),
        "{}",
        ran.stderr
    );
    let ran = desk.run(&["install", "-f", "/nonexistent/a.yaml"]);
    assert!(
        ran.stderr
            .starts_with("error: cannot read /nonexistent/a.yaml\n  because: "),
        "{}",
        ran.stderr
    );
    assert!(
        desk.api::<PackageSource>()
            .get_opt("a")
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test]
async fn a_file_does_not_touch_what_a_repository_supplies() {
    let desk = Desk::new().await;
    desk.source("a", "1.0.0", json!([])).await;
    let label = json!({ "metadata": { "labels": { keys::REPOSITORY_LABEL: "main" } } });
    desk.api::<PackageSource>()
        .patch("a", &PatchParams::default(), &Patch::Merge(label))
        .await
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.yaml");
    let api_version = desk.group.api_version();
    std::fs::write(&path, format!("apiVersion: {api_version}\nkind: PackageSource\nmetadata: {{name: a}}\nspec: {{version: 2.0.0}}\n")).unwrap();
    let ran = desk.run(&["install", "-f", path.to_str().unwrap(), "-y"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.stderr.contains("comes from repository main"),
        "{}",
        ran.stderr
    );

    let ran = desk.run(&["install", "a", "--dry-run"]);
    assert!(ran.stdout.contains("  main  "), "{}", ran.stdout);
}

#[tokio::test]
async fn one_package_that_cannot_be_read_is_a_warning() {
    let desk = Desk::new().await;
    desk.create::<Package>("good", json!({})).await;
    // An object that an older, looser schema let through.
    let crds: kube::Api<CustomResourceDefinition> = kube::Api::all(desk.client.clone());
    let name = format!("packages.{}", desk.group);
    let mut definition = crds.get(&name).await.unwrap();
    let loose: JSONSchemaProps = serde_json::from_value(
        json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }),
    )
    .unwrap();
    for version in &mut definition.spec.versions {
        version.schema.as_mut().unwrap().open_api_v3_schema = Some(loose.clone());
    }
    crds.replace(&name, &PostParams::default(), &definition)
        .await
        .unwrap();
    let bad = json!({ "apiVersion": desk.group.api_version(), "kind": "Package", "metadata": { "name": "bad" }, "spec": { "upgrade": { "timeout": "ten" } } });
    let resource = kube::api::ApiResource::erase::<Package>(&desk.group);
    let api: kube::Api<kube::api::DynamicObject> =
        kube::Api::all_with(desk.client.clone(), &resource);
    crate::desk::until("the loose schema is in force", async || {
        let object: kube::api::DynamicObject = serde_json::from_value(bad.clone()).unwrap();
        api.create(&PostParams::default(), &object).await.is_ok()
    })
    .await;
    let ran = desk.run(&["list"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr
            .starts_with("warning: Package bad cannot be read and is left out: "),
        "{}",
        ran.stderr
    );
    assert!(ran.stdout.contains("good"), "{}", ran.stdout);
}
