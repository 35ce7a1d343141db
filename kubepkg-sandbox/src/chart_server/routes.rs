//! Requests to the chart server and what they are answered with.
//!
//! `/charts/…` is the Helm repository, `/v2/…` the registry's part of the
//! [distribution API](https://github.com/opencontainers/distribution-spec/blob/main/spec.md) that
//! Helm uses to pull and push, `/token` the token service. Everything else is 404.

use bytes::Bytes;
use http::header::{
    ACCEPT_RANGES, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LOCATION, RANGE,
};
use http::{HeaderMap, HeaderName, Method, StatusCode};

use super::State;
use super::answer::Answer;
use super::auth::Auth;
use super::store::Store;

/// The header that names the digest of a manifest or blob.
const DOCKER_CONTENT_DIGEST: HeaderName = HeaderName::from_static("docker-content-digest");

/// A request whose body was read.
pub(super) struct Incoming<'a> {
    pub(super) method: &'a Method,
    pub(super) path: &'a str,
    pub(super) query: &'a str,
    pub(super) headers: &'a HeaderMap,
    /// `host:port` that the request was sent to.
    pub(super) host: &'a str,
    pub(super) body: Bytes,
}

/// The usual answer to a request.
pub(super) fn answer(state: &State, auth: &Auth, request: Incoming<'_>) -> Answer {
    if request.path == "/token" {
        return token(auth, &request);
    }
    if let Some(file) = request.path.strip_prefix("/charts/") {
        if let Some(challenge) = auth.challenge_repository(request.headers) {
            return Answer::unauthorized(challenge);
        }
        let range = state.ranges.then(|| range_start(request.headers)).flatten();
        let answer = repository(&state.store(), file, &request);
        return ranged(answer, state.ranges, range);
    }
    let Some(path) = request.path.strip_prefix("/v2/") else {
        return Answer::new(StatusCode::NOT_FOUND);
    };
    let scope = scope(path, request.method);
    if let Some(challenge) =
        auth.challenge_registry(request.headers, request.host, scope.as_deref())
    {
        return Answer::unauthorized(challenge);
    }
    let range = state.ranges.then(|| range_start(request.headers)).flatten();
    let answer = registry(&mut state.store(), path, request);
    ranged(answer, state.ranges, range)
}

/// What a token must be good for to let a request pass.
fn scope(path: &str, method: &Method) -> Option<String> {
    let repository = ["/manifests/", "/blobs/", "/tags/list"]
        .iter()
        .find_map(|part| path.split_once(part))
        .map(|(repository, _)| repository)?;
    let actions = match *method {
        Method::GET | Method::HEAD => "pull",
        _ => "pull,push",
    };
    Some(format!("repository:{repository}:{actions}"))
}

/// Where `Range: bytes=N-` begins.
fn range_start(headers: &HeaderMap) -> Option<usize> {
    let range = headers.get(RANGE)?.to_str().ok()?;
    range
        .strip_prefix("bytes=")?
        .strip_suffix('-')?
        .parse()
        .ok()
}

/// Announces ranges, and answers with the end of the body when that was asked for.
fn ranged(answer: Answer, announced: bool, start: Option<usize>) -> Answer {
    if !announced || answer.status != StatusCode::OK {
        return answer;
    }
    let mut answer = answer.header(ACCEPT_RANGES, "bytes");
    let whole = answer.body.len();
    if let Some(start) = start.filter(|start| *start < whole) {
        answer.status = StatusCode::PARTIAL_CONTENT;
        answer.body = answer.body.slice(start..);
        answer = answer.header(
            CONTENT_RANGE,
            format!("bytes {start}-{}/{whole}", whole - 1),
        );
    }
    answer
}

fn token(auth: &Auth, request: &Incoming<'_>) -> Answer {
    let form = String::from_utf8_lossy(&request.body);
    let (fields, granted) = match (request.method, auth) {
        // The OAuth2 form of the token flow; the password doubles as the identity token.
        (&Method::POST, Auth::Token { password, .. }) => {
            let sent = query_field(&form, "refresh_token");
            (form.as_ref(), sent.as_ref() == Some(password))
        }
        _ => (request.query, auth.knows(request.headers)),
    };
    if !granted {
        return Answer::unauthorized("Basic realm=\"chart-server\"".into());
    }
    let token = super::auth::token_for(&query_field(fields, "scope").unwrap_or_default());
    let body = serde_json::json!({ "token": token, "access_token": token });
    Answer::content("application/json", Bytes::from(body.to_string()))
}

fn repository(store: &Store, file: &str, request: &Incoming<'_>) -> Answer {
    if file == "index.yaml" {
        let (index, tag) = store.index(&format!("http://{}/charts", request.host));
        let known = request
            .headers
            .get(IF_NONE_MATCH)
            .and_then(|value| value.to_str().ok());
        if known == Some(&tag) {
            return Answer::new(StatusCode::NOT_MODIFIED).header(ETAG, tag);
        }
        return Answer::content("text/yaml", index).header(ETAG, tag);
    }
    match store.chart_by_file(file) {
        Some(chart) => Answer::content("application/gzip", chart.archive.clone()),
        None => Answer::new(StatusCode::NOT_FOUND),
    }
}

