//! Where Services with selectors send: their Endpoints and EndpointSlices ([`super::slices`]), as the endpoint and
//! endpointslice controllers of Kubernetes keep them.
//!
//! Names and UIDs follow from those of the Service, so that other objects are called as they would be without.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::events::uid_of;
use super::{MANAGER, is_ready};
use crate::api::managed;
use crate::api::object::{self, list, text};
use crate::api::store::{Event, Key};
use crate::api::world::World;

const SERVICES: &str = "services";
const ENDPOINTS: &str = "endpoints";
pub(super) const SLICES: &str = "endpointslices.discovery.k8s.io";
const TRIGGER: &str = "endpoints.kubernetes.io/last-change-trigger-time";
const OVER_CAPACITY: &str = "endpoints.kubernetes.io/over-capacity";
/// As many addresses Endpoints have at most.
const CAPACITY: usize = 1000;
const HEADLESS: &str = "service.kubernetes.io/headless";
pub(super) const SERVICE_NAME: &str = "kubernetes.io/service-name";
pub(super) const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";

/// What is kept of a Service is news for it. What is kept of one that is gone goes.
pub(super) fn concern(world: &mut World, event: &Event, concerned: &mut BTreeSet<(Arc<str>, Key)>) {
    match &*event.table {
        ENDPOINTS => {
            concerned.insert((SERVICES.into(), event.key.clone()));
        }
        SLICES => {
            let name = text(&event.object["metadata"]["labels"], SERVICE_NAME).to_owned();
            concerned.insert((SERVICES.into(), (event.key.0.clone(), name)));
        }
        SERVICES
            if world
                .store
                .get(SERVICES, &event.key.0, &event.key.1)
                .is_none() =>
        {
            // Slices go with their owner.
            world.store.remove(&ENDPOINTS.into(), &event.key);
        }
        _ => {}
    }
}

pub(super) fn settle(world: &mut World, service: &Arc<Value>, now: Timestamp) {
    let (namespace, spec) = (object::namespace(service), &service["spec"]);
    let home = world.store.get("namespaces", "", namespace);
    if object::terminating(service)
        || home.is_none_or(|home| object::terminating(home))
        || spec["type"] == "ExternalName"
    {
        return;
    }
    if selector(service).is_none() {
        return;
    }
    let mut pods: Vec<Arc<Value>> = world
        .store
        .list("pods", namespace, None)
        .filter(|(_, pod)| selects(service, pod) && has_address(pod))
        .map(|(_, pod)| Arc::clone(pod))
        .collect();
    pods.sort_by_cached_key(|pod| {
        let address: Option<Ipv4Addr> = address(pod).parse().ok();
        (address, object::uid(pod).to_owned())
    });
    keep_endpoints(world, service, &pods, now);
    super::slices::keep_slices(world, service, &pods, now);
}

/// A selector that says something; one that does not is none.
fn selector(service: &Value) -> Option<&Map<String, Value>> {
    let selector = service["spec"]["selector"].as_object();
    selector.filter(|all| !all.is_empty())
}

pub(super) fn selects(service: &Value, pod: &Value) -> bool {
    let labels = &pod["metadata"]["labels"];
    selector(service).is_some_and(|all| {
        all.iter()
            .all(|(key, value)| labels.get(key) == Some(value))
    })
}

pub(super) fn address(pod: &Value) -> &str {
    text(&pod["status"], "podIP")
}

/// Whether a pod may be sent to. One that has come to its end may not.
fn has_address(pod: &Value) -> bool {
    let phase = text(&pod["status"], "phase");
    !matches!(phase, "Succeeded" | "Failed") && !address(pod).is_empty()
}

/// The number of a Service's port in a pod.
fn number(pod: &Value, port: &Value) -> Option<i64> {
    let target = &port["targetPort"];
    let Some(name) = target.as_str() else {
        return target.as_i64();
    };
    let sidecars =
        list(&pod["spec"]["initContainers"]).filter(|one| one["restartPolicy"] == "Always");
    list(&pod["spec"]["containers"])
        .chain(sidecars)
        .flat_map(|container| list(&container["ports"]))
        .find(|one| one["name"] == name && one["protocol"] == port["protocol"])
        .and_then(|one| one["containerPort"].as_i64())
}

