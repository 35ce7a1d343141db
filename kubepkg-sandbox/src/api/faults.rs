//! What goes wrong between a client and the API server: as a [`tower::Layer`], by seed or by script.
//!
//! One [`ApiFaults`] stands for the way of one client. It counts the requests of this client; a
//! fault is set for the n-th, or drawn from a seed at given rates. Two runs with one seed and the
//! same requests have the same faults, and [`ApiFaults::met`] tells which.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::{BodyExt as _, BodyStream, Full, StreamBody};
use hyper::body::Body;
use tower::{Layer, Service};

use super::failure::Failure;
use super::ids::Ids;
use super::request::{Lag, Query};
use super::service::ApiBody;

/// What happens to one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ApiFault {
    /// The server refuses with this code, and does nothing: 409, 429, 500, 503.
    Refused(u16),
    /// The connection breaks before the server has the request.
    Unreachable,
    /// The connection breaks after the server has done what was asked.
    Lost,
    /// The answer comes late by this time.
    Slow(Duration),
    /// A watch ends after this many events.
    Cut(usize),
    /// A watch loses its n-th event, counted from zero. The next watch of the same collection is
    /// told that the past is forgotten, because no server lets a client go on from where it does
    /// not know what was sent.
    Missed(usize),
    /// A watch sends its n-th event twice.
    Doubled(usize),
    /// A watch, or a list with a version, is told that the past is forgotten.
    Gone,
    /// A read of any version (`resourceVersion=0`) does not see the last changes of its resource,
    /// this many of them, as from a watch cache that lags behind. Other reads see the present, as
    /// the API promises, and do not meet this.
    Stale(usize),
    /// The same for every read, though it asked for the present: no API server does this. Who holds
    /// on here can rely on cached reads, too.
    ForcedStale(usize),
    /// Every event of a watch comes late by this time, as from a watch cache
    /// that lags behind.
    Late(Duration),
}

/// How often faults are drawn, in thousandths of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultRates {
    /// [`ApiFault::Refused`] with 500, 503, 429 or, for writes, 409.
    pub refused: u16,
    /// [`ApiFault::Unreachable`].
    pub unreachable: u16,
    /// [`ApiFault::Lost`].
    pub lost: u16,
    /// [`ApiFault::Cut`], [`ApiFault::Missed`], [`ApiFault::Doubled`] and [`ApiFault::Gone`], of
    /// watches.
    pub watches: u16,
    /// [`ApiFault::Stale`] by one to four changes, of reads of any version.
    pub stale: u16,
    /// [`ApiFault::ForcedStale`] by one to four changes, of all reads.
    pub forced_stale: u16,
    /// [`ApiFault::Late`] by one to sixty seconds, of watches.
    pub late: u16,
    /// [`ApiFault::Slow`] by one to thirty seconds.
    pub slow: u16,
}

/// The request did not come through, or its answer did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("connection broken by a fault of the sandbox")]
pub struct Broken;

#[derive(Debug, Default)]
struct State {
    count: u64,
    script: BTreeMap<u64, ApiFault>,
    drawn: Option<(Ids, FaultRates)>,
    partitioned: bool,
    /// Collections whose watches lost an event.
    unsure: BTreeSet<String>,
    met: Vec<(u64, ApiFault)>,
}

/// The faults of one client's way. Clones are the same way.
#[derive(Clone, Debug, Default)]
pub struct ApiFaults {
    state: Arc<Mutex<State>>,
}

impl ApiFaults {
    /// Draws faults from a seed.
    #[must_use]
    pub fn drawn(seed: u64, rates: FaultRates) -> Self {
        let faults = Self::default();
        faults.state().drawn = Some((Ids::new(seed), rates));
        faults
    }

    /// Sets the fault of the n-th request of this client, counted from zero.
    pub fn at(&self, request: u64, fault: ApiFault) {
        self.state().script.insert(request, fault);
    }

    /// Cuts this client off, or lets it through again.
    pub fn partition(&self, cut_off: bool) {
        self.state().partitioned = cut_off;
    }

    /// No more faults are drawn or scripted; who is cut off stays so.
    pub fn calm(&self) {
        let mut state = self.state();
        state.drawn = None;
        state.script.clear();
    }

