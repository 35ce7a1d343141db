//! What can go wrong: with an operation (a [`Failure`], which is in the record), and with performing it
//! (an [`OperationError`], after which it can often be tried again).

use crate::apply::{ApplyError, Target};
use crate::cluster::ApiError;
use crate::objects::ManifestError;
use crate::plan::OperationKind;
use crate::readiness::Status;
use crate::release::{RecordError, ReleaseStatus};
use crate::storage::StorageError;
use jiff::Timestamp;

/// Something that happened to an object or to one of its Pods: an event of the cluster, or what a container
/// waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectEvent {
    /// Kind of the object that it happened to.
    pub kind: String,
    /// Name of that object.
    pub name: String,
    /// A word for programs, such as `FailedScheduling` or `ImagePullBackOff`.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
    /// How often it happened.
    pub count: u64,
    /// When it happened last.
    pub last: Option<Timestamp>,
}

/// How far an awaited object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectStatus {
    /// `apiVersion` of the object.
    pub api_version: String,
    /// Kind of the object.
    pub kind: String,
    /// Namespace of the object; empty when it lives in none.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// How far it is.
    pub status: Status,
    /// A word for programs that says why it is not ready; empty when there is none.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
    /// What last happened to it and its Pods, the newest last, when the operation has failed. While it is awaited, what
    /// containers of its Pods wait for, as far as Pods are looked at
    /// ([`ReleaseOptions::image_patience`](crate::ReleaseOptions::image_patience)).
    pub events: Vec<ObjectEvent>,
}

impl ObjectStatus {
    pub(crate) fn of(target: &Target<'_>, status: Status, message: String) -> Self {
        Self {
            api_version: target.object.api_version.clone(),
            kind: target.object.kind.clone(),
            namespace: target.namespace.clone(),
            name: target.object.name.clone(),
            status,
            reason: String::new(),
            message,
            events: Vec::new(),
        }
    }
}

/// Kinds of failure, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureReason {
    /// Something was not ready, or not gone, in time.
    Timeout,
    /// Something will not become ready.
    NotReady,
    /// A hook failed.
    Hook,
    /// An object belongs to somebody else.
    Foreign,
    /// Another field manager holds fields with other values.
    Conflict,
    /// The API server refused an object.
    Refused,
    /// A kind is not served.
    NoKind,
    /// The record can't be stored or read.
    Record,
    /// The caller gave up.
    Cancelled,
}

/// Why an operation failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// For programs.
    pub reason: FailureReason,
    /// For people, in Helm's words.
    pub message: String,
    /// The objects that were not ready.
    pub objects: Vec<ObjectStatus>,
}

impl Failure {
    pub(crate) fn new(reason: FailureReason, message: String) -> Self {
        Self {
            reason,
            message,
            objects: Vec::new(),
        }
    }

    /// Objects that will not become ready. Text of Helm's `statuswait.go`.
    pub(crate) fn not_ready(objects: Vec<ObjectStatus>) -> Self {
        let message = lines(&objects, "not ready");
        Self {
            reason: FailureReason::NotReady,
            message,
            objects,
        }
    }

    /// Objects that were not ready, or still there, at the deadline.
    pub(crate) fn timeout(objects: Vec<ObjectStatus>, removal: bool) -> Self {
        let mut message = lines(&objects, if removal { "still exists" } else { "not ready" });
        if !message.is_empty() {
            message.push('\n');
        }
        message.push_str("context deadline exceeded");
        Self {
            reason: FailureReason::Timeout,
            message,
            objects,
        }
    }
}

