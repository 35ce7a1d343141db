//! Is an object ready? A pure question on its JSON: first what holds for every kind (being deleted,
//! generation observed, Reconciling, Stalled), then a table by group and kind, then a `Ready` condition, and
//! else yes. On top stand Helm's three readings: waiting for a release, with or without its jobs, and
//! waiting for hooks. Missing objects are a case of their own (`NotFound`), not an error; an object whose
//! fields have impossible types is an error, as in the original.
//! Source of the rules: kstatus of `fluxcd/cli-utils` 1.2.2, which Helm 4.3.1 uses, and Helm's
//! `internal/statusreaders` and `pkg/kube/statuswait.go`.

mod crd;
mod fields;
mod job;
mod pod;
mod service;
mod workload;

use fields::Conditions;
use jiff::Timestamp;
use serde_json::Value;

/// How far an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Being worked on.
    InProgress,
    /// Will not become ready without help.
    Failed,
    /// Ready.
    Current,
    /// Being deleted.
    Terminating,
    /// Does not exist.
    NotFound,
    /// Cannot be told.
    Unknown,
}

impl Status {
    /// The word that Helm's messages use.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::InProgress => "InProgress",
            Status::Failed => "Failed",
            Status::Current => "Current",
            Status::Terminating => "Terminating",
            Status::NotFound => "NotFound",
            Status::Unknown => "Unknown",
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A condition that says why: `Reconciling` or `Stalled`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// `Reconciling` or `Stalled`.
    pub kind: &'static str,
    /// A word for programs.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
}

/// The answer to "is it ready?".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// How far the object is.
    pub status: Status,
    /// A sentence for people.
    pub message: String,
    /// Why it is not ready, when the rules say.
    pub cause: Option<Cause>,
}

impl Readiness {
    pub(crate) fn current(message: impl Into<String>) -> Self {
        Self {
            status: Status::Current,
            message: message.into(),
            cause: None,
        }
    }

    pub(crate) fn in_progress(reason: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        let cause = Cause {
            kind: "Reconciling",
            reason: reason.to_owned(),
            message: message.clone(),
        };
        Self {
            status: Status::InProgress,
            message,
            cause: Some(cause),
        }
    }

    pub(crate) fn failed(reason: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        let cause = Cause {
            kind: "Stalled",
            reason: reason.to_owned(),
            message: message.clone(),
        };
        Self {
            status: Status::Failed,
            message,
            cause: Some(cause),
        }
    }

    /// The answer for an object that does not exist.
    pub fn not_found() -> Self {
        Self {
            status: Status::NotFound,
            message: "Resource not found".to_owned(),
            cause: None,
        }
    }
}

/// Why an object's readiness can't be told.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AssessError {
    /// A field that must be text or a whole number is something else.
    #[error(
        "looking up {path} from resource: {accessor} accessor error: {found} is of the type {go_type}, expected {expected}"
    )]
    WrongType {
        /// Dotted path of the field.
        path: String,
        /// Dotted path as the accessor writes it.
        accessor: String,
        /// The value that was found.
        found: String,
        /// Its type.
        go_type: &'static str,
        /// The type that was expected.
        expected: &'static str,
    },
    /// The conditions are not a list of conditions.
    #[error("{0}")]
    Conditions(String),
    /// A Pod in a phase that does not exist.
    #[error("unknown phase {0}")]
    UnknownPhase(String),
}

/// Which reading applies while waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// A release's objects; a running Job counts as ready.
    Release,
    /// A release's objects; a Job must be complete.
    ReleaseWithJobs,
    /// A hook's objects; only Jobs and Pods are waited for, and they must have ended well.
    Hook,
}

