//! One simulated cluster: API server, chart source, operator, and a person who changes things and looks.
//!
//! The operator is `kubepkg_controller::package::run` with the helm backend, as the real program runs it. Where several
//! packages take part, each has a controller of its own, with one worker, before one backend: kube's controller takes
//! waiting objects in the order of a hash map, which differs from run to run.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use jiff::Timestamp;
use kubepkg_api::{ApiGroup, keys};
use kubepkg_backend::{Backend, HelmBackend, HelmBackendOptions};
use kubepkg_controller::package::{self, Context, NoTelemetry, Settings};
use kubepkg_e2e::Source;
use kubepkg_sandbox::{ApiFaults, ApiOptions, ApiServer};
use kubepkg_source::{Charts, SourceError};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tower::Service as _;

use crate::charts::{self, REPOSITORY};
use crate::clock::{START, SimulatedClock};
use crate::run::Plan;
use crate::wire::{End, Wire};

/// How long somebody waits for a state before it is held to be out of reach.
const PATIENCE: Duration = Duration::from_hours(2);

/// The kinds that the controller works on.
const KINDS: &[&str] = &["packagerevisions", "packages", "packagesources"];

/// Why a run did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Stuck {
    /// A state was not reached.
    #[error("{package} is not {wanted} after two hours, but {seen}")]
    Never {
        /// The package.
        package: String,
        /// What was passed for.
        wanted: String,
        /// What there is instead.
        seen: String,
    },
    /// The server refused what the person asked for.
    #[error("{method} {path}: {status} {message}")]
    Refused {
        /// The method.
        method: Method,
        /// The path.
        path: String,
        /// The code.
        status: u16,
        /// The text.
        message: String,
    },
    /// The operator asks without end.
    #[error("the operator sent {requests} requests")]
    Flooded {
        /// How many.
        requests: usize,
    },
    /// The chart source can't be made.
    #[error("the chart source: {0}")]
    Source(String),
}

impl From<SourceError> for Stuck {
    fn from(error: SourceError) -> Self {
        Self::Source(error.to_string())
    }
}

/// A simulated cluster with an operator.
pub struct World {
    pub(crate) server: ApiServer,
    pub(crate) clock: Arc<SimulatedClock>,
    pub(crate) wire: Wire,
    pub(crate) faults: ApiFaults,
    pub(crate) group: ApiGroup,
    /// Whether numbers of revisions count when somebody waits for one.
    strict: bool,
    keeper: Option<JoinHandle<()>>,
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(keeper) = &self.keeper {
            keeper.abort();
        }
    }
}

/// What somebody sees of a package.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Status and reason of `Ready`; `gone` when there is no such package.
    pub(crate) ready: String,
    /// `NUMBER VERSION PHASE[ from NUMBER]`, oldest first.
    pub(crate) history: Vec<String>,
}

impl World {
    /// A cluster with the kinds of kubepkg and an operator for these packages; one controller for all when there is but
    /// one.
    pub(crate) async fn new(
        plan: &Plan,
        faults: ApiFaults,
        charts: Arc<Charts>,
    ) -> Result<Self, Stuck> {
        let start: Timestamp = START.parse().unwrap_or(Timestamp::UNIX_EPOCH);
        let options = ApiOptions::default()
            .seed(plan.seed)
            .start_with_runtime(start);
        let group = ApiGroup::default();
        let server = furnished(&group).await?.fork(&options);
        let clock = Arc::new(SimulatedClock::new(start));
        let wire = Wire::new(&server, &faults, &clock, &plan.crashes);
        charts::outage(false);
        let life = Life {
            wire: wire.clone(),
            clock: Arc::clone(&clock),
            charts,
            group: group.clone(),
            packages: match plan.packages {
                [_] => vec![None],
                several => several
                    .iter()
                    .map(|name| Some((*name).to_owned()))
                    .collect(),
            },
        };
        let mut world = Self {
            server,
            clock,
            wire,
            faults,
            group,
            strict: plan.strict,
            keeper: None,
        };
        world.keeper = Some(tokio::spawn(keep(life)));
        Ok(world)
    }

    /// Makes the source of a package what is told.
    ///
    /// # Errors
    ///
    /// The server refused.
    pub async fn source(&self, package: &str, source: &Source) -> Result<(), Stuck> {
        self.source_spec(package, source.spec(package, "apps", REPOSITORY))
            .await
    }

