//! The names that Kubernetes gives its objects, kind by kind, and what it says about others.

use super::documents::Object;
use crate::go::text::quote;
use crate::name::{is_label, is_subdomain};

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const OLD_LABEL: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";

/// Whether the object's name is one that its kind can have.
pub(super) fn check(object: &Object) -> Result<(), String> {
    let name = object.name();
    let complaints = match object.kind.to_lowercase().as_str() {
        "service" => old_label(name),
        "namespace" => label(name),
        "certificatesigningrequest" => Vec::new(),
        "role" | "clusterrole" | "rolebinding" | "clusterrolebinding" => path_segment(name),
        _ => subdomain(name),
    };
    let quoted = quote(name);
    let mut texts: Vec<String> = Vec::new();
    for complaint in complaints {
        texts.push(format!(
            "metadata.name: Invalid value: {quoted}: {complaint}"
        ));
    }
    let all = match texts.as_slice() {
        [] => return Ok(()),
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    };
    Err(format!(
        "object name does not conform to Kubernetes naming requirements: {quoted}: {all}"
    ))
}

fn too_long(name: &str, longest: usize) -> Vec<String> {
    if name.len() <= longest {
        return Vec::new();
    }
    vec![format!("must be no more than {longest} characters")]
}

fn subdomain(name: &str) -> Vec<String> {
    let mut complaints = too_long(name, 253);
    if !is_subdomain(name) {
        complaints.push(format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{SUBDOMAIN}')"
        ));
    }
    complaints
}

fn label(name: &str) -> Vec<String> {
    let mut complaints = too_long(name, 63);
    if is_label(name) {
        return complaints;
    }
    complaints.push(if is_subdomain(name) {
        "must not contain dots".to_owned()
    } else {
        format!(
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
             end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{LABEL}')"
        )
    });
    complaints
}

fn old_label(name: &str) -> Vec<String> {
    let mut complaints = too_long(name, 63);
    if !(is_label(name) && name.starts_with(|first: char| first.is_ascii_lowercase())) {
        complaints.push(format!(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
             validation is '{OLD_LABEL}')"
        ));
    }
    complaints
}

fn path_segment(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    let held = ["/", "%"].into_iter().filter(|sign| name.contains(sign));
    held.map(|sign| format!("may not contain '{sign}'"))
        .collect()
}
