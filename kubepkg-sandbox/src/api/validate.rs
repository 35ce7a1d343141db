//! Whether an object is valid: metadata for every kind, and the rules of a kind that people meet.
//!
//! Kubernetes has some thousand rules; those here are the ones that the kinds of charts meet, with
//! the texts of the server. The conformance suite lists what is compared (`templates.http`,
//! `validity.http` and others).

mod autoscale;
mod budget;
mod container;
mod event;
mod immutable;
mod ingress;
mod job;
mod kept;
mod mounts;
mod network;
mod parts;
mod placement;
mod pod;
mod policy;
mod probes;
mod resources;
mod rights;
mod security;
pub(crate) mod service;
mod settings;
mod status;
mod storage;
mod variables;
mod volume;
mod webhook;
mod workload;

use serde_json::Value;

pub(crate) use self::parts::is_address;
use super::failure::Cause;
use super::kind::Kind;
use super::names;
use super::object;
use super::object_meta;
use super::service_addresses;
use crate::crd;

/// What is wrong with a new object.
pub(crate) fn new(kind: &Kind, object: &Value) -> Vec<Cause> {
    let mut causes = metadata(kind, object, true);
    if kind.is("networking.k8s.io", "ingresses") {
        ingress::new(&mut causes, object);
    }
    let own = of_kind(kind, object);
    // Of these the metadata are looked at when the rest is fine.
    if kind.is("policy", "poddisruptionbudgets") && !own.is_empty() {
        causes.clear();
    }
    causes.extend(own);
    if kind.is("events.k8s.io", "events") {
        event::new(&mut causes, object);
    }
    if kind.is("apiextensions.k8s.io", "customresourcedefinitions") {
        causes.extend(of_schema(crd::definition::check(object)));
    }
    if let Some(custom) = &kind.custom {
        causes.extend(of_schema(crd::validate(object, &custom.schema)));
    }
    causes
}

/// Causes of what a schema refuses.
fn of_schema(errors: Vec<crd::FieldError>) -> impl Iterator<Item = Cause> {
    errors.into_iter().map(|error| Cause {
        reason: error.reason,
        message: error.message,
        field: error.field,
    })
}

/// What is wrong with a changed object. What was wrong before and may stay is warned of.
pub(crate) fn changed(
    kind: &Kind,
    (old, new): (&Value, &Value),
    subresource: &str,
    warnings: &mut Vec<String>,
) -> Vec<Cause> {
    let mut causes = metadata(kind, new, false);
    if kind.custom.is_none() {
        // The server looks several times, and tells each time.
        let twice = [
            "metadata.labels",
            "metadata.annotations",
            "metadata.ownerReferences",
        ];
        let again: Vec<Cause> = causes
            .iter()
            .filter(|cause| twice.contains(&cause.field.as_str()))
            .cloned()
            .collect();
        causes.extend(std::iter::repeat_n(again, looks_again(kind)).flatten());
    }
    if object::terminating(old) {
        let before = object::finalizers(old);
        let added: Vec<String> = object::finalizers(new)
            .into_iter()
            .filter(|one| !before.contains(one))
            .map(|one| format!("{one:?}"))
            .collect();
        // The server looks twice, and tells both times.
        for _ in added.iter().take(1).chain(added.iter().take(1)) {
            let why = format!(
                "no new finalizers can be added if the object is being deleted, found new \
                 finalizers []string{{{}}}",
                added.join(", ")
            );
            causes.push(Cause::forbidden("metadata.finalizers", &why));
        }
    }
    if subresource == "status" {
        causes.extend(status::changed(kind, old, new));
    }
    if kind.is("", "services") {
        causes.extend(service_addresses::changed(old, new));
    }
    let own = of_kind(kind, new);
    let fixed = immutable::immutable(kind, old, new);
    if kind.is("networking.k8s.io", "ingressclasses") {
        causes.extend(fixed.into_iter().chain(own));
    } else {
        causes.extend(own.into_iter().chain(fixed));
    }
    if kind.is("events.k8s.io", "events") {
        causes.extend(event::changed(old, new));
    }
    if subresource.is_empty() && kind.is("", "pods") {
        causes.extend(kept::pod(old, new));
    }
    if subresource.is_empty() && kind.is("", "persistentvolumeclaims") {
        causes.extend(kept::claim(old, new));
    }
    let definition = kind.is("apiextensions.k8s.io", "customresourcedefinitions");
    if definition && subresource.is_empty() {
        causes.extend(of_schema(crd::definition::check_update(old, new)));
    }
    if let Some(custom) = &kind.custom {
        let verdict = crd::validate_update(old, new, &custom.schema);
        causes.extend(of_schema(verdict.errors));
        let stays = verdict.stays.into_iter();
        warnings.extend(stays.map(|error| format!("{}: {}", error.field, error.message)));
    }
    causes
}

/// How often the server looks at the metadata of a changed object once more.
fn looks_again(kind: &Kind) -> usize {
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("policy", "poddisruptionbudgets") | ("" | "events.k8s.io", "events") => 1,
        (
            "",
            "configmaps"
            | "endpoints"
            | "nodes"
            | "persistentvolumeclaims"
            | "persistentvolumes"
            | "secrets"
            | "serviceaccounts",
        )
        | ("apps", "controllerrevisions")
        | ("networking.k8s.io", "ingressclasses" | "ingresses" | "ipaddresses")
        | (
            "storage.k8s.io",
            "csistoragecapacities" | "storageclasses" | "volumeattributesclasses",
        )
        | ("apiregistration.k8s.io" | "node.k8s.io" | "rbac.authorization.k8s.io", _)
        | ("resource.k8s.io", "deviceclasses" | "resourceclaims" | "resourceclaimtemplates") => 3,
        _ => 2,
    }
}

