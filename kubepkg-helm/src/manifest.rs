//! Rendered files become single documents, hooks apart from resources, both in the order of their kinds.
//!
//! Splitting is Helm's: a line that begins with `---` splits, wherever it stands, and what follows it belongs
//! to the next document. The head of each document is read into typed fields; one that can't be is an error that
//! names its file. A hook with an unknown event is neither hook nor resource.

use std::cmp::Ordering;

use serde::Deserialize;
use serde_json::Value;

use crate::beside::in_halves;
use crate::go::decode::{GoField, GoStruct, GoType, decode, load};
use crate::go::path::base;
use crate::go::text::is_blank;
use crate::hook::{
    HOOK_ANNOTATION, HOOK_DELETE_ANNOTATION, HOOK_OUTPUT_LOG_ANNOTATION, HOOK_WEIGHT_ANNOTATION,
    Hook, HookEvent,
};

/// The annotation that makes Helm leave a resource alone.
const RESOURCE_POLICY_ANNOTATION: &str = "helm.sh/resource-policy";

/// In which order kinds come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KindOrder {
    /// What others need comes first.
    Install,
    /// The other way round.
    Uninstall,
}

const INSTALL: &[&str] = &[
    "PriorityClass",
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodSecurityPolicy",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "SecretList",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleList",
    "ClusterRoleBinding",
    "ClusterRoleBindingList",
    "Role",
    "RoleList",
    "RoleBinding",
    "RoleBindingList",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

const UNINSTALL: &[&str] = &[
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "APIService",
    "Ingress",
    "IngressClass",
    "Service",
    "CronJob",
    "Job",
    "StatefulSet",
    "HorizontalPodAutoscaler",
    "Deployment",
    "ReplicaSet",
    "ReplicationController",
    "Pod",
    "DaemonSet",
    "RoleBindingList",
    "RoleBinding",
    "RoleList",
    "Role",
    "ClusterRoleBindingList",
    "ClusterRoleBinding",
    "ClusterRoleList",
    "ClusterRole",
    "CustomResourceDefinition",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
    "ConfigMap",
    "SecretList",
    "Secret",
    "ServiceAccount",
    "PodDisruptionBudget",
    "PodSecurityPolicy",
    "LimitRange",
    "ResourceQuota",
    "NetworkPolicy",
    "Namespace",
    "PriorityClass",
];

impl KindOrder {
    /// Known kinds by their place, unknown ones behind them by name.
    pub fn rank(self, kind: &str) -> (usize, &str) {
        let order = match self {
            Self::Install => INSTALL,
            Self::Uninstall => UNINSTALL,
        };
        match order.iter().position(|known| *known == kind) {
            Some(place) => (place, ""),
            None => (order.len(), kind),
        }
    }

    fn compare(self, one: &str, other: &str) -> Ordering {
        // Charts have many of a kind.
        if one == other {
            return Ordering::Equal;
        }
        self.rank(one).cmp(&self.rank(other))
    }
}

/// What the head of a document says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Head {
    /// `apiVersion`.
    pub api_version: String,
    /// `kind`.
    pub kind: String,
    /// `metadata`, absent when it is missing or null.
    pub metadata: Option<HeadMetadata>,
}

/// What the head's `metadata` says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct HeadMetadata {
    /// `name`.
    pub name: String,
    /// `annotations`.
    pub annotations: std::collections::BTreeMap<String, String>,
}

static TEXT_MAP: GoType = GoType::Map(&GoType::Text);
static HEAD_METADATA: GoType = GoType::Struct(&GoStruct {
    name: "",
    printed: r#"struct { Name string "json:\"name\""; Annotations map[string]string "json:\"annotations\"" }"#,
    fields: &[
        GoField {
            json: "name",
            ty: &GoType::Text,
        },
        GoField {
            json: "annotations",
            ty: &TEXT_MAP,
        },
    ],
});
static HEAD_METADATA_POINTER: GoType = GoType::Pointer(&HEAD_METADATA);
static HEAD: GoType = GoType::Struct(&GoStruct {
    name: "SimpleHead",
    printed: "util.SimpleHead",
    fields: &[
        GoField {
            json: "apiVersion",
            ty: &GoType::Text,
        },
        GoField {
            json: "kind",
            ty: &GoType::Text,
        },
        GoField {
            json: "metadata",
            ty: &HEAD_METADATA_POINTER,
        },
    ],
});

