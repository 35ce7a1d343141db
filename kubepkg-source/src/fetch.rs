//! What a fetcher of one scheme does: [`Fetch`].
//!
//! A fetcher makes one attempt. Repeating, limits on the whole time, pinned charts in the cache and
//! keeping what was fetched are the business of [`Charts`](crate::Charts), the same for every
//! scheme. A distribution adds `s3://` by implementing the trait and registering it.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use kubepkg_api::Digest;

use crate::cache::ArchiveCache;
use crate::credentials::{Credential, CredentialSource};
use crate::digest_reader::{DigestClaim, DigestReader, Verified};
use crate::failure::Failure;
use crate::limits::Limits;
use crate::location::ChartLocation;
use crate::versions::select_version;

/// One chart to fetch.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FetchRequest {
    /// Where the chart is.
    pub location: ChartLocation,
    /// Its name.
    pub name: String,
    /// Its exact version; empty where versions are what is asked for.
    pub version: String,
    /// The digest that the archive must have, when it is pinned.
    pub digest: Option<Digest>,
    /// What may be spent on it.
    pub limits: Arc<Limits>,
}

impl FetchRequest {
    /// Begins to read an archive: within the limit and against the pinned digest.
    pub fn archive_reader(&self) -> DigestReader {
        let reader = DigestReader::new(self.limits.archive_bytes);
        match &self.digest {
            Some(digest) => reader.expect(DigestClaim::Reference, digest.clone()),
            None => reader,
        }
    }
}

/// An archive that passed its checks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fetched {
    /// The archive.
    pub archive: Verified,
    /// Whether the cache had it.
    pub from_cache: bool,
}

impl Fetched {
    /// An archive that came over the network.
    pub fn downloaded(archive: Verified) -> Self {
        Self {
            archive,
            from_cache: false,
        }
    }
}

/// Fetches charts from locations of one scheme.
#[async_trait]
pub trait Fetch: Send + Sync {
    /// Makes one attempt to fetch a chart. A fetcher that learns the digest before it downloads
    /// asks `cache` for it.
    ///
    /// # Errors
    ///
    /// [`Failure::Missing`] when the server works and has no such chart, other failures otherwise;
    /// whether they are worth another attempt is told by [`Failure::is_transient`].
    async fn fetch(&self, request: &FetchRequest, cache: &Cache) -> Result<Fetched, Failure>;

    /// The versions of a chart that there are, from the highest down. The request has no version.
    ///
    /// # Errors
    ///
    /// [`Failure::NoList`] for a scheme that has no such list, which is what happens when this is not implemented.
    async fn versions(
        &self,
        request: &FetchRequest,
        _cache: &Cache,
    ) -> Result<Vec<String>, Failure> {
        Err(Failure::NoList {
            scheme: request.location.scheme().to_owned(),
        })
    }

    /// The exact version that a constraint means; an empty one means the highest stable version.
    ///
    /// # Errors
    ///
    /// [`Failure::Selection`] when no version fits, and those of [`versions`](Self::versions).
    async fn resolve(
        &self,
        request: &FetchRequest,
        wanted: &str,
        cache: &Cache,
    ) -> Result<String, Failure> {
        let versions = self.versions(request, cache).await?;
        select(&versions, wanted, &request.location)
    }

    /// The provenance file of a chart; none when there is none, or when the scheme knows none.
    ///
    /// # Errors
    ///
    /// Those of [`fetch`](Self::fetch).
    async fn provenance(
        &self,
        _request: &FetchRequest,
        _cache: &Cache,
    ) -> Result<Option<Bytes>, Failure> {
        Ok(None)
    }
}

/// Selects among versions, and says where they were looked for when none fits.
pub(crate) fn select(
    versions: &[String],
    wanted: &str,
    location: &ChartLocation,
) -> Result<String, Failure> {
    let texts: Vec<&str> = versions.iter().map(String::as_str).collect();
    select_version(&texts, wanted)
        .map(str::to_owned)
        .map_err(|source| Failure::Selection {
            repository: location.to_string(),
            source,
        })
}

/// The cache as fetchers see it: nothing of it blocks the caller, and it may be absent.
#[derive(Debug, Clone, Default)]
pub struct Cache(Option<Arc<ArchiveCache>>);

impl Cache {
    pub(crate) fn new(cache: Option<ArchiveCache>) -> Self {
        Self(cache.map(Arc::new))
    }

    /// The archive with this digest, when it is there and undamaged.
    pub async fn archive(&self, digest: &Digest) -> Option<Fetched> {
        let digest = digest.clone();
        let archive = self
            .run(move |cache| cache.archive(&digest))
            .await
            .flatten()?;
        Some(Fetched {
            archive,
            from_cache: true,
        })
    }

    /// Runs something on the cache where blocking is allowed; `None` without a cache.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ArchiveCache) -> T + Send + 'static,
    ) -> Option<T> {
        let cache = Arc::clone(self.0.as_ref()?);
        tokio::task::spawn_blocking(move || work(&cache)).await.ok()
    }
}

/// Credentials for the fetchers, from several sources in order.
#[derive(Clone, Default)]
pub(crate) struct Credentials {
    sources: Vec<Arc<dyn CredentialSource>>,
}

impl Credentials {
    pub(crate) fn new(sources: Vec<Arc<dyn CredentialSource>>) -> Self {
        Self { sources }
    }

    /// The credential of the first source that has one.
    pub(crate) async fn find(&self, host: &str, path: &str) -> Result<Option<Credential>, Failure> {
        if self.sources.is_empty() {
            return Ok(None);
        }
        let sources = self.sources.clone();
        let (host, path) = (host.to_owned(), path.to_owned());
        let host_again = host.clone();
        let found = tokio::task::spawn_blocking(move || {
            for source in &sources {
                if let Some(credential) = source.credential(&host, &path)? {
                    return Ok(Some(credential));
                }
            }
            Ok(None)
        });
        match found.await {
            Ok(found) => found.map_err(|source| Failure::Credentials {
                host: host_again,
                source,
            }),
            Err(error) => Err(Failure::Cancelled(error.to_string())),
        }
    }
}
