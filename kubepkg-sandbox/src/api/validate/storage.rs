//! Claims, volumes and classes of them: `pkg/apis/core/validation` and `pkg/apis/storage/validation`.

use serde_json::{Value, json};

use super::parts::{name, no_backsteps, one_of, one_of_if_given, required, selector};
use super::{placement, resources, volume};
use crate::api::failure::Cause;
use crate::api::names;
use crate::api::object::{list, text};

const MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];
/// What a volume may be, in the order in which it is looked at.
const KINDS: [&str; 22] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

/// What a claim asks for.
pub(super) fn claim_spec(causes: &mut Vec<Cause>, at: &str, spec: &Value) {
    let modes_at = format!("{at}.accessModes");
    if list(&spec["accessModes"]).next().is_none() {
        let why = "at least 1 access mode is required";
        causes.push(Cause::required(&modes_at, why));
    }
    selector(causes, &format!("{at}.selector"), &spec["selector"]);
    modes(causes, &modes_at, spec);
    let size_at = format!("{at}.resources[storage]");
    match spec["resources"]["requests"].get("storage") {
        None => causes.push(Cause::required(size_at, "")),
        Some(size) => positive(causes, &size_at, size),
    }
    class_and_mode(causes, at, spec);
    for field in ["dataSource", "dataSourceRef"] {
        filled_from(causes, &format!("{at}.{field}"), &spec[field]);
    }
}

/// What a claim is filled from.
fn filled_from(causes: &mut Vec<Cause>, at: &str, source: &Value) {
    if source.is_null() {
        return;
    }
    for field in ["name", "kind"] {
        required(causes, at, source, field);
    }
    let (group, kind) = (text(source, "apiGroup"), text(source, "kind"));
    if !group.is_empty() {
        name(causes, &format!("{at}.apiGroup"), group, names::subdomain);
    } else if kind != "PersistentVolumeClaim" {
        let why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        causes.push(Cause::invalid(at, &kind.into(), why));
    }
}

fn modes(causes: &mut Vec<Cause>, at: &str, spec: &Value) {
    let (mut alone, mut shared) = (false, false);
    for mode in list(&spec["accessModes"]) {
        let mode = mode.as_str().unwrap_or_default();
        one_of(causes, at, mode, &MODES);
        alone |= mode == "ReadWriteOncePod";
        shared |= mode != "ReadWriteOncePod" && MODES.contains(&mode);
    }
    if alone && shared {
        let why = "may not use ReadWriteOncePod with other access modes";
        causes.push(Cause::forbidden(at, why));
    }
}

fn class_and_mode(causes: &mut Vec<Cause>, at: &str, spec: &Value) {
    let class = text(spec, "storageClassName");
    if !class.is_empty() {
        name(
            causes,
            &format!("{at}.storageClassName"),
            class,
            names::subdomain,
        );
    }
    one_of_if_given(causes, at, spec, "volumeMode", &["Block", "Filesystem"]);
}

fn positive(causes: &mut Vec<Cause>, at: &str, size: &Value) {
    let text = size.as_str().unwrap_or_default();
    if text == "0" || text.starts_with('-') {
        causes.push(Cause::invalid(at, size, "must be greater than zero"));
    } else {
        resources::quantity(causes, at, "storage", size);
    }
}

