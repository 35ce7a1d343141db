//! Custom resources: what a CustomResourceDefinition makes the server serve.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use kubepkg_gotemplate::sprig::Url;
use kubepkg_patch::schema::GroupVersionKind;
use serde_json::{Value, json};

use super::convert;
use super::failure::qualify;
use super::kind::{Custom, Kind, Subresource};
use super::managed;
use super::object;
use super::registry::Served;
use super::store::Event;
use super::world::World;
use super::write::Writer;
use crate::crd;

pub(crate) const TABLE: &str = "customresourcedefinitions.apiextensions.k8s.io";
pub(crate) const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Serves what the definitions in the store say. What is served already is not made again.
pub(crate) fn serve(world: &mut World) {
    let mut all = Vec::new();
    let mut changed = Vec::new();
    for (_, definition) in world.store.list(TABLE, "", None) {
        if condition(definition, "Established") != Some(true) {
            continue;
        }
        let served = world.registry.served(object::name(definition));
        let known = served.filter(|served| {
            served.definition["spec"] == definition["spec"]
                && served.definition["status"]["acceptedNames"]
                    == definition["status"]["acceptedNames"]
        });
        let kinds = if let Some(served) = known {
            served.kinds.clone()
        } else {
            let before = served.map(|served| Arc::clone(&served.definition));
            changed.push((before, Arc::clone(definition)));
            kinds_of(definition).into_iter().map(Arc::new).collect()
        };
        let definition = Arc::clone(definition);
        all.push(Served { definition, kinds });
    }
    world.registry.set_custom(all);
    for (before, definition) in changed {
        show_anew(world, before.as_deref(), &definition);
    }
}

/// The version in which objects are stored, as the definition has it.
fn storage(definition: &Value) -> &Value {
    object::list(&definition["spec"]["versions"])
        .find(|version| version["storage"] == true)
        .unwrap_or(&Value::Null)
}

/// Shows objects by the schema that the version in which they were stored has now. A version that is no longer there
/// is taken for the one that has come in its place.
fn show_anew(world: &mut World, before: Option<&Value>, definition: &Value) {
    let current = storage(definition);
    let name = |version: &Value| -> Arc<str> { object::text(version, "name").into() };
    let (before, after) = (name(before.map_or(current, storage)), name(current));
    let plural = object::text(&definition["status"]["acceptedNames"], "plural");
    let table = qualify(plural, object::text(&definition["spec"], "group"));
    let show = |version: &str, object: &Value| {
        let found =
            object::list(&definition["spec"]["versions"]).find(|one| one["name"] == version);
        let schema = &found.unwrap_or(current)["schema"]["openAPIV3Schema"];
        let mut object = object.clone();
        convert::read_by(schema, &mut object);
        object
    };
    world.store.show_anew(&table, (&before, &after), show);
}

/// The status of a condition.
pub(crate) fn condition(object: &Value, name: &str) -> Option<bool> {
    object::list(&object["status"]["conditions"])
        .find(|condition| condition["type"] == name)
        .map(|condition| condition["status"] == "True")
}

fn kinds_of(definition: &Value) -> Vec<Kind> {
    let spec = &definition["spec"];
    let names = &definition["status"]["acceptedNames"];
    let group = object::text(spec, "group");
    let plural = object::text(names, "plural");
    let stored_in: Arc<str> = qualify(plural, group).into();
    let stored = Arc::new(storage(definition)["schema"]["openAPIV3Schema"].clone());
    let texts = |value: &Value| -> Vec<String> {
        let all = object::list(value).filter_map(Value::as_str);
        all.map(str::to_owned).collect()
    };
    let served = object::list(&spec["versions"]).filter(|version| version["served"] == true);
    served
        .map(|written| {
            let version = object::text(written, "name");
            let kind = object::text(names, "kind");
            let verbs = [
                "delete",
                "deletecollection",
                "get",
                "list",
                "patch",
                "create",
                "update",
                "watch",
            ];
            let mut subresources = BTreeMap::new();
            let verbs_of_part = || ["get", "patch", "update"].map(str::to_owned).to_vec();
            if !written["subresources"]["status"].is_null() {
                let status = Subresource {
                    verbs: verbs_of_part(),
                    group: group.to_owned(),
                    version: version.to_owned(),
                    kind: kind.to_owned(),
                };
                subresources.insert("status".to_owned(), status);
            }
            if !written["subresources"]["scale"].is_null() {
                let scale = Subresource {
                    verbs: verbs_of_part(),
                    group: "autoscaling".to_owned(),
                    version: "v1".to_owned(),
                    kind: "Scale".to_owned(),
                };
                subresources.insert("scale".to_owned(), scale);
            }
            let deprecation = (written["deprecated"] == true).then(|| {
                written["deprecationWarning"]
                    .as_str()
                    .map_or_else(|| deprecated(spec, group, version, kind), str::to_owned)
            });
            Kind {
                group: group.to_owned(),
                version: version.to_owned(),
                plural: plural.to_owned(),
                singular: object::text(names, "singular").to_owned(),
                kind: kind.to_owned(),
                list_kind: object::text(names, "listKind").to_owned(),
                namespaced: object::text(spec, "scope") == "Namespaced",
                verbs: verbs.map(str::to_owned).to_vec(),
                short_names: texts(&names["shortNames"]),
                categories: texts(&names["categories"]),
                subresources,
                columns: Arc::new(columns(written)),
                stored_in: Arc::clone(&stored_in),
                custom: Some(Arc::new(Custom {
                    merge_type: managed::custom_type(
                        &GroupVersionKind {
                            group: group.to_owned(),
                            version: version.to_owned(),
                            kind: kind.to_owned(),
                        },
                        &written["schema"]["openAPIV3Schema"],
                        spec["preserveUnknownFields"] == true,
                    ),
                    schema: written["schema"]["openAPIV3Schema"].clone(),
                    has_others: object::list(&spec["versions"]).nth(1).is_some(),
                    stored: (written["storage"] != true).then(|| Arc::clone(&stored)),
                    written: written.clone(),
                    deprecation,
                })),
            }
        })
        .collect()
}