fn registry(store: &mut Store, path: &str, request: Incoming<'_>) -> Answer {
    if path.is_empty() {
        return Answer::content("application/json", Bytes::from_static(b"{}"));
    }
    if let Some((repository, reference)) = path.rsplit_once("/manifests/") {
        return manifests(store, repository, reference, request);
    }
    if let Some((repository, id)) = path.rsplit_once("/blobs/uploads/") {
        return uploads(store, repository, id, &request);
    }
    if let Some((_, digest)) = path.rsplit_once("/blobs/") {
        return match store.blob(digest) {
            Some(blob) => Answer::content("application/octet-stream", blob.clone())
                .header(DOCKER_CONTENT_DIGEST, digest),
            None => Answer::oci_error(StatusCode::NOT_FOUND, "BLOB_UNKNOWN"),
        };
    }
    if let Some(repository) = path.strip_suffix("/tags/list") {
        return match store.tags(repository) {
            Some(tags) => {
                let body = serde_json::json!({ "name": repository, "tags": tags });
                Answer::content("application/json", Bytes::from(body.to_string()))
            }
            None => Answer::oci_error(StatusCode::NOT_FOUND, "NAME_UNKNOWN"),
        };
    }
    Answer::oci_error(StatusCode::NOT_FOUND, "NOT_FOUND")
}

fn manifests(
    store: &mut Store,
    repository: &str,
    reference: &str,
    request: Incoming<'_>,
) -> Answer {
    if request.method == Method::PUT {
        let media_type = request
            .headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or(super::store::MANIFEST_TYPE);
        let digest = store.put_manifest(repository, reference, media_type, request.body);
        return Answer::new(StatusCode::CREATED)
            .header(LOCATION, format!("/v2/{repository}/manifests/{digest}"))
            .header(DOCKER_CONTENT_DIGEST, digest);
    }
    match store.manifest(repository, reference) {
        Some(manifest) => Answer::content(&manifest.media_type, manifest.body.clone())
            .header(DOCKER_CONTENT_DIGEST, manifest.digest.clone()),
        None => Answer::oci_error(StatusCode::NOT_FOUND, "MANIFEST_UNKNOWN"),
    }
}

fn uploads(store: &mut Store, repository: &str, id: &str, request: &Incoming<'_>) -> Answer {
    let digest = query_field(request.query, "digest");
    if request.method == Method::POST {
        let mounted =
            query_field(request.query, "mount").filter(|digest| store.blob(digest).is_some());
        if let Some(digest) = mounted {
            return Answer::new(StatusCode::CREATED)
                .header(LOCATION, format!("/v2/{repository}/blobs/{digest}"));
        }
        let id = store.begin_upload();
        if let Some(digest) = digest {
            store.append_upload(id, &request.body);
            return finished(store, repository, id, &digest);
        }
        return accepted(repository, id, 0);
    }
    let Ok(id) = id.parse::<u64>() else {
        return Answer::oci_error(StatusCode::NOT_FOUND, "BLOB_UPLOAD_UNKNOWN");
    };
    if request.method == Method::GET {
        return match store.append_upload(id, &[]) {
            Some(length) => Answer {
                status: StatusCode::NO_CONTENT,
                ..accepted(repository, id, length)
            },
            None => Answer::oci_error(StatusCode::NOT_FOUND, "BLOB_UPLOAD_UNKNOWN"),
        };
    }
    let Some(length) = store.append_upload(id, &request.body) else {
        return Answer::oci_error(StatusCode::NOT_FOUND, "BLOB_UPLOAD_UNKNOWN");
    };
    match digest {
        Some(digest) if request.method == Method::PUT => finished(store, repository, id, &digest),
        _ => accepted(repository, id, length),
    }
}

fn accepted(repository: &str, id: u64, length: usize) -> Answer {
    Answer::new(StatusCode::ACCEPTED)
        .header(LOCATION, format!("/v2/{repository}/blobs/uploads/{id}"))
        .header(RANGE, format!("0-{}", length.saturating_sub(1)))
}

fn finished(store: &mut Store, repository: &str, id: u64, digest: &str) -> Answer {
    if store.finish_upload(id, digest) {
        Answer::new(StatusCode::CREATED)
            .header(LOCATION, format!("/v2/{repository}/blobs/{digest}"))
            .header(DOCKER_CONTENT_DIGEST, digest)
    } else {
        Answer::oci_error(StatusCode::BAD_REQUEST, "DIGEST_INVALID")
    }
}

/// A field of a query or a form; the only escapes here are those of `:`, `,` and `/`.
fn query_field(query: &str, field: &str) -> Option<String> {
    query.split('&').find_map(|pair| {
        let value = pair.strip_prefix(field)?.strip_prefix('=')?;
        let value = value.replace("%3A", ":").replace("%3a", ":");
        Some(value.replace("%2C", ",").replace("%2F", "/"))
    })
}
