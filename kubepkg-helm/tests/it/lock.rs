//! Lock digests and the choice of versions, against what Helm's resolver answered.

use std::collections::BTreeMap;
use std::path::Path;

use kubepkg_helm::{
    ChartLimits, Dependency, OfferError, OfferedVersion, Offers, Origin, ResolveContext,
    lock_digest, lock_digest_v2, resolve,
};
use serde_json::Value;

use crate::vectors::{read, run, same};

fn list(case: &Value, field: &str) -> Option<Vec<Option<Dependency>>> {
    let text = case[field].as_str().unwrap();
    serde_json::from_str(if text.is_empty() { "null" } else { text }).unwrap()
}

/// The index of the file, under the name that it has there.
struct Kept {
    name: String,
    index: Value,
}

impl Offers for Kept {
    fn index(
        &self,
        repository: &str,
        chart: &str,
    ) -> Result<Option<Vec<OfferedVersion>>, OfferError> {
        if repository != self.name {
            let message = format!("open cache/{repository}-index.yaml: no such file or directory");
            return Err(OfferError { message });
        }
        let Some(entries) = self.index["entries"][chart].as_array() else {
            return Ok(None);
        };
        let offered = |entry: &Value| OfferedVersion {
            version: entry["version"].as_str().unwrap().to_owned(),
            has_address: entry.get("urls").is_some(),
        };
        let mut versions: Vec<OfferedVersion> = entries.iter().map(offered).collect();
        // An index is in this order once it is loaded.
        versions.sort_by_key(|offered| {
            std::cmp::Reverse(kubepkg_resolve::Version::parse(&offered.version).unwrap())
        });
        Ok(Some(versions))
    }

    fn tags(&self, reference: &str) -> Result<Vec<String>, OfferError> {
        Err(OfferError {
            message: format!("nobody serves {reference}"),
        })
    }
}

fn parent(folder: &Path) {
    for (path, version) in [
        ("charts/local", "version: 0.1.0\n"),
        ("sibling", "version: 1.2.3\n"),
        ("broken", ""),
    ] {
        let chart = folder.join(path);
        std::fs::create_dir_all(&chart).unwrap();
        let name = chart.file_name().unwrap().to_str().unwrap();
        let text = format!("apiVersion: v2\nname: {name}\n{version}");
        std::fs::write(chart.join("Chart.yaml"), text).unwrap();
    }
}

#[test]
fn locks_dependencies_as_helm() {
    let all = read("helm-misc-lock");
    let index = all.iter().find(|case| case["group"] == "resolve-index");
    let index = index.unwrap();
    let offers = Kept {
        name: index["repository_name"].as_str().unwrap().to_owned(),
        index: kubepkg_yaml::load(index["index"].as_str().unwrap().as_bytes()).unwrap(),
    };
    let folder = tempfile::tempdir().unwrap();
    let chart = folder.path().join("parent");
    parent(&chart);
    run("helm-misc-lock", |case| {
        let digest = || case["digest"].as_str().unwrap().to_owned();
        match case["group"].as_str().unwrap() {
            "resolve-index" => Ok(()),
            "digest" => {
                let (requested, locked) = (list(case, "requested"), list(case, "locked"));
                let got = lock_digest(requested.as_deref(), locked.as_deref()).unwrap();
                same("digest", &got, &digest())
            }
            "digest-v2" => {
                let got = lock_digest_v2(list(case, "requested").as_deref()).unwrap();
                same("digest", &got, &digest())
            }
            _ => {
                let repositories: BTreeMap<String, String> =
                    serde_json::from_value(case["repository_names"].clone()).unwrap();
                let context = ResolveContext {
                    chart: &chart,
                    repositories: &repositories,
                    now: Some((1_700_000_000, 5)),
                    limits: &ChartLimits::default(),
                };
                let requested = list(case, "requested").unwrap_or_default();
                match (resolve(&requested, &context, &offers), case.get("error")) {
                    (Err(error), Some(wanted)) => {
                        let prefix = format!("{}/", folder.path().display());
                        let error = error.to_string().replace(&prefix, "");
                        same("error", &Value::from(error), wanted)
                    }
                    (Err(error), None) => Err(error.to_string()),
                    (Ok(_), Some(wanted)) => Err(format!("no error, wanted {wanted}")),
                    (Ok(lock), None) => {
                        same("locked", &lock.dependencies, &list(case, "locked"))?;
                        same(
                            "time",
                            &lock.generated.as_str(),
                            &"2023-11-14T22:13:20.000000005Z",
                        )?;
                        same("digest", &lock.digest, &digest())
                    }
                }
            }
        }
    });
}

#[test]
fn a_registry_is_asked_for_tags_only_where_the_version_is_a_range() {
    // As Helm's Resolve: registry and path are the repository without its scheme, then the chart's name.
    let repositories = BTreeMap::from([("web".to_owned(), "oci://h/p".to_owned())]);
    let origin = |version: &str| {
        let wanted = Dependency {
            name: "web".into(),
            version: version.into(),
            repository: "oci://h/p".into(),
            ..Dependency::default()
        };
        wanted.origin(&repositories)
    };
    let reference = "h/p/web".to_owned();
    assert_eq!(origin("^1"), Origin::Tags { reference });
    assert_eq!(origin("v1.2.3+x"), Origin::Exact);
}
