//! The front door: [`Charts`] fetches a chart by its reference, finds versions, and pushes.
//!
//! Looks into the cache first: a pinned chart that is there needs no network, one without a pinned
//! digest needs none for a while after it was last looked up. Otherwise the fetcher of the
//! location's scheme is asked, again and again while the failure is one that passes, within the
//! limits. Two callers that want the same chart wait for one fetch. An unpinned chart whose
//! repository is out of reach is taken from the cache, with a warning; a pinned one is never taken
//! in another form than the pinned one.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use kubepkg_api::{ChartRef, Digest};
use kubepkg_resolve::Version;
use tokio::time::Instant;

use crate::cache::{ArchiveCache, Freshness};
use crate::credentials::{Credential, CredentialSource};
use crate::failure::Failure;
use crate::fetch::{Cache, Credentials, Fetch, FetchRequest, Fetched};
use crate::fetch_error::FetchError;
use crate::http::HttpRepository;
use crate::limits::Limits;
use crate::location::{ChartLocation, LocationError, shown_text};
use crate::mirror::mirrored;
use crate::net::{Net, NetError, Tls};
use crate::oci::{Artifact, OciRegistry, Pushed};
use crate::reference::{OCI_SCHEME, OciReference};
use crate::retry::attempts;

/// How charts are fetched.
#[derive(Clone)]
#[non_exhaustive]
pub struct SourceOptions {
    /// The folder of the cache; nothing is kept without one.
    pub cache_dir: Option<PathBuf>,
    /// Bytes that cached archives may take together. Default: 2 GiB.
    pub cache_bytes: u64,
    /// How long a version without a pinned digest is taken from the cache before its repository is
    /// asked again. Default: 10 min.
    pub unpinned_fresh_for: Duration,
    /// Uses the cache alone.
    pub offline: bool,
    /// A registry (`oci://…`) that is asked in place of every other one (reference §2.11).
    pub mirror: Option<String>,
    /// Speaks plain HTTP to every registry; to loopback it is spoken anyway.
    pub plain_http: bool,
    /// Where credentials come from, asked in this order.
    pub credentials: Vec<Arc<dyn CredentialSource>>,
    /// Certificates: which authorities are trusted, and who this client is.
    pub tls: Tls,
    /// Sent with every request. Default: `kubepkg/<version>`.
    pub user_agent: String,
    /// Sizes, times and attempts.
    pub limits: Limits,
}

impl Default for SourceOptions {
    fn default() -> Self {
        Self {
            cache_dir: None,
            cache_bytes: 2 << 30,
            unpinned_fresh_for: Duration::from_mins(10),
            offline: false,
            mirror: None,
            plain_http: false,
            credentials: Vec::new(),
            tls: Tls::default(),
            user_agent: concat!("kubepkg/", env!("CARGO_PKG_VERSION")).to_owned(),
            limits: Limits::default(),
        }
    }
}

/// The options can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The cache folder can't be made.
    #[error("making the cache folder {}", path.display())]
    Cache {
        /// The folder.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: io::Error,
    },
    /// The mirror is no `oci://` location.
    #[error("the mirror {mirror:?} is not an oci:// location")]
    Mirror {
        /// What was given, without user information.
        mirror: String,
        /// Why.
        #[source]
        source: LocationError,
    },
    /// The HTTP clients can't be made.
    #[error(transparent)]
    Net(#[from] NetError),
}

/// A chart that was fetched and checked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FetchedChart {
    /// The archive, a `.tgz`.
    pub bytes: Bytes,
    /// Its digest. Equal to the pinned one when there is one.
    pub digest: Digest,
    /// Whether it came from the cache without a download.
    pub from_cache: bool,
}

/// Fetches charts.
pub struct Charts {
    fetchers: BTreeMap<String, Arc<dyn Fetch>>,
    cache: Cache,
    mirror: Option<ChartLocation>,
    offline: bool,
    fresh_for: Duration,
    limits: Arc<Limits>,
    oci: Arc<OciRegistry>,
    http: Arc<HttpRepository>,
    running: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
}

