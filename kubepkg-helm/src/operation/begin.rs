//! How operations begin: the requests, what is refused before anything is written, and resuming.
//! Charts are rendered here, with the cluster's real capabilities and `lookup`.

use super::Operation;
use super::error::OperationError;
use super::objects::resolve_expected;
use crate::apply::{ApplyError, Owner};
use crate::cluster::{ResourceKind, kinds_of_crd};
use crate::helm::Helm;
use crate::objects::{ManifestObject, objects_of};
use crate::plan::{OperationKind, PlanInput, Step, plan, removal_rank};
use crate::progress::{Progress, Propagation, Settings, Wait};
use crate::release::{ApplyMethod, Info, Release, ReleaseStatus, ReleaseTime, check_labels};
use crate::storage::{RecordHead, StoredRelease};
use crate::{Chart, Hook, HookExecution, Rendered, Values, guard};
use futures::StreamExt as _;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Longest name of a release.
const NAME_LENGTH: usize = 53;

/// What happens to the chart's `crds/`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CrdPolicy {
    /// They are not looked at.
    Skip,
    /// New ones are made, existing ones stay as they are.
    #[default]
    Create,
    /// New ones are made, existing ones are replaced.
    CreateReplace,
}

/// When an install or upgrade looks whether its new objects exist and belong to somebody else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preflight {
    /// Before anything is written when the chart has hooks to run first or `crds/`, else while writing.
    #[default]
    Auto,
    /// Before anything is written, one request an object, as Helm does.
    Always,
    /// While writing, which costs no request; a refusal may then leave earlier objects of the release.
    Never,
}

/// A namespace to be made when it does not exist. One that exists stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamespaceSpec {
    /// Its labels; `name` is added, as Helm does.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
}

/// Choices that installs, upgrades and rollbacks share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseOptions {
    /// Description of the finished revision; Helm's own text when none.
    pub description: Option<String>,
    /// Labels of the record. An upgrade adds them to those of the revision before; the value `null` removes.
    pub labels: BTreeMap<String, String>,
    /// Make the namespace when it does not exist (installs only).
    pub create_namespace: Option<NamespaceSpec>,
    /// What happens to the chart's `crds/`. None means `Create` for an install and `Skip` for an upgrade.
    pub crds: Option<CrdPolicy>,
    /// What is waited for.
    pub wait: Wait,
    /// How long waiting may take, counted from the beginning of the operation.
    pub timeout: Duration,
    /// Run no hooks.
    pub skip_hooks: bool,
    /// Take over objects that somebody else made.
    pub take_ownership: bool,
    /// Take fields from other field managers that hold them with other values.
    pub force_conflicts: bool,
    /// Revisions kept; 0 keeps all.
    pub max_history: usize,
    /// Do not check values against the chart's schema.
    pub skip_schema: bool,
    /// When new objects are checked for another owner.
    pub preflight: Preflight,
}

impl Default for ReleaseOptions {
    /// Five minutes and ten revisions, as Helm's command line.
    fn default() -> Self {
        Self {
            description: None,
            labels: BTreeMap::new(),
            create_namespace: None,
            crds: None,
            wait: Wait::Hooks,
            timeout: Duration::from_secs(300),
            skip_hooks: false,
            take_ownership: false,
            force_conflicts: false,
            max_history: 10,
            skip_schema: false,
            preflight: Preflight::Auto,
        }
    }
}

/// The first revision of a release.
#[derive(Clone, Debug)]
pub struct InstallRequest {
    /// Name of the release.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// What to install.
    pub chart: Arc<Chart>,
    /// The user's values.
    pub values: Values,
    /// Choices.
    pub options: ReleaseOptions,
}

/// A new revision of a release. Unlike Helm's command line, empty values mean the chart's own and not those
/// of the revision before.
#[derive(Clone, Debug)]
pub struct UpgradeRequest {
    /// Name of the release.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// What to upgrade to.
    pub chart: Arc<Chart>,
    /// The user's values.
    pub values: Values,
    /// Choices.
    pub options: ReleaseOptions,
}