    /// How many requests there were.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.state().count
    }

    /// The faults that requests have met, by the number of the request.
    #[must_use]
    pub fn met(&self) -> Vec<(u64, ApiFault)> {
        self.state().met.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The fault of the next request, if it meets one that can happen to it.
    fn meet(&self, path: &str, asked: Asked) -> Option<ApiFault> {
        let Asked {
            watch,
            version,
            write,
        } = asked;
        let mut state = self.state();
        let number = state.count;
        state.count += 1;
        if state.partitioned {
            return Some(ApiFault::Unreachable);
        }
        let drawn = state
            .drawn
            .as_mut()
            .and_then(|(ids, rates)| draw(ids, *rates, asked));
        let scripted = state.script.remove(&number);
        let owed = (watch && state.unsure.remove(path)).then_some(ApiFault::Gone);
        let fault = owed.or(scripted).or(drawn)?;
        let possible = match fault {
            ApiFault::Stale(_) => version == Version::Any && !watch && !write,
            ApiFault::ForcedStale(_) => !watch && !write,
            ApiFault::Cut(_) | ApiFault::Missed(_) | ApiFault::Doubled(_) | ApiFault::Late(_) => {
                watch
            }
            ApiFault::Gone => watch || version != Version::Present,
            _ => true,
        };
        if !possible {
            return None;
        }
        if matches!(fault, ApiFault::Missed(_)) {
            state.unsure.insert(path.to_owned());
        }
        state.met.push((number, fault));
        Some(fault)
    }
}

/// What a request is, as far as faults are choosy.
#[derive(Clone, Copy, Debug)]
struct Asked {
    watch: bool,
    version: Version,
    write: bool,
}

/// Which version of its resource a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    /// The most recent one.
    Present,
    /// Whatever a cache has.
    Any,
    /// One that it names.
    Named,
}

/// Draws the same number of times for every request, so that one request more or less of another
/// kind does not move all that follow.
fn draw(ids: &mut Ids, rates: FaultRates, asked: Asked) -> Option<ApiFault> {
    let Asked { watch, write, .. } = asked;
    let (dice, which) = (ids.below(1000), ids.next());
    let mut bound = 0;
    let mut within = |rate: u16| {
        bound += u64::from(rate);
        dice < bound
    };
    if within(rates.refused) {
        let codes: &[u16] = if write {
            &[500, 503, 429, 409]
        } else {
            &[500, 503, 429]
        };
        let at = usize::try_from(which).unwrap_or(0) % codes.len();
        return codes.get(at).map(|code| ApiFault::Refused(*code));
    }
    if within(rates.unreachable) {
        return Some(ApiFault::Unreachable);
    }
    if within(rates.lost) {
        return Some(ApiFault::Lost);
    }
    if within(rates.slow) {
        return Some(ApiFault::Slow(Duration::from_secs(1 + (which >> 8) % 30)));
    }
    if !watch && !write {
        let changes = 1 + usize::try_from(which >> 8).unwrap_or(0) % 4;
        if within(rates.forced_stale) {
            return Some(ApiFault::ForcedStale(changes));
        }
        if asked.version == Version::Any && within(rates.stale) {
            return Some(ApiFault::Stale(changes));
        }
    }
    if watch && within(rates.watches) {
        let event = usize::try_from(which >> 8).unwrap_or(0) % 5;
        return Some(match which % 4 {
            0 => ApiFault::Cut(event),
            1 => ApiFault::Missed(event),
            2 => ApiFault::Doubled(event),
            _ => ApiFault::Gone,
        });
    }
    if watch && within(rates.late) {
        return Some(ApiFault::Late(Duration::from_secs(1 + (which >> 8) % 60)));
    }
    None
}

impl<S> Layer<S> for ApiFaults {
    type Service = Faulty<S>;

    fn layer(&self, inner: S) -> Faulty<S> {
        Faulty {
            inner,
            faults: self.clone(),
        }
    }
}

/// A service behind faults.
#[derive(Clone, Debug)]
pub struct Faulty<S> {
    inner: S,
    faults: ApiFaults,
}

impl<S, B> Service<Request<B>> for Faulty<S>
where
    S: Service<Request<B>, Response = Response<ApiBody>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    B: Body + Send + 'static,
{
    type Response = Response<ApiBody>;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let query = Query::parse(request.uri().query().unwrap_or_default());
        let watch = query.flag("watch");
        let version = match query.get("resourceVersion") {
            "0" => Version::Any,
            "" if !query.has("continue") => Version::Present,
            _ => Version::Named,
        };
        let write = request.method() != http::Method::GET;
        let asked = Asked {
            watch,
            version,
            write,
        };
        let fault = self.faults.meet(request.uri().path(), asked);
        if let Some(ApiFault::Stale(changes) | ApiFault::ForcedStale(changes)) = fault {
            request.extensions_mut().insert(Lag(changes));
        }
        // The one that was found ready is called; a fresh clone takes its place.
        let fresh = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, fresh);
        Box::pin(async move {
            match fault {
                Some(ApiFault::Unreachable) => return Err(Broken.into()),
                Some(ApiFault::Refused(code)) => return Ok(refused(code)),
                Some(ApiFault::Gone) if !watch => return Ok(refused(410)),
                Some(ApiFault::Slow(wait)) => tokio::time::sleep(wait).await,
                _ => {}
            }
            let response = inner.call(request).await.map_err(Into::into)?;
            Ok(match fault {
                Some(ApiFault::Lost) => {
                    drop(response);
                    return Err(Broken.into());
                }
                Some(
                    fault @ (ApiFault::Cut(_)
                    | ApiFault::Missed(_)
                    | ApiFault::Doubled(_)
                    | ApiFault::Gone),
                ) => spoiled(response, fault),
                Some(ApiFault::Late(by)) => late(response, by),
                _ => response,
            })
        })
    }
}

