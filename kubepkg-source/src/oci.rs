//! Charts in OCI registries, as the
//! [distribution specification](https://github.com/opencontainers/distribution-spec/blob/main/spec.md) has them.
//!
//! An exact version is one manifest and one blob; tags are listed for constraints only. `+` in a version is `_` in
//! its tag; a tag that is not there is asked for once more with or without a leading `v`. A location that ends with
//! the chart's own name is read both ways: as the folder of the chart, as Helm reads it, and as the chart itself. The
//! chart is the first layer of Helm's media type. Plain HTTP is for loopback, and elsewhere only when it was asked
//! for. Refuses manifests over the limit, image indexes and foreign digests. Sessions with their credentials are in
//! `session`, writing in `push`, lists of tags in `tags`.

mod push;
mod session;
mod tags;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderName, StatusCode};
use kubepkg_api::Digest;
use serde::Deserialize;
use url::Url;

use crate::credentials::Credential;
use crate::digest_reader::{DigestClaim, DigestReader, Verified};
use crate::failure::{Failure, Missing};
use crate::fetch::{Cache, Credentials, Fetch, FetchRequest, Fetched};
use crate::limits::Limits;
use crate::location::{ChartLocation, OciLocation, is_loopback, shown};
use crate::net::{ContentKind, Net, download, header, read_body};
use crate::reference::OciReference;
use crate::versions::versions_of_tags;

pub use push::{Artifact, Blob, Descriptor, Pushed};
use session::{Actions, Session};

/// The media type of the layer that is the chart.
pub(crate) const CHART_LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
/// What Helm before 3.8 called it.
const LEGACY_CHART_LAYER: &str = "application/tar+gzip";
/// The media type of the layer that is the provenance file.
const PROVENANCE_LAYER: &str = "application/vnd.cncf.helm.chart.provenance.v1.prov";
/// The media type of a manifest as it is pushed.
const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
/// Media types of manifests that are read; the first is what Helm pushes.
const MANIFEST_TYPES: &str = "application/vnd.oci.image.manifest.v1+json, \
     application/vnd.docker.distribution.manifest.v2+json";
/// Tokens kept in memory.
const KEPT_TOKENS: usize = 256;

const DOCKER_CONTENT_DIGEST: HeaderName = HeaderName::from_static("docker-content-digest");

/// A digest that somebody besides the reference named.
pub(crate) struct Claim {
    pub(crate) claim: DigestClaim,
    pub(crate) digest: Digest,
}

/// Fetches from OCI registries and writes to them.
pub(crate) struct OciRegistry {
    net: Net,
    credentials: Credentials,
    plain_http: bool,
    limits: Arc<Limits>,
    /// `Authorization` values by registry and repository, with the credential they are good for.
    tokens: Mutex<BTreeMap<RepositoryKey, Grant>>,
}

/// A registry and a repository in it.
type RepositoryKey = (String, String);
/// A credential and the `Authorization` value that it earned.
type Grant = (Option<Credential>, String);

/// What of a manifest counts here.
#[derive(Deserialize)]
struct Manifest {
    #[serde(rename = "schemaVersion")]
    schema_version: u32,
    layers: Vec<Layer>,
}

#[derive(Deserialize)]
struct Layer {
    #[serde(rename = "mediaType")]
    media_type: String,
    digest: String,
}

impl Manifest {
    fn chart(&self) -> Option<&Layer> {
        let of_type = |wanted: &str| self.layers.iter().find(|layer| layer.media_type == wanted);
        of_type(CHART_LAYER).or_else(|| of_type(LEGACY_CHART_LAYER))
    }

    fn provenance(&self) -> Option<&Layer> {
        self.layers
            .iter()
            .find(|layer| layer.media_type == PROVENANCE_LAYER)
    }
}

impl OciRegistry {
    pub(crate) fn new(
        net: Net,
        credentials: Credentials,
        plain_http: bool,
        limits: Arc<Limits>,
    ) -> Self {
        Self {
            net,
            credentials,
            plain_http,
            limits,
            tokens: Mutex::default(),
        }
    }

