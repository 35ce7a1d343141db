//! Upgrades: a new revision of an existing release.
//! Source of the rules: Helm 4.3.1 `pkg/action/upgrade.go`. Beyond Helm, objects that only a failed revision
//! brought are removed, too.

use super::begin::{
    Parts, beyond, check_name, method_of, of_rendered, pending, replaces, settings_of,
};
use super::install::crd_objects;
use super::request::{CrdPolicy, ReuseValues, UpgradeRequest};
use super::{Operation, OperationError};
use crate::helm::Helm;
use crate::objects::{Located, ManifestObject, objects_of};
use crate::plan::OperationKind;
use crate::progress::Progress;
use crate::release::{ApplyMethod, Info, Release, ReleaseStatus, check_labels};
use crate::storage::{RecordHead, StoredRelease};
use crate::{Chart, RenderError, Rendered, Values, coalesce_tables, coalesce_values};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl Helm {
    /// Begins an upgrade to what was rendered already; writes nothing yet. `request.values` do not matter.
    ///
    /// # Errors
    /// When there is no revision to upgrade from, another operation is under way, or a kind is not served.
    pub async fn begin_upgrade_rendered(
        &self,
        request: UpgradeRequest,
        rendered: Rendered,
    ) -> Result<Operation, OperationError> {
        let base = self.upgrade_base(&request).await?;
        self.upgrade_of(request, base, rendered).await
    }

    pub(super) async fn upgrade_base(
        &self,
        request: &UpgradeRequest,
    ) -> Result<UpgradeBase, OperationError> {
        check_name(&request.name)?;
        check_labels(&request.options.labels)?;
        let (namespace, name) = (&request.namespace, &request.name);
        let no_deployed = || OperationError::NoDeployed { name: name.clone() };
        let heads = self.history(namespace, name).await?;
        let last = heads.last().ok_or_else(no_deployed)?.clone();
        if last.status.is_pending() {
            return Err(pending(&last));
        }
        let deployed = heads
            .iter()
            .rev()
            .find(|head| head.status == ReleaseStatus::Deployed);
        let current = match (deployed, &last.status) {
            (Some(deployed), _) => deployed.revision,
            (None, ReleaseStatus::Failed | ReleaseStatus::Superseded) => last.revision,
            (None, _) => return Err(no_deployed()),
        };
        let wanted = (current, last.revision);
        let previous = self.require_both(namespace, name, wanted).await?;
        Ok(UpgradeBase {
            heads,
            last,
            current,
            previous,
        })
    }

    pub(super) async fn upgrade_of(
        &self,
        request: UpgradeRequest,
        base: UpgradeBase,
        rendered: Rendered,
    ) -> Result<Operation, OperationError> {
        let options = request.options;
        let UpgradeBase {
            heads,
            last,
            current,
            previous,
        } = base;
        let first_deployed = previous
            .get(&current)
            .and_then(|stored| stored.release.info.first_deployed.clone());
        let policy = options.crds.unwrap_or(CrdPolicy::Skip);
        let crds = crd_objects(&rendered.crds, policy)?;
        let shipped = crd_objects(&rendered.crds, CrdPolicy::Create).unwrap_or_default();
        let mut labels = last.labels.clone();
        labels.extend(options.labels.clone());
        labels.retain(|_, value| value != "null");
        let warnings = rendered.warnings.clone();
        let places = Located::all(&rendered);
        let as_before = previous
            .get(&last.revision)
            .is_some_and(|stored| stored.release.apply_method == ApplyMethod::ServerSide);
        let apply_method = method_of(options.server_side.unwrap_or(as_before));
        let now = self.now();
        let release = Release {
            name: request.name,
            namespace: request.namespace,
            revision: last.revision.saturating_add(1),
            info: Info {
                first_deployed,
                last_deployed: Some(now.into()),
                description: "Preparing upgrade".to_owned(),
                status: ReleaseStatus::PendingUpgrade,
                notes: rendered.notes.clone(),
                ..Info::default()
            },
            labels,
            apply_method,
            ..of_rendered(rendered)
        };
        let mut progress = Progress::new(
            OperationKind::Upgrade,
            now,
            options.timeout,
            settings_of(&options),
        );
        replaces(&mut progress, &heads, current, last.revision);
        progress.settings.shipped_crds = moved_crds(&previous, &shipped);
        let mut prune_history = beyond(&heads, options.max_history);
        prune_history.retain(|revision| *revision != last.revision);
        let mut operation = Operation::assemble(
            self,
            Parts {
                crds,
                crd_policy: policy,
                prune_history,
                previous,
                warnings,
                ..Parts::recorded(release, progress)
            },
        )?;
        operation.locate(&places);
        operation.preflight(options.preflight).await?;
        operation.compare(options.unchanged).await?;
        Ok(operation)
    }
}

/// The CRDs of the chart's `crds/` that stood in the manifest before: removing them would remove all objects of
/// their kinds, although the chart still has them.
fn moved_crds(previous: &BTreeMap<u32, StoredRelease>, shipped: &[ManifestObject]) -> Vec<String> {
    let shipped: BTreeSet<&str> = shipped
        .iter()
        .filter(|object| object.is_crd())
        .map(|object| object.name.as_str())
        .collect();
    if shipped.is_empty() {
        return Vec::new();
    }
    let moved: BTreeSet<String> = previous
        .values()
        .flat_map(|stored| objects_of(&stored.release.manifest).unwrap_or_default())
        .filter(|object| object.is_crd() && shipped.contains(object.name.as_str()))
        .map(|object| object.name)
        .collect();
    moved.into_iter().collect()
}

/// What an upgrade starts from.
pub(super) struct UpgradeBase {
    heads: Vec<RecordHead>,
    last: RecordHead,
    /// The revision whose objects are replaced.
    current: u32,
    previous: BTreeMap<u32, StoredRelease>,
}

impl UpgradeBase {
    /// The chart and the values that an upgrade is rendered with.
    /// Source of the rules: Helm 4.3.1 `pkg/action/upgrade.go`, `reuseValues`.
    pub(super) fn values_of(
        &self,
        request: &UpgradeRequest,
    ) -> Result<(Arc<Chart>, Values), OperationError> {
        let (chart, given) = (Arc::clone(&request.chart), request.values.clone());
        let Some(stored) = self.previous.get(&self.current) else {
            return Ok((chart, given));
        };
        let old = stored.release.values();
        Ok(match request.options.reuse_values {
            ReuseValues::WhenNoneGiven if given.is_empty() && !old.is_empty() => (chart, old),
            ReuseValues::Reset | ReuseValues::WhenNoneGiven => (chart, given),
            ReuseValues::ResetThenReuse => (chart, coalesce_tables(&given, &old)),
            ReuseValues::Reuse => {
                let before = stored.release.chart().unwrap_or_default();
                let all = coalesce_values(&before, &old).map_err(RenderError::from)?;
                let mut chart = Chart::clone(&chart);
                chart.values = Some(all.values);
                (Arc::new(chart), coalesce_tables(&given, &old))
            }
        })
    }

    /// The revision that the upgrade makes.
    pub(super) fn revision(&self) -> u32 {
        self.last.revision.saturating_add(1)
    }
}
