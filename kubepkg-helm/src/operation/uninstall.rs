//! Removal of a release.
//! Source of the rules: Helm 4.3.1 `pkg/action/uninstall.go`.

use super::begin::{Parts, check_name};
use super::request::UninstallRequest;
use super::{Operation, OperationError};
use crate::helm::Helm;
use crate::plan::OperationKind;
use crate::progress::{Progress, Settings, Wait};
use crate::release::{ReleaseStatus, ReleaseTime};
use crate::storage::StoredRelease;

impl Helm {
    /// Begins a removal; writes nothing yet. A pending operation of another process is taken over.
    ///
    /// # Errors
    /// When there is no such release, or its newest record is damaged.
    pub async fn begin_uninstall(
        &self,
        request: UninstallRequest,
    ) -> Result<Operation, OperationError> {
        check_name(&request.name)?;
        let (namespace, name) = (request.namespace, request.name);
        let heads = self.history(&namespace, &name).await?;
        let Some(last) = heads.last() else {
            return Err(OperationError::NotFound { name, namespace });
        };
        let gone = last.status == ReleaseStatus::Uninstalled;
        if gone && request.keep_history {
            return Err(OperationError::AlreadyDeleted { name });
        }
        let StoredRelease { mut release, head } =
            self.require(&namespace, &name, last.revision).await?;
        let now = self.now();
        release.info.status = ReleaseStatus::Uninstalling;
        release.info.deleted = Some(ReleaseTime::from(now));
        "Deletion in progress (or silently failed)".clone_into(&mut release.info.description);
        if gone {
            // Its objects went when it was removed; what bears their names now is somebody else's.
            release.manifest = String::new();
            release.hooks = Vec::new();
        }
        let settings = Settings {
            wait: if request.wait {
                Wait::Ready
            } else {
                Wait::Hooks
            },
            skip_hooks: request.skip_hooks,
            keep_history: request.keep_history,
            keep_crds: request.keep_crds,
            propagation: request.propagation,
            description: request.description,
            ..Settings::default()
        };
        let mut progress = Progress::new(OperationKind::Uninstall, now, request.timeout, settings);
        progress.supersede = heads
            .iter()
            .filter(|head| {
                head.status == ReleaseStatus::Deployed && head.revision != release.revision
            })
            .map(|head| head.revision)
            .collect();
        let prune_history = heads.iter().map(|head| head.revision).collect();
        Operation::assemble(
            self,
            Parts {
                head: Some(head),
                prune_history,
                ..Parts::recorded(release, progress)
            },
        )
    }
}
