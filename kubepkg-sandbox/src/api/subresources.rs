//! Subresources that are not a part of the object itself: scale, eviction, binding, token.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::decode;
use super::delete::{self, Options};
use super::failure::{Cause, Failure};
use super::kind::Kind;
use super::object;
use super::patch::{self, Way};
use super::policies::{Change, Request};
use super::request::{Call, Place};
use super::world::{Answer, World};
use super::write::{Writer, check_name};

/// Where a resource keeps its numbers of replicas.
struct Paths {
    spec: String,
    status: String,
    selector: Option<String>,
}

impl Paths {
    fn of(kind: &Kind) -> Self {
        let pointer = |path: &str| path.replace('.', "/");
        match &kind.custom {
            None => Self {
                spec: "/spec/replicas".into(),
                status: "/status/replicas".into(),
                selector: Some("/spec/selector".into()),
            },
            Some(custom) => {
                let scale = &custom.written["subresources"]["scale"];
                let path = |field: &str| pointer(object::text(scale, field));
                Self {
                    spec: path("specReplicasPath"),
                    status: path("statusReplicasPath"),
                    selector: scale["labelSelectorPath"].as_str().map(pointer),
                }
            }
        }
    }
}

impl World {
    /// `scale` of a workload.
    pub(crate) fn scale(
        &mut self,
        call: &Call,
        kind: &Arc<Kind>,
        place: &Place,
        now: Timestamp,
    ) -> Result<Answer, Failure> {
        let old = self.read(kind, place)?;
        let paths = Paths::of(kind);
        let current = scale_of(&paths, &old);
        let wanted = match call.method {
            http::Method::GET => return Ok(Answer::json(200, &current)),
            http::Method::PUT => {
                let mut writer = Writer::of(call, "UpdateOptions", "scale", now)?;
                decode::part(("autoscaling", "v1", "Scale"), call, &mut writer)?
            }
            _ => {
                let way = Way::of(kind, call)?;
                patch::changed(kind, way, &current, &call.body)?
            }
        };
        let name = object::name(&wanted);
        check_name(place, name)?;
        let replicas = wanted["spec"]["replicas"].as_i64().unwrap_or(0);
        if replicas < 0 {
            let why = "must be greater than or equal to 0";
            let cause = Cause::invalid("spec.replicas", &json!(replicas), why);
            return Err(Failure::invalid("autoscaling", "Scale", name, &[cause]));
        }
        let mut writer = Writer::of(call, "UpdateOptions", "scale", now)?;
        let mut new = Value::clone(&old);
        let version = object::meta(&wanted, "resourceVersion").to_owned();
        object::set(&mut new, "resourceVersion", version);
        put_at(&mut new, &paths.spec, replicas.into());
        let asked = Request {
            kind,
            subresource: "scale",
            shape: Some(("autoscaling", "v1", "Scale")),
            name: &place.name,
            change: Change::Update(&current, &scale_of(&paths, &new)),
            asker: &writer.asker,
        };
        self.admit(&asked, &mut writer.warnings)?;
        let stored = self.commit_change(kind, &old, new, &mut writer)?;
        Ok(Answer::json(200, &scale_of(&paths, &stored)))
    }

    /// `eviction`: a deletion that disruption budgets may forbid. Here none does.
    pub(crate) fn evict(
        &mut self,
        call: &Call,
        kind: &Arc<Kind>,
        place: &Place,
        now: Timestamp,
    ) -> Result<Answer, Failure> {
        let mut writer = Writer::of(call, "CreateOptions", "eviction", now)?;
        let body = decode::part(("policy", "v1", "Eviction"), call, &mut writer)?;
        if object::name(&body) != place.name {
            let why = "name in URL does not match name in Eviction object";
            return Err(Failure::bad_request(why));
        }
        let old = self.read(kind, place)?;
        let sent = &body["deleteOptions"];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let options = Options {
            uid: text(&sent["preconditions"]["uid"]),
            version: text(&sent["preconditions"]["resourceVersion"]),
            grace: sent["gracePeriodSeconds"].as_i64(),
            dry_run: call.is_dry_run() || object::list(&sent["dryRun"]).any(|one| one == "All"),
            ..Options::default()
        };
        delete::check_preconditions(kind, &old, &options)?;
        if options.dry_run {
            return Ok(success(201));
        }
        self.begin_delete(kind, &old, &options, now);
        Ok(success(201))
    }

    /// `binding`: a scheduler chooses a node.
    pub(crate) fn bind(
        &mut self,
        call: &Call,
        kind: &Arc<Kind>,
        place: &Place,
        now: Timestamp,
    ) -> Result<Answer, Failure> {
        let body = decode::small(call)?;
        let old = self.read(kind, place)?;
        let mut new = Value::clone(&old);
        new["spec"]["nodeName"] = body["target"]["name"].clone();
        let mut writer = Writer::of(call, "CreateOptions", "binding", now)?;
        self.commit_change(kind, &old, new, &mut writer)?;
        Ok(success(201))
    }

