//! Configuration, secrets, limits, quotas, classes, leases and endpoints.

use serde_json::{Value, json};

use super::parts::{
    address, name, not_negative, one_of, one_of_if_given, port, required, required_one_of,
};
use super::{resources, service};
use crate::api::bootstrap::CLASSES;
use crate::api::failure::Cause;
use crate::api::fields;
use crate::api::names;
use crate::api::object::{self, list, text};
use crate::api::quantity;

/// What a ConfigMap or a Secret may hold, in bytes.
const MAX_DATA: usize = 1024 * 1024;
const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

fn keys(causes: &mut Vec<Cause>, object: &Value, field: &str) {
    for (key, _) in object[field].as_object().into_iter().flatten() {
        name(causes, &format!("{field}[{key}]"), key, names::config_key);
    }
}

pub(super) fn config_map(causes: &mut Vec<Cause>, map: &Value) {
    for (key, _) in map["data"].as_object().into_iter().flatten() {
        let at = format!("data[{key}]");
        name(causes, &at, key, names::config_key);
        if map["binaryData"].get(key).is_some() {
            let why = "duplicate of key present in binaryData";
            causes.push(Cause::invalid(at, &json!(key), why));
        }
    }
    keys(causes, map, "binaryData");
    let texts = map["data"].as_object().into_iter().flatten();
    let texts: usize = texts
        .map(|(_, value)| value.as_str().map_or(0, str::len))
        .sum();
    if texts + bytes(&map["binaryData"]) > MAX_DATA {
        // Of the object as a whole.
        causes.push(Cause::too_long("[]", MAX_DATA));
    }
}

/// How many bytes encoded values hold.
fn bytes(data: &Value) -> usize {
    let values = data.as_object().into_iter().flatten();
    let values = values.filter_map(|(_, value)| value.as_str());
    values
        .filter_map(|text| kubepkg_yaml::decode_base64(text.as_bytes()).ok())
        .map(|bytes| bytes.len())
        .sum()
}

pub(super) fn secret(causes: &mut Vec<Cause>, secret: &Value) {
    keys(causes, secret, "data");
    let data = &secret["data"];
    if bytes(data) > MAX_DATA {
        causes.push(Cause::too_long("data", MAX_DATA));
    }
    let mut required = |wanted: &[&str]| {
        for key in wanted {
            if data[*key].is_null() {
                causes.push(Cause::required(format!("data[{key}]"), ""));
            }
        }
    };
    match text(secret, "type") {
        "kubernetes.io/tls" => required(&["tls.crt", "tls.key"]),
        "kubernetes.io/ssh-auth" => required(&["ssh-privatekey"]),
        "kubernetes.io/basic-auth" if data["username"].is_null() && data["password"].is_null() => {
            required(&["username", "password"]);
        }
        "kubernetes.io/dockercfg" => docker(causes, data, ".dockercfg"),
        "kubernetes.io/dockerconfigjson" => docker(causes, data, ".dockerconfigjson"),
        "kubernetes.io/service-account-token" => {
            let key = "kubernetes.io/service-account.name";
            if text(&secret["metadata"]["annotations"], key).is_empty() {
                causes.push(Cause::required(format!("metadata.annotations[{key}]"), ""));
            }
        }
        _ => {}
    }
}

/// Credentials must be JSON.
fn docker(causes: &mut Vec<Cause>, data: &Value, key: &str) {
    let at = format!("data[{key}]");
    let Some(encoded) = data[key].as_str() else {
        causes.push(Cause::required(at, ""));
        return;
    };
    let bytes = kubepkg_yaml::decode_base64(encoded.as_bytes()).unwrap_or_default();
    if let Err(why) = fields::parse(&bytes) {
        let shown = json!("<secret contents redacted>");
        causes.push(Cause::invalid(at, &shown, &why));
    }
}