impl Head {
    fn read(document: &Value, text: &str) -> Result<Self, String> {
        match decode(document, text.as_bytes(), &HEAD)? {
            Some(value) => serde_json::from_value(value).map_err(|error| error.to_string()),
            None => Ok(Self::default()),
        }
    }

    fn annotation(&self, name: &str) -> Option<&str> {
        self.metadata
            .as_ref()
            .and_then(|metadata| metadata.annotations.get(name))
            .map(String::as_str)
    }
}

/// A document that is no hook.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// Path of its template, from the top chart's name.
    pub path: String,
    /// Line of the rendered template on which it begins, from 1.
    pub line: usize,
    /// Its text.
    pub content: String,
    /// What its head says.
    pub head: Head,
    /// The document as JSON; null when there are only comments.
    pub value: Value,
}

/// A document that can't be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("YAML parse error on {path}: {message}")]
pub struct DocumentError {
    /// Path of its template, from the top chart's name.
    pub path: String,
    /// Line of the rendered template on which the document begins, from 1.
    pub line: usize,
    /// What the decoder says.
    pub message: String,
}

/// Hooks and resources of a set of files, each in the order of kinds (ties: path, then place in the file).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sorted {
    /// Hooks.
    pub hooks: Vec<Hook>,
    /// On which line of the rendered template each of the hooks begins, from 1.
    pub hook_lines: Vec<usize>,
    /// Resources.
    pub manifests: Vec<Manifest>,
}

/// A document of a file, and the line on which it begins (from 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Document<'a> {
    /// Its text, leading white space cut off.
    pub text: &'a str,
    /// Its first line in the file.
    pub line: usize,
}

/// Cuts a text into its YAML documents; blank ones are left out.
pub fn split_manifests(text: &str) -> Vec<Document<'_>> {
    let mut documents = Vec::new();
    // Lines are counted on from the document before.
    let (mut counted, mut line) = (0, 1);
    let mut push = |piece: &str, piece_at: usize| {
        let trimmed = piece.trim_start();
        if !trimmed.is_empty() {
            let at = piece_at + piece.len() - trimmed.len();
            let between = text.as_bytes().get(counted..at).unwrap_or_default();
            line += memchr::memchr_iter(b'\n', between).count();
            counted = at;
            documents.push((at, piece_at + piece.len(), line));
        }
    };
    // Leading white space goes first, so that an indented separator at the very start splits too.
    let mut start = text.len() - text.trim_start().len();
    let (begin, body) = (start, text.as_bytes().get(start..).unwrap_or_default());
    let first = body.starts_with(b"---").then_some(begin);
    let others = memchr::memmem::find_iter(body, "\n---").map(|at| begin + at + 1);
    for at in first.into_iter().chain(others) {
        push(text.get(start..at).unwrap_or_default(), start);
        let behind = text.get(at + 3..).unwrap_or_default();
        start = text.len() - behind.trim_start_matches([' ', '\t']).len();
    }
    push(text.get(start..).unwrap_or_default(), start);
    let slice = |(from, to, line)| Document {
        text: text.get(from..to).unwrap_or_default(),
        line,
    };
    documents.into_iter().map(slice).collect()
}

/// Splits the files (path and rendered text, in byte order of the paths), reads the heads, and sorts. Files whose
/// name begins with `_` and blank ones are left out.
///
/// # Errors
/// [`DocumentError`] for the first document whose head can't be read.
pub fn sort_manifests<'a>(
    files: impl IntoIterator<Item = (&'a str, &'a str)>,
    order: KindOrder,
) -> Result<Sorted, DocumentError> {
    let files: Vec<(&str, &str)> = files.into_iter().collect();
    let (first, second) = in_halves(&files, |(_, text)| text.len(), read_documents);
    let (mut hooks, mut manifests) = first?;
    if let Some(second) = second {
        let (more_hooks, more_manifests) = second?;
        hooks.extend(more_hooks);
        manifests.extend(more_manifests);
    }
    hooks.sort_by(|(one, _), (two, _)| order.compare(&one.kind, &two.kind));
    let (hooks, hook_lines) = hooks.into_iter().unzip();
    manifests.sort_by(|one, two| order.compare(&one.head.kind, &two.head.kind));
    Ok(Sorted {
        hooks,
        hook_lines,
        manifests,
    })
}

/// Hooks with their lines, and resources.
type Documents = (Vec<(Hook, usize)>, Vec<Manifest>);

