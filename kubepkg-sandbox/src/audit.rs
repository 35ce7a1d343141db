//! The audit log: every request that the API server answered, by user.
//!
//! The log is written before a response is (blocking mode), so after an awaited request its line
//! is there. A test takes a [`mark`](AuditLog::mark), acts, and looks at what came
//! [`since`](AuditLog::since). A watch is counted once, at its start. The server's own loopback
//! requests are not recorded.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::{Result, SandboxError};

/// The audit log of a plane.
#[derive(Clone, Debug)]
pub struct AuditLog {
    path: PathBuf,
}

/// A place in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(u64);

impl AuditLog {
    /// The log in this file. Other processes may read the log of a plane that they joined.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The end of the log as it is now.
    ///
    /// # Errors
    ///
    /// [`SandboxError::File`] when the log cannot be read.
    pub fn mark(&self) -> Result<Mark> {
        let data = std::fs::metadata(&self.path).map_err(SandboxError::file("read", &self.path))?;
        Ok(Mark(data.len()))
    }

    /// The requests answered after `mark`, oldest first.
    ///
    /// # Errors
    ///
    /// [`SandboxError::File`] when the log cannot be read, [`SandboxError::Description`] when a
    /// line is not an audit event.
    pub fn since(&self, mark: Mark) -> Result<Requests> {
        let read = || -> std::io::Result<Vec<u8>> {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::Start(mark.0))?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let bytes = read().map_err(SandboxError::file("read", &self.path))?;
        parse(&bytes).map_err(|error| SandboxError::Description {
            path: self.path.clone(),
            reason: error.to_string(),
        })
    }
}

/// One request and how it was answered.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// User name.
    pub user: String,
    /// Kubernetes verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`,
    /// `deletecollection`; for other paths the HTTP method in lower case.
    pub verb: String,
    /// Path and query.
    pub uri: String,
    /// API group, empty for the core group and for other paths.
    pub group: String,
    /// Plural resource, empty for other paths.
    pub resource: String,
    /// Subresource, empty for the object itself.
    pub subresource: String,
    /// Namespace, empty for cluster-wide requests.
    pub namespace: String,
    /// Object name, empty for lists, and for creations that the server refused.
    pub name: String,
    /// HTTP status of the answer, 0 when unknown.
    pub status: u16,
    /// `User-Agent` header.
    pub user_agent: String,
    /// Request body, when the plane was started with
    /// [`Options::audit_bodies`](crate::Options::audit_bodies).
    pub body: Option<Value>,
}

impl Request {
    /// Whether it can have changed something: it is no read, no dry run, and no review of rights
    /// or tokens.
    pub fn is_write(&self) -> bool {
        let writes = matches!(
            self.verb.as_str(),
            "create" | "update" | "patch" | "delete" | "deletecollection"
        );
        let review = matches!(
            self.group.as_str(),
            "authorization.k8s.io" | "authentication.k8s.io"
        );
        writes && !review && !self.is_dry_run()
    }

    /// Whether it asked for a dry run.
    pub fn is_dry_run(&self) -> bool {
        self.uri.split_once('?').is_some_and(|(_, query)| {
            query
                .split('&')
                .any(|pair| pair.starts_with("dryRun=") && pair != "dryRun=")
        })
    }

    /// Whether the server did what was asked.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} {} -> {}",
            self.user, self.verb, self.uri, self.status
        )
    }
}

/// Requests in the order in which they were answered. The filters can be chained.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requests(Vec<Request>);

impl Requests {
    /// Those that `keep` takes.
    #[must_use]
    pub fn filter(mut self, keep: impl Fn(&Request) -> bool) -> Self {
        self.0.retain(|request| keep(request));
        self
    }

    /// Those of one user.
    #[must_use]
    pub fn by_user(self, user: &str) -> Self {
        self.filter(|request| request.user == user)
    }

