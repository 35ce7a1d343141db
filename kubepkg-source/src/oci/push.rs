//! Writing an artifact to a registry: blobs that it lacks, then the manifest.
//!
//! A blob that is there is not sent again; one that stands in another repository of the registry is mounted when the
//! caller names that repository. Small blobs go in one request, large ones in chunks, and a chunk that broke off goes
//! on where the registry says it stopped. The manifest comes last, so that a reader never meets a tag whose blobs are
//! missing. Nothing is deleted; pushing the same again changes nothing.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::header::{CONTENT_RANGE, LOCATION, RANGE};
use http::{Method, StatusCode};
use kubepkg_api::Digest;
use reqwest::Response;
use serde::Serialize;
use tokio::time::Instant;
use url::Url;

use super::session::{Actions, Session};
use super::{DOCKER_CONTENT_DIGEST, MANIFEST_TYPE, OciRegistry};
use crate::digest_reader::DigestClaim;
use crate::failure::Failure;
use crate::location::shown;
use crate::net::header;
use crate::reference::OciReference;
use crate::retry::attempts;

const BLOB_TYPE: &str = "application/octet-stream";

/// Bytes with a media type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// What the bytes are.
    pub media_type: String,
    /// The bytes.
    pub content: Bytes,
}

/// What is pushed: a config, layers, and annotations of the manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// The config.
    pub config: Blob,
    /// The layers, in the order of the manifest.
    pub layers: Vec<Blob>,
    /// Annotations of the manifest.
    pub annotations: BTreeMap<String, String>,
    /// Repositories of the same registry that may have the blobs already.
    pub mount_from: Vec<String>,
}

/// How a manifest names a blob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Descriptor {
    /// What the bytes are.
    #[serde(rename = "mediaType")]
    pub media_type: String,
    /// Their digest.
    pub digest: Digest,
    /// How many there are.
    pub size: u64,
}

/// What was pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pushed {
    /// The reference, with its tag.
    pub reference: OciReference,
    /// The manifest.
    pub manifest: Descriptor,
    /// The config.
    pub config: Descriptor,
    /// The layers.
    pub layers: Vec<Descriptor>,
    /// How many blobs were sent; the registry had the others.
    pub uploaded: usize,
}

impl Blob {
    /// How a manifest names it.
    pub fn descriptor(&self) -> Descriptor {
        Descriptor {
            media_type: self.media_type.clone(),
            digest: Digest::of(&self.content),
            size: self.content.len() as u64,
        }
    }
}

/// The manifest with the order of fields that Go's types have.
#[derive(Serialize)]
struct ManifestText<'a> {
    #[serde(rename = "schemaVersion")]
    schema_version: u32,
    config: Descriptor,
    layers: Vec<Descriptor>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    annotations: &'a BTreeMap<String, String>,
}

impl Artifact {
    /// The manifest, byte for byte as Go's encoder writes it.
    ///
    /// # Errors
    ///
    /// Never for texts; the encoder has an error for other things.
    pub fn manifest(&self) -> Result<Vec<u8>, serde_json::Error> {
        let manifest = ManifestText {
            schema_version: 2,
            config: self.config.descriptor(),
            layers: self.layers.iter().map(Blob::descriptor).collect(),
            annotations: &self.annotations,
        };
        let mut text = Vec::new();
        let mut encoder =
            serde_json::Serializer::with_formatter(&mut text, kubepkg_yaml::GoJsonFormatter);
        manifest.serialize(&mut encoder)?;
        Ok(text)
    }
}

/// Where an upload goes on.
enum Begun {
    /// The registry has the blob now.
    Done,
    /// It waits for bytes here.
    At(Url),
}

