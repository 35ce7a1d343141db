//! Delivery by Helm, in this process: [`HelmBackend`].
//!
//! A component is a Helm release that Helm itself can list, read and go on with. Each record carries the package it
//! belongs to and the package revision it was made for, as labels; they are what makes a call idempotent, and what
//! tells an operation of an older revision, which is cancelled, from the present one, which is continued. Operations
//! advance step by step (`kubepkg_helm::Operation`) and no call waits for objects. An operation that this process has
//! under way is kept in memory to save requests; after a restart it is resumed from its record.
//!
//! Refused is every release whose label names another package or none, unless adoption was asked for (reference
//! §10.3 O4), and charts from package trees. A release that another process left pending is waited for until it is
//! older than the component's timeout, then it is given up (reference §4.8).

mod chart;
mod crds;
mod marks;
mod next;
mod outcome;
mod running;

use std::sync::Arc;

use async_trait::async_trait;
use kubepkg_api::{Digest, keys};
use kubepkg_helm::{
    ChartLimits, Clock, CrdPolicy, Helm, HelmOptions, InstallRequest, NamespaceSpec, Operation,
    OperationError, Propagation, RecordHead, ReleaseOptions, ReleaseStatus, RollbackRequest,
    SystemClock, UninstallRequest, UpgradeRequest, Values, Wait,
};
use kubepkg_source::Charts;
use serde_json::Value;

use self::chart::ChartStore;
use self::next::{Intent, Next, next};
use self::outcome::{after_begin, failed_before, problem, unavailable};
use self::running::{Running, Slots};
use crate::{
    Backend, BackendError, Capabilities, ChartSource, Component, Outcome, Phase, Placement, State,
    Target, UpgradeCrds,
};

/// Field manager of CRDs that this backend applies from a chart's `crds/` on upgrades, and of the annotation that
/// keeps a CRD (reference §4.8).
const MANAGER: &str = "kubepkg";
/// Leftovers of earlier operations that one call clears away before it begins its own.
const ROUNDS: usize = 4;

/// Choices of a [`HelmBackend`].
#[derive(Clone)]
pub struct HelmBackendOptions {
    /// `User-Agent` of requests to the API server; the client's own when none.
    pub user_agent: Option<String>,
    /// How much of a chart is read.
    pub chart_limits: ChartLimits,
    /// The clock that the age of records and deadlines are measured by.
    pub clock: Arc<dyn Clock>,
}

impl Default for HelmBackendOptions {
    fn default() -> Self {
        Self {
            user_agent: None,
            chart_limits: ChartLimits::default(),
            clock: Arc::new(SystemClock),
        }
    }
}

/// Delivers components as Helm releases.
pub struct HelmBackend {
    helm: Helm,
    client: kube::Client,
    charts: ChartStore,
    clock: Arc<dyn Clock>,
    slots: Slots,
}

impl HelmBackend {
    /// The backend for the cluster behind `client`, with charts from `charts`.
    pub fn new(client: kube::Client, charts: Arc<Charts>, options: HelmBackendOptions) -> Self {
        let helm = HelmOptions {
            crd_field_manager: Some(MANAGER.to_owned()),
            user_agent: options.user_agent,
            clock: Arc::clone(&options.clock),
            ..HelmOptions::default()
        };
        Self {
            helm: Helm::new(client.clone(), helm),
            client,
            charts: ChartStore::new(charts, options.chart_limits),
            clock: options.clock,
            slots: Slots::default(),
        }
    }

    /// Clears away what is left of other operations, then begins, resumes or reports the one that is asked for.
    async fn carry_on(
        &self,
        intent: Intent<'_>,
        running: &mut Option<Running>,
    ) -> Result<Outcome, BackendError> {
        let target = intent.target();
        if running
            .as_ref()
            .is_some_and(|running| running.is_for(&intent))
        {
            return self.advance(target, running).await;
        }
        for _ in 0..ROUNDS {
            let heads = self.heads(&target.placement).await?;
            let last = heads.last();
            if let Some(last) = last
                && !intent.adopts()
                && let Some(why) = marks::foreign(last, &target.package)
            {
                let placement = target.placement.clone();
                return Err(BackendError::Foreign { placement, why });
            }
            if let Some(finished) = self.one_move(&intent, &heads, running).await? {
                return Ok(finished);
            }
        }
        // Somebody else keeps changing the release.
        Err(unavailable(
            format!("release {}", target.placement),
            "it is being changed by somebody else".to_owned(),
        ))
    }