impl Charts {
    /// Sets up fetching.
    ///
    /// # Errors
    ///
    /// The cache folder can't be made, the mirror or the certificates can't be read.
    pub fn new(options: SourceOptions) -> Result<Self, SourceError> {
        let limits = Arc::new(options.limits);
        let cache = match options.cache_dir {
            Some(path) => Some(
                ArchiveCache::open(&path, options.cache_bytes, limits.archive_bytes)
                    .map_err(|source| SourceError::Cache { path, source })?,
            ),
            None => None,
        };
        let mirror = match &options.mirror {
            Some(text) => Some(parse_mirror(text)?),
            None => None,
        };
        let net = Net::new(&options.user_agent, &options.tls, &limits)?;
        let credentials = Credentials::new(options.credentials);
        let oci = Arc::new(OciRegistry::new(
            net.clone(),
            credentials.clone(),
            options.plain_http,
            Arc::clone(&limits),
        ));
        let http = Arc::new(HttpRepository::new(net, credentials, Arc::clone(&oci)));
        let fetchers: [(&str, Arc<dyn Fetch>); 3] = [
            ("http", http.clone()),
            ("https", http.clone()),
            ("oci", oci.clone()),
        ];
        Ok(Self {
            fetchers: fetchers
                .into_iter()
                .map(|(scheme, f)| (scheme.to_owned(), f))
                .collect(),
            cache: Cache::new(cache),
            mirror,
            offline: options.offline,
            fresh_for: options.unpinned_fresh_for,
            limits,
            oci,
            http,
            running: Mutex::default(),
        })
    }

    /// Adds the fetcher of a scheme, or replaces it.
    pub fn register(&mut self, scheme: &str, fetcher: Arc<dyn Fetch>) {
        self.fetchers.insert(scheme.to_ascii_lowercase(), fetcher);
    }

    /// Fetches a chart.
    ///
    /// # Errors
    ///
    /// [`FetchError`] with the cause; [`FetchError::is_transient`] tells whether trying again later
    /// can help.
    pub async fn fetch(&self, chart: &ChartRef) -> Result<FetchedChart, FetchError> {
        let fetched = self.find(chart).await.map_err(about(chart))?;
        Ok(fetched.into())
    }

    /// The versions of a chart that there are, from the highest down.
    ///
    /// # Errors
    ///
    /// As [`fetch`](Self::fetch); a registry may forbid to list tags, which [`resolve`](Self::resolve) does without
    /// for exact versions.
    pub async fn versions(&self, chart: &ChartRef) -> Result<Vec<String>, FetchError> {
        let listed = async {
            let request = self.request_for(chart, String::new())?;
            let source = self.online(&request)?;
            let what = request.name.clone();
            attempts(&self.limits, self.deadline(), &what, || {
                source.versions(&request, &self.cache)
            })
            .await
        };
        listed.await.map_err(about(chart))
    }

    /// The exact version that the `version` of a reference means: itself, the highest one that a constraint allows,
    /// or the highest stable one when it is empty. A registry is asked for constraints only.
    ///
    /// # Errors
    ///
    /// As [`fetch`](Self::fetch), and when no version fits.
    pub async fn resolve(&self, chart: &ChartRef) -> Result<String, FetchError> {
        let resolved = async {
            let request = self.request_for(chart, String::new())?;
            if self.offline && Version::parse(&chart.version).is_ok() {
                return Ok(chart.version.clone());
            }
            let source = self.online(&request)?;
            let what = request.name.clone();
            attempts(&self.limits, self.deadline(), &what, || {
                source.resolve(&request, &chart.version, &self.cache)
            })
            .await
        };
        resolved.await.map_err(about(chart))
    }

    /// The provenance file of a chart, or `None` when there is none. It is not checked here.
    ///
    /// # Errors
    ///
    /// As [`fetch`](Self::fetch).
    pub async fn provenance(&self, chart: &ChartRef) -> Result<Option<Bytes>, FetchError> {
        let found = async {
            let request = self.request(chart)?;
            let source = self.online(&request)?;
            let what = request.name.clone();
            attempts(&self.limits, self.deadline(), &what, || {
                source.provenance(&request, &self.cache)
            })
            .await
        };
        found.await.map_err(about(chart))
    }

    /// Fetches an archive by its own `http` or `https` address. It is not kept in the cache.
    ///
    /// # Errors
    ///
    /// As [`fetch`](Self::fetch). The error has no version and no name.
    pub async fn fetch_url(&self, address: &str) -> Result<FetchedChart, FetchError> {
        // Signed addresses have a query, which is nobody's business.
        let (plain, query) = match address.split_once('?') {
            Some((plain, query)) => (plain, Some(query)),
            None => (address, None),
        };
        let chart = ChartRef {
            repository: plain.to_owned(),
            ..ChartRef::default()
        };
        let fetched = async {
            let request = self.request_for(&chart, String::new())?;
            self.online(&request)?;
            let ChartLocation::Http(location) = &request.location else {
                let scheme = request.location.scheme().to_owned();
                return Err(Failure::Scheme { scheme });
            };
            let mut url = location.base().clone();
            let path = url.path().trim_end_matches('/').to_owned();
            url.set_path(&path);
            url.set_query(query);
            let credential = self.http.credential(location).await?;
            attempts(&self.limits, self.deadline(), plain, || {
                self.http.fetch_url(&url, credential.as_ref(), &request)
            })
            .await
        };
        fetched.await.map(Into::into).map_err(about(&chart))
    }

