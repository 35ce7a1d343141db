//! Addresses and ports of Services: `pkg/registry/core/service` of Kubernetes, on a cluster that has one range of
//! IPv4 addresses.
//!
//! What a writer leaves out is filled in, what it asks for must be free, and what a change of the type makes
//! pointless goes.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::{Value, json};

use super::failure::{Cause, Failure};
use super::kind::Kind;
use super::object::{self, list, text};
use super::validate;
use super::world::World;

const TABLE: &str = "services";
/// The range of addresses is `10.0.0.0/16`; the low ones are left for those that are asked for.
const FIRST_ADDRESS: u64 = 4096;
const ADDRESSES: u64 = 61_000;
const PORTS: std::ops::Range<u64> = 30_000..32_768;
/// The low ports are left for those that are asked for, too.
const FIRST_PORT: u64 = 30_086;
/// How often a free one is looked for by chance before it is looked for in order.
const TRIES: usize = 16;

/// The addresses and ports that are taken, as of a version of the store.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allotted {
    /// Nothing is known before the first look.
    version: Option<u64>,
    addresses: BTreeSet<String>,
    ports: BTreeSet<u64>,
}

impl Allotted {
    fn note(&mut self, service: &Value, taken: bool) {
        for address in list(&service["spec"]["clusterIPs"]).filter_map(Value::as_str) {
            if taken {
                self.addresses.insert(address.to_owned());
            } else {
                self.addresses.remove(address);
            }
        }
        for port in ports_of(service) {
            if taken {
                self.ports.insert(port);
            } else {
                self.ports.remove(&port);
            }
        }
    }
}

/// The ports of nodes that a service has.
fn ports_of(service: &Value) -> BTreeSet<u64> {
    let check = &service["spec"]["healthCheckNodePort"];
    let ports = list(&service["spec"]["ports"]).map(|port| &port["nodePort"]);
    let all = ports.chain([check]).filter_map(Value::as_u64);
    all.filter(|port| *port != 0).collect()
}

impl World {
    /// Brings what is known of Services up to date.
    fn look_at_services(&mut self) {
        let now = self.store.version();
        let seen = self.allotted.version.replace(now);
        let news = seen.map(|version| self.store.since(TABLE, version));
        if let Some(Ok(events)) = news {
            for event in events {
                if let Some(before) = &event.before {
                    self.allotted.note(before, false);
                }
                if event.change != super::store::Change::Deleted {
                    self.allotted.note(&event.object, true);
                }
            }
            return;
        }
        self.allotted.addresses.clear();
        self.allotted.ports.clear();
        for (_, service) in self.store.list(TABLE, "", None) {
            self.allotted.note(service, true);
        }
    }

    fn free_address(&mut self) -> String {
        let shown = |number: u64| format!("10.0.{}.{}", number >> 8, number & 255);
        for _ in 0..TRIES {
            let address = shown(FIRST_ADDRESS + self.ids.below(ADDRESSES));
            if !self.allotted.addresses.contains(&address) {
                return address;
            }
        }
        let mut all = (FIRST_ADDRESS..FIRST_ADDRESS + ADDRESSES).map(shown);
        let free = all.find(|address| !self.allotted.addresses.contains(address));
        free.unwrap_or_default()
    }

    fn free_port(&mut self) -> u64 {
        for _ in 0..TRIES {
            let port = FIRST_PORT + self.ids.below(PORTS.end - FIRST_PORT);
            if !self.allotted.ports.contains(&port) {
                return port;
            }
        }
        let mut all = PORTS;
        let free = all.find(|port| !self.allotted.ports.contains(port));
        free.unwrap_or_default()
    }

    /// Takes a port that is asked for.
    fn take_port(&mut self, port: u64) -> Result<(), String> {
        if !PORTS.contains(&port) {
            return Err(format!(
                "provided port is not in the valid range. The range of valid ports is {}-{}",
                PORTS.start,
                PORTS.end - 1
            ));
        }
        if self.allotted.ports.contains(&port) {
            return Err("provided port is already allocated".to_owned());
        }
        Ok(())
    }
}

/// Allots what a new service needs.
pub(crate) fn create(
    world: &mut World,
    kind: &Kind,
    service: &mut Value,
    dry_run: bool,
) -> Result<(), Failure> {
    world.look_at_services();
    let spec = &mut service["spec"];
    let address = text(spec, "clusterIP").to_owned();
    if !address.is_empty() && list(&spec["clusterIPs"]).next().is_none() {
        spec["clusterIPs"] = json!([address]);
    }
    families(kind, service, None)?;
    addresses(world, kind, service, dry_run)?;
    node_ports(world, kind, service, &BTreeSet::new())?;
    health_check(world, service);
    Ok(())
}

