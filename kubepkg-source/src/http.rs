//! Helm repositories over HTTP: `index.yaml` and archives.
//!
//! The index is asked for with the entity tag of the last time, and parsed once per state. The
//! archive is the first address of the entry, relative to the index or absolute, `oci://` included;
//! the digest of the index and the pinned one must both hold. Credentials go to the origin of the
//! repository alone. Refuses an archive over plain HTTP from an index over HTTPS when nothing says
//! which digest it must have. Rules: reference §2.8.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use http::StatusCode;
use http::header::{ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, RANGE};
use kubepkg_api::Digest;
use reqwest::RequestBuilder;
use url::Url;

use crate::cache::Validators;
use crate::credentials::Credential;
use crate::digest_reader::{DigestClaim, DigestReader, Verified};
use crate::failure::{Failure, Missing};
use crate::fetch::{Cache, Credentials, Fetch, FetchRequest, Fetched};
use crate::index::{Found, Index, IndexEntry};
use crate::limits::Limits;
use crate::location::{ChartLocation, HttpLocation, shown};
use crate::net::{ContentKind, Net, download, header, read_body, send, status_failure};
use crate::oci::{Claim, OciRegistry};
use crate::reference::{OCI_SCHEME, OciReference};

/// Parsed indexes kept in memory; a distribution has a handful of repositories.
const KEPT_INDEXES: usize = 16;

/// Fetches from Helm repositories.
pub(crate) struct HttpRepository {
    net: Net,
    credentials: Credentials,
    oci: Arc<OciRegistry>,
    indexes: Mutex<BTreeMap<String, KnownIndex>>,
}

/// An index as it was when last asked for.
#[derive(Clone)]
struct KnownIndex {
    validators: Validators,
    index: Arc<Index>,
}

impl HttpRepository {
    pub(crate) fn new(net: Net, credentials: Credentials, oci: Arc<OciRegistry>) -> Self {
        Self {
            net,
            credentials,
            oci,
            indexes: Mutex::default(),
        }
    }

