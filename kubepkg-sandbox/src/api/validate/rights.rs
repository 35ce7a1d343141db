//! Roles and who has them: `pkg/apis/rbac/validation`.

use serde_json::{Value, json};

use super::parts::{name, one_of, selector};
use crate::api::failure::Cause;
use crate::api::names;
use crate::api::object::{list, text};

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn rights(causes: &mut Vec<Cause>, plural: &str, object: &Value) {
    match plural {
        "roles" | "clusterroles" => role(causes, plural == "roles", object),
        "rolebindings" | "clusterrolebindings" => {
            binding(causes, plural == "rolebindings", object);
        }
        _ => {}
    }
}

fn role(causes: &mut Vec<Cause>, namespaced: bool, role: &Value) {
    for (index, rule) in list(&role["rules"]).enumerate() {
        let at = format!("rules[{index}]");
        let some = |field: &str| list(&rule[field]).next().is_some();
        let mut required = |field: &str, why: &str| {
            if !some(field) {
                causes.push(Cause::required(format!("{at}.{field}"), why));
            }
        };
        required("verbs", "verbs must contain at least one value");
        if some("nonResourceURLs") {
            let urls = &rule["nonResourceURLs"];
            let at = format!("{at}.nonResourceURLs");
            if namespaced {
                let why = "namespaced rules cannot apply to non-resource URLs";
                causes.push(Cause::invalid(&at, urls, why));
            }
            if some("apiGroups") || some("resources") || some("resourceNames") {
                let why = "rules cannot apply to both regular resources and non-resource URLs";
                causes.push(Cause::invalid(&at, urls, why));
            }
            continue;
        }
        required(
            "apiGroups",
            "resource rules must supply at least one api group",
        );
        required(
            "resources",
            "resource rules must supply at least one resource",
        );
    }
    let aggregation = &role["aggregationRule"];
    if aggregation.is_null() {
        return;
    }
    let at = "aggregationRule.clusterRoleSelectors";
    if list(&aggregation["clusterRoleSelectors"]).next().is_none() {
        let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        causes.push(Cause::required(at, why));
    }
    for (index, wanted) in list(&aggregation["clusterRoleSelectors"]).enumerate() {
        let at = format!("{at}[{index}]");
        let before = causes.len();
        selector(causes, &at, wanted);
        if causes.len() > before {
            causes.push(Cause::invalid(at, &Value::Null, "invalid label selector."));
        }
    }
}

fn binding(causes: &mut Vec<Cause>, namespaced: bool, binding: &Value) {
    let role = &binding["roleRef"];
    let group = text(role, "apiGroup");
    if group != GROUP {
        let shown = json!(group).to_string();
        causes.push(Cause::unsupported("roleRef.apiGroup", &shown, &[GROUP]));
    }
    let kinds: &[&str] = if namespaced {
        &["Role", "ClusterRole"]
    } else {
        &["ClusterRole"]
    };
    one_of(causes, "roleRef.kind", text(role, "kind"), kinds);
    match text(role, "name") {
        "" => causes.push(Cause::required("roleRef.name", "")),
        own => name(causes, "roleRef.name", own, names::path_segment),
    }
    for (index, subject) in list(&binding["subjects"]).enumerate() {
        let at = format!("subjects[{index}]");
        let own = text(subject, "name");
        if own.is_empty() {
            causes.push(Cause::required(format!("{at}.name"), ""));
        }
        let group_at = format!("{at}.apiGroup");
        match text(subject, "kind") {
            "ServiceAccount" => {
                if !own.is_empty() {
                    name(causes, &format!("{at}.name"), own, names::subdomain);
                }
                if !text(subject, "apiGroup").is_empty() {
                    one_of(causes, &group_at, text(subject, "apiGroup"), &[""]);
                }
                if !namespaced && text(subject, "namespace").is_empty() {
                    causes.push(Cause::required(format!("{at}.namespace"), ""));
                }
            }
            "User" | "Group" => one_of(causes, &group_at, text(subject, "apiGroup"), &[GROUP]),
            other => {
                let kinds = ["ServiceAccount", "User", "Group"];
                one_of(causes, &format!("{at}.kind"), other, &kinds);
            }
        }
    }
}
