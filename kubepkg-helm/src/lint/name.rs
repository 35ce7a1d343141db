//! The names that Kubernetes gives its objects, kind by kind, and what it says about others.

use std::sync::LazyLock;

use regex::Regex;

use super::documents::Object;
use crate::go::text::quote;

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const OLD_LABEL: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";

static PATTERNS: LazyLock<[Option<Regex>; 3]> = LazyLock::new(|| {
    [LABEL, SUBDOMAIN, OLD_LABEL].map(|text| Regex::new(&format!("^{text}$")).ok())
});

fn fits(pattern: usize, name: &str) -> bool {
    let pattern = PATTERNS.get(pattern).and_then(Option::as_ref);
    pattern.is_some_and(|pattern| pattern.is_match(name))
}

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
    if !fits(1, name) {
        complaints.push(format!(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{SUBDOMAIN}')"
        ));
    }
    complaints
}

fn label(name: &str) -> Vec<String> {
    let mut complaints = too_long(name, 63);
    if fits(0, name) {
        return complaints;
    }
    complaints.push(if fits(1, name) {
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
    if !fits(2, name) {
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
