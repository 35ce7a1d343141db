//! Which kinds a server serves. Asks for aggregated discovery (two requests) and falls back to one request
//! per group version for servers that do not know it. A group whose server is down is left out, as Helm
//! leaves it out, instead of failing everything.

use super::{ApiError, Call, Cluster, Verb};
use crate::Capabilities;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

/// Where objects of a kind live.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourceKind {
    /// API group; empty for the core group.
    pub group: String,
    /// API version, such as `v1`.
    pub version: String,
    /// Kind, such as `Deployment`.
    pub kind: String,
    /// Resource in paths, such as `deployments`.
    pub plural: String,
    /// True when objects live in namespaces.
    pub namespaced: bool,
}

impl ResourceKind {
    /// `group/version`, or the version alone for the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Path of the collection.
    pub(crate) fn collection(&self, namespace: &str) -> String {
        use super::http::escape;
        let root = if self.group.is_empty() {
            format!("/api/{}", escape(&self.version))
        } else {
            format!("/apis/{}/{}", escape(&self.group), escape(&self.version))
        };
        if self.namespaced && !namespace.is_empty() {
            format!(
                "{root}/namespaces/{}/{}",
                escape(namespace),
                escape(&self.plural)
            )
        } else {
            format!("{root}/{}", escape(&self.plural))
        }
    }

    /// Path of one object.
    pub(crate) fn object(&self, namespace: &str, name: &str) -> String {
        format!(
            "{}/{}",
            self.collection(namespace),
            super::http::escape(name)
        )
    }
}

/// What a server offers at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Discovery {
    /// `gitVersion` of the server, such as `v1.36.3`.
    pub git_version: String,
    kinds: BTreeMap<(String, String), ResourceKind>,
    api_versions: BTreeSet<String>,
}

impl Discovery {
    /// The resource of a kind.
    pub fn resource(&self, api_version: &str, kind: &str) -> Option<&ResourceKind> {
        self.kinds.get(&(api_version.to_owned(), kind.to_owned()))
    }

    /// What templates see: `group/version` and `group/version/Kind` of everything served.
    pub fn api_versions(&self) -> impl Iterator<Item = &str> {
        self.api_versions.iter().map(String::as_str)
    }

    /// The capabilities that charts are rendered with.
    ///
    /// # Errors
    /// When the server's version is none.
    pub fn capabilities(&self) -> Result<Capabilities, crate::KubeVersionError> {
        Capabilities::of_cluster(
            &self.git_version,
            self.api_versions.iter().cloned().collect(),
        )
    }

    /// Adds what a CRD will serve once it is established.
    pub(crate) fn learn(&mut self, kind: ResourceKind) {
        let api_version = kind.api_version();
        self.api_versions
            .insert(format!("{api_version}/{}", kind.kind));
        self.api_versions.insert(api_version.clone());
        self.kinds.insert((api_version, kind.kind.clone()), kind);
    }

    pub(super) async fn fetch(cluster: &Cluster) -> Result<Self, ApiError> {
        let get = |path: &str| cluster.call(Call::new(Verb::Get, path.to_owned()));
        let aggregated =
            |path: &str| cluster.call(Call::new(Verb::Get, path.to_owned()).accept(AGGREGATED));
        let (version, core, groups) =
            futures::try_join!(get("/version"), aggregated("/api"), aggregated("/apis"))?;
        let mut found = Self {
            git_version: text(&version.body, "gitVersion").to_owned(),
            ..Self::default()
        };
        for (body, root) in [(core.body, "/api"), (groups.body, "/apis")] {
            if body["kind"] == "APIGroupDiscoveryList" {
                found.add_aggregated(&body);
            } else {
                found.add_legacy(cluster, &body, root).await?;
            }
        }
        Ok(found)
    }

