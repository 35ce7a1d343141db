//! The operator's own HTTP pages: `/metrics`, `/healthz`, `/readyz`.
//!
//! Plain HTTP without authentication, as Prometheus and the kubelet expect; nothing secret is served. A request is
//! answered from memory, so no page can hold the operator up.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use tokio::net::TcpListener;

use crate::metrics::Metrics;

/// What the pages tell.
#[derive(Clone, Default)]
pub(crate) struct Pages {
    /// The metrics.
    pub(crate) metrics: Arc<Metrics>,
    /// The operator has all it needs to work, or to take over.
    pub(crate) ready: Arc<AtomicBool>,
}

/// Serves `pages` on `address` until the process ends.
///
/// # Errors
///
/// The address cannot be bound.
pub(crate) async fn serve(pages: Pages, address: SocketAddr) -> std::io::Result<()> {
    let listener = TcpListener::bind(address).await?;
    tracing::info!(address = %listener.local_addr()?, "serving metrics and health");
    tokio::spawn(async move {
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                continue;
            };
            let pages = pages.clone();
            tokio::spawn(async move {
                let service = service_fn(move |request| {
                    let answer = page(&pages, &request);
                    async move { Ok::<_, Infallible>(answer) }
                });
                // A client that goes away in the middle is its own affair.
                let _ = Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    Ok(())
}

fn page(pages: &Pages, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let (status, kind, body) = match request.uri().path() {
        "/healthz" => (StatusCode::OK, "text/plain", "ok".to_owned()),
        "/readyz" if pages.ready.load(Ordering::Relaxed) => {
            (StatusCode::OK, "text/plain", "ok".to_owned())
        }
        "/readyz" => (
            StatusCode::SERVICE_UNAVAILABLE,
            "text/plain",
            "not ready".to_owned(),
        ),
        "/metrics" => match pages.metrics.text() {
            Ok(text) => (
                StatusCode::OK,
                "application/openmetrics-text; version=1.0.0; charset=utf-8",
                text,
            ),
            Err(error) => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "text/plain",
                error.to_string(),
            ),
        },
        _ => (
            StatusCode::NOT_FOUND,
            "text/plain",
            "there is no such page".to_owned(),
        ),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(
        http::header::CONTENT_TYPE,
        http::HeaderValue::from_static(kind),
    );
    response
}
