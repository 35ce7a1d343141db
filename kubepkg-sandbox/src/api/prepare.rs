//! What the server decides about an object before it looks whether it is valid: the
//! `PrepareForCreate` and `PrepareForUpdate` of `pkg/registry` in Kubernetes.

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::kind::Kind;
use super::object;
use super::structs::Types;

/// Takes the managed fields that a client sent out of the object.
pub(crate) fn take_managed_fields(object: &mut Value) -> Option<Value> {
    object::metadata(object)?.remove("managedFields")
}

/// A new object: its status is the server's.
pub(crate) fn create(kind: &Kind, object: &mut Value) {
    // Nodes tell of themselves from the start.
    let status = kind.has_status() && !kind.is("", "nodes");
    if status && let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if kind.custom.is_some() {
        return;
    }
    if status {
        let types = Types::get();
        let message = types.of_kind(&kind.api_version(), &kind.kind);
        if let Some(status) = message.and_then(|message| types.zero(message).remove("status")) {
            object["status"] = status;
        }
    }
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "namespaces") => {
            object["status"] = json!({"phase": "Active"});
            let finalizers = object["spec"]["finalizers"].as_array().cloned();
            let mut finalizers = finalizers.unwrap_or_default();
            if !finalizers.contains(&json!("kubernetes")) {
                finalizers.push(json!("kubernetes"));
            }
            object["spec"] = json!({"finalizers": finalizers});
        }
        ("", "pods") => {
            let class = quality(object);
            object["status"] = json!({"phase": "Pending", "qosClass": class});
        }
        ("", "services") | ("networking.k8s.io", "ingresses") => {
            object["status"] = json!({"loadBalancer": {}});
        }
        ("", "persistentvolumeclaims") => {
            protect(object, "kubernetes.io/pvc-protection");
            data_source(object);
        }
        ("", "persistentvolumes") => {
            protect(object, "kubernetes.io/pv-protection");
            object["status"]["lastPhaseTransitionTime"] =
                object["metadata"]["creationTimestamp"].clone();
        }
        ("apps", "deployments") | ("batch", "jobs" | "cronjobs") => {
            object["status"] = json!({});
        }
        // What this server serves itself is there.
        ("apiregistration.k8s.io", _) if object["spec"]["service"].is_null() => {
            let time = &object["metadata"]["creationTimestamp"];
            object["status"] = json!({"conditions": [{
                "type": "Available", "status": "True", "lastTransitionTime": time,
                "reason": "Local", "message": "Local APIServices are always available",
            }]});
        }
        ("apps", "replicasets") | ("", "replicationcontrollers") => {
            object["status"] = json!({"replicas": 0});
        }
        ("apps", "statefulsets") => {
            object["status"] = json!({"replicas": 0, "availableReplicas": 0});
        }
        ("apps", "daemonsets") => {
            object["status"] = json!({
                "currentNumberScheduled": 0, "numberMisscheduled": 0, "desiredNumberScheduled": 0,
                "numberReady": 0,
            });
        }
        ("policy", "poddisruptionbudgets") => {
            object["status"] = json!({
                "disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0,
                "expectedPods": 0,
            });
        }
        ("autoscaling", _) => {
            object["status"] = json!({"desiredReplicas": 0, "currentMetrics": null});
        }
        ("apiextensions.k8s.io", _) => {
            let stored: Vec<Value> = object::list(&object["spec"]["versions"])
                .filter(|version| version["storage"] == true)
                .map(|version| version["name"].clone())
                .take(1)
                .collect();
            object["status"] = json!({
                "conditions": null, "acceptedNames": {"plural": "", "kind": ""},
                "storedVersions": stored,
            });
        }
        _ => {}
    }
    if kind.is("batch", "jobs") {
        label_job(object);
        label_as_template(object);
    }
    stored(kind, object);
}

/// A changed object: who writes the main resource does not write its status, and the other way.
pub(crate) fn update(kind: &Kind, old: &Value, new: &mut Value, subresource: &str, now: Timestamp) {
    match subresource {
        "status" => {
            let status = new.get("status").cloned();
            let metadata = new["metadata"].clone();
            *new = old.clone();
            take_managed_fields(new);
            if let Some(fields) = new.as_object_mut() {
                match status {
                    Some(status) => fields.insert("status".into(), status),
                    None => fields.remove("status"),
                };
            }
            if kind.is("", "persistentvolumes") {
                note_phase(old, new, now);
            }
            if kind.is("", "pods") {
                // Its class follows from what it asks for.
                let class = old["status"]["qosClass"].clone();
                if !class.is_null() {
                    object::entry(new, "status")
                        .map(|status| status.insert("qosClass".into(), class));
                }
            }
            if kind.custom.is_none() {
                // Built-in kinds let annotations and finalizers through.
                for field in ["annotations", "finalizers", "ownerReferences"] {
                    match metadata.get(field) {
                        Some(value) => object::set(new, field, value.clone()),
                        None => object::unset(new, field),
                    }
                }
            }
        }
        "finalize" => {
            let finalizers = new["spec"]["finalizers"].clone();
            *new = old.clone();
            take_managed_fields(new);
            new["spec"] = match finalizers.as_array() {
                Some(some) if !some.is_empty() => json!({"finalizers": finalizers}),
                _ => json!({}),
            };
        }
        _ => {
            if kind.has_status()
                && let Some(fields) = new.as_object_mut()
            {
                match old.get("status") {
                    Some(status) => fields.insert("status".into(), status.clone()),
                    None => fields.remove("status"),
                };
            }
            stored(kind, new);
            if kind.is("apps", "daemonsets") {
                count_templates(old, new);
            }
            if kind.is("", "namespaces") {
                new["spec"] = old["spec"].clone();
            }
            if kind.is("apiextensions.k8s.io", "customresourcedefinitions") {
                store_versions(new);
            }
        }
    }
}