pub(super) fn limit_range(causes: &mut Vec<Cause>, spec: &Value) {
    const PARTS: [&str; 4] = ["max", "min", "default", "defaultRequest"];
    let mut seen = Vec::new();
    for (index, limit) in list(&spec["limits"]).enumerate() {
        let at = format!("spec.limits[{index}]");
        let kind = text(limit, "type");
        let type_at = format!("{at}.type");
        name(causes, &type_at, kind, names::qualified_name);
        if names::qualified_name(kind).is_empty()
            && !kind.contains('/')
            && !matches!(kind, "Pod" | "Container" | "PersistentVolumeClaim")
        {
            let why = "must be a standard limit type or fully qualified";
            causes.push(Cause::invalid(&type_at, &json!(kind), why));
        }
        if seen.contains(&kind) {
            causes.push(Cause::duplicate(type_at, kind));
        }
        seen.push(kind);
        for part in PARTS {
            let given = limit[part].as_object().filter(|all| !all.is_empty());
            let at = format!("{at}.{part}");
            if kind == "Pod" && part.starts_with("default") {
                if given.is_some() {
                    let why = "may not be specified when `type` is 'Pod'";
                    causes.push(Cause::forbidden(at, why));
                }
                continue;
            }
            for (resource, _) in given.into_iter().flatten() {
                let at = format!("{at}[{resource}]");
                if matches!(kind, "Pod" | "Container") {
                    resources::resource_name(causes, &at, resource);
                } else {
                    resources::standard(causes, &at, resource);
                }
            }
        }
        let sized = ["min", "max"]
            .iter()
            .any(|part| limit[part].get("storage").is_some());
        if kind == "PersistentVolumeClaim" && !sized {
            let why =
                "either minimum or maximum storage value is required, but neither was provided";
            causes.push(Cause::required(format!("{at}.limits"), why));
        }
        let mut all: Vec<&String> = PARTS
            .iter()
            .filter_map(|part| limit[*part].as_object())
            .flat_map(serde_json::Map::keys)
            .collect();
        all.sort();
        all.dedup();
        for resource in all {
            ordered(causes, &at, limit, resource);
        }
        for (resource, ratio) in limit["maxLimitRequestRatio"]
            .as_object()
            .into_iter()
            .flatten()
        {
            let shown = ratio.as_str().unwrap_or_default();
            if quantity::compare(shown, "1").is_some_and(std::cmp::Ordering::is_lt) {
                let why = format!("ratio {shown} is less than 1");
                let at = format!("{at}.maxLimitRequestRatio[{resource}]");
                causes.push(Cause::invalid(at, ratio, &why));
            }
        }
    }
}

/// The smallest is no larger than what is given, and that no larger than the largest.
fn ordered(causes: &mut Vec<Cause>, at: &str, limit: &Value, resource: &str) {
    const RULES: [(&str, &str, &str, &str, &str); 6] = [
        ("min", "min", "max", "min value", "max value"),
        (
            "defaultRequest",
            "min",
            "defaultRequest",
            "min value",
            "default request value",
        ),
        (
            "defaultRequest",
            "defaultRequest",
            "max",
            "default request value",
            "max value",
        ),
        (
            "defaultRequest",
            "defaultRequest",
            "default",
            "default request value",
            "default limit value",
        ),
        ("default", "min", "default", "min value", "default value"),
        ("default", "default", "max", "default value", "max value"),
    ];
    let of = |part: &str| limit[part].get(resource).and_then(Value::as_str);
    for (place, small, large, small_word, large_word) in RULES {
        let (Some(less), Some(more)) = (of(small), of(large)) else {
            continue;
        };
        if !quantity::compare(less, more).is_some_and(std::cmp::Ordering::is_gt) {
            continue;
        }
        let why = format!("{small_word} {less} is greater than {large_word} {more}");
        // The server shows the other one of a default that is too large.
        let shown = if small == "default" { more } else { less };
        causes.push(Cause::invalid(
            format!("{at}.{place}[{resource}]"),
            &json!(shown),
            &why,
        ));
    }
}

pub(super) fn quota(causes: &mut Vec<Cause>, spec: &Value) {
    const SCOPES: [&str; 7] = [
        "BestEffort",
        "CrossNamespacePodAffinity",
        "NotBestEffort",
        "NotTerminating",
        "PriorityClass",
        "Terminating",
        "VolumeAttributesClass",
    ];
    for (resource, value) in spec["hard"].as_object().into_iter().flatten() {
        let at = format!("spec.hard[{resource}]");
        resources::standard(causes, &at, resource);
        if !resource.contains('/') && !resources::is_quota(resource) {
            let why = "must be a standard resource for quota";
            causes.push(Cause::invalid(&at, &json!(resource), why));
        }
        resources::quantity(causes, &at, resource, value);
    }
    let scopes: Vec<&str> = list(&spec["scopes"]).filter_map(Value::as_str).collect();
    let mut say = |why: &str| causes.push(Cause::invalid("spec.scopes", &spec["scopes"], why));
    for scope in &scopes {
        if !SCOPES.contains(scope) {
            say("unsupported scope");
        }
        for (resource, _) in spec["hard"].as_object().into_iter().flatten() {
            let fits = match *scope {
                "BestEffort" => resource == "pods",
                "NotBestEffort" | "Terminating" | "NotTerminating" => {
                    let last = resource.rsplit('.').next().unwrap_or_default();
                    matches!(last, "pods" | "cpu" | "memory")
                }
                _ => true,
            };
            if resources::is_quota(resource) && !fits {
                say("unsupported scope applied to resource");
            }
        }
    }
    for pair in [
        ["BestEffort", "NotBestEffort"],
        ["Terminating", "NotTerminating"],
    ] {
        if pair.iter().all(|scope| scopes.contains(scope)) {
            say("conflicting scopes");
        }
    }
}

