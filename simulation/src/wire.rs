//! The way from an operator to its API server: everything sent is written down, and at chosen requests the operator is
//! killed, or asked to end.
//!
//! A killed operator gets no answer any more, to nothing; the world takes it away and starts another one that remembers
//! nothing. What a request did before the kill stands. One that is asked to end finishes what it is at.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use kube::client::Body;
use kubepkg_sandbox::api::{ApiBody, Faulty};
use kubepkg_sandbox::{ApiFaults, ApiServer};
use tokio::sync::Notify;
use tower::{Layer as _, Service};

use crate::clock::SimulatedClock;

/// Requests after which an operator is held to be in a loop without end, and gets no more answers.
const MOST_REQUESTS: usize = 30_000;

/// Where a life of an operator ends: at which request, counted from zero over all its lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Crash {
    /// The number of the request.
    pub at: u64,
    /// Killed before or after it took effect, or in order.
    pub when: When,
}

/// How a life ends at a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum When {
    /// Killed; the server never saw the request.
    Before,
    /// Killed; the server did what was asked, and nobody saw the answer.
    After,
    /// Asked to end while the request is on its way, which is answered; nothing is lost.
    Asked,
}

/// A request that an operator sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When, from the beginning.
    pub at: Duration,
    /// The method.
    pub method: Method,
    /// Path and query.
    pub uri: String,
    /// The body.
    pub body: Bytes,
    /// The code of the answer; none when none came.
    pub status: Option<u16>,
}

impl Sent {
    /// Whether it asks for a change.
    pub fn is_write(&self) -> bool {
        self.method != Method::GET
    }

    /// Whether it is content with what a cache has: only then may it be shown the past.
    pub fn is_of_any_version(&self) -> bool {
        let query = self.uri.split_once('?').map_or("", |(_, query)| query);
        let any = query.split('&').any(|pair| pair == "resourceVersion=0");
        any && !self.is_watch() && !self.is_write()
    }

    /// Whether it asks for news.
    pub fn is_watch(&self) -> bool {
        self.uri.contains("watch=")
    }
}

impl std::fmt::Display for Sent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (at, method, uri) = (self.at.as_millis(), &self.method, &self.uri);
        let status = self.status.map_or("-".to_owned(), |code| code.to_string());
        let body = String::from_utf8_lossy(&self.body);
        write!(f, "{at} {method} {uri} {status} {body}")
    }
}

#[derive(Default)]
struct State {
    sent: Vec<Sent>,
    crashes: BTreeMap<u64, When>,
    /// Which life of the operator is the present one.
    life: u64,
    /// How the present life is to end, once that is decided.
    end: Option<End>,
    /// Lives that did not end in time when they were asked to.
    lingered: u64,
}

/// How a life of the operator ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Killed,
    Asked,
}

/// What all lives of an operator share.
#[derive(Clone)]
pub(crate) struct Wire {
    state: Arc<Mutex<State>>,
    ends: Arc<Notify>,
    clock: Arc<SimulatedClock>,
    server: ApiServer,
    faults: ApiFaults,
}

impl Wire {
    pub(crate) fn new(
        server: &ApiServer,
        faults: &ApiFaults,
        clock: &Arc<SimulatedClock>,
        crashes: &[Crash],
    ) -> Self {
        let state = State {
            crashes: crashes.iter().map(|crash| (crash.at, crash.when)).collect(),
            ..State::default()
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            ends: Arc::new(Notify::new()),
            clock: Arc::clone(clock),
            server: server.clone(),
            faults: faults.clone(),
        }
    }

    /// A client for the present life of the operator. With `only`, it sees but that Package and its source when it lists
    /// or watches them.
    pub(crate) fn client(&self, only: Option<&str>) -> kube::Client {
        let line = Line {
            wire: self.clone(),
            life: self.state().life,
            only: only.map(str::to_owned),
            inner: self.faults.layer(self.server.clone()),
        };
        kube::Client::new(line, "default")
    }