    /// Those that can have changed something, see [`Request::is_write`].
    #[must_use]
    pub fn writes(self) -> Self {
        self.filter(Request::is_write)
    }

    /// Those with one verb.
    #[must_use]
    pub fn verb(self, verb: &str) -> Self {
        self.filter(|request| request.verb == verb)
    }

    /// Those for one plural resource, subresources included.
    #[must_use]
    pub fn resource(self, resource: &str) -> Self {
        self.filter(|request| request.resource == resource)
    }

    /// Those in one namespace.
    #[must_use]
    pub fn in_namespace(self, namespace: &str) -> Self {
        self.filter(|request| request.namespace == namespace)
    }

    /// Those for one object name.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        self.filter(|request| request.name == name)
    }

    /// Those that the server refused or failed.
    #[must_use]
    pub fn failed(self) -> Self {
        self.filter(|request| !request.is_success())
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many of each verb and resource, as `verb resource` or `verb resource/subresource`.
    pub fn tally(&self) -> BTreeMap<String, usize> {
        let mut tally = BTreeMap::new();
        for request in &self.0 {
            let mut key = format!("{} {}", request.verb, request.resource);
            if !request.subresource.is_empty() {
                key.push('/');
                key.push_str(&request.subresource);
            }
            *tally.entry(key).or_insert(0) += 1;
        }
        tally
    }

    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Request> {
        self.0.iter()
    }
}

impl IntoIterator for Requests {
    type Item = Request;
    type IntoIter = std::vec::IntoIter<Request>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Requests {
    type Item = &'a Request;
    type IntoIter = std::slice::Iter<'a, Request>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// One line each, for the message of an assertion.
impl fmt::Display for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|request| writeln!(f, "{request}"))
    }
}

/// `audit.k8s.io/v1` Event, as far as it is used.
/// Writes the log of an embedded server in the form of kube-apiserver's, level `Metadata`.
#[derive(Debug)]
pub(crate) struct AuditWriter(Mutex<File>);

impl AuditWriter {
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(SandboxError::file("create", path))?;
        Ok(Self(Mutex::new(file)))
    }

    /// Writes a line. A log that cannot be written fails its reader, not the server.
    pub(crate) fn write(&self, line: &Line, code: u16) {
        let event = json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata",
            "stage": if line.verb == "watch" { "ResponseStarted" } else { "ResponseComplete" },
            "requestURI": line.uri, "verb": line.verb, "user": {"username": line.user},
            "userAgent": line.agent, "objectRef": line.object, "responseStatus": {"code": code},
        });
        let line = format!("{event}\n");
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // In one piece, so that the end of the file is always the end of a line.
        if let Err(error) = file.write_all(line.as_bytes()) {
            tracing::warn!(%error, "the audit log cannot be written");
        }
    }
}

/// What the log says of a request.
#[derive(Debug)]
pub(crate) struct Line {
    uri: String,
    verb: &'static str,
    user: String,
    agent: String,
    object: Value,
}

