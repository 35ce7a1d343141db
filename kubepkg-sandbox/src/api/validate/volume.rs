//! What the volumes of a pod must be.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::parts::{descending, name, no_backsteps, not_reserved, one_of, required};
use super::resources;
use super::storage;
use super::variables;
use crate::api::failure::Cause;
use crate::api::names;
use crate::api::object::{list, text};

const MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";
/// The sources in the order in which they are looked at.
const SOURCES: [&str; 30] = [
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
];

/// Looks at all of them, and gives those that containers may mount.
pub(super) fn all<'v>(
    causes: &mut Vec<Cause>,
    at: &str,
    pod: &'v Value,
) -> BTreeMap<&'v str, &'v Value> {
    let mut good = BTreeMap::new();
    for (index, volume) in list(&pod["volumes"]).enumerate() {
        let at = format!("{at}[{index}]");
        let before = causes.len();
        source(causes, &at, volume);
        let own = text(volume, "name");
        if own.is_empty() {
            causes.push(Cause::required(format!("{at}.name"), ""));
        } else {
            name(causes, &format!("{at}.name"), own, names::label);
        }
        if good.contains_key(own) {
            causes.push(Cause::duplicate(format!("{at}.name"), own));
        }
        if causes.len() == before {
            good.insert(own, volume);
        }
    }
    good
}

fn source(causes: &mut Vec<Cause>, at: &str, volume: &Value) {
    let mut some = false;
    for kind in SOURCES {
        let source = &volume[kind];
        if source.is_null() {
            continue;
        }
        let at = format!("{at}.{kind}");
        if some {
            causes.push(Cause::forbidden(
                at,
                "may not specify more than 1 volume type",
            ));
            continue;
        }
        some = true;
        match kind {
            "emptyDir" if text(source, "sizeLimit").starts_with('-') => {
                let why = "SizeLimit field must be a valid resource quantity";
                causes.push(Cause::forbidden(format!("{at}.sizeLimit"), why));
            }
            "hostPath" => host_path(causes, &at, source),
            "gitRepo" => {
                required(causes, &at, source, "repository");
                descending(
                    causes,
                    &format!("{at}.directory"),
                    text(source, "directory"),
                );
            }
            "secret" => {
                required(causes, &at, source, "secretName");
                files(causes, &at, source);
            }
            "configMap" => {
                required(causes, &at, source, "name");
                files(causes, &at, source);
            }
            "nfs" => nfs(causes, &at, source),
            "persistentVolumeClaim" => required(causes, &at, source, "claimName"),
            "downwardAPI" => {
                mode(causes, &format!("{at}.defaultMode"), &source["defaultMode"]);
                for file in list(&source["items"]) {
                    told(causes, &at, file);
                }
            }
            "projected" => projected(causes, &at, source),
            "csi" => driver(causes, &format!("{at}.driver"), text(source, "driver")),
            "ephemeral" => {
                let at = format!("{at}.volumeClaimTemplate");
                if source["volumeClaimTemplate"].is_null() {
                    causes.push(Cause::required(at, ""));
                } else {
                    let spec = &source["volumeClaimTemplate"]["spec"];
                    storage::claim_spec(causes, &format!("{at}.spec"), spec);
                }
            }
            _ => {}
        }
    }
    if !some {
        causes.push(Cause::required(at, "must specify a volume type"));
    }
}

/// A path on the node.
pub(super) fn host_path(causes: &mut Vec<Cause>, at: &str, source: &Value) {
    const TYPES: [&str; 8] = [
        "",
        "BlockDevice",
        "CharDevice",
        "Directory",
        "DirectoryOrCreate",
        "File",
        "FileOrCreate",
        "Socket",
    ];
    let path = text(source, "path");
    if path.is_empty() {
        causes.push(Cause::required(format!("{at}.path"), ""));
        return;
    }
    no_backsteps(causes, &format!("{at}.path"), path);
    one_of(causes, &format!("{at}.type"), text(source, "type"), &TYPES);
}

/// A folder of a server.
pub(super) fn nfs(causes: &mut Vec<Cause>, at: &str, source: &Value) {
    required(causes, at, source, "server");
    required(causes, at, source, "path");
    let path = text(source, "path");
    if !path.starts_with('/') {
        let why = "must be an absolute path";
        causes.push(Cause::invalid(format!("{at}.path"), &json!(path), why));
    }
}

/// The name of a driver for volumes.
pub(super) fn driver(causes: &mut Vec<Cause>, at: &str, driver: &str) {
    if driver.is_empty() {
        causes.push(Cause::required(at, ""));
        return;
    }
    if driver.len() > 63 {
        causes.push(Cause::too_long(at, 63));
    }
    for why in names::subdomain(&driver.to_lowercase()) {
        causes.push(Cause::invalid(at, &json!(driver), &why));
    }
}

