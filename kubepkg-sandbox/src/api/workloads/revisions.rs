//! The history of StatefulSets and DaemonSets: a ControllerRevision for each template that they had.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{controlled, create, delete, number, reference, write};
use crate::api::object;
use crate::api::world::World;

const TABLE: &str = "controllerrevisions.apps";

/// Sees to it that the newest revision of a set is that of its template, and that there are not too many.
pub(super) fn keep(world: &mut World, set: &Arc<Value>, kind: &str, name: &str, now: Timestamp) {
    let known = controlled(world, set, TABLE);
    let newest = known.iter().map(|one| number(&one["revision"])).max();
    let next = newest.unwrap_or(0) + 1;
    match known.iter().find(|one| object::name(one) == name) {
        Some(current) if Some(number(&current["revision"])) == newest => {}
        Some(current) => {
            // An old template again.
            let mut new = Value::clone(current);
            new["revision"] = next.into();
            write(world, TABLE, current, new, "", now);
        }
        None => {
            let made = revision(set, kind, name, next);
            // Who refuses it is told nothing: the set goes on without.
            let _ = create(world, TABLE, object::namespace(set), made, now);
        }
    }
    let limit = usize::try_from(number(&set["spec"]["revisionHistoryLimit"])).unwrap_or(0);
    let mut old = controlled(world, set, TABLE);
    old.retain(|one| object::name(one) != name);
    old.sort_by_key(|one| number(&one["revision"]));
    let surplus = old.len().saturating_sub(limit);
    for one in old.iter().take(surplus) {
        delete(world, TABLE, one, now);
    }
}

fn revision(set: &Value, kind: &str, name: &str, number: i64) -> Value {
    let mut template = set["spec"]["template"].clone();
    let mut labels = template["metadata"]["labels"].clone();
    let hash = name.rsplit('-').next().unwrap_or_default();
    let key = if kind == "DaemonSet" {
        "controller-revision-hash"
    } else {
        "controller.kubernetes.io/hash"
    };
    if !labels.is_object() {
        labels = json!({});
    }
    labels[key] = hash.into();
    template["$patch"] = "replace".into();
    let mut metadata = json!({
        "name": name, "labels": labels, "ownerReferences": reference("apps/v1", kind, set),
    });
    if let Some(annotations) = set["metadata"].get("annotations") {
        metadata["annotations"] = annotations.clone();
    }
    json!({
        "metadata": metadata, "revision": number, "data": {"spec": {"template": template}},
    })
}
