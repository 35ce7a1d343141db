//! The API server as a [`tower::Service`], for clients in this process.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use ::http::{Request, Response, header};
use bytes::Bytes;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited, StreamBody};
use hyper::body::{Body, Frame};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::failure::Failure;
use super::ids::Ids;
use super::journal::{Found, Journal, StateError};
use super::players::Played;
use super::request::{Call, Query};
use super::settle;
use super::watch::Watch;
use super::world::{Answer, BODY_LIMIT, Reply, World};
use crate::pods::Rules;

/// The body of a response.
pub type ApiBody = UnsyncBoxBody<Bytes, Infallible>;

/// All warnings of a response are so long at most, in characters; beyond that each is cut (`WithWarningRecorder`).
const MAX_WARNINGS: usize = 4 * 1024;
/// What is kept of each then.
const MAX_WARNING: usize = 256;

/// What an API server is made of. All combinations are legal.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApiOptions {
    /// Where invented names, UIDs and addresses come from.
    pub seed: u64,
    /// The time at the start of a server with a clock of its own; `None` for the time of the
    /// machine.
    pub start: Option<Timestamp>,
    /// Whether that clock goes with the one of the tokio runtime, which a test can pause, or
    /// stands still until [`ApiServer::advance`].
    pub runtime_clock: bool,
    /// Whether Deployments, Jobs and Pods are played.
    pub workloads: bool,
    /// Whether controllers act after every request by themselves, or only at
    /// [`ApiServer::settle`].
    pub controllers: bool,
}

impl Default for ApiOptions {
    fn default() -> Self {
        Self {
            seed: 0,
            start: None,
            runtime_clock: false,
            workloads: true,
            controllers: true,
        }
    }
}

impl ApiOptions {
    /// A seed for what the server invents.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// A clock that stands at this time until it is moved.
    #[must_use]
    pub fn start(mut self, start: Timestamp) -> Self {
        self.start = Some(start);
        self.runtime_clock = false;
        self
    }

    /// A clock that shows this time now and goes as the clock of the tokio runtime does: with
    /// `tokio::time::pause`, workloads get ready and watches end on time that the test owns.
    #[must_use]
    pub fn start_with_runtime(mut self, start: Timestamp) -> Self {
        self.start = Some(start);
        self.runtime_clock = true;
        self
    }

    /// No Deployments, Jobs and Pods are played.
    #[must_use]
    pub fn without_workloads(mut self) -> Self {
        self.workloads = false;
        self
    }

    /// No controller acts before [`ApiServer::settle`].
    #[must_use]
    pub fn by_hand(mut self) -> Self {
        self.controllers = false;
        self
    }
}

/// An API server in this process. Clones are the same server.
#[derive(Clone)]
pub struct ApiServer {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    world: Mutex<World>,
    /// Tells watches that there may be something to look at, in the order in which they wait.
    changed: Notify,
    clock: Clock,
    controllers: bool,
    /// The folder that everything is kept in. Locked after the world.
    journal: Option<Mutex<Journal>>,
}

/// Where the time comes from.
enum Clock {
    Machine,
    Standing(Mutex<Timestamp>),
    Runtime { start: Timestamp, since: Instant },
}

impl Clock {
    fn of(options: &ApiOptions) -> Self {
        match options.start {
            None => Self::Machine,
            Some(start) if options.runtime_clock => Self::Runtime {
                start,
                since: Instant::now(),
            },
            Some(start) => Self::Standing(Mutex::new(start)),
        }
    }

    fn now(&self) -> Timestamp {
        match self {
            Self::Machine => Timestamp::now(),
            Self::Standing(time) => *time.lock().unwrap_or_else(PoisonError::into_inner),
            Self::Runtime { start, since } => {
                start.saturating_add(since.elapsed()).unwrap_or(*start)
            }
        }
    }
}

impl ApiServer {
    /// A new server with the namespaces that every cluster has.
    #[must_use]
    pub fn new(options: &ApiOptions) -> Self {
        let now = options.start.unwrap_or_else(Timestamp::now);
        let world = World::new(options.seed, options.workloads, now);
        Self::of(options, world, None)
    }