/// Allots what a changed service needs beyond what it has, and takes away what its type has no use for.
pub(crate) fn change(
    world: &mut World,
    kind: &Kind,
    old: &Value,
    new: &mut Value,
    dry_run: bool,
) -> Result<(), Failure> {
    world.look_at_services();
    carry(old, new);
    pair(old, new);
    families(kind, new, Some(old))?;
    if !has_address(old) && has_address(new) {
        addresses(world, kind, new, dry_run)?;
    }
    node_ports(world, kind, new, &ports_of(old))?;
    if !has_check(old) {
        health_check(world, new);
    }
    drop_pointless(old, new);
    Ok(())
}

/// What is wrong with the addresses of a changed service (`validateUpgradeDowngradeClusterIPs`).
pub(crate) fn changed(old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if !has_address(old) || !has_address(new) || (is_headless(old) && is_headless(new)) {
        return causes;
    }
    let before: Vec<&Value> = list(&old["spec"]["clusterIPs"]).collect();
    let after: Vec<&Value> = list(&new["spec"]["clusterIPs"]).collect();
    let shown = match &new["spec"]["clusterIPs"] {
        Value::Null => json!([]),
        some => some.clone(),
    };
    let mut invalid = |index: usize, why: &str| {
        let at = format!("spec.clusterIPs[{index}]");
        causes.push(Cause::invalid(at, &shown, why));
    };
    if after.is_empty() && !before.is_empty() {
        invalid(0, "primary clusterIP can not be unset");
        return causes;
    }
    let compared = if before.len() == after.len() {
        before.len()
    } else {
        1
    };
    for index in 0..compared.min(before.len()) {
        if before[index] != after[index] {
            invalid(index, "may not change once set");
        }
    }
    causes
}

/// All but names for something elsewhere have an address, if only `None`.
fn has_address(service: &Value) -> bool {
    service["spec"]["type"] != "ExternalName"
}

fn is_headless(service: &Value) -> bool {
    has_address(service) && service["spec"]["clusterIP"] == "None"
}

fn has_node_ports(service: &Value) -> bool {
    matches!(
        service["spec"]["type"].as_str(),
        Some("NodePort" | "LoadBalancer")
    )
}

/// Whether ports of nodes are allotted to a service that asks for none.
fn wants_node_ports(service: &Value) -> bool {
    let spec = &service["spec"];
    match spec["type"].as_str() {
        Some("NodePort") => true,
        Some("LoadBalancer") => spec["allocateLoadBalancerNodePorts"] != false,
        _ => false,
    }
}

fn has_check(service: &Value) -> bool {
    let spec = &service["spec"];
    spec["type"] == "LoadBalancer" && spec["externalTrafficPolicy"] == "Local"
}

/// What a writer leaves out stays as it was (`patchAllocatedValues`).
fn carry(old: &Value, new: &mut Value) {
    if has_address(old) && has_address(new) {
        if text(&new["spec"], "clusterIP").is_empty() {
            copy(old, new, "clusterIP");
        }
        if list(&new["spec"]["clusterIPs"]).next().is_none() {
            copy(old, new, "clusterIPs");
        }
    }
    if has_node_ports(old) && has_node_ports(new) {
        let kept = &ports_of(old) & &ports_of(new);
        let known: Vec<Value> = list(&old["spec"]["ports"]).cloned().collect();
        for port in items(new) {
            if port["nodePort"].as_u64().unwrap_or(0) != 0 {
                continue;
            }
            let before = known
                .iter()
                .rfind(|one| text(one, "name") == text(port, "name"));
            let number = before.and_then(|one| one["nodePort"].as_u64());
            if let Some(number) = number.filter(|number| *number != 0 && !kept.contains(number)) {
                port["nodePort"] = number.into();
            }
        }
    }
    if has_check(old) && has_check(new) && new["spec"]["healthCheckNodePort"].is_null() {
        copy(old, new, "healthCheckNodePort");
    }
}

/// One address and the list of them say the same (`normalizeClusterIPs`).
fn pair(old: &Value, new: &mut Value) {
    let same_list = old["spec"]["clusterIPs"] == new["spec"]["clusterIPs"];
    let (before, after) = (
        text(&old["spec"], "clusterIP"),
        text(&new["spec"], "clusterIP").to_owned(),
    );
    if before == after || !same_list {
        return;
    }
    if after.is_empty() {
        remove(new, "clusterIPs");
    } else {
        new["spec"]["clusterIPs"] = json!([after]);
    }
}