/// The warning that a version is deprecated, and what to use.
fn deprecated(spec: &Value, group: &str, version: &str, kind: &str) -> String {
    let warning = format!("{group}/{version} {kind} is deprecated");
    let mut better: Vec<&str> = object::list(&spec["versions"])
        .filter(|other| other["served"] == true && other["deprecated"] != true)
        .map(|other| object::text(other, "name"))
        .collect();
    better.sort_by_key(|version| super::registry::priority(version));
    match better.first() {
        Some(better) => format!("{warning}; use {group}/{better} {kind}"),
        None => warning,
    }
}

/// Column definitions of the tables of a version.
fn columns(written: &Value) -> Vec<Value> {
    let name = json!({
        "name": "Name", "type": "string", "format": "name", "priority": 0,
        "description": "Name must be unique within a namespace. Is required when creating \
            resources, although some resources may allow a client to request the generation of an \
            appropriate name automatically. Name is primarily intended for creation idempotence \
            and configuration definition. Cannot be updated. More info: \
            https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
    });
    let mut all = vec![name];
    let printed: Vec<&Value> = object::list(&written["additionalPrinterColumns"]).collect();
    if printed.is_empty() {
        all.push(json!({
            "name": "Age", "type": "date", "format": "", "priority": 0,
            "description": "CreationTimestamp is a timestamp representing the server time when \
                this object was created. It is not guaranteed to be set in happens-before order \
                across separate operations. Clients may not set this value. It is represented in \
                RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. \
                More info: https://git.k8s.io/community/contributors/devel/sig-architecture/\
                api-conventions.md#metadata",
        }));
    }
    for column in printed {
        let text = |field: &str| object::text(column, field).to_owned();
        let description = match text("description") {
            empty if empty.is_empty() => format!(
                "Custom resource definition column (in JSONPath format): {}",
                text("jsonPath")
            ),
            given => given,
        };
        all.push(json!({
            "name": text("name"), "type": text("type"), "format": text("format"),
            "priority": column["priority"].as_i64().unwrap_or(0), "description": description,
        }));
    }
    all
}

/// Whether there may be something to do with definitions.
pub(crate) fn concern(world: &World, news: &[Event]) -> bool {
    news.iter().any(|event| &*event.table == TABLE)
        || world
            .store
            .list(TABLE, "", None)
            .any(|(_, definition)| object::terminating(definition))
}

/// The controllers of definitions: names are accepted, versions established, objects removed
/// before their definition.
pub(crate) fn settle(world: &mut World, now: Timestamp) {
    let all: Vec<Arc<Value>> = world
        .store
        .list(TABLE, "", None)
        .map(|(_, definition)| Arc::clone(definition))
        .collect();
    for definition in all {
        if object::terminating(&definition) {
            finish(world, &definition, now);
        } else if let Some(new) = accepted(world, &definition, now) {
            write_back(world, &definition, new, "status", now);
        }
    }
}