/// A new revision that repeats an older one.
#[derive(Clone, Debug)]
pub struct RollbackRequest {
    /// Name of the release.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// The revision to return to; the one before the newest when none.
    pub to: Option<u32>,
    /// Choices; `labels` are added to those of the revision returned to, as for an upgrade. `crds`,
    /// `create_namespace` and `skip_schema` do not matter.
    pub options: ReleaseOptions,
}

/// The removal of a release.
#[derive(Clone, Debug)]
pub struct UninstallRequest {
    /// Name of the release.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Wait until the objects are gone.
    pub wait: bool,
    /// How long waiting may take, counted from the beginning of the operation.
    pub timeout: Duration,
    /// Run no hooks.
    pub skip_hooks: bool,
    /// Keep the records, with the status `uninstalled`.
    pub keep_history: bool,
    /// What happens to the dependents of deleted objects.
    pub propagation: Propagation,
    /// Description of the finished removal; Helm's own text when none.
    pub description: Option<String>,
}

impl UninstallRequest {
    /// The removal of a release with Helm's defaults.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            namespace: namespace.into(),
            wait: false,
            timeout: Duration::from_secs(300),
            skip_hooks: false,
            keep_history: false,
            propagation: Propagation::Background,
            description: None,
        }
    }
}

fn settings_of(options: &ReleaseOptions) -> Settings {
    Settings {
        wait: options.wait,
        skip_hooks: options.skip_hooks,
        take_ownership: options.take_ownership,
        force_conflicts: options.force_conflicts,
        keep_history: false,
        propagation: Propagation::Background,
        description: options.description.clone(),
    }
}