/// The ports of a Service that a pod has, by their names.
pub(super) fn ports(service: &Value, pod: &Value) -> Vec<Value> {
    let ports = list(&service["spec"]["ports"]).filter_map(|port| {
        let mut found = json!({
            "name": text(port, "name"), "port": number(pod, port)?, "protocol": port["protocol"],
        });
        if let Some(protocol) = port.get("appProtocol").filter(|it| !it.is_null()) {
            found["appProtocol"] = protocol.clone();
        }
        Some(found)
    });
    ports.collect()
}

fn is_headless(service: &Value) -> bool {
    matches!(text(&service["spec"], "clusterIP"), "" | "None")
}

/// A reference to a pod.
pub(super) fn reference(pod: &Value) -> Value {
    json!({
        "kind": "Pod", "namespace": object::namespace(pod), "name": object::name(pod),
        "uid": object::uid(pod),
    })
}

/// The name that a pod has in the domain of a Service.
pub(super) fn hostname<'p>(service: &Value, pod: &'p Value) -> Option<&'p str> {
    let (host, domain) = (
        text(&pod["spec"], "hostname"),
        text(&pod["spec"], "subdomain"),
    );
    (!host.is_empty() && domain == object::name(service)).then_some(host)
}

/// What the ports of a slice are sorted by: FNV-1a over a port as Go prints it (`portsInOrder`).
pub(super) fn hash_of(port: &Value) -> u128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let shown = format!(
        "(v1.EndpointPort){{Name:(*string){} Protocol:(*v1.Protocol){} Port:(*int32){} AppProtocol:(*string){}}}",
        text(port, "name"),
        text(port, "protocol"),
        port["port"],
        port["appProtocol"].as_str().unwrap_or("<nil>"),
    );
    shown.bytes().fold(OFFSET, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(PRIME)
    })
}

