//! Group, version and kind of an object.

use std::fmt;

use serde_json::Value;

/// A group, a version and a kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionKind {
    /// The API group; empty for the core group.
    pub group: String,
    /// The version, such as `v1`.
    pub version: String,
    /// The kind, such as `Deployment`.
    pub kind: String,
}

impl GroupVersionKind {
    /// From the values of `apiVersion` and `kind`.
    pub fn new(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
        }
    }

    /// That of an object; parts that it lacks are empty.
    pub fn of(object: &Value) -> Self {
        let text = |field: &str| {
            object
                .get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        Self::new(text("apiVersion"), text("kind"))
    }

    /// The value of `apiVersion`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

/// As Kubernetes prints it: `apps/v1, Kind=Deployment`, `/v1, Kind=ConfigMap`.
impl fmt::Display for GroupVersionKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}