    pub(crate) async fn source_spec(&self, package: &str, spec: Value) -> Result<(), Stuck> {
        let path = self.path("packagesources", package);
        self.apply(&path, self.object("PackageSource", package, &spec))
            .await
    }

    /// Makes a package what is told.
    ///
    /// # Errors
    ///
    /// The server refused.
    pub async fn package(&self, package: &str, spec: Value) -> Result<(), Stuck> {
        let path = self.path("packages", package);
        self.apply(&path, self.object("Package", package, &spec))
            .await
    }

    /// Asks for a rollback to a revision.
    ///
    /// # Errors
    ///
    /// The server refused.
    pub async fn roll_back(&self, package: &str, to: u64) -> Result<(), Stuck> {
        let body = json!({"metadata": {"annotations": {keys::ROLLBACK_TO: to.to_string()}}});
        let path = self.path("packages", package);
        self.ask(Method::PATCH, &path, "application/merge-patch+json", &body)
            .await
            .map(drop)
    }

    /// Takes back the wish for a rollback, if there is one.
    pub(crate) async fn drop_request(&self, package: &str) -> Result<(), Stuck> {
        let body = json!({"metadata": {"annotations": {keys::ROLLBACK_TO: null}}});
        let path = self.path("packages", package);
        let content = "application/merge-patch+json";
        match self.ask(Method::PATCH, &path, content, &body).await {
            Err(Stuck::Refused { status: 404, .. }) => Ok(()),
            done => done.map(drop),
        }
    }

    /// Deletes a package; one that is gone is fine.
    ///
    /// # Errors
    ///
    /// The server refused.
    pub async fn delete(&self, package: &str) -> Result<(), Stuck> {
        let path = self.path("packages", package);
        match self
            .ask(Method::DELETE, &path, "application/json", &json!({}))
            .await
        {
            Err(Stuck::Refused { status: 404, .. }) => Ok(()),
            done => done.map(drop),
        }
    }

    /// Lets time pass.
    pub async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Waits until `Ready` of a package is `ready` and its newest revision is `newest`.
    ///
    /// # Errors
    ///
    /// [`Stuck`] after two hours.
    pub async fn until(&self, package: &str, ready: &str, newest: &str) -> Result<(), Stuck> {
        let wanted = format!("{ready} with {newest}");
        self.until_seen(package, &wanted, |seen| {
            let last = seen.history.last();
            seen.ready == ready && last.is_some_and(|last| self.is_same(last, newest))
        })
        .await
    }

    /// Whether two rows of a history say the same; without their numbers when these don't count.
    pub(crate) fn is_same(&self, row: &str, wanted: &str) -> bool {
        let bare = |row: &str| row.split(' ').skip(1).take(2).collect::<String>();
        row == wanted || (!self.strict && bare(row) == bare(wanted))
    }

    pub(crate) async fn until_seen(
        &self,
        package: &str,
        wanted: &str,
        is: impl Fn(&Seen) -> bool,
    ) -> Result<(), Stuck> {
        let begun = self.clock.elapsed();
        loop {
            let seen = self.seen(package).await?;
            if is(&seen) {
                return Ok(());
            }
            if self.wire.is_flooded() {
                let requests = self.wire.count();
                return Err(Stuck::Flooded { requests });
            }
            let passed = self.clock.elapsed().saturating_sub(begun);
            if passed > PATIENCE {
                return Err(Stuck::Never {
                    package: package.to_owned(),
                    wanted: wanted.to_owned(),
                    seen: format!("{} with {:?}", seen.ready, seen.history),
                });
            }
            // Soon what is soon there, seldom what takes long.
            let pause = (passed / 20).clamp(Duration::from_millis(500), Duration::from_mins(1));
            tokio::time::sleep(pause).await;
        }
    }