/// The finalizers of a namespace.
pub(super) fn namespace(causes: &mut Vec<Cause>, spec: &Value) {
    for (index, finalizer) in list(&spec["finalizers"]).enumerate() {
        let name = finalizer.as_str().unwrap_or_default();
        let at = format!("spec.finalizers[{index}]");
        let wrong = names::qualified_name(name);
        if wrong.is_empty() && !name.contains('/') && name != "kubernetes" {
            let why = "name is neither a standard finalizer name nor is it fully qualified";
            causes.push(Cause::invalid(at.clone(), finalizer, why));
        }
        causes.extend(
            wrong
                .iter()
                .map(|why| Cause::invalid(at.clone(), finalizer, why)),
        );
    }
}

pub(super) fn priority_class(causes: &mut Vec<Cause>, class: &Value) {
    let own = object::name(class);
    if own.starts_with("system-") {
        let known = CLASSES.iter().find(|(name, _, _)| *name == own);
        let wrong = match known {
            None => Some(format!("{own} is not a known system priority class")),
            Some((_, value, _)) if class["value"] != *value => {
                Some(format!("value of {own} PriorityClass must be {value}"))
            }
            Some(_) if class["globalDefault"] == true => Some(format!(
                "globalDefault of {own} PriorityClass must be false"
            )),
            Some(_) => None,
        };
        if let Some(wrong) = wrong {
            let why = format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {wrong}"
            );
            causes.push(Cause::forbidden("metadata.name", &why));
        }
    } else if class["value"]
        .as_i64()
        .is_some_and(|value| value > 1_000_000_000)
    {
        let why = "maximum allowed value of a user defined priority is 1000000000";
        causes.push(Cause::forbidden("value", why));
    }
    if !class["preemptionPolicy"].is_null() {
        let policy = text(class, "preemptionPolicy");
        required_one_of(
            causes,
            "preemptionPolicy",
            policy,
            &["PreemptLowerPriority", "Never"],
        );
    }
}

pub(super) fn runtime_class(causes: &mut Vec<Cause>, class: &Value) {
    match text(class, "handler") {
        "" => causes.push(Cause::required("handler", "")),
        handler => name(causes, "handler", handler, names::label),
    }
}

pub(super) fn lease(causes: &mut Vec<Cause>, spec: &Value) {
    let seconds = &spec["leaseDurationSeconds"];
    if seconds.as_i64().is_some_and(|seconds| seconds <= 0) {
        let why = "must be greater than 0";
        causes.push(Cause::invalid("spec.leaseDurationSeconds", seconds, why));
    }
    not_negative(causes, "spec.leaseTransitions", &spec["leaseTransitions"]);
}

pub(super) fn endpoint_slice(causes: &mut Vec<Cause>, slice: &Value) {
    let family = text(slice, "addressType");
    if family.is_empty() {
        causes.push(Cause::required("addressType", ""));
    } else {
        one_of(causes, "addressType", family, &["FQDN", "IPv4", "IPv6"]);
    }
    for (index, one) in list(&slice["ports"]).enumerate() {
        let own = text(one, "name");
        if !own.is_empty() {
            name(causes, &format!("ports[{index}].name"), own, names::label);
        }
        let at = format!("ports[{index}].protocol");
        required_one_of(causes, &at, text(one, "protocol"), &PROTOCOLS);
    }
    for (index, endpoint) in list(&slice["endpoints"]).enumerate() {
        let at = format!("endpoints[{index}].addresses");
        if list(&endpoint["addresses"]).next().is_none() {
            causes.push(Cause::required(&at, "must contain at least 1 address"));
        }
        for (index, one) in list(&endpoint["addresses"]).enumerate() {
            let one = one.as_str().unwrap_or_default();
            match family {
                "IPv4" | "IPv6" => service::endpoint(causes, &format!("{at}[{index}]"), one),
                "FQDN" => name(causes, &format!("{at}[{index}]"), one, names::subdomain),
                _ => {}
            }
        }
    }
}

