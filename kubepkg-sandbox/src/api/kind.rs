//! A resource that is served: what discovery says about it, and where its objects are kept.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::failure::qualify;

/// One served resource of one version.
#[derive(Clone, Debug)]
#[expect(clippy::struct_field_names, reason = "the words of discovery")]
pub(crate) struct Kind {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) namespaced: bool,
    pub(crate) verbs: Vec<String>,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) subresources: BTreeMap<String, Subresource>,
    /// Column definitions of its `Table`.
    pub(crate) columns: Arc<Vec<Value>>,
    /// Name of the table in the store, which the versions of a resource share.
    pub(crate) stored_in: Arc<str>,
    /// What a CustomResourceDefinition says of this version.
    pub(crate) custom: Option<Arc<Custom>>,
}

/// A subresource in discovery.
#[derive(Clone, Debug)]
pub(crate) struct Subresource {
    pub(crate) verbs: Vec<String>,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
}

/// The part of a CustomResourceDefinition that matters for objects of one version.
#[derive(Clone, Debug)]
pub(crate) struct Custom {
    /// How its parts are merged.
    pub(crate) merge_type: kubepkg_patch::schema::Type,
    /// The schema as it is written.
    pub(crate) schema: Value,
    /// The schema of the version in which objects are stored, where it is another one.
    pub(crate) stored: Option<Arc<Value>>,
    /// Whether there are other versions, in which objects may have been stored.
    pub(crate) has_others: bool,
    /// The version as it is written in `spec.versions`.
    pub(crate) written: Value,
    /// Warning for a deprecated version.
    pub(crate) deprecation: Option<String>,
}

impl Kind {
    /// `plural.group`, as messages name the resource.
    pub(crate) fn qualified(&self) -> String {
        qualify(&self.plural, &self.group)
    }

    /// The group of the server's own type, which refusals name: Events of both groups are of one.
    pub(crate) fn own_group(&self) -> &str {
        if self.is("events.k8s.io", "events") {
            ""
        } else {
            &self.group
        }
    }

    /// `group/version`, or `v1`.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Whether the main resource offers a verb.
    pub(crate) fn allows(&self, verb: &str) -> bool {
        self.verbs.iter().any(|known| known == verb)
    }

    /// Whether status is written apart from the rest.
    pub(crate) fn has_status(&self) -> bool {
        self.subresources.contains_key("status")
    }

    /// Whether this is a resource of the API server itself: `is("apps", "deployments")`.
    pub(crate) fn is(&self, group: &str, plural: &str) -> bool {
        self.custom.is_none() && self.plural == plural && self.group == group
    }

    /// Whether objects count their changes in `metadata.generation`.
    ///
    /// The list follows `PrepareForCreate` of the strategies in `pkg/registry` of Kubernetes.
    pub(crate) fn has_generation(&self) -> bool {
        const COUNTED: [&str; 26] = [
            "customresourcedefinitions",
            "cronjobs",
            "daemonsets",
            "deployments",
            "deviceclasses",
            "endpointslices",
            "flowschemas",
            "ingresses",
            "ingressclasses",
            "jobs",
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
            "mutatingwebhookconfigurations",
            "networkpolicies",
            "poddisruptionbudgets",
            "pods",
            "podtemplates",
            "priorityclasses",
            "prioritylevelconfigurations",
            "replicasets",
            "replicationcontrollers",
            "resourceslices",
            "statefulsets",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
            "validatingwebhookconfigurations",
        ];
        self.custom.is_some() || COUNTED.contains(&self.plural.as_str())
    }
}