    pub(crate) async fn seen(&self, package: &str) -> Result<Seen, Stuck> {
        let label = keys::PACKAGE_LABEL.replace('/', "%2F");
        let all = self.path("packagerevisions", "");
        let revisions = self
            .get(&format!("{all}?labelSelector={label}%3D{package}"))
            .await?;
        let revisions = revisions.unwrap_or_default();
        let mut rows: BTreeMap<u64, String> = BTreeMap::new();
        for one in revisions["items"].as_array().into_iter().flatten() {
            let number = one["spec"]["revision"].as_u64().unwrap_or_default();
            let from = one["spec"]["restoredFrom"].as_u64();
            let from = from.map(|n| format!(" from {n}")).unwrap_or_default();
            let version = one["spec"]["version"].as_str().unwrap_or_default();
            let phase = one["status"]["phase"].as_str().unwrap_or("-");
            rows.insert(number, format!("{number} {version} {phase}{from}"));
        }
        let found = self.get(&self.path("packages", package)).await?;
        let ready = match &found {
            None => "gone".to_owned(),
            Some(package) => {
                let conditions = package["status"]["conditions"].as_array();
                let ready = conditions
                    .into_iter()
                    .flatten()
                    .find(|one| one["type"] == keys::READY);
                let current = ready.is_some_and(|ready| {
                    ready["observedGeneration"] == package["metadata"]["generation"]
                });
                match ready {
                    Some(ready) if current => format!(
                        "{} {}",
                        ready["status"].as_str().unwrap_or_default(),
                        ready["reason"].as_str().unwrap_or_default()
                    ),
                    _ => "not seen yet".to_owned(),
                }
            }
        };
        Ok(Seen {
            ready,
            history: rows.into_values().collect(),
        })
    }

    /// The path of an object of the group, or of all of a kind.
    pub(crate) fn path(&self, plural: &str, name: &str) -> String {
        let version = self.group.api_version();
        let separator = if name.is_empty() { "" } else { "/" };
        format!("/apis/{version}/{plural}{separator}{name}")
    }

    pub(crate) fn object(&self, kind: &str, name: &str, spec: &Value) -> Value {
        json!({
            "apiVersion": self.group.api_version(), "kind": kind,
            "metadata": {"name": name}, "spec": spec,
        })
    }

    /// Creates an object or makes it what is told, as `kubectl apply --server-side` does.
    pub(crate) async fn apply(&self, path: &str, body: Value) -> Result<(), Stuck> {
        apply(&self.server, path, &body).await
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Option<Value>, Stuck> {
        match self.ask(Method::GET, path, "", &Value::Null).await {
            Ok(found) => Ok(Some(found)),
            Err(Stuck::Refused { status: 404, .. }) => Ok(None),
            Err(stuck) => Err(stuck),
        }
    }

    /// Asks the server itself; no fault is in the way of a person.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        content: &str,
        body: &Value,
    ) -> Result<Value, Stuck> {
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        ask(&self.server, method, path, content, text).await
    }

    /// Everything that happened to the objects of a collection after a version: the kind of event and the object.
    pub(crate) async fn events(&self, collection: &str, after: &str) -> Vec<(String, Value)> {
        let path = format!("{collection}?watch=true&resourceVersion={after}&timeoutSeconds=1");
        let (_, body) = raw(&self.server, Method::GET, &path, "", String::new()).await;
        body.split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
            .map(|mut event| {
                let kind = event["type"].as_str().unwrap_or_default().to_owned();
                (kind, event["object"].take())
            })
            .collect()
    }
}

/// A server with the kinds and the namespaces, which every world begins from. It is made once for a process; its clock
/// stands at the beginning.
async fn furnished(group: &ApiGroup) -> Result<ApiServer, Stuck> {
    static SHARED: OnceLock<ApiServer> = OnceLock::new();
    if let Some(shared) = SHARED.get() {
        return Ok(shared.clone());
    }
    let start = START.parse().unwrap_or(Timestamp::UNIX_EPOCH);
    let server = ApiServer::new(&ApiOptions::default().start(start));
    for crd in kubepkg_api::crd::crds(group) {
        let name = crd.metadata.name.clone().unwrap_or_default();
        if KINDS
            .iter()
            .any(|plural| name.starts_with(&format!("{plural}.")))
        {
            let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
            let body = kubepkg_api::crd::to_json(&crd).unwrap_or_default();
            apply(&server, &path, &body).await?;
        }
    }
    for namespace in ["apps", "other"] {
        let path = format!("/api/v1/namespaces/{namespace}");
        let body =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        apply(&server, &path, &body).await?;
    }
    Ok(SHARED.get_or_init(|| server).clone())
}

async fn apply(server: &ApiServer, path: &str, body: &Value) -> Result<(), Stuck> {
    let path = format!("{path}?fieldManager=person&force=true");
    let content = "application/apply-patch+yaml";
    let applied = ask(server, Method::PATCH, &path, content, body.to_string());
    applied.await.map(drop)
}

