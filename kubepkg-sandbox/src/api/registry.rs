//! Which resources are served.
//!
//! The resources of Kubernetes itself are those of kube-apiserver's aggregated discovery
//! ([`kubepkg_patch::builtin`]), with the column definitions of its tables (`data/`). Custom resources come from the
//! CustomResourceDefinitions in the store.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::{Arc, OnceLock};

use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::Value;

use super::failure::qualify;
use super::kind::{Kind, Subresource};
use super::object;

/// Column definitions by path, recorded from the real API server.
static COLUMNS: &[u8] = include_bytes!("data/columns.json.gz");

/// Group, version, plural.
type Id = (String, String, String);

/// Aggregated discovery.
#[derive(Debug, Default, Deserialize)]
struct Discovery {
    api: Groups,
    apis: Groups,
}

#[derive(Debug, Default, Deserialize)]
struct Groups {
    items: Vec<Group>,
}

#[derive(Debug, Deserialize)]
struct Group {
    metadata: GroupName,
    versions: Vec<Version>,
}

#[derive(Debug, Deserialize)]
struct GroupName {
    #[serde(default)]
    name: String,
}

#[derive(Debug, Deserialize)]
struct Version {
    version: String,
    resources: Vec<Resource>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Resource {
    #[serde(rename = "resource")]
    plural: String,
    response_kind: ResponseKind,
    scope: String,
    #[serde(rename = "singularResource")]
    singular: String,
    verbs: Vec<String>,
    #[serde(default)]
    short_names: Vec<String>,
    #[serde(default)]
    categories: Vec<String>,
    #[serde(default)]
    subresources: Vec<Nested>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Nested {
    subresource: String,
    response_kind: ResponseKind,
    verbs: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct ResponseKind {
    group: String,
    version: String,
    kind: String,
}

/// The built-in resources, in the order of the real server's discovery.
#[derive(Debug, Default)]
struct Builtin {
    /// Groups with their versions, in order of preference.
    groups: Vec<(String, Vec<String>)>,
    kinds: BTreeMap<Id, Arc<Kind>>,
}

/// Everything that is served now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registry {
    custom: BTreeMap<Id, Arc<Kind>>,
    /// Custom groups with their versions, in order of preference.
    custom_groups: Vec<(String, Vec<String>)>,
    /// Where the custom resources come from, by the names of definitions.
    served: BTreeMap<String, Served>,
}

/// What a definition makes the server serve.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    pub(crate) definition: Arc<Value>,
    pub(crate) kinds: Vec<Arc<Kind>>,
}

impl Registry {
    /// Serves these custom resources, and no others.
    pub(crate) fn set_custom(&mut self, served: Vec<Served>) {
        let kinds = || served.iter().flat_map(|served| &served.kinds);
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for kind in kinds() {
            let versions = groups.entry(kind.group.clone()).or_default();
            if !versions.contains(&kind.version) {
                versions.push(kind.version.clone());
            }
        }
        for versions in groups.values_mut() {
            versions.sort_by_key(|version| priority(version));
        }
        self.custom_groups = groups.into_iter().collect();
        self.custom = kinds()
            .map(|kind| {
                let id = (
                    kind.group.clone(),
                    kind.version.clone(),
                    kind.plural.clone(),
                );
                (id, Arc::clone(kind))
            })
            .collect();
        let by_name = |served: Served| (object::name(&served.definition).to_owned(), served);
        self.served = served.into_iter().map(by_name).collect();
    }

    /// What the definition of this name makes the server serve.
    pub(crate) fn served(&self, definition: &str) -> Option<&Served> {
        self.served.get(definition)
    }

    /// The resource of a path.
    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Kind>> {
        let id = (group.to_owned(), version.to_owned(), plural.to_owned());
        builtin().kinds.get(&id).or_else(|| self.custom.get(&id))
    }

    /// Any version of a resource, by the name of its table.
    pub(crate) fn of_table(&self, table: &str) -> Option<&Arc<Kind>> {
        static TABLES: OnceLock<BTreeMap<Arc<str>, Arc<Kind>>> = OnceLock::new();
        TABLES
            .get_or_init(|| {
                let mut tables = BTreeMap::new();
                for kind in builtin().kinds.values() {
                    tables
                        .entry(Arc::clone(&kind.stored_in))
                        .or_insert_with(|| Arc::clone(kind));
                }
                tables
            })
            .get(table)
            .or_else(|| self.custom.values().find(|kind| &*kind.stored_in == table))
    }

    /// All versions of a resource, by the name of its table.
    pub(crate) fn versions_of<'a>(&'a self, table: &'a str) -> impl Iterator<Item = &'a Arc<Kind>> {
        let all = builtin().kinds.values().chain(self.custom.values());
        all.filter(move |kind| &*kind.stored_in == table)
    }

    /// The resource of a kind, as `ownerReferences` name it.
    pub(crate) fn of_kind(&self, api_version: &str, kind: &str) -> Option<&Arc<Kind>> {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        self.in_version(group, version)
            .find(|known| known.kind == kind)
    }