impl OciRegistry {
    /// Pushes an artifact under the tag of a reference.
    pub(crate) async fn push(
        &self,
        reference: &OciReference,
        artifact: &Artifact,
    ) -> Result<Pushed, Failure> {
        let deadline = Instant::now() + self.limits.total_time;
        let session = self.session(reference, Actions::PullPush).await?;
        let mut uploaded = 0;
        for blob in artifact.layers.iter().chain([&artifact.config]) {
            let sent = attempts(&self.limits, deadline, &reference.repository, || {
                session.upload(blob, &artifact.mount_from)
            })
            .await?;
            uploaded += usize::from(sent);
        }
        let text = artifact.manifest().map_err(|error| Failure::Manifest {
            url: reference.to_string(),
            source: error.into(),
        })?;
        let manifest = Blob {
            media_type: MANIFEST_TYPE.to_owned(),
            content: text.into(),
        };
        attempts(&self.limits, deadline, &reference.repository, || {
            session.put_manifest(reference, &manifest)
        })
        .await?;
        Ok(Pushed {
            reference: reference.clone(),
            manifest: manifest.descriptor(),
            config: artifact.config.descriptor(),
            layers: artifact.layers.iter().map(Blob::descriptor).collect(),
            uploaded,
        })
    }
}

impl Session<'_> {
    /// Brings a blob to the registry; whether it had to be sent.
    async fn upload(&self, blob: &Blob, mount_from: &[String]) -> Result<bool, Failure> {
        let digest = Digest::of(&blob.content);
        let url = self.url(&format!("blobs/{digest}"))?;
        let there = self
            .send(&url, |net| net.request(Method::HEAD, &url))
            .await?;
        match there.status() {
            StatusCode::NOT_FOUND => {}
            _ => return self.succeeded(there, &url).map(|_| false),
        }
        for from in mount_from.iter().filter(|from| **from != self.key.1) {
            if let Begun::Done = self
                .begin(&[("mount", digest.as_str()), ("from", from)])
                .await?
            {
                return Ok(false);
            }
        }
        let Begun::At(place) = self.begin(&[]).await? else {
            return Ok(true);
        };
        let chunk = usize::try_from(self.registry.limits.upload_chunk_bytes).unwrap_or(usize::MAX);
        if blob.content.len() <= chunk.max(1) {
            self.complete(place, &digest, &blob.content).await?;
        } else {
            let place = self.send_chunks(place, &blob.content, chunk.max(1)).await?;
            self.complete(place, &digest, &Bytes::new()).await?;
        }
        Ok(true)
    }

    /// Begins an upload, or mounts a blob.
    async fn begin(&self, query: &[(&str, &str)]) -> Result<Begun, Failure> {
        let mut url = self.url("blobs/uploads/")?;
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let response = self
            .send_body(Method::POST, &url, BLOB_TYPE, &[], &Bytes::new())
            .await?;
        match response.status() {
            StatusCode::CREATED => Ok(Begun::Done),
            StatusCode::ACCEPTED => location(&response, &url).map(Begun::At),
            _ => Err(self.unexpected(response, &url)),
        }
    }

    /// Sends the bytes that the registry does not have yet; gives the place where the upload ends.
    async fn send_chunks(
        &self,
        mut place: Url,
        content: &Bytes,
        chunk: usize,
    ) -> Result<Url, Failure> {
        let mut sent = 0;
        let mut broken = 0;
        while sent < content.len() {
            let end = content.len().min(sent.saturating_add(chunk));
            let range = [(CONTENT_RANGE, format!("{sent}-{}", end - 1))];
            let body = content.slice(sent..end);
            let outcome = self
                .send_body(Method::PATCH, &place, BLOB_TYPE, &range, &body)
                .await;
            let failure = match outcome {
                Ok(response) if response.status() == StatusCode::ACCEPTED => {
                    place = location(&response, &place)?;
                    sent = end;
                    continue;
                }
                Ok(response) if response.status() == StatusCode::RANGE_NOT_SATISFIABLE => {
                    self.unexpected(response, &place)
                }
                Ok(response) => {
                    let failure = self.unexpected(response, &place);
                    if !failure.is_transient() {
                        return Err(failure);
                    }
                    failure
                }
                Err(failure) if failure.is_transient() => failure,
                Err(failure) => return Err(failure),
            };
            broken += 1;
            if broken >= self.registry.limits.retry.attempts {
                return Err(failure);
            }
            tracing::debug!(%failure, sent, "asking where the upload stopped");
            tokio::time::sleep(self.registry.limits.retry.first_wait).await;
            (place, sent) = self.stopped_at(place, failure).await?;
            if sent > content.len() {
                return Err(Failure::Upload {
                    url: shown(&place),
                    reason: "the registry has more bytes than were sent",
                });
            }
        }
        Ok(place)
    }

    /// How far an upload came that broke off. The failure stands when the registry does not know it any more.
    async fn stopped_at(&self, place: Url, failure: Failure) -> Result<(Url, usize), Failure> {
        let response = self
            .send(&place, |net| net.request(Method::GET, &place))
            .await?;
        if response.status() == StatusCode::NOT_FOUND {
            return Err(failure);
        }
        let response = self.succeeded(response, &place)?;
        let next = if response.headers().contains_key(LOCATION) {
            location(&response, &place)?
        } else {
            place
        };
        // `0-0` is what both an empty upload and one of a single byte say; the byte is sent again then.
        let last = header(response.headers(), &RANGE)
            .and_then(|range| range.trim_start_matches("bytes=").split_once('-'))
            .and_then(|(_, last)| last.parse::<usize>().ok())
            .unwrap_or(0);
        Ok((next, if last == 0 { 0 } else { last + 1 }))
    }

    /// Ends an upload with its last bytes.
    async fn complete(&self, mut place: Url, digest: &Digest, rest: &Bytes) -> Result<(), Failure> {
        place
            .query_pairs_mut()
            .append_pair("digest", digest.as_str());
        let response = self
            .send_body(Method::PUT, &place, BLOB_TYPE, &[], rest)
            .await?;
        match response.status() {
            StatusCode::CREATED => Ok(()),
            _ => Err(self.unexpected(response, &place)),
        }
    }

    async fn put_manifest(&self, reference: &OciReference, manifest: &Blob) -> Result<(), Failure> {
        let url = self.url(&format!("manifests/{}", reference.tag))?;
        let response = self
            .send_body(
                Method::PUT,
                &url,
                &manifest.media_type,
                &[],
                &manifest.content,
            )
            .await?;
        let response = self.succeeded(response, &url)?;
        let expected = Digest::of(&manifest.content);
        match header(response.headers(), &DOCKER_CONTENT_DIGEST).map(Digest::new) {
            Some(Ok(actual)) if actual != expected => Err(Failure::Digest {
                url: shown(&url),
                claim: DigestClaim::Header,
                expected: actual,
                actual: expected,
            }),
            _ => Ok(()),
        }
    }

    /// The failure of an answer that is none of those the specification has for it.
    fn unexpected(&self, response: Response, url: &Url) -> Failure {
        match self.succeeded(response, url) {
            Err(failure) => failure,
            Ok(_) => Failure::Upload {
                url: shown(url),
                reason: "the answer is not one of the distribution specification",
            },
        }
    }
}

