//! Charts in OCI registries: the read side of the
//! [distribution specification](https://github.com/opencontainers/distribution-spec/blob/main/spec.md).
//!
//! An exact version is one manifest and one blob; tags are never listed. `+` in a version is `_` in
//! its tag; a tag that is not there is asked for once more with or without a leading `v`. The chart
//! is the first layer of Helm's media type. Plain HTTP is for loopback, and elsewhere only when it
//! was asked for. Credentials are sent when the registry challenges: a password to the registry
//! itself (basic), or to the token service that it names, which must use HTTPS when the registry
//! does. Tokens are kept per registry, repository and credential. Refuses manifests over the limit,
//! image indexes, foreign digests and challenges of other kinds.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderName, StatusCode};
use kubepkg_api::Digest;
use reqwest::{RequestBuilder, Response};
use serde::Deserialize;
use url::Url;

use crate::challenge::Challenge;
use crate::credentials::Credential;
use crate::digest_reader::{DigestClaim, DigestReader};
use crate::failure::{Failure, Missing};
use crate::fetch::{Cache, Credentials, Fetch, FetchRequest, Fetched};
use crate::location::{ChartLocation, is_loopback, shown};
use crate::net::{ContentKind, Net, header, read_body, send, status_failure};
use crate::reference::OciReference;

/// The media type of the layer that is the chart.
pub(crate) const CHART_LAYER: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";
/// Media types of manifests; the first is what Helm pushes.
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

/// Fetches from OCI registries.
pub(crate) struct OciRegistry {
    net: Net,
    credentials: Credentials,
    plain_http: bool,
    /// `Authorization` values by registry and repository, with the credential they are good for.
    tokens: Mutex<BTreeMap<RepositoryKey, Grant>>,
}

/// A registry and a repository in it.
type RepositoryKey = (String, String);
/// A credential and the `Authorization` value that it earned.
type Grant = (Option<Credential>, String);

/// A repository that is being read.
struct Repository<'a> {
    registry: &'a OciRegistry,
    base: Url,
    key: RepositoryKey,
    credential: Option<Credential>,
}

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

