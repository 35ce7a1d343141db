//! Talking to one API server: raw requests whose status code matters (a created object answers 201), and a
//! cache that maps kinds to resources. The cache is filled by at most three requests (`/version`, `/api` and
//! `/apis` in aggregated form), kept per cluster, and renewed by a kind that it does not know or by a CRD
//! that an operation installs. OpenAPI documents are never fetched: field validation is asked for on the
//! write itself (`fieldValidation=Strict`), which costs nothing. Refuses names that would change the path
//! of a request by escaping them. Source of the rules: Kubernetes API conventions, KEP-3352 (aggregated
//! discovery).

mod discovery;
mod follow;
mod http;
mod lookup;
mod sightings;

pub(crate) use discovery::kinds_of_crd;
pub use discovery::{Discovery, ResourceKind};
pub use http::ApiError;
pub use lookup::ClusterLookup;

pub use follow::Changes;
pub(crate) use follow::{Following, Seen, Subject, undeleted};
pub(crate) use http::{Answer, Call, Verb, escape};
pub(crate) use sightings::Sighting;

use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::Instant;

/// A kind asked for again this soon after a renewal of the cache is not worth another one.
const RENEWAL_PAUSE: Duration = Duration::from_millis(500);

/// Watches under way at a time; objects that get none are read from time to time instead.
const WATCHES: usize = 256;

/// One API server and what is known about its kinds. Cheap to share behind an `Arc`.
pub struct Cluster {
    client: kube::Client,
    user_agent: Option<::http::HeaderValue>,
    cache: Mutex<Cache>,
    sightings: sightings::Sightings,
    watches: Arc<Semaphore>,
}

#[derive(Default)]
struct Cache {
    discovery: Option<Arc<Discovery>>,
    fetched: Option<Instant>,
}

impl std::fmt::Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster").finish_non_exhaustive()
    }
}

impl Cluster {
    /// A cluster behind a client. `user_agent` is sent with every request when it is a valid header.
    pub fn new(client: kube::Client, user_agent: Option<&str>) -> Self {
        let user_agent = user_agent.and_then(|text| ::http::HeaderValue::from_str(text).ok());
        Self {
            client,
            user_agent,
            cache: Mutex::default(),
            sightings: sightings::Sightings::default(),
            watches: Arc::new(Semaphore::new(WATCHES)),
        }
    }

    /// How this process left objects.
    pub(crate) fn sightings(&self) -> &sightings::Sightings {
        &self.sightings
    }

    /// The client that the cluster was made with.
    pub fn client(&self) -> &kube::Client {
        &self.client
    }

    /// What the server offers, from the cache when it is filled.
    ///
    /// # Errors
    /// When the server can't be asked.
    pub async fn discovery(&self) -> Result<Arc<Discovery>, ApiError> {
        let mut cache = self.cache.lock().await;
        if let Some(known) = &cache.discovery {
            return Ok(Arc::clone(known));
        }
        self.renew(&mut cache).await
    }

    /// Forgets what is known, so that the next question asks the server.
    pub async fn forget(&self) {
        *self.cache.lock().await = Cache::default();
    }

    /// The resource of a kind. A miss renews the cache once before it is believed.
    ///
    /// # Errors
    /// When the server can't be asked; a kind that it does not serve is `Ok(None)`.
    pub async fn resource(
        &self,
        api_version: &str,
        kind: &str,
    ) -> Result<Option<ResourceKind>, ApiError> {
        let mut cache = self.cache.lock().await;
        let known = match &cache.discovery {
            Some(known) => Arc::clone(known),
            None => self.renew(&mut cache).await?,
        };
        if let Some(found) = known.resource(api_version, kind) {
            return Ok(Some(found.clone()));
        }
        if cache.fetched.is_some_and(|at| at.elapsed() < RENEWAL_PAUSE) {
            return Ok(None);
        }
        let renewed = self.renew(&mut cache).await?;
        Ok(renewed.resource(api_version, kind).cloned())
    }

    async fn renew(&self, cache: &mut Cache) -> Result<Arc<Discovery>, ApiError> {
        let fresh = Arc::new(Discovery::fetch(self).await?);
        cache.discovery = Some(Arc::clone(&fresh));
        cache.fetched = Some(Instant::now());
        Ok(fresh)
    }
}
