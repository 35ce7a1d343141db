//! How operations begin: charts, values and labels become requests to the Helm SDK.
//!
//! Upgrades and rollbacks take fields back from other field managers, so that the chart's values win; installs do so
//! only when they adopt (reference §4.8). Before an operation lets go of CRDs they are marked to be kept.

use std::collections::BTreeMap;

use kubepkg_api::keys;
use kubepkg_helm::{
    CrdPolicy, InstallRequest, NamespaceSpec, Operation, OperationError, Propagation, RecordHead,
    ReleaseOptions, RollbackRequest, UninstallRequest, UpgradeRequest, Values, Wait,
};
use serde_json::Value;

use super::next::Intent;
use super::outcome::{after_begin, problem};
use super::{HelmBackend, crds, marks};
use crate::{BackendError, Component, Outcome, Placement, Target, UpgradeCrds};

/// How an operation began.
pub(super) enum Begun {
    Operation(Box<Operation>),
    /// It can't: the answer is known without one.
    Settled(Outcome),
}

impl HelmBackend {
    pub(super) async fn begin(
        &self,
        intent: &Intent<'_>,
        heads: &[RecordHead],
    ) -> Result<Begun, BackendError> {
        let target = intent.target();
        let begun = match intent {
            Intent::Apply(component) => self.begin_apply(component, heads).await?,
            Intent::Rollback { target, to } => self.begin_rollback(target, *to).await,
            Intent::Uninstall(target) => {
                let operation = self.begin_removal(target).await?;
                return Ok(Begun::Operation(Box::new(operation)));
            }
        };
        let operation = match begun {
            Ok(operation) => operation,
            Err(error) => {
                return after_begin(&target.placement, error).map(Begun::Settled);
            }
        };
        if target.keep_crds
            && let Some(last) = heads.last()
        {
            let kept = self
                .helm
                .get(&last.namespace, &last.name, Some(last.revision))
                .await;
            let kept = kept.map_err(|error| problem(&target.placement, error))?;
            let wanted = crds::names(&operation.release().manifest);
            let mut going = crds::names(&kept.manifest);
            going.retain(|name| !wanted.contains(name));
            crds::keep(&self.client, &target.placement, &going).await?;
        }
        Ok(Begun::Operation(Box::new(operation)))
    }

    async fn begin_apply(
        &self,
        component: &Component,
        heads: &[RecordHead],
    ) -> Result<Result<Operation, OperationError>, BackendError> {
        let target = &component.target;
        let Placement { namespace, release } = target.placement.clone();
        let chart = self
            .charts
            .load(&component.chart, &component.chart_digest)
            .await?;
        let values = Values::from_json(Value::Object(component.values.clone()));
        let options = ReleaseOptions {
            labels: marks::labels(target, &component.labels, heads.last()),
            take_ownership: component.adopt,
            // History that a rollback may need is worth more than tidiness.
            max_history: usize::try_from(component.history.max(1)).unwrap_or(usize::MAX),
            ..release_options(target)
        };
        if heads.is_empty() {
            let mut keep = NamespaceSpec::default();
            keep.annotations.insert(
                keys::HELM_RESOURCE_POLICY.to_owned(),
                keys::HELM_KEEP.to_owned(),
            );
            let options = ReleaseOptions {
                create_namespace: Some(keep),
                // Another manager's fields are only taken from objects that are adopted.
                force_conflicts: component.adopt,
                ..options
            };
            let request = InstallRequest {
                name: release,
                namespace,
                chart,
                values,
                options,
            };
            return Ok(self.helm.begin_install(request).await);
        }
        let crds = match component.upgrade_crds {
            UpgradeCrds::Skip => CrdPolicy::Skip,
            UpgradeCrds::Create => CrdPolicy::Create,
            UpgradeCrds::CreateReplace => CrdPolicy::CreateReplace,
        };
        let options = ReleaseOptions {
            crds: Some(crds),
            force_conflicts: true,
            ..options
        };
        let request = UpgradeRequest {
            name: release,
            namespace,
            chart,
            values,
            options,
        };
        Ok(self.helm.begin_upgrade(request).await)
    }

    async fn begin_rollback(&self, target: &Target, to: u64) -> Result<Operation, OperationError> {
        let Placement { namespace, release } = target.placement.clone();
        let request = RollbackRequest {
            name: release,
            namespace,
            to: Some(u32::try_from(to).unwrap_or(u32::MAX)),
            options: ReleaseOptions {
                labels: marks::labels(target, &BTreeMap::new(), None),
                force_conflicts: true,
                max_history: 0,
                ..release_options(target)
            },
        };
        self.helm.begin_rollback(request).await
    }

    pub(super) async fn begin_removal(&self, target: &Target) -> Result<Operation, BackendError> {
        let Placement { namespace, release } = target.placement.clone();
        let request = UninstallRequest {
            wait: true,
            timeout: target.timeout,
            keep_crds: target.keep_crds,
            propagation: Propagation::Background,
            ..UninstallRequest::new(namespace, release)
        };
        let operation = self.helm.begin_uninstall(request).await;
        let operation = operation.map_err(|error| problem(&target.placement, error))?;
        if target.keep_crds {
            let names = crds::names(&operation.release().manifest);
            crds::keep(&self.client, &target.placement, &names).await?;
        }
        Ok(operation)
    }
}

/// What installs, upgrades and rollbacks have in common.
fn release_options(target: &Target) -> ReleaseOptions {
    ReleaseOptions {
        wait: Wait::Ready,
        timeout: target.timeout,
        keep_crds: target.keep_crds,
        ..ReleaseOptions::default()
    }
}