/// The answer of a token service, by either name.
#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl OciRegistry {
    pub(crate) fn new(net: Net, credentials: Credentials, plain_http: bool) -> Self {
        Self {
            net,
            credentials,
            plain_http,
            tokens: Mutex::default(),
        }
    }

    /// Fetches the chart that a reference names.
    pub(crate) async fn pull(
        &self,
        reference: &OciReference,
        claim: Option<Claim>,
        request: &FetchRequest,
        cache: &Cache,
    ) -> Result<Fetched, Failure> {
        let credential = self
            .credentials
            .find(&reference.registry, &reference.repository)
            .await?;
        let repository = Repository {
            registry: self,
            base: self.base(reference)?,
            key: (reference.registry.clone(), reference.repository.clone()),
            credential,
        };
        let (manifest_url, manifest) = repository.tagged(reference, request).await?;
        let layer = manifest
            .layers
            .iter()
            .find(|layer| layer.media_type == CHART_LAYER)
            .ok_or_else(|| Failure::NoChart {
                url: shown(&manifest_url),
                wanted: CHART_LAYER,
            })?;
        let digest = Digest::new(&layer.digest).map_err(|_| Failure::ForeignDigest {
            url: shown(&manifest_url),
            text: layer.digest.clone(),
        })?;
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
        repository
            .blob(digest, request)
            .await
            .map(Fetched::downloaded)
    }

    /// `https://registry/v2/repository/`.
    fn base(&self, reference: &OciReference) -> Result<Url, Failure> {
        // The registry that Docker Hub's references mean has another name.
        let host = match reference.registry.as_str() {
            "docker.io" | "index.docker.io" => "registry-1.docker.io",
            host => host,
        };
        let url = |scheme: &str| {
            Url::parse(&format!("{scheme}://{host}/v2/{}/", reference.repository))
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

#[async_trait]
impl Fetch for OciRegistry {
    async fn fetch(&self, request: &FetchRequest, cache: &Cache) -> Result<Fetched, Failure> {
        let ChartLocation::Oci(location) = &request.location else {
            let scheme = request.location.scheme().to_owned();
            return Err(Failure::Scheme { scheme });
        };
        let reference = |version: &str| {
            location
                .reference(&request.name, version)
                .map_err(Failure::Reference)
        };
        let first = self
            .pull(&reference(&request.version)?, None, request, cache)
            .await;
        let Err(Failure::Missing {
            what: Missing::Manifest,
            ..
        }) = &first
        else {
            return first;
        };
        let other = match request.version.strip_prefix('v') {
            Some(bare) => bare.to_owned(),
            None => format!("v{}", request.version),
        };
        match self.pull(&reference(&other)?, None, request, cache).await {
            // The text as it was asked for is the one to report.
            Err(Failure::Missing {
                what: Missing::Manifest,
                ..
            }) => first,
            second => second,
        }
    }
}

impl Repository<'_> {
    /// The manifest of the reference's tag, or of its digest when there is no tag.
    async fn tagged(
        &self,
        reference: &OciReference,
        request: &FetchRequest,
    ) -> Result<(Url, Manifest), Failure> {
        let wanted = if reference.tag.is_empty() {
            &reference.digest
        } else {
            &reference.tag
        };
        let url = self.url(&format!("manifests/{wanted}"))?;
        let response = self.get(&url, ContentKind::Document, request).await?;
        if response.status() == StatusCode::NOT_FOUND {
            let at = reference.to_string();
            return Err(Failure::Missing {
                what: Missing::Manifest,
                at,
            });
        }
        let response = self.succeeded(response, &url)?;
        let mut reader = DigestReader::new(request.limits.manifest_bytes);
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

    async fn blob(
        &self,
        digest: Digest,
        request: &FetchRequest,
    ) -> Result<crate::Verified, Failure> {
        let url = self.url(&format!("blobs/{digest}"))?;
        let response = self.get(&url, ContentKind::Archive, request).await?;
        if response.status() == StatusCode::NOT_FOUND {
            return Err(Failure::Missing {
                what: Missing::Blob,
                at: shown(&url),
            });
        }
        let response = self.succeeded(response, &url)?;
        let reader = request
            .archive_reader()
            .expect(DigestClaim::Manifest, digest);
        read_body(response, reader, &url).await
    }

    fn url(&self, path: &str) -> Result<Url, Failure> {
        self.base
            .join(path)
            .map_err(|error| Failure::Location(error.into()))
    }

    fn succeeded(&self, response: Response, url: &Url) -> Result<Response, Failure> {
        if response.status().is_success() {
            Ok(response)
        } else {
            Err(status_failure(&response, url, self.credential.is_some()))
        }
    }

    /// Sends a request; answers one challenge.
    async fn get(
        &self,
        url: &Url,
        kind: ContentKind,
        request: &FetchRequest,
    ) -> Result<Response, Failure> {
        let call = |authorization: Option<&str>| {
            let call = self
                .registry
                .net
                .get(url, kind)
                .header(ACCEPT, MANIFEST_TYPES);
            with_authorization(call, authorization)
        };
        let kept = self.registry.token(&self.key, self.credential.as_ref());
        let response = send(call(kept.as_deref()), url).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        // The first challenge that can be answered counts.
        let challenge = response
            .headers()
            .get_all(WWW_AUTHENTICATE)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .find_map(Challenge::parse);
        let authorization = match (challenge, &self.credential) {
            (Some(Challenge::Basic), Some(Credential::Basic { user, password })) => {
                basic(user, password)
            }
            (
                Some(Challenge::Bearer {
                    realm,
                    service,
                    scope,
                }),
                _,
            ) => {
                self.exchange(url, &realm, service.as_deref(), scope.as_deref(), request)
                    .await?
            }
            (Some(Challenge::Basic), _) | (None, None) => return Ok(response),
            (None, Some(_)) => {
                let reason = "neither basic nor bearer";
                return Err(Failure::Challenge {
                    url: shown(url),
                    reason,
                });
            }
        };
        let answered = send(call(Some(&authorization)), url).await?;
        if answered.status() != StatusCode::UNAUTHORIZED {
            self.registry
                .keep_token(self.key.clone(), self.credential.clone(), authorization);
        }
        Ok(answered)
    }

    /// Gets a token from the service that the challenge names.
    async fn exchange(
        &self,
        url: &Url,
        realm: &str,
        service: Option<&str>,
        scope: Option<&str>,
        request: &FetchRequest,
    ) -> Result<String, Failure> {
        let unusable = |reason| Failure::Challenge {
            url: shown(url),
            reason,
        };
        let mut token_url = Url::parse(realm).map_err(|_| unusable("the realm is not a URL"))?;
        if token_url.scheme() != "https" && url.scheme() == "https" {
            return Err(unusable("the token service does not use https"));
        }
        let pull = format!("repository:{}:pull", self.key.1);
        let scope = scope.unwrap_or(&pull);
        let call = if let Some(Credential::IdentityToken(token)) = &self.credential {
            let mut form = url::form_urlencoded::Serializer::new(String::new());
            form.append_pair("grant_type", "refresh_token");
            form.append_pair("refresh_token", token);
            form.append_pair("client_id", "kubepkg");
            form.append_pair("scope", scope);
            form.append_pair("service", service.unwrap_or_default());
            let call = self.registry.net.post(&token_url);
            call.header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                .body(form.finish())
        } else {
            token_url.query_pairs_mut().append_pair("scope", scope);
            if let Some(service) = service {
                token_url.query_pairs_mut().append_pair("service", service);
            }
            let call = self.registry.net.get(&token_url, ContentKind::Document);
            match &self.credential {
                Some(Credential::Basic { user, password }) => call.basic_auth(user, Some(password)),
                _ => call,
            }
        };
        let response = self.succeeded(send(call, &token_url).await?, &token_url)?;
        let reader = DigestReader::new(request.limits.token_bytes);
        let body = read_body(response, reader, &token_url).await?;
        let token: Token = serde_json::from_slice(body.bytes())
            .map_err(|_| unusable("the token service's answer is not JSON"))?;
        let token = token
            .token
            .or(token.access_token)
            .filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| unusable("the token service gave no token"))?;
        Ok(format!("Bearer {token}"))
    }
}

fn with_authorization(call: RequestBuilder, authorization: Option<&str>) -> RequestBuilder {
    match authorization {
        Some(value) => call.header(AUTHORIZATION, value),
        None => call,
    }
}

fn basic(user: &str, password: &str) -> String {
    use base64::Engine as _;
    let text = format!("{user}:{password}");
    format!(
        "Basic {}",
        base64::engine::general_purpose::STANDARD.encode(text)
    )
}