    /// The resources of a version, sorted by name.
    pub(crate) fn in_version(
        &self,
        group: &str,
        version: &str,
    ) -> impl Iterator<Item = &Arc<Kind>> {
        let from = (group.to_owned(), version.to_owned(), String::new());
        let (group, version) = (group.to_owned(), version.to_owned());
        builtin()
            .kinds
            .range(from.clone()..)
            .take_while({
                let (group, version) = (group.clone(), version.clone());
                move |((g, v, _), _)| *g == group && *v == version
            })
            .chain(
                self.custom
                    .range(from..)
                    .take_while(move |((g, v, _), _)| *g == group && *v == version),
            )
            .map(|(_, kind)| kind)
    }

    /// All groups and their versions, the preferred one first; the group without a name comes
    /// first.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &(String, Vec<String>)> {
        builtin().groups.iter().chain(&self.custom_groups)
    }
}

/// Order of versions: `v2`, `v1`, `v1beta2`, `v1beta1`, `v1alpha1`, then others by name.
pub(crate) fn priority(
    version: &str,
) -> (u8, std::cmp::Reverse<u64>, std::cmp::Reverse<u64>, String) {
    use std::cmp::Reverse;
    let other = (3, Reverse(0), Reverse(0), version.to_owned());
    let Some(rest) = version.strip_prefix('v') else {
        return other;
    };
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (major, tail) = rest.split_at(digits);
    let Ok(major) = major.parse::<u64>() else {
        return other;
    };
    if tail.is_empty() {
        return (0, Reverse(major), Reverse(0), String::new());
    }
    for (rank, word) in [(1, "beta"), (2, "alpha")] {
        if let Some(Ok(minor)) = tail.strip_prefix(word).map(str::parse::<u64>) {
            return (rank, Reverse(major), Reverse(minor), String::new());
        }
    }
    other
}

fn builtin() -> &'static Builtin {
    static BUILTIN: OnceLock<Builtin> = OnceLock::new();
    BUILTIN.get_or_init(|| {
        let mut text = Vec::new();
        // The data is part of the program; a test reads it, so no step fails.
        let read = GzDecoder::new(COLUMNS).read_to_end(&mut text);
        let columns = read.ok().and_then(|_| serde_json::from_slice(&text).ok());
        let discovery = Discovery::deserialize(kubepkg_patch::builtin::discovery());
        build(discovery.unwrap_or_default(), columns.unwrap_or_default())
    })
}

fn build(discovery: Discovery, mut columns: BTreeMap<String, Vec<Value>>) -> Builtin {
    let mut builtin = Builtin::default();
    for group in discovery.api.items.into_iter().chain(discovery.apis.items) {
        let name = group.metadata.name;
        let mut versions = Vec::new();
        for version in group.versions {
            for resource in version.resources {
                let base = if name.is_empty() {
                    format!("/api/{}", version.version)
                } else {
                    format!("/apis/{name}/{}", version.version)
                };
                let columns = columns.remove(&format!("{base}/{}", resource.plural));
                let kind = kind_of(
                    &name,
                    &version.version,
                    resource,
                    columns.unwrap_or_default(),
                );
                let id = (name.clone(), version.version.clone(), kind.plural.clone());
                builtin.kinds.insert(id, Arc::new(kind));
            }
            versions.push(version.version);
        }
        builtin.groups.push((name, versions));
    }
    builtin
}

fn kind_of(group: &str, version: &str, resource: Resource, columns: Vec<Value>) -> Kind {
    let own = |name: String, fallback: &str| {
        if name.is_empty() {
            fallback.to_owned()
        } else {
            name
        }
    };
    let kind = resource.response_kind.kind;
    // Both groups of events show the same objects.
    let stored_group = if group == "events.k8s.io" { "" } else { group };
    let subresources = resource.subresources.into_iter().map(|nested| {
        let core = nested.response_kind.group.is_empty() && nested.response_kind.version.is_empty();
        let subresource = Subresource {
            verbs: nested.verbs,
            group: if core {
                group.to_owned()
            } else {
                nested.response_kind.group
            },
            version: own(nested.response_kind.version, version),
            kind: nested.response_kind.kind,
        };
        (nested.subresource, subresource)
    });
    Kind {
        group: group.to_owned(),
        version: version.to_owned(),
        stored_in: qualify(&resource.plural, stored_group).into(),
        singular: resource.singular,
        list_kind: format!("{kind}List"),
        kind,
        namespaced: resource.scope == "Namespaced",
        verbs: resource.verbs,
        short_names: resource.short_names,
        categories: resource.categories,
        subresources: subresources.collect(),
        columns: Arc::new(columns),
        custom: None,
        plural: resource.plural,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_data_can_be_read() {
        let registry = Registry::default();
        let pods = registry.find("", "v1", "pods").unwrap();
        assert_eq!((pods.kind.as_str(), pods.namespaced), ("Pod", true));
        assert!(pods.has_status() && !pods.columns.is_empty());
        assert_eq!(
            registry.of_kind("apps/v1", "Deployment").unwrap().plural,
            "deployments"
        );
        assert_eq!(
            &*registry.of_table("deployments.apps").unwrap().kind,
            "Deployment"
        );
    }

    #[test]
    fn versions_stand_in_the_order_of_kubernetes() {
        // https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/
        let expected = [
            "v10",
            "v2",
            "v1",
            "v11beta2",
            "v10beta3",
            "v3beta1",
            "v12alpha1",
            "v11alpha2",
            "foo1",
            "foo10",
        ];
        let mut sorted = expected;
        sorted.reverse();
        sorted.sort_by_key(|version| priority(version));
        assert_eq!(sorted, expected);
    }
}