/// The version that is stored now is one of those that are stored.
fn store_versions(definition: &mut Value) {
    let storing = object::list(&definition["spec"]["versions"])
        .find(|version| version["storage"] == true)
        .map(|version| version["name"].clone());
    let Some(storing) = storing else { return };
    let Some(status) = object::entry(definition, "status") else {
        return;
    };
    let stored = status.entry("storedVersions").or_insert(Value::Null);
    if stored.is_null() {
        *stored = json!([]);
    }
    if let Some(stored) = stored.as_array_mut()
        && !stored.contains(&storing)
    {
        stored.push(storing);
    }
}

/// When a volume got into its phase, unless the writer says so.
fn note_phase(old: &Value, new: &mut Value, now: Timestamp) {
    const FIELD: &str = "lastPhaseTransitionTime";
    let before = old["status"][FIELD].clone();
    let same_phase = old["status"]["phase"] == new["status"]["phase"];
    let said = &new["status"][FIELD];
    let time = match (same_phase, said.is_null() || *said == before) {
        (true, _) if said.is_null() => before,
        (false, true) => object::time(now).into(),
        _ => return,
    };
    if let Some(status) = object::entry(new, "status").filter(|_| !time.is_null()) {
        status.insert(FIELD.to_owned(), time);
    }
}

/// The annotation in which a DaemonSet counts its templates.
pub(crate) const TEMPLATES: &str = "deprecated.daemonset.template.generation";

/// A DaemonSet counts its templates.
fn count_templates(old: &Value, new: &mut Value) {
    let before = &old["metadata"]["annotations"][TEMPLATES];
    let before: i64 = before
        .as_str()
        .and_then(|text| text.parse().ok())
        .unwrap_or(0);
    let changed = old["spec"]["template"] != new["spec"]["template"];
    let count = before + i64::from(changed);
    if count > 0
        && let Some(annotations) =
            object::metadata(new).and_then(|meta| entry_of(meta, "annotations"))
    {
        annotations.insert(TEMPLATES.to_owned(), count.to_string().into());
    }
}

/// Whether a change counts in `metadata.generation`: everything but metadata and, where it is
/// written apart, status.
pub(crate) fn spec_changed(kind: &Kind, old: &Value, new: &Value) -> bool {
    if kind.is("scheduling.k8s.io", "priorityclasses") {
        // Its generation stays what it was in the beginning.
        return false;
    }
    let status_apart = kind.has_status() || kind.custom.is_none();
    let counted = |object: &Value| -> Map<String, Value> {
        let fields = object.as_object().cloned().unwrap_or_default();
        fields
            .into_iter()
            .filter(|(field, _)| field != "metadata" && !(status_apart && field == "status"))
            .collect()
    };
    counted(old) != counted(new)
}

/// Whether a terminating object without finalizers goes at once.
pub(crate) fn may_go(kind: &Kind, object: &Value) -> bool {
    if kind.is("", "namespaces") {
        return object::list(&object["spec"]["finalizers"]).next().is_none();
    }
    object["metadata"]["deletionGracePeriodSeconds"]
        .as_i64()
        .unwrap_or(0)
        == 0
}

/// An object as it comes back from where it is stored. Definitions and APIServices are stored in JSON.
fn stored(kind: &Kind, object: &mut Value) {
    let types = Types::get();
    let in_json = ["apiextensions.k8s.io", "apiregistration.k8s.io"].contains(&kind.group.as_str());
    if let Some(message) = types.of_kind(&kind.api_version(), &kind.kind)
        && !in_json
    {
        types.store(message, object);
    }
}