async fn ask(
    server: &ApiServer,
    method: Method,
    path: &str,
    content: &str,
    body: String,
) -> Result<Value, Stuck> {
    let (status, answer) = raw(server, method.clone(), path, content, body).await;
    let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
    if (200..300).contains(&status) {
        return Ok(answer);
    }
    Err(Stuck::Refused {
        method,
        path: path.to_owned(),
        status,
        message: answer["message"].as_str().unwrap_or_default().to_owned(),
    })
}

async fn raw(
    server: &ApiServer,
    method: Method,
    path: &str,
    content: &str,
    body: String,
) -> (u16, Vec<u8>) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(http::header::CONTENT_TYPE, content)
        .header(http::header::ACCEPT, "application/json");
    let Ok(request) = request.body(Full::new(bytes::Bytes::from(body))) else {
        return (400, Vec::new());
    };
    let Ok(response) = server.clone().call(request).await;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await;
    let body = body
        .map(|body| body.to_bytes().to_vec())
        .unwrap_or_default();
    (status, body)
}

/// How long an operator has to end when it is asked to, as in the real program.
const GRACE: Duration = Duration::from_secs(25);

/// What a new life of the operator is made of.
struct Life {
    wire: Wire,
    clock: Arc<SimulatedClock>,
    charts: Arc<Charts>,
    group: ApiGroup,
    /// The packages that have a controller each; none for one that sees all.
    packages: Vec<Option<String>>,
}

impl Life {
    /// The controllers of an operator that remembers nothing.
    fn begin(&self) -> Lived {
        let options = HelmBackendOptions {
            clock: self.clock.clone(),
            inline: true,
            ..HelmBackendOptions::default()
        };
        let charts = Arc::clone(&self.charts);
        let backend: Arc<dyn Backend> =
            Arc::new(HelmBackend::new(self.wire.client(None), charts, options));
        let settings = Settings {
            retry_backoff: Duration::from_hours(1),
            retry_backoff_max: Duration::from_hours(1),
            ..Settings::new(backend.capabilities())
        };
        let (stop, stopped) = watch::channel(false);
        let controllers = self.packages.iter().map(|only| {
            let clock = Arc::clone(&self.clock);
            let context = Context::new(
                self.wire.client(only.as_deref()),
                self.group.clone(),
                Arc::clone(&backend),
                settings.clone(),
                Arc::new(NoTelemetry),
            )
            .with_clock(move || kubepkg_helm::Clock::now(&*clock));
            let mut stopped = stopped.clone();
            let asked = async move {
                let _ = stopped.wait_for(|stop| *stop).await;
            };
            tokio::spawn(package::run(Arc::new(context), 1, asked))
        });
        let controllers = controllers.collect();
        Lived { stop, controllers }
    }
}

/// Starts an operator, and another one whenever its life has ended.
async fn keep(life: Life) {
    let mut lived = life.begin();
    loop {
        if life.wire.end().await == End::Asked {
            in_order(&life.wire, &mut lived).await;
        }
        lived = {
            drop(lived);
            // A process needs a moment to be started again.
            tokio::time::sleep(Duration::from_secs(1)).await;
            life.begin()
        };
    }
}

/// Lets a life end that was asked to, unless it is killed over that.
async fn in_order(wire: &Wire, lived: &mut Lived) {
    let mut grace = pin!(tokio::time::sleep(GRACE));
    loop {
        tokio::select! {
            biased;
            () = lived.end() => return wire.ended(true),
            () = &mut grace => return wire.ended(false),
            end = wire.end() => {
                if end == End::Killed {
                    return;
                }
            }
        }
    }
}

/// The controllers of a life; they end with this value.
struct Lived {
    stop: watch::Sender<bool>,
    controllers: Vec<JoinHandle<()>>,
}

impl Lived {
    /// Asks all of them to end, and waits until they have.
    async fn end(&mut self) {
        self.stop.send_replace(true);
        while let Some(controller) = self.controllers.last_mut() {
            // One that panicked has ended, too.
            let _ = controller.await;
            self.controllers.pop();
        }
    }
}

impl Drop for Lived {
    fn drop(&mut self) {
        for controller in &self.controllers {
            controller.abort();
        }
    }
}
