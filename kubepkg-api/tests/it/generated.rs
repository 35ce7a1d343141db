//! The CRD files of the operator's chart are what the code says.

use std::fs;
use std::path::Path;

use kubepkg_api::{ApiGroup, crd};

#[test]
fn crd_files_of_the_chart_are_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../charts/kubepkg/crds");
    let mut found: Vec<String> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask crds`", folder.display()))
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    let mut wanted = Vec::new();
    for definition in crd::crds(&ApiGroup::default()) {
        let name = crd::file_name(&definition);
        let text = crd::to_yaml(&definition).unwrap();
        let file = fs::read_to_string(folder.join(&name)).unwrap_or_default();
        assert!(
            file == text,
            "charts/kubepkg/crds/{name} is stale; run `cargo xtask crds`"
        );
        wanted.push(name);
    }
    wanted.sort();
    assert_eq!(found, wanted, "run `cargo xtask crds`");
}