    async fn session(
        &self,
        reference: &OciReference,
        actions: Actions,
    ) -> Result<Session<'_>, Failure> {
        let credential = self
            .credentials
            .find(&reference.registry, &reference.repository)
            .await?;
        Ok(Session {
            registry: self,
            base: self.base(reference)?,
            key: (reference.registry.clone(), reference.repository.clone()),
            credential,
            actions,
        })
    }

    /// A session with the registry itself, for a login.
    pub(crate) fn root_session(
        &self,
        host: &str,
        credential: Credential,
    ) -> Result<Session<'_>, Failure> {
        Ok(Session {
            registry: self,
            base: self.root(host)?,
            key: (host.to_owned(), String::new()),
            credential: Some(credential),
            actions: Actions::Pull,
        })
    }

    /// Fetches the chart that a reference names.
    pub(crate) async fn pull(
        &self,
        reference: &OciReference,
        claim: Option<Claim>,
        request: &FetchRequest,
        cache: &Cache,
    ) -> Result<Fetched, Failure> {
        let session = self.session(reference, Actions::Pull).await?;
        let (manifest_url, manifest) = session.manifest(reference).await?;
        let layer = manifest.chart().ok_or_else(|| Failure::NoChart {
            url: shown(&manifest_url),
            wanted: CHART_LAYER,
        })?;
        let digest = layer_digest(layer, &manifest_url)?;
        let claims = request
            .digest
            .iter()
            .map(|digest| (DigestClaim::Reference, digest))
            .chain(claim.iter().map(|claim| (claim.claim, &claim.digest)));
        for (claim, expected) in claims {
            if *expected != digest {
                // The blob has the digest that the manifest names, or is refused anyway.
                let url = shown(&manifest_url);
                let (expected, actual) = (expected.clone(), digest);
                return Err(Failure::Digest {
                    url,
                    claim,
                    expected,
                    actual,
                });
            }
        }
        if let Some(fetched) = cache.archive(&digest).await {
            return Ok(fetched);
        }
        session
            .blob(digest, request.archive_reader())
            .await
            .map(Fetched::downloaded)
    }

    /// The provenance file beside the chart that a reference names.
    pub(crate) async fn pull_provenance(
        &self,
        reference: &OciReference,
    ) -> Result<Option<Bytes>, Failure> {
        let session = self.session(reference, Actions::Pull).await?;
        let (manifest_url, manifest) = session.manifest(reference).await?;
        let Some(layer) = manifest.provenance() else {
            return Ok(None);
        };
        let digest = layer_digest(layer, &manifest_url)?;
        let reader = DigestReader::new(self.limits.provenance_bytes);
        let content = session.blob(digest, reader).await?;
        Ok(Some(content.into_parts().0))
    }

    /// `https://registry/v2/repository/`.
    fn base(&self, reference: &OciReference) -> Result<Url, Failure> {
        let root = self.root(&reference.registry)?;
        root.join(&format!("{}/", reference.repository))
            .map_err(|error| Failure::Location(error.into()))
    }

    /// `https://registry/v2/`.
    fn root(&self, registry: &str) -> Result<Url, Failure> {
        // The registry that Docker Hub's references mean has another name.
        let host = match registry {
            "docker.io" | "index.docker.io" => "registry-1.docker.io",
            host => host,
        };
        let url = |scheme: &str| {
            Url::parse(&format!("{scheme}://{host}/v2/"))
                .map_err(|error| Failure::Location(error.into()))
        };
        let secure = url("https")?;
        if self.plain_http || is_loopback(&secure) {
            url("http")
        } else {
            Ok(secure)
        }
    }

    fn token(&self, key: &RepositoryKey, credential: Option<&Credential>) -> Option<String> {
        let tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        let (good_for, token) = tokens.get(key)?;
        (good_for.as_ref() == credential).then(|| token.clone())
    }

    fn keep_token(&self, key: RepositoryKey, credential: Option<Credential>, token: String) {
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        if tokens.len() >= KEPT_TOKENS && !tokens.contains_key(&key) {
            tokens.pop_first();
        }
        tokens.insert(key, (credential, token));
    }
}

/// The repositories that may hold a chart of this name, in the order in which they are asked.
fn places(request: &FetchRequest) -> Result<Vec<OciReference>, Failure> {
    let location = oci(&request.location)?;
    let mut places = vec![
        location
            .repository(&request.name)
            .map_err(Failure::Reference)?,
    ];
    if let Some(itself) = location.named(&request.name) {
        places.push(itself);
    }
    Ok(places)
}

/// The same with the spellings that the tag of the version may have, as it was asked for first.
fn tagged(request: &FetchRequest) -> Result<Vec<Vec<OciReference>>, Failure> {
    let spellings = [request.version.clone(), other_spelling(&request.version)];
    let tagged = |place: OciReference| {
        let tagged = |version: &String| place.clone().with_tag(version).map_err(Failure::Reference);
        spellings.iter().map(tagged).collect()
    };
    places(request)?.into_iter().map(tagged).collect()
}

/// Asks place after place, each in all its spellings, until one has an answer. A place that refuses us is left for the
/// next. Reported is the first failure, which is about the text as it was asked for.
async fn first_of<T, F>(
    places: Vec<Vec<OciReference>>,
    ask: impl Fn(OciReference) -> F,
) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let mut first = None;
    for spellings in places {
        for reference in spellings {
            match ask(reference).await {
                Err(failure) if may_be_elsewhere(&failure) => {
                    let refused = matches!(failure, Failure::Refused { .. });
                    first.get_or_insert(failure);
                    if refused {
                        break;
                    }
                }
                outcome => return outcome,
            }
        }
    }
    // There is a place always.
    Err(first.unwrap_or(Failure::Offline))
}