    /// Makes the next move; `None` when the records are to be read again.
    async fn one_move(
        &self,
        intent: &Intent<'_>,
        heads: &[RecordHead],
        running: &mut Option<Running>,
    ) -> Result<Option<Outcome>, BackendError> {
        let target = intent.target();
        let Placement { namespace, release } = &target.placement;
        match next(heads, intent, self.clock.now()) {
            Next::Absent => Ok(Some(Outcome::Gone)),
            Next::Settled { revision } => Ok(Some(Outcome::Ready {
                revision: u64::from(revision),
            })),
            Next::FailedBefore { revision } => {
                let recorded = self.helm.get(namespace, release, Some(revision)).await;
                let recorded = recorded.map_err(|error| problem(&target.placement, error))?;
                Ok(Some(failed_before(&recorded)))
            }
            Next::WaitForOther {
                message,
                check_after,
            } => Ok(Some(Outcome::Waiting {
                message,
                check_after,
            })),
            Next::RevisionGone { revision } => Err(BackendError::RevisionGone {
                placement: target.placement.clone(),
                revision,
            }),
            Next::GiveUp => {
                let given_up = self
                    .helm
                    .recover_interrupted(namespace, release, target.timeout)
                    .await;
                given_up.map_err(|error| problem(&target.placement, error))?;
                Ok(None)
            }
            Next::Cancel => {
                let mut old = match running.take() {
                    Some(running) => running.operation,
                    None => self.resume(target).await?,
                };
                let reason = format!(
                    "cancelled: revision {} of package {} is wanted now",
                    target.revision, target.package
                );
                let cancelled = old.cancel(&reason).await;
                cancelled.map_err(|error| problem(&target.placement, error))?;
                Ok(None)
            }
            Next::Resume => {
                let operation = self.resume(target).await?;
                *running = Some(Running::new(operation, intent));
                self.advance(target, running).await.map(Some)
            }
            Next::FinishRemoval => {
                if running.is_none() {
                    let operation = self.resume(target).await?;
                    *running = Some(Running::removal(operation));
                }
                self.clear_away(target, running).await
            }
            Next::Purge => {
                let operation = self.begin_removal(target).await?;
                *running = Some(Running::removal(operation));
                self.clear_away(target, running).await
            }
            Next::Begin => {
                let operation = match self.begin(intent, heads).await? {
                    Begun::Operation(operation) => *operation,
                    Begun::Settled(outcome) => return Ok(Some(outcome)),
                };
                *running = Some(Running::new(operation, intent));
                self.advance(target, running).await.map(Some)
            }
        }
    }

    /// Ends a removal that stands before what was asked for; `None` when it is done.
    async fn clear_away(
        &self,
        target: &Target,
        running: &mut Option<Running>,
    ) -> Result<Option<Outcome>, BackendError> {
        match self.advance(target, running).await? {
            Outcome::Gone => Ok(None),
            other => Ok(Some(other)),
        }
    }

    /// Performs steps until something has to be waited for, or the end.
    async fn advance(
        &self,
        target: &Target,
        running: &mut Option<Running>,
    ) -> Result<Outcome, BackendError> {
        let Some(operation) = running.as_mut().map(|running| &mut running.operation) else {
            return Err(unavailable(
                format!("release {}", target.placement),
                "no operation is under way".to_owned(),
            ));
        };
        match running::drive(operation).await {
            Ok(outcome @ Outcome::Waiting { .. }) => {
                if running.as_mut().is_some_and(Running::doubts) {
                    self.check_record(target, running).await?;
                }
                Ok(outcome)
            }
            Ok(outcome) => {
                *running = None;
                Ok(outcome)
            }
            Err(error) => {
                if !error.is_transient() {
                    *running = None;
                }
                Err(problem(&target.placement, error))
            }
        }
    }

    /// Forgets an operation whose record somebody else has removed or replaced; the next call looks afresh.
    async fn check_record(
        &self,
        target: &Target,
        running: &mut Option<Running>,
    ) -> Result<(), BackendError> {
        let heads = self.heads(&target.placement).await?;
        if running
            .as_ref()
            .is_some_and(|running| !running.is_recorded(heads.last()))
        {
            *running = None;
        }
        Ok(())
    }

