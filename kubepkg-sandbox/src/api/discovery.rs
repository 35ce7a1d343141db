//! Discovery: which groups, versions and resources there are, in the old form and in one answer.

use serde_json::{Map, Value, json};

use super::kind::{Kind, Subresource};
use super::registry::Registry;
use super::request::{Call, Target};
use super::world::{Answer, not_a_page};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Answers a question for what there is.
pub(crate) fn answer(registry: &Registry, call: &Call, target: &Target) -> Answer {
    let aggregated = call.accept.split(',').any(|range| {
        let has = |part: &str| range.split(';').any(|one| one.trim() == part);
        has("application/json")
            && has("as=APIGroupDiscoveryList")
            && has("g=apidiscovery.k8s.io")
            && has("v=v2")
    });
    match target {
        Target::Core | Target::Groups if aggregated => {
            let core = *target == Target::Core;
            let items: Vec<Value> = registry
                .groups()
                .filter(|(group, _)| group.is_empty() == core)
                .map(|(group, versions)| group_discovery(registry, group, versions))
                .collect();
            let list = json!({
                "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2",
                "metadata": {}, "items": items,
            });
            Answer {
                content_type: AGGREGATED,
                ..Answer::json(200, &list)
            }
        }
        Target::Core => Answer::json(
            200,
            &json!({
                "kind": "APIVersions", "versions": ["v1"],
                "serverAddressByClientCIDRs": [
                    {"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:443"},
                ],
            }),
        ),
        Target::Groups => {
            let named = registry.groups().filter(|(group, _)| !group.is_empty());
            let groups: Vec<Value> = named
                .map(|(group, versions)| group_of(group, versions))
                .collect();
            Answer::json(
                200,
                &json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}),
            )
        }
        Target::Group(name) => {
            let found = registry.groups().find(|(group, _)| group == name);
            let Some((group, versions)) = found.filter(|(group, _)| !group.is_empty()) else {
                return not_a_page();
            };
            let mut group = group_of(group, versions);
            group["kind"] = "APIGroup".into();
            group["apiVersion"] = "v1".into();
            Answer::json(200, &group)
        }
        Target::Version(group, version) => {
            let served = registry
                .groups()
                .any(|(known, versions)| known == group && versions.contains(version));
            if !served {
                let known = registry.groups().any(|(known, _)| known == group);
                return if known {
                    super::failure::Failure::no_resource().into()
                } else {
                    not_a_page()
                };
            }
            Answer::json(200, &resources(registry, group, version))
        }
        Target::Objects(_) | Target::Other => not_a_page(),
    }
}

fn group_of(group: &str, versions: &[String]) -> Value {
    let version = |version: &String| json!({"groupVersion": format!("{group}/{version}"), "version": version});
    let all: Vec<Value> = versions.iter().map(version).collect();
    json!({"name": group, "versions": all, "preferredVersion": all.first()})
}

fn resources(registry: &Registry, group: &str, version: &str) -> Value {
    let mut all = Vec::new();
    for kind in registry.in_version(group, version) {
        let mut entry = json!({
            "name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced,
            "kind": kind.kind, "verbs": kind.verbs,
        });
        if !kind.short_names.is_empty() {
            entry["shortNames"] = json!(kind.short_names);
        }
        if !kind.categories.is_empty() {
            entry["categories"] = json!(kind.categories);
        }
        all.push(entry);
        for (name, sub) in ordered(kind) {
            let mut entry = json!({
                "name": format!("{}/{name}", kind.plural), "singularName": "",
                "namespaced": kind.namespaced, "kind": sub.kind, "verbs": sub.verbs,
            });
            if is_foreign(kind, sub) {
                if !sub.group.is_empty() {
                    entry["group"] = sub.group.clone().into();
                }
                entry["version"] = sub.version.clone().into();
            }
            all.push(entry);
        }
    }
    let version = if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    };
    let mut list = json!({"kind": "APIResourceList", "groupVersion": version, "resources": all});
    // The oldest list of all is without.
    if !group.is_empty() {
        list["apiVersion"] = "v1".into();
    }
    list
}

/// Subresources by name; of custom resources status comes first.
fn ordered(kind: &Kind) -> impl Iterator<Item = (&String, &Subresource)> {
    let first = move |name: &str| kind.custom.is_some() && name == "status";
    let of_first = kind
        .subresources
        .iter()
        .filter(move |(name, _)| first(name));
    let others = kind
        .subresources
        .iter()
        .filter(move |(name, _)| !first(name));
    of_first.chain(others)
}

fn is_foreign(kind: &Kind, sub: &Subresource) -> bool {
    sub.group != kind.group || sub.version != kind.version
}

fn group_discovery(registry: &Registry, group: &str, versions: &[String]) -> Value {
    let mut metadata = Map::new();
    if !group.is_empty() {
        metadata.insert("name".into(), group.into());
    }
    let versions: Vec<Value> = versions
        .iter()
        .map(|version| {
            let resources: Vec<Value> = registry
                .in_version(group, version)
                .map(|kind| resource_discovery(kind))
                .collect();
            json!({"version": version, "resources": resources, "freshness": "Current"})
        })
        .collect();
    json!({"metadata": metadata, "versions": versions})
}

fn resource_discovery(kind: &Kind) -> Value {
    // Built-in kinds leave out their own group and version.
    let response = |sub: Option<&Subresource>| match sub {
        Some(sub) if is_foreign(kind, sub) || kind.custom.is_some() => {
            json!({"group": sub.group, "version": sub.version, "kind": sub.kind})
        }
        Some(sub) => json!({"group": "", "version": "", "kind": sub.kind}),
        None if kind.custom.is_some() => {
            json!({"group": kind.group, "version": kind.version, "kind": kind.kind})
        }
        None => json!({"group": "", "version": "", "kind": kind.kind}),
    };
    let mut entry = json!({
        "resource": kind.plural, "responseKind": response(None),
        "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": kind.singular, "verbs": kind.verbs,
    });
    if !kind.short_names.is_empty() {
        entry["shortNames"] = json!(kind.short_names);
    }
    if !kind.categories.is_empty() {
        entry["categories"] = json!(kind.categories);
    }
    if !kind.subresources.is_empty() {
        let all: Vec<Value> = ordered(kind)
            .map(|(name, sub)| {
                json!({
                    "subresource": name, "responseKind": response(Some(sub)), "verbs": sub.verbs,
                })
            })
            .collect();
        entry["subresources"] = json!(all);
    }
    entry
}
