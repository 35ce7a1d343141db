//! Steps that wait: for objects to be ready, and for deleted ones to be gone. Each call looks once. The
//! first look judges what the apply returned and costs nothing; objects once found ready are not read again.
//! Source of the rules: Helm 4.3.1 `pkg/kube/statuswait.go`: something that has failed does not hold up the
//! rest, and is reported when the rest is ready.

use super::error::{Failure, ObjectStatus, StepError};
use super::{Done, Operation};
use crate::apply::{Target, Writer};
use crate::objects::ManifestObject;
use crate::progress::Wait;
use crate::readiness::{AssessError, Readiness, Reading, Status, assess_as};
use futures::StreamExt as _;
use jiff::Timestamp;
use serde_json::Value;

/// How far an object is, as a row of a report.
pub(super) fn judge(
    target: &Target<'_>,
    live: Option<&Value>,
    reading: Reading,
    now: Timestamp,
    assess: fn(&Value, Reading, Timestamp) -> Result<Readiness, AssessError>,
) -> ObjectStatus {
    let (status, message) = match live.map(|live| assess(live, reading, now)) {
        None => {
            let missing = Readiness::not_found();
            (missing.status, missing.message)
        }
        Some(Ok(answer)) => (answer.status, answer.message),
        Some(Err(error)) => (Status::Unknown, error.to_string()),
    };
    ObjectStatus {
        kind: target.object.kind.clone(),
        namespace: target.namespace.clone(),
        name: target.object.name.clone(),
        status,
        message,
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

impl Operation {
    pub(super) async fn await_ready(&mut self) -> Result<Done, StepError> {
        let reading = reading_of(self.progress.settings.wait);
        let mut fresh = std::mem::take(&mut self.live);
        let open: Vec<(usize, Option<Value>)> = (0..self.objects.len())
            .filter(|index| !self.settled.contains(index))
            .map(|index| (index, fresh.remove(&index)))
            .collect();
        let (helm, objects) = (self.helm.clone(), &self.objects);
        let namespace = &self.release.namespace;
        let looks = open.into_iter().filter_map(|(index, live)| {
            let object = objects.get(index)?;
            let helm = &helm;
            Some(async move {
                let target = Target::resolve(helm.cluster(), object, namespace).await?;
                let live = match live {
                    Some(live) => Some(live),
                    None => helm.writer().read(&target).await?,
                };
                let status = judge(&target, live.as_ref(), reading, helm.now(), assess_as);
                Ok::<_, StepError>((index, status))
            })
        });
        let results: Vec<_> = futures::stream::iter(looks)
            .buffered(helm.concurrency())
            .collect()
            .await;
        let mut open = Vec::new();
        for result in results {
            let (index, status) = result?;
            let skipped = self.objects.get(index).is_some_and(is_paused);
            if status.status == Status::Current || skipped {
                self.settled.insert(index);
            } else {
                open.push(status);
            }
        }
        if open.iter().any(|status| status.status != Status::Failed) {
            return Ok(Done::NotYet(open));
        }
        if open.is_empty() {
            Ok(Done::Yes)
        } else {
            Err(StepError::Failed(Failure::not_ready(open)))
        }
    }

    pub(super) async fn await_gone(&mut self) -> Result<Done, StepError> {
        let cluster = self.helm.cluster();
        let writer = Writer {
            cluster,
            field_manager: self.helm.field_manager(),
        };
        let mut left = Vec::new();
        let mut gone = Vec::new();
        for (index, object) in self.objects.iter().enumerate() {
            if self.settled.contains(&index) {
                continue;
            }
            let target = match Target::resolve(cluster, object, &self.release.namespace).await {
                Ok(target) => target,
                // Its kind went with it.
                Err(crate::apply::ApplyError::NoKind { .. }) => {
                    gone.push(index);
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            match writer.read(&target).await? {
                None => gone.push(index),
                Some(live) => left.push(judge(
                    &target,
                    Some(&live),
                    Reading::Release,
                    self.helm.now(),
                    assess_as,
                )),
            }
        }
        self.settled.extend(gone);
        // What can't be told counts as gone.
        left.retain(|status| status.status != Status::Unknown);
        Ok(if left.is_empty() {
            Done::Yes
        } else {
            Done::NotYet(left)
        })
    }
}
