//! What the Helm SDK answers, in the words of the trait.
//!
//! A failure that was recorded is told by its description, so that the call that made it and every later one, in this
//! process or another, say the same. What can't be begun (a chart that can't be rendered, values of a wrong type) is
//! recorded nowhere: it fails again in the same way until chart or values change, and is told to be permanent.

use std::fmt::Write as _;

use kubepkg_api::chain;
use kubepkg_helm::{
    ApplyError, ObjectStatus, Operation, OperationError, OperationKind, Outcome as HelmOutcome,
    Release, RenderError, StorageError,
};

use super::running::has_record;
use crate::{BackendError, Outcome, Placement};

/// Objects that a message names; the rest is counted.
const NAMED: usize = 3;

/// The message for what is awaited.
pub(super) fn waiting(objects: &[ObjectStatus]) -> String {
    let mut text = String::from("waiting for ");
    for (index, object) in objects.iter().take(NAMED).enumerate() {
        let separator = if index == 0 { "" } else { "; " };
        let _ = write!(text, "{separator}{} ", object.kind);
        if !object.namespace.is_empty() {
            let _ = write!(text, "{}/", object.namespace);
        }
        let _ = write!(text, "{}", object.name);
        let why = why(object);
        if !why.is_empty() {
            let _ = write!(text, " ({why})");
        }
    }
    if objects.len() > NAMED {
        let _ = write!(text, " and {} more", objects.len() - NAMED);
    }
    text
}

/// Why an object is not ready: its own words, and what was last seen of its Pods. Of that the reason alone, because
/// messages change with every try, and each change would be written into a status.
fn why(object: &ObjectStatus) -> String {
    let own = match object.message.as_str() {
        "" => object.reason.clone(),
        message => message.to_owned(),
    };
    let seen = object.events.last();
    let seen = seen.map(|event| format!("{} {}: {}", event.kind, event.name, event.reason));
    let parts = [Some(own).filter(|own| !own.is_empty()), seen];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The end of an operation.
pub(super) fn finished(operation: &Operation, end: HelmOutcome) -> Outcome {
    for warning in &end.warnings {
        tracing::info!(
            release = end.release.name,
            namespace = end.release.namespace,
            warning
        );
    }
    let Some(failure) = end.failure else {
        return match end.kind {
            OperationKind::Uninstall => Outcome::Gone,
            _ => Outcome::Ready {
                revision: u64::from(end.release.revision),
            },
        };
    };
    tracing::debug!(release = end.release.name, ?failure, "operation failed");
    Outcome::Failed {
        revision: has_record(operation).then(|| u64::from(end.release.revision)),
        message: one_line(&end.release.info.description),
        permanent: false,
    }
}

/// A failure that was recorded before.
pub(super) fn failed_before(release: &Release) -> Outcome {
    Outcome::Failed {
        revision: Some(u64::from(release.revision)),
        message: one_line(&release.info.description),
        permanent: false,
    }
}

/// An operation that can't begin: it failed, or it can be begun later.
pub(super) fn after_begin(
    placement: &Placement,
    error: OperationError,
) -> Result<Outcome, BackendError> {
    let permanent = match &error {
        OperationError::Render(error) => depends_on_chart_alone(error),
        OperationError::Manifest { .. } | OperationError::Name { .. } => true,
        // Another package can bring the kind, or give up the object.
        OperationError::Apply(error)
            if matches!(
                **error,
                ApplyError::NoKind { .. } | ApplyError::Foreign { .. }
            ) =>
        {
            false
        }
        _ => return Err(problem(placement, error)),
    };
    Ok(Outcome::Failed {
        revision: None,
        message: one_line(&chain(&error)),
        permanent,
    })
}

/// Whether the same chart and values fail on every cluster, today and tomorrow.
fn depends_on_chart_alone(error: &RenderError) -> bool {
    match error {
        RenderError::KubeVersion { .. } => false,
        // The template asked the cluster, and the cluster did not answer.
        RenderError::Execute { message, .. } => !message.contains("error calling lookup"),
        _ => true,
    }
}

/// A call that was not carried out.
pub(super) fn problem(placement: &Placement, error: OperationError) -> BackendError {
    let what = format!("release {placement}");
    let message = one_line(&chain(&error));
    match error {
        OperationError::NoRevision { revision, .. } => BackendError::RevisionGone {
            placement: placement.clone(),
            revision: u64::from(revision),
        },
        // Somebody else was there first: the next look shows what is there now.
        OperationError::Overtaken { .. }
        | OperationError::NameInUse { .. }
        | OperationError::Pending { .. }
        | OperationError::TooYoung { .. }
        | OperationError::NotFound { .. }
        | OperationError::NothingToResume { .. }
        | OperationError::NoDeployed { .. }
        | OperationError::AlreadyDeleted { .. }
        | OperationError::Storage(StorageError::Exists { .. } | StorageError::Changed { .. }) => {
            BackendError::Unavailable { what, message }
        }
        // Somebody else removed the record, or the namespace with all of them: the same.
        OperationError::Storage(StorageError::Api { source, .. }) if source.is_not_found() => {
            BackendError::Unavailable { what, message }
        }
        OperationError::Storage(StorageError::Record(_)) => BackendError::Refused {
            what,
            message: format!(
                "{message}; restore that Secret, or delete it: the objects stay, and the next install takes them over"
            ),
        },
        error if error.is_transient() => BackendError::Unavailable { what, message },
        _ => BackendError::Refused { what, message },
    }
}

/// The releases of a package that could not be listed.
pub(super) fn unlisted(uid: &str, error: &OperationError) -> BackendError {
    let what = format!("listing the releases of the package with uid {uid}");
    let message = one_line(&chain(error));
    if error.is_transient() {
        BackendError::Unavailable { what, message }
    } else {
        BackendError::Refused { what, message }
    }
}

/// Something that passes.
pub(super) fn unavailable(what: String, message: String) -> BackendError {
    BackendError::Unavailable { what, message }
}

/// Helm's texts have several lines; a condition of an object shows one.
fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    lines.join("; ")
}

