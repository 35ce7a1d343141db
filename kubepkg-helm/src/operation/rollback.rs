//! Rollbacks: a new revision that repeats an older one.
//! Source of the rules: Helm 4.3.1 `pkg/action/rollback.go`. As in Helm, a rollback is the way out of an operation
//! that Helm left half-done; unlike Helm, it does not begin while one of this crate is under way, which can be
//! resumed or given up.

use super::begin::{Parts, beyond, check_name, method_of, pending, replaces, settings_of};
use super::request::RollbackRequest;
use super::{Operation, OperationError};
use crate::helm::Helm;
use crate::plan::OperationKind;
use crate::progress::Progress;
use crate::release::{ApplyMethod, Info, Release, ReleaseStatus, check_labels};
use crate::{HookExecution, HookPhase};

impl Helm {
    /// Begins a rollback; writes nothing yet.
    ///
    /// # Errors
    /// When there is no such revision, or another operation is under way.
    pub async fn begin_rollback(
        &self,
        request: RollbackRequest,
    ) -> Result<Operation, OperationError> {
        check_name(&request.name)?;
        let (namespace, name) = (request.namespace, request.name);
        let options = request.options;
        check_labels(&options.labels)?;
        let heads = self.history(&namespace, &name).await?;
        let Some(last) = heads.last() else {
            return Err(OperationError::NotFound { name, namespace });
        };
        if last.status.is_pending() && last.operation().is_some() {
            return Err(pending(last));
        }
        let to = request
            .to
            .unwrap_or_else(|| last.revision.saturating_sub(1));
        if !heads.iter().any(|head| head.revision == to) {
            return Err(OperationError::NoRevision { name, revision: to });
        }
        let wanted = (to, last.revision);
        let previous = self.require_both(&namespace, &name, wanted).await?;
        let mut target = previous
            .get(&to)
            .map(|stored| stored.release.clone())
            .unwrap_or_default();
        // How the others ran stays on record, as in Helm; one that was running when its operation ended would
        // count as running now.
        for hook in &mut target.hooks {
            if hook.last_run.phase == HookPhase::Running {
                hook.last_run = HookExecution::default();
            }
        }
        let first_deployed = previous
            .get(&last.revision)
            .and_then(|stored| stored.release.info.first_deployed.clone());
        let mut labels = target.labels.clone();
        labels.extend(options.labels.clone());
        labels.retain(|_, value| value != "null");
        let now = self.now();
        let release = Release {
            name,
            namespace,
            revision: last.revision.saturating_add(1),
            info: Info {
                first_deployed,
                last_deployed: Some(now.into()),
                deleted: None,
                description: options
                    .description
                    .clone()
                    .unwrap_or_else(|| format!("Rollback to {to}")),
                status: ReleaseStatus::PendingRollback,
                rollback_revision: to,
                notes: target.info.notes.clone(),
            },
            labels,
            apply_method: method_of(
                options
                    .server_side
                    .unwrap_or(target.apply_method == ApplyMethod::ServerSide),
            ),
            ..target
        };
        let mut progress = Progress::new(
            OperationKind::Rollback,
            now,
            options.timeout,
            settings_of(&options),
        );
        // What the newest revision left is replaced, whether it succeeded or not; what a deployed one
        // before a failed one had may still be there, too.
        let deployed = heads
            .iter()
            .rev()
            .find(|head| head.status == ReleaseStatus::Deployed);
        let other = deployed.map_or(last.revision, |head| head.revision);
        replaces(&mut progress, &heads, last.revision, other);
        let mut prune_history = beyond(&heads, options.max_history);
        prune_history.retain(|revision| *revision != to && *revision != last.revision);
        let mut operation = Operation::assemble(
            self,
            Parts {
                prune_history,
                previous,
                ..Parts::recorded(release, progress)
            },
        )?;
        operation.preflight(options.preflight).await?;
        operation.compare(options.unchanged).await?;
        Ok(operation)
    }
}