pub(super) fn endpoints(causes: &mut Vec<Cause>, endpoints: &Value) {
    for (index, subset) in list(&endpoints["subsets"]).enumerate() {
        let at = format!("subsets[{index}]");
        let mut some = false;
        for field in ["addresses", "notReadyAddresses"] {
            for (index, one) in list(&subset[field]).enumerate() {
                some = true;
                let at = format!("{at}.{field}[{index}].ip");
                let own = text(one, "ip");
                let before = causes.len();
                address(causes, &at, own);
                if causes.len() > before {
                    // Looked at by two rules.
                    causes.push(Cause::invalid(
                        at,
                        &json!(own),
                        "must be a valid IP address",
                    ));
                } else {
                    service::endpoint(causes, &at, own);
                }
            }
        }
        if !some {
            let why = "must specify `addresses` or `notReadyAddresses`";
            causes.push(Cause::required(&at, why));
        }
        for (index, one) in list(&subset["ports"]).enumerate() {
            let at = format!("{at}.ports[{index}]");
            port(causes, &format!("{at}.port"), &one["port"]);
            let protocol = text(one, "protocol");
            required_one_of(causes, &format!("{at}.protocol"), protocol, &PROTOCOLS);
        }
    }
}

pub(super) fn driver(causes: &mut Vec<Cause>, spec: &Value) {
    let known = ["File", "None", "ReadWriteOnceWithFSType"];
    one_of_if_given(causes, "spec", spec, "fsGroupPolicy", &known);
    for mode in list(&spec["volumeLifecycleModes"]) {
        let mode = mode.as_str().unwrap_or_default();
        one_of(
            causes,
            "spec.volumeLifecycleModes",
            mode,
            &["Persistent", "Ephemeral"],
        );
    }
}

/// What is wrong with the name of an APIService.
pub(super) fn api_service_name(service: &Value, name: &str) -> Option<String> {
    let spec = &service["spec"];
    let wanted = format!("{}.{}", text(spec, "version"), text(spec, "group"));
    (name != wanted).then(|| format!("must be `spec.version+\".\"+spec.group`: \"{wanted}\""))
}

pub(super) fn api_service(causes: &mut Vec<Cause>, service: &Value) {
    let spec = &service["spec"];
    let (group, version) = (text(spec, "group"), text(spec, "version"));
    if !group.is_empty() {
        name(causes, "spec.group", group, names::subdomain);
    } else if version != "v1" {
        let why = "only v1 may have an empty group and it better be legacy kube";
        causes.push(Cause::required("spec.group", why));
    }
    name(causes, "spec.version", version, names::old_label);
    for (field, most) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1000)] {
        let number = spec[field].as_i64().unwrap_or(0);
        if number <= 0 || number > most {
            let why = format!("must be positive and less than {most}");
            causes.push(Cause::invalid(
                format!("spec.{field}"),
                &json!(number),
                &why,
            ));
        }
    }
    let unsafely = spec["insecureSkipTLSVerify"] == true;
    let bundle = text(spec, "caBundle");
    if spec["service"].is_null() {
        if !bundle.is_empty() {
            let bytes = kubepkg_yaml::decode_base64(bundle.as_bytes()).unwrap_or_default();
            let shown = json!(format!("{} bytes", bytes.len()));
            let why = "local APIServices may not have a caBundle";
            causes.push(Cause::invalid("spec.caBundle", &shown, why));
        }
        if unsafely {
            let why = "local APIServices may not have insecureSkipTLSVerify";
            causes.push(Cause::invalid(
                "spec.insecureSkipTLSVerify",
                &json!(true),
                why,
            ));
        }
        return;
    }
    for field in ["namespace", "name"] {
        required(causes, "spec.service", &spec["service"], field);
    }
    let port = spec["service"]["port"].as_i64().unwrap_or(0);
    if !(1..=65535).contains(&port) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        causes.push(Cause::invalid("spec.service.port", &json!(port), why));
    }
    if unsafely && !bundle.is_empty() {
        let why = "may not be true if caBundle is present";
        causes.push(Cause::invalid(
            "spec.insecureSkipTLSVerify",
            &json!(true),
            why,
        ));
    }
}
