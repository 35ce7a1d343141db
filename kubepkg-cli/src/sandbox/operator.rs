//! The operator of a sandbox: the Package controller over the helm backend, in this process.
//!
//! It is what the operator's binary runs, without what that one adds for a real cluster: leadership, metrics, a log.

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
use tokio::task::JoinHandle;

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
        install_kinds(&client, group).await?;
        let charts = Charts::new(SourceOptions::default())?;
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

/// Applies the CustomResourceDefinitions of all kinds; the sandbox serves them at once.
async fn install_kinds(client: &Client, group: &ApiGroup) -> Result<(), SandboxFailure> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for definition in crd::crds(group) {
        let kind = definition.name_any();
        let params = PatchParams::apply("kubepkg").force();
        api.patch(&kind, &params, &Patch::Apply(&definition))
            .await
            .map_err(|source| SandboxFailure::Kinds {
                kind,
                source: Box::new(source),
            })?;
    }
    Ok(())
}