    async fn heads(&self, placement: &Placement) -> Result<Vec<RecordHead>, BackendError> {
        let heads = self
            .helm
            .history(&placement.namespace, &placement.release)
            .await;
        heads.map_err(|error| problem(placement, error))
    }

    async fn resume(&self, target: &Target) -> Result<Operation, BackendError> {
        let Placement { namespace, release } = &target.placement;
        let resumed = self.helm.resume(namespace, release).await;
        resumed.map_err(|error| problem(&target.placement, error))
    }

    async fn begin(
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
                labels: marks::labels(target, &std::collections::BTreeMap::new(), None),
                force_conflicts: true,
                max_history: 0,
                ..release_options(target)
            },
        };
        self.helm.begin_rollback(request).await
    }

    async fn begin_removal(&self, target: &Target) -> Result<Operation, BackendError> {
        let Placement { namespace, release } = target.placement.clone();
        let request = UninstallRequest {
            wait: true,
            timeout: target.timeout,
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

/// How an operation began.
enum Begun {
    Operation(Box<Operation>),
    /// It can't: the answer is known without one.
    Settled(Outcome),
}

/// What installs, upgrades and rollbacks have in common.
fn release_options(target: &Target) -> ReleaseOptions {
    ReleaseOptions {
        wait: Wait::Ready,
        timeout: target.timeout,
        ..ReleaseOptions::default()
    }
}

#[async_trait]
impl Backend for HelmBackend {
    fn name(&self) -> &'static str {
        "helm"
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            rollback: true,
            trees: false,
            synchronous: true,
        }
    }

    async fn prepare(&self, chart: &ChartSource) -> Result<Digest, BackendError> {
        self.charts.prepare(chart).await
    }

    async fn apply(&self, component: &Component) -> Result<Outcome, BackendError> {
        let slot = self.slots.of(&component.target.placement);
        let mut running = slot.lock().await;
        self.carry_on(Intent::Apply(component), &mut running).await
    }

    async fn status(&self, package: &str, placement: &Placement) -> Result<State, BackendError> {
        let heads = self.heads(placement).await?;
        let Some(last) = heads.last() else {
            return Ok(State::absent());
        };
        let foreign = marks::foreign(last, package);
        let phase = match (&foreign, &last.status) {
            (Some(_), _) => Phase::Foreign,
            (None, ReleaseStatus::Deployed) => Phase::Ready,
            (None, ReleaseStatus::Uninstalled) => Phase::Absent,
            (None, ReleaseStatus::Uninstalling) => Phase::Progressing,
            (None, status) if status.is_pending() => Phase::Progressing,
            (None, _) => Phase::Failed,
        };
        let message = match (foreign, phase) {
            (Some(why), _) => format!("release {placement} exists and {why}"),
            (None, Phase::Failed) => {
                let recorded = self
                    .helm
                    .get(&last.namespace, &last.name, Some(last.revision));
                let recorded = recorded.await.map_err(|error| problem(placement, error))?;
                recorded.info.description
            }
            (None, _) => format!("release {placement} is {}", last.status),
        };
        let good = |head: &&RecordHead| {
            matches!(
                head.status,
                ReleaseStatus::Deployed | ReleaseStatus::Superseded
            )
        };
        Ok(State {
            phase,
            revision: Some(u64::from(last.revision)),
            package_revision: marks::package_revision(last),
            restorable: heads
                .iter()
                .filter(good)
                .map(|head| u64::from(head.revision))
                .collect(),
            message,
        })
    }

    async fn rollback(&self, target: &Target, to: u64) -> Result<Outcome, BackendError> {
        let slot = self.slots.of(&target.placement);
        let mut running = slot.lock().await;
        self.carry_on(Intent::Rollback { target, to }, &mut running)
            .await
    }

    async fn uninstall(&self, target: &Target) -> Result<Outcome, BackendError> {
        let slot = self.slots.of(&target.placement);
        let mut running = slot.lock().await;
        self.carry_on(Intent::Uninstall(target), &mut running).await
    }
}

impl std::fmt::Debug for HelmBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HelmBackend")
            .field("helm", &self.helm)
            .finish_non_exhaustive()
    }
}
