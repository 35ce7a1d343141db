//! A chart source in memory: the location `https://charts.example.org`, served by a fetcher that takes the place of the network.
//!
//! A simulation has one for itself while it lives: where two shared it, one would wait for what the other fetches, and time
//! would go on meanwhile. To make one costs as much as a run, so they are handed on.
//!
//! Charts: `store` and `web` at several versions; `web` 9.0.0 has pods that never run, 8.0.0 cannot be rendered; `kinds`
//! brings CRDs, from `crds/` and from a template; `work` runs hooks. An outage is a matter of one thread, so of one
//! simulation.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use kubepkg_e2e::Chart;
use kubepkg_source::{
    Cache, Charts, Failure, Fetch, FetchRequest, Fetched, Missing, SourceError, SourceOptions,
};

/// Where the charts are.
pub(crate) const REPOSITORY: &str = "https://charts.example.org";

thread_local! {
    static OUTAGE: Cell<bool> = const { Cell::new(false) };
}

/// Takes the chart source away from the simulations of this thread, or gives it back.
pub(crate) fn outage(out: bool) {
    OUTAGE.set(out);
}

static FREE: Mutex<Vec<Arc<Charts>>> = Mutex::new(Vec::new());

/// The chart source of one simulation.
pub(crate) struct Lease(Arc<Charts>);

impl Lease {
    pub(crate) fn take() -> Result<Self, SourceError> {
        let free = FREE.lock().unwrap_or_else(PoisonError::into_inner).pop();
        free.map_or_else(charts, Ok).map(Self)
    }

    pub(crate) fn charts(&self) -> Arc<Charts> {
        Arc::clone(&self.0)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        free.push(self.charts());
    }
}

/// A chart source.
pub(crate) fn charts() -> Result<Arc<Charts>, SourceError> {
    kubepkg_source::init_crypto();
    let mut options = SourceOptions::default();
    // Waits between attempts are random; the controller tries again by itself.
    options.limits.retry.attempts = 1;
    let mut charts = Charts::new(options)?;
    charts.register("https", Arc::new(Memory(all())));
    Ok(Arc::new(charts))
}

/// Archives by chart and version.
struct Memory(BTreeMap<(String, String), Bytes>);

#[async_trait]
impl Fetch for Memory {
    async fn fetch(&self, request: &FetchRequest, _: &Cache) -> Result<Fetched, Failure> {
        if OUTAGE.get() {
            return Err(Failure::Timeout {
                url: request.location.to_string(),
            });
        }
        let key = (request.name.clone(), request.version.clone());
        let Some(archive) = self.0.get(&key) else {
            return Err(Failure::Missing {
                what: Missing::Version,
                at: format!("{}/{}", request.location, request.name),
            });
        };
        let mut reader = request.archive_reader();
        let read = reader.push(archive).and_then(|()| reader.finish());
        read.map(Fetched::downloaded)
            .map_err(|error| Failure::Interrupted {
                url: request.location.to_string(),
                source: error.into(),
            })
    }
}

fn all() -> BTreeMap<(String, String), Bytes> {
    let mut charts = Vec::new();
    for version in ["1.0.0", "1.1.0", "1.2.0", "2.0.0"] {
        for name in ["store", "web"] {
            charts.push(Chart::new(name, version));
        }
        charts.push(kinds(version));
    }
    charts.push(Chart::new("web", "9.0.0").fate("pull-error"));
    charts
        .push(Chart::new("web", "8.0.0").file("templates/broken.yaml", "{{ fail \"broken\" }}\n"));
    for version in ["1.0.0", "1.1.0"] {
        charts.push(Chart::new("work", version).file("templates/hook.yaml", HOOK));
    }
    let mut all = BTreeMap::new();
    for chart in charts {
        // Packing into memory cannot fail.
        if let Ok(archive) = pack(chart.name, &chart.files()) {
            let key = (chart.name.to_owned(), chart.version.to_owned());
            all.insert(key, Bytes::from(archive));
        }
    }
    all
}

/// A chart with a CRD in `crds/` and one among its templates.
fn kinds(version: &'static str) -> Chart {
    Chart::new("kinds", version)
        .file("crds/folder.yaml", &crd("boxes", "Box"))
        .file("templates/crd.yaml", &crd("crates", "Crate"))
}

fn crd(plural: &str, kind: &str) -> String {
    let single = kind.to_lowercase();
    format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: {plural}.example.org\n\
         spec:\n  group: example.org\n  scope: Namespaced\n  names: {{plural: {plural}, singular: {single}, kind: {kind}}}\n  \
         versions:\n    - name: v1\n      served: true\n      storage: true\n      schema: {{openAPIV3Schema: {{type: object}}}}\n"
    )
}

/// A Job before and after every install and upgrade, which is removed when it succeeds.
const HOOK: &str = r"apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-work
  annotations:
    helm.sh/hook: pre-install,pre-upgrade,post-upgrade
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  template:
    metadata:
      annotations:
        sandbox.kubepkg.dev/ready-after: 5s
    spec:
      restartPolicy: Never
      containers:
        - name: work
          image: registry.example.org/work:1
";

fn pack(name: &str, files: &[(String, Vec<u8>)]) -> io::Result<Vec<u8>> {
    let gzip = flate2::GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), flate2::Compression::fast());
    let mut archive = tar::Builder::new(gzip);
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_mtime(0);
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, format!("{name}/{path}"), content.as_slice())?;
    }
    archive.into_inner()?.finish()
}
