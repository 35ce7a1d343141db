//! The Package controller: installs, upgrades, rolls back and removes packages.
//!
//! One pass is a loop of three: [`decide()`] says what is next from what is [`Observed`]; a question is answered by the
//! backend; an action is performed and its answer observed. The loop ends when there is nothing to do, with at most one
//! write of the Package's status. Everything that must outlive the process is in the API server after every step.

mod act;
mod decide;
mod desired;
mod events;
mod observe;
mod observed;
mod recorder;
mod report;
mod revision;
mod status;
mod wake;
#[cfg(test)]
mod world;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures::future::ready;
use futures::{FutureExt as _, Stream, StreamExt};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::{Api, ObjectMeta, PartialObjectMeta};
use kube::core::PartialObjectMetaExt as _;
use kube::runtime::controller::{Action as Requeue, Config, Controller};
use kube::runtime::reflector::store::{Store, Writer};
use kube::runtime::reflector::{ObjectRef, reflector};
use kube::runtime::{Predicate, PredicateConfig, WatchStreamExt, predicates, watcher};
use kube::{Client, Resource, ResourceExt};
use kubepkg_api::{ApiGroup, Package, PackageReason, PackageRevision, PackageSource, chain};
use kubepkg_backend::{Backend, Outcome, Placement};

pub use decide::{Action, Decision, decide};
pub use desired::{ConfigurationError, Desired, DesiredComponent, desired};
pub use events::Notice;
pub use observed::{Observed, Problem, Question, Settings, Source};
pub use report::{Next, Report, Retry, Settled};
pub use revision::{ATTEMPT, NewRevision, RecordedComponent, Revision};
pub use status::status;

use recorder::Recorder;
use wake::Wakes;

/// The field manager of everything this controller writes.
pub const MANAGER: &str = "kubepkg-operator";

/// The most steps of one pass. A package of a hundred components takes two a component; more is a loop that does not
/// end, which is reported instead of kept up.
const MOST_STEPS: usize = 1000;

/// How soon a pass that could not read or write is made again.
const AFTER_ERROR: Duration = Duration::from_secs(5);

/// What the operator learns of packages, for its metrics.
pub trait Telemetry: Send + Sync {
    /// A revision settled.
    fn revision(&self, package: &str, revision: &Revision) {
        let _ = (package, revision);
    }

    /// A package's status was written, or found to be right as it is.
    fn package(&self, package: &Package) {
        let _ = package;
    }

    /// A package is gone.
    fn removed(&self, package: &str) {
        let _ = package;
    }

    /// A pass ended with an error.
    fn reconcile_error(&self, package: &str, error: &Error) {
        let _ = (package, error);
    }
}

/// Tells nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTelemetry;

impl Telemetry for NoTelemetry {}

/// What the controller works with.
pub struct Context {
    client: Client,
    group: ApiGroup,
    backend: Arc<dyn Backend>,
    settings: Settings,
    recorder: Recorder,
    telemetry: Arc<dyn Telemetry>,
    now: Now,
}

/// Where the time comes from.
type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

impl Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context")
            .field("group", &self.group)
            .field("backend", &self.backend.name())
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// Why a pass did not come to its end. It is made again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The API server refused, or did not answer.
    #[error("{doing} {kind} {name}")]
    Api {
        /// What was being done.
        doing: &'static str,
        /// The kind of the object.
        kind: &'static str,
        /// The object.
        name: String,
        /// The answer.
        #[source]
        source: Box<kube::Error>,
    },
    /// The stored Package does not have the shape of one.
    #[error("Package {package} cannot be read: {why}")]
    Malformed {
        /// The package.
        package: String,
        /// What is wrong with it.
        why: String,
    },
    /// A revision was removed while it was being written.
    #[error("PackageRevision {revision} is gone")]
    Vanished {
        /// The revision.
        revision: String,
    },
    /// A list of revisions lacks one that is there: it was answered from the past.
    #[error("PackageRevision {revision} is missing from the list of revisions, though it is there")]
    Outdated {
        /// The revision.
        revision: String,
    },
    /// A pass took more steps than any package needs.
    #[error("Package {package} is not at rest after {MOST_STEPS} steps")]
    Restless {
        /// The package.
        package: String,
    },
}

impl Error {
    /// Whether the API server understood and said no: permissions, quotas, admission.
    fn is_refusal(&self) -> bool {
        let Self::Api { source, .. } = self else {
            return false;
        };
        matches!(&**source, kube::Error::Api(status) if matches!(status.code, 400 | 403 | 422))
    }