/// The definition with its names accepted and established, when that is news.
fn accepted(world: &World, definition: &Arc<Value>, now: Timestamp) -> Option<Value> {
    let names = &definition["spec"]["names"];
    let conflict = conflict(world, definition);
    let known = condition(definition, "NamesAccepted");
    let taken = conflict.is_some() || definition["status"]["acceptedNames"] == *names;
    let was = self::condition(definition, "Established") == Some(true);
    let trusted = was || crd::definition::has_valid_bundle(&definition["spec"]);
    let established = conflict.is_none() && trusted;
    if known == Some(conflict.is_none())
        && taken
        && self::condition(definition, "Established") == Some(established)
    {
        return None;
    }
    let mut new = Value::clone(definition);
    if conflict.is_none() {
        new["status"]["acceptedNames"] = names.clone();
    }
    let time = object::time(now);
    let condition = |kind: &str, ok: bool, reason: &str, message: &str| {
        json!({
            "type": kind, "status": if ok { "True" } else { "False" },
            "lastTransitionTime": time, "reason": reason, "message": message,
        })
    };
    let mut conditions = match &conflict {
        None if was => definition["status"]["conditions"].clone(),
        None => {
            let (reason, message) = if trusted {
                (
                    "InitialNamesAccepted",
                    "the initial names have been accepted",
                )
            } else {
                let message = "The conversion webhook CABundle is invalid";
                ("InvalidCABundle", message)
            };
            json!([
                condition("NamesAccepted", true, "NoConflicts", "no conflicts found"),
                condition("Established", trusted, reason, message),
            ])
        }
        Some((reason, message)) => json!([
            condition("NamesAccepted", false, reason, message),
            condition(
                "Established",
                false,
                "NotAccepted",
                "not all names are accepted"
            ),
        ]),
    };
    if !was
        && let Some((ok, reason, message)) = approval(definition)
        && let Some(all) = conditions.as_array_mut()
    {
        let kind = "KubernetesAPIApprovalPolicyConformant";
        all.insert(0, condition(kind, ok, reason, &message));
    }
    new["status"]["conditions"] = conditions;
    Some(new)
}

/// Groups of the community want to be approved of by it.
fn approval(definition: &Value) -> Option<(bool, &'static str, String)> {
    const KEY: &str = "api-approved.kubernetes.io";
    const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";
    let group = object::text(&definition["spec"], "group");
    let protected = ["k8s.io", "kubernetes.io"].into_iter().any(|own| {
        let before = group.strip_suffix(own);
        before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    });
    if !protected {
        return None;
    }
    let annotated = object::text(&definition["metadata"]["annotations"], KEY);
    let url = Url::parse(annotated.as_bytes())
        .is_ok_and(|url| !url.scheme.is_empty() && !url.host.is_empty());
    Some(if annotated.is_empty() {
        let why = format!("protected groups must have approval annotation \"{KEY}\", {SEE}");
        (false, "MissingAnnotation", why)
    } else if annotated.starts_with("unapproved") {
        (
            false,
            "UnapprovedAnnotation",
            format!("not approved: {annotated:?}"),
        )
    } else if url {
        (
            true,
            "ApprovedAnnotation",
            format!("approved in {annotated}"),
        )
    } else {
        let why = format!(
            "protected groups must have approval annotation \"{KEY}\" with either a URL or a reason starting with \
             \"unapproved\", {SEE}"
        );
        (false, "InvalidAnnotation", why)
    })
}

/// A name of this definition that another one of its group has.
fn conflict(world: &World, definition: &Value) -> Option<(&'static str, String)> {
    let group = object::text(&definition["spec"], "group");
    let names = &definition["spec"]["names"];
    for (_, other) in world.store.list(TABLE, "", None) {
        let same = object::uid(other) == object::uid(definition);
        if same || object::text(&other["spec"], "group") != group {
            continue;
        }
        let taken = &other["status"]["acceptedNames"];
        for (field, reason) in [
            ("plural", "PluralConflict"),
            ("singular", "SingularConflict"),
            ("kind", "KindConflict"),
            ("listKind", "ListKindConflict"),
        ] {
            let name = object::text(names, field);
            if !name.is_empty() && object::text(taken, field) == name {
                return Some((reason, format!("\"{name}\" is already in use")));
            }
        }
    }
    None
}

/// Removes the objects of a definition, then lets it go.
fn finish(world: &mut World, definition: &Arc<Value>, now: Timestamp) {
    if !object::finalizers(definition)
        .iter()
        .any(|one| one == FINALIZER)
    {
        return;
    }
    let table: Arc<str> = qualify(
        object::text(&definition["status"]["acceptedNames"], "plural"),
        object::text(&definition["spec"], "group"),
    )
    .into();
    if super::settle::clear(world, &table, "", now) > 0 {
        return;
    }
    let mut new = Value::clone(definition);
    let mut finalizers = object::finalizers(&new);
    finalizers.retain(|one| one != FINALIZER);
    object::set_finalizers(&mut new, finalizers);
    write_back(world, definition, new, "status", now);
}

fn write_back(world: &mut World, old: &Arc<Value>, new: Value, subresource: &str, now: Timestamp) {
    let Some(kind) = world.registry.of_table(TABLE).map(Arc::clone) else {
        return;
    };
    let mut writer = Writer::internal("kube-apiserver", subresource, now);
    if let Err(failure) = world.commit_change(&kind, old, new, &mut writer) {
        tracing::debug!(%failure, "a definition could not be written");
    }
}