fn check_name(name: &str) -> Result<(), OperationError> {
    let fail = |reason| {
        Err(OperationError::Name {
            name: name.to_owned(),
            reason,
        })
    };
    if name.is_empty() {
        return fail("no name provided");
    }
    let part_is_good = |part: &str| {
        let edge = |byte: Option<&u8>| {
            byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        let bytes = part.as_bytes();
        edge(bytes.first())
            && edge(bytes.last())
            && bytes
                .iter()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-')
    };
    if name.len() > NAME_LENGTH || !name.split('.').all(part_is_good) {
        return fail(
            "invalid release name, must match regex ^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$ and the length must not be longer than 53",
        );
    }
    Ok(())
}

fn pending(head: &RecordHead) -> OperationError {
    OperationError::Pending {
        name: head.name.clone(),
        revision: head.revision,
        status: head.status.clone(),
        since: head.written,
        operation: head.operation().map(|progress| progress.operation),
    }
}

fn manifest_objects(manifest: &str, what: &str) -> Result<Vec<ManifestObject>, OperationError> {
    objects_of(manifest).map_err(|source| OperationError::Manifest {
        what: what.to_owned(),
        source,
    })
}

fn hook_objects(hooks: &[Hook]) -> Result<Vec<Vec<ManifestObject>>, OperationError> {
    hooks
        .iter()
        .map(|hook| manifest_objects(&hook.manifest, &hook.path))
        .collect()
}

/// Everything an operation is made of.
struct Parts {
    release: Release,
    head: Option<RecordHead>,
    progress: Progress,
    crds: Vec<ManifestObject>,
    crd_policy: CrdPolicy,
    namespace: Option<NamespaceSpec>,
    prune_history: Vec<u32>,
    previous: BTreeMap<u32, StoredRelease>,
}

impl Operation {
    fn assemble(helm: &Helm, parts: Parts) -> Result<Self, OperationError> {
        let kind = parts.progress.operation;
        let mut objects = manifest_objects(&parts.release.manifest, "release manifest")?;
        let mut kept = Vec::new();
        if kind == OperationKind::Uninstall {
            objects.sort_by(|a, b| removal_rank(&a.kind).cmp(&removal_rank(&b.kind)));
            // Only `keep` is reported; any other policy is passed over in silence, as Helm does.
            objects.retain(|object| match guard::policy(&object.value) {
                None => true,
                Some(policy) => {
                    if policy.trim().eq_ignore_ascii_case("keep") {
                        kept.push(super::KeptObject {
                            kind: object.kind.clone(),
                            namespace: object.namespace.clone(),
                            name: object.name.clone(),
                            because: super::KeptBecause::Policy,
                        });
                    }
                    false
                }
            });
        }
        let hook_objects = hook_objects(&parts.release.hooks)?;
        let expected: Vec<ResourceKind> = parts
            .crds
            .iter()
            .chain(objects.iter().filter(|object| object.is_crd()))
            .flat_map(|object| kinds_of_crd(&object.value))
            .collect();
        let kinds: Vec<&str> = objects.iter().map(|object| object.kind.as_str()).collect();
        let settings = &parts.progress.settings;
        let plan = plan(&PlanInput {
            kind,
            hooks: &parts.release.hooks,
            object_kinds: &kinds,
            create_namespace: parts.namespace.is_some(),
            crds: !parts.crds.is_empty(),
            run_hooks: !settings.skip_hooks,
            wait: settings.wait != Wait::Hooks,
            prune: matches!(kind, OperationKind::Upgrade | OperationKind::Rollback),
            keep_history: settings.keep_history,
        });
        Ok(Self {
            helm: helm.clone(),
            plan,
            cursor: 0,
            progress: parts.progress,
            release: parts.release,
            head: parts.head,
            saved: None,
            objects,
            hook_objects,
            crds: parts.crds,
            crd_policy: parts.crd_policy,
            namespace: parts.namespace,
            prune_history: parts.prune_history,
            expected,
            previous: parts.previous,
            previous_keys: None,
            live: BTreeMap::new(),
            settled: BTreeSet::new(),
            looks: 0,
            failure: None,
            kept,
            warnings: Vec::new(),
            outcome: None,
        })
    }

    /// Refuses what can be known to fail before anything is written: kinds that nobody serves, and, when
    /// asked for, objects that belong to somebody else.
    async fn preflight(&self, preflight: Preflight) -> Result<(), OperationError> {
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
        if !early || self.progress.settings.take_ownership {
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
        let owner = Owner {
            release: &self.release.name,
            namespace,
            operation: match self.progress.operation {
                OperationKind::Install => "install",
                _ => "update",
            },
        };
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
    async fn resume_at(helm: &Helm, stored: StoredRelease) -> Result<Self, OperationError> {
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
                release,
                head: Some(head),
                progress,
                crds: Vec::new(),
                crd_policy: CrdPolicy::Skip,
                namespace: None,
                prune_history: Vec::new(),
                previous: BTreeMap::new(),
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
    /// Begins an install of what was rendered already; writes nothing yet. `request.values` do not matter.
    ///
    /// # Errors
    /// When a release of that name exists, or a kind is not served.
    pub async fn begin_install_rendered(
        &self,
        request: InstallRequest,
        rendered: Rendered,
    ) -> Result<Operation, OperationError> {
        self.check_install(&request).await?;
        self.install_of(request, rendered).await
    }

    pub(super) async fn check_install(
        &self,
        request: &InstallRequest,
    ) -> Result<(), OperationError> {
        check_name(&request.name)?;
        check_labels(&request.options.labels)?;
        match self.latest(&request.namespace, &request.name).await? {
            None => Ok(()),
            Some(head) => Err(OperationError::NameInUse {
                name: request.name.clone(),
                revision: head.revision,
                status: head.status,
            }),
        }
    }

    pub(super) async fn install_of(
        &self,
        request: InstallRequest,
        rendered: Rendered,
    ) -> Result<Operation, OperationError> {
        let options = request.options;
        let policy = options.crds.unwrap_or(CrdPolicy::Create);
        let crds = crd_objects(&rendered.crds, policy)?;
        let now = self.now();
        let release = Release {
            name: request.name,
            namespace: request.namespace,
            revision: 1,
            info: Info {
                first_deployed: Some(now.into()),
                last_deployed: Some(now.into()),
                description: "Initial install underway".to_owned(),
                status: ReleaseStatus::PendingInstall,
                notes: rendered.notes.clone(),
                ..Info::default()
            },
            labels: options.labels.clone(),
            ..of_rendered(rendered)
        };
        let progress = Progress::new(
            OperationKind::Install,
            now,
            options.timeout,
            settings_of(&options),
        );
        let operation = Operation::assemble(
            self,
            Parts {
                release,
                head: None,
                progress,
                crds,
                crd_policy: policy,
                namespace: options.create_namespace,
                prune_history: Vec::new(),
                previous: BTreeMap::new(),
            },
        )?;
        operation.preflight(options.preflight).await?;
        Ok(operation)
    }

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
        let mut previous = BTreeMap::new();
        for revision in BTreeSet::from([current, last.revision]) {
            previous.insert(revision, self.require(namespace, name, revision).await?);
        }
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
        let mut labels = last.labels.clone();
        labels.extend(options.labels.clone());
        labels.retain(|_, value| value != "null");
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
            ..of_rendered(rendered)
        };
        let mut progress = Progress::new(
            OperationKind::Upgrade,
            now,
            options.timeout,
            settings_of(&options),
        );
        replaces(&mut progress, &heads, current, last.revision);
        let mut prune_history = beyond(&heads, options.max_history);
        prune_history.retain(|revision| *revision != last.revision);
        let operation = Operation::assemble(
            self,
            Parts {
                release,
                head: None,
                progress,
                crds,
                crd_policy: policy,
                namespace: None,
                prune_history,
                previous,
            },
        )?;
        operation.preflight(options.preflight).await?;
        Ok(operation)
    }

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
        if last.status.is_pending() {
            return Err(pending(last));
        }
        let to = request
            .to
            .unwrap_or_else(|| last.revision.saturating_sub(1));
        if !heads.iter().any(|head| head.revision == to) {
            return Err(OperationError::NoRevision { name, revision: to });
        }
        let mut previous = BTreeMap::new();
        for revision in BTreeSet::from([to, last.revision]) {
            previous.insert(revision, self.require(&namespace, &name, revision).await?);
        }
        let mut target = previous
            .get(&to)
            .map(|stored| stored.release.clone())
            .unwrap_or_default();
        for hook in &mut target.hooks {
            hook.last_run = HookExecution::default();
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
            apply_method: ApplyMethod::ServerSide,
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
        let operation = Operation::assemble(
            self,
            Parts {
                release,
                head: None,
                progress,
                crds: Vec::new(),
                crd_policy: CrdPolicy::Skip,
                namespace: None,
                prune_history,
                previous,
            },
        )?;
        operation.preflight(options.preflight).await?;
        Ok(operation)
    }

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
        release.info.description = "Deletion in progress (or silently failed)".to_owned();
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
                release,
                head: Some(head),
                progress,
                crds: Vec::new(),
                crd_policy: CrdPolicy::Skip,
                namespace: None,
                prune_history,
                previous: BTreeMap::new(),
            },
        )
    }

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
        Operation::resume_at(self, stored).await
    }

    async fn require(
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

/// What an upgrade starts from.
pub(super) struct UpgradeBase {
    heads: Vec<RecordHead>,
    last: RecordHead,
    /// The revision whose objects are replaced.
    current: u32,
    previous: BTreeMap<u32, StoredRelease>,
}

impl UpgradeBase {
    /// The revision that the upgrade makes.
    pub(super) fn revision(&self) -> u32 {
        self.last.revision.saturating_add(1)
    }
}

/// The objects of a chart's `crds/`.
pub(super) fn crd_objects(
    files: &[crate::CrdFile],
    policy: CrdPolicy,
) -> Result<Vec<ManifestObject>, OperationError> {
    let mut objects = Vec::new();
    if policy != CrdPolicy::Skip {
        for file in files {
            let text = String::from_utf8_lossy(&file.data);
            objects.extend(manifest_objects(&text, &file.path)?);
        }
    }
    Ok(objects)
}

/// The parts of a revision that rendering gives.
fn of_rendered(rendered: Rendered) -> Release {
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
fn replaces(progress: &mut Progress, heads: &[RecordHead], current: u32, other: u32) {
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
fn beyond(heads: &[RecordHead], max_history: usize) -> Vec<u32> {
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
    use super::{beyond, check_name};
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

    #[test]
    fn names_are_those_of_helm() {
        assert!(check_name("a.b-c").is_ok());
        for name in ["", "A", "a_b", "-a", "a.", &"a".repeat(54)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
