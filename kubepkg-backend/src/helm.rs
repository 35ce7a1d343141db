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

mod begin;
mod chart;
mod crds;
mod marks;
mod next;
mod outcome;
mod running;

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use kubepkg_api::Digest;
use kubepkg_helm::{
    ChartLimits, Clock, Helm, HelmOptions, HookEvent, HookPhase, Operation, RecordHead,
    ReleaseStatus, SystemClock,
};
use kubepkg_source::Charts;

use self::begin::Begun;
use self::chart::ChartStore;
use self::next::{Intent, Next, next};
use self::outcome::{failed_before, problem, unavailable};
use self::running::{Running, Slots};
use crate::{
    Backend, BackendError, Capabilities, ChartSource, Component, Outcome, Phase, Placement, State,
    Target,
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
    /// Reads charts and renders where it is called from, as [`HelmOptions::inline`] says.
    pub inline: bool,
}

impl Default for HelmBackendOptions {
    fn default() -> Self {
        Self {
            user_agent: None,
            chart_limits: ChartLimits::default(),
            clock: Arc::new(SystemClock),
            inline: false,
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
            inline: options.inline,
            ..HelmOptions::default()
        };
        Self {
            helm: Helm::new(client.clone(), helm),
            client,
            charts: ChartStore::new(charts, options.chart_limits, options.inline),
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
            Next::Purge => self.purge(target, running).await,
            Next::Begin => {
                if matches!(intent, Intent::Apply(_)) && self.owes_install_hooks(heads).await? {
                    return self.purge(target, running).await;
                }
                let operation = match self.begin(intent, heads).await? {
                    Begun::Operation(operation) => *operation,
                    Begun::Settled(outcome) => return Ok(Some(outcome)),
                };
                *running = Some(Running::new(operation, intent));
                self.advance(target, running).await.map(Some)
            }
        }
    }

    /// Removes what is left of a release before it is installed.
    async fn purge(
        &self,
        target: &Target,
        running: &mut Option<Running>,
    ) -> Result<Option<Outcome>, BackendError> {
        let operation = self.begin_removal(target).await?;
        *running = Some(Running::removal(operation));
        self.clear_away(target, running).await
    }

    /// Whether a release was never installed because its install hooks did not succeed. An upgrade, which is how Helm
    /// tries again, would not run them.
    async fn owes_install_hooks(&self, heads: &[RecordHead]) -> Result<bool, BackendError> {
        let Some(last) = heads
            .last()
            .filter(|_| heads.iter().all(|h| h.status == ReleaseStatus::Failed))
        else {
            return Ok(false);
        };
        let placement = Placement {
            namespace: last.namespace.clone(),
            release: last.name.clone(),
        };
        let recorded = self
            .helm
            .get(&last.namespace, &last.name, Some(last.revision))
            .await
            .map_err(|error| problem(&placement, error))?;
        Ok(recorded.hooks.iter().any(|hook| {
            let installs =
                |event| matches!(event, &HookEvent::PreInstall | &HookEvent::PostInstall);
            hook.events.iter().any(installs) && hook.last_run.phase != HookPhase::Succeeded
        }))
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

    async fn changed(&self, placement: &Placement) {
        let slot = self.slots.of(placement);
        let changes = {
            let running = slot.lock().await;
            let operation = running.as_ref().map(|running| &running.operation);
            operation.and_then(Operation::changes)
        };
        match changes {
            Some(changes) => changes.next().await,
            None => std::future::pending().await,
        }
    }

    async fn releases(&self, uid: &str) -> Result<Vec<Placement>, BackendError> {
        let marked = self.helm.list_labelled("", marks::UID_LABEL, uid).await;
        let marked = marked.map_err(|error| outcome::unlisted(uid, &error))?;
        let placements: BTreeSet<Placement> = marked
            .into_iter()
            .map(|head| Placement {
                namespace: head.namespace,
                release: head.name,
            })
            .collect();
        Ok(placements.into_iter().collect())
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