    pub(crate) async fn credential(
        &self,
        location: &HttpLocation,
    ) -> Result<Option<Credential>, Failure> {
        if let Some(credential) = location.credential() {
            return Ok(Some(credential.clone()));
        }
        let base = location.base();
        let host = base.host_str().unwrap_or_default();
        let host = match base.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        };
        self.credentials
            .find(&host, base.path().trim_matches('/'))
            .await
    }

    /// The index in its present state.
    async fn index(
        &self,
        url: &Url,
        credential: Option<&Credential>,
        request: &FetchRequest,
        cache: &Cache,
    ) -> Result<Arc<Index>, Failure> {
        let known = match self.known(url) {
            Some(known) => Some(known),
            None => read_kept(url, cache).await,
        };
        let mut call = authorized(self.net.get(url, ContentKind::Document), credential);
        if let Some(KnownIndex { validators, .. }) = &known {
            if let Some(etag) = &validators.etag {
                call = call.header(IF_NONE_MATCH, etag);
            }
            if let Some(time) = &validators.last_modified {
                call = call.header(IF_MODIFIED_SINCE, time);
            }
        }
        let response = send(call, url).await?;
        match (response.status(), known) {
            (StatusCode::NOT_MODIFIED, Some(known)) => {
                self.remember(url, known.clone());
                return Ok(known.index);
            }
            (StatusCode::NOT_FOUND | StatusCode::GONE, _) => {
                return Err(Failure::Missing {
                    what: Missing::Index,
                    at: shown(url),
                });
            }
            (status, _) if status.is_success() => {}
            _ => return Err(status_failure(&response, url, credential.is_some())),
        }
        let validators = Validators {
            etag: header(response.headers(), &ETAG).map(str::to_owned),
            last_modified: header(response.headers(), &LAST_MODIFIED).map(str::to_owned),
        };
        let reader = DigestReader::new(request.limits.index_bytes);
        let text = read_body(response, reader, url).await?;
        let index = parse(text.bytes().clone(), url).await?;
        if validators != Validators::default() {
            let (key, kept, text) = (shown(url), validators.clone(), text.clone());
            let kept = cache
                .run(move |cache| cache.keep_index(&key, &kept, &text))
                .await;
            if let Some(Err(error)) = kept {
                tracing::warn!(%error, "the index can't be kept in the cache");
            }
        }
        self.remember(
            url,
            KnownIndex {
                validators,
                index: Arc::clone(&index),
            },
        );
        Ok(index)
    }

    fn known(&self, url: &Url) -> Option<KnownIndex> {
        let indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        indexes.get(url.as_str()).cloned()
    }

    fn remember(&self, url: &Url, known: KnownIndex) {
        let mut indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        if known.validators == Validators::default() {
            indexes.remove(url.as_str());
            return;
        }
        if indexes.len() >= KEPT_INDEXES && !indexes.contains_key(url.as_str()) {
            indexes.pop_first();
        }
        indexes.insert(url.as_str().to_owned(), known);
    }

    async fn archive(
        &self,
        index_url: &Url,
        entry: &IndexEntry,
        credential: Option<&Credential>,
        request: &FetchRequest,
        cache: &Cache,
    ) -> Result<Fetched, Failure> {
        let claimed = claimed_digest(index_url, entry)?;
        if let Some(digest) = request.digest.as_ref().or(claimed.as_ref())
            && let Some(fetched) = cache.archive(digest).await
        {
            return Ok(fetched);
        }
        let url = match archive_address(index_url, entry)? {
            Address::Oci(reference) => {
                let claim = claimed.map(|digest| Claim {
                    claim: DigestClaim::Index,
                    digest,
                });
                return self.oci.pull(&reference, claim, request, cache).await;
            }
            Address::Http(url) => url,
        };
        let known_digest = request.digest.is_some() || claimed.is_some();
        if index_url.scheme() == "https" && url.scheme() == "http" && !known_digest {
            let reason = "it leads from https to http, and no digest is known";
            return Err(Failure::Redirect {
                url: shown(index_url),
                reason,
            });
        }
        let credential = credential.filter(|_| url.origin() == index_url.origin());
        let mut reader = request.archive_reader();
        if let Some(digest) = claimed {
            reader = reader.expect(DigestClaim::Index, digest);
        }
        self.get(&url, credential, reader, &request.limits)
            .await
            .map(Fetched::downloaded)
    }

    /// Gets a file, going on where the answer breaks off.
    async fn get(
        &self,
        url: &Url,
        credential: Option<&Credential>,
        reader: DigestReader,
        limits: &Limits,
    ) -> Result<Verified, Failure> {
        let call = || authorized(self.net.get(url, ContentKind::Archive), credential);
        let response = send(call(), url).await?;
        match response.status() {
            StatusCode::NOT_FOUND | StatusCode::GONE => {
                return Err(Failure::Missing {
                    what: Missing::Archive,
                    at: shown(url),
                });
            }
            status if status.is_success() => {}
            _ => return Err(status_failure(&response, url, credential.is_some())),
        }
        download(response, reader, url, limits, |range| {
            send(call().header(RANGE, range), url)
        })
        .await
    }

    /// Fetches an archive by its own address, without an index.
    pub(crate) async fn fetch_url(
        &self,
        url: &Url,
        credential: Option<&Credential>,
        request: &FetchRequest,
    ) -> Result<Fetched, Failure> {
        let reader = request.archive_reader();
        self.get(url, credential, reader, &request.limits)
            .await
            .map(Fetched::downloaded)
    }

    /// The index, who asks for it, and what it says about the chart of a request.
    async fn look_up(
        &self,
        request: &FetchRequest,
        cache: &Cache,
    ) -> Result<(Url, Option<Credential>, Arc<Index>), Failure> {
        let ChartLocation::Http(location) = &request.location else {
            let scheme = request.location.scheme().to_owned();
            return Err(Failure::Scheme { scheme });
        };
        let index_url = location
            .index_url()
            .map_err(|error| Failure::Location(error.into()))?;
        let credential = self.credential(location).await?;
        let index = self
            .index(&index_url, credential.as_ref(), request, cache)
            .await?;
        Ok((index_url, credential, index))
    }

    async fn entry(
        &self,
        request: &FetchRequest,
        cache: &Cache,
    ) -> Result<(Url, Option<Credential>, IndexEntry), Failure> {
        let (index_url, credential, index) = self.look_up(request, cache).await?;
        let missing = |what| Failure::Missing {
            what,
            at: shown(&index_url),
        };
        let found = index
            .find(&request.name, &request.version)
            .map_err(|source| Failure::Index {
                url: shown(&index_url),
                source,
            })?;
        let entry = match found {
            Found::Entry(entry) => entry.clone(),
            Found::NoChart => return Err(missing(Missing::Chart)),
            Found::NoVersion => return Err(missing(Missing::Version)),
        };
        Ok((index_url, credential, entry))
    }
}