fn read_documents(files: &[(&str, &str)]) -> Result<Documents, DocumentError> {
    let (mut hooks, mut manifests) = (Vec::new(), Vec::new());
    for (path, text) in files {
        if base(path).starts_with('_') || is_blank(text) {
            continue;
        }
        for document in split_manifests(text) {
            let line = document.line;
            let failed = |message| DocumentError {
                path: (*path).to_owned(),
                line,
                message,
            };
            let value = load(document.text.as_bytes()).map_err(failed)?;
            let head = Head::read(&value, document.text).map_err(failed)?;
            let content = document.text.to_owned();
            match head.annotation(HOOK_ANNOTATION) {
                Some(events) => {
                    let hook = hook(&head, events, path, content);
                    hooks.extend(hook.map(|hook| (hook, line)));
                }
                None => manifests.push(Manifest {
                    path: (*path).to_owned(),
                    line,
                    content,
                    head,
                    value,
                }),
            }
        }
    }
    Ok((hooks, manifests))
}

/// The documents of a file that can't be read.
pub(crate) fn document_errors<'a>(
    path: &'a str,
    text: &'a str,
) -> impl Iterator<Item = DocumentError> + 'a {
    let skipped = base(path).starts_with('_') || is_blank(text);
    let documents = if skipped {
        Vec::new()
    } else {
        split_manifests(text)
    };
    documents.into_iter().filter_map(move |document| {
        let read = load(document.text.as_bytes());
        let read = read.and_then(|value| Head::read(&value, document.text));
        read.err().map(|message| DocumentError {
            path: path.to_owned(),
            line: document.line,
            message,
        })
    })
}

/// The hook, or `None` when one of its events is unknown.
fn hook(head: &Head, events: &str, path: &str, manifest: String) -> Option<Hook> {
    let events = events.split(',').map(event).collect::<Option<Vec<_>>>()?;
    let weight = head
        .annotation(HOOK_WEIGHT_ANNOTATION)
        .and_then(|weight| weight.parse().ok());
    Some(Hook {
        name: head
            .metadata
            .as_ref()
            .map(|metadata| metadata.name.clone())
            .unwrap_or_default(),
        kind: head.kind.clone(),
        path: path.to_owned(),
        manifest,
        events,
        weight: weight.unwrap_or(0),
        delete_policies: words(head, HOOK_DELETE_ANNOTATION),
        output_log_policies: words(head, HOOK_OUTPUT_LOG_ANNOTATION),
        ..Hook::default()
    })
}

fn event(word: &str) -> Option<HookEvent> {
    let word = word.trim().to_lowercase();
    match HookEvent::from(word) {
        HookEvent::Other(word) if word == "test-success" => Some(HookEvent::Test),
        HookEvent::Other(_) => None,
        known => Some(known),
    }
}

fn words<T: From<String>>(head: &Head, annotation: &str) -> Vec<T> {
    let words = head.annotation(annotation).map(|words| {
        words
            .split(',')
            .map(|word| word.trim().to_lowercase().into())
    });
    words.map(Iterator::collect).unwrap_or_default()
}

/// What an uninstall does with a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourcePolicy {
    /// It is deleted.
    Delete,
    /// It is kept, and reported as kept.
    Keep,
    /// It has a policy that Helm does not know: it is neither deleted nor reported.
    Unknown,
}

impl Head {
    /// What the annotation `helm.sh/resource-policy` says.
    pub fn resource_policy(&self) -> ResourcePolicy {
        match self.annotation(RESOURCE_POLICY_ANNOTATION) {
            None => ResourcePolicy::Delete,
            Some(policy) if policy.trim().to_lowercase() == "keep" => ResourcePolicy::Keep,
            Some(_) => ResourcePolicy::Unknown,
        }
    }
}

/// The manifest of a release: every document behind a line that names its template.
pub(crate) fn join(manifests: &[Manifest]) -> String {
    let mut text = String::new();
    for manifest in manifests {
        text.push_str("---\n# Source: ");
        text.push_str(&manifest.path);
        text.push('\n');
        text.push_str(&manifest.content);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::split_manifests;

    #[test]
    fn separator_splits_wherever_a_line_begins_with_it() {
        let texts = |text| {
            split_manifests(text)
                .iter()
                .map(|document| (document.text, document.line))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            texts("  ---\na: 1\n---b: 2\n---- \n"),
            [("a: 1\n", 2), ("b: 2\n", 3), ("- \n", 4)]
        );
        assert_eq!(texts(" \n"), []);
    }
}