/// Which kinds of addresses there are (`initIPFamilyFields`).
fn families(kind: &Kind, service: &mut Value, old: Option<&Value>) -> Result<(), Failure> {
    if !has_address(service) {
        return Ok(());
    }
    let name = object::name(service).to_owned();
    let headless = is_headless(service);
    let selects = service["spec"]["selector"]
        .as_object()
        .is_some_and(|labels| !labels.is_empty());
    let spec = &mut service["spec"];
    if spec["ipFamilyPolicy"].is_null() {
        let before = old.map(|old| old["spec"]["ipFamilyPolicy"].clone());
        spec["ipFamilyPolicy"] = match before {
            Some(policy) if !policy.is_null() => policy,
            _ if headless && !selects => "RequireDualStack".into(),
            _ => "SingleStack".into(),
        };
    }
    let single = spec["ipFamilyPolicy"] == "SingleStack";
    let mut families: Vec<Value> = list(&spec["ipFamilies"]).cloned().collect();
    let refuse = |causes: &[Cause]| Err(Failure::invalid(&kind.group, &kind.kind, &name, causes));
    // Addresses are allotted before the rest is looked at.
    let mut wrong = Vec::new();
    validate::service::families(&mut wrong, spec);
    if !wrong.is_empty() {
        return refuse(&wrong);
    }
    if families.is_empty()
        && let Some(old) = old
    {
        families = list(&old["spec"]["ipFamilies"]).cloned().collect();
    }
    for (index, address) in list(&spec["clusterIPs"]).enumerate() {
        let address = address.as_str().unwrap_or_default();
        if address == "None" || index < families.len() {
            break;
        }
        match address.parse() {
            Ok(IpAddr::V4(_)) => families.push("IPv4".into()),
            Ok(IpAddr::V6(_)) => {
                let why = "IPv6 is not configured on this cluster";
                let at = format!("spec.clusterIPs[{index}]");
                return refuse(&[Cause::invalid(at, &spec["clusterIPs"], why)]);
            }
            Err(_) => {
                let why = if validate::is_address(address) {
                    "must not have leading 0s"
                } else {
                    "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
                };
                let at = format!("spec.clusterIPs[{index}]");
                return refuse(&[Cause::invalid(at, &json!(address), why)]);
            }
        }
    }
    if headless && !selects {
        if families.is_empty() {
            families.push("IPv4".into());
        }
        if families.len() < 2 && !single {
            let other = if families[0] == "IPv4" {
                "IPv6"
            } else {
                "IPv4"
            };
            families.push(other.into());
        }
        spec["ipFamilies"] = families.into();
        return Ok(());
    }
    let mut causes = Vec::new();
    if spec["ipFamilyPolicy"] == "RequireDualStack" {
        let why = "this cluster is not configured for dual-stack services";
        let policy = &spec["ipFamilyPolicy"];
        causes.push(Cause::invalid("spec.ipFamilyPolicy", policy, why));
    }
    if let Some(index) = families.iter().position(|family| family == "IPv6") {
        let at = format!("spec.ipFamilies[{index}]");
        let why = "not configured on this cluster";
        causes.push(Cause::invalid(at, &json!("IPv6"), why));
    }
    if !causes.is_empty() {
        return refuse(&causes);
    }
    if families.is_empty() {
        families.push("IPv4".into());
    }
    spec["ipFamilies"] = families.into();
    Ok(())
}

fn addresses(
    world: &mut World,
    kind: &Kind,
    service: &mut Value,
    dry_run: bool,
) -> Result<(), Failure> {
    if !has_address(service) || is_headless(service) {
        return Ok(());
    }
    let asked = text(&service["spec"], "clusterIP").to_owned();
    if asked.is_empty() {
        let address = world.free_address();
        service["spec"]["clusterIP"] = address.clone().into();
        service["spec"]["clusterIPs"] = json!([address]);
        return Ok(());
    }
    // The first and the last address of the range are nobody's.
    let inside =
        asked.starts_with("10.0.") && !matches!(asked.as_str(), "10.0.0.0" | "10.0.255.255");
    let why = match (inside, world.allotted.addresses.contains(&asked)) {
        (true, false) => return Ok(()),
        (true, true) => "provided IP is already allocated".to_owned(),
        (false, _) if dry_run => format!(
            "the provided IP ({asked}) is not in the valid range. The range of valid IPs is 10.0.0.0/16"
        ),
        (false, _) => "the provided network does not match the current range".to_owned(),
    };
    let shown = &service["spec"]["clusterIPs"];
    let why = format!("failed to allocate IP {asked}: {why}");
    let cause = Cause::invalid("spec.clusterIPs", shown, &why);
    let name = object::name(service);
    Err(Failure::invalid(&kind.group, &kind.kind, name, &[cause]))
}