    /// Fetches the chart of a registry that a reference names, by its tag or by the digest of its manifest.
    ///
    /// # Errors
    ///
    /// As [`fetch`](Self::fetch).
    pub async fn fetch_reference(
        &self,
        reference: &OciReference,
    ) -> Result<FetchedChart, FetchError> {
        let chart = of_reference(reference);
        let fetched = async {
            let request = self.request_for(&chart, String::new())?;
            self.online(&request)?;
            attempts(&self.limits, self.deadline(), &chart.name, || {
                self.oci.pull(reference, None, &request, &self.cache)
            })
            .await
        };
        fetched.await.map(Into::into).map_err(about(&chart))
    }

    /// The provenance file beside the chart that a reference names, or `None` when there is none.
    ///
    /// # Errors
    ///
    /// As [`fetch`](Self::fetch).
    pub async fn reference_provenance(
        &self,
        reference: &OciReference,
    ) -> Result<Option<Bytes>, FetchError> {
        let chart = of_reference(reference);
        let found = async {
            if self.offline {
                return Err(Failure::Offline);
            }
            attempts(&self.limits, self.deadline(), &chart.name, || {
                self.oci.pull_provenance(reference)
            })
            .await
        };
        found.await.map_err(about(&chart))
    }

    /// Pushes an artifact to a registry under the tag of a reference. What the registry has is not sent again.
    ///
    /// # Errors
    ///
    /// [`FetchError`] with the cause, for the reference.
    pub async fn push(
        &self,
        reference: &OciReference,
        artifact: &Artifact,
    ) -> Result<Pushed, FetchError> {
        let pushed = async {
            if self.offline {
                return Err(Failure::Offline);
            }
            self.oci.push(reference, artifact).await
        };
        pushed.await.map_err(about(&of_reference(reference)))
    }

    /// Checks a credential against a registry, `host` or `host:port`. Keeping it is another matter:
    /// [`DockerConfig::store`](crate::DockerConfig::store).
    ///
    /// # Errors
    ///
    /// [`FetchError`] with the cause: the registry refused it, or can't be reached.
    pub async fn check_login(&self, host: &str, credential: &Credential) -> Result<(), FetchError> {
        let checked = async {
            if self.offline {
                return Err(Failure::Offline);
            }
            attempts(&self.limits, self.deadline(), host, || {
                self.oci.ping(host, credential)
            })
            .await
        };
        let chart = ChartRef {
            repository: format!("{OCI_SCHEME}{host}"),
            ..ChartRef::default()
        };
        checked.await.map_err(about(&chart))
    }

    fn deadline(&self) -> Instant {
        Instant::now() + self.limits.total_time
    }

    /// The fetcher of a request that needs the network.
    fn online(&self, request: &FetchRequest) -> Result<&dyn Fetch, Failure> {
        if self.offline {
            return Err(Failure::Offline);
        }
        self.fetcher(request)
    }

    fn fetcher(&self, request: &FetchRequest) -> Result<&dyn Fetch, Failure> {
        self.fetchers
            .get(request.location.scheme())
            .map(AsRef::as_ref)
            .ok_or_else(|| Failure::Scheme {
                scheme: request.location.scheme().to_owned(),
            })
    }

    async fn find(&self, chart: &ChartRef) -> Result<Fetched, Failure> {
        let request = self.request(chart)?;
        let key = request.location.to_string();
        if let Some(cached) = self.cached(&key, &request, Wanted::Fresh).await {
            return Ok(cached);
        }
        if self.offline {
            let cached = self.cached(&key, &request, Wanted::Any).await;
            return cached.ok_or(Failure::Offline);
        }
        let source = self.fetcher(&request)?;
        let lock = self.lock(&format!("{key}\n{}\n{}", request.name, request.version));
        let deadline = self.deadline();
        let Ok(_only_caller) = tokio::time::timeout_at(deadline, lock.lock()).await else {
            return Err(Failure::Deadline {
                limit: self.limits.total_time,
                last: None,
            });
        };
        // Whoever held the lock may have fetched it.
        if let Some(cached) = self.cached(&key, &request, Wanted::Fresh).await {
            return Ok(cached);
        }
        match self.attempts(source, &request, deadline).await {
            Ok(fetched) => {
                self.keep(&key, &request, &fetched).await;
                Ok(fetched)
            }
            Err(failure) if failure.is_transient() => {
                let Some(cached) = self.cached(&key, &request, Wanted::Any).await else {
                    return Err(failure);
                };
                tracing::warn!(
                    chart = request.name,
                    version = request.version,
                    repository = key,
                    %failure,
                    "the repository is out of reach, using the chart as it was last seen",
                );
                Ok(cached)
            }
            Err(failure) => Err(failure),
        }
    }

