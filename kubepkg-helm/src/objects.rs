//! The objects of a manifest: a YAML stream as it stands in a release record is split as Kubernetes tools
//! split it, every document is read, lists are opened, and what has no kind or name is refused.
//! Source of the rules: `k8s.io/apimachinery` `util/yaml` and `k8s.io/cli-runtime` `resource`.

use crate::render::{Rendered, TemplatePlace};
use serde_json::Value;
use std::collections::HashMap;

/// Why a manifest can't be turned into objects.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// A document is not YAML.
    #[error("error parsing document {number}: {reason}")]
    Yaml {
        /// Position of the document, from 1.
        number: usize,
        /// What the parser says.
        reason: String,
    },
    /// A document is not an object.
    #[error("document {number} is not an object")]
    NotAnObject {
        /// Position of the document, from 1.
        number: usize,
    },
    /// A document lacks what identifies an object.
    #[error("document {number}: {field} not set")]
    Missing {
        /// Position of the document, from 1.
        number: usize,
        /// The field that is missing.
        field: &'static str,
    },
    /// Two documents are the same object.
    #[error("{kind} {name:?} stands twice in the manifest")]
    Twice {
        /// Kind of the object.
        kind: String,
        /// Name of the object.
        name: String,
    },
}

/// Which object, independent of its version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ObjectKey {
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// An object of a manifest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ManifestObject {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    /// As it is written; empty when it is not.
    pub(crate) namespace: String,
    pub(crate) value: Value,
    /// The template that it comes from, as far as the manifest tells; the line once a rendering told.
    pub(crate) place: TemplatePlace,
}

impl ManifestObject {
    pub(crate) fn group(&self) -> &str {
        self.api_version
            .split_once('/')
            .map_or("", |(group, _)| group)
    }

    /// `/v1, Kind=ConfigMap`, as Go prints a group, version and kind.
    pub(crate) fn go_kind(&self) -> String {
        let (group, version) = self
            .api_version
            .split_once('/')
            .unwrap_or(("", self.api_version.as_str()));
        format!("{group}/{version}, Kind={}", self.kind)
    }

    pub(crate) fn is_crd(&self) -> bool {
        self.kind == "CustomResourceDefinition" && self.group() == "apiextensions.k8s.io"
    }
}

/// Reads all objects of a manifest, in order.
pub(crate) fn objects_of(manifest: &str) -> Result<Vec<ManifestObject>, ManifestError> {
    let mut objects = Vec::new();
    for (index, document) in split(manifest).into_iter().enumerate() {
        let number = index + 1;
        let value =
            kubepkg_yaml::load(document.as_bytes()).map_err(|error| ManifestError::Yaml {
                number,
                reason: error.to_string(),
            })?;
        let from = objects.len();
        add(value, number, &mut objects)?;
        if let Some(template) = source_of(&document) {
            for object in objects.iter_mut().skip(from) {
                template.clone_into(&mut object.place.template);
            }
        }
    }
    Ok(objects)
}

/// The template that the first line of a document of a release's manifest names.
fn source_of(document: &str) -> Option<&str> {
    let line = document.lines().next()?;
    line.strip_prefix("# Source: ").map(str::trim)
}

/// Tells objects on which lines of their templates they begin, as a rendering knows it.
pub(crate) fn locate<'o>(
    objects: impl IntoIterator<Item = &'o mut ManifestObject>,
    rendered: &[Located],
) {
    let (mut known, mut lists) = (HashMap::new(), HashMap::new());
    for Located { kind, name, place } in rendered {
        let template = place.template.as_str();
        known
            .entry((template, kind.as_str(), name.as_str()))
            .or_insert(place);
        if kind.ends_with("List") {
            lists.entry(template).or_insert(place);
        }
    }
    for object in objects {
        let template = object.place.template.as_str();
        let same = known.get(&(template, object.kind.as_str(), object.name.as_str()));
        // The items of a list begin where the list does.
        if let Some(found) = same.or_else(|| lists.get(template)) {
            object.place = TemplatePlace::clone(found);
        }
    }
}

/// A rendered object and where it comes from.
pub(crate) struct Located {
    kind: String,
    name: String,
    place: TemplatePlace,
}

impl Located {
    pub(crate) fn all(rendered: &Rendered) -> Vec<Self> {
        let objects = rendered.objects.iter().map(|object| Self {
            kind: object.kind.clone(),
            name: object.name.clone(),
            place: object.place.clone(),
        });
        let hooks = rendered.hooks.iter().zip(&rendered.hook_places);
        let hooks = hooks.map(|(hook, place)| Self {
            kind: hook.kind.clone(),
            name: hook.name.clone(),
            place: place.clone(),
        });
        objects.chain(hooks).collect()
    }
}

fn add(
    value: Value,
    number: usize,
    objects: &mut Vec<ManifestObject>,
) -> Result<(), ManifestError> {
    if value.is_null() {
        return Ok(());
    }
    if !value.is_object() {
        return Err(ManifestError::NotAnObject { number });
    }
    let text = |path: &str| {
        value
            .pointer(path)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (api_version, kind) = (text("/apiVersion"), text("/kind"));
    if kind.is_empty() {
        return Err(ManifestError::Missing {
            number,
            field: "kind",
        });
    }
    if api_version.is_empty() {
        return Err(ManifestError::Missing {
            number,
            field: "apiVersion",
        });
    }
    if kind.ends_with("List")
        && let Some(items) = value.get("items").and_then(Value::as_array)
    {
        for item in items {
            add(item.clone(), number, objects)?;
        }
        return Ok(());
    }
    let (name, namespace) = (text("/metadata/name"), text("/metadata/namespace"));
    if name.is_empty() {
        // Server-side apply needs a name; Helm 4 refuses `generateName` for the same reason.
        return Err(ManifestError::Missing {
            number,
            field: "metadata.name",
        });
    }
    objects.push(ManifestObject {
        api_version,
        kind,
        name,
        namespace,
        value,
        place: TemplatePlace::default(),
    });
    Ok(())
}

/// Splits at lines that begin with `---`; what follows on such a line is dropped.
fn split(manifest: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in manifest.split_inclusive('\n') {
        if line.starts_with("---") {
            documents.push(String::new());
        } else if let Some(last) = documents.last_mut() {
            last.push_str(line);
        }
    }
    documents.retain(|document| {
        document.lines().any(|line| {
            let line = line.trim_start();
            !line.is_empty() && !line.starts_with('#')
        })
    });
    documents
}

#[cfg(test)]
mod tests {
    use super::{objects_of, split};

    #[test]
    fn splits_as_kubernetes_does() {
        let documents = split("---\n# Source: a\na: 1\n--- # x\n# nothing\n---\nb: 2\n");
        assert_eq!(documents, ["# Source: a\na: 1\n", "b: 2\n"]);
    }

    #[test]
    fn opens_lists_and_refuses_nameless_objects() {
        let list = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: a\n";
        let objects = objects_of(list).expect("objects");
        assert_eq!(
            (
                objects.len(),
                objects[0].kind.as_str(),
                objects[0].name.as_str()
            ),
            (1, "Secret", "a")
        );
        assert_eq!(objects[0].go_kind(), "/v1, Kind=Secret");
        let error = objects_of("apiVersion: v1\nkind: Secret\nmetadata:\n  generateName: a\n")
            .expect_err("nameless");
        assert_eq!(error.to_string(), "document 1: metadata.name not set");
    }
}