#[cfg(test)]
mod tests {
    use kubepkg_helm::{ObjectEvent, Status};

    use super::*;

    fn object(name: &str) -> ObjectStatus {
        ObjectStatus {
            api_version: "apps/v1".to_owned(),
            reason: String::new(),
            events: Vec::new(),
            kind: "Deployment".into(),
            namespace: "demo".into(),
            name: name.into(),
            status: Status::InProgress,
            message: "Replicas: 0/1".into(),
        }
    }

    #[test]
    fn names_what_is_awaited_and_counts_the_rest() {
        assert_eq!(
            waiting(&[object("a")]),
            "waiting for Deployment demo/a (Replicas: 0/1)"
        );
        let pulling = ObjectEvent {
            kind: "Pod".into(),
            name: "a-1".into(),
            reason: "ImagePullBackOff".into(),
            message: "Back-off 20s pulling image".into(),
            count: 1,
            last: None,
        };
        let held = ObjectStatus {
            events: vec![pulling],
            ..object("a")
        };
        assert_eq!(
            waiting(&[held]),
            "waiting for Deployment demo/a (Replicas: 0/1; Pod a-1: ImagePullBackOff)"
        );
        let many: Vec<_> = ["a", "b", "c", "d", "e"].map(object).into();
        assert!(waiting(&many).ends_with("; Deployment demo/c (Replicas: 0/1) and 2 more"));
    }

    #[test]
    fn what_can_not_be_rendered_fails_for_good_a_missing_kind_does_not() {
        let placement = Placement {
            namespace: "demo".into(),
            release: "a".into(),
        };
        let names = vec!["redis".to_owned()];
        let outcome = after_begin(
            &placement,
            RenderError::MissingDependencies { names }.into(),
        )
        .unwrap();
        assert!(matches!(
            outcome,
            Outcome::Failed {
                permanent: true,
                revision: None,
                ..
            }
        ));
        let no_kind = ApplyError::NoKind {
            namespace: String::new(),
            name: "x".into(),
            api_version: "example.org/v1".into(),
            kind: "Widget".into(),
        };
        let outcome = after_begin(&placement, no_kind.into()).unwrap();
        assert!(matches!(
            outcome,
            Outcome::Failed {
                permanent: false,
                ..
            }
        ));
        let overtaken = OperationError::Overtaken { name: "a".into() };
        assert!(
            after_begin(&placement, overtaken)
                .unwrap_err()
                .is_transient()
        );
    }

    #[test]
    fn texts_are_one_line() {
        assert_eq!(one_line("a\n\n  b\n"), "a; b");
    }
}
