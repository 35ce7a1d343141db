//! What all operations share when they begin: names and labels are checked, the plan is made from the
//! record, kinds and owners are looked up before anything is written, and a resumed operation finds its
//! place.

use super::error::OperationError;
use super::objects::resolve_expected;
use super::request::{CrdPolicy, NamespaceSpec, OnFailure, Preflight, ReleaseOptions};
use super::{KeptBecause, KeptObject, Operation};
use crate::apply::ApplyError;
use crate::cluster::{ResourceKind, kinds_of_crd};
use crate::helm::Helm;
use crate::objects::{ManifestObject, objects_of};
use crate::plan::{OperationKind, PlanInput, Step, plan};
use crate::progress::{Progress, Propagation, Settings, Wait};
use crate::release::{ApplyMethod, Release, ReleaseStatus};
use crate::storage::{RecordHead, StoredRelease};
use crate::{Hook, KindOrder, Rendered, guard, validate_release_name};
use futures::StreamExt as _;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn settings_of(options: &ReleaseOptions) -> Settings {
    Settings {
        wait: match (options.wait, options.on_failure) {
            // What is to be rolled back when it fails must be waited for.
            (Wait::Hooks, OnFailure::RollBack) => Wait::Ready,
            (wait, _) => wait,
        },
        clean_up: options.on_failure == OnFailure::CleanUp,
        skip_hooks: options.skip_hooks,
        take_ownership: options.take_ownership,
        force_conflicts: options.force_conflicts,
        keep_history: false,
        propagation: Propagation::Background,
        description: options.description.clone(),
        only: Vec::new(),
        except: Vec::new(),
        logs: false,
        shipped_crds: Vec::new(),
        image_patience: options.image_patience.map(|patience| patience.as_secs()),
        keep_crds: options.keep_crds,
    }
}

pub(super) fn method_of(server_side: bool) -> ApplyMethod {
    if server_side {
        ApplyMethod::ServerSide
    } else {
        ApplyMethod::ClientSide
    }
}

pub(super) fn check_name(name: &str) -> Result<(), OperationError> {
    validate_release_name(name).map_err(|source| OperationError::Name {
        name: name.to_owned(),
        source,
    })
}

pub(super) fn pending(head: &RecordHead) -> OperationError {
    OperationError::Pending {
        name: head.name.clone(),
        revision: head.revision,
        status: head.status.clone(),
        since: head.written,
        operation: head.operation().map(|progress| progress.operation),
    }
}

pub(super) fn manifest_objects(
    manifest: &str,
    what: &str,
) -> Result<Vec<ManifestObject>, OperationError> {
    objects_of(manifest).map_err(|source| OperationError::Manifest {
        what: what.to_owned(),
        source,
    })
}

/// The objects of the hooks that a plan runs; other hooks, such as tests, may be what they like.
fn hook_objects(hooks: &[Hook], plan: &[Step]) -> Result<Vec<Vec<ManifestObject>>, OperationError> {
    hooks
        .iter()
        .enumerate()
        .map(|(index, hook)| {
            if plan.contains(&Step::RunHook(index)) {
                let mut objects = manifest_objects(&hook.manifest, &hook.path)?;
                for object in &mut objects {
                    object.place.template.clone_from(&hook.path);
                }
                Ok(objects)
            } else {
                Ok(Vec::new())
            }
        })
        .collect()
}

/// Room in a record for what is written into it later: times of hooks, the description of a failure.
const HEADROOM: usize = 16 << 10;

