//! Charts of components: fetched by `kubepkg-source`, read by `kubepkg-helm`.
//!
//! A chart is read once when it is prepared, so that a hostile or broken archive is refused before anything is recorded.
//! What is installed is the archive with the digest that was recorded, whatever a tag points to by then.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use kubepkg_api::{ChartRef, Digest};
use kubepkg_helm::{Chart, ChartLimits};
use kubepkg_source::{Charts, FetchedChart};

use crate::{BackendError, ChartSource};

/// Digests of readable charts that are remembered.
const KNOWN: usize = 4096;

/// Fetches and reads charts.
pub(super) struct ChartStore {
    charts: Arc<Charts>,
    limits: ChartLimits,
    /// Whether archives are read on the thread of the caller.
    inline: bool,
    /// Digests of charts that were read without an error.
    readable: Mutex<BTreeSet<Digest>>,
}

impl ChartStore {
    pub(super) fn new(charts: Arc<Charts>, limits: ChartLimits, inline: bool) -> Self {
        Self {
            charts,
            limits,
            inline,
            readable: Mutex::default(),
        }
    }

    /// Makes sure that a chart is at hand and readable. One that was, with a pinned digest, costs nothing.
    pub(super) async fn prepare(&self, source: &ChartSource) -> Result<Digest, BackendError> {
        let reference = published(source)?;
        if let Ok(Some(pinned)) = reference.pinned()
            && self.is_readable(&pinned)
        {
            return Ok(pinned);
        }
        let fetched = self.fetch(source, reference).await?;
        if !self.is_readable(&fetched.digest) {
            self.read(source, fetched.bytes).await?;
            let mut readable = self.readable.lock().unwrap_or_else(PoisonError::into_inner);
            if readable.len() >= KNOWN {
                readable.pop_first();
            }
            readable.insert(fetched.digest.clone());
        }
        Ok(fetched.digest)
    }

    /// The chart with this digest.
    pub(super) async fn load(
        &self,
        source: &ChartSource,
        digest: &Digest,
    ) -> Result<Arc<Chart>, BackendError> {
        let pinned = ChartRef {
            digest: digest.to_string(),
            ..published(source)?.clone()
        };
        let fetched = self.fetch(source, &pinned).await?;
        self.read(source, fetched.bytes).await.map(Arc::new)
    }

    fn is_readable(&self, digest: &Digest) -> bool {
        self.readable
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(digest)
    }

    async fn fetch(
        &self,
        source: &ChartSource,
        reference: &ChartRef,
    ) -> Result<FetchedChart, BackendError> {
        self.charts
            .fetch(reference)
            .await
            .map_err(|error| BackendError::Chart {
                chart: source.to_string(),
                transient: error.is_transient(),
                source: error.detail().into(),
            })
    }

    async fn read(&self, source: &ChartSource, bytes: Bytes) -> Result<Chart, BackendError> {
        let limits = self.limits.clone();
        let read = if self.inline {
            Ok(Chart::load_archive(&bytes, &limits))
        } else {
            tokio::task::spawn_blocking(move || Chart::load_archive(&bytes, &limits)).await
        };
        let failed = |transient, source_error| BackendError::Chart {
            chart: source.to_string(),
            transient,
            source: source_error,
        };
        match read {
            Ok(Ok(chart)) => Ok(chart),
            Ok(Err(error)) => Err(failed(false, error.into())),
            Err(error) => Err(failed(true, error.into())),
        }
    }
}

fn published(source: &ChartSource) -> Result<&ChartRef, BackendError> {
    match source {
        ChartSource::Published(reference) => Ok(reference),
        ChartSource::Tree { .. } => Err(BackendError::Unsupported {
            backend: "helm".to_owned(),
            what: "install charts from package trees".to_owned(),
        }),
    }
}