    /// Another server that begins with what this one holds now, and goes its own way from there. Objects are shared
    /// until they change, so it costs next to nothing. What it invents follows from the seed of these options, its clock
    /// is that of these options, and it keeps nothing in a folder.
    #[must_use]
    pub fn fork(&self, options: &ApiOptions) -> Self {
        let mut world = World::clone(&self.shared.world());
        world.ids = Ids::new(options.seed);
        world.plays = options.workloads;
        Self::of(options, world, None)
    }

    /// A server that keeps everything in a folder, and goes on with what the folder holds. A
    /// change is on the disk before it is answered. What the server invents does not follow from
    /// the seed alone: it is new at every start. The folder is free again when the last clone and
    /// the last client are gone.
    ///
    /// # Errors
    ///
    /// [`StateError`] when the folder is another process's, or not as a server left it. Nothing
    /// in it is changed then.
    pub fn open(options: &ApiOptions, folder: &Path) -> Result<(Self, Found), StateError> {
        let now = options.start.unwrap_or_else(Timestamp::now);
        let seed = options.seed ^ chance(folder)?;
        let (journal, world, found) = Journal::open(
            folder,
            now,
            || World::new(seed, options.workloads, now),
            || World::empty(seed, options.workloads),
        )?;
        Ok((Self::of(options, world, Some(journal)), found))
    }

    fn of(options: &ApiOptions, world: World, journal: Option<Journal>) -> Self {
        Self {
            shared: Arc::new(Shared {
                world: Mutex::new(world),
                changed: Notify::new(),
                clock: Clock::of(options),
                controllers: options.controllers,
                journal: journal.map(Mutex::new),
            }),
        }
    }

    /// Where a server that keeps its state has its kubeconfig.
    #[must_use]
    pub fn kubeconfig(&self) -> Option<PathBuf> {
        self.shared.journal().map(|journal| journal.kubeconfig())
    }

    /// A client of this server, without a socket between.
    #[must_use]
    pub fn client(&self) -> kube::Client {
        kube::Client::new(self.clone(), "default")
    }

