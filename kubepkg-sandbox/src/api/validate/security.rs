//! Whose rights pods and containers have.

use serde_json::{Value, json};

use super::parts::{descending, one_of, one_of_if_given};
use crate::api::failure::Cause;
use crate::api::object::{list, text};

const IDS: &str = "must be between 0 and 2147483647, inclusive";

pub(super) fn of_pod(causes: &mut Vec<Cause>, at: &str, spec: &Value) {
    let context = &spec["securityContext"];
    for field in ["fsGroup", "runAsUser", "runAsGroup"] {
        id(causes, &format!("{at}.{field}"), &context[field]);
    }
    for (index, group) in list(&context["supplementalGroups"]).enumerate() {
        id(causes, &format!("{at}.supplementalGroups[{index}]"), group);
    }
    if spec["shareProcessNamespace"] == true && spec["hostPID"] == true {
        let why = "ShareProcessNamespace and HostPID cannot both be enabled";
        causes.push(Cause::invalid(
            format!("{at}.shareProcessNamespace"),
            &json!(true),
            why,
        ));
    }
    sysctls(causes, &format!("{at}.sysctls"), context, spec);
    let policies = ["Always", "OnRootMismatch"];
    one_of_if_given(causes, at, context, "fsGroupChangePolicy", &policies);
    profile(
        causes,
        &format!("{at}.seccompProfile"),
        &context["seccompProfile"],
        "seccomp",
    );
    profile(
        causes,
        &format!("{at}.appArmorProfile"),
        &context["appArmorProfile"],
        "AppArmor",
    );
    if !context["supplementalGroupsPolicy"].is_null() {
        let policy = text(context, "supplementalGroupsPolicy");
        let at = format!("{at}.supplementalGroupsPolicy");
        one_of(causes, &at, policy, &["Merge", "Strict"]);
    }
}

pub(super) fn of_container(causes: &mut Vec<Cause>, at: &str, context: &Value, host_users: bool) {
    for field in ["runAsUser", "runAsGroup"] {
        id(causes, &format!("{at}.{field}"), &context[field]);
    }
    if !context["procMount"].is_null() {
        let mount = text(context, "procMount");
        let at = format!("{at}.procMount");
        one_of(causes, &at, mount, &["Default", "Unmasked"]);
        if host_users && mount == "Unmasked" {
            let why = "`hostUsers` must be false to use `Unmasked`";
            causes.push(Cause::invalid(at, &json!(mount), why));
        }
    }
    profile(
        causes,
        &format!("{at}.seccompProfile"),
        &context["seccompProfile"],
        "seccomp",
    );
    if context["allowPrivilegeEscalation"] == false {
        let mut contradiction = |what: &str| {
            let why = format!("cannot set `allowPrivilegeEscalation` to false and {what}");
            causes.push(Cause::shown(at, &own_form(context), &why));
        };
        if context["privileged"] == true {
            contradiction("`privileged` to true");
        }
        if list(&context["capabilities"]["add"]).any(|one| one == "CAP_SYS_ADMIN") {
            contradiction("`capabilities.Add` CAP_SYS_ADMIN");
        }
    }
    profile(
        causes,
        &format!("{at}.appArmorProfile"),
        &context["appArmorProfile"],
        "AppArmor",
    );
}

/// The server prints its own structure, with all fields that it has.
fn own_form(context: &Value) -> String {
    const FIELDS: [(&str, &str); 12] = [
        ("Capabilities", "capabilities"),
        ("Privileged", "privileged"),
        ("SELinuxOptions", "seLinuxOptions"),
        ("WindowsOptions", "windowsOptions"),
        ("RunAsUser", "runAsUser"),
        ("RunAsGroup", "runAsGroup"),
        ("RunAsNonRoot", "runAsNonRoot"),
        ("ReadOnlyRootFilesystem", "readOnlyRootFilesystem"),
        ("AllowPrivilegeEscalation", "allowPrivilegeEscalation"),
        ("ProcMount", "procMount"),
        ("SeccompProfile", "seccompProfile"),
        ("AppArmorProfile", "appArmorProfile"),
    ];
    let shown = FIELDS.map(|(go, field)| {
        let value = match (&context[field], field) {
            (Value::Null, _) => "null".to_owned(),
            (value, "capabilities") => {
                format!("{{\"Add\":{},\"Drop\":{}}}", value["add"], value["drop"])
            }
            (value, "seccompProfile" | "appArmorProfile") => {
                format!(
                    "{{\"Type\":{},\"LocalhostProfile\":{}}}",
                    value["type"], value["localhostProfile"]
                )
            }
            (value, _) => value.to_string(),
        };
        format!("\"{go}\":{value}")
    });
    format!("{{{}}}", shown.join(","))
}

