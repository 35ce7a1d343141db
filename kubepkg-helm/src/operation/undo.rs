//! Undoing what failed: the objects that an upgrade made are deleted, an install is removed, an upgrade rolled
//! back to the last revision that succeeded.
//! Source of the rules: Helm 4.3.1 `failRelease` of `pkg/action/{install,upgrade}.go`.

use super::error::StepError;
use super::request::{OnFailure, ReleaseOptions, RollbackRequest, UninstallRequest};
use super::{Operation, OperationError, Outcome};
use crate::apply::Target;
use crate::helm::Helm;
use crate::plan::OperationKind;
use crate::progress::Wait;
use crate::release::ReleaseStatus;

impl Helm {
    /// Begins to undo an install or upgrade that failed: removes the release, or rolls it back to the last
    /// revision that succeeded. `None` when there is nothing to undo or to return to.
    ///
    /// # Errors
    /// When the removal or rollback can't begin.
    pub async fn begin_undo(
        &self,
        outcome: &Outcome,
        options: &ReleaseOptions,
    ) -> Result<Option<Operation>, OperationError> {
        if outcome.succeeded() {
            return Ok(None);
        }
        let (name, namespace) = (&outcome.release.name, &outcome.release.namespace);
        match outcome.kind {
            OperationKind::Install => {
                let request = UninstallRequest {
                    skip_hooks: options.skip_hooks,
                    keep_crds: options.keep_crds,
                    timeout: options.timeout,
                    wait: true,
                    ..UninstallRequest::new(namespace, name)
                };
                self.begin_uninstall(request).await.map(Some)
            }
            OperationKind::Upgrade => {
                let heads = self.history(namespace, name).await?;
                let good = heads.iter().rev().find(|head| {
                    matches!(
                        head.status,
                        ReleaseStatus::Deployed | ReleaseStatus::Superseded
                    )
                });
                let Some(good) = good else {
                    return Ok(None);
                };
                let wait = match options.wait {
                    Wait::Hooks => Wait::Ready,
                    wait => wait,
                };
                let request = RollbackRequest {
                    name: name.clone(),
                    namespace: namespace.clone(),
                    to: Some(good.revision),
                    options: ReleaseOptions {
                        wait,
                        description: None,
                        labels: std::collections::BTreeMap::new(),
                        on_failure: OnFailure::Keep,
                        max_history: 0,
                        ..options.clone()
                    },
                };
                self.begin_rollback(request).await.map(Some)
            }
            OperationKind::Rollback | OperationKind::Uninstall | OperationKind::Test => Ok(None),
        }
    }

    pub(super) async fn undo_if_asked(
        &self,
        mut outcome: Outcome,
        options: &ReleaseOptions,
    ) -> Result<Outcome, OperationError> {
        if options.on_failure != OnFailure::RollBack {
            return Ok(outcome);
        }
        let Some(mut operation) = self.begin_undo(&outcome, options).await? else {
            return Ok(outcome);
        };
        let undone = operation.run().await?;
        let name = &outcome.release.name;
        if let Some(failure) = &mut outcome.failure {
            let first = &failure.message;
            let install = outcome.kind == OperationKind::Install;
            failure.message = match (&undone.failure, install) {
                (None, true) => format!(
                    "release {name} failed, and has been uninstalled due to rollback-on-failure being set: {first}"
                ),
                (None, false) => format!(
                    "release {name} failed, and has been rolled back due to rollback-on-failure being set: {first}"
                ),
                (Some(second), true) => format!(
                    "an error occurred while uninstalling the release. original install error: {first}: {second}"
                ),
                (Some(second), false) => format!(
                    "an error occurred while rolling back the release. original upgrade error: {first}: {second}"
                ),
            };
        }
        outcome.undone = Some(Box::new(undone));
        Ok(outcome)
    }
}

impl Operation {
    /// Deletes what a failed upgrade or rollback has made, when that was asked for. What another process made
    /// of it before this one resumed is not known, and stays. What goes wrong here is a warning.
    pub(super) async fn clean_up(&mut self) {
        let wanted = self.progress.settings.clean_up
            && matches!(
                self.progress.operation,
                OperationKind::Upgrade | OperationKind::Rollback
            );
        if !wanted {
            return;
        }
        let helm = self.helm.clone();
        for index in std::mem::take(&mut self.created) {
            let Some(object) = self.objects.get(index) else {
                continue;
            };
            let namespace = &self.release.namespace;
            let deleted = match Target::resolve(helm.cluster(), object, namespace).await {
                Ok(target) => self.delete_object(&helm, &target).await.map(|_| ()),
                Err(error) => Err(StepError::from(error)),
            };
            match deleted {
                Ok(()) => {}
                Err(StepError::Stopped(error)) => {
                    self.warn(format!("unable to cleanup resources: {error}"));
                }
                Err(StepError::Failed(failure)) => {
                    self.warn(format!("unable to cleanup resources: {failure}"));
                }
            }
        }
    }
}
