//! AppArmor profiles of containers, which pods named in annotations before there was a field.

use serde_json::{Value, json};

use super::failure::Cause;
use super::object::{list, text};

/// What such an annotation begins with; the name of the container follows.
const PREFIX: &str = "container.apparmor.security.beta.kubernetes.io/";
/// Fields of a pod with containers that have profiles.
const CONTAINERS: [&str; 2] = ["initContainers", "containers"];

/// The value of the field that says the same.
fn field_of(profile: &str) -> Option<Value> {
    Some(match profile {
        "runtime/default" => json!({"type": "RuntimeDefault"}),
        "unconfined" => json!({"type": "Unconfined"}),
        other => {
            json!({"type": "Localhost", "localhostProfile": other.strip_prefix("localhost/")?})
        }
    })
}

/// Writes what the annotations of a new pod say into its fields, and gives what is said of it.
pub(crate) fn move_to_fields(pod: &mut Value) -> Vec<String> {
    let mut said = Vec::new();
    let annotations = pod["metadata"]["annotations"].clone();
    if annotations.is_null() {
        return said;
    }
    for field in CONTAINERS {
        let containers = pod.pointer_mut(&format!("/spec/{field}"));
        let containers = containers.and_then(Value::as_array_mut);
        for container in containers.into_iter().flatten() {
            let key = format!("{PREFIX}{}", text(container, "name"));
            let Some(profile) = annotations[&key].as_str() else {
                continue;
            };
            if !container["securityContext"]["appArmorProfile"].is_null() {
                continue;
            }
            said.push(format!(
                "metadata.annotations[{key}]: deprecated since v1.30; use the \"appArmorProfile\" field instead"
            ));
            if let Some(found) = field_of(profile) {
                if container["securityContext"].is_null() {
                    container["securityContext"] = json!({});
                }
                container["securityContext"]["appArmorProfile"] = found;
            }
        }
    }
    said
}

/// What is wrong with such annotations of a pod or of a template of pods.
pub(crate) fn check(causes: &mut Vec<Cause>, at: &str, pod: &Value) {
    let annotations = pod["metadata"]["annotations"].as_object();
    for (key, profile) in annotations.into_iter().flatten() {
        let Some(name) = key.strip_prefix(PREFIX) else {
            continue;
        };
        let at = format!("{at}.annotations[{key}]");
        let mut containers = CONTAINERS
            .into_iter()
            .chain(["ephemeralContainers"])
            .flat_map(|field| list(&pod["spec"][field]));
        if !containers.any(|container| container["name"] == name) {
            causes.push(Cause::invalid(&at, &json!(name), "container not found"));
        }
        let known = profile
            .as_str()
            .is_some_and(|profile| profile.is_empty() || field_of(profile).is_some());
        if !known {
            let why = format!("invalid AppArmor profile name: {profile}");
            causes.push(Cause::invalid(&at, profile, &why));
        }
    }
}

/// Annotations and fields of a pod that do not say the same.
pub(crate) fn compare(causes: &mut Vec<Cause>, pod: &Value) {
    let annotations = &pod["metadata"]["annotations"];
    for field in CONTAINERS {
        for (index, container) in list(&pod["spec"][field]).enumerate() {
            let key = format!("{PREFIX}{}", text(container, "name"));
            let own = &container["securityContext"]["appArmorProfile"];
            let profile = annotations[&key].as_str().unwrap_or_default();
            if profile.is_empty() || text(own, "type").is_empty() {
                continue;
            }
            let told = field_of(profile).unwrap_or_default();
            let at = format!("spec.{field}[{index}].securityContext.appArmorProfile");
            let (part, what) = if own["type"] != told["type"] {
                ("type", "type")
            } else if own["localhostProfile"] != told["localhostProfile"] {
                ("localhostProfile", "profile")
            } else {
                continue;
            };
            let why = format!("apparmor {what} in annotation and field must match");
            causes.push(Cause::forbidden(format!("{at}.{part}"), &why));
        }
    }
}
