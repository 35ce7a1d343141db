//! One API server as a value: a request and a time go in, a response comes out, and nothing else
//! happens.
//!
//! There is no I/O, no clock and no thread in it. Two worlds that start from one seed and get the
//! same requests at the same times give the same bytes.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::alarms::Alarms;
use super::convert;
use super::discovery;
use super::encode::{self, Form};
use super::failure::Failure;
use super::ids::Ids;
use super::kind::Kind;
use super::openapi;
use super::players::Players;
use super::policies::Asker;
use super::registry::Registry;
use super::request::{Call, Lag, Place, Target};
use super::service_addresses::Allotted;
use super::store::Store;
use super::watch::Watch;
use super::workloads::{Kubelet, Refused};
use crate::pods::Rules;

/// Bodies over this size are refused.
pub(crate) const BODY_LIMIT: usize = 3 * 1024 * 1024;
/// Objects over this size are refused by etcd.
pub(crate) const OBJECT_LIMIT: usize = 1_572_864;

/// The state of an API server.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) registry: Registry,
    pub(crate) ids: Ids,
    /// The store's version up to which the controllers have seen everything.
    pub(crate) settled: u64,
    /// When a controller has something to do with an object without being told.
    pub(crate) alarms: Alarms,
    /// The fates of pods that a test has decided.
    pub(crate) rules: Rules,
    /// Users by the tokens that were issued to them.
    pub(crate) issued: BTreeMap<String, String>,
    /// What the kubelet remembers.
    pub(crate) kubelet: Kubelet,
    /// What its own controllers were refused.
    pub(crate) refused: Refused,
    /// When old events were last looked for.
    pub(crate) swept: Option<Timestamp>,
    /// The addresses and ports that Services have.
    pub(crate) allotted: Allotted,
    /// Whether Deployments, Pods and their like are played.
    pub(crate) plays: bool,
    /// Who plays other kinds.
    pub(crate) players: Players,
    /// The certificate that clients trust, for `kube-root-ca.crt`.
    pub(crate) certificate: String,
}

/// What a request is answered with.
#[derive(Debug)]
pub(crate) enum Reply {
    Whole(Answer),
    Stream(Box<Watch>),
}

/// A whole response.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) body: Bytes,
    pub(crate) warnings: Vec<String>,
}

impl Answer {
    pub(crate) fn json(status: u16, value: &Value) -> Self {
        Self::bytes(status, serde_json::to_vec(value).unwrap_or_default())
    }

    pub(crate) fn bytes(status: u16, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            content_type: "application/json",
            body: body.into(),
            warnings: Vec::new(),
        }
    }

    pub(crate) fn text(status: u16, text: impl Into<Bytes>) -> Self {
        Self {
            content_type: "text/plain; charset=utf-8",
            ..Self::bytes(status, text)
        }
    }
}

impl From<Failure> for Answer {
    fn from(failure: Failure) -> Self {
        Self {
            warnings: failure.warnings.clone(),
            ..Self::json(failure.code, &failure.status())
        }
    }
}

impl World {
    /// A new server with its namespaces and the `kubernetes` service.
    pub(crate) fn new(seed: u64, plays: bool, now: Timestamp) -> Self {
        let mut world = Self::empty(seed, plays);
        super::bootstrap::furnish(&mut world, now);
        world
    }

    /// A server without any object.
    pub(crate) fn empty(seed: u64, plays: bool) -> Self {
        Self {
            store: Store::default(),
            registry: Registry::default(),
            ids: Ids::new(seed),
            settled: 0,
            alarms: Alarms::default(),
            rules: Rules::default(),
            issued: BTreeMap::new(),
            kubelet: Kubelet::default(),
            refused: Refused::default(),
            swept: None,
            allotted: Allotted::default(),
            plays,
            players: Players::default(),
            certificate: String::new(),
        }
    }

    /// Goes on with objects that were kept elsewhere: serves the kinds that they define, and has
    /// the controllers look at all of them once, which is how these know what they knew.
    pub(crate) fn recall(&mut self, now: Timestamp) {
        super::crds::serve(self);
        self.settled = self.store.version();
        super::crds::settle(self, now);
        if self.plays {
            super::workloads::recall(self, now);
        }
    }