    /// The time of the server.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.shared.now()
    }

    /// Moves a standing clock and lets the controllers act. Does nothing to a clock that goes by
    /// itself.
    pub fn advance(&self, duration: SignedDuration) {
        if let Clock::Standing(time) = &self.shared.clock {
            *time.lock().unwrap_or_else(PoisonError::into_inner) += duration;
        }
        self.settle();
    }

    /// Lets the controllers act until they have nothing to do.
    pub fn settle(&self) {
        let now = self.now();
        let mut world = self.shared.world();
        settle::settle(&mut world, now);
        self.shared.keep_later(&world);
        drop(world);
        self.shared.tell();
    }

    /// Has a closure play the controller of a resource, `widgets.example.org`, that has a status. It is given each object
    /// of it, with kind and version, when that has changed, when it asked to look again, and at once; an earlier
    /// controller of the resource is let go of. Use it for custom resources of others: the kinds of Kubernetes are played
    /// by the server itself, unless [`ApiOptions::without_workloads`].
    pub fn play(
        &self,
        resource: &str,
        controller: impl Fn(&Value, Timestamp) -> Played + Send + Sync + 'static,
    ) {
        let now = self.now();
        let mut world = self.shared.world();
        world.players.set(resource, Arc::new(controller));
        let objects = world.store.list(resource, "", None);
        let all: Vec<Arc<Value>> = objects.map(|(_, object)| Arc::clone(object)).collect();
        for object in all {
            world.wake(resource, &object, now);
        }
        drop(world);
        self.settle();
    }

    /// Forgets the past: watches and lists of versions before now get 410.
    pub fn forget(&self) {
        self.shared.world().store.forget();
        self.shared.tell();
    }

    /// Decides the fates of pods, those that are there already too.
    pub(crate) fn set_rules(&self, rules: Rules) {
        let now = self.now();
        let mut world = self.shared.world();
        world.rules = rules;
        let pods: Vec<Arc<Value>> = world
            .store
            .list("pods", "", None)
            .map(|(_, pod)| Arc::clone(pod))
            .collect();
        for pod in pods {
            world.wake("pods", &pod, now);
        }
        drop(world);
        self.settle();
    }

    /// The user to whom a token was issued.
    pub(crate) fn issued_to(&self, token: &str) -> Option<String> {
        self.shared.world().issued.get(token).cloned()
    }

    pub(crate) fn trust(&self, certificate: &str) {
        certificate.clone_into(&mut self.shared.world().certificate);
    }

    /// Ends this server, and waits until its clients have, too.
    #[cfg(test)]
    pub(crate) async fn close(self) {
        let shared = Arc::downgrade(&self.shared);
        drop(self);
        while shared.strong_count() > 0 {
            tokio::task::yield_now().await;
        }
    }

    #[cfg(test)]
    pub(crate) fn journal(&self) -> Option<MutexGuard<'_, Journal>> {
        self.shared.journal()
    }

    async fn answer<B>(self, request: Request<B>) -> Response<ApiBody>
    where
        B: Body<Data = Bytes> + Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        let Ok(body) = Limited::new(body, BODY_LIMIT).collect().await else {
            return whole(Failure::body_too_large(BODY_LIMIT).into());
        };
        let header = |name: header::HeaderName| {
            let value = parts
                .headers
                .get(name)
                .and_then(|value| value.to_str().ok());
            value.unwrap_or_default().to_owned()
        };
        let call = Call {
            path: parts.uri.path().to_owned(),
            query: Query::parse(parts.uri.query().unwrap_or_default()),
            accept: header(header::ACCEPT),
            content_type: header(header::CONTENT_TYPE),
            user_agent: header(header::USER_AGENT),
            lag: parts.extensions.get().copied().unwrap_or_default(),
            user: parts.extensions.get().cloned().unwrap_or_default(),
            method: parts.method,
            body: body.to_bytes(),
        };
        match self.shared.handle(&call) {
            Reply::Whole(answer) => whole(answer),
            Reply::Stream(watch) => follow(Arc::clone(&self.shared), *watch),
        }
    }
}

impl std::fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApiServer").finish_non_exhaustive()
    }
}

impl<B> tower::Service<Request<B>> for ApiServer
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<ApiBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<ApiBody>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move { Ok(server.answer(request).await) })
    }
}

impl Shared {
    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn tell(&self) {
        self.changed.notify_waiters();
    }

