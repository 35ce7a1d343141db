//! The EndpointSlices of a Service, as the endpointslice controller of Kubernetes fills them: for each set of ports of its
//! pods, with a hundred endpoints at most. An endpoint stays in the slice where it is; see `reconcileByPortMapping` of
//! `k8s.io/endpointslice`, which takes new endpoints in no order: here it is that of their addresses.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::endpoints::{
    MANAGED_BY, SERVICE_NAME, SLICES, address, hash_of, hostname, labels, ports, put, reference,
};
use super::is_ready;
use crate::api::object::{self, list, text};
use crate::api::store::Key;
use crate::api::world::World;

const CONTROLLER: &str = "endpointslice-controller.k8s.io";
/// As many endpoints a slice has at most, as `--max-endpoints-per-slice` says when nobody has said it.
const LIMIT: usize = 100;

/// A slice that is there, or that is to be made.
#[derive(Clone, Debug, Default, PartialEq)]
struct Slice {
    /// Nothing of one that is to be made.
    name: Option<String>,
    endpoints: Vec<Value>,
    /// Whether its labels are other than they should be.
    relabelled: bool,
}

/// What becomes of the slices of one set of ports.
#[derive(Debug, Default, PartialEq)]
struct Placed {
    slices: Vec<Slice>,
    gone: Vec<String>,
}

/// Brings endpoints into slices, most of which are there already.
fn place(existing: Vec<Slice>, wanted: Vec<Value>) -> Placed {
    let mut left: BTreeMap<String, (usize, Value)> = BTreeMap::new();
    for (index, endpoint) in wanted.into_iter().enumerate() {
        left.insert(key_of(&endpoint), (index, endpoint));
    }
    let mut placed = Placed::default();
    let (mut changed, mut unchanged) = (Vec::new(), Vec::new());
    for mut slice in existing {
        let mut other = false;
        let mut kept = Vec::new();
        for endpoint in &slice.endpoints {
            if let Some((_, new)) = left.remove(&key_of(endpoint)) {
                other |= new != *endpoint;
                kept.push(new);
            }
        }
        other |= kept.len() != slice.endpoints.len();
        if other && kept.is_empty() {
            placed.gone.extend(slice.name);
            continue;
        }
        slice.endpoints = kept;
        let of = if other || slice.relabelled {
            &mut changed
        } else {
            &mut unchanged
        };
        of.push(slice);
    }
    let mut left: Vec<(usize, Value)> = left.into_values().collect();
    left.sort_by_key(|(index, _)| *index);
    let mut left: VecDeque<Value> = left.into_iter().map(|(_, endpoint)| endpoint).collect();
    let fill = |slice: &mut Slice, left: &mut VecDeque<Value>| {
        let room = LIMIT.saturating_sub(slice.endpoints.len()).min(left.len());
        slice.endpoints.extend(left.drain(..room));
    };
    // The fullest first, of those that are written anyway.
    changed.sort_by_key(|slice| std::cmp::Reverse(slice.endpoints.len()));
    for slice in &mut changed {
        fill(slice, &mut left);
    }
    while !left.is_empty() {
        let room = |slice: &Slice| LIMIT.checked_sub(slice.endpoints.len() + left.len());
        let fitting = unchanged.iter().enumerate();
        let fitting = fitting.filter_map(|(index, slice)| Some((room(slice)?, index)));
        let mut slice = match fitting.min() {
            Some((_, index)) if left.len() < LIMIT => unchanged.remove(index),
            _ => Slice::default(),
        };
        fill(&mut slice, &mut left);
        changed.push(slice);
    }
    placed.slices = changed;
    placed.slices.extend(unchanged);
    placed
}

/// What makes an endpoint the same as another.
fn key_of(endpoint: &Value) -> String {
    let target = &endpoint["targetRef"];
    json!([
        endpoint["addresses"],
        endpoint["hostname"],
        target["namespace"],
        target["name"],
    ])
    .to_string()
}

