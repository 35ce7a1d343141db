//! Everything that is in a cluster at the end of a run, without what differs from run to run: UIDs, resource versions,
//! times, managed fields, Pods, Events.
//!
//! Two views of it. The whole one has every object, every record of every release and every revision of every package: it
//! is the same wherever the operator was killed. What runs is the other one: what a user of the cluster has in the end,
//! whatever the way there.

use std::collections::{BTreeMap, BTreeSet};

use kubepkg_helm::{Helm, HelmOptions};
use serde_json::{Value, json};

use crate::world::{Stuck, World};

/// Collections of objects that packages bring.
const BROUGHT: &[&str] = &[
    "/api/v1/configmaps",
    "/api/v1/serviceaccounts",
    "/api/v1/services",
    "/apis/apps/v1/deployments",
    "/apis/rbac.authorization.k8s.io/v1/roles",
];

/// Collections of which only the whole view tells.
const BESIDE: &[&str] = &[
    "/api/v1/namespaces",
    // As Helm has it, the Job of a hook that was given up stays.
    "/apis/batch/v1/jobs",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
];

/// Differences that are told; there may be many more.
const TOLD: usize = 5;

/// The end of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    whole: BTreeMap<String, String>,
    runs: BTreeMap<String, String>,
}

impl State {
    pub(crate) async fn of(world: &World) -> Result<Self, Stuck> {
        let mut state = Self::default();
        for collection in BROUGHT.iter().chain(BESIDE) {
            for mut object in items(world, collection).await? {
                let key = key(collection, &object);
                mask(&mut object);
                if BROUGHT.contains(collection) {
                    let what = json!([object["spec"], object["data"], object["rules"]]);
                    state.runs.insert(key.clone(), what.to_string());
                }
                state.whole.insert(key, object.to_string());
            }
        }
        for plural in ["packages", "packagesources", "packagerevisions"] {
            for mut object in items(world, &world.path(plural, "")).await? {
                let key = key(plural, &object);
                if plural == "packages" {
                    let name = object["metadata"]["name"].as_str().unwrap_or_default();
                    let seen = world.seen(name).await?.ready;
                    let version = object["status"]["version"].as_str().unwrap_or_default();
                    state.runs.insert(key.clone(), format!("{seen} {version}"));
                }
                mask(&mut object);
                state.whole.insert(key, object.to_string());
            }
        }
        state.releases(world).await?;
        Ok(state)
    }

    async fn releases(&mut self, world: &World) -> Result<(), Stuck> {
        let helm = Helm::new(world.server.client(), HelmOptions::default());
        let records = items(world, "/api/v1/secrets?labelSelector=owner%3Dhelm").await?;
        let mut newest: BTreeMap<String, (u32, String)> = BTreeMap::new();
        for record in records {
            let text = |pointer: &str| {
                let found = record.pointer(pointer).and_then(Value::as_str);
                found.unwrap_or_default().to_owned()
            };
            let (namespace, name) = (text("/metadata/namespace"), text("/metadata/labels/name"));
            let revision = text("/metadata/labels/version").parse().unwrap_or_default();
            let release = match helm.get(&namespace, &name, Some(revision)).await {
                Ok(release) => release,
                Err(error) => {
                    let key = format!("release {namespace}/{name} {revision:03}");
                    self.whole.insert(key, format!("unreadable: {error}"));
                    continue;
                }
            };
            let chart = &release.chart["metadata"]["version"];
            let chart = chart.as_str().unwrap_or_default().to_owned();
            let marks: Vec<String> = ["kubepkg.dev~1package", "kubepkg.dev~1revision"]
                .map(|label| text(&format!("/metadata/labels/{label}")))
                .to_vec();
            let status = release.info.status.to_string();
            let whole = json!([
                status,
                release.info.description,
                chart,
                release.manifest,
                marks,
                release.config,
            ]);
            let key = format!("release {namespace}/{name}");
            self.whole
                .insert(format!("{key} {revision:03}"), whole.to_string());
            let found = (revision, format!("{status} {chart}"));
            let known = newest.entry(key).or_default();
            if found.0 > known.0 {
                *known = found;
            }
        }
        let newest = newest.into_iter().map(|(key, (_, what))| (key, what));
        self.runs.extend(newest);
        Ok(())
    }

    /// Where two ends differ, nothing left out.
    pub fn differences(&self, expected: &Self) -> Vec<String> {
        differences(&self.whole, &expected.whole)
    }

    /// Where what runs in the end differs.
    pub fn differences_of_what_runs(&self, expected: &Self) -> Vec<String> {
        differences(&self.runs, &expected.runs)
    }
}

fn differences(
    found: &BTreeMap<String, String>,
    expected: &BTreeMap<String, String>,
) -> Vec<String> {
    let keys: BTreeSet<&String> = found.keys().chain(expected.keys()).collect();
    let differing = keys
        .into_iter()
        .filter_map(|key| match (found.get(key), expected.get(key)) {
            (Some(found), Some(expected)) if found == expected => None,
            (Some(found), Some(expected)) => {
                let at = found
                    .bytes()
                    .zip(expected.bytes())
                    .take_while(|(a, b)| a == b)
                    .count();
                let part = |text: &str| {
                    let (from, to) = (at.saturating_sub(60), at + 120);
                    String::from_utf8_lossy(&text.as_bytes()[from..to.min(text.len())]).into_owned()
                };
                Some(format!(
                    "{key} is ...{}... and not ...{}...",
                    part(found),
                    part(expected)
                ))
            }
            (Some(_), None) => Some(format!("{key} is there and should not be")),
            (None, _) => Some(format!("{key} is missing")),
        });
    differing.take(TOLD).collect()
}

/// The objects of a collection.
pub(crate) async fn items(world: &World, collection: &str) -> Result<Vec<Value>, Stuck> {
    let list = world.get(collection).await?.unwrap_or_default();
    Ok(list["items"].as_array().cloned().unwrap_or_default())
}

/// What an object is called among all.
pub(crate) fn key(collection: &str, object: &Value) -> String {
    let kind = collection.rsplit('/').next().unwrap_or_default();
    let metadata = &object["metadata"];
    let text = |field: &str| metadata[field].as_str().unwrap_or_default();
    format!("{kind} {}/{}", text("namespace"), text("name"))
}

/// Takes out what no two runs have in common.
fn mask(value: &mut Value) {
    const OWN: &[&str] = &[
        "uid",
        "resourceVersion",
        "managedFields",
        "clusterIP",
        "clusterIPs",
    ];
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| {
                !OWN.contains(&name.as_str())
                    && !name.ends_with("Time")
                    && !name.ends_with("Timestamp")
                    && !matches!(name.as_str(), "finishedAt" | "startedAt" | "nextAttempt")
            });
            fields.values_mut().for_each(mask);
        }
        Value::Array(items) => items.iter_mut().for_each(mask),
        _ => {}
    }
}
