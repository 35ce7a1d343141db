//! Installing, upgrading, rolling back and removing a release as a list of steps. [`Operation::advance`]
//! performs one step, or looks once at what is awaited, and returns; nobody is held while objects get
//! ready. Progress stands with the release record, so another process can [`Helm::resume`] after a crash,
//! and [`Operation::cancel`] ends an operation between two steps. Steps are the planner's
//! (`plan.rs`); each may be done twice with the same result, and a hook is never run twice.
//! An operation whose record somebody else has written gives up without touching anything further.

mod begin;
mod compare;
mod error;
mod explain;
mod hooks;
mod install;
mod logs;
mod objects;
mod preview;
mod records;
mod rendering;
mod request;
mod rollback;
mod test;
mod undo;
mod uninstall;
mod upgrade;
mod wait;

pub use error::{Failure, FailureReason, ObjectEvent, ObjectStatus, OperationError};
pub use logs::HookLog;
pub use preview::{Change, ChangeKind};
pub use request::{
    CrdPolicy, InstallRequest, NamespaceSpec, OnFailure, PostRendering, Preflight, ReleaseOptions,
    ReuseValues, RollbackRequest, TestRequest, Unchanged, UninstallRequest, UpgradeRequest,
};

use crate::cluster::{Following, ResourceKind};
use crate::helm::Helm;
use crate::objects::{ManifestObject, ObjectKey};
use crate::plan::{OperationKind, Step};
use crate::progress::Progress;
use crate::release::{Release, ReleaseStatus};
use crate::storage::{RecordHead, StoredRelease};
use error::StepError;
use jiff::Timestamp;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Warnings kept of one operation.
const WARNINGS: usize = 100;

/// How often in a row [`Operation::run`] tries again when the API server is in trouble: about four minutes.
const PATIENCE: u32 = 50;

/// What a call of [`Operation::advance`] did.
#[derive(Clone, Debug)]
pub enum Advance {
    /// A step is done; there are more.
    Stepped(Step),
    /// Something is not ready yet.
    Waiting {
        /// What is awaited, and how far it is.
        not_ready: Vec<ObjectStatus>,
        /// When to look again.
        check_after: Duration,
    },
    /// The operation has ended.
    Finished(Box<Outcome>),
}

/// How an operation ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was done.
    pub kind: OperationKind,
    /// The revision as it was recorded last.
    pub release: Release,
    /// Why it failed; none when it succeeded.
    pub failure: Option<Failure>,
    /// Objects that were left in place although the release no longer has them.
    pub kept: Vec<KeptObject>,
    /// How many objects were as they should be, so that they were not written.
    pub unchanged: usize,
    /// What hooks have printed that ask for it (`helm.sh/hook-output-log-policy`).
    pub logs: Vec<HookLog>,
    /// How it was undone, when it failed and that was asked for.
    pub undone: Option<Box<Outcome>>,
    /// Advice of the server and whatever else went wrong without stopping the operation.
    pub warnings: Vec<String>,
}

impl Outcome {
    /// True when the operation did what was asked.
    pub fn succeeded(&self) -> bool {
        self.failure.is_none()
    }
}

/// Why an object was left in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptBecause {
    /// `helm.sh/resource-policy: keep`, or a CRD where these are kept.
    Policy,
    /// It does not bear the marks of this release.
    NotOurs,
    /// It is a CRD that has moved from the chart's templates to its `crds/`.
    Shipped,
}

/// An object that was left in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptObject {
    /// Kind of the object.
    pub kind: String,
    /// Namespace of the object; empty when it lives in none.
    pub namespace: String,
    /// Name of the object.
    pub name: String,
    /// Why it was left.
    pub because: KeptBecause,
}

