//! Packages by the dozen, on any API server: what `cargo xtask bench sandbox` measures.
//!
//! The operator is that of a simulation: `kubepkg_controller::package::run` over the helm backend, with charts in memory,
//! so that neither a download nor a socket of its own is counted. It runs as the real program does: four packages at a time.

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::{Client, ResourceExt as _};
use kubepkg_api::{
    ApiGroup, Kind as _, Package, PackageSource, PackageSourceSpec, condition, keys,
};
use kubepkg_backend::{Backend as _, HelmBackend, HelmBackendOptions};
use kubepkg_controller::package::{self, Context, NoTelemetry, Settings};
use kubepkg_e2e::Source;
use kubepkg_source::SourceError;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::charts::{self, REPOSITORY};

/// Packages that the operator works on at once, as the real program does.
const WORKERS: u16 = 4;

/// Packages that are asked for at once.
const ASKED: usize = 16;

/// Where releases go.
const NAMESPACE: &str = "apps";

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failed {
    /// The API server refused, or did not answer.
    #[error("asking the API server")]
    Api(#[from] kube::Error),
    /// The chart source can't be made.
    #[error("making the chart source")]
    Charts(#[from] SourceError),
    /// A source is not what the API says.
    #[error("making a PackageSource")]
    Source(#[from] serde_json::Error),
    /// A watch ended before everything had happened.
    #[error("the watch of packages ended when {ready} were ready")]
    Ended {
        /// How many.
        ready: usize,
    },
}

/// An operator at work on an API server.
pub struct Installer {
    client: Client,
    group: ApiGroup,
    stop: watch::Sender<bool>,
    operator: JoinHandle<()>,
}

impl Installer {
    /// Installs the kinds and sets an operator to work. With `inline`, it stays in this thread, as paused time demands.
    ///
    /// # Errors
    ///
    /// [`Failed`]: the API server is not as it should be.
    pub async fn new(client: Client, inline: bool) -> Result<Self, Failed> {
        let group = ApiGroup::default();
        let force = PatchParams::apply("bench").force();
        let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
        for crd in kubepkg_api::crd::crds(&group) {
            crds.patch(&crd.name_any(), &force, &Patch::Apply(&crd))
                .await?;
        }
        let packages: Api<Package> = Api::all_with(client.clone(), &group);
        let sources: Api<PackageSource> = Api::all_with(client.clone(), &group);
        let one = ListParams::default().limit(1);
        // A real API server serves a kind some time after it was told of it.
        while packages.list(&one).await.is_err() || sources.list(&one).await.is_err() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        let namespaces: Api<Namespace> = Api::all(client.clone());
        namespaces
            .patch(NAMESPACE, &force, &Patch::Apply(&namespace))
            .await?;
        let options = HelmBackendOptions {
            inline,
            ..HelmBackendOptions::default()
        };
        let backend = Arc::new(HelmBackend::new(client.clone(), charts::charts()?, options));
        let settings = Settings::new(backend.capabilities());
        let telemetry = Arc::new(NoTelemetry);
        let context = Context::new(client.clone(), group.clone(), backend, settings, telemetry);
        let (stop, mut stopped) = watch::channel(false);
        let asked = async move {
            // A sender that is gone asks for the end, too.
            let _ = stopped.wait_for(|stop| *stop).await;
        };
        let operator = tokio::spawn(package::run(Arc::new(context), WORKERS, asked));
        Ok(Self {
            client,
            group,
            stop,
            operator,
        })
    }

    /// Asks for many packages, and returns when all of them are ready.
    ///
    /// # Errors
    ///
    /// [`Failed`]: the API server refused something.
    pub async fn install(&self, prefix: &str, count: usize) -> Result<(), Failed> {
        let packages: Api<Package> = Api::all_with(self.client.clone(), &self.group);
        let sources: Api<PackageSource> = Api::all_with(self.client.clone(), &self.group);
        let before = packages.list(&ListParams::default()).await?;
        let version = before.metadata.resource_version.unwrap_or_default();
        let new = PostParams::default();
        let asking = futures::stream::iter(0..count).map(|number| {
            let (packages, sources, new) = (&packages, &sources, &new);
            async move {
                let name = format!("{prefix}-{number}");
                let wanted = Source::new("1.0.0", &[("web", "1.0.0")]);
                let spec = wanted.spec(&name, NAMESPACE, REPOSITORY);
                let spec: PackageSourceSpec = serde_json::from_value(spec)?;
                let source = PackageSource::new(&self.group, &name, spec);
                sources.create(new, &source).await?;
                let package = serde_json::from_value(json!({
                    "apiVersion": self.group.api_version(), "kind": "Package",
                    "metadata": {"name": name}, "spec": {},
                }))?;
                packages.create(new, &package).await?;
                Ok::<_, Failed>(())
            }
        });
        let asking = asking.buffer_unordered(ASKED).try_collect::<()>();
        let all_ready = self.all_ready(&packages, version, prefix, count);
        futures::try_join!(asking, all_ready).map(drop)
    }

    async fn all_ready(
        &self,
        packages: &Api<Package>,
        mut version: String,
        prefix: &str,
        count: usize,
    ) -> Result<(), Failed> {
        let mut ready = std::collections::BTreeSet::new();
        let watch = WatchParams::default().timeout(290);
        let mut events = packages.watch(&watch, &version).await?.boxed();
        while ready.len() < count {
            let Some(event) = events.try_next().await? else {
                // A watch has an end; a longer wait is another one.
                if version.is_empty() {
                    return Err(Failed::Ended { ready: ready.len() });
                }
                events = packages.watch(&watch, &version).await?.boxed();
                continue;
            };
            let (WatchEvent::Added(package) | WatchEvent::Modified(package)) = event else {
                continue;
            };
            version = package.resource_version().unwrap_or_default();
            let name = package.name_any();
            let is_ready = package.status.as_ref().is_some_and(|status| {
                condition::find(&status.conditions, keys::READY)
                    .is_some_and(|ready| ready.status == "True")
            });
            if is_ready && name.starts_with(prefix) {
                ready.insert(name);
            }
        }
        Ok(())
    }

    /// Ends the operator.
    pub async fn end(self) {
        self.stop.send_replace(true);
        // One that panicked has ended, too.
        let _ = self.operator.await;
    }
}
