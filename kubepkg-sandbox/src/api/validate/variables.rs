//! The variables of containers, and what of their pod they and files tell.

use serde_json::{Value, json};

use super::parts::{name, one_of};
use super::resources;
use crate::api::failure::Cause;
use crate::api::names;
use crate::api::object::{list, text};

/// What a pod tells its containers of itself.
const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// What may be told of a pod at all.
const ALL: [&str; 14] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// Names of variables: everything that is printed, but `=`.
fn variable_name(name: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    if name.is_empty() {
        wrong.push("environment variable name must be non-empty".to_owned());
    }
    if name
        .chars()
        .any(|sign| !(' '..='~').contains(&sign) || sign == '=')
    {
        wrong.push(
            "a valid environment variable name must consist only of printable ASCII characters other than '='"
                .to_owned(),
        );
    }
    wrong
}

pub(super) fn variables(causes: &mut Vec<Cause>, at: &str, container: &Value) {
    for (index, variable) in list(&container["env"]).enumerate() {
        let at = format!("{at}.env[{index}]");
        let own = text(variable, "name");
        if own.is_empty() {
            causes.push(Cause::required(format!("{at}.name"), ""));
        } else {
            name(causes, &format!("{at}.name"), own, variable_name);
        }
        if !variable["valueFrom"].is_null() {
            source(causes, &format!("{at}.valueFrom"), variable);
        }
    }
    let at = format!("{at}.envFrom");
    for (index, all) in list(&container["envFrom"]).enumerate() {
        let one = format!("{at}[{index}]");
        let prefix = text(all, "prefix");
        if !prefix.is_empty() {
            name(causes, &format!("{one}.prefix"), prefix, variable_name);
        }
        let mut sources = 0;
        for field in ["configMapRef", "secretRef"] {
            if all[field].is_null() {
                continue;
            }
            sources += 1;
            let one = format!("{one}.{field}.name");
            match text(&all[field], "name") {
                "" => causes.push(Cause::required(one, "")),
                own => name(
                    causes,
                    &one,
                    own.strip_suffix('-').unwrap_or(own),
                    names::subdomain,
                ),
            }
        }
        let why = match sources {
            0 => "must specify one of: `configMapRef` or `secretRef`",
            1 => continue,
            _ => "may not have more than one field specified at a time",
        };
        causes.push(Cause::invalid(&at, &json!(""), why));
    }
}

/// Where a variable's value comes from.
fn source(causes: &mut Vec<Cause>, at: &str, variable: &Value) {
    let from = &variable["valueFrom"];
    let mut sources = 0;
    if !from["fieldRef"].is_null() {
        sources += 1;
        field_ref(
            causes,
            &format!("{at}.fieldRef"),
            &from["fieldRef"],
            &FIELDS,
        );
    }
    if !from["resourceFieldRef"].is_null() {
        sources += 1;
        let at = format!("{at}.resourceFieldRef");
        resources::field_ref(causes, &at, &from["resourceFieldRef"], false);
    }
    for field in ["configMapKeyRef", "secretKeyRef"] {
        if from[field].is_null() {
            continue;
        }
        sources += 1;
        let at = format!("{at}.{field}");
        name(
            causes,
            &format!("{at}.name"),
            text(&from[field], "name"),
            names::subdomain,
        );
        match text(&from[field], "key") {
            "" => causes.push(Cause::required(format!("{at}.key"), "")),
            key => name(causes, &format!("{at}.key"), key, names::config_key),
        }
    }
    sources += usize::from(!from["fileKeyRef"].is_null());
    let why = if sources == 0 {
        "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
    } else if !text(variable, "value").is_empty() {
        "may not be specified when `value` is not empty"
    } else if sources > 1 {
        "may not have more than one field specified at a time"
    } else {
        return;
    };
    causes.push(Cause::invalid(at, &json!(""), why));
}

/// A field of the pod.
pub(super) fn field_ref(causes: &mut Vec<Cause>, at: &str, reference: &Value, known: &[&str]) {
    let path = text(reference, "fieldPath");
    let path_at = format!("{at}.fieldPath");
    if path.is_empty() {
        causes.push(Cause::required(path_at, ""));
        return;
    }
    let version = text(reference, "apiVersion");
    if !matches!(version, "" | "v1") {
        let why = format!("error converting fieldPath: unsupported pod version: {version}");
        causes.push(Cause::invalid(path_at, &json!(path), &why));
        return;
    }
    let keyed = path
        .strip_suffix("']")
        .and_then(|path| path.split_once("['"));
    if let Some((field, key)) = keyed {
        match field {
            "metadata.annotations" => {
                let key = key.to_lowercase();
                name(causes, at, &key, names::qualified_name);
            }
            "metadata.labels" => name(causes, at, key, names::qualified_name),
            _ => {
                let why = format!(
                    "error converting fieldPath: field label does not support subscript: {path}"
                );
                causes.push(Cause::invalid(path_at, &json!(path), &why));
            }
        }
        return;
    }
    if !ALL.contains(&path) {
        let why = format!("error converting fieldPath: field label not supported: {path}");
        causes.push(Cause::invalid(path_at, &json!(path), &why));
    } else if !known.contains(&path) {
        one_of(causes, &path_at, path, known);
    }
}
