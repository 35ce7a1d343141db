//! Deleting: preconditions, grace, finalizers and what becomes of dependents.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::decode;
use super::encode::{self, Form};
use super::failure::{Cause, Failure, details};
use super::fields::{self, Reading};
use super::kind::Kind;
use super::list::{self, Filter};
use super::object;
use super::policies::{Asker, Change, Request};
use super::request::{Call, Place};
use super::world::{Answer, World};

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";
const MESSAGE: &str = "k8s.io/apimachinery/pkg/apis/meta/v1.DeleteOptions";

/// `DeleteOptions`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) uid: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) grace: Option<i64>,
    pub(crate) policy: Option<Policy>,
    pub(crate) dry_run: bool,
}

/// `propagationPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    Background,
    Foreground,
    Orphan,
}

/// What became of an object.
pub(crate) enum Outcome {
    /// It is gone; its last state.
    Gone(Arc<Value>),
    /// It is there until its grace has passed and its finalizers have run.
    Going(Arc<Value>),
}

impl Options {
    fn parse(call: &Call) -> Result<Self, Failure> {
        let body = decode::small(call)?;
        let kind = object::text(&body, "kind");
        let version = object::text(&body, "apiVersion");
        if !kind.is_empty() && kind != "DeleteOptions" {
            return Err(Failure::bad_request(format!(
                "no kind \"{kind}\" is registered for version \"{version}\" in scheme \
                 \"pkg/runtime/scheme.go:111\""
            )));
        }
        let mut read = body.clone();
        if let Some(fields) = read.as_object_mut() {
            fields.remove("kind");
            fields.remove("apiVersion");
        }
        fields::fit(MESSAGE, &mut read, Reading::Json)
            .map_err(|wrong| Failure::bad_request(wrong.first_in(&call.body)))?;
        // Options stand in the body or in the query, never in both.
        let asked = call.body.is_empty();
        let from_query =
            |name: &str| Some(call.query.get(name)).filter(|text| asked && !text.is_empty());
        let policy = match body["propagationPolicy"]
            .as_str()
            .or_else(|| from_query("propagationPolicy"))
        {
            None => None,
            Some("Background") => Some(Policy::Background),
            Some("Foreground") => Some(Policy::Foreground),
            Some("Orphan") => Some(Policy::Orphan),
            Some(other) => {
                let shown = format!("\"{other}\"");
                let known = ["Foreground", "Background", "Orphan", "nil"];
                let cause = Cause::unsupported("propagationPolicy", &shown, &known);
                return Err(Failure::invalid_options("DeleteOptions", cause));
            }
        };
        let orphan = match &body["orphanDependents"] {
            Value::Bool(orphan) => Some(*orphan),
            _ => from_query("orphanDependents").map(|_| call.query.flag("orphanDependents")),
        };
        let policy = match (policy, orphan) {
            (Some(_), Some(_)) => {
                let cause = Cause::invalid(
                    "propagationPolicy",
                    &body["propagationPolicy"],
                    "orphanDependents and deletionPropagation cannot be both set",
                );
                return Err(Failure::invalid_options("DeleteOptions", cause));
            }
            (None, Some(true)) => Some(Policy::Orphan),
            (None, Some(false)) => Some(Policy::Background),
            (policy, None) => policy,
        };
        let dry = object::list(&body["dryRun"]).filter_map(Value::as_str);
        let queried = call.query.all("dryRun").filter(|_| asked);
        let dry: Vec<&str> = dry.chain(queried).collect();
        if dry.iter().any(|value| *value != "All") {
            let shown = json!(dry).to_string();
            let cause = Cause::unsupported("dryRun", &shown, &["All"]);
            return Err(Failure::invalid_options("DeleteOptions", cause));
        }
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let grace = body["gracePeriodSeconds"]
            .as_i64()
            .or_else(|| from_query("gracePeriodSeconds")?.parse().ok());
        Ok(Self {
            uid: text(&body["preconditions"]["uid"]),
            version: text(&body["preconditions"]["resourceVersion"]),
            grace,
            policy,
            dry_run: !dry.is_empty(),
        })
    }
}