/// Tells how far an object is, as `kubectl`-like tools do (kstatus).
///
/// # Errors
/// When a field that decides has an impossible type.
pub fn assess(object: &Value, now: Timestamp) -> Result<Readiness, AssessError> {
    if let Some(answer) = generic(object)? {
        return Ok(answer);
    }
    let api_version = fields::text(object, &["apiVersion"]).unwrap_or_default();
    let kind = fields::text(object, &["kind"]).unwrap_or_default();
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let always = || Ok(Readiness::current("Resource is always ready"));
    match (group, kind) {
        ("", "Secret" | "ConfigMap") | ("batch", "CronJob") => always(),
        ("", "Service") => Ok(service::service(object)),
        ("", "PersistentVolumeClaim") => Ok(service::claim(object)),
        ("", "Pod") => pod::pod(object, now),
        ("apps", "StatefulSet") => Ok(workload::stateful_set(object)),
        ("apps" | "extensions", "DaemonSet") => workload::daemon_set(object),
        ("apps" | "extensions", "Deployment") => workload::deployment(object),
        ("apps" | "extensions", "ReplicaSet") => workload::replica_set(object),
        ("policy", "PodDisruptionBudget") => {
            Ok(Readiness::current("AllowedDisruptions has been computed."))
        }
        ("batch", "Job") => job::job(object),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => crd::crd(object),
        _ => ready_condition(object),
    }
}

/// Tells how far an object is in one of Helm's readings.
///
/// # Errors
/// When a field that decides has an impossible type.
pub fn assess_as(
    object: &Value,
    reading: Reading,
    now: Timestamp,
) -> Result<Readiness, AssessError> {
    let api_version = fields::text(object, &["apiVersion"]).unwrap_or_default();
    let kind = fields::text(object, &["kind"]).unwrap_or_default();
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    match (reading, group, kind) {
        (Reading::ReleaseWithJobs | Reading::Hook, "batch", "Job") => job::completed_job(object),
        (Reading::Hook, "", "Pod") => Ok(pod::completed_pod(object)),
        (Reading::Hook, _, _) => Ok(Readiness::current("Resource is current")),
        _ => assess(object, now),
    }
}

/// One status for many: failed if any failed, else unknown if any is unknown, else the desired one if all
/// have it, else in progress. No object at all is as desired.
pub fn aggregate(statuses: &[Status], desired: Status) -> Status {
    if statuses.contains(&Status::Failed) {
        Status::Failed
    } else if statuses.contains(&Status::Unknown) {
        Status::Unknown
    } else if statuses.iter().all(|status| *status == desired) {
        desired
    } else {
        Status::InProgress
    }
}

/// The rules that hold for every kind.
fn generic(object: &Value) -> Result<Option<Readiness>, AssessError> {
    let deleted = fields::strict_text(object, &["metadata", "deletionTimestamp"])?;
    if deleted.is_some_and(|text| !text.is_empty()) {
        return Ok(Some(Readiness {
            status: Status::Terminating,
            message: "Resource scheduled for deletion".to_owned(),
            cause: None,
        }));
    }
    if let Some(generation) = fields::strict_int(object, &["metadata", "generation"])?
        && let Some(observed) = fields::strict_int(object, &["status", "observedGeneration"])?
        && observed != generation
    {
        let kind = fields::text(object, &["kind"]).unwrap_or_default();
        return Ok(Some(Readiness::in_progress(
            "LatestGenerationNotObserved",
            format!(
                "{kind} generation is {generation}, but latest observed generation is {observed}"
            ),
        )));
    }
    for condition in &Conditions::of(object)?.0 {
        if condition.status != "True" {
            continue;
        }
        if condition.kind == "Reconciling" {
            return Ok(Some(Readiness::in_progress(
                &condition.reason,
                &condition.message,
            )));
        }
        if condition.kind == "Stalled" {
            return Ok(Some(Readiness::failed(
                &condition.reason,
                &condition.message,
            )));
        }
    }
    Ok(None)
}

fn ready_condition(object: &Value) -> Result<Readiness, AssessError> {
    for condition in &Conditions::of(object)?.0 {
        match (condition.kind.as_str(), condition.status.as_str()) {
            ("Ready", "True") => return Ok(Readiness::current("Resource is Ready")),
            ("Ready", "False" | "Unknown") => {
                return Ok(Readiness::in_progress(
                    &condition.reason,
                    &condition.message,
                ));
            }
            _ => {}
        }
    }
    Ok(Readiness::current("Resource is current"))
}