/// The endpoints of a Service by the ports that they have.
fn endpoints_by_ports(
    service: &Value,
    pods: &[Arc<Value>],
) -> BTreeMap<String, (Vec<Value>, Vec<Value>)> {
    let unready = service["spec"]["publishNotReadyAddresses"] == true;
    let mut wanted: BTreeMap<String, (Vec<Value>, Vec<Value>)> = BTreeMap::new();
    for pod in pods {
        let (serving, terminating) = (is_ready(pod), object::terminating(pod));
        let mut endpoint = json!({
            "addresses": [address(pod)],
            "conditions": {
                "ready": unready || (serving && !terminating),
                "serving": serving, "terminating": terminating,
            },
            "targetRef": reference(pod), "nodeName": pod["spec"]["nodeName"],
        });
        if let Some(host) = hostname(service, pod) {
            endpoint["hostname"] = host.into();
        }
        let mut ports = ports(service, pod);
        ports.sort_by_cached_key(hash_of);
        wanted
            .entry(Value::from(ports.clone()).to_string())
            .or_insert_with(|| (ports, Vec::new()))
            .1
            .push(endpoint);
    }
    wanted
}

/// The slices of a Service that are there, by their ports.
fn existing(
    world: &World,
    service: &Value,
    wanted_labels: &Map<String, Value>,
) -> BTreeMap<String, Vec<Slice>> {
    let slices = world
        .store
        .list(SLICES, object::namespace(service), None)
        .filter(|(_, slice)| {
            let mine =
                object::controller(slice).is_some_and(|it| it["uid"] == object::uid(service));
            mine && text(&slice["metadata"]["labels"], MANAGED_BY) == CONTROLLER
        });
    let mut by_ports: BTreeMap<String, Vec<Slice>> = BTreeMap::new();
    for ((_, name), slice) in slices {
        let ports: Vec<Value> = list(&slice["ports"]).cloned().collect();
        let labels = slice["metadata"]["labels"].as_object();
        let known = by_ports.entry(Value::from(ports).to_string()).or_default();
        known.push(Slice {
            name: Some(name.clone()),
            endpoints: list(&slice["endpoints"]).cloned().collect(),
            relabelled: labels != Some(wanted_labels),
        });
    }
    by_ports
}

