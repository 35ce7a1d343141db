//! The operator of a sandbox: the Package controller over the helm backend, in this process.
//!
//! It is what the operator's binary runs, without what that one adds for a real cluster: leadership and metrics.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use kubepkg_api::{ApiGroup, crd};
use kubepkg_backend::{Backend as _, HelmBackend, HelmBackendOptions};
use kubepkg_controller::package::{self, Context, NoTelemetry, Settings};
use kubepkg_source::{Charts, SourceOptions};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::SandboxFailure;

/// Packages worked on at once, as in the operator's binary.
const WORKERS: u16 = 4;

/// How long the passes under way may take to come to their next stop; a download may be part of one.
const GRACE: Duration = Duration::from_secs(1);

/// A running operator. It ends when dropped.
#[derive(Debug)]
pub(super) struct Operator {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Operator {
    /// Installs the kinds and sets the controller to work.
    pub(super) async fn start(client: Client, group: &ApiGroup) -> Result<Self, SandboxFailure> {
        // Reading the certificates of the system takes about as long as installing the kinds.
        let charts = tokio::task::spawn_blocking(|| Charts::new(SourceOptions::default()));
        install_kinds(&client, group).await?;
        let charts = match charts.await {
            Ok(charts) => charts?,
            Err(ended) => return Err(SandboxFailure::Interrupted(ended)),
        };
        let options = HelmBackendOptions::default();
        let backend = Arc::new(HelmBackend::new(client.clone(), Arc::new(charts), options));
        let settings = Settings::new(backend.capabilities());
        let telemetry = Arc::new(NoTelemetry);
        let context = Context::new(client, group.clone(), backend, settings, telemetry);
        let (stop, mut stopped) = watch::channel(false);
        let asked = async move {
            // A sender that is gone asks for the end, too.
            let _ = stopped.wait_for(|stop| *stop).await;
        };
        tracing::info!(%group, "the operator of the sandbox is at work");
        let task = tokio::spawn(package::run(Arc::new(context), WORKERS, asked));
        Ok(Self { stop, task })
    }

    /// Ends it after the step it is at, or in the middle of one that takes too long: it may be killed anywhere.
    pub(super) async fn end(mut self) {
        self.stop.send_replace(true);
        // A task that panicked has nothing left to end.
        if tokio::time::timeout(GRACE, &mut self.task).await.is_err() {
            self.task.abort();
        }
    }
}

/// Applies the CustomResourceDefinitions of all kinds, at a time; the sandbox serves them at once.
async fn install_kinds(client: &Client, group: &ApiGroup) -> Result<(), SandboxFailure> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let params = PatchParams::apply("kubepkg").force();
    let mut installing = JoinSet::new();
    for definition in crd::crds(group) {
        let (api, params) = (api.clone(), params.clone());
        installing.spawn(async move {
            let kind = definition.name_any();
            let wanted = Patch::Apply(&definition);
            // What the server makes of it is of no interest.
            match api.patch_metadata(&kind, &params, &wanted).await {
                Ok(_) => Ok(()),
                Err(source) => Err(SandboxFailure::Kinds {
                    kind,
                    source: Box::new(source),
                }),
            }
        });
    }
    while let Some(installed) = installing.join_next().await {
        installed.map_err(SandboxFailure::Interrupted)??;
    }
    Ok(())
}