    fn api(doing: &'static str, kind: &'static str, name: &str, source: kube::Error) -> Self {
        Self::Api {
            doing,
            kind,
            name: name.to_owned(),
            source: Box::new(source),
        }
    }
}

impl Context {
    /// What the controller of packages in `group` works with.
    pub fn new(
        client: Client,
        group: ApiGroup,
        backend: Arc<dyn Backend>,
        settings: Settings,
        telemetry: Arc<dyn Telemetry>,
    ) -> Self {
        Self {
            recorder: Recorder::new(client.clone()),
            client,
            group,
            backend,
            settings,
            telemetry,
            now: Arc::new(Timestamp::now),
        }
    }

    /// Another clock than the machine's. It is what records, conditions and events are dated by and retries are
    /// counted from; waits themselves are those of the tokio runtime.
    #[must_use]
    pub fn with_clock(mut self, now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.now = Arc::new(now);
        self
    }

    fn now(&self) -> Timestamp {
        (self.now)()
    }

    fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = ApiGroup>,
    {
        Api::all_with(self.client.clone(), &self.group)
    }

    fn packages(&self) -> Api<Package> {
        self.api()
    }

    fn revisions(&self) -> Api<PackageRevision> {
        self.api()
    }

    async fn publish(&self, package: &Package, notice: &Notice) {
        let (name, reason, note) = (package.name_any(), notice.reason, &notice.note);
        if notice.warning {
            tracing::warn!(package = %name, reason, "{note}");
        } else {
            tracing::info!(package = %name, reason, "{note}");
        }
        let reference: ObjectReference = package.object_ref(&self.group);
        let published = self.recorder.publish(notice, reference, self.now());
        if let Err(error) = published.await {
            tracing::warn!(package = %name, %error, "the event could not be published");
        }
    }
}

/// Brings the package of this name as far as it comes without waiting; says when to look again.
///
/// # Errors
///
/// The API server could not be read or written. Everything done so far stands; the pass can be made again.
pub async fn reconcile(ctx: &Context, name: &str) -> Result<Option<Duration>, Error> {
    Ok(pass(ctx, name).await?.look_again)
}

/// What a pass leaves to be waited for.
#[derive(Default)]
struct Rest {
    /// When to look again; `None` waits for a change of the package or its source.
    look_again: Option<Duration>,
    /// Releases that wait for their objects.
    awaited: Vec<Placement>,
}

async fn pass(ctx: &Context, name: &str) -> Result<Rest, Error> {
    let Some(mut o) = observe::observe(ctx, name).await? else {
        ctx.telemetry.removed(name);
        return Ok(Rest::default());
    };
    for _ in 0..MOST_STEPS {
        match decide(&o) {
            Decision::Ask(question) => observe::answer(ctx, &mut o, question).await,
            Decision::Act(Action::RemoveFinalizer) => {
                act::act(ctx, &mut o, Action::RemoveFinalizer).await?;
                ctx.telemetry.removed(name);
                return Ok(Rest::default());
            }
            Decision::Act(action) => {
                if let Err(error) = act::act(ctx, &mut o, action).await {
                    if error.is_refusal() {
                        // Nobody would see it otherwise; that the status can't be written either is the lesser error.
                        let _ = act::write_status(ctx, &mut o, &refused(&error)).await;
                    }
                    return Err(error);
                }
            }
            Decision::Settle(settled) => {
                let being_removed_by_others = o.package.metadata.deletion_timestamp.is_some()
                    && o.package
                        .finalizers()
                        .iter()
                        .all(|f| f != kubepkg_api::keys::CLEANUP_FINALIZER);
                if !being_removed_by_others {
                    act::write_status(ctx, &mut o, &settled.report).await?;
                }
                let waits = |outcome: &Result<Outcome, Problem>| {
                    matches!(outcome, Ok(Outcome::Waiting { .. }))
                };
                let awaited = o.outcomes.into_iter();
                let awaited = awaited.filter(|(_, outcome)| waits(outcome));
                return Ok(Rest {
                    look_again: settled.look_again,
                    awaited: awaited.map(|(release, _)| release).collect(),
                });
            }
        }
    }
    Err(Error::Restless {
        package: name.to_owned(),
    })
}

/// What is said of a package whose records the API server refuses.
fn refused(error: &Error) -> Report {
    Report {
        reason: PackageReason::Progressing,
        message: format!(
            "the API server refuses what the operator has to record: {}",
            chain(error)
        ),
        next: Next::Operator,
        retry: None,
    }
}

