//! Claims: bound at once to a volume made for them; the protection finalizer goes when nobody uses
//! them.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{create, write, write_status};
use crate::api::object;
use crate::api::world::World;

const TABLE: &str = "persistentvolumeclaims";
const PROTECTION: &str = "kubernetes.io/pvc-protection";

pub(super) fn settle(world: &mut World, claim: &Arc<Value>, now: Timestamp) {
    if object::terminating(claim) {
        release(world, claim, now);
        return;
    }
    if claim["status"]["phase"] == "Bound" {
        return;
    }
    let spec = &claim["spec"];
    let volume = format!("pvc-{}", object::uid(claim));
    if object::text(spec, "volumeName").is_empty() {
        // Nothing is wrong with it.
        let _ = create(
            world,
            "persistentvolumes",
            "",
            json!({
                "metadata": {"name": volume},
                "spec": {
                    "accessModes": spec["accessModes"],
                    "capacity": {"storage": spec["resources"]["requests"]["storage"]},
                    "claimRef": {
                        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                        "name": object::name(claim), "namespace": object::namespace(claim),
                        "uid": object::uid(claim),
                    },
                    "hostPath": {"path": "/nowhere"},
                    "persistentVolumeReclaimPolicy": "Delete",
                    "storageClassName": object::text(spec, "storageClassName"),
                },
            }),
            now,
        );
        let mut new = Value::clone(claim);
        new["spec"]["volumeName"] = volume.into();
        write(world, TABLE, claim, new, "", now);
        return;
    }
    let status = json!({
        "phase": "Bound", "accessModes": spec["accessModes"],
        "capacity": {"storage": spec["resources"]["requests"]["storage"]},
    });
    write_status(world, TABLE, claim, status, now);
}

/// A volume that nobody claims can be had, one that is claimed is bound.
pub(super) fn settle_volume(world: &mut World, volume: &Arc<Value>, now: Timestamp) {
    if object::terminating(volume) || volume["status"]["phase"] != "Pending" {
        return;
    }
    let claimed = !object::text(&volume["spec"]["claimRef"], "uid").is_empty();
    let mut status = volume["status"].clone();
    status["phase"] = if claimed { "Bound" } else { "Available" }.into();
    write_status(world, "persistentvolumes", volume, status, now);
}

fn release(world: &mut World, claim: &Arc<Value>, now: Timestamp) {
    let finalizers = object::finalizers(claim);
    if !finalizers.iter().any(|one| one == PROTECTION) {
        return;
    }
    let name = object::name(claim);
    let used = world
        .store
        .list("pods", object::namespace(claim), None)
        .any(|(_, pod)| {
            object::list(&pod["spec"]["volumes"])
                .any(|volume| volume["persistentVolumeClaim"]["claimName"] == name)
        });
    if used {
        return;
    }
    let mut new = Value::clone(claim);
    object::set_finalizers(
        &mut new,
        finalizers
            .into_iter()
            .filter(|one| one != PROTECTION)
            .collect(),
    );
    write(world, TABLE, claim, new, "", now);
    let table: Arc<str> = "persistentvolumes".into();
    let volume = object::text(&claim["spec"], "volumeName").to_owned();
    world.store.remove(&table, &(String::new(), volume));
}