/// The labels of a Service with those of what is kept of it.
pub(super) fn labels(service: &Value, own: &[(&str, &str)]) -> Map<String, Value> {
    let mut labels = service["metadata"]["labels"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    labels.remove(HEADLESS);
    if is_headless(service) {
        labels.insert(HEADLESS.to_owned(), "".into());
    }
    for (key, value) in own {
        labels.insert((*key).to_owned(), (*value).into());
    }
    labels
}

fn keep_endpoints(world: &mut World, service: &Arc<Value>, pods: &[Arc<Value>], now: Timestamp) {
    let unready = service["spec"]["publishNotReadyAddresses"] == true;
    let headless = is_headless(service);
    // Ports that the same pods have are told of together.
    let mut by_port: BTreeMap<String, (Value, Vec<usize>)> = BTreeMap::new();
    for (index, pod) in pods.iter().enumerate() {
        if object::terminating(pod) && !unready {
            continue;
        }
        let mut found = ports(service, pod);
        if found.is_empty() && headless && list(&service["spec"]["ports"]).next().is_none() {
            found.push(Value::Null);
        }
        for port in found {
            let of_port = by_port.entry(port.to_string());
            of_port.or_insert_with(|| (port, Vec::new())).1.push(index);
        }
    }
    let mut by_pods: BTreeMap<Vec<usize>, Vec<Value>> = BTreeMap::new();
    for (mut port, pods) in by_port.into_values() {
        if port["name"] == ""
            && let Some(port) = port.as_object_mut()
        {
            port.remove("name");
        }
        by_pods.entry(pods).or_default().push(port);
    }
    let mut subsets: Vec<Value> = by_pods
        .into_iter()
        .map(|(indexes, ports)| {
            let mut subset = Map::new();
            for index in indexes {
                let Some(pod) = pods.get(index) else { continue };
                let mut address = json!({
                    "ip": address(pod), "nodeName": pod["spec"]["nodeName"],
                    "targetRef": reference(pod),
                });
                if let Some(host) = hostname(service, pod) {
                    address["hostname"] = host.into();
                }
                let ready = unready || is_ready(pod);
                let field = if ready {
                    "addresses"
                } else {
                    "notReadyAddresses"
                };
                let all = subset.entry(field).or_insert_with(|| json!([]));
                if let Some(all) = all.as_array_mut() {
                    all.push(address);
                }
            }
            let ports: Vec<Value> = ports.into_iter().filter(|port| !port.is_null()).collect();
            if !ports.is_empty() {
                subset.insert("ports".to_owned(), ports.into());
            }
            Value::Object(subset)
        })
        .collect();
    let own = [("endpoints.kubernetes.io/managed-by", "endpoint-controller")];
    let mut new = json!({"metadata": {
        "name": object::name(service), "namespace": object::namespace(service),
        "labels": labels(service, &own),
    }});
    if truncate(&mut subsets) {
        object::set(&mut new, "annotations", json!({OVER_CAPACITY: "truncated"}));
    }
    let mut fields = Map::new();
    if !subsets.is_empty() {
        new["subsets"] = subsets.into();
        fields.insert("f:subsets".to_owned(), json!({}));
    }
    put(world, (ENDPOINTS, "v1"), service, (new, fields), pods, now);
}

/// Leaves out addresses beyond the capacity: those that are not ready first, and of each subset as many as it has of all,
/// rounded up (`truncateEndpoints`).
fn truncate(subsets: &mut [Value]) -> bool {
    let count = |subset: &Value, field: &str| list(&subset[field]).count();
    let total = |field: &str| -> usize { subsets.iter().map(|subset| count(subset, field)).sum() };
    let (ready, unready) = (total("addresses"), total("notReadyAddresses"));
    if ready + unready <= CAPACITY {
        return false;
    }
    let (field, all, room) = if ready > CAPACITY {
        ("addresses", ready, CAPACITY)
    } else {
        ("notReadyAddresses", unready, CAPACITY - ready)
    };
    let mut left = room;
    for subset in subsets {
        let share = (count(subset, field) * room).div_ceil(all).min(left);
        let Some(subset) = subset.as_object_mut() else {
            continue;
        };
        if ready > CAPACITY {
            subset.remove("notReadyAddresses");
        }
        if let Some(addresses) = subset.get_mut(field).and_then(Value::as_array_mut) {
            addresses.truncate(share);
            left -= addresses.len();
            if addresses.is_empty() {
                subset.remove(field);
            }
        }
    }
    true
}

/// Writes what is kept of a Service, when it is another than it was.
pub(super) fn put(
    world: &mut World,
    (table, api_version): (&str, &str),
    service: &Value,
    (mut new, mut fields): (Value, Map<String, Value>),
    pods: &[Arc<Value>],
    now: Timestamp,
) {
    let (namespace, name) = (object::namespace(service), object::name(&new).to_owned());
    let old = world.store.get(table, namespace, &name).map(Arc::clone);
    let slice = table == SLICES;
    if let Some(old) = &old {
        let same = |field: &str| old.get(field) == new.get(field);
        let content = ["subsets", "endpoints", "ports"].into_iter().all(same);
        let labels = old["metadata"]["labels"] == new["metadata"]["labels"];
        let full = |object: &Value| object["metadata"]["annotations"][OVER_CAPACITY].is_string();
        if content && labels && full(old) == full(&new) {
            return;
        }
    }
    let created = if let Some(old) = &old {
        object::set(&mut new, "uid", object::uid(old));
        old["metadata"]["creationTimestamp"].clone()
    } else {
        let uid = uid_of(&[table, object::uid(service), &name]);
        object::set(&mut new, "uid", uid);
        object::time(now).into()
    };
    object::set(&mut new, "creationTimestamp", created);
    if slice {
        let generation = old
            .as_ref()
            .and_then(|old| old["metadata"]["generation"].as_i64());
        object::set(&mut new, "generation", generation.unwrap_or(0) + 1);
    }
    let mut metadata = Map::new();
    let mut annotations = new["metadata"]["annotations"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    if let Some(time) = trigger(old.as_deref(), service, pods) {
        annotations.insert(TRIGGER.to_owned(), time);
    }
    if !annotations.is_empty() {
        let own = annotations
            .keys()
            .map(|key| (format!("f:{key}"), json!({})));
        let own: Map<String, Value> = own.chain([(".".to_owned(), json!({}))]).collect();
        metadata.insert("f:annotations".to_owned(), own.into());
        object::set(&mut new, "annotations", annotations);
    }
    let mut labels = Map::from_iter([(".".to_owned(), json!({}))]);
    for key in new["metadata"]["labels"]
        .as_object()
        .into_iter()
        .flat_map(Map::keys)
    {
        labels.insert(format!("f:{key}"), json!({}));
    }
    metadata.insert("f:labels".to_owned(), labels.into());
    if slice {
        metadata.insert("f:generateName".to_owned(), json!({}));
        let owner = format!("k:{{\"uid\":\"{}\"}}", object::uid(service));
        metadata.insert("f:ownerReferences".to_owned(), json!({".": {}, owner: {}}));
    }
    fields.insert("f:metadata".to_owned(), metadata.into());
    let managed = managed::written_by(MANAGER, api_version, fields.into(), now);
    object::set(&mut new, "managedFields", managed);
    world.store.put(&table.into(), new);
}

/// What the change is due to: the Service at first, then the pods that have changed since.
fn trigger(old: Option<&Value>, service: &Value, pods: &[Arc<Value>]) -> Option<Value> {
    let Some(old) = old else {
        return Some(service["metadata"]["creationTimestamp"].clone());
    };
    let written = object::parse_time(old.pointer("/metadata/managedFields/0/time")?);
    let changed = pods.iter().filter_map(|pod| {
        let ready = list(&pod["status"]["conditions"]).find(|one| one["type"] == "Ready")?;
        object::parse_time(&ready["lastTransitionTime"])
    });
    changed
        .filter(|time| written.is_none_or(|written| *time >= written))
        .min()
        .map(|time| object::time(time).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_have_a_thousand_addresses_at_most() {
        let subset = |ready: usize, unready: usize| json!({"addresses": vec![json!({}); ready], "notReadyAddresses": vec![json!({}); unready]});
        let sizes = |subsets: &[Value]| -> Vec<(usize, usize)> {
            let of = |subset: &Value, field: &str| list(&subset[field]).count();
            let subsets = subsets.iter();
            subsets
                .map(|one| (of(one, "addresses"), of(one, "notReadyAddresses")))
                .collect()
        };
        let mut fitting = [subset(900, 100)];
        assert!(!truncate(&mut fitting));
        // By hand: 1500 ready of 1000, shares rounded up; then 100 places for 300 that are not ready.
        let mut ready = [subset(1000, 7), subset(499, 7), subset(1, 7)];
        assert!(truncate(&mut ready));
        assert_eq!(sizes(&ready), [(667, 0), (333, 0), (0, 0)]);
        let mut unready = [subset(500, 200), subset(400, 100)];
        assert!(truncate(&mut unready));
        assert_eq!(sizes(&unready), [(500, 67), (400, 33)]);
    }

    #[test]
    fn ports_have_the_hashes_that_go_gives_them() {
        // `fnv.New128a` over `dump.ForHash` of the type in `k8s.io/api/discovery/v1`.
        let web = json!({"name": "web", "port": 8080, "protocol": "TCP"});
        let metrics = json!({
            "name": "metrics", "port": 9090, "protocol": "TCP", "appProtocol": "x \"y\"",
        });
        assert_eq!(hash_of(&web), 0xfe23_0138_97cc_08a3_bd0a_fbf3_8270_b263);
        assert_eq!(hash_of(&metrics), 0xcba6_f6b5_d3f8_6f6d_fd62_1f85_6cec_666c);
    }
}
