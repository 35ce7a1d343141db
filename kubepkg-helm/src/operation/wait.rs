//! Steps that wait: for objects to be ready, and for deleted ones to be gone. Each call looks once. The
//! first look judges what the apply returned and costs nothing; from then on what is not ready is watched, so
//! that later looks cost nothing either; objects once found ready are not looked at again. Where watching is
//! not possible, objects are read.
//! Source of the rules: Helm 4.3.1 `pkg/kube/statuswait.go`: something that has failed does not hold up the
//! rest, and is reported when the rest is ready. Unlike there, what can't succeed any more (a Job that failed,
//! a Deployment past its progress deadline, an image that can't be pulled) ends the waiting at once.

use super::error::{Failure, ObjectStatus, StepError};
use super::{Done, Operation};
use crate::apply::{ApplyError, Target};
use crate::cluster::{ApiError, Changes, Following, Seen, Subject};
use crate::objects::ManifestObject;
use crate::progress::Wait;
use crate::readiness::{AssessError, Readiness, Reading, Status, assess_as};
use futures::StreamExt as _;
use jiff::Timestamp;
use serde_json::Value;
use std::time::Duration;

/// How far an object is, as a row of a report.
pub(super) fn judge(
    target: &Target<'_>,
    live: Option<&Value>,
    reading: Reading,
    now: Timestamp,
    assess: fn(&Value, Reading, Timestamp) -> Result<Readiness, AssessError>,
) -> ObjectStatus {
    let answer = match live.map(|live| assess(live, reading, now)) {
        None => Readiness::not_found(),
        Some(Ok(answer)) => answer,
        Some(Err(error)) => {
            return ObjectStatus::of(target, Status::Unknown, error.to_string());
        }
    };
    ObjectStatus {
        reason: answer.cause.map(|cause| cause.reason).unwrap_or_default(),
        ..ObjectStatus::of(target, answer.status, answer.message)
    }
}

/// How objects are read while waiting for a release.
pub(super) fn reading_of(wait: Wait) -> Reading {
    match wait {
        Wait::ReadyWithJobs => Reading::ReleaseWithJobs,
        Wait::Ready | Wait::Hooks => Reading::Release,
    }
}

/// Helm does not wait for Deployments that are paused.
pub(super) fn is_paused(object: &ManifestObject) -> bool {
    object.kind == "Deployment"
        && object.group() == "apps"
        && object.value.pointer("/spec/paused") == Some(&Value::Bool(true))
}

/// What will not pass by itself.
fn is_final(status: &ObjectStatus) -> bool {
    status.status == Status::Failed
        && matches!(
            status.reason.as_str(),
            "JobFailed" | "PodFailed" | "ProgressDeadlineExceeded"
        )
}

/// A look at one object.
pub(super) struct Look<'a> {
    pub(super) target: Target<'a>,
    pub(super) live: Option<Value>,
}

impl Look<'_> {
    pub(super) fn subject(&self) -> Option<Subject> {
        Some(Subject {
            path: self.target.path(),
            collection: self.target.resource.collection(&self.target.namespace),
            name: self.target.object.name.clone(),
            live: self.live.clone()?,
        })
    }
}

impl Operation {
    pub(super) async fn await_ready(&mut self) -> Result<Done, StepError> {
        let reading = reading_of(self.progress.settings.wait);
        let mut fresh = std::mem::take(&mut self.live);
        let open: Vec<(usize, Option<Value>)> = (0..self.objects.len())
            .filter(|index| !self.settled.contains(index))
            .map(|index| (index, fresh.remove(&index)))
            .collect();
        let helm = self.helm.clone();
        let this = &*self;
        let looks = open.into_iter().filter_map(|(index, live)| {
            let object = this.objects.get(index)?;
            let helm = &helm;
            let namespace = &this.release.namespace;
            Some(async move {
                let target = Target::resolve(helm.cluster(), object, namespace).await?;
                let live = this.look(&target, live).await?;
                let status = judge(&target, live.as_ref(), reading, helm.now(), assess_as);
                Ok::<_, StepError>((index, Look { target, live }, status))
            })
        });
        let results: Vec<_> = futures::stream::iter(looks)
            .buffered(helm.concurrency())
            .collect()
            .await;
        let mut open = Vec::new();
        let mut ready = Vec::new();
        let mut subjects = Vec::new();
        let mut workloads = Vec::new();
        for result in results {
            let (index, look, status) = result?;
            if status.status == Status::Current || is_paused(look.target.object) {
                ready.push(index);
            } else {
                subjects.extend(look.subject());
                workloads.extend(look.live.map(|live| (status.clone(), live)));
                open.push(status);
            }
        }
        self.settled.extend(ready);
        self.follow(&subjects, true);
        let lost: Vec<ObjectStatus> = open.iter().filter(|one| is_final(one)).cloned().collect();
        if !lost.is_empty() {
            return Err(StepError::Failed(Failure::not_ready(lost)));
        }
        if let Some(failure) = self.image_failure(&workloads).await {
            return Err(StepError::Failed(failure));
        }
        self.tell_held(&mut open);
        if open.iter().any(|status| status.status != Status::Failed) {
            return Ok(Done::NotYet(open));
        }
        if open.is_empty() {
            Ok(Done::Yes)
        } else {
            Err(StepError::Failed(Failure::not_ready(open)))
        }
    }

