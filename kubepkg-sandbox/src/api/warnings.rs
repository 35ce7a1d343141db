//! What a client is told of an object of a built-in kind that is fine but odd: `WarningsOnCreate` and
//! `WarningsOnUpdate` of `pkg/registry`, and `pkg/api/pod/warnings.go` of Kubernetes for what pods are made from.

mod key_pair;
mod paths;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::kind::Kind;
use super::names;
use super::object::{self, list, text};

/// Labels of nodes that went out of use, with what is said of them.
const OLD_LABELS: [(&str, &str); 8] = [
    (
        "beta.kubernetes.io/arch",
        "deprecated since v1.14; use \"kubernetes.io/arch\" instead",
    ),
    (
        "beta.kubernetes.io/os",
        "deprecated since v1.14; use \"kubernetes.io/os\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    (
        "node-role.kubernetes.io/master",
        "use \"node-role.kubernetes.io/control-plane\" instead",
    ),
];
/// Annotations that went out of use.
const OLD_ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
    (
        "security.alpha.kubernetes.io/unsafe-sysctls",
        "non-functional in v1.11+; use the \"sysctls\" field instead",
    ),
];
/// Kinds of volumes that went out of use.
const OLD_VOLUMES: [(&str, &str); 9] = [
    (
        "photonPersistentDisk",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    (
        "gitRepo",
        "deprecated in v1.11, and disabled by default in v1.33+",
    ),
    ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
];
/// What names in messages as a volume's field is called in JSON otherwise.
const SHOWN_VOLUMES: [(&str, &str); 1] = [("storageos", "storageOS")];

/// What is said of an object that is written, beside what it was before.
pub(crate) fn of(kind: &Kind, old: Option<&Value>, object: &Value) -> Vec<String> {
    if kind.custom.is_some() {
        return Vec::new();
    }
    let mut said = Vec::new();
    let new = old.is_none();
    let changed =
        old.is_none_or(|old| old["metadata"]["generation"] != object["metadata"]["generation"]);
    match (kind.group.as_str(), kind.plural.as_str()) {
        // Programs change pods, so that nobody is told.
        ("", "pods") if new => {
            hostname(object, "the Pod's hostname", &mut said);
            Pod::new("", object).look(&mut said);
        }
        ("apps", workload @ ("deployments" | "replicasets" | "statefulsets" | "daemonsets"))
        | ("", workload @ "replicationcontrollers") => {
            if new && !matches!(workload, "statefulsets" | "daemonsets") {
                hostname(object, "Pod names and hostnames", &mut said);
            }
            let templates = old.map(|old| old["spec"]["template"] != object["spec"]["template"]);
            if changed && (workload != "daemonsets" || templates.unwrap_or(true)) {
                Pod::new("spec.template", &object["spec"]["template"]).look(&mut said);
            }
        }
        ("batch", "jobs" | "cronjobs") => {
            if new {
                hostname(object, "Pod names and hostnames", &mut said);
            }
            let (at, spec) = if kind.plural == "jobs" {
                ("spec", &object["spec"])
            } else {
                (
                    "spec.jobTemplate.spec",
                    &object["spec"]["jobTemplate"]["spec"],
                )
            };
            if changed {
                Pod::new(&format!("{at}.template"), &spec["template"]).look(&mut said);
            }
        }
        ("", "services") => service(object, &mut said),
        ("", "persistentvolumes")
            if object["spec"]["persistentVolumeReclaimPolicy"] == "Recycle" =>
        {
            said.push(
                "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the \
                 recommended approach is to use dynamic provisioning."
                    .to_owned(),
            );
        }
        ("", "secrets") if object["type"] == "kubernetes.io/tls" => {
            let bytes = |key: &str| {
                let encoded = text(&object["data"], key).as_bytes();
                kubepkg_yaml::decode_base64(encoded).unwrap_or_default()
            };
            said.extend(key_pair::offence(&bytes("tls.crt"), &bytes("tls.key")));
        }
        ("storage.k8s.io", "csidrivers") if new => {
            let spec = &object["spec"];
            if list(&spec["tokenRequests"]).next().is_some()
                && spec["serviceAccountTokenInSecrets"].is_null()
            {
                said.push(
                    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to \
                     prevent possible logging of tokens in volume attributes"
                        .to_owned(),
                );
            }
        }
        ("", "persistentvolumeclaims") => {
            let key = "volume.beta.kubernetes.io/storage-class";
            if object["metadata"]["annotations"].get(key).is_some() {
                said.push(format!(
                    "metadata.annotations[{key}]: deprecated since v1.8; use \"storageClassName\" attribute \
                     instead"
                ));
            }
            for part in ["requests", "limits"] {
                let size = &object["spec"]["resources"][part]["storage"];
                let at = format!("spec.resources.{part}[storage]");
                fractional(size, &at, &mut said);
            }
        }
        ("networking.k8s.io", "ingresses") if new => {
            let key = "kubernetes.io/ingress.class";
            let annotated = object["metadata"]["annotations"].get(key).is_some();
            if annotated && object["spec"]["ingressClassName"].is_null() {
                said.push(format!(
                    "annotation \"{key}\" is deprecated, please use 'spec.ingressClassName' instead"
                ));
            }
        }
        _ => {}
    }
    said
}

/// A name that is a subdomain but no label.
fn hostname(object: &Value, used_in: &str, said: &mut Vec<String>) {
    let wrong = names::label(object::name(object));
    if !wrong.is_empty() {
        said.push(format!(
            "metadata.name: this is used in {used_in}, which can result in surprising behavior; a DNS label is \
             recommended: [{}]",
            wrong.join(" ")
        ));
    }
}

fn service(object: &Value, said: &mut Vec<String>) {
    let spec = &object["spec"];
    let kind = text(spec, "type");
    let headless = kind == "ClusterIP" && spec["clusterIP"] == "None";
    let outside = list(&spec["externalIPs"]).next().is_some();
    let balancer = !text(spec, "loadBalancerIP").is_empty();
    if headless {
        for (there, what) in [
            (balancer, "loadBalancerIP"),
            (outside, "externalIPs"),
            (text(spec, "sessionAffinity") != "None", "SessionAffinity"),
        ] {
            if there {
                said.push(format!("spec.{what} is ignored for headless services"));
            }
        }
    }
    if outside && !headless && kind != "ExternalName" {
        said.push(
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
                .to_owned(),
        );
    }
    if kind == "ExternalName" && outside {
        said.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
    }
    if kind != "ExternalName" && !text(spec, "externalName").is_empty() {
        said.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    if spec["trafficDistribution"] == "PreferClose" {
        said.push(
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\""
                .to_owned(),
        );
    }
}

/// Bytes come whole.
fn fractional(quantity: &Value, at: &str, said: &mut Vec<String>) {
    let text = quantity.as_str().unwrap_or_default();
    // A quantity in its one form has such an end only when it is no whole number.
    if text.ends_with(['m', 'u', 'n']) {
        said.push(format!(
            "{at}: fractional byte value \"{text}\" is invalid, must be an integer"
        ));
    }
}

/// A pod or a template of pods.
struct Pod<'v> {
    /// Path of it with a dot at its end, or nothing.
    at: String,
    value: &'v Value,
}

impl<'v> Pod<'v> {
    fn new(at: &str, value: &'v Value) -> Self {
        let at = if at.is_empty() {
            String::new()
        } else {
            format!("{at}.")
        };
        Self { at, value }
    }

    fn look(&self, said: &mut Vec<String>) {
        let spec = &self.value["spec"];
        self.placement(spec, said);
        let annotations = &self.value["metadata"]["annotations"];
        for (key, why) in OLD_ANNOTATIONS {
            if annotations.get(key).is_some() {
                said.push(format!("{}metadata.annotations[{key}]: {why}", self.at));
            }
        }
        for (index, volume) in list(&spec["volumes"]).enumerate() {
            for (field, why) in OLD_VOLUMES {
                if !volume[field].is_null() {
                    let shown = SHOWN_VOLUMES.iter().find(|(name, _)| *name == field);
                    let field = shown.map_or(field, |(_, shown)| shown);
                    said.push(format!("{}spec.volumes[{index}].{field}: {why}", self.at));
                }
            }
        }
        paths::look(&spec["volumes"], said);
        self.twice(spec, "hostAliases", "ip", said);
        self.twice(spec, "imagePullSecrets", "name", said);
        for (index, secret) in list(&spec["imagePullSecrets"]).enumerate() {
            if text(secret, "name").is_empty() {
                said.push(format!(
                    "{}spec.imagePullSecrets[{index}].name: invalid empty name \"\"",
                    self.at
                ));
            }
        }
        for resource in ["memory", "ephemeral-storage"] {
            let at = format!("{}spec.overhead[{resource}]", self.at);
            fractional(&spec["overhead"][resource], &at, said);
        }
        let containers = self.containers(spec);
        for (at, container) in &containers {
            self.profiles(container, said);
            for (part, resource) in [
                ("limits", "memory"),
                ("requests", "memory"),
                ("limits", "ephemeral-storage"),
                ("requests", "ephemeral-storage"),
            ] {
                let place = format!("{at}.resources.{part}[{resource}]");
                fractional(&container["resources"][part][resource], &place, said);
            }
            variables(at, container, said);
        }
        ports(&containers, said);
        if spec["terminationGracePeriodSeconds"]
            .as_i64()
            .is_some_and(|seconds| seconds < 0)
        {
            said.push(format!(
                "{}spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be \
                 treated as 1",
                self.at
            ));
        }
        self.affinity(&spec["affinity"], said);
    }

    /// Profiles in annotations, which have fields by now. Those of pods become fields, so that nobody is told.
    fn profiles(&self, container: &Value, said: &mut Vec<String>) {
        const PREFIX: &str = "container.apparmor.security.beta.kubernetes.io";
        let key = format!("{PREFIX}/{}", text(container, "name"));
        let annotated = self.value["metadata"]["annotations"].get(&key);
        let own = |of: &Value| !of["securityContext"]["appArmorProfile"].is_null();
        if annotated.is_some()
            && !self.at.is_empty()
            && !own(container)
            && !own(&self.value["spec"])
        {
            said.push(format!(
                "{}metadata.annotations[{key}]: deprecated since v1.30; use the \"appArmorProfile\" field instead",
                self.at
            ));
        }
    }

    /// Containers with their paths, in the order in which Kubernetes visits them.
    fn containers(&self, spec: &'v Value) -> Vec<(String, &'v Value)> {
        let fields = ["initContainers", "containers", "ephemeralContainers"];
        let all = fields.into_iter().flat_map(|field| {
            let containers = list(&spec[field]).enumerate();
            containers.map(move |(index, container)| (field, index, container))
        });
        all.map(|(field, index, container)| {
            (format!("{}spec.{field}[{index}]", self.at), container)
        })
        .collect()
    }

    fn placement(&self, spec: &Value, said: &mut Vec<String>) {
        let old = |label: &str| {
            let found = OLD_LABELS.iter().find(|(name, _)| *name == label);
            found.map(|(_, why)| *why)
        };
        for label in spec["nodeSelector"].as_object().into_iter().flatten() {
            if let Some(why) = old(label.0) {
                said.push(format!("{}spec.nodeSelector[{}]: {why}", self.at, label.0));
            }
        }
        for (index, spread) in list(&spec["topologySpreadConstraints"]).enumerate() {
            let at = format!("{}spec.topologySpreadConstraints[{index}]", self.at);
            let key = text(spread, "topologyKey");
            if let Some(why) = old(key) {
                said.push(format!("{at}.topologyKey: {key} is {why}"));
            }
            if spread["labelSelector"].is_null() {
                said.push(format!(
                    "{at}.labelSelector: a null labelSelector results in matching no pod"
                ));
            }
        }
    }

    fn twice(&self, spec: &Value, field: &str, name: &str, said: &mut Vec<String>) {
        let mut seen = BTreeSet::new();
        for (index, item) in list(&spec[field]).enumerate() {
            let value = text(item, name);
            if !seen.insert(value) {
                said.push(format!(
                    "{}spec.{field}[{index}].{name}: duplicate {name} \"{value}\"",
                    self.at
                ));
            }
        }
    }

    fn affinity(&self, affinity: &Value, said: &mut Vec<String>) {
        const WHEN: [(&str, &str); 2] = [
            ("requiredDuringSchedulingIgnoredDuringExecution", ""),
            (
                "preferredDuringSchedulingIgnoredDuringExecution",
                ".podAffinityTerm",
            ),
        ];
        for side in ["podAffinity", "podAntiAffinity"] {
            for (when, inner) in WHEN {
                for (index, term) in list(&affinity[side][when]).enumerate() {
                    let selector = if inner.is_empty() {
                        &term["labelSelector"]
                    } else {
                        &term["podAffinityTerm"]["labelSelector"]
                    };
                    if selector.is_null() {
                        said.push(format!(
                            "{}spec.affinity.{side}.{when}[{index}]{inner}.labelSelector: a null labelSelector \
                             results in matching no pod",
                            self.at
                        ));
                    }
                }
            }
        }
    }
}

/// Variables that are there twice, unless the later one speaks of the earlier.
fn variables(at: &str, container: &Value, said: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    for (index, variable) in list(&container["env"]).enumerate() {
        let name = text(variable, "name");
        if seen.insert(name) {
            continue;
        }
        let reference = format!("$({name})");
        let value = text(variable, "value");
        let hides =
            !variable["valueFrom"].is_null() || value == reference || !value.contains(&reference);
        if hides {
            said.push(format!(
                "{at}.env[{index}]: hides previous definition of \"{name}\", which may be dropped when using apply"
            ));
        }
    }
}

fn ports(containers: &[(String, &Value)], said: &mut Vec<String>) {
    let mut all: BTreeMap<(i64, &str), Vec<(String, &Value)>> = BTreeMap::new();
    let mut names: BTreeMap<&str, String> = BTreeMap::new();
    let mut of_names = Vec::new();
    let number = |port: &Value, field: &str| port[field].as_i64().unwrap_or(0);
    for (at, container) in containers {
        for (index, port) in list(&container["ports"]).enumerate() {
            let at = format!("{at}.ports[{index}]");
            let key = (number(port, "containerPort"), text(port, "protocol"));
            let others = all.entry(key).or_default();
            for (other, known) in others.iter() {
                let (ours, theirs) = (text(port, "hostIP"), text(known, "hostIP"));
                let (host, taken) = (number(port, "hostPort"), number(known, "hostPort"));
                let what = if ours == theirs && host == taken {
                    "duplicate"
                } else if host == 0 || taken == 0 {
                    "overlapping"
                } else if host == taken && ours.is_empty() != theirs.is_empty() {
                    "dangerously ambiguous"
                } else {
                    continue;
                };
                said.push(format!("{at}: {what} port definition with {other}"));
            }
            others.push((at.clone(), port));
            let name = text(port, "name");
            if name.is_empty() {
                continue;
            }
            match names.get(name) {
                Some(other) => of_names.push(format!(
                    "{at}: duplicate port name \"{name}\" with {other}, services and probes that select ports by \
                     name will use {other}"
                )),
                None => drop(names.insert(name, at)),
            }
        }
    }
    said.extend(of_names);
}