    fn add_aggregated(&mut self, body: &Value) {
        for group in list(body, "items") {
            let group_name = group
                .pointer("/metadata/name")
                .and_then(Value::as_str)
                .unwrap_or_default();
            for version in list(group, "versions") {
                let version_name = text(version, "version");
                let api_version = join(group_name, version_name);
                self.api_versions.insert(api_version.clone());
                for resource in list(version, "resources") {
                    let kind = resource
                        .pointer("/responseKind/kind")
                        .and_then(Value::as_str);
                    if let Some(kind) = kind.filter(|kind| !kind.is_empty()) {
                        self.api_versions.insert(format!("{api_version}/{kind}"));
                        self.kinds
                            .entry((api_version.clone(), kind.to_owned()))
                            .or_insert(ResourceKind {
                                group: group_name.to_owned(),
                                version: version_name.to_owned(),
                                kind: kind.to_owned(),
                                plural: text(resource, "resource").to_owned(),
                                namespaced: text(resource, "scope") == "Namespaced",
                            });
                    }
                    for sub in list(resource, "subresources") {
                        if let Some(kind) =
                            sub.pointer("/responseKind/kind").and_then(Value::as_str)
                        {
                            self.api_versions.insert(format!("{api_version}/{kind}"));
                        }
                    }
                }
            }
        }
    }

    async fn add_legacy(
        &mut self,
        cluster: &Cluster,
        body: &Value,
        root: &str,
    ) -> Result<(), ApiError> {
        let mut api_versions: Vec<String> = list(body, "versions")
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        for group in list(body, "groups") {
            api_versions.extend(
                list(group, "versions")
                    .iter()
                    .map(|version| text(version, "groupVersion").to_owned()),
            );
        }
        for api_version in api_versions {
            self.api_versions.insert(api_version.clone());
            let listed = match cluster
                .call(Call::new(Verb::Get, format!("{root}/{api_version}")))
                .await
            {
                Ok(answer) => answer.body,
                // An aggregated API whose server is gone.
                Err(ApiError::Status { .. }) => continue,
                Err(error) => return Err(error),
            };
            let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
            for resource in list(&listed, "resources") {
                let (kind, name) = (text(resource, "kind"), text(resource, "name"));
                self.api_versions.insert(format!("{api_version}/{kind}"));
                if name.contains('/') {
                    continue;
                }
                self.kinds
                    .entry((api_version.clone(), kind.to_owned()))
                    .or_insert(ResourceKind {
                        group: group.to_owned(),
                        version: version.to_owned(),
                        kind: kind.to_owned(),
                        plural: name.to_owned(),
                        namespaced: resource["namespaced"] == true,
                    });
            }
        }
        Ok(())
    }
}

/// The kinds that a CustomResourceDefinition will serve.
pub(crate) fn kinds_of_crd(crd: &Value) -> Vec<ResourceKind> {
    let spec = crd.get("spec").unwrap_or(&Value::Null);
    let names = spec.get("names").unwrap_or(&Value::Null);
    let (group, kind, plural) = (
        text(spec, "group"),
        text(names, "kind"),
        text(names, "plural"),
    );
    if kind.is_empty() || plural.is_empty() {
        return Vec::new();
    }
    list(spec, "versions")
        .iter()
        .filter(|version| version["served"] == true)
        .map(|version| ResourceKind {
            group: group.to_owned(),
            version: text(version, "name").to_owned(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
            namespaced: text(spec, "scope") == "Namespaced",
        })
        .collect()
}

fn join(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{Discovery, kinds_of_crd};
    use serde_json::json;

    #[test]
    fn reads_aggregated_discovery() {
        let mut found = Discovery::default();
        found.add_aggregated(&json!({"items": [{"metadata": {"name": "apps"}, "versions": [{
            "version": "v1", "resources": [{"resource": "deployments", "scope": "Namespaced",
                "responseKind": {"group": "", "version": "", "kind": "Deployment"},
                "subresources": [{"subresource": "scale", "responseKind": {"kind": "Scale"}}]}]}]}]}));
        let kind = found.resource("apps/v1", "Deployment").expect("served");
        assert_eq!(
            kind.object("ns", "x"),
            "/apis/apps/v1/namespaces/ns/deployments/x"
        );
        assert_eq!(
            found.api_versions().collect::<Vec<_>>(),
            ["apps/v1", "apps/v1/Deployment", "apps/v1/Scale"]
        );
    }

    #[test]
    fn learns_served_versions_of_a_crd() {
        let kinds = kinds_of_crd(&json!({"spec": {"group": "x.test", "scope": "Cluster",
            "names": {"kind": "W", "plural": "ws"},
            "versions": [{"name": "v1", "served": true}, {"name": "v0", "served": false}]}}));
        assert_eq!(kinds.len(), 1);
        assert_eq!(kinds[0].object("ns", "a"), "/apis/x.test/v1/ws/a");
    }
}