    /// When the next controller has something to do.
    pub(crate) fn due(&self) -> Option<Timestamp> {
        self.alarms.next()
    }

    /// Lets the controllers look at an object at this time.
    pub(crate) fn wake(&mut self, table: &str, object: &Value, at: Timestamp) {
        let key = super::object::key(object);
        self.alarms.set((table.into(), key), at);
    }

    /// Answers a request.
    pub(crate) fn handle(&mut self, call: &Call, now: Timestamp) -> Reply {
        let answer = match self.dispatch(call, now) {
            Ok(Reply::Whole(answer)) => answer,
            Ok(stream) => return stream,
            Err(failure) => failure.into(),
        };
        let mut answer = if call.path.starts_with("/api") {
            encode::as_asked(&call.accept, answer)
        } else {
            answer
        };
        if call.method == Method::HEAD {
            answer.body = Bytes::new();
        }
        Reply::Whole(answer)
    }

    fn dispatch(&mut self, call: &Call, now: Timestamp) -> Result<Reply, Failure> {
        match Target::parse(&call.path) {
            Target::Other => Ok(Reply::Whole(openapi::other(self, call))),
            Target::Objects(place) => self.objects(call, &place, now),
            target if matches!(call.method, Method::GET | Method::POST) => Ok(Reply::Whole(
                discovery::answer(&self.registry, call, &target),
            )),
            _ => Err(Failure::method_not_allowed()),
        }
    }

    fn objects(&mut self, call: &Call, place: &Place, now: Timestamp) -> Result<Reply, Failure> {
        let served = self
            .registry
            .groups()
            .any(|(group, versions)| *group == place.group && versions.contains(&place.version));
        if !served {
            let known = self.registry.groups();
            let mut known = known.map(|(group, _)| group);
            return if known.any(|group| *group == place.group) {
                Err(Failure::no_resource())
            } else {
                Ok(Reply::Whole(not_a_page()))
            };
        }
        let found = self
            .registry
            .find(&place.group, &place.version, &place.plural);
        let kind = Arc::clone(found.ok_or_else(Failure::no_resource)?);
        if place.deeper || (!kind.namespaced && !place.namespace.is_empty()) {
            return Err(Failure::no_resource());
        }
        if kind.namespaced && place.namespace.is_empty() && !place.name.is_empty() {
            return Err(Failure::no_resource());
        }
        let reply = if place.subresource.is_empty() {
            self.resource(call, &kind, place, now)
        } else {
            self.subresource(call, &kind, place, now).map(Reply::Whole)
        };
        let deprecation = match &kind.custom {
            Some(custom) => custom.deprecation.clone(),
            None => deprecated(&kind).map(str::to_owned),
        };
        let Some(warning) = deprecation else {
            return reply;
        };
        // It is said before anything is looked at.
        match reply {
            Ok(Reply::Whole(mut answer)) => {
                answer.warnings.insert(0, warning);
                Ok(Reply::Whole(answer))
            }
            Err(mut failure) => {
                failure.warnings.insert(0, warning);
                Err(failure)
            }
            other => other,
        }
    }

    fn resource(
        &mut self,
        call: &Call,
        kind: &Arc<Kind>,
        place: &Place,
        now: Timestamp,
    ) -> Result<Reply, Failure> {
        let collection = place.name.is_empty();
        let everywhere = kind.namespaced && place.namespace.is_empty();
        let verb = match (&call.method, collection) {
            (&Method::GET, true) => "list",
            (&Method::GET, false) => "get",
            (&Method::POST, true) if !everywhere => "create",
            (&Method::PUT, false) => "update",
            (&Method::PATCH, false) => "patch",
            (&Method::DELETE, false) => "delete",
            (&Method::DELETE, true) if !everywhere => "deletecollection",
            _ => return Err(Failure::method_not_allowed()),
        };
        if !kind.allows(verb) {
            return Err(Failure::method_not_allowed());
        }
        let whole = match verb {
            "list" => return self.list(call, kind, &place.namespace, now),
            "get" => {
                let form = Form::of(call)?;
                let version = call.query.get("resourceVersion");
                if !version.is_empty() && version.parse::<u64>().is_err() {
                    return Err(Failure::plain(
                        500,
                        format!(
                            "resourceVersion: Invalid value: {shown}: strconv.ParseUint: parsing {shown}: invalid \
                             syntax",
                            shown = kubepkg_yaml::go_quote(version)
                        ),
                    ));
                }
                let object = self.read_late(kind, place, call.lag)?;
                Answer::bytes(200, encode::one(kind, &object, form, now))
            }
            "create" if kind.verbs == ["create"] => Self::review(call, kind)?,
            "create" => self.create(call, kind, &place.namespace, now)?,
            "update" => self.update(call, kind, place, now)?,
            "patch" => self.patch(call, kind, place, now)?,
            "delete" => self.delete(call, kind, place, now)?,
            _ => self.delete_collection(call, kind, &place.namespace, now)?,
        };
        Ok(Reply::Whole(whole))
    }