    fn journal(&self) -> Option<MutexGuard<'_, Journal>> {
        let journal = self.journal.as_ref()?;
        Some(journal.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Has everything that happened on the disk. A change that is not is answered with this
    /// failure: it may be lost, as with an etcd that does not answer.
    fn keep(&self, world: &World) -> Result<(), Failure> {
        let Some(mut journal) = self.journal() else {
            return Ok(());
        };
        journal.keep(world).map_err(|error| {
            let folder = journal.folder().display();
            Failure::plain(
                500,
                format!("the state cannot be written in {folder}: {error}"),
            )
        })
    }

    /// As [`Shared::keep`], for changes that nobody waits for: the next request tries again.
    fn keep_later(&self, world: &World) {
        if let Err(failure) = self.keep(world) {
            tracing::warn!(%failure, "changes are not kept yet");
        }
    }

    fn handle(&self, call: &Call) -> Reply {
        let now = self.now();
        let mut world = self.world();
        if let Err(failure) = self.keep(&world) {
            return Reply::Whole(failure.into());
        }
        let before = world.store.version();
        if self.controllers {
            settle::settle(&mut world, now);
        }
        let reply = world.handle(call, now);
        if self.controllers {
            settle::settle(&mut world, now);
        }
        let changed = world.store.version() != before;
        let kept = self.keep(&world);
        drop(world);
        if changed {
            self.tell();
        }
        kept.map_or_else(|failure| Reply::Whole(failure.into()), |()| reply)
    }
}

/// A number that no other start has.
fn chance(folder: &Path) -> Result<u64, StateError> {
    getrandom::u64().map_err(|error| StateError::File {
        action: "find random numbers for",
        path: folder.to_owned(),
        source: std::io::Error::other(error),
    })
}

/// The response of a refusal.
pub(crate) fn refuse(failure: Failure) -> Response<ApiBody> {
    whole(failure.into())
}

fn whole(answer: Answer) -> Response<ApiBody> {
    let mut response = Response::builder()
        .status(answer.status)
        .header(header::CACHE_CONTROL, "no-cache, private");
    if !answer.content_type.is_empty() {
        response = response.header(header::CONTENT_TYPE, answer.content_type);
    }
    for warning in told_once(&answer.warnings) {
        response = response.header(header::WARNING, warning_header(&warning));
    }
    let length = answer.body.len();
    response
        .header(header::CONTENT_LENGTH, length)
        .body(Full::new(answer.body).boxed_unsync())
        .unwrap_or_default()
}

/// The texts that differ. Of those that are too long together each is cut, and what is still too much is left out.
fn told_once(warnings: &[String]) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for text in warnings.iter().filter(|text| !text.is_empty()) {
        if !texts.contains(text) {
            texts.push(text.clone());
        }
    }
    let length = |text: &String| text.chars().count();
    if texts.iter().map(length).sum::<usize>() <= MAX_WARNINGS {
        return texts;
    }
    let mut written = 0;
    let cut = texts
        .iter()
        .map(|text| text.chars().take(MAX_WARNING).collect::<String>());
    cut.take_while(|text| {
        let fits = written < MAX_WARNINGS;
        written += length(text);
        fits
    })
    .collect()
}

/// `299 - "TEXT"`; what may not stand in a header is left out.
fn warning_header(text: &str) -> String {
    let text: String = text
        .chars()
        .filter(|c| c.is_ascii_graphic() || *c == ' ')
        .collect();
    format!(
        "299 - \"{}\"",
        text.replace('\\', "\\\\").replace('"', "\\\"")
    )
}

/// The response of a watch: a line for each event, for as long as the client reads.
fn follow(shared: Arc<Shared>, watch: Watch) -> Response<ApiBody> {
    let lines = stream::unfold(Some((shared, watch)), |state| async move {
        let (shared, mut watch) = state?;
        let told = Arc::clone(&shared);
        loop {
            // Whoever is told from here on has seen what comes now.
            let mut news = pin!(told.changed.notified());
            news.as_mut().enable();
            let now = shared.now();
            let (sent, due) = {
                let mut world = shared.world();
                if shared.controllers {
                    let before = world.store.version();
                    settle::settle(&mut world, now);
                    if world.store.version() != before {
                        shared.keep_later(&world);
                        shared.tell();
                    }
                }
                (watch.next(&world, now), world.due())
            };
            let chunk = (!sent.bytes.is_empty()).then(|| Bytes::from(sent.bytes));
            if sent.ended {
                return chunk.map(|chunk| (chunk, None));
            }
            if let Some(chunk) = chunk {
                return Some((chunk, Some((shared, watch))));
            }
            if matches!(shared.clock, Clock::Standing(_)) {
                news.await;
            } else {
                let until = due.map_or(watch.wakes(), |due| due.min(watch.wakes()));
                let rest = Duration::try_from(until.duration_since(now)).unwrap_or_default();
                let rest = rest.max(Duration::from_millis(1));
                // Either way it looks again.
                let _ = tokio::time::timeout(rest, news).await;
            }
        }
    });
    let body = StreamBody::new(lines.map(|chunk| Ok(Frame::data(chunk))));
    Response::builder()
        .status(200)
        .header(header::CACHE_CONTROL, "no-cache, private")
        .header(header::CONTENT_TYPE, "application/json")
        .body(body.boxed_unsync())
        .unwrap_or_default()
}