pub(super) fn keep_slices(
    world: &mut World,
    service: &Arc<Value>,
    pods: &[Arc<Value>],
    now: Timestamp,
) {
    let families: Vec<&str> = list(&service["spec"]["ipFamilies"])
        .filter_map(Value::as_str)
        .collect();
    let addressed = if families.contains(&"IPv4") {
        pods
    } else {
        &[]
    };
    let name = object::name(service);
    let labels = labels(service, &[(SERVICE_NAME, name), (MANAGED_BY, CONTROLLER)]);
    let mut existing = existing(world, service, &labels);
    let mut used: BTreeSet<String> = existing
        .values()
        .flatten()
        .filter_map(|slice| slice.name.clone())
        .collect();
    let (mut gone, mut made, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for (key, (ports, endpoints)) in endpoints_by_ports(service, addressed) {
        let placed = place(existing.remove(&key).unwrap_or_default(), endpoints);
        gone.extend(placed.gone);
        for slice in placed.slices {
            let of = if slice.name.is_some() {
                &mut kept
            } else {
                &mut made
            };
            of.push((key.clone(), ports.clone(), slice));
        }
    }
    for slice in existing.into_values().flatten() {
        gone.extend(slice.name);
    }
    if kept.is_empty() && made.is_empty() {
        // A Service without endpoints has an empty one.
        made.push(("[]".to_owned(), Vec::new(), Slice::default()));
    }
    // What would go becomes what would be made.
    gone.sort();
    for (name, (_, _, slice)) in gone.iter().zip(made.iter_mut().rev()) {
        slice.name = Some(name.clone());
    }
    let stale = gone.split_off(gone.len().min(made.len()));
    for (key, ports, slice) in kept.into_iter().chain(made) {
        let slice_name = match slice.name {
            Some(name) => name,
            None => free_name(service, &key, &mut used),
        };
        let mut new = json!({
            "metadata": {
                "name": slice_name, "namespace": object::namespace(service),
                "generateName": format!("{name}-"), "labels": labels,
                "ownerReferences": super::reference("v1", "Service", service),
            },
            "addressType": families.first().copied().unwrap_or("IPv4"),
            "endpoints": null, "ports": null,
        });
        let mut fields = Map::from_iter([("f:addressType".to_owned(), json!({}))]);
        for (field, all) in [("endpoints", slice.endpoints), ("ports", ports)] {
            if !all.is_empty() {
                new[field] = all.into();
                fields.insert(format!("f:{field}"), json!({}));
            }
        }
        put(
            world,
            (SLICES, "discovery.k8s.io/v1"),
            service,
            (new, fields),
            pods,
            now,
        );
    }
    for slice in stale {
        let key: Key = (object::namespace(service).to_owned(), slice);
        world.store.remove(&SLICES.into(), &key);
    }
}

/// A name that follows from the Service and the ports, and that no other slice has.
fn free_name(service: &Value, ports: &str, used: &mut BTreeSet<String>) -> String {
    let mut number = 0_usize;
    loop {
        let seed = match number {
            0 => json!([object::uid(service), ports]),
            _ => json!([object::uid(service), ports, number]),
        };
        let suffix: String = super::hash(&seed).chars().take(5).collect();
        let name = format!("{}-{suffix}", object::name(service));
        if used.insert(name.clone()) {
            return name;
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(number: usize) -> Value {
        json!({"addresses": [format!("10.0.0.{number}")]})
    }

    fn endpoints(numbers: std::ops::Range<usize>) -> Vec<Value> {
        numbers.map(endpoint).collect()
    }

    fn slice(name: &str, numbers: std::ops::Range<usize>) -> Slice {
        Slice {
            name: Some(name.to_owned()),
            endpoints: endpoints(numbers),
            relabelled: false,
        }
    }

    fn sizes(placed: &Placed) -> Vec<(Option<&str>, usize)> {
        let slices = placed.slices.iter();
        slices
            .map(|slice| (slice.name.as_deref(), slice.endpoints.len()))
            .collect()
    }

    // The expectations follow from the three steps of `reconcileByPortMapping`.

    #[test]
    fn a_slice_has_a_hundred_endpoints_at_most() {
        let placed = place(Vec::new(), endpoints(0..250));
        assert_eq!(sizes(&placed), [(None, 100), (None, 100), (None, 50)]);
    }

    #[test]
    fn new_endpoints_go_into_the_slice_that_they_fill_best() {
        let there = vec![slice("a", 0..40), slice("b", 40..120)];
        let placed = place(there.clone(), endpoints(0..130));
        assert_eq!(sizes(&placed), [(Some("b"), 90), (Some("a"), 40)]);
        // There is no room for thirty in the second.
        let placed = place(there.clone(), endpoints(0..150));
        assert_eq!(sizes(&placed), [(Some("a"), 70), (Some("b"), 80)]);
        // Nor for seventy in either: they are not torn apart.
        let placed = place(there, endpoints(0..190));
        assert_eq!(
            sizes(&placed),
            [(None, 70), (Some("a"), 40), (Some("b"), 80)]
        );
    }

    #[test]
    fn slices_that_are_written_anyway_are_filled_first() {
        let there = vec![slice("a", 0..100), slice("b", 100..150)];
        let mut wanted = endpoints(10..150);
        wanted.extend(endpoints(200..205));
        let placed = place(there, wanted);
        assert_eq!(sizes(&placed), [(Some("a"), 95), (Some("b"), 50)]);
    }

    #[test]
    fn an_empty_slice_goes() {
        let placed = place(vec![slice("a", 0..3), slice("b", 3..5)], endpoints(3..5));
        assert_eq!(sizes(&placed), [(Some("b"), 2)]);
        assert_eq!(placed.gone, ["a"]);
    }
}