    /// The state of an object: as a watch tells it, else as it is given, else as it is read.
    pub(super) async fn look(
        &self,
        target: &Target<'_>,
        fresh: Option<Value>,
    ) -> Result<Option<Value>, ApiError> {
        let following = self.following.as_ref();
        match following.and_then(|following| following.state(&target.path())) {
            Some(Seen::There(live)) => Ok(Some(live)),
            None if fresh.is_some() => Ok(fresh),
            // Gone, or without the label by which it was followed; or not followed.
            Some(Seen::Lost(_)) | None => self.helm.writer().read(target).await,
        }
    }

    /// Follows objects from now on, unless some are followed already.
    pub(super) fn follow(&mut self, subjects: &[Subject], labelled: bool) {
        if self.following.as_ref().is_some_and(|one| !one.is_old()) {
            return;
        }
        self.following =
            (!subjects.is_empty()).then(|| self.helm.shared_cluster().follow(subjects, labelled));
    }

    pub(super) async fn await_gone(&mut self) -> Result<Done, StepError> {
        let helm = self.helm.clone();
        let this = &*self;
        let looks = (0..this.objects.len()).filter_map(|index| {
            let object = this.objects.get(index)?;
            if this.settled.contains(&index) {
                return None;
            }
            let (helm, namespace) = (&helm, &this.release.namespace);
            Some(async move {
                match Target::resolve(helm.cluster(), object, namespace).await {
                    Ok(target) => {
                        let live = this.look(&target, None).await?;
                        Ok((index, Some(Look { target, live })))
                    }
                    // Its kind went with it.
                    Err(ApplyError::NoKind { .. }) => Ok((index, None)),
                    Err(error) => Err(StepError::from(error)),
                }
            })
        });
        let results: Vec<_> = futures::stream::iter(looks)
            .buffered(helm.concurrency())
            .collect()
            .await;
        let mut left = Vec::new();
        let mut gone = Vec::new();
        let mut subjects = Vec::new();
        for result in results {
            let (index, look) = result?;
            let Some(look) = look.filter(|look| look.live.is_some()) else {
                gone.push(index);
                continue;
            };
            let live = look.live.as_ref();
            left.push(judge(
                &look.target,
                live,
                Reading::Release,
                helm.now(),
                assess_as,
            ));
            subjects.extend(look.subject());
        }
        self.settled.extend(gone);
        self.follow(&subjects, true);
        // What can't be told counts as gone.
        left.retain(|status| status.status != Status::Unknown);
        Ok(if left.is_empty() {
            Done::Yes
        } else {
            Done::NotYet(left)
        })
    }

    /// Tells when something that this operation waits for has changed, so that it is worth while to advance
    /// before the time that [`Advance::Waiting`](super::Advance::Waiting) names. None when nothing is watched.
    pub fn changes(&self) -> Option<Changes> {
        self.following.as_ref().map(Following::changes)
    }

    /// Waits until something that is awaited has changed, but no longer than this.
    pub(super) async fn changed(&self, at_most: Duration) {
        match self.changes() {
            Some(changes) => {
                // The end of the time is an answer as well.
                let _ = tokio::time::timeout(at_most, changes.next()).await;
            }
            None => tokio::time::sleep(at_most).await,
        }
    }
}