fn refused(code: u16) -> Response<ApiBody> {
    let (reason, message) = match code {
        409 => (
            "Conflict",
            "the object has been modified (a fault of the sandbox)",
        ),
        410 => ("Expired", "the past is forgotten (a fault of the sandbox)"),
        429 => (
            "TooManyRequests",
            "too many requests (a fault of the sandbox)",
        ),
        503 => (
            "ServiceUnavailable",
            "not available (a fault of the sandbox)",
        ),
        _ => ("InternalError", "internal error (a fault of the sandbox)"),
    };
    super::service::refuse(Failure {
        reason: Some(reason),
        ..Failure::plain(code, message)
    })
}

/// A watch whose events do not all come as they were sent.
fn spoiled(response: Response<ApiBody>, fault: ApiFault) -> Response<ApiBody> {
    let (mut parts, body) = response.into_parts();
    parts.headers.remove(http::header::CONTENT_LENGTH);
    if fault == ApiFault::Gone {
        let status = Failure::expired("the past is forgotten (a fault of the sandbox)").status();
        let line = format!("{{\"type\":\"ERROR\",\"object\":{status}}}\n");
        return Response::from_parts(parts, Full::new(Bytes::from(line)).boxed_unsync());
    }
    let lines = BodyStream::new(body)
        .filter_map(|frame| async { frame.ok()?.into_data().ok() })
        .flat_map(|chunk| {
            let lines: Vec<Bytes> = chunk
                .split_inclusive(|byte| *byte == b'\n')
                .map(Bytes::copy_from_slice)
                .collect();
            futures::stream::iter(lines)
        })
        .enumerate()
        .take_while(move |(number, _)| {
            let go_on = !matches!(fault, ApiFault::Cut(at) if *number >= at);
            async move { go_on }
        })
        .flat_map(move |(number, line)| {
            let times = match fault {
                ApiFault::Missed(at) if at == number => 0,
                ApiFault::Doubled(at) if at == number => 2,
                _ => 1,
            };
            futures::stream::iter(std::iter::repeat_n(line, times))
        })
        .map(|line| Ok(hyper::body::Frame::data(line)));
    Response::from_parts(parts, StreamBody::new(lines).boxed_unsync())
}