impl World {
    /// `DELETE` of one object.
    pub(crate) fn delete(
        &mut self,
        call: &Call,
        kind: &Arc<Kind>,
        place: &Place,
        now: Timestamp,
    ) -> Result<Answer, Failure> {
        let form = Form::of(call)?;
        let options = Options::parse(call)?;
        let protected = ["default", "kube-system", "kube-public"];
        if kind.is("", "namespaces") && protected.contains(&place.name.as_str()) {
            let why = "this namespace may not be deleted";
            return Err(Failure::forbidden(kind, &place.name, why));
        }
        let old = self.read(kind, place)?;
        check_preconditions(kind, &old, &options)?;
        let mut warnings = Vec::new();
        self.admit_deletion(kind, (&old, &place.name), call, &options, &mut warnings)?;
        let answer = match self.begin_delete(kind, &old, &options, now) {
            Outcome::Gone(last) if !returns_object(kind) => {
                let mut about = details(&kind.group, &kind.plural, &place.name);
                about["uid"] = object::uid(&last).into();
                Answer::json(
                    200,
                    &json!({
                        "kind": "Status", "apiVersion": "v1", "metadata": {},
                        "status": "Success", "details": about,
                    }),
                )
            }
            Outcome::Gone(object) | Outcome::Going(object) => {
                Answer::bytes(200, encode::one(kind, &object, form, now))
            }
        };
        Ok(Answer { warnings, ..answer })
    }

    /// Asks the policies for a deletion.
    fn admit_deletion(
        &self,
        kind: &Arc<Kind>,
        (old, name): (&Arc<Value>, &str),
        call: &Call,
        options: &Options,
        warnings: &mut Vec<String>,
    ) -> Result<(), Failure> {
        let asker = Asker {
            dry_run: options.dry_run,
            ..Asker::of(call)
        };
        let request = Request {
            kind,
            subresource: "",
            shape: None,
            name,
            change: Change::Delete(old),
            asker: &asker,
        };
        self.admit(&request, warnings)
    }

    /// `DELETE` of a collection.
    pub(crate) fn delete_collection(
        &mut self,
        call: &Call,
        kind: &Arc<Kind>,
        namespace: &str,
        now: Timestamp,
    ) -> Result<Answer, Failure> {
        let form = Form::of(call)?;
        for parameter in ["limit", "timeoutSeconds"] {
            list::integer(call.query.get(parameter))?;
        }
        let filter = Filter::parse(kind, namespace, &call.query)?;
        list::check_versions(&call.query, false)?;
        let options = Options::parse(call)?;
        let (chosen, mut metadata) = self.page(&filter, call)?;
        if kind.custom.is_some() && form == Form::Plain {
            object::default(&mut metadata, "continue", "");
        }
        let mut warnings = Vec::new();
        for object in &chosen {
            // A page may be older than what is there.
            let (namespace, name) = object::key(object);
            let Some(found) = self.store.get(&kind.stored_in, &namespace, &name).cloned() else {
                continue;
            };
            check_preconditions(kind, &found, &options)?;
            self.admit_deletion(kind, (&found, ""), call, &options, &mut warnings)?;
            self.begin_delete(kind, &found, &options, now);
        }
        let answer = Answer::bytes(200, encode::many(kind, &chosen, &metadata, form, now));
        Ok(Answer { warnings, ..answer })
    }

