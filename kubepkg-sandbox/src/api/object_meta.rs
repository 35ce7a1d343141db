//! Whether metadata is valid: that of objects, and that of objects embedded in custom resources.

use serde_json::{Map, Value, json};

use super::failure::Cause;
use super::names;
use super::object;
use super::structs::Types;

/// All annotations together may have this many bytes.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;

/// The structure of an owner.
const OWNER: &str = "k8s.io/apimachinery/pkg/apis/meta/v1.OwnerReference";

/// What differs between kinds.
pub(crate) struct Rules<'r> {
    /// What is wrong with a name.
    pub(crate) name: &'r dyn Fn(&str) -> Vec<String>,
    /// Whether there must be one.
    pub(crate) named: bool,
    /// Whether finalizers must be fully qualified.
    pub(crate) finalizers: bool,
}

/// What is wrong with the metadata at a path.
pub(crate) fn causes(meta: &Value, at: &str, rules: &Rules<'_>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let field = |name: &str| format!("{at}.{name}");
    let generate = object::text(meta, "generateName");
    if !generate.is_empty() {
        let checked = generate.strip_suffix('-').map_or_else(
            || generate.to_owned(),
            |rest| {
                // A prefix may end in a hyphen; what is generated stands behind it.
                format!("{rest}a")
            },
        );
        for why in (rules.name)(&checked) {
            let at = field("generateName");
            causes.push(Cause::invalid(at, &json!(generate), &why));
        }
    }
    let name = object::text(meta, "name");
    if name.is_empty() {
        if rules.named {
            let why = "name or generateName is required";
            causes.push(Cause::required(field("name"), why));
        }
    } else {
        for why in (rules.name)(name) {
            causes.push(Cause::invalid(field("name"), &json!(name), &why));
        }
    }
    let namespace = object::text(meta, "namespace");
    if !namespace.is_empty() {
        for why in names::label(namespace) {
            let at = field("namespace");
            causes.push(Cause::invalid(at, &json!(namespace), &why));
        }
    }
    let none = Map::new();
    for (key, value) in meta["labels"].as_object().unwrap_or(&none) {
        for why in names::qualified_name(key) {
            causes.push(Cause::invalid(field("labels"), &json!(key), &why));
        }
        if let Some(why) = names::label_value(value.as_str().unwrap_or_default()) {
            causes.push(Cause::invalid(field("labels"), value, &why));
        }
    }
    let mut size = 0;
    for (key, value) in meta["annotations"].as_object().unwrap_or(&none) {
        for why in names::qualified_name(&key.to_lowercase()) {
            causes.push(Cause::invalid(field("annotations"), &json!(key), &why));
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > ANNOTATIONS_LIMIT {
        causes.push(Cause::too_long(field("annotations"), ANNOTATIONS_LIMIT));
    }
    causes.extend(owners(meta, &field("ownerReferences")));
    for (index, finalizer) in object::list(&meta["finalizers"]).enumerate() {
        let text = finalizer.as_str().unwrap_or_default();
        let wrong = names::qualified_name(text);
        for why in &wrong {
            causes.push(Cause::invalid(field("finalizers"), finalizer, why));
        }
        if rules.finalizers && !is_qualified(text) {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            let at = format!("{}[{index}]", field("finalizers"));
            causes.push(Cause::invalid(at, finalizer, why));
        }
    }
    causes
}

/// Whether a finalizer is one of the server's, or says whose it is.
fn is_qualified(finalizer: &str) -> bool {
    finalizer.contains('/') || ["orphan", "foregroundDeletion", "kubernetes"].contains(&finalizer)
}

/// What a client is told of the finalizers that it has added to a custom resource.
pub(crate) fn warnings(old: Option<&Value>, new: &Value) -> Vec<String> {
    let before = old.map(object::finalizers).unwrap_or_default();
    let mut added = object::finalizers(new);
    added.retain(|one| !before.contains(one) && !is_qualified(one));
    added.sort();
    added.dedup();
    added
        .iter()
        .map(|one| {
            // A name with a domain lacks the path alone.
            let path = if one.contains('.') {
                " including a path (/)"
            } else {
                ""
            };
            format!(
                "metadata.finalizers: {one:?}: prefer a domain-qualified finalizer name{path} to avoid \
                 accidental conflicts with other finalizer writers"
            )
        })
        .collect()
}

fn owners(meta: &Value, at: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut controllers: Vec<&Value> = Vec::new();
    for owner in object::list(&meta["ownerReferences"]) {
        let field = |name: &str| format!("{at}.{name}");
        let version = object::text(owner, "apiVersion");
        if version.is_empty() {
            let why = "version must not be empty";
            causes.push(Cause::invalid(field("apiVersion"), &json!(version), why));
        }
        for name in ["kind", "name", "uid"] {
            if object::text(owner, name).is_empty() {
                causes.push(Cause::invalid(field(name), &json!(""), "must not be empty"));
            }
        }
        if owner["controller"] == true {
            controllers.push(owner);
        }
    }
    if let [first, second, ..] = controllers.as_slice() {
        let named = |owner: &Value| {
            let (kind, name) = (object::text(owner, "kind"), object::text(owner, "name"));
            format!("{kind}/{name}")
        };
        let why = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for {} and {}",
            named(first),
            named(second)
        );
        let written: Vec<String> = object::list(&meta["ownerReferences"])
            .map(|owner| Types::get().written(OWNER, owner))
            .collect();
        causes.push(Cause {
            reason: "FieldValueInvalid",
            message: format!("Invalid value: [{}]: {why}", written.join(",")),
            field: at.to_owned(),
        });
    }
    causes
}
