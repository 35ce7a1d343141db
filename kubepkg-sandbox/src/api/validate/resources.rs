//! How much of what containers ask for.

use serde_json::{Value, json};

use super::parts::one_of;
use crate::api::failure::Cause;
use crate::api::names;
use crate::api::object::text;
use crate::api::quantity;

const SIZES: [&str; 13] = [
    "1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
];

/// A quantity that may not be below zero.
pub(super) fn quantity(causes: &mut Vec<Cause>, at: &str, resource: &str, value: &Value) {
    let text = value.as_str().unwrap_or_default();
    if text.starts_with('-') {
        let why = "must be greater than or equal to 0";
        causes.push(Cause::invalid(at, value, why));
    }
    // In its one form a quantity has such an end only when it is no whole number.
    if is_counted(resource) && text.ends_with(['m', 'u', 'n']) {
        causes.push(Cause::invalid(at, value, "must be an integer"));
    }
}

/// Whether a resource comes in whole numbers.
fn is_counted(resource: &str) -> bool {
    const COUNTED: [&str; 9] = [
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    ];
    COUNTED.contains(&resource) || is_extended(resource)
}

fn is_native(resource: &str) -> bool {
    !resource.contains('/') || resource.contains("kubernetes.io/")
}

fn is_extended(resource: &str) -> bool {
    !is_native(resource)
        && !resource.starts_with("requests.")
        && names::qualified_name(&format!("requests.{resource}")).is_empty()
}

fn is_huge(resource: &str) -> bool {
    resource.starts_with("hugepages-")
}

/// Requests and limits.
pub(super) fn of_container(causes: &mut Vec<Cause>, at: &str, resources: &Value) {
    let mut basic = false;
    let mut huge = false;
    for part in ["limits", "requests"] {
        for (resource, value) in resources[part].as_object().into_iter().flatten() {
            let one = format!("{at}.{part}[{resource}]");
            resource_name(causes, &one, resource);
            quantity(causes, &one, resource, value);
            basic |= matches!(resource.as_str(), "cpu" | "memory");
            huge |= is_huge(resource);
            if part == "requests" {
                under_limit(causes, at, resource, value, &resources["limits"][resource]);
            }
        }
    }
    if huge && !basic {
        causes.push(Cause::forbidden(at, "HugePages require cpu or memory"));
    }
}

/// The resources that Kubernetes itself knows and that a quota may limit.
const QUOTA: [&str; 19] = [
    "configmaps",
    "cpu",
    "ephemeral-storage",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "memory",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
    "requests.storage",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
];

/// Whether a quota may limit a resource.
pub(super) fn is_quota(resource: &str) -> bool {
    QUOTA.contains(&resource) || is_huge(resource) || resource.starts_with("requests.hugepages-")
}

/// A name of a resource that Kubernetes knows, or one with a domain.
pub(super) fn standard(causes: &mut Vec<Cause>, at: &str, resource: &str) {
    let wrong = names::qualified_name(resource);
    for why in &wrong {
        causes.push(Cause::invalid(at, &json!(resource), why));
    }
    let known = is_quota(resource) || resource == "storage" || resource.contains('/');
    if wrong.is_empty() && !known {
        let why = "must be a standard resource type or fully qualified";
        causes.push(Cause::invalid(at, &json!(resource), why));
    }
}

/// A name of a resource that containers have.
pub(super) fn resource_name(causes: &mut Vec<Cause>, at: &str, resource: &str) {
    standard(causes, at, resource);
    let why = if resource.contains('/') {
        if is_native(resource) || is_extended(resource) {
            return;
        }
        "doesn't follow extended resource name standard"
    } else {
        if matches!(resource, "cpu" | "memory" | "ephemeral-storage") || is_huge(resource) {
            return;
        }
        "must be a standard resource for containers"
    };
    causes.push(Cause::invalid(at, &json!(resource), why));
}

fn under_limit(causes: &mut Vec<Cause>, at: &str, resource: &str, asked: &Value, limit: &Value) {
    let shared = is_native(resource) && !is_huge(resource);
    let Some(limit_text) = limit.as_str() else {
        if !shared {
            let why = "Limit must be set for non overcommitable resources";
            causes.push(Cause::required(format!("{at}.limits"), why));
        }
        return;
    };
    let order = quantity::compare(asked.as_str().unwrap_or_default(), limit_text);
    let why = match order {
        Some(std::cmp::Ordering::Greater) if shared => "less than or equal to",
        Some(std::cmp::Ordering::Greater | std::cmp::Ordering::Less) if !shared => "equal to",
        _ => return,
    };
    let why = format!("must be {why} {resource} limit of {limit_text}");
    causes.push(Cause::invalid(format!("{at}.requests"), asked, &why));
}

/// A resource of a container that a variable or a file tells.
pub(super) fn field_ref(causes: &mut Vec<Cause>, at: &str, reference: &Value, in_volume: bool) {
    const KNOWN: [&str; 6] = [
        "limits.cpu",
        "limits.ephemeral-storage",
        "limits.memory",
        "requests.cpu",
        "requests.ephemeral-storage",
        "requests.memory",
    ];
    let resource = text(reference, "resource");
    let huge = ["limits.hugepages-", "requests.hugepages-"]
        .iter()
        .any(|prefix| resource.starts_with(prefix));
    if in_volume && text(reference, "containerName").is_empty() {
        causes.push(Cause::required(format!("{at}.containerName"), ""));
    } else if resource.is_empty() {
        causes.push(Cause::required(format!("{at}.resource"), ""));
    } else if !huge {
        one_of(causes, &format!("{at}.resource"), resource, &KNOWN);
    }
    let divisor = text(reference, "divisor");
    if divisor.is_empty() || divisor == "0" {
        return;
    }
    let at = format!("{at}.divisor");
    let of = resource.rsplit('.').next().unwrap_or_default();
    let why = match of {
        "cpu" if !matches!(divisor, "1m" | "1") => {
            "only divisor's values 1m and 1 are supported with the cpu resource".to_owned()
        }
        "memory" | "ephemeral-storage" if !SIZES.contains(&divisor) => {
            let what = if of == "memory" {
                "memory"
            } else {
                "local ephemeral storage"
            };
            format!(
                "only divisor's values {} are supported with the {what} resource",
                SIZES.join(", ")
            )
        }
        _ => return,
    };
    causes.push(Cause::invalid(at, &json!(resource), &why));
}