    /// `token` of a service account. It opens the socket as long as the server lives.
    pub(crate) fn token(
        &mut self,
        call: &Call,
        kind: &Arc<Kind>,
        place: &Place,
        now: Timestamp,
    ) -> Result<Answer, Failure> {
        let mut writer = Writer::of(call, "CreateOptions", "token", now)?;
        let body = decode::part(
            ("authentication.k8s.io", "v1", "TokenRequest"),
            call,
            &mut writer,
        )?;
        let account = self.read(kind, place)?;
        let seconds = body["spec"]["expirationSeconds"].as_i64().unwrap_or(3600);
        let name = object::name(&body);
        let cause = if !name.is_empty() && name != place.name {
            let why = "must match the service account name if specified";
            Some((
                place.name.as_str(),
                Cause::invalid("metadata.name", &json!(name), why),
            ))
        } else {
            let why = match seconds {
                ..600 => Some("may not specify a duration less than 10 minutes"),
                600..=0x1_0000_0000 => None,
                _ => Some("may not specify a duration larger than 2^32 seconds"),
            };
            let at = "spec.expirationSeconds";
            why.map(|why| ("", Cause::invalid(at, &json!(seconds), why)))
        };
        if let Some((name, cause)) = cause {
            let group = "authentication.k8s.io";
            return Err(Failure::invalid(group, "TokenRequest", name, &[cause]));
        }
        let until = now + SignedDuration::from_secs(seconds.clamp(600, 1 << 32));
        let audiences = match body["spec"]["audiences"].as_array() {
            Some(some) if !some.is_empty() => json!(some),
            _ => json!(["https://kubernetes.default.svc"]),
        };
        let token = format!("sandbox-{}", self.ids.uid());
        let user = format!("system:serviceaccount:{}:{}", place.namespace, place.name);
        self.issued.insert(token.clone(), user);
        Ok(Answer::json(
            201,
            &json!({
                "kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1",
                "metadata": {
                    "name": place.name, "namespace": place.namespace,
                    "uid": object::uid(&account), "creationTimestamp": object::time(now),
                },
                "spec": {
                    "audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": null,
                },
                "status": {
                    "token": token,
                    "expirationTimestamp": object::time(until),
                },
            }),
        ))
    }
}

fn success(status: u16) -> Answer {
    Answer::json(
        status,
        &json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": status,
        }),
    )
}

fn scale_of(paths: &Paths, object: &Value) -> Value {
    let mut metadata = json!({});
    for field in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
    ] {
        if let Some(value) = object["metadata"].get(field) {
            metadata[field] = value.clone();
        }
    }
    let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_i64);
    let mut spec = json!({});
    if let Some(replicas) = number(&paths.spec).filter(|n| *n != 0) {
        spec["replicas"] = replicas.into();
    }
    let mut status = json!({"replicas": number(&paths.status).unwrap_or(0)});
    let selector = paths
        .selector
        .as_ref()
        .and_then(|path| object.pointer(path));
    if let Some(selector) = selector.map(selector_text).filter(|text| !text.is_empty()) {
        status["selector"] = selector.into();
    }
    json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec,
        "status": status,
    })
}

/// A label selector in one line.
pub(crate) fn selector_text(selector: &Value) -> String {
    if let Some(text) = selector.as_str() {
        return text.to_owned();
    }
    let plain = selector.get("matchLabels").or({
        // A Service and a ReplicationController select by labels alone.
        let structured = selector.get("matchExpressions").is_some();
        (!structured).then_some(selector)
    });
    let mut parts: Vec<(&str, String)> = plain
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, value)| {
            let value = value.as_str().unwrap_or_default();
            (key.as_str(), format!("{key}={value}"))
        })
        .collect();
    for expression in object::list(&selector["matchExpressions"]) {
        let key = object::text(expression, "key");
        let mut values: Vec<&str> = object::list(&expression["values"])
            .filter_map(Value::as_str)
            .collect();
        values.sort_unstable();
        let values = values.join(",");
        let part = match object::text(expression, "operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            _ => format!("!{key}"),
        };
        parts.push((key, part));
    }
    parts.sort_by_key(|(key, _)| *key);
    let parts: Vec<String> = parts.into_iter().map(|(_, part)| part).collect();
    parts.join(",")
}

fn put_at(object: &mut Value, pointer: &str, value: Value) {
    let mut slot = object;
    for part in pointer.split('/').filter(|part| !part.is_empty()) {
        if !slot.is_object() {
            *slot = json!({});
        }
        slot = &mut slot[part];
    }
    *slot = value;
}