/// An install, upgrade, rollback or removal on its way.
pub struct Operation {
    helm: Helm,
    plan: Vec<Step>,
    /// Position in the plan.
    cursor: usize,
    progress: Progress,
    release: Release,
    /// The record as it was last written or read; none before it exists.
    head: Option<RecordHead>,
    /// The position that the record knows.
    saved: Option<usize>,
    /// The objects in the order in which they are applied or deleted.
    objects: Vec<ManifestObject>,
    hook_objects: Vec<Vec<ManifestObject>>,
    crds: Vec<ManifestObject>,
    crd_policy: CrdPolicy,
    namespace: Option<NamespaceSpec>,
    prune_history: Vec<u32>,
    /// Kinds that CRDs of this operation bring.
    expected: Vec<ResourceKind>,
    previous: BTreeMap<u32, StoredRelease>,
    /// The objects of the revision that is replaced.
    previous_objects: Option<BTreeMap<ObjectKey, ManifestObject>>,
    /// The previous revision was written by a client, not applied by the server.
    from_client: bool,
    /// Objects that are as they shall be and need not be applied.
    unchanged: BTreeSet<usize>,
    /// Objects that did not exist before.
    created: BTreeSet<usize>,
    /// What hooks have printed.
    logs: Vec<HookLog>,
    /// Live objects as the apply returned them.
    live: BTreeMap<usize, Value>,
    /// Objects known to be ready, or gone.
    settled: BTreeSet<usize>,
    /// The hook of which nothing is left, as its deletion has told.
    gone_hook: Option<usize>,
    /// The versions of the objects of hooks as this process wrote them.
    hook_versions: BTreeMap<usize, Vec<Option<String>>>,
    /// The objects of hooks as their applies returned them, until they are looked at.
    hook_answers: BTreeMap<usize, Vec<Option<Value>>>,
    /// What is awaited, under watch.
    following: Option<Following>,
    /// When a container was first seen to lack its image, by Pod and container.
    imageless: BTreeMap<(String, String), Timestamp>,
    /// What containers of awaited workloads were last seen to wait for.
    held: BTreeMap<explain::StatusKey, Vec<ObjectEvent>>,
    /// When Pods were last looked at.
    pods_seen: Option<Timestamp>,
    looks: u32,
    /// What was not ready at the last look.
    awaited: Vec<ObjectStatus>,
    failure: Option<Failure>,
    kept: Vec<KeptObject>,
    warnings: Vec<String>,
    outcome: Option<Outcome>,
}

impl std::fmt::Debug for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Operation")
            .field("kind", &self.progress.operation)
            .field("release", &self.release.name)
            .field("namespace", &self.release.namespace)
            .field("revision", &self.release.revision)
            .field("step", &self.plan.get(self.cursor))
            .finish_non_exhaustive()
    }
}

/// Outcome of one step or look.
enum Done {
    Yes,
    NotYet(Vec<ObjectStatus>),
}

impl Operation {
    /// Takes up the operation that another process, or this one before a crash, has begun; the same as
    /// [`Helm::resume`].
    ///
    /// # Errors
    /// When the newest record has no progress of this crate.
    pub async fn resume(helm: &Helm, namespace: &str, name: &str) -> Result<Self, OperationError> {
        helm.resume(namespace, name).await
    }

    /// What is being done.
    pub fn kind(&self) -> OperationKind {
        self.progress.operation
    }

    /// The revision that is being written or removed.
    pub fn release(&self) -> &Release {
        &self.release
    }

    /// The step that is done next; none at the end.
    pub fn next_step(&self) -> Option<&Step> {
        self.plan.get(self.cursor)
    }

    /// All steps.
    pub fn steps(&self) -> &[Step] {
        &self.plan
    }