fn lines(objects: &[ObjectStatus], what: &str) -> String {
    objects
        .iter()
        .map(|object| {
            format!(
                "resource {}/{}/{} {what}. status: {}, message: {}",
                object.kind, object.namespace, object.name, object.status, object.message
            )
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// Why an operation can't begin or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OperationError {
    /// The API server can't be asked.
    #[error("API server: {0}")]
    Api(#[from] ApiError),
    /// Release records can't be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// A record or its labels are not acceptable.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// An object could not be written or checked.
    #[error(transparent)]
    Apply(Box<ApplyError>),
    /// The name of the release is not acceptable.
    #[error("release name {name:?}: {source}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        #[source]
        source: crate::NameError,
    },
    /// A release of that name exists.
    #[error("release name check failed: cannot reuse a name that is still in use")]
    NameInUse {
        /// Name of the release.
        name: String,
        /// Its newest revision.
        revision: u32,
        /// Where that stands.
        status: ReleaseStatus,
    },
    /// Another operation is under way.
    #[error("another operation (install/upgrade/rollback) is in progress")]
    Pending {
        /// Name of the release.
        name: String,
        /// Its newest revision.
        revision: u32,
        /// Where that stands.
        status: ReleaseStatus,
        /// When its record was last written.
        since: Option<Timestamp>,
        /// The operation, when it is one of this crate that can be resumed.
        operation: Option<OperationKind>,
    },
    /// An interrupted operation is too young to be given up.
    #[error("release {name} is {status} since {}; it can be given up after {wait_seconds} more seconds", since.map_or_else(|| "an unknown time".to_owned(), |since| since.to_string()))]
    TooYoung {
        /// Name of the release.
        name: String,
        /// Where its newest revision stands.
        status: ReleaseStatus,
        /// When its record was last written.
        since: Option<Timestamp>,
        /// Seconds until it is old enough.
        wait_seconds: i64,
    },
    /// There is no such release.
    #[error("release: not found")]
    NotFound {
        /// Name of the release.
        name: String,
        /// Namespace of the release.
        namespace: String,
    },
    /// There is no revision to upgrade from.
    #[error("{name:?} has no deployed releases")]
    NoDeployed {
        /// Name of the release.
        name: String,
    },
    /// There is no such revision.
    #[error("release has no {revision} version")]
    NoRevision {
        /// Name of the release.
        name: String,
        /// The revision.
        revision: u32,
    },
    /// The release was removed, its history is kept.
    #[error("the release named {name:?} is already deleted")]
    AlreadyDeleted {
        /// Name of the release.
        name: String,
    },
    /// There is no operation to resume.
    #[error("release {name} has no operation to resume: revision {revision} is {status}")]
    NothingToResume {
        /// Name of the release.
        name: String,
        /// Its newest revision.
        revision: u32,
        /// Where that stands.
        status: ReleaseStatus,
    },
    /// Somebody else has written the record of the release.
    #[error("release {name} was taken over by another process")]
    Overtaken {
        /// Name of the release.
        name: String,
    },
    /// The chart can't be rendered.
    #[error(transparent)]
    Render(Box<crate::RenderError>),
    /// The version that the server reports is none.
    #[error("could not get server version from Kubernetes: {0}")]
    ServerVersion(#[from] crate::KubeVersionError),
    /// What was rendered, or recorded, is not a list of objects.
    #[error("unable to build kubernetes objects from {what}: {source}")]
    Manifest {
        /// `release manifest`, a hook, or a file of `crds/`.
        what: String,
        /// What is wrong.
        #[source]
        source: ManifestError,
    },
    /// The record could not be finished.
    #[error("release record was refused: {reason}")]
    Refused {
        /// Why.
        reason: String,
    },
    /// The runtime shut down while a chart was being rendered.
    #[error("rendering was interrupted")]
    Interrupted,
}

impl OperationError {
    /// True when trying again later may help.
    pub fn is_transient(&self) -> bool {
        match self {
            OperationError::Api(error) => error.is_transient(),
            OperationError::Storage(error) => error.is_transient(),
            OperationError::Apply(error) => error.is_transient(),
            OperationError::Interrupted => true,
            _ => false,
        }
    }
}

impl From<crate::RenderError> for OperationError {
    fn from(error: crate::RenderError) -> Self {
        Self::Render(Box::new(error))
    }
}

impl From<ApplyError> for OperationError {
    fn from(error: ApplyError) -> Self {
        Self::Apply(Box::new(error))
    }
}

/// How a step ended early.
pub(crate) enum StepError {
    /// The operation stays where it is.
    Stopped(OperationError),
    /// The operation has failed.
    Failed(Failure),
}

impl From<ApiError> for StepError {
    fn from(error: ApiError) -> Self {
        if error.is_transient() {
            Self::Stopped(error.into())
        } else {
            Self::Failed(Failure::new(FailureReason::Refused, error.to_string()))
        }
    }
}

impl From<StorageError> for StepError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Record(RecordError::TooLarge { .. }) => {
                Self::Failed(Failure::new(FailureReason::Record, error.to_string()))
            }
            // Nothing of ours can be written, so there is no record of the failure either.
            other => Self::Stopped(other.into()),
        }
    }
}

impl From<ApplyError> for StepError {
    fn from(error: ApplyError) -> Self {
        if error.is_transient() {
            return Self::Stopped(error.into());
        }
        Self::Failed(Failure::new(reason_of(&error), error.to_string()))
    }
}

/// The kind of failure that an apply error is.
pub(crate) fn reason_of(error: &ApplyError) -> FailureReason {
    match error {
        ApplyError::Foreign { .. } => FailureReason::Foreign,
        ApplyError::Conflict { .. } => FailureReason::Conflict,
        ApplyError::NoKind { .. } => FailureReason::NoKind,
        _ => FailureReason::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::{Failure, ObjectStatus};
    use crate::readiness::Status;

    /// Text of Helm 4.3.1 (`pkg/kube/statuswait.go`).
    #[test]
    fn words_a_timeout_as_helm_does() {
        let object = ObjectStatus {
            api_version: "apps/v1".to_owned(),
            kind: "Deployment".to_owned(),
            namespace: "ns".to_owned(),
            name: "web".to_owned(),
            status: Status::InProgress,
            reason: "LessReplicas".to_owned(),
            message: "Replicas: 0/1".to_owned(),
            events: Vec::new(),
        };
        assert_eq!(
            Failure::timeout(vec![object], false).message,
            "resource Deployment/ns/web not ready. status: InProgress, message: Replicas: 0/1\ncontext deadline exceeded"
        );
    }
}