fn id(causes: &mut Vec<Cause>, at: &str, value: &Value) {
    let wrong = |id: i64| !(0..=i64::from(i32::MAX)).contains(&id);
    if value.as_i64().is_some_and(wrong) {
        causes.push(Cause::invalid(at, value, IDS));
    }
}

fn profile(causes: &mut Vec<Cause>, at: &str, profile: &Value, what: &str) {
    if profile.is_null() {
        return;
    }
    let kind = text(profile, "type");
    let local = &profile["localhostProfile"];
    let field = if what == "seccomp" {
        "seccompProfile"
    } else {
        "appArmorProfile"
    };
    if kind.is_empty() {
        let why = format!("type is required when {field} is set");
        causes.push(Cause::required(format!("{at}.type"), &why));
        if what != "seccomp" {
            return;
        }
    } else {
        let known = ["Localhost", "RuntimeDefault", "Unconfined"];
        one_of(causes, &format!("{at}.type"), kind, &known);
    }
    let at = format!("{at}.localhostProfile");
    match (kind, local.as_str()) {
        ("Localhost", None) => {
            let why = format!("must be set when {what} type is Localhost");
            causes.push(Cause::required(at, &why));
        }
        ("Localhost", Some(path)) if what == "seccomp" => descending(causes, &at, path),
        ("Localhost", Some(path)) => {
            if path.trim() != path {
                let why = "must not be padded with whitespace";
                causes.push(Cause::invalid(at, local, why));
            } else if path.is_empty() {
                let why = "must be set when AppArmor type is Localhost";
                causes.push(Cause::required(at, why));
            }
        }
        (_, Some(path)) => {
            let why = format!("can only be set when {what} type is Localhost");
            let shown = if what == "seccomp" {
                format!("{{\"Type\":{},\"LocalhostProfile\":{local}}}", json!(kind))
            } else {
                json!(path).to_string()
            };
            causes.push(Cause::shown(&at, &shown, &why));
        }
        _ => {}
    }
}

fn sysctls(causes: &mut Vec<Cause>, at: &str, context: &Value, spec: &Value) {
    let part = |part: &str| {
        let inner = |sign: u8| sign.is_ascii_lowercase() || sign.is_ascii_digit();
        let bytes = part.as_bytes();
        bytes.first().is_some_and(|sign| inner(*sign))
            && bytes.last().is_some_and(|sign| inner(*sign))
            && bytes
                .iter()
                .all(|sign| inner(*sign) || b"-_".contains(sign))
    };
    let mut seen = Vec::new();
    for (index, sysctl) in list(&context["sysctls"]).enumerate() {
        let at = format!("{at}[{index}].name");
        let name = text(sysctl, "name");
        if name.is_empty() {
            causes.push(Cause::required(&at, ""));
        } else if name.len() > 253 || !name.split(['.', '/']).all(part) {
            let why = "must have at most 253 characters and match regex \
                       ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
            causes.push(Cause::invalid(&at, &json!(name), why));
        } else if seen.contains(&name) {
            causes.push(Cause::duplicate(&at, name));
        }
        let net = name.starts_with("net.") || name.starts_with("net/");
        if spec["hostNetwork"] == true && net {
            let why = "may not be specified when 'hostNetwork' is true";
            causes.push(Cause::invalid(&at, &json!(name), why));
        }
        seen.push(name);
    }
}