    /// When the operation began and when its waiting ends.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Performs the next step, or looks once at what is awaited.
    ///
    /// A failure of the operation itself is an [`Outcome`], not an error; it is in the record by then.
    ///
    /// # Errors
    /// When the API server can't be reached or is in trouble (`is_transient`; call again later), or when
    /// somebody else has written the record.
    pub async fn advance(&mut self) -> Result<Advance, OperationError> {
        if let Some(outcome) = &self.outcome {
            return Ok(Advance::Finished(Box::new(outcome.clone())));
        }
        if let Some(failure) = self.failure.clone() {
            return self.finish_failed(failure).await;
        }
        let Some(step) = self.plan.get(self.cursor).cloned() else {
            return Ok(self.finish(None));
        };
        tracing::debug!(release = %self.release.name, namespace = %self.release.namespace, ?step, "step");
        match self.perform(&step).await {
            Ok(Done::Yes) => {
                self.cursor += 1;
                self.looks = 0;
                self.awaited.clear();
                self.following = None;
                if self.cursor == self.plan.len() {
                    return Ok(self.finish(None));
                }
                Ok(Advance::Stepped(step))
            }
            Ok(Done::NotYet(not_ready)) => {
                if self.is_late() {
                    let failure = Failure::timeout(not_ready, step_is_removal(&step));
                    let mut failure = self.word(&step, failure);
                    if let Step::AwaitHook(index) = step {
                        // What is deleted now can't be asked later.
                        self.explain(&mut failure.objects).await;
                        self.keep_logs(index, true).await;
                        self.hook_failed(&step).await;
                    }
                    return self.finish_failed(failure).await;
                }
                self.looks = self.looks.saturating_add(1);
                self.awaited.clone_from(&not_ready);
                Ok(Advance::Waiting {
                    not_ready,
                    check_after: pause(self.looks),
                })
            }
            Err(StepError::Stopped(error)) => {
                if !error.is_transient() || is_record_step(&step) || !self.is_late() {
                    return Err(error);
                }
                // Trouble that did not pass in time ends the operation like anything else that was awaited. What was not
                // ready before it says more.
                let failure = if self.awaited.is_empty() {
                    let message = format!("{error}\ncontext deadline exceeded");
                    Failure::new(FailureReason::Timeout, message)
                } else {
                    Failure::timeout(std::mem::take(&mut self.awaited), step_is_removal(&step))
                };
                let failure = self.word(&step, failure);
                self.finish_failed(failure).await
            }
            Err(StepError::Failed(failure)) => {
                let failure = self.word(&step, failure);
                self.hook_failed(&step).await;
                self.finish_failed(failure).await
            }
        }
    }

    /// Advances until the end, waiting while objects get ready and when the API server is in trouble.
    ///
    /// # Errors
    /// What [`Operation::advance`] reports, when it will not pass or has not passed after many tries. The
    /// operation stays where it is and can be taken up again.
    pub async fn run(&mut self) -> Result<Outcome, OperationError> {
        self.run_with(|_| {}).await
    }