    fn subresource(
        &mut self,
        call: &Call,
        kind: &Arc<Kind>,
        place: &Place,
        now: Timestamp,
    ) -> Result<Answer, Failure> {
        let Some(sub) = kind.subresources.get(&place.subresource) else {
            return Err(Failure::no_resource());
        };
        let verb = match call.method {
            Method::GET => "get",
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            _ => return Err(Failure::method_not_allowed()),
        };
        if !sub.verbs.iter().any(|known| known == verb) {
            return Err(Failure::method_not_allowed());
        }
        match place.subresource.as_str() {
            "scale" => self.scale(call, kind, place, now),
            "status" | "finalize" | "resize" | "ephemeralcontainers" => match verb {
                "get" => {
                    let form = Form::of(call)?;
                    let object = self.read(kind, place)?;
                    Ok(Answer::bytes(200, encode::one(kind, &object, form, now)))
                }
                "update" => self.update(call, kind, place, now),
                _ => self.patch(call, kind, place, now),
            },
            "eviction" => self.evict(call, kind, place, now),
            "binding" => self.bind(call, kind, place, now),
            "token" => self.token(call, kind, place, now),
            other => {
                self.read(kind, place)?;
                Err(Failure::plain(
                    501,
                    format!("the sandbox has no containers, so there is no {other}"),
                ))
            }
        }
    }

    /// The object that a path names.
    pub(crate) fn read(&self, kind: &Kind, place: &Place) -> Result<Arc<Value>, Failure> {
        self.store
            .get(&kind.stored_in, &place.namespace, &place.name)
            .map(|object| convert::read(kind, object))
            .ok_or_else(|| Failure::not_found(kind, &place.name))
    }

    /// The same, as it was some changes of its resource ago.
    fn read_late(&self, kind: &Kind, place: &Place, lag: Lag) -> Result<Arc<Value>, Failure> {
        if lag == Lag::default() {
            return self.read(kind, place);
        }
        let version = self.store.version_before(&kind.stored_in, lag.0);
        let past = self.store.at(&kind.stored_in, version);
        let key = (place.namespace.clone(), place.name.clone());
        past.ok()
            .and_then(|past| past.get(&key).cloned())
            .ok_or_else(|| Failure::not_found(kind, &place.name))
    }

    /// Kinds that are questions: may I, who am I. Everybody may do everything here.
    fn review(call: &Call, kind: &Kind) -> Result<Answer, Failure> {
        let mut review = super::decode::small(call)?;
        review["kind"] = kind.kind.clone().into();
        review["apiVersion"] = kind.api_version().into();
        super::object::default(&mut review, "metadata", json!({}));
        review["status"] = match kind.kind.as_str() {
            "SelfSubjectRulesReview" => json!({
                "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
                "incomplete": false,
            }),
            "SelfSubjectReview" => json!({
                "userInfo": Asker::user_info(&call.user.0),
            }),
            "TokenReview" => json!({"user": {}, "error": "the sandbox knows one token"}),
            _ => json!({"allowed": true}),
        };
        Ok(Answer::json(201, &review))
    }
}

/// The answer to a path that no part of the server knows.
pub(crate) fn not_a_page() -> Answer {
    Answer::text(404, "404 page not found\n")
}

/// What the server says of built-in kinds that are deprecated.
fn deprecated(kind: &Kind) -> Option<&'static str> {
    match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "componentstatuses") => Some("v1 ComponentStatus is deprecated in v1.19+"),
        ("", "endpoints") => {
            Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice")
        }
        _ => None,
    }
}
