//! What callers ask for: requests and the choices that go with them. All fields are public and every
//! combination is allowed; `Default` is Helm's command line.

use crate::progress::{Propagation, Wait};
use crate::{Chart, PostRender, PostRenderStrategy, PostRenderer, Values};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

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

/// What an upgrade or rollback does about objects that stand in its manifest as they stood in the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unchanged {
    /// Each is read, and applied only when that would change it: what somebody else changed, took over or
    /// deleted is put right (or is a conflict) as if all were applied. It costs one request an object.
    #[default]
    Compare,
    /// They are applied like the others, as Helm does.
    Apply,
    /// They are not looked at, unless the revision before failed or was written by a client: for callers that
    /// follow the objects by other means. An upgrade that changes nothing then costs four requests in all.
    Trust,
}

/// Which values an upgrade has beside those that are given with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReuseValues {
    /// Those of the chart (`--reset-values`).
    #[default]
    Reset,
    /// Those of the revision before when none are given, else those of the chart: Helm's command line without
    /// a flag.
    WhenNoneGiven,
    /// Those of the revision before and of its chart, instead of the new chart's (`--reuse-values`).
    Reuse,
    /// Those of the revision before over the new chart's (`--reset-then-reuse-values`).
    ResetThenReuse,
}

/// What becomes of an install or upgrade that failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// It stays as it is, for people to look at.
    #[default]
    Keep,
    /// Upgrades and rollbacks delete the objects that they made (`--cleanup-on-fail`).
    CleanUp,
    /// An install is removed, an upgrade rolled back to the last revision that succeeded
    /// (`--rollback-on-failure`); objects are waited for. [`Helm::install`](crate::Helm::install) and its
    /// relatives do that by themselves; after stepping an operation by hand, call
    /// [`Helm::begin_undo`](crate::Helm::begin_undo).
    RollBack,
}

/// A namespace to be made when it does not exist. One that exists stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamespaceSpec {
    /// Its labels; `name` is added, as Helm does.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
}

/// A post-renderer of an install or upgrade (`--post-renderer`), shared with the thread that renders.
///
/// What it gives back is what is applied and recorded: a rollback brings it back without asking it again, as Helm does.
/// Two are equal when they are one and the same renderer with the same strategy.
#[derive(Clone)]
pub struct PostRendering {
    renderer: Arc<dyn PostRenderer + Send + Sync>,
    strategy: PostRenderStrategy,
}

impl PostRendering {
    /// A post-renderer that gets what the strategy says; a closure will do.
    pub fn new(
        renderer: impl PostRenderer + Send + Sync + 'static,
        strategy: PostRenderStrategy,
    ) -> Self {
        Self {
            renderer: Arc::new(renderer),
            strategy,
        }
    }

    pub(super) fn of_rendering(&self) -> PostRender<'_> {
        PostRender {
            renderer: &*self.renderer,
            strategy: self.strategy,
        }
    }
}

impl PartialEq for PostRendering {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.renderer, &other.renderer) && self.strategy == other.strategy
    }
}

impl Eq for PostRendering {}

impl std::fmt::Debug for PostRendering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostRendering")
            .field("strategy", &self.strategy)
            .finish_non_exhaustive()
    }
}

/// Choices that installs, upgrades and rollbacks share.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
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
    /// How long an image may be missing before waiting ends with a failure; none waits on.
    pub image_patience: Option<Duration>,
    /// Run no hooks.
    pub skip_hooks: bool,
    /// Delete no CustomResourceDefinition that the release no longer has: every object of its kind would go with it.
    pub keep_crds: bool,
    /// Take over objects that somebody else made.
    pub take_ownership: bool,
    /// Take fields from other field managers that hold them with other values. It does not matter to a release
    /// that is written by the client.
    pub force_conflicts: bool,
    /// Whether the server applies the objects or the client patches them. When none, a release goes on as it was
    /// written last, and a new one is applied by the server.
    pub server_side: Option<bool>,
    /// Revisions kept; 0 keeps all.
    pub max_history: usize,
    /// Do not check values against the chart's schema.
    pub skip_schema: bool,
    /// Who changes the rendered documents of an install or upgrade before they are sorted into objects and hooks.
    pub post_render: Option<PostRendering>,
    /// When new objects are checked for another owner.
    pub preflight: Preflight,
    /// What happens to objects that the manifest leaves as they were.
    pub unchanged: Unchanged,
    /// Which values an upgrade has beside those that are given with it.
    pub reuse_values: ReuseValues,
    /// Install under the name of a release that was removed with its history kept, or that failed (`--replace`).
    pub replace: bool,
    /// What becomes of an operation that failed.
    pub on_failure: OnFailure,
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
            timeout: Duration::from_mins(5),
            image_patience: Some(Duration::from_mins(2)),
            skip_hooks: false,
            keep_crds: false,
            take_ownership: false,
            force_conflicts: false,
            server_side: None,
            max_history: 10,
            skip_schema: false,
            post_render: None,
            preflight: Preflight::Auto,
            unchanged: Unchanged::Compare,
            reuse_values: ReuseValues::Reset,
            replace: false,
            on_failure: OnFailure::Keep,
        }
    }
}

/// The first revision of a release.
#[derive(Clone)]
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
/// of the revision before, unless [`ReuseValues`] says so.
#[derive(Clone)]
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
    /// `create_namespace`, `post_render` and `skip_schema` do not matter.
    pub options: ReleaseOptions,
}

/// A run of a release's tests: its hooks of the event `test`.
#[derive(Clone, Debug)]
pub struct TestRequest {
    /// Name of the release.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// How long waiting may take, counted from the beginning of the operation.
    pub timeout: Duration,
    /// Names of the hooks that are run; all when empty.
    pub only: Vec<String>,
    /// Names of hooks that are not run.
    pub except: Vec<String>,
    /// Collect the logs of all tests.
    pub logs: bool,
}

impl TestRequest {
    /// All tests of a release, with Helm's defaults.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            namespace: namespace.into(),
            timeout: Duration::from_mins(5),
            only: Vec::new(),
            except: Vec::new(),
            logs: false,
        }
    }
}

/// The removal of a release.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
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
    /// Delete no CustomResourceDefinition: every object of its kind would go with it.
    pub keep_crds: bool,
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
            timeout: Duration::from_mins(5),
            skip_hooks: false,
            keep_history: false,
            keep_crds: false,
            propagation: Propagation::Background,
            description: None,
        }
    }
}

/// Values may hold secrets; they are left out.
impl std::fmt::Debug for InstallRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InstallRequest")
            .field("name", &self.name)
            .field("namespace", &self.namespace)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// Values may hold secrets; they are left out.
impl std::fmt::Debug for UpgradeRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UpgradeRequest")
            .field("name", &self.name)
            .field("namespace", &self.namespace)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