    /// As [`Operation::run`], and shows every step and every look at what is awaited, for instance to a terminal.
    ///
    /// # Errors
    /// As [`Operation::run`].
    pub async fn run_with(
        &mut self,
        mut show: impl FnMut(&Advance) + Send,
    ) -> Result<Outcome, OperationError> {
        let mut trouble = 0;
        loop {
            let advanced = self.advance().await;
            if let Ok(advance) = &advanced {
                show(advance);
                trouble = 0;
            }
            match advanced {
                Ok(Advance::Stepped(_)) => {}
                Ok(Advance::Waiting { check_after, .. }) => self.changed(check_after).await,
                Ok(Advance::Finished(outcome)) => return Ok(*outcome),
                Err(error) if error.is_transient() && trouble < PATIENCE => {
                    trouble += 1;
                    tokio::time::sleep(pause(trouble)).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Ends the operation between two steps: what was written stays, the record says `failed`.
    ///
    /// # Errors
    /// When the record can't be written; call again.
    pub async fn cancel(&mut self, reason: &str) -> Result<Outcome, OperationError> {
        if let Some(outcome) = &self.outcome {
            return Ok(outcome.clone());
        }
        let failure = Failure::new(FailureReason::Cancelled, reason.to_owned());
        match self.finish_failed(failure).await? {
            Advance::Finished(outcome) => Ok(*outcome),
            _ => Err(OperationError::Overtaken {
                name: self.release.name.clone(),
            }),
        }
    }

    async fn perform(&mut self, step: &Step) -> Result<Done, StepError> {
        match step {
            Step::Namespace => self.make_namespace().await,
            Step::Crds => self.apply_crds().await,
            Step::AwaitCrds => self.await_crds().await,
            Step::Record => self.record().await,
            Step::RecordOnly => self.record_only().await,
            Step::DeleteOldHook(index) | Step::DeleteDoneHook(index) => {
                self.delete_hook(*index).await
            }
            Step::AwaitOldHookGone(index) => self.await_hook_gone(*index).await,
            Step::RunHook(index) => self.run_hook(*index).await,
            Step::AwaitHook(index) => self.await_hook(*index).await,
            Step::HooksDone(_) => self.checkpoint().await,
            Step::Apply(from, to) => self.apply_objects(*from, *to).await,
            Step::Prune => self.prune().await,
            Step::AwaitReady => self.await_ready().await,
            Step::Delete(from, to) => self.delete_objects(*from, *to).await,
            Step::AwaitGone => self.await_gone().await,
            Step::Supersede => self.supersede().await,
            Step::Finish => self.record_success().await,
            Step::Purge => self.purge().await,
        }
    }

    fn finish(&mut self, failure: Option<Failure>) -> Advance {
        let outcome = Outcome {
            kind: self.progress.operation,
            release: self.release.clone(),
            failure,
            kept: self.kept.clone(),
            unchanged: self.unchanged.len(),
            logs: self.logs.clone(),
            undone: None,
            warnings: self.warnings.clone(),
        };
        self.outcome = Some(outcome.clone());
        Advance::Finished(Box::new(outcome))
    }

    /// Writes the failure into the record, unless there is none yet.
    async fn finish_failed(&mut self, mut failure: Failure) -> Result<Advance, OperationError> {
        if self.failure.is_none() {
            self.following = None;
            self.explain(&mut failure.objects).await;
        }
        // Kept until the record is written: a call that fails here is repeated.
        self.failure = Some(failure.clone());
        let name = &self.release.name;
        let message = &failure.message;
        self.release.info.description = match self.progress.operation {
            // What a test finds is in its hooks.
            OperationKind::Test => self.release.info.description.clone(),
            OperationKind::Install => format!("Release {name:?} failed: {message}"),
            OperationKind::Upgrade => format!("Upgrade {name:?} failed: {message}"),
            OperationKind::Rollback => format!("Rollback {name:?} failed: {message}"),
            OperationKind::Uninstall => format!("Uninstall {name:?} failed: {message}"),
        };
        // A removal that stopped half-way is still a removal, as in Helm.
        if !matches!(
            self.progress.operation,
            OperationKind::Uninstall | OperationKind::Test
        ) {
            self.release.info.status = ReleaseStatus::Failed;
        }
        self.clean_up().await;
        if self.head.is_some() {
            self.write_record(None).await.map_err(|error| match error {
                StepError::Stopped(error) => error,
                StepError::Failed(failure) => OperationError::Refused {
                    reason: failure.message,
                },
            })?;
        }
        self.failure = None;
        Ok(self.finish(Some(failure)))
    }

    fn is_late(&self) -> bool {
        self.helm.now() >= self.progress.deadline
    }

    fn warn(&mut self, warning: String) {
        if self.warnings.len() < WARNINGS && !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Puts Helm's words around the failure of a hook.
    fn word(&self, step: &Step, mut failure: Failure) -> Failure {
        let hook = match step {
            Step::RunHook(index)
            | Step::AwaitHook(index)
            | Step::DeleteOldHook(index)
            | Step::AwaitOldHookGone(index)
            | Step::DeleteDoneHook(index) => *index,
            _ => return failure,
        };
        let event = self.event_of(hook);
        failure.reason = match failure.reason {
            FailureReason::Timeout => FailureReason::Timeout,
            _ => FailureReason::Hook,
        };
        failure.message = match self.progress.operation {
            OperationKind::Install => format!("failed {event}: {}", failure.message),
            OperationKind::Upgrade => format!("{event} hooks failed: {}", failure.message),
            OperationKind::Rollback | OperationKind::Uninstall | OperationKind::Test => {
                failure.message
            }
        };
        failure
    }
}

/// Steps in which nothing is left but to write records: late is better than failed.
fn is_record_step(step: &Step) -> bool {
    matches!(
        step,
        Step::RecordOnly | Step::Supersede | Step::Finish | Step::Purge
    )
}

fn step_is_removal(step: &Step) -> bool {
    matches!(step, Step::AwaitGone | Step::AwaitOldHookGone(_))
}

/// A quarter of a second, doubling up to five seconds.
fn pause(looks: u32) -> Duration {
    let factor = 1_u32 << looks.saturating_sub(1).min(5);
    (Duration::from_millis(250) * factor).min(Duration::from_secs(5))
}

#[cfg(test)]
mod tests {
    use super::pause;
    use std::time::Duration;

    #[test]
    fn looks_less_and_less_often() {
        assert_eq!(pause(1), Duration::from_millis(250));
        assert_eq!(pause(3), Duration::from_secs(1));
        assert_eq!(pause(99), Duration::from_secs(5));
    }
}