/// What a claim is filled from is said in two fields; the older one knows two kinds only.
fn data_source(claim: &mut Value) {
    let Some(spec) = object::entry(claim, "spec") else {
        return;
    };
    let known = spec.get("dataSource").is_none_or(|source| {
        let group = source["apiGroup"].as_str().unwrap_or_default();
        match object::text(source, "kind") {
            "PersistentVolumeClaim" => group.is_empty(),
            "VolumeSnapshot" => group == "snapshot.storage.k8s.io",
            _ => false,
        }
    });
    if !known {
        spec.remove("dataSource");
    }
    for field in ["dataSource", "dataSourceRef"] {
        if let Some(Value::Object(source)) = spec.get_mut(field) {
            source.entry("apiGroup").or_insert(Value::Null);
        }
    }
    match (
        spec.get("dataSource").cloned(),
        spec.get("dataSourceRef").cloned(),
    ) {
        (Some(source), None) => {
            spec.insert("dataSourceRef".to_owned(), source);
        }
        (None, Some(source)) if source["namespace"].is_null() => {
            spec.insert("dataSource".to_owned(), source);
        }
        _ => {}
    }
}

/// Volumes and claims stay while they are used.
fn protect(object: &mut Value, finalizer: &str) {
    object["status"] = json!({"phase": "Pending"});
    let mut finalizers = object::finalizers(object);
    if !finalizers.iter().any(|one| one == finalizer) {
        finalizers.push(finalizer.to_owned());
    }
    object::set_finalizers(object, finalizers);
}

fn entry_of<'a>(
    metadata: &'a mut Map<String, Value>,
    field: &str,
) -> Option<&'a mut Map<String, Value>> {
    let slot = metadata.entry(field.to_owned()).or_insert(Value::Null);
    if slot.is_null() {
        *slot = json!({});
    }
    slot.as_object_mut()
}

/// `stringData` is for writing only.
pub(crate) fn merge_string_data(secret: &mut Value) {
    use base64::Engine as _;
    let Some(fields) = secret.as_object_mut() else {
        return;
    };
    let Some(Value::Object(plain)) = fields.remove("stringData") else {
        return;
    };
    let data = fields.entry("data").or_insert(Value::Null);
    if data.is_null() {
        *data = json!({});
    }
    if let Some(data) = data.as_object_mut() {
        for (key, value) in plain {
            let text = value.as_str().unwrap_or_default();
            let encoded = base64::engine::general_purpose::STANDARD.encode(text);
            data.insert(key, encoded.into());
        }
    }
}

/// A Job selects its pods by its UID, unless `manualSelector` is set.
fn label_job(job: &mut Value) {
    if job["spec"]["manualSelector"] == true {
        return;
    }
    let uid = object::uid(job).to_owned();
    let name = object::name(job).to_owned();
    let labels = [
        ("batch.kubernetes.io/controller-uid", &uid),
        ("batch.kubernetes.io/job-name", &name),
        ("controller-uid", &uid),
        ("job-name", &name),
    ];
    let Some(spec) = object::entry(job, "spec") else {
        return;
    };
    spec.insert("manualSelector".into(), json!(false));
    let selector = spec.entry("selector").or_insert(Value::Null);
    if selector.is_null() {
        *selector = json!({});
    }
    if selector["matchLabels"].is_null() {
        selector["matchLabels"] = json!({});
    }
    selector["matchLabels"]["batch.kubernetes.io/controller-uid"] = uid.clone().into();
    spec.entry("template").or_insert_with(|| json!({}));
    let template = job.pointer_mut("/spec/template").and_then(object::metadata);
    if let Some(target) = template.and_then(|meta| entry_of(meta, "labels")) {
        for (key, value) in labels {
            target.insert(key.to_owned(), value.as_str().into());
        }
    }
}

/// A new object as far as its fields are its writer's: labels that a Job has from its template are.
pub(crate) fn owned<'a>(kind: &Kind, object: &'a Value) -> Cow<'a, Value> {
    if !kind.is("batch", "jobs") {
        return Cow::Borrowed(object);
    }
    let mut job = object.clone();
    label_as_template(&mut job);
    Cow::Owned(job)
}

/// A Job without labels has those of its pods.
fn label_as_template(job: &mut Value) {
    let own = job["metadata"]["labels"].as_object();
    if own.is_some_and(|own| !own.is_empty()) {
        return;
    }
    let labels = job["spec"]["template"]["metadata"]["labels"].clone();
    if labels.as_object().is_some_and(|labels| !labels.is_empty()) {
        object::set(job, "labels", labels);
    }
}

/// `qosClass`, from requests and limits of cpu and memory.
fn quality(pod: &Value) -> &'static str {
    let mut all = object::list(&pod["spec"]["containers"])
        .chain(object::list(&pod["spec"]["initContainers"]));
    let mut some = false;
    let mut guaranteed = true;
    for container in all.by_ref() {
        for resource in ["cpu", "memory"] {
            // None of a resource is as good as no word of it.
            let [request, limit] = ["requests", "limits"].map(|part| {
                let asked = &container["resources"][part][resource];
                if *asked == "0" { &Value::Null } else { asked }
            });
            some |= !request.is_null() || !limit.is_null();
            guaranteed &= !limit.is_null() && (request.is_null() || request == limit);
        }
    }
    match (some, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}