/// Where an answer leads, relative to the request.
fn location(response: &Response, url: &Url) -> Result<Url, Failure> {
    let unusable = |reason| Failure::Upload {
        url: shown(url),
        reason,
    };
    let text = header(response.headers(), &LOCATION)
        .ok_or_else(|| unusable("the answer does not say where to go on"))?;
    let next = url
        .join(text)
        .map_err(|_| unusable("the place to go on is not a URL"))?;
    if url.scheme() == "https" && next.scheme() != "https" {
        return Err(unusable("the place to go on does not use https"));
    }
    Ok(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_written_as_go_writes_it() {
        let blob = |media_type: &str, content: &'static str| Blob {
            media_type: media_type.into(),
            content: Bytes::from_static(content.as_bytes()),
        };
        let artifact = Artifact {
            config: blob("c", "{}"),
            layers: vec![blob("l", "")],
            annotations: BTreeMap::from([("b".into(), "<&>".into()), ("a".into(), "1".into())]),
            mount_from: Vec::new(),
        };
        // SHA-256 of "{}" and of the empty text; Go escapes < > & and sorts maps.
        let expected = concat!(
            r#"{"schemaVersion":2,"config":{"mediaType":"c","#,
            r#""digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2},"#,
            r#""layers":[{"mediaType":"l","#,
            r#""digest":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","size":0}],"#,
            r#""annotations":{"a":"1","b":"\u003c\u0026\u003e"}}"#,
        );
        assert_eq!(
            String::from_utf8(artifact.manifest().unwrap()).unwrap(),
            expected
        );
    }
}