    /// Ends the present life.
    pub(crate) fn kill(&self) {
        let mut state = self.state();
        state.life += 1;
        state.end = Some(End::Killed);
        self.ends.notify_one();
    }

    /// Asks the present life to end.
    fn ask_to_end(&self) {
        self.state().end.get_or_insert(End::Asked);
        self.ends.notify_one();
    }

    /// Returns when a life is to end, or was ended.
    pub(crate) async fn end(&self) -> End {
        loop {
            if let Some(end) = self.state().end.take() {
                return end;
            }
            self.ends.notified().await;
        }
    }

    /// A life that was asked to end has done so, in time or not.
    pub(crate) fn ended(&self, in_time: bool) {
        let mut state = self.state();
        state.life += 1;
        state.lingered += u64::from(!in_time);
    }

    /// How many lives did not end in time when they were asked to.
    pub(crate) fn lingered(&self) -> u64 {
        self.state().lingered
    }

    /// Everything sent so far.
    pub(crate) fn sent(&self) -> Vec<Sent> {
        self.state().sent.clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.state().sent.len()
    }

    /// How many lives of the operator have ended.
    pub(crate) fn lives(&self) -> u64 {
        self.state().life
    }

    /// Whether the operator was taken off for asking without end.
    pub(crate) fn is_flooded(&self) -> bool {
        self.count() >= MOST_REQUESTS
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a request down; none when its sender is dead or takes too much.
    fn begin(&self, life: u64, sent: Sent) -> Option<(usize, Option<When>)> {
        let mut state = self.state();
        if state.life != life || state.sent.len() >= MOST_REQUESTS {
            return None;
        }
        let number = state.sent.len();
        state.sent.push(sent);
        let crash = state.crashes.remove(&(number as u64));
        Some((number, crash))
    }

    fn answered(&self, number: usize, status: u16) {
        if let Some(sent) = self.state().sent.get_mut(number) {
            sent.status = Some(status);
        }
    }
}

/// The way of one life.
#[derive(Clone)]
struct Line {
    wire: Wire,
    life: u64,
    only: Option<String>,
    inner: Faulty<ApiServer>,
}

type Failed = Box<dyn std::error::Error + Send + Sync>;

impl Service<Request<Body>> for Line {
    type Response = Response<ApiBody>;
    type Error = Failed;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failed>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let mut line = self.clone();
        Box::pin(async move {
            let (mut parts, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            if let Some(only) = &line.only {
                parts.uri = narrowed(&parts.uri, only)?;
            }
            let sent = Sent {
                at: line.wire.clock.elapsed(),
                method: parts.method.clone(),
                uri: parts.uri.to_string(),
                body: body.clone(),
                status: None,
            };
            let request = Request::from_parts(parts, Full::new(body));
            let Some((number, crash)) = line.wire.begin(line.life, sent) else {
                return std::future::pending().await;
            };
            match crash {
                None => {}
                Some(When::Asked) => {
                    line.wire.ask_to_end();
                    // It is told while it waits for the answer.
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                Some(when) => {
                    if when == When::After {
                        let _ = line.inner.call(request).await;
                    }
                    line.wire.kill();
                    return std::future::pending().await;
                }
            }
            let response = line.inner.call(request).await?;
            line.wire.answered(number, response.status().as_u16());
            Ok(response)
        })
    }
}

/// A list or watch of packages or their sources, of one of them.
fn narrowed(uri: &http::Uri, only: &str) -> Result<http::Uri, http::uri::InvalidUri> {
    let collection = [
        format!("/{}", kinds::PACKAGES),
        format!("/{}", kinds::SOURCES),
    ]
    .iter()
    .any(|end| uri.path().ends_with(end.as_str()));
    if !collection {
        return Ok(uri.clone());
    }
    let separator = if uri.query().is_some() { '&' } else { '?' };
    format!("{uri}{separator}fieldSelector=metadata.name%3D{only}").parse()
}

/// The plural names that an operator watches.
mod kinds {
    pub(super) const PACKAGES: &str = "packages";
    pub(super) const SOURCES: &str = "packagesources";
}