/// A watch whose events come some time after they happened, in their order.
fn late(response: Response<ApiBody>, by: Duration) -> Response<ApiBody> {
    let (parts, body) = response.into_parts();
    let chunks = BodyStream::new(body)
        .filter_map(|frame| async { frame.ok()?.into_data().ok() })
        .then(move |chunk| async move {
            tokio::time::sleep(by).await;
            Ok(hyper::body::Frame::data(chunk))
        });
    Response::from_parts(parts, StreamBody::new(chunks).boxed_unsync())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{ApiOptions, ApiServer};
    use jiff::Timestamp;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::api::{Api, ListParams, PostParams};
    use kube::{Client, ResourceExt as _};

    fn server() -> ApiServer {
        ApiServer::new(&ApiOptions::default().start(Timestamp::UNIX_EPOCH))
    }

    fn through(server: &ApiServer, faults: &ApiFaults) -> Api<ConfigMap> {
        let client = Client::new(faults.layer(server.clone()), "default");
        Api::default_namespaced(client)
    }

    fn map(name: &str) -> ConfigMap {
        serde_json::from_value(serde_json::json!({"metadata": {"name": name}})).unwrap()
    }

    async fn names(api: &Api<ConfigMap>) -> Vec<String> {
        let all = api.list(&ListParams::default()).await.unwrap();
        let names = all.iter().map(ConfigMap::name_any);
        names.filter(|name| name != "kube-root-ca.crt").collect()
    }

    #[tokio::test]
    async fn a_lost_answer_is_a_done_deed_and_an_unreachable_server_is_not() {
        let (server, faults) = (server(), ApiFaults::default());
        let api = through(&server, &faults);
        faults.at(0, ApiFault::Lost);
        faults.at(1, ApiFault::Unreachable);
        faults.at(2, ApiFault::Refused(409));
        let new = PostParams::default();
        assert!(api.create(&new, &map("a")).await.is_err());
        assert!(api.create(&new, &map("b")).await.is_err());
        let refused = api.create(&new, &map("c")).await.unwrap_err();
        assert!(matches!(refused, kube::Error::Api(status) if status.code == 409));
        assert_eq!(names(&api).await, ["a"]);
        assert_eq!(faults.met().len(), 3);
    }

    /// <https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions>: a get or a
    /// list without a version is of the most recent one, with version 0 of any.
    #[tokio::test]
    async fn only_reads_of_any_version_are_stale_unless_forced() {
        let (server, faults) = (server(), ApiFaults::default());
        let api = through(&server, &faults);
        let made = api.create(&PostParams::default(), &map("a")).await.unwrap();
        let mut changed = made.clone();
        changed.data = Some([("k".to_owned(), "v".to_owned())].into());
        api.replace("a", &PostParams::default(), &changed)
            .await
            .unwrap();
        let any = ListParams::default().match_any();
        let get_any = kube::api::GetParams::any();
        for request in 2..8 {
            faults.at(request, ApiFault::Stale(1));
        }
        assert!(api.get("a").await.unwrap().data.is_some());
        let now = api.list(&ListParams::default()).await.unwrap();
        assert!(
            now.iter()
                .any(|map| map.data.is_some() && map.name_any() == "a")
        );
        assert_eq!(faults.met(), []);
        assert_eq!(api.get_with("a", &get_any).await.unwrap().data, None);
        let past = api.list(&any).await.unwrap();
        assert!(
            past.iter()
                .all(|map| map.data.is_none() || map.name_any() != "a")
        );
        assert_eq!(faults.met().len(), 2);
        faults.at(6, ApiFault::ForcedStale(1));
        assert_eq!(api.get("a").await.unwrap().data, None);
    }

    #[tokio::test(start_paused = true)]
    async fn events_of_a_late_watch_come_later_than_they_happened() {
        let (server, faults) = (server(), ApiFaults::default());
        let api = through(&server, &faults);
        let by = Duration::from_secs(30);
        faults.at(0, ApiFault::Late(by));
        let watch = kube::api::WatchParams::default().fields("metadata.name=a");
        let events = api.watch(&watch, "0").await.unwrap();
        let begun = tokio::time::Instant::now();
        api.create(&PostParams::default(), &map("a")).await.unwrap();
        assert!(std::pin::pin!(events).next().await.unwrap().is_ok());
        assert_eq!(begun.elapsed(), by);
    }

    #[tokio::test]
    async fn one_seed_draws_one_row_of_faults() {
        let run = |seed: u64| async move {
            let rates = FaultRates {
                refused: 200,
                unreachable: 100,
                lost: 100,
                ..FaultRates::default()
            };
            let (server, faults) = (server(), ApiFaults::drawn(seed, rates));
            let api = through(&server, &faults);
            for number in 0..50 {
                let _ = api
                    .create(&PostParams::default(), &map(&format!("m{number}")))
                    .await;
            }
            faults.calm();
            (faults.met(), names(&api).await)
        };
        let (first, again, other) = (run(1).await, run(1).await, run(2).await);
        assert_eq!(first, again);
        assert_ne!(first.0, other.0);
        assert!(!first.0.is_empty() && first.1.len() < 50);
    }

    #[tokio::test]
    async fn events_of_a_watch_are_missed_doubled_and_cut_off() {
        for (fault, expected) in [
            (ApiFault::Missed(1), vec!["a", "c"]),
            (ApiFault::Doubled(1), vec!["a", "b", "b", "c"]),
            (ApiFault::Cut(2), vec!["a", "b"]),
        ] {
            let (server, faults) = (server(), ApiFaults::default());
            let api = through(&server, &faults);
            let mark = api.list(&ListParams::default()).await.unwrap();
            for name in ["a", "b", "c"] {
                api.create(&PostParams::default(), &map(name))
                    .await
                    .unwrap();
            }
            faults.at(4, fault);
            let watch = kube::api::WatchParams::default().timeout(1);
            let version = mark.metadata.resource_version.unwrap();
            let events = api.watch(&watch, &version).await.unwrap();
            server.advance(jiff::SignedDuration::ZERO);
            let stop = server.clone();
            let end = tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(50)).await;
                stop.advance(jiff::SignedDuration::from_secs(2));
            });
            let seen: Vec<String> = events
                .filter_map(|event| async move {
                    match event {
                        Ok(kube::api::WatchEvent::Added(object)) => Some(object.name_any()),
                        _ => None,
                    }
                })
                .collect()
                .await;
            end.await.unwrap();
            assert_eq!(seen, expected, "{fault:?}");
        }
    }
}
