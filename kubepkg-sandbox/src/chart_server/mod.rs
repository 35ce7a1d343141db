//! A Helm repository and an OCI registry in one process, on loopback.
//!
//! Serves charts given as folders, files in memory or ready archives: `http://…/charts` is a Helm
//! repository with `index.yaml`, `oci://…/charts` a registry that real Helm can pull from and push
//! to. Any path can be told to fail by name ([`Fault`]), every request is logged. The server runs
//! on a thread of its own and ends when it is dropped, so tests with different runtimes can share
//! one. It listens on loopback only and is no registry for anything but tests and demonstrations:
//! it keeps everything in memory and checks no manifest.
//!
//! ```
//! use kubepkg_sandbox::ChartServer;
//!
//! let server = ChartServer::builder()
//!     .chart("web", "1.0.0", [("templates/cm.yaml", "kind: ConfigMap\n")])
//!     .start()?;
//! assert!(server.repository_url().ends_with("/charts"));
//! assert!(server.digest("web", "1.0.0").is_some());
//! # Ok::<(), kubepkg_sandbox::ChartServerError>(())
//! ```

mod answer;
mod auth;
mod builder;
mod fault;
mod packaging;
mod request_log;
mod routes;
mod store;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::watch;

pub use builder::ChartServerBuilder;
pub use fault::Fault;
pub use request_log::LoggedRequest;

use answer::{Answer, Body};
use auth::Auth;
use builder::{Content, collect, packed};
use fault::Faults;
use request_log::RequestLog;
use store::Store;

/// A chart server could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChartServerError {
    /// Loopback can't be listened on, or no thread can be started.
    #[error("starting the chart server")]
    Start(#[source] io::Error),
    /// A chart folder can't be read, or its files can't be packed.
    #[error("packing chart {chart}")]
    Pack {
        /// The chart's name or its folder.
        chart: String,
        /// What went wrong.
        #[source]
        source: io::Error,
    },
    /// The `Chart.yaml` of a folder has no plain `name` or `version`.
    #[error("no {field} in {}", path.display())]
    Field {
        /// `name` or `version`.
        field: &'static str,
        /// The `Chart.yaml`.
        path: PathBuf,
    },
}

/// What all connections share.
struct State {
    store: Mutex<Store>,
    auth: Auth,
    faults: Faults,
    log: RequestLog,
    elsewhere_url: String,
    ranges: bool,
}

impl State {
    fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running Helm repository and OCI registry. It ends when dropped.
pub struct ChartServer {
    address: SocketAddr,
    state: Arc<State>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl ChartServer {
    /// Describes a server.
    #[must_use]
    pub fn builder() -> ChartServerBuilder {
        ChartServerBuilder::default()
    }

    fn serve(store: Store, auth: Auth, ranges: bool) -> io::Result<Self> {
        let listeners = [
            std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?,
            std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?,
        ];
        let address = listeners[0].local_addr()?;
        let elsewhere = listeners[1].local_addr()?;
        let state = Arc::new(State {
            store: Mutex::new(store),
            auth,
            faults: Faults::default(),
            log: RequestLog::default(),
            // Another host name as well as another port: credentials belong to neither.
            elsewhere_url: format!("http://localhost:{}", elsewhere.port()),
            ranges,
        });
        let (stop, stopped) = watch::channel(false);
        let shared = Arc::clone(&state);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let thread = std::thread::Builder::new()
            .name("chart-server".into())
            .spawn(move || {
                runtime.block_on(accept_all(listeners, shared, stopped));
            })?;
        Ok(Self {
            address,
            state,
            stop,
            thread: Some(thread),
        })
    }

    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The Helm repository: `http://127.0.0.1:<port>/charts`.
    #[must_use]
    pub fn repository_url(&self) -> String {
        format!("http://{}/charts", self.address)
    }

    /// The registry: `oci://127.0.0.1:<port>/charts`, plain HTTP.
    #[must_use]
    pub fn registry_url(&self) -> String {
        format!("oci://{}/charts", self.address)
    }

    /// Adds or replaces a chart made of files and gives its digest, `sha256:<hex>`.
    ///
    /// # Errors
    ///
    /// The files can't be packed.
    pub fn add_chart<P: Into<String>, C: Into<Vec<u8>>>(
        &self,
        name: &str,
        version: &str,
        files: impl IntoIterator<Item = (P, C)>,
    ) -> Result<String, ChartServerError> {
        let identity = Some((name.to_owned(), version.to_owned()));
        let (name, version, archive) = packed(identity, Content::Files(collect(files)))?;
        Ok(self.state.store().add(&name, &version, archive))
    }

    /// Adds or replaces the chart of a folder and gives its digest, `sha256:<hex>`.
    ///
    /// # Errors
    ///
    /// The folder can't be read or packed, or its `Chart.yaml` has no plain name and version.
    pub fn add_chart_dir(&self, folder: impl Into<PathBuf>) -> Result<String, ChartServerError> {
        let (name, version, archive) = packed(None, Content::Folder(folder.into()))?;
        Ok(self.state.store().add(&name, &version, archive))
    }

    /// Adds or replaces a chart by a ready archive, served as it is, and gives its digest.
    pub fn add_archive(&self, name: &str, version: &str, archive: impl Into<Bytes>) -> String {
        self.state.store().add(name, version, archive.into())
    }

    /// Puts a manifest into the registry, whatever it says, and gives its digest.
    pub fn push_manifest(
        &self,
        repository: &str,
        reference: &str,
        manifest: impl Into<Bytes>,
    ) -> String {
        let mut store = self.state.store();
        store.put_manifest(repository, reference, store::MANIFEST_TYPE, manifest.into())
    }

    /// The digest of a chart's archive, `sha256:<hex>`, to pin it with.
    #[must_use]
    pub fn digest(&self, name: &str, version: &str) -> Option<String> {
        self.state
            .store()
            .chart(name, version)
            .map(|chart| chart.digest.clone())
    }

    /// The archive of a chart.
    #[must_use]
    pub fn archive(&self, name: &str, version: &str) -> Option<Bytes> {
        self.state
            .store()
            .chart(name, version)
            .map(|chart| chart.archive.clone())
    }

    /// The path of the Helm repository's index.
    #[must_use]
    pub fn index_path(&self) -> String {
        "/charts/index.yaml".to_owned()
    }

    /// The path of a chart's archive in the Helm repository.
    #[must_use]
    pub fn archive_path(&self, name: &str, version: &str) -> String {
        format!("/charts/{name}-{version}.tgz")
    }

    /// The path of a chart's manifest in the registry.
    #[must_use]
    pub fn manifest_path(&self, name: &str, version: &str) -> String {
        let repository = store::repository_of(name);
        format!("/v2/{repository}/manifests/{}", store::tag_of(version))
    }

    /// The path of the blob that holds a chart in the registry, when the chart is there.
    #[must_use]
    pub fn blob_path(&self, name: &str, version: &str) -> Option<String> {
        let repository = store::repository_of(name);
        let digest = self
            .state
            .store()
            .chart_layer(&repository, &store::tag_of(version))?;
        Some(format!("/v2/{repository}/blobs/{digest}"))
    }

    /// Lets requests of this path fail.
    pub fn fault(&self, path: &str, fault: Fault) {
        self.state.faults.set(path, fault);
    }

    /// Ends all faults.
    pub fn clear_faults(&self) {
        self.state.faults.clear();
    }

    /// All requests so far, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<LoggedRequest> {
        self.state.log.all()
    }