fn node_ports(
    world: &mut World,
    kind: &Kind,
    service: &mut Value,
    own: &BTreeSet<u64>,
) -> Result<(), Failure> {
    if !has_node_ports(service) {
        return Ok(());
    }
    let wants = wants_node_ports(service);
    let name = object::name(service).to_owned();
    let mut taken = BTreeSet::new();
    // Two protocols of one port share the port of the node.
    let mut shared: Vec<(Value, u64)> = Vec::new();
    let count = list(&service["spec"]["ports"]).count();
    for index in 0..count {
        let Some(port) = service.pointer_mut(&format!("/spec/ports/{index}")) else {
            break;
        };
        let number = port["port"].clone();
        let asked = port["nodePort"].as_u64().unwrap_or(0);
        if asked != 0 {
            let fresh = taken.insert(asked);
            let twin = shared.contains(&(number.clone(), asked));
            let refused = if own.contains(&asked) || twin {
                Ok(())
            } else if fresh {
                world.take_port(asked)
            } else {
                Err("provided port is already allocated".to_owned())
            };
            if let Err(why) = refused {
                let at = format!("spec.ports[{index}].nodePort");
                let cause = Cause::invalid(at, &json!(asked), &why);
                return Err(Failure::invalid(&kind.group, &kind.kind, &name, &[cause]));
            }
            shared.push((number, asked));
        } else if wants {
            let twin = shared.iter().find(|(of, _)| *of == number);
            let given = twin.map_or_else(|| world.free_port(), |(_, given)| *given);
            port["nodePort"] = given.into();
            world.allotted.ports.insert(given);
            taken.insert(given);
            shared.push((number, given));
        }
    }
    // Only what is stored counts.
    for port in taken.difference(own) {
        world.allotted.ports.remove(port);
    }
    Ok(())
}

fn health_check(world: &mut World, service: &mut Value) {
    let none = service["spec"]["healthCheckNodePort"].as_u64().unwrap_or(0) == 0;
    if has_check(service) && none {
        service["spec"]["healthCheckNodePort"] = world.free_port().into();
    }
}

/// Takes away what the old type had and the new one has no use for (`dropTypeDependentFields`).
fn drop_pointless(old: &Value, new: &mut Value) {
    let same = |new: &Value, field: &str| old["spec"][field] == new["spec"][field];
    if has_address(old) && !has_address(new) {
        if same(new, "clusterIP") && same(new, "clusterIPs") {
            remove(new, "clusterIP");
            remove(new, "clusterIPs");
        }
        for field in ["ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"] {
            if same(new, field) {
                remove(new, field);
            }
        }
    }
    if has_node_ports(old) && !has_node_ports(new) && ports_of(new).is_subset(&ports_of(old)) {
        for port in items(new) {
            if let Some(port) = port.as_object_mut() {
                port.remove("nodePort");
            }
        }
    }
    if has_check(old) && !has_check(new) && same(new, "healthCheckNodePort") {
        remove(new, "healthCheckNodePort");
    }
    let balanced = |service: &Value| service["spec"]["type"] == "LoadBalancer";
    if balanced(old) && !balanced(new) {
        for field in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
            if same(new, field) {
                remove(new, field);
            }
        }
    }
    if reached_from_outside(old) && !reached_from_outside(new) && same(new, "externalTrafficPolicy")
    {
        remove(new, "externalTrafficPolicy");
    }
    if !balanced(new) {
        new["status"]["loadBalancer"] = json!({});
    }
}

fn reached_from_outside(service: &Value) -> bool {
    has_node_ports(service)
        || (service["spec"]["type"] == "ClusterIP"
            && list(&service["spec"]["externalIPs"]).next().is_some())
}

fn items(service: &mut Value) -> impl Iterator<Item = &mut Value> {
    let ports = service.pointer_mut("/spec/ports");
    ports.and_then(Value::as_array_mut).into_iter().flatten()
}

fn copy(old: &Value, new: &mut Value, field: &str) {
    let before = old["spec"][field].clone();
    if !before.is_null() {
        new["spec"][field] = before;
    }
}

fn remove(service: &mut Value, field: &str) {
    if let Some(spec) = service["spec"].as_object_mut() {
        spec.remove(field);
    }
}