/// Where an archive is.
enum Address {
    Http(Url),
    Oci(OciReference),
}

/// The first address of an entry, relative to the index or absolute.
fn archive_address(index_url: &Url, entry: &IndexEntry) -> Result<Address, Failure> {
    let address = entry.urls.first().map(String::as_str).unwrap_or_default();
    if address.starts_with(OCI_SCHEME) {
        return OciReference::parse(address)
            .map(Address::Oci)
            .map_err(Failure::Reference);
    }
    match index_url.join(address) {
        Ok(url) if !address.is_empty() && matches!(url.scheme(), "http" | "https") => {
            Ok(Address::Http(url))
        }
        _ => Err(Failure::ArchiveUrl {
            url: shown(index_url),
            address: address.to_owned(),
        }),
    }
}

#[async_trait]
impl Fetch for HttpRepository {
    async fn fetch(&self, request: &FetchRequest, cache: &Cache) -> Result<Fetched, Failure> {
        let (index_url, credential, entry) = self.entry(request, cache).await?;
        self.archive(&index_url, &entry, credential.as_ref(), request, cache)
            .await
    }

    async fn versions(
        &self,
        request: &FetchRequest,
        cache: &Cache,
    ) -> Result<Vec<String>, Failure> {
        let (index_url, _, index) = self.look_up(request, cache).await?;
        let versions = index
            .versions(&request.name)
            .map_err(|source| Failure::Index {
                url: shown(&index_url),
                source,
            })?
            .ok_or_else(|| Failure::Missing {
                what: Missing::Chart,
                at: shown(&index_url),
            })?;
        // What has no address can't be had.
        let versions = versions.filter(|entry| !entry.urls.is_empty());
        Ok(versions.map(|entry| entry.version.clone()).collect())
    }

    async fn provenance(
        &self,
        request: &FetchRequest,
        cache: &Cache,
    ) -> Result<Option<Bytes>, Failure> {
        let (index_url, credential, entry) = self.entry(request, cache).await?;
        let mut url = match archive_address(&index_url, &entry)? {
            Address::Oci(reference) => return self.oci.pull_provenance(&reference).await,
            Address::Http(url) => url,
        };
        let credential = credential.filter(|_| url.origin() == index_url.origin());
        let path = format!("{}.prov", url.path());
        url.set_path(&path);
        let reader = DigestReader::new(request.limits.provenance_bytes);
        match self
            .get(&url, credential.as_ref(), reader, &request.limits)
            .await
        {
            Ok(content) => Ok(Some(content.into_parts().0)),
            Err(Failure::Missing { .. }) => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}

/// The index that an earlier process kept.
async fn read_kept(url: &Url, cache: &Cache) -> Option<KnownIndex> {
    let key = shown(url);
    let (validators, text) = cache.run(move |cache| cache.index(&key)).await.flatten()?;
    let index = parse(text, url).await.ok()?;
    Some(KnownIndex { validators, index })
}

/// Reads where it may take its time: an index that no machine wrote is parsed as a whole.
async fn parse(text: Bytes, url: &Url) -> Result<Arc<Index>, Failure> {
    match tokio::task::spawn_blocking(move || Index::open(text)).await {
        Ok(Ok(index)) => Ok(Arc::new(index)),
        Ok(Err(source)) => Err(Failure::Index {
            url: shown(url),
            source,
        }),
        Err(error) => Err(Failure::Cancelled(error.to_string())),
    }
}

/// The digest of the entry; Helm writes bare digits, others write `sha256:` before them.
fn claimed_digest(index_url: &Url, entry: &IndexEntry) -> Result<Option<Digest>, Failure> {
    if entry.digest.is_empty() {
        return Ok(None);
    }
    let hex = entry
        .digest
        .strip_prefix("sha256:")
        .unwrap_or(&entry.digest);
    let text = format!("sha256:{}", hex.to_ascii_lowercase());
    Digest::new(&text)
        .map(Some)
        .map_err(|_| Failure::ForeignDigest {
            url: shown(index_url),
            text: entry.digest.clone(),
        })
}

fn authorized(request: RequestBuilder, credential: Option<&Credential>) -> RequestBuilder {
    match credential {
        Some(Credential::Basic { user, password }) => request.basic_auth(user, Some(password)),
        Some(Credential::IdentityToken(token)) => request.bearer_auth(token),
        None => request,
    }
}