/// Runs the controller until `shutdown` resolves; passes under way are finished first.
///
/// `workers` packages are worked on at once. A package that waits holds no worker.
pub async fn run(
    ctx: Arc<Context>,
    workers: u16,
    shutdown: impl Future<Output = ()> + Send + Sync + 'static,
) {
    let group = ctx.group.clone();
    let writer = Writer::<PartialObjectMeta<Package>>::new(group.clone());
    let reader = writer.as_reader();
    let shutdown = shutdown.shared();
    let ended_early = before_work(reader.clone(), shutdown.clone());
    // Our own status writes are no reason to look again; what people and other controllers change is.
    let changes = predicates::generation
        .combine(predicates::annotations)
        .combine(predicates::finalizers);
    let packages = reflector(writer, watcher(ctx.api(), watcher::Config::default()))
        .default_backoff()
        .applied_objects()
        .predicate_filter(changes, PredicateConfig::default());
    let packages = found(packages);
    let (wakes, due) = Wakes::new();
    let due = due.map(|name| {
        let named = ObjectMeta {
            name: Some(name),
            ..ObjectMeta::default()
        };
        Ok(named.into_response_partial::<Package>())
    });
    let (mapped, woken) = (group.clone(), group.clone());
    let sources = watcher(ctx.api(), watcher::Config::default())
        .default_backoff()
        .touched_objects();
    let sources = found(sources);
    let controller = Controller::for_stream_with(packages, reader, group)
        .watches_stream_with(
            sources,
            move |source: PartialObjectMeta<PackageSource>| {
                [ObjectRef::<PartialObjectMeta<Package>>::new_with(
                    &source.name_any(),
                    mapped.clone(),
                )]
            },
            ctx.group.clone(),
        )
        .watches_stream_with(
            due,
            move |package: PartialObjectMeta<Package>| {
                [ObjectRef::<PartialObjectMeta<Package>>::new_with(
                    &package.name_any(),
                    woken.clone(),
                )]
            },
            ctx.group.clone(),
        )
        .with_config(Config::default().concurrency(workers))
        .graceful_shutdown_on(shutdown)
        .run(
            one_pass,
            |_, _, _| Requeue::requeue(AFTER_ERROR),
            Arc::new((ctx, wakes)),
        )
        // A pass that failed has said so itself.
        .for_each(|_| ready(()));
    tokio::select! {
        // The order in which they are asked is the same in every run.
        biased;
        () = controller => {}
        () = ended_early => {}
    }
}

/// Resolves when the end is asked for before the first list of packages was read.
///
/// kube's controller begins no pass before that list is in its store. An end that is asked for earlier stops the watch
/// that fills the store, and the controller waits for it ever after, though nothing is under way.
async fn before_work(
    packages: Store<PartialObjectMeta<Package>>,
    shutdown: impl Future<Output = ()>,
) {
    shutdown.await;
    if packages.wait_until_ready().now_or_never().is_some() {
        std::future::pending::<()>().await;
    }
}

/// What a watch finds; that it broke is logged here, and goes no further.
///
/// kube parts errors from objects with two readers of one stream. When an error follows an object at once, one reader
/// leaves it to the other, which has been asked before and is not woken: nothing moves any more until something else
/// wakes the controller, and at its start nothing does. No error in the stream, no such moment.
fn found<T>(
    watch: impl Stream<Item = Result<T, watcher::Error>>,
) -> impl Stream<Item = Result<T, watcher::Error>> {
    watch.filter_map(|item| {
        ready(match item {
            Ok(object) => Some(Ok(object)),
            Err(error) => {
                tracing::warn!(error = %chain(&error), "watching packages and their sources");
                None
            }
        })
    })
}

async fn one_pass(
    package: Arc<PartialObjectMeta<Package>>,
    work: Arc<(Arc<Context>, Wakes)>,
) -> Result<Requeue, Error> {
    let (ctx, wakes) = &*work;
    let name = package.name_any();
    match pass(ctx, &name).await {
        Ok(rest) => {
            let at_most = rest.look_again.unwrap_or_default();
            wakes.wait(&ctx.backend, &name, rest.awaited, at_most);
            // Whoever waits for a change may have missed it, or have read what was true before: nobody waits longer than a
            // package at rest. One that is gone is not in the watch any more, and not looked at.
            let look_again = rest.look_again.unwrap_or(ctx.settings.recheck);
            Ok(Requeue::requeue(look_again))
        }
        Err(error) => {
            tracing::warn!(package = %name, error = %chain(&error), "the pass was not finished; it is made again");
            ctx.telemetry.reconcile_error(&name, &error);
            Err(error)
        }
    }
}
