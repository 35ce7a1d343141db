//! Classes for who names none: the admission plugins `DefaultStorageClass` and `DefaultIngressClass` of Kubernetes.

use std::cmp::Reverse;

use serde_json::Value;

use crate::api::kind::Kind;
use crate::api::object;
use crate::api::world::World;

const STORAGE: &str = "storageclasses.storage.k8s.io";
const INGRESS: &str = "ingressclasses.networking.k8s.io";
/// What says so of a class.
const STORAGE_MARKS: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];
const INGRESS_MARKS: [&str; 1] = ["ingressclass.kubernetes.io/is-default-class"];

/// Gives a new claim or Ingress its class.
pub(super) fn of_class(world: &World, kind: &Kind, object: &mut Value) {
    let (field, named, table, marks): (_, _, _, &[&str]) = if kind.is("", "persistentvolumeclaims")
    {
        let named = "volume.beta.kubernetes.io/storage-class";
        ("storageClassName", named, STORAGE, &STORAGE_MARKS)
    } else {
        let named = "kubernetes.io/ingress.class";
        ("ingressClassName", named, INGRESS, &INGRESS_MARKS)
    };
    let annotations = &object["metadata"]["annotations"];
    if !object["spec"][field].is_null() || annotations.get(named).is_some() {
        return;
    }
    // Of several the newest, and of these the first by name.
    let class = world
        .store
        .list(table, "", None)
        .map(|(_, class)| class)
        .filter(|class| {
            let annotations = &class["metadata"]["annotations"];
            marks.iter().any(|mark| annotations[*mark] == "true")
        })
        .max_by_key(|class| {
            let made = object::meta(class, "creationTimestamp").to_owned();
            (made, Reverse(object::name(class).to_owned()))
        });
    if let (Some(class), Some(spec)) = (class, object::entry(object, "spec")) {
        spec.insert(field.to_owned(), object::name(class).into());
    }
}
