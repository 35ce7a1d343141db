//! All objects of a cluster, by what people call them.

use std::collections::BTreeMap;

use kube::api::{Api, DynamicObject, ListParams};
use kube::discovery::{Discovery, verbs};
use kube::{Client, ResourceExt as _};

/// Kinds that come and go by themselves.
const PASSING: [&str; 6] = [
    "Event",
    "Lease",
    "Endpoints",
    "EndpointSlice",
    "ControllerRevision",
    "Namespace",
];

/// An object: kind, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) name: String,
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ", self.kind)?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

/// What there is in a cluster, but for what comes and goes by itself and for the kinds of `group`.
pub(super) async fn all(
    client: &Client,
    group: &str,
) -> Result<BTreeMap<Id, DynamicObject>, kube::Error> {
    let discovered = Discovery::new(client.clone())
        .exclude(&["metrics.k8s.io", group])
        .run()
        .await?;
    let mut found = BTreeMap::new();
    for api_group in discovered.groups() {
        for (resource, abilities) in api_group.recommended_resources() {
            let kind = resource.kind.as_str();
            if !abilities.supports_operation(verbs::LIST) || PASSING.contains(&kind) {
                continue;
            }
            let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
            for object in api.list(&ListParams::default()).await? {
                let id = Id {
                    kind: resource.kind.clone(),
                    namespace: object.namespace().unwrap_or_default(),
                    name: object.name_any(),
                };
                found.insert(id, object);
            }
        }
    }
    Ok(found)
}