    /// Deletes, or marks as going.
    pub(crate) fn begin_delete(
        &mut self,
        kind: &Arc<Kind>,
        old: &Arc<Value>,
        options: &Options,
        now: Timestamp,
    ) -> Outcome {
        let mut new = Value::clone(old);
        let mut finalizers = finalizers_for(old, options.policy);
        let definition = kind.is("apiextensions.k8s.io", "customresourcedefinitions");
        if definition
            && !object::terminating(old)
            && !finalizers.iter().any(|one| one == super::crds::FINALIZER)
        {
            finalizers.push(super::crds::FINALIZER.to_owned());
        }
        let grace = grace_of(kind, old, options);
        let namespace = kind.is("", "namespaces");
        if namespace {
            new["status"]["phase"] = "Terminating".into();
        }
        let held = !finalizers.is_empty()
            || grace > 0
            || (namespace && object::list(&old["spec"]["finalizers"]).next().is_some());
        if !held {
            if options.dry_run {
                return Outcome::Gone(Arc::clone(old));
            }
            let key = object::key(old);
            let last = self.store.remove(&kind.stored_in, &key);
            self.after_write(kind);
            return Outcome::Gone(last.unwrap_or_else(|| Arc::clone(old)));
        }
        object::set_finalizers(&mut new, finalizers);
        if object::terminating(old) {
            let left = old["metadata"]["deletionGracePeriodSeconds"]
                .as_i64()
                .unwrap_or(0);
            if grace < left {
                mark(&mut new, grace, now);
            }
        } else {
            if namespace || definition {
                object::set(&mut new, "deletionTimestamp", object::time(now));
            } else {
                mark(&mut new, grace, now);
            }
            if kind.has_generation() && !definition {
                let generation = old["metadata"]["generation"].as_i64().unwrap_or(0);
                object::set(&mut new, "generation", generation + 1);
            }
        }
        if options.dry_run || new == **old {
            return Outcome::Going(Arc::new(new));
        }
        Outcome::Going(self.store.put(&kind.stored_in, new))
    }
}

fn mark(object: &mut Value, grace: i64, now: Timestamp) {
    let until = now + SignedDuration::from_secs(grace.clamp(0, 1_000_000_000));
    object::set(object, "deletionTimestamp", object::time(until));
    object::set(object, "deletionGracePeriodSeconds", grace);
}

/// The finalizers that a policy leaves or adds.
fn finalizers_for(object: &Value, policy: Option<Policy>) -> Vec<String> {
    let mut all = object::finalizers(object);
    let wanted = match policy {
        None => return all,
        Some(Policy::Background) => None,
        Some(Policy::Foreground) => Some(FOREGROUND),
        Some(Policy::Orphan) => Some(ORPHAN),
    };
    all.retain(|one| Some(one.as_str()) == wanted || (one != FOREGROUND && one != ORPHAN));
    if let Some(wanted) = wanted
        && !all.iter().any(|one| one == wanted)
    {
        all.push(wanted.to_owned());
    }
    all
}

/// Only pods have grace, and only those that somebody runs.
fn grace_of(kind: &Kind, object: &Value, options: &Options) -> i64 {
    if !kind.is("", "pods") {
        return 0;
    }
    let phase = object::text(&object["status"], "phase");
    let idle = object::text(&object["spec"], "nodeName").is_empty()
        || matches!(phase, "Succeeded" | "Failed");
    if idle {
        return 0;
    }
    let own = object["spec"]["terminationGracePeriodSeconds"].as_i64();
    options.grace.or(own).unwrap_or(30).max(0)
}

pub(crate) fn check_preconditions(
    kind: &Kind,
    object: &Value,
    options: &Options,
) -> Result<(), Failure> {
    let name = object::name(object);
    if let Some(wanted) = &options.uid
        && wanted != object::uid(object)
    {
        let why = format!(
            "the UID in the precondition ({wanted}) does not match the UID in record ({}). The \
             object might have been deleted and then recreated",
            object::uid(object)
        );
        return Err(Failure::precondition(kind, name, &why));
    }
    if let Some(wanted) = &options.version
        && wanted != object::meta(object, "resourceVersion")
    {
        let why = format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the \
             ResourceVersion in record ({}). The object might have been modified",
            object::meta(object, "resourceVersion")
        );
        return Err(Failure::precondition(kind, name, &why));
    }
    Ok(())
}

/// Kinds that answer a deletion with the object and not with a `Status`
/// (`ReturnDeletedObject` in `pkg/registry`).
fn returns_object(kind: &Kind) -> bool {
    const RETURNED: [&str; 7] = [
        "persistentvolumeclaims",
        "persistentvolumes",
        "pods",
        "podtemplates",
        "resourcequotas",
        "serviceaccounts",
        "services",
    ];
    let storage = kind.group == "storage.k8s.io";
    kind.custom.is_none()
        && (kind.group.is_empty() && RETURNED.contains(&kind.plural.as_str()) || storage)
}
