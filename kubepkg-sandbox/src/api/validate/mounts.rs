//! Where containers see the volumes of their pod.

use serde_json::{Value, json};

use super::parts::{descending, one_of, required};
use super::pod::Around;
use crate::api::failure::Cause;
use crate::api::object::{list, text};

pub(super) fn mounts(causes: &mut Vec<Cause>, at: &str, container: &Value, around: &Around<'_>) {
    let mut paths = Vec::new();
    let devices: Vec<&Value> = list(&container["volumeDevices"]).collect();
    for (index, mount) in list(&container["volumeMounts"]).enumerate() {
        let all = at;
        let at = format!("{at}[{index}]");
        let (volume, path) = (text(mount, "name"), text(mount, "mountPath"));
        if volume.is_empty() {
            causes.push(Cause::required(format!("{at}.name"), ""));
        }
        if !around.volumes.contains_key(volume) {
            causes.push(Cause::not_found(format!("{at}.name"), volume));
        }
        if path.is_empty() {
            causes.push(Cause::required(format!("{at}.mountPath"), ""));
        }
        if paths.contains(&path) {
            causes.push(Cause::invalid(
                format!("{at}.mountPath"),
                &json!(path),
                "must be unique",
            ));
        }
        paths.push(path);
        if devices.iter().any(|device| text(device, "name") == volume) {
            let why = "must not already exist in volumeDevices";
            causes.push(Cause::invalid(format!("{at}.name"), &json!(volume), why));
        }
        if devices
            .iter()
            .any(|device| text(device, "devicePath") == path)
        {
            let why = "must not already exist as a path in volumeDevices";
            causes.push(Cause::invalid(format!("{at}.mountPath"), &json!(path), why));
        }
        let (sub, expression) = (text(mount, "subPath"), text(mount, "subPathExpr"));
        if !sub.is_empty() {
            descending(causes, &format!("{all}.subPath"), sub);
        }
        if !expression.is_empty() {
            if !sub.is_empty() {
                let why = "subPathExpr and subPath are mutually exclusive";
                causes.push(Cause::invalid(
                    format!("{at}.subPathExpr"),
                    &json!(expression),
                    why,
                ));
            }
            descending(causes, &format!("{all}.subPathExpr"), expression);
        }
        if !mount["mountPropagation"].is_null() {
            let way = text(mount, "mountPropagation");
            let at = format!("{all}.mountPropagation");
            one_of(
                causes,
                &at,
                way,
                &["Bidirectional", "HostToContainer", "None"],
            );
            if way == "Bidirectional" && container["securityContext"]["privileged"] != true {
                let why =
                    "Bidirectional mount propagation is available only to privileged containers";
                causes.push(Cause::forbidden(at, why));
            }
        }
    }
    devices_of(
        causes,
        &at.replace("volumeMounts", "volumeDevices"),
        &devices,
        around,
    );
}

fn devices_of(causes: &mut Vec<Cause>, at: &str, devices: &[&Value], around: &Around<'_>) {
    for (index, device) in devices.iter().enumerate() {
        let at = format!("{at}[{index}]");
        let volume = text(device, "name");
        if volume.is_empty() {
            causes.push(Cause::required(format!("{at}.name"), ""));
        }
        match around.volumes.get(volume) {
            None => causes.push(Cause::not_found(format!("{at}.name"), volume)),
            Some(found)
                if found["persistentVolumeClaim"].is_null() && found["ephemeral"].is_null() =>
            {
                let why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                causes.push(Cause::invalid(format!("{at}.name"), &json!(volume), why));
            }
            Some(_) => {}
        }
        required(causes, &at, device, "devicePath");
    }
}