    /// How many requests were made whose path begins with this.
    #[must_use]
    pub fn count(&self, path_prefix: &str) -> usize {
        self.requests()
            .iter()
            .filter(|request| request.path.starts_with(path_prefix))
            .count()
    }

    /// Forgets the requests so far.
    pub fn clear_requests(&self) {
        self.state.log.clear();
    }
}

impl Drop for ChartServer {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for ChartServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChartServer")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

async fn accept_all(
    listeners: [std::net::TcpListener; 2],
    state: Arc<State>,
    mut stopped: watch::Receiver<bool>,
) {
    let [here, elsewhere] = listeners.map(|listener| {
        listener.set_nonblocking(true)?;
        TcpListener::from_std(listener)
    });
    let (Ok(here), Ok(elsewhere)) = (here, elsewhere) else {
        tracing::error!("the chart server can't use its listeners");
        return;
    };
    tokio::select! {
        () = accept(here, Arc::clone(&state), false) => {}
        () = accept(elsewhere, state, true) => {}
        _ = stopped.wait_for(|stop| *stop) => {}
    }
}

async fn accept(listener: TcpListener, state: Arc<State>, elsewhere: bool) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            continue;
        };
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            let service = service_fn(move |request| handle(Arc::clone(&state), elsewhere, request));
            // A client that goes away, or a body spoiled on purpose, ends the connection.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn handle(
    state: Arc<State>,
    elsewhere: bool,
    request: Request<Incoming>,
) -> Result<Response<Body>, hyper::Error> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    let path = parts.uri.path().to_owned();
    let header = |name: http::HeaderName| {
        parts
            .headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .map(str::to_owned)
    };
    let host = header(http::header::HOST).unwrap_or_default();

    let fault = if elsewhere {
        None
    } else {
        state.faults.meet(&path)
    };
    let stand_in = fault
        .as_ref()
        .and_then(|f| Answer::instead(f, &state.elsewhere_url, &path));
    let answer = stand_in.unwrap_or_else(|| {
        let auth = if elsewhere { &Auth::Open } else { &state.auth };
        routes::answer(
            &state,
            auth,
            routes::Incoming {
                method: &parts.method,
                path: &path,
                query: parts.uri.query().unwrap_or_default(),
                headers: &parts.headers,
                host: &host,
                body,
            },
        )
    });
    let answer = match fault {
        Some(Fault::UploadElsewhere) => answer.moved(&state.elsewhere_url),
        _ => answer,
    };
    state.log.push(LoggedRequest {
        method: parts.method.to_string(),
        status: answer.status.as_u16(),
        authorization: header(http::header::AUTHORIZATION),
        user_agent: header(http::header::USER_AGENT),
        path,
        elsewhere,
    });
    if let Some(Fault::Slow(wait)) = fault {
        tokio::time::sleep(wait).await;
    }
    Ok(answer.send(fault.as_ref(), parts.method == Method::HEAD))
}