/// Metadata that the server alone writes and that a client sends otherwise than it is.
pub(crate) fn frozen(old: &Value, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    for field in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let sent = &new["metadata"][field];
        let none = sent.is_null() || *sent == "";
        if !none && *sent != old["metadata"][field] {
            // The server looks twice, and tells both times.
            for _ in 0..2 {
                let at = format!("metadata.{field}");
                causes.push(Cause::invalid(at, sent, "field is immutable"));
            }
        }
    }
    causes
}

fn metadata(kind: &Kind, object: &Value, new: bool) -> Vec<Cause> {
    let name = |name: &str| {
        let mut wrong = name_rule(kind)(name);
        if new && kind.is("apiextensions.k8s.io", "customresourcedefinitions") {
            let offence = crd::definition::name_offence(object, name);
            wrong.extend(offence.map(str::to_owned));
        }
        if kind.is("apiregistration.k8s.io", "apiservices") && wrong.is_empty() {
            wrong.extend(settings::api_service_name(object, name));
        }
        wrong
    };
    let rules = object_meta::Rules {
        name: &name,
        named: true,
        finalizers: kind.custom.is_none(),
    };
    object_meta::causes(&object["metadata"], "metadata", &rules)
}

/// The rule for names of a kind.
fn name_rule(kind: &Kind) -> fn(&str) -> Vec<String> {
    match (kind.group.as_str(), kind.plural.as_str()) {
        _ if kind.custom.is_some() => names::subdomain,
        ("", "namespaces" | "services") => names::label,
        ("rbac.authorization.k8s.io" | "apiregistration.k8s.io", _) | ("", "events") => {
            names::path_segment
        }
        _ => names::subdomain,
    }
}

fn of_kind(kind: &Kind, object: &Value) -> Vec<Cause> {
    let spec = &object["spec"];
    let mut causes = Vec::new();
    match (kind.group.as_str(), kind.plural.as_str()) {
        _ if kind.custom.is_some() => {}
        ("" | "events.k8s.io", "events") => event::event(&mut causes, kind, object),
        ("", "configmaps") => settings::config_map(&mut causes, object),
        ("", "podtemplates") => pod::template(&mut causes, "template", &object["template"]),
        ("", "services") => service::service(&mut causes, spec),
        ("", "namespaces") => settings::namespace(&mut causes, spec),
        ("", "secrets") => settings::secret(&mut causes, object),
        ("", "limitranges") => settings::limit_range(&mut causes, spec),
        ("", "resourcequotas") => settings::quota(&mut causes, spec),
        ("", "endpoints") => settings::endpoints(&mut causes, object),
        ("discovery.k8s.io", "endpointslices") => settings::endpoint_slice(&mut causes, object),
        ("coordination.k8s.io", "leases") => settings::lease(&mut causes, spec),
        ("scheduling.k8s.io", "priorityclasses") => settings::priority_class(&mut causes, object),
        ("node.k8s.io", "runtimeclasses") => settings::runtime_class(&mut causes, object),
        ("storage.k8s.io", "csidrivers") => settings::driver(&mut causes, spec),
        ("apiregistration.k8s.io", "apiservices") => settings::api_service(&mut causes, object),
        ("", "persistentvolumeclaims") => storage::claim_spec(&mut causes, "spec", spec),
        ("", "persistentvolumes") => storage::volume(&mut causes, spec),
        ("", "replicationcontrollers") => workload::replication_controller(&mut causes, spec),
        ("apps", "deployments") => workload::deployment(&mut causes, spec),
        ("apps", "replicasets") => workload::replica_set(&mut causes, spec),
        ("apps", "statefulsets") => workload::stateful_set(&mut causes, spec),
        ("apps", "daemonsets") => workload::daemon_set(&mut causes, spec),
        ("batch", "jobs") => job::job(&mut causes, object),
        ("batch", "cronjobs") => job::cron_job(&mut causes, object),
        ("", "pods") => pod::pod(&mut causes, object),
        ("networking.k8s.io", "ingresses") => ingress::ingress(&mut causes, object),
        ("networking.k8s.io", "ingressclasses") => ingress::class(&mut causes, spec),
        ("networking.k8s.io", "networkpolicies") => network::policy(&mut causes, spec),
        ("policy", "poddisruptionbudgets") => budget::budget(&mut causes, spec),
        ("autoscaling", "horizontalpodautoscalers") => autoscale::autoscaler(&mut causes, spec),
        ("rbac.authorization.k8s.io", _) => rights::rights(&mut causes, &kind.plural, object),
        ("storage.k8s.io", "storageclasses") => storage::class(&mut causes, object),
        ("admissionregistration.k8s.io", "validatingadmissionpolicies") => {
            policy::policy(&mut causes, object);
        }
        ("admissionregistration.k8s.io", "validatingadmissionpolicybindings") => {
            policy::binding(&mut causes, spec);
        }
        ("admissionregistration.k8s.io", _) => webhook::webhooks(&mut causes, object),
        _ => {}
    }
    causes
}
