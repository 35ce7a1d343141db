//! Starting, leading, working and stopping.
//!
//! A signal ends the work in order: no new pass begins, passes under way end at their next stop (an operation that waits
//! is resumed by whoever leads next), leadership is given back, the process ends. Losing leadership ends the process at
//! once, with an error, so that it is started again as a candidate.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kube::api::{Api, ListParams, PartialObjectMeta};
use kube::{Client, Resource};
use kubepkg_api::{ApiGroup, Package, PackageRevision, PackageSource, chain};
use kubepkg_controller::package::{self, Context, Settings, Telemetry};
use tokio::sync::watch;

use crate::backends::{SetupError, UnknownBackend};
use crate::leader::{Candidate, Timing};
use crate::options::{NotPositive, Options, positive};
use crate::serve::{Pages, serve};

/// How often the API server is asked whether it serves the kinds, until it does.
const UNTIL_SERVED: Duration = Duration::from_secs(2);

/// How long the passes under way may take to come to their next stop when the operator is asked to end.
const GRACE: Duration = Duration::from_secs(25);

/// Why the operator ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// There is no way to reach a cluster.
    #[error("no cluster is configured")]
    NoCluster(#[source] Box<kube::Error>),
    /// A flag has no use.
    #[error(transparent)]
    Flag(#[from] NotPositive),
    /// The backend does not exist.
    #[error(transparent)]
    UnknownBackend(#[from] UnknownBackend),
    /// The backend could not be set up.
    #[error("backend {name} could not be set up")]
    Backend {
        /// Its name.
        name: String,
        /// Why.
        #[source]
        source: SetupError,
    },
    /// An address could not be served on.
    #[error("cannot serve {what} on {address}")]
    Serve {
        /// What was to be served.
        what: &'static str,
        /// Where.
        address: std::net::SocketAddr,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// Another replica leads now.
    #[error("leadership was lost; another replica works now")]
    LeadershipLost,
}

/// Runs an operator until a signal ends it.
///
/// # Errors
///
/// [`RunError`]: it could not be set up, or lost its leadership.
pub async fn run(options: &Options) -> Result<(), RunError> {
    kubepkg_source::init_crypto();
    let flags = &options.flags;
    let client = Client::try_default()
        .await
        .map_err(|error| RunError::NoCluster(Box::new(error)))?;
    let backend =
        options.backends.get(&flags.backend)?(client.clone(), flags).map_err(|source| {
            RunError::Backend {
                name: flags.backend.clone(),
                source,
            }
        })?;
    let settings = Settings {
        retry_backoff: positive("retry-backoff", flags.retry_backoff)?,
        retry_backoff_max: positive("retry-backoff-max", flags.retry_backoff_max)?,
        recheck: positive("recheck-interval", flags.recheck_interval)?,
        ..Settings::new(backend.capabilities())
    };
    let pages = Pages::default();
    publish(options, &pages).await?;
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        ended_by_signal().await;
        tracing::info!("asked to end");
        stop.send_replace(true);
    });
    tracing::info!(
        version = options.version,
        group = %flags.api_group,
        backend = backend.name(),
        "started"
    );
    if !until(&stopped, served(&client, options)).await {
        return Ok(());
    }
    pages.ready.store(true, Ordering::Relaxed);
    let telemetry: Arc<dyn Telemetry> = pages.metrics.clone();
    let context = Arc::new(Context::new(
        client.clone(),
        flags.api_group.clone(),
        backend,
        settings,
        telemetry,
    ));
    if !flags.leader_elect {
        pages.metrics.leads(true);
        work(context, flags.package_workers, stopped).await;
        return Ok(());
    }
    let mut candidate = Candidate::new(
        client,
        &flags.leader_elect_namespace,
        &format!("{}.{}", options.name, flags.api_group),
        &identity(),
        Timing::default(),
    );
    if !until(&stopped, candidate.lead()).await {
        return Ok(());
    }
    tracing::info!("leading");
    pages.metrics.leads(true);
    tokio::select! {
        () = work(context, flags.package_workers, stopped) => {}
        () = candidate.hold() => return Err(RunError::LeadershipLost),
    }
    candidate.release().await;
    Ok(())
}

/// Runs the controllers until a stop is asked for, and the passes under way for a while longer.
async fn work(context: Arc<Context>, workers: u16, stopped: watch::Receiver<bool>) {
    let asked = stopped.clone();
    let controllers = package::run(context, workers, async move { wait(asked).await });
    tokio::pin!(controllers);
    let overtime = async {
        wait(stopped).await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        () = &mut controllers => {}
        () = overtime => tracing::warn!("ending with passes under way; they are resumed by the next start"),
    }
}

/// Does `what`, unless a stop comes first; says whether it was done.
async fn until(stopped: &watch::Receiver<bool>, what: impl Future<Output = ()>) -> bool {
    tokio::select! {
        () = what => true,
        () = wait(stopped.clone()) => false,
    }
}

async fn wait(mut stopped: watch::Receiver<bool>) {
    // The sender lives as long as the process; should it not, there is nothing more to wait for.
    let _ = stopped.wait_for(|asked| *asked).await;
}

async fn publish(options: &Options, pages: &Pages) -> Result<(), RunError> {
    let mut served = None;
    let flags = &options.flags;
    for (what, bind) in [
        ("metrics", flags.metrics_bind_address),
        ("health", flags.health_probe_bind_address),
    ] {
        let Some(address) = bind.0.filter(|address| served != Some(*address)) else {
            continue;
        };
        serve(pages.clone(), address)
            .await
            .map_err(|source| RunError::Serve {
                what,
                address,
                source,
            })?;
        served = Some(address);
    }
    Ok(())
}

/// Waits until the API server serves the kinds and lets this operator read them.
async fn served(client: &Client, options: &Options) {
    let group = &options.flags.api_group;
    let mut told = String::new();
    loop {
        let why = match readable(client, group).await {
            Ok(()) => return,
            Err(kube::Error::Api(status)) if status.is_not_found() => format!(
                "the cluster does not serve {}; install the kinds: {} crds --api-group {group} | kubectl apply --server-side -f -",
                group.api_version(),
                options.name,
            ),
            Err(error) => format!("the kinds cannot be read: {}", chain(&error)),
        };
        if why != told {
            tracing::warn!("not working yet: {why}");
            told = why;
        }
        tokio::time::sleep(UNTIL_SERVED).await;
    }
}

/// Reads one object of each kind that the controllers watch or list.
async fn readable(client: &Client, group: &ApiGroup) -> Result<(), kube::Error> {
    async fn one<K>(client: &Client, group: &ApiGroup) -> Result<(), kube::Error>
    where
        K: Resource<DynamicType = ApiGroup> + Clone + std::fmt::Debug,
    {
        let api = Api::<PartialObjectMeta<K>>::all_with(client.clone(), group);
        let one = ListParams::default().limit(1);
        api.list(&one).await.map(drop)
    }
    one::<Package>(client, group).await?;
    one::<PackageSource>(client, group).await?;
    one::<PackageRevision>(client, group).await
}

/// The name of this replica: its Pod's where there is one, and something no other process has.
fn identity() -> String {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "kubepkg".to_owned());
    let unique = jiff::Timestamp::now().as_nanosecond();
    format!("{host}_{}_{unique}", std::process::id())
}

async fn ended_by_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        let _ = tokio::signal::ctrl_c().await;
        return;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}