/// Refuses a record that is too large, before anything is changed, unless it fits without what a rollback does
/// not need. A removal must always be possible.
fn fit(helm: &Helm, parts: &mut Parts) -> Result<(), OperationError> {
    let Some(limit) = helm.storage().limit() else {
        return Ok(());
    };
    match parts.release.fit(limit.saturating_sub(HEADROOM)) {
        Ok(left_out) => {
            for what in left_out {
                parts.warnings.push(format!(
                    "release record is too large: {what} are left out of it"
                ));
            }
            Ok(())
        }
        Err(_) if parts.progress.operation == OperationKind::Uninstall => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Everything an operation is made of.
pub(super) struct Parts {
    pub(super) release: Release,
    pub(super) head: Option<RecordHead>,
    pub(super) progress: Progress,
    pub(super) crds: Vec<ManifestObject>,
    pub(super) crd_policy: CrdPolicy,
    pub(super) namespace: Option<NamespaceSpec>,
    pub(super) prune_history: Vec<u32>,
    pub(super) previous: BTreeMap<u32, StoredRelease>,
    pub(super) warnings: Vec<String>,
}

impl Parts {
    /// Those of an operation that renders no chart: on a release as it is recorded, or is to be.
    pub(super) fn recorded(release: Release, progress: Progress) -> Self {
        Self {
            release,
            head: None,
            progress,
            crds: Vec::new(),
            crd_policy: CrdPolicy::Skip,
            namespace: None,
            prune_history: Vec::new(),
            previous: BTreeMap::new(),
            warnings: Vec::new(),
        }
    }
}

impl Operation {
    pub(super) fn assemble(helm: &Helm, parts: Parts) -> Result<Self, OperationError> {
        let kind = parts.progress.operation;
        let mut parts = parts;
        fit(helm, &mut parts)?;
        let mut objects = match kind {
            OperationKind::Test => Vec::new(),
            _ => manifest_objects(&parts.release.manifest, "release manifest")?,
        };
        let mut kept = Vec::new();
        if kind == OperationKind::Uninstall {
            let order = KindOrder::Uninstall;
            objects.sort_by(|a, b| order.rank(&a.kind).cmp(&order.rank(&b.kind)));
            // Only `keep` is reported; any other policy is passed over in silence, as Helm does.
            objects.retain(|object| match guard::policy(&object.value) {
                None => true,
                Some(policy) => {
                    if policy.trim().eq_ignore_ascii_case("keep") {
                        kept.push(KeptObject {
                            kind: object.kind.clone(),
                            namespace: object.namespace.clone(),
                            name: object.name.clone(),
                            because: KeptBecause::Policy,
                        });
                    }
                    false
                }
            });
        }
        let expected: Vec<ResourceKind> = parts
            .crds
            .iter()
            .chain(objects.iter().filter(|object| object.is_crd()))
            .flat_map(|object| kinds_of_crd(&object.value))
            .collect();
        let mut operation = Self {
            helm: helm.clone(),
            plan: Vec::new(),
            cursor: 0,
            progress: parts.progress,
            release: parts.release,
            head: parts.head,
            saved: None,
            objects,
            hook_objects: Vec::new(),
            crds: parts.crds,
            crd_policy: parts.crd_policy,
            namespace: parts.namespace,
            prune_history: parts.prune_history,
            expected,
            previous: parts.previous,
            previous_objects: None,
            from_client: false,
            unchanged: BTreeSet::new(),
            created: BTreeSet::new(),
            logs: Vec::new(),
            live: BTreeMap::new(),
            settled: BTreeSet::new(),
            gone_hook: None,
            hook_versions: BTreeMap::new(),
            hook_answers: BTreeMap::new(),
            following: None,
            imageless: BTreeMap::new(),
            held: BTreeMap::new(),
            pods_seen: None,
            looks: 0,
            awaited: Vec::new(),
            failure: None,
            kept,
            warnings: parts.warnings,
            outcome: None,
        };
        operation.plan = operation.make_plan(false);
        operation.hook_objects = hook_objects(&operation.release.hooks, &operation.plan)?;
        Ok(operation)
    }

    /// The steps; `settled` when nothing has to be done to any object.
    pub(super) fn make_plan(&self, settled: bool) -> Vec<Step> {
        let kind = self.progress.operation;
        let kinds: Vec<&str> = self
            .objects
            .iter()
            .map(|object| object.kind.as_str())
            .collect();
        let settings = &self.progress.settings;
        plan(&PlanInput {
            kind,
            hooks: &self.release.hooks,
            object_kinds: &kinds,
            create_namespace: self.namespace.is_some(),
            crds: !self.crds.is_empty(),
            run_hooks: !settings.skip_hooks,
            wait: settings.wait != Wait::Hooks,
            prune: matches!(kind, OperationKind::Upgrade | OperationKind::Rollback),
            keep_history: settings.keep_history,
            replace: !self.progress.supersede.is_empty(),
            settled,
            tests: (&settings.only, &settings.except),
        })
    }

    /// Refuses what can be known to fail before anything is written: kinds that nobody serves, and, when
    /// asked for, objects that belong to somebody else.
    pub(super) async fn preflight(&self, preflight: Preflight) -> Result<(), OperationError> {
        let helm = &self.helm;
        let namespace = &self.release.namespace;
        let early = match preflight {
            Preflight::Always => true,
            Preflight::Never => false,
            Preflight::Auto => {
                !self.crds.is_empty()
                    || self
                        .plan
                        .iter()
                        .take_while(|step| !matches!(step, Step::Apply(..)))
                        .any(|step| matches!(step, Step::RunHook(_)))
            }
        };
        let mut targets = Vec::new();
        for object in self.hook_objects.iter().flatten() {
            resolve_expected(helm, object, namespace, &self.expected).await?;
        }
        for object in &self.objects {
            targets.push(resolve_expected(helm, object, namespace, &self.expected).await?);
        }
        let rollback = self.progress.operation == OperationKind::Rollback;
        if !early || rollback || self.progress.settings.take_ownership {
            return Ok(());
        }
        let mut known = BTreeSet::new();
        if let Some(stored) = self
            .progress
            .previous
            .and_then(|revision| self.previous.get(&revision))
        {
            for object in objects_of(&stored.release.manifest).unwrap_or_default() {
                known.insert((
                    object.group().to_owned(),
                    object.kind.clone(),
                    object.name.clone(),
                ));
            }
        }
        let owner = self.owner();
        targets.retain(|target| {
            let object = target.object;
            !known.contains(&(
                object.group().to_owned(),
                object.kind.clone(),
                object.name.clone(),
            ))
        });
        // By position: a closure over references would make the future of the whole call bound to one
        // lifetime, and an async trait could not await it.
        let targets = &targets;
        let checks = (0..targets.len()).filter_map(|index| {
            let target = targets.get(index)?;
            Some(async move {
                match helm.writer().require_ours(target, owner).await {
                    // A kind that is on its way has no objects.
                    Err(ApplyError::Api(error)) if error.is_not_found() => Ok(()),
                    outcome => outcome,
                }
            })
        });
        let outcomes: Vec<_> = futures::stream::iter(checks)
            .buffered(helm.concurrency())
            .collect()
            .await;
        outcomes.into_iter().collect::<Result<Vec<()>, _>>()?;
        Ok(())
    }

    /// Takes up an operation where its record says it was.
    fn resume_at(helm: &Helm, stored: StoredRelease) -> Result<Self, OperationError> {
        let StoredRelease { release, head } = stored;
        let Some(progress) = head.operation() else {
            return Err(OperationError::NothingToResume {
                name: head.name,
                revision: head.revision,
                status: head.status,
            });
        };
        let step = progress.step;
        let mut operation = Self::assemble(
            helm,
            Parts {
                head: Some(head),
                ..Parts::recorded(release, progress)
            },
        )?;
        let after_record = operation
            .plan
            .iter()
            .position(|step| *step == Step::Record)
            .map_or(0, |at| at + 1);
        operation.cursor = after_record.saturating_add(step).min(operation.plan.len());
        operation.saved = Some(operation.cursor);
        Ok(operation)
    }
}

impl Helm {
    /// Takes up the operation that another process, or this one before a crash, has begun. Whoever writes the
    /// record first goes on; the other one stops with [`OperationError::Overtaken`].
    ///
    /// # Errors
    /// When the newest record has no progress of this crate.
    pub async fn resume(&self, namespace: &str, name: &str) -> Result<Operation, OperationError> {
        let Some(head) = self.latest(namespace, name).await? else {
            return Err(OperationError::NotFound {
                name: name.to_owned(),
                namespace: namespace.to_owned(),
            });
        };
        if head.operation().is_none() {
            return Err(OperationError::NothingToResume {
                name: head.name,
                revision: head.revision,
                status: head.status,
            });
        }
        let stored = self.require(namespace, name, head.revision).await?;
        Operation::resume_at(self, stored)
    }

    /// Two revisions, which may be one, read at the same time.
    pub(super) async fn require_both(
        &self,
        namespace: &str,
        name: &str,
        (one, other): (u32, u32),
    ) -> Result<BTreeMap<u32, StoredRelease>, OperationError> {
        if one == other {
            let found = self.require(namespace, name, one).await?;
            return Ok(BTreeMap::from([(one, found)]));
        }
        let (first, second) = futures::try_join!(
            self.require(namespace, name, one),
            self.require(namespace, name, other),
        )?;
        Ok(BTreeMap::from([(one, first), (other, second)]))
    }

    pub(super) async fn require(
        &self,
        namespace: &str,
        name: &str,
        revision: u32,
    ) -> Result<StoredRelease, OperationError> {
        self.storage()
            .get(namespace, name, revision)
            .await?
            .ok_or_else(|| OperationError::NoRevision {
                name: name.to_owned(),
                revision,
            })
    }
}

/// The parts of a revision that rendering gives.
pub(super) fn of_rendered(rendered: Rendered) -> Release {
    Release {
        chart: serde_json::to_value(&rendered.chart).unwrap_or_default(),
        config: serde_json::to_value(&rendered.config).unwrap_or_default(),
        manifest: rendered.manifest,
        hooks: rendered.hooks,
        apply_method: ApplyMethod::ServerSide,
        ..Release::default()
    }
}

/// Notes which revisions a new one replaces.
pub(super) fn replaces(progress: &mut Progress, heads: &[RecordHead], current: u32, other: u32) {
    progress.previous = Some(current);
    progress.leftover = (other != current).then_some(other);
    // Helm marks the revision that it upgraded from even when that had failed.
    let upgraded = progress.operation == OperationKind::Upgrade;
    progress.supersede = heads
        .iter()
        .filter(|head| {
            head.status == ReleaseStatus::Deployed || (upgraded && head.revision == current)
        })
        .map(|head| head.revision)
        .collect();
}

/// The oldest revisions that make room for one more, never the newest deployed one.
pub(super) fn beyond(heads: &[RecordHead], max_history: usize) -> Vec<u32> {
    if max_history == 0 {
        return Vec::new();
    }
    let deployed = heads
        .iter()
        .rev()
        .find(|head| head.status == ReleaseStatus::Deployed);
    let keep = deployed.map(|head| head.revision);
    let surplus = heads.len().saturating_sub(max_history - 1);
    heads
        .iter()
        .map(|head| head.revision)
        .filter(|revision| Some(*revision) != keep)
        .take(surplus)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::beyond;
    use crate::release::ReleaseStatus;
    use crate::storage::RecordHead;
    use std::collections::BTreeMap;

    fn head(revision: u32, status: ReleaseStatus) -> RecordHead {
        RecordHead {
            name: "r".to_owned(),
            namespace: "ns".to_owned(),
            revision,
            status,
            labels: BTreeMap::new(),
            written: None,
            progress: None,
            resource_version: String::new(),
        }
    }

    #[test]
    fn history_makes_room_but_keeps_the_deployed_revision() {
        let heads = [
            head(1, ReleaseStatus::Deployed),
            head(2, ReleaseStatus::Failed),
            head(3, ReleaseStatus::Failed),
        ];
        assert!(beyond(&heads, 0).is_empty());
        assert!(beyond(&heads, 4).is_empty());
        assert_eq!(beyond(&heads, 3), [2]);
        assert_eq!(beyond(&heads, 1), [2, 3]);
    }
}
