//! Is an object ours? Helm marks the objects of a release with one label and two annotations; an object that
//! exists without them belongs to somebody else and is neither taken over nor deleted, unless the caller
//! asks for adoption. One variant a rule, with what was found and what was wanted.
//! Source of the rules and texts: Helm 4.3.1 `pkg/action/validate.go`.

use serde_json::{Value, json};

/// The label of every object that Helm manages.
pub const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";
/// The value of [`MANAGED_BY_LABEL`].
pub const MANAGED_BY: &str = "Helm";
/// The annotation with the name of the release.
pub const RELEASE_NAME_ANNOTATION: &str = "meta.helm.sh/release-name";
/// The annotation with the namespace of the release.
pub const RELEASE_NAMESPACE_ANNOTATION: &str = "meta.helm.sh/release-namespace";
/// The annotation that keeps an object when its release no longer has it.
pub const RESOURCE_POLICY_ANNOTATION: &str = "helm.sh/resource-policy";

/// A mark that is missing or says something else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// True for a label, false for an annotation.
    pub label: bool,
    /// Key of the mark.
    pub key: &'static str,
    /// What it would have to say.
    pub wanted: String,
    /// What it says; none when it is missing.
    pub found: Option<String>,
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = if self.label { "label" } else { "annotation" };
        let (key, wanted) = (self.key, &self.wanted);
        match &self.found {
            None => write!(
                f,
                "{what} validation error: missing key {key:?}: must be set to {wanted:?}"
            ),
            Some(found) => write!(
                f,
                "{what} validation error: key {key:?} must equal {wanted:?}: current value is {found:?}"
            ),
        }
    }
}

/// An object that belongs to somebody else.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {name:?} in namespace {namespace:?} exists and cannot be imported into the current release: invalid ownership metadata; {}", join(.mismatches))]
pub struct Foreign {
    /// Kind of the object.
    pub kind: String,
    /// Namespace of the object; empty when it lives in none.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// Every mark that is wrong.
    pub mismatches: Vec<Mismatch>,
}

fn join(mismatches: &[Mismatch]) -> String {
    mismatches
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

/// The marks of an object that do not say that it belongs to a release.
pub(crate) fn mismatches(object: &Value, release: &str, namespace: &str) -> Vec<Mismatch> {
    let check = |label: bool, key: &'static str, wanted: &str| {
        let marks = object
            .get("metadata")
            .and_then(|metadata| metadata.get(if label { "labels" } else { "annotations" }));
        let found = marks
            .and_then(|marks| marks.get(key))
            .and_then(Value::as_str);
        (found != Some(wanted)).then(|| Mismatch {
            label,
            key,
            wanted: wanted.to_owned(),
            found: found.map(str::to_owned),
        })
    };
    [
        check(true, MANAGED_BY_LABEL, MANAGED_BY),
        check(false, RELEASE_NAME_ANNOTATION, release),
        check(false, RELEASE_NAMESPACE_ANNOTATION, namespace),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// True when a release may delete a live object: it is the release's, and does not ask to be kept.
pub(crate) fn may_delete(object: &Value, release: &str, namespace: &str) -> bool {
    !keeps(object) && mismatches(object, release, namespace).is_empty()
}

/// True when a live object asks to be kept, in the form that Helm's upgrade honours.
pub(crate) fn keeps(object: &Value) -> bool {
    policy(object).is_some_and(|policy| policy == "keep")
}

/// The resource policy of an object.
pub(crate) fn policy(object: &Value) -> Option<&str> {
    object
        .get("metadata")?
        .get("annotations")?
        .get(RESOURCE_POLICY_ANNOTATION)?
        .as_str()
}

/// Puts a release's marks on an object that is about to be written; marks of another release are replaced.
pub(crate) fn mark(object: &mut Value, release: &str, namespace: &str) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    let metadata = object.entry("metadata").or_insert_with(|| json!({}));
    for (field, key, value) in [
        ("labels", MANAGED_BY_LABEL, MANAGED_BY),
        ("annotations", RELEASE_NAME_ANNOTATION, release),
        ("annotations", RELEASE_NAMESPACE_ANNOTATION, namespace),
    ] {
        let Some(metadata) = metadata.as_object_mut() else {
            return;
        };
        let marks = metadata.entry(field).or_insert_with(|| json!({}));
        if !marks.is_object() {
            *marks = json!({});
        }
        if let Some(marks) = marks.as_object_mut() {
            marks.insert(key.to_owned(), json!(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Foreign, mark, mismatches};
    use serde_json::json;

    #[test]
    fn a_marked_object_is_ours() {
        let mut object = json!({"metadata": {"name": "x", "annotations": null}});
        mark(&mut object, "r", "ns");
        assert_eq!(mismatches(&object, "r", "ns"), []);
        assert_eq!(mismatches(&object, "other", "ns").len(), 1);
    }

    /// Text of Helm 4.3.1 for an object that another tool made.
    #[test]
    fn words_a_foreign_object_as_helm_does() {
        let object = json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "kubectl"}}});
        let foreign = Foreign {
            kind: "ConfigMap".to_owned(),
            namespace: "ns".to_owned(),
            name: "x".to_owned(),
            mismatches: mismatches(&object, "r", "ns"),
        };
        assert_eq!(
            foreign.to_string(),
            "ConfigMap \"x\" in namespace \"ns\" exists and cannot be imported into the current release: \
             invalid ownership metadata; label validation error: key \"app.kubernetes.io/managed-by\" must \
             equal \"Helm\": current value is \"kubectl\"; annotation validation error: missing key \
             \"meta.helm.sh/release-name\": must be set to \"r\"; annotation validation error: missing key \
             \"meta.helm.sh/release-namespace\": must be set to \"ns\""
        );
    }
}