    fn request(&self, chart: &ChartRef) -> Result<FetchRequest, Failure> {
        if Version::parse(&chart.version).is_err() {
            return Err(Failure::Version {
                version: chart.version.clone(),
            });
        }
        self.request_for(chart, chart.version.clone())
    }

    fn request_for(&self, chart: &ChartRef, version: String) -> Result<FetchRequest, Failure> {
        let origin = ChartLocation::parse(&chart.repository).map_err(Failure::Location)?;
        let location = match &self.mirror {
            Some(mirror) => mirrored(mirror, &origin).map_err(Failure::Location)?,
            None => origin,
        };
        let digest = chart.pinned().map_err(Failure::PinnedDigest)?;
        Ok(FetchRequest {
            location,
            name: chart.name.clone(),
            version,
            digest,
            limits: Arc::clone(&self.limits),
        })
    }

    /// What the cache has for a request.
    async fn cached(&self, key: &str, request: &FetchRequest, wanted: Wanted) -> Option<Fetched> {
        if let Some(digest) = &request.digest {
            return self.cache.archive(digest).await;
        }
        let (key, name, version) = (
            key.to_owned(),
            request.name.clone(),
            request.version.clone(),
        );
        let fresh_for = self.fresh_for;
        let known = self
            .cache
            .run(move |cache| cache.version(&key, &name, &version, fresh_for));
        match (known.await?, wanted) {
            (Freshness::Fresh(digest), _) | (Freshness::Stale(digest), Wanted::Any) => {
                self.cache.archive(&digest).await
            }
            _ => None,
        }
    }

    /// Keeps what was fetched. A full disk costs the next caller time, not this one the chart.
    async fn keep(&self, key: &str, request: &FetchRequest, fetched: &Fetched) {
        let fetched = fetched.clone();
        let unpinned = request.digest.is_none();
        let (key, name, version) = (
            key.to_owned(),
            request.name.clone(),
            request.version.clone(),
        );
        let kept = self.cache.run(move |cache| {
            if !fetched.from_cache {
                cache.keep(&fetched.archive)?;
            }
            if unpinned {
                cache.remember_version(&key, &name, &version, fetched.archive.digest())?;
            }
            Ok::<(), io::Error>(())
        });
        if let Some(Err(error)) = kept.await {
            tracing::warn!(%error, chart = request.name, "the chart can't be kept in the cache");
        }
    }

    /// Asks the fetcher until it succeeds, fails for good, or a limit is reached.
    async fn attempts(
        &self,
        source: &dyn Fetch,
        request: &FetchRequest,
        deadline: Instant,
    ) -> Result<Fetched, Failure> {
        attempts(&self.limits, deadline, &request.name, || {
            source.fetch(request, &self.cache)
        })
        .await
    }

    /// The lock of one chart version; locks that nobody holds are forgotten.
    fn lock(&self, key: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = running.get(key).and_then(Weak::upgrade) {
            return lock;
        }
        running.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::new(tokio::sync::Mutex::new(()));
        running.insert(key.to_owned(), Arc::downgrade(&lock));
        lock
    }
}

impl std::fmt::Debug for Charts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Charts")
            .field("schemes", &self.fetchers.keys())
            .field("mirror", &self.mirror)
            .field("offline", &self.offline)
            .finish_non_exhaustive()
    }
}

/// Which knowledge of the cache is good enough.
#[derive(Clone, Copy)]
enum Wanted {
    Fresh,
    Any,
}

impl From<Fetched> for FetchedChart {
    fn from(fetched: Fetched) -> Self {
        let (bytes, digest) = fetched.archive.into_parts();
        Self {
            bytes,
            digest,
            from_cache: fetched.from_cache,
        }
    }
}

/// Puts the chart to a failure.
fn about(chart: &ChartRef) -> impl FnOnce(Failure) -> FetchError + use<> {
    let (repository, name) = (shown_text(&chart.repository), chart.name.clone());
    let version = chart.version.clone();
    move |failure| FetchError {
        repository,
        name,
        version,
        failure,
    }
}

/// A reference as a chart, for requests and messages.
fn of_reference(reference: &OciReference) -> ChartRef {
    let (path, name) = match reference.repository.rsplit_once('/') {
        Some((path, name)) => (format!("/{path}"), name),
        None => (String::new(), reference.repository.as_str()),
    };
    ChartRef {
        repository: format!("{OCI_SCHEME}{}{path}", reference.registry),
        name: name.to_owned(),
        version: reference.tag.replace('_', "+"),
        ..ChartRef::default()
    }
}

fn parse_mirror(text: &str) -> Result<ChartLocation, SourceError> {
    let error = |source| SourceError::Mirror {
        mirror: shown_text(text),
        source,
    };
    match ChartLocation::parse(text).map_err(error)? {
        mirror @ ChartLocation::Oci(_) => Ok(mirror),
        _ => Err(error(LocationError::Mirror)),
    }
}