impl Line {
    pub(crate) fn of<B>(request: &http::Request<B>, user: &str) -> Self {
        let (verb, object) = crate::api::audited(request.method(), request.uri());
        let agent = request.headers().get(http::header::USER_AGENT);
        Self {
            uri: request.uri().to_string(),
            verb,
            user: user.to_owned(),
            agent: agent
                .and_then(|agent| agent.to_str().ok())
                .unwrap_or_default()
                .to_owned(),
            object,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    stage: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    verb: String,
    user: User,
    impersonated_user: Option<User>,
    #[serde(default)]
    user_agent: String,
    object_ref: Option<ObjectRef>,
    response_status: Option<Status>,
    request_object: Option<Value>,
}

#[derive(Deserialize)]
struct User {
    #[serde(default)]
    username: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct ObjectRef {
    api_group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    code: u16,
}

/// Reads whole lines; a last line without its end is still being written and belongs to a
/// request whose answer has not been sent.
fn parse(bytes: &[u8]) -> serde_json::Result<Requests> {
    let mut requests = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if line.ends_with(b"\n") && line.len() > 1 {
            let event: Event = serde_json::from_slice(line)?;
            let ends_watch = event.verb == "watch" && event.stage == "ResponseComplete";
            if !ends_watch {
                requests.push(event.into());
            }
        }
    }
    Ok(Requests(requests))
}

impl From<Event> for Request {
    fn from(event: Event) -> Self {
        let object = event.object_ref.unwrap_or_default();
        Self {
            user: event.impersonated_user.unwrap_or(event.user).username,
            verb: event.verb,
            uri: event.request_uri,
            group: object.api_group,
            resource: object.resource,
            subresource: object.subresource,
            namespace: object.namespace,
            name: object.name,
            status: event.response_status.map_or(0, |status| status.code),
            user_agent: event.user_agent,
            body: event.request_object,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(verb: &str, stage: &str, uri: &str, object: &str) -> String {
        format!(
            r#"{{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"1","stage":"{stage}","requestURI":"{uri}","verb":"{verb}","user":{{"username":"helm","groups":["system:masters"]}},"sourceIPs":["127.0.0.1"],"userAgent":"t/1","objectRef":{object},"responseStatus":{{"metadata":{{}},"code":200}},"requestReceivedTimestamp":"2026-01-01T00:00:00.000000Z"}}"#
        ) + "\n"
    }

    const PODS: &str = r#"{"resource":"pods","namespace":"a","name":"p","apiVersion":"v1"}"#;
    const REVIEW: &str = r#"{"resource":"selfsubjectaccessreviews","apiGroup":"authorization.k8s.io","apiVersion":"v1"}"#;

    #[test]
    fn watch_is_counted_once() {
        let text = line("watch", "ResponseStarted", "/api/v1/pods?watch=true", PODS)
            + &line("watch", "ResponseComplete", "/api/v1/pods?watch=true", PODS);
        assert_eq!(parse(text.as_bytes()).unwrap().count(), 1);
    }

    #[test]
    fn reads_reviews_and_dry_runs_are_no_writes() {
        let text = line("get", "ResponseComplete", "/api/v1/pods/p", PODS)
            + &line(
                "create",
                "ResponseComplete",
                "/apis/authorization.k8s.io/v1/x",
                REVIEW,
            )
            + &line(
                "patch",
                "ResponseComplete",
                "/api/v1/x?dryRun=All&force=true",
                PODS,
            )
            + &line(
                "patch",
                "ResponseComplete",
                "/api/v1/x?dryRun=&force=true",
                PODS,
            );
        let requests = parse(text.as_bytes()).unwrap();
        assert_eq!(requests.count(), 4);
        let writes = requests.writes();
        assert_eq!(writes.count(), 1, "{writes}");
        assert!(writes.iter().all(|request| !request.is_dry_run()));
    }

    #[test]
    fn unfinished_line_is_left_for_the_next_look() {
        let text = line("get", "ResponseComplete", "/a", PODS) + "{\"kind\":";
        assert_eq!(parse(text.as_bytes()).unwrap().count(), 1);
    }

    #[test]
    fn filters_and_tally_name_what_was_done() {
        let text = line("get", "ResponseComplete", "/a", PODS).repeat(2)
            + &line("create", "ResponseComplete", "/b", REVIEW);
        let requests = parse(text.as_bytes()).unwrap();
        assert_eq!(
            requests.tally().into_iter().collect::<Vec<_>>(),
            [
                ("create selfsubjectaccessreviews".to_owned(), 1),
                ("get pods".to_owned(), 2)
            ]
        );
        assert_eq!(requests.clone().by_user("kubectl").count(), 0);
        assert_eq!(
            requests
                .clone()
                .by_user("helm")
                .in_namespace("a")
                .named("p")
                .count(),
            2
        );
        assert!(requests.failed().is_empty());
    }
}