fn mode(causes: &mut Vec<Cause>, at: &str, value: &Value) {
    if value
        .as_i64()
        .is_some_and(|mode| !(0..=0o777).contains(&mode))
    {
        causes.push(Cause::invalid(at, value, MODE));
    }
}

fn files(causes: &mut Vec<Cause>, at: &str, source: &Value) {
    mode(causes, &format!("{at}.defaultMode"), &source["defaultMode"]);
    items(causes, at, source);
}

fn items(causes: &mut Vec<Cause>, at: &str, source: &Value) {
    for (index, item) in list(&source["items"]).enumerate() {
        let at = format!("{at}.items[{index}]");
        for field in ["key", "path"] {
            required(causes, &at, item, field);
        }
        not_reserved(causes, &format!("{at}.path"), text(item, "path"));
        mode(causes, &format!("{at}.mode"), &item["mode"]);
    }
}

/// A file that tells of the pod.
fn told(causes: &mut Vec<Cause>, at: &str, file: &Value) {
    const FIELDS: [&str; 5] = [
        "metadata.annotations",
        "metadata.labels",
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
    ];
    required(causes, at, file, "path");
    not_reserved(causes, &format!("{at}.path"), text(file, "path"));
    let (field, resource) = (&file["fieldRef"], &file["resourceFieldRef"]);
    if !field.is_null() {
        variables::field_ref(causes, &format!("{at}.fieldRef"), field, &FIELDS);
        if !resource.is_null() {
            let why = "fieldRef and resourceFieldRef can not be specified simultaneously";
            causes.push(Cause::invalid(at, &json!("resource"), why));
        }
    } else if resource.is_null() {
        let why = "one of fieldRef and resourceFieldRef is required";
        causes.push(Cause::required(at, why));
    } else {
        resources::field_ref(causes, &format!("{at}.resourceFieldRef"), resource, true);
    }
    mode(causes, &format!("{at}.mode"), &file["mode"]);
}

fn projected(causes: &mut Vec<Cause>, at: &str, volume: &Value) {
    mode(causes, &format!("{at}.defaultMode"), &volume["defaultMode"]);
    let mut paths: Vec<&str> = Vec::new();
    let twice = |causes: &mut Vec<Cause>, paths: &[&str], path: &str, shown: &str| {
        if !path.is_empty() && paths.contains(&path) {
            let why = "conflicting duplicate paths";
            causes.push(Cause::invalid(at, &json!(shown), why));
        }
    };
    for (index, source) in list(&volume["sources"]).enumerate() {
        let one = format!("{at}.sources[{index}]");
        let mut count = 0;
        for kind in ["secret", "configMap"] {
            let from = &source[kind];
            if from.is_null() {
                continue;
            }
            count += 1;
            let one = format!("{one}.{kind}");
            let own = text(from, "name");
            if own.is_empty() {
                causes.push(Cause::required(format!("{one}.name"), ""));
            }
            items(causes, &one, from);
            for item in list(&from["items"]) {
                twice(causes, &paths, text(item, "path"), own);
                paths.push(text(item, "path"));
            }
        }
        if !source["downwardAPI"].is_null() {
            count += 1;
            for file in list(&source["downwardAPI"]["items"]) {
                told(causes, &format!("{one}.downwardAPI"), file);
                let path = text(file, "path");
                twice(causes, &paths, path, path);
                paths.push(path);
            }
        }
        let token = &source["serviceAccountToken"];
        if !token.is_null() {
            count += 1;
            let seconds = &token["expirationSeconds"];
            let seconds_at = format!("{one}.serviceAccountToken.expirationSeconds");
            if seconds.as_i64().is_some_and(|seconds| seconds < 600) {
                let why = "may not specify a duration less than 10 minutes";
                causes.push(Cause::invalid(&seconds_at, seconds, why));
            }
            if seconds.as_i64().is_some_and(|seconds| seconds > 1 << 32) {
                let why = "may not specify a duration larger than 2^32 seconds";
                causes.push(Cause::invalid(&seconds_at, seconds, why));
            }
            let path_at = format!("{at}.path");
            match text(token, "path") {
                "" => causes.push(Cause::required(path_at, "")),
                path => not_reserved(causes, &path_at, path),
            }
        }
        if count > 1 {
            let why = "may not specify more than 1 volume type per source";
            causes.push(Cause::forbidden(one, why));
        }
    }
}