/// A volume of the cluster.
pub(super) fn volume(causes: &mut Vec<Cause>, spec: &Value) {
    if list(&spec["accessModes"]).next().is_none() {
        causes.push(Cause::required("spec.accessModes", ""));
    }
    modes(causes, "spec.accessModes", spec);
    let capacity = spec["capacity"].as_object();
    if capacity.is_none_or(serde_json::Map::is_empty) {
        causes.push(Cause::required("spec.capacity", ""));
    }
    let size = spec["capacity"].get("storage");
    if size.is_none() || capacity.is_some_and(|all| all.len() > 1) {
        let shown = spec["capacity"].to_string();
        causes.push(Cause::unsupported("spec.capacity", &shown, &["storage"]));
    }
    for (resource, size) in capacity.into_iter().flatten() {
        let at = &format!("spec.capacity[{resource}]");
        if let Some(negative) = size.as_str().and_then(|text| text.parse::<i64>().ok())
            && negative < 0
        {
            let why = "must be a valid resource quantity";
            causes.push(Cause::invalid(at, &negative.into(), why));
        }
        positive(causes, at, size);
    }
    if !text(spec, "persistentVolumeReclaimPolicy").is_empty() {
        let policy = text(spec, "persistentVolumeReclaimPolicy");
        let known = ["Delete", "Recycle", "Retain"];
        one_of(causes, "spec.persistentVolumeReclaimPolicy", policy, &known);
    }
    let affinity = &spec["nodeAffinity"];
    if !affinity.is_null() {
        if affinity["required"].is_null() {
            let why = "must specify required node constraints";
            causes.push(Cause::required("spec.nodeAffinity.required", why));
        } else {
            let at = "spec.nodeAffinity.required";
            placement::node_selector(causes, at, &affinity["required"]);
        }
    }
    let mut some = false;
    for kind in KINDS {
        let source = &spec[kind];
        if source.is_null() {
            continue;
        }
        if some {
            let why = "may not specify more than 1 volume type";
            causes.push(Cause::forbidden(format!("spec.{kind}"), why));
            continue;
        }
        some = true;
        self::source(causes, kind, source, affinity);
    }
    if !some {
        causes.push(Cause::required("spec", "must specify a volume type"));
    }
    let root = spec["hostPath"]["path"] == "/";
    if root && spec["persistentVolumeReclaimPolicy"] == "Recycle" {
        let why = "may not be 'recycle' for a hostPath mount of '/'";
        causes.push(Cause::forbidden("spec.persistentVolumeReclaimPolicy", why));
    }
    class_and_mode(causes, "spec", spec);
}

fn source(causes: &mut Vec<Cause>, kind: &str, source: &Value, affinity: &Value) {
    let at = format!("spec.{kind}");
    match kind {
        "hostPath" => volume::host_path(causes, &at, source),
        "nfs" => volume::nfs(causes, &at, source),
        "local" => {
            let path = text(source, "path");
            if path.is_empty() {
                causes.push(Cause::required(format!("{at}.path"), ""));
            } else {
                no_backsteps(causes, &format!("{at}.path"), path);
            }
            if affinity.is_null() {
                let why = "Local volume requires node affinity";
                causes.push(Cause::required("spec.nodeAffinity", why));
            }
        }
        "csi" => {
            volume::driver(causes, &format!("{at}.driver"), text(source, "driver"));
            required(causes, &at, source, "volumeHandle");
        }
        _ => {}
    }
}

/// A class of volumes.
pub(super) fn class(causes: &mut Vec<Cause>, class: &Value) {
    match text(class, "provisioner") {
        "" => causes.push(Cause::required("provisioner", "")),
        provisioner => {
            let provisioner = provisioner.to_lowercase();
            name(causes, "provisioner", &provisioner, names::qualified_name);
        }
    }
    let parameters = class["parameters"].as_object();
    if parameters.is_some_and(|all| all.contains_key("")) {
        let why = "field can not be empty.";
        causes.push(Cause::invalid("parameters", &json!(""), why));
    }
    let policy = text(class, "reclaimPolicy");
    if !policy.is_empty() {
        one_of(causes, "reclaimPolicy", policy, &["Delete", "Retain"]);
    }
    let modes = ["Immediate", "WaitForFirstConsumer"];
    one_of(
        causes,
        "volumeBindingMode",
        text(class, "volumeBindingMode"),
        &modes,
    );
    for (index, term) in list(&class["allowedTopologies"]).enumerate() {
        for (place, wanted) in list(&term["matchLabelExpressions"]).enumerate() {
            let at = format!("allowedTopologies[{index}].matchLabelExpressions[{place}]");
            if list(&wanted["values"]).next().is_none() {
                causes.push(Cause::required(format!("{at}.values"), ""));
            }
            name(
                causes,
                &format!("{at}.key"),
                text(wanted, "key"),
                names::qualified_name,
            );
        }
    }
}