/// Whether a registry's answer may mean that there is no such repository. Some deny what they don't have.
fn may_be_elsewhere(failure: &Failure) -> bool {
    matches!(
        failure,
        Failure::Missing {
            what: Missing::Manifest,
            ..
        } | Failure::Refused { .. }
    )
}

/// The version with or without a leading `v`, the other way than it is written.
fn other_spelling(version: &str) -> String {
    match version.strip_prefix('v') {
        Some(bare) => bare.to_owned(),
        None => format!("v{version}"),
    }
}

fn oci(location: &ChartLocation) -> Result<&OciLocation, Failure> {
    match location {
        ChartLocation::Oci(location) => Ok(location),
        other => Err(Failure::Scheme {
            scheme: other.scheme().to_owned(),
        }),
    }
}

fn layer_digest(layer: &Layer, manifest_url: &Url) -> Result<Digest, Failure> {
    Digest::new(&layer.digest).map_err(|_| Failure::ForeignDigest {
        url: shown(manifest_url),
        text: layer.digest.clone(),
    })
}

#[async_trait]
impl Fetch for OciRegistry {
    async fn fetch(&self, request: &FetchRequest, cache: &Cache) -> Result<Fetched, Failure> {
        first_of(tagged(request)?, |reference| async move {
            self.pull(&reference, None, request, cache).await
        })
        .await
    }

    async fn versions(
        &self,
        request: &FetchRequest,
        _cache: &Cache,
    ) -> Result<Vec<String>, Failure> {
        let places = places(request)?.into_iter().map(|place| vec![place]);
        let tags = first_of(
            places.collect(),
            |place| async move { self.tags(&place).await },
        )
        .await?;
        Ok(versions_of_tags(tags))
    }

    async fn provenance(
        &self,
        request: &FetchRequest,
        _cache: &Cache,
    ) -> Result<Option<Bytes>, Failure> {
        first_of(tagged(request)?, |reference| async move {
            self.pull_provenance(&reference).await
        })
        .await
    }

    /// An exact version is its own answer: no registry is asked for a list.
    async fn resolve(
        &self,
        request: &FetchRequest,
        wanted: &str,
        cache: &Cache,
    ) -> Result<String, Failure> {
        if kubepkg_resolve::Version::parse(wanted).is_ok() {
            return Ok(wanted.to_owned());
        }
        let versions = self.versions(request, cache).await?;
        crate::fetch::select(&versions, wanted, &request.location)
    }
}

impl Session<'_> {
    /// The manifest of the reference's tag, or of its digest when there is no tag.
    async fn manifest(&self, reference: &OciReference) -> Result<(Url, Manifest), Failure> {
        let wanted = if reference.tag.is_empty() {
            &reference.digest
        } else {
            &reference.tag
        };
        let url = self.url(&format!("manifests/{wanted}"))?;
        let response = self.get(&url, ContentKind::Document).await?;
        if response.status() == StatusCode::NOT_FOUND {
            let at = reference.to_string();
            return Err(Failure::Missing {
                what: Missing::Manifest,
                at,
            });
        }
        let response = self.succeeded(response, &url)?;
        let mut reader = DigestReader::new(self.registry.limits.manifest_bytes);
        let named = header(response.headers(), &DOCKER_CONTENT_DIGEST).map(str::to_owned);
        for (claim, text) in [
            (DigestClaim::Header, named.as_deref()),
            (DigestClaim::Reference, Some(reference.digest.as_str())),
        ] {
            // Another algorithm in the header is no reason to refuse: it is a second check only.
            if let Some(Ok(digest)) = text.map(Digest::new) {
                reader = reader.expect(claim, digest);
            }
        }
        let body = read_body(response, reader, &url).await?;
        let broken = |source: Box<dyn std::error::Error + Send + Sync>| Failure::Manifest {
            url: shown(&url),
            source,
        };
        let manifest: Manifest =
            serde_json::from_slice(body.bytes()).map_err(|error| broken(error.into()))?;
        if manifest.schema_version != 2 {
            return Err(broken(
                format!("schema version {}", manifest.schema_version).into(),
            ));
        }
        Ok((url, manifest))
    }

    async fn blob(&self, digest: Digest, reader: DigestReader) -> Result<Verified, Failure> {
        let url = self.url(&format!("blobs/{digest}"))?;
        let first = self.get(&url, ContentKind::Archive).await?;
        if first.status() == StatusCode::NOT_FOUND {
            return Err(Failure::Missing {
                what: Missing::Blob,
                at: shown(&url),
            });
        }
        let first = self.succeeded(first, &url)?;
        let reader = reader.expect(DigestClaim::Manifest, digest);
        download(first, reader, &url, &self.registry.limits, |range| {
            self.get_range(&url, range)
        })
        .await
    }
}
