//! What kubectl shows.

use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kubepkg_api::{ApiGroup, Kind, Package, PackageSource, keys};
use kubepkg_sandbox::ControlPlane;
use serde_json::json;

use crate::served::served;

/// Standard output and standard error of kubectl, which must succeed.
fn kubectl(plane: &ControlPlane, args: &[&str]) -> (String, String) {
    let output = plane
        .command("kubectl", "admin")
        .unwrap()
        .args(args)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{args:?}: {stderr}");
    (stdout, stderr)
}

/// The cells of the first table line that starts with `name`.
fn row(table: &str, name: &str) -> Vec<String> {
    let line = table
        .lines()
        .find(|line| line.contains(name))
        .unwrap_or_else(|| panic!("{name} in {table}"));
    line.split_whitespace().map(str::to_owned).collect()
}

#[tokio::test]
async fn columns_short_names_and_the_category() {
    let group = ApiGroup::new("packages.example.org").unwrap();
    let (plane, client) = served(&group).await;
    let name = plane.unique("columns");
    let packages: Api<Package> = Api::all_with(client.clone(), &group);
    let spec = serde_json::from_value(json!({ "variant": "ha" })).unwrap();
    packages
        .create(&PostParams::default(), &Package::new(&group, &name, spec))
        .await
        .unwrap();
    let status = json!({ "status": {
        "version": "1.2.3", "currentRevision": 4,
        "conditions": [{
            "type": "Ready", "status": "True", "reason": "ReconciliationSucceeded", "message": "fine",
            "lastTransitionTime": "2026-01-02T03:04:05Z", "observedGeneration": 1
        }]
    }});
    packages
        .patch_status(&name, &PatchParams::default(), &Patch::Merge(status))
        .await
        .unwrap();

    let (table, _) = kubectl(plane, &["get", "pkg.packages.example.org", &name]);
    assert_eq!(
        table
            .lines()
            .next()
            .unwrap()
            .split_whitespace()
            .collect::<Vec<_>>(),
        ["NAME", "VARIANT", "VERSION", "REVISION", "READY", "STATUS"]
    );
    assert_eq!(
        row(&table, &name),
        [&name, "ha", "1.2.3", "4", "True", "fine"]
    );
    let (table, _) = kubectl(plane, &["get", "pkgs.packages.example.org"]);
    assert_eq!(row(&table, &name).first(), Some(&name));
    let (table, _) = kubectl(plane, &["get", "kubepkg", "--ignore-not-found"]);
    assert!(
        table.contains(&format!("package.packages.example.org/{name}")),
        "{table}"
    );

    let sources: Api<PackageSource> = Api::all_with(client, &group);
    let spec = serde_json::from_value(json!({ "version": "1.2.3", "build": 2 })).unwrap();
    let mut source = PackageSource::new(&group, &name, spec);
    source.metadata.labels = Some([(keys::REPOSITORY_LABEL.to_owned(), "main".to_owned())].into());
    sources
        .create(&PostParams::default(), &source)
        .await
        .unwrap();
    let (table, _) = kubectl(plane, &["get", "pks.packages.example.org", &name]);
    assert_eq!(
        row(&table, &name).get(..4).unwrap(),
        [&name, "1.2.3", "2", "main"]
    );

    packages
        .delete(&name, &DeleteParams::default())
        .await
        .unwrap();
    sources
        .delete(&name, &DeleteParams::default())
        .await
        .unwrap();
}

#[tokio::test]
async fn older_versions_are_served_with_a_warning() {
    let (plane, _) = served(&ApiGroup::default()).await;
    for version in kubepkg_api::DEPRECATED_VERSIONS {
        let (_, warnings) = kubectl(plane, &["get", &format!("packages.{version}.kubepkg.dev")]);
        assert!(
            warnings.contains(&format!(
                "Warning: kubepkg.dev/{version} Package is deprecated; use kubepkg.dev/v1"
            )),
            "{warnings}"
        );
    }
    let (_, warnings) = kubectl(plane, &["get", "packages.v1.kubepkg.dev"]);
    assert!(!warnings.contains("deprecated"), "{warnings}");
}
