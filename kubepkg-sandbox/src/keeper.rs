//! The thread that owns a plane: it starts the programs, waits for readiness, plays the node, and
//! ends everything.
//!
//! One thread does all of it because the kernel's parent-death signal is tied to the *thread*
//! that started a child. The thread lives exactly as long as the [`Keeper`], so a plane ends when
//! its owner is dropped, when a test panics, and when the process dies. It has its own runtime:
//! a test's runtime ends with the test, a shared plane must not.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Instant;

use tokio::sync::oneshot;
use tokio::time::{Duration, sleep, timeout};

use crate::assets::Assets;
use crate::error::{Result, SandboxError};
use crate::folder::{CONTROLLERS_USER, Description, Folder, KUBELET_USER};
use crate::identity::Identity;
use crate::kubelet;
use crate::options::Options;
use crate::process::Programs;

/// How often another free port is tried when somebody was faster.
const PORT_ATTEMPTS: usize = 5;
/// Pause between two looks at a plane that is starting.
const POLL: Duration = Duration::from_millis(25);

/// How long one question for readiness may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);

/// Handle of the keeping thread; dropping it ends the plane.
#[derive(Debug)]
pub(crate) struct Keeper {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What the thread says when the plane is ready.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) description: Description,
    pub(crate) processes: Vec<u32>,
}

impl Keeper {
    /// Starts the thread. The receiver answers once: ready, or why not.
    pub(crate) fn launch(
        options: Options,
        assets: Assets,
        folder: Folder,
    ) -> Result<(Self, oneshot::Receiver<Result<Started>>)> {
        let (stop, stopped) = oneshot::channel();
        let (answer, answered) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("sandbox-keeper".to_owned())
            .spawn(move || keep(&options, &assets, &folder, answer, stopped))
            .map_err(|source| SandboxError::Spawn {
                program: "keeper thread".to_owned(),
                source,
            })?;
        Ok((
            Self {
                stop: Some(stop),
                thread: Some(thread),
            },
            answered,
        ))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the keeper was already printed, and its programs died with it.
            let _ = thread.join();
        }
    }
}

/// The thread's whole life.
fn keep(
    options: &Options,
    assets: &Assets,
    folder: &Folder,
    answer: oneshot::Sender<Result<Started>>,
    mut stopped: oneshot::Receiver<()>,
) {
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(source) => {
            let error = SandboxError::Spawn {
                program: "runtime".to_owned(),
                source,
            };
            let _ = answer.send(Err(error));
            return;
        }
    };
    let mut programs = Programs::default();
    runtime.block_on(async {
        let started = tokio::select! {
            started = boot(options, assets, folder, &mut programs) => started,
            _ = &mut stopped => return,
        };
        let (description, kubelet) = match started {
            Ok(started) => started,
            Err(error) => {
                programs.stop();
                let _ = answer.send(Err(error));
                return;
            }
        };
        if answer
            .send(Ok(Started {
                description,
                processes: programs.ids(),
            }))
            .is_err()
        {
            return;
        }
        match kubelet {
            Some(kubelet) => tokio::select! {
                () = kubelet.run() => {}
                _ = &mut stopped => {}
            },
            None => {
                let _ = stopped.await;
            }
        }
    });
    programs.stop();
}

/// Brings the programs up and waits until the API server is ready.
async fn boot(
    options: &Options,
    assets: &Assets,
    folder: &Folder,
    programs: &mut Programs,
) -> Result<(Description, Option<kubelet::Kubelet>)> {
    let path = folder.path();
    let etcd = assets.program("etcd")?;
    let api_server = assets.program("kube-apiserver")?;
    let controllers = match options.controllers.flag() {
        Some(list) => Some((assets.program("kube-controller-manager")?, list)),
        None => None,
    };
    let tokens = folder.fill(options)?;

    let parts = Parts {
        etcd,
        api_server,
        controllers,
    };
    let mut attempt = 1;
    let description = loop {
        let port = match options.first_port {
            Some(port) if attempt == 1 => port,
            _ => free_port().map_err(SandboxError::file("find a free port for", path))?,
        };
        let description = Description {
            server: format!("https://127.0.0.1:{port}"),
            tokens: tokens.clone(),
            service_accounts: options.controllers.makes_service_accounts(),
        };
        folder.write_kubeconfigs(&description)?;
        match bring_up(&parts, path, &description, port, programs, options).await {
            Ok(()) => break description,
            Err(SandboxError::Ended { log, .. })
                if log.contains("address already in use") && attempt < PORT_ATTEMPTS =>
            {
                tracing::debug!(port, "somebody else has taken the port");
                attempt += 1;
                programs.stop();
            }
            Err(error) => return Err(error),
        }
    };
    let kubelet = if options.pods {
        let identity = Identity::load(path, &description, KUBELET_USER).await?;
        Some(kubelet::Kubelet::start(identity.client()?, path.join("pods")).await?)
    } else {
        None
    };
    folder.publish(&description)?;
    Ok((description, kubelet))
}

/// The programs of a plane, found.
struct Parts {
    etcd: PathBuf,
    api_server: PathBuf,
    /// With the list of controllers.
    controllers: Option<(PathBuf, String)>,
}

/// Starts everything on one port and waits until the API server is ready.
async fn bring_up(
    parts: &Parts,
    folder: &Path,
    description: &Description,
    port: u16,
    programs: &mut Programs,
    options: &Options,
) -> Result<()> {
    let deadline = Instant::now() + options.ready_within;
    programs.start("etcd", &parts.etcd, folder, &etcd_flags())?;
    programs.start(
        "kube-apiserver",
        &parts.api_server,
        folder,
        &api_server_flags(port, options),
    )?;
    wait_for_certificate(folder, programs, deadline, options).await?;
    if let Some((program, list)) = &parts.controllers {
        programs.start(
            "kube-controller-manager",
            program,
            folder,
            &controller_flags(list),
        )?;
    }
    wait_until_ready(folder, description, programs, deadline, options).await
}

/// A port that was free a moment ago.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port())
}

fn etcd_flags() -> Vec<String> {
    [
        "--name=default",
        "--data-dir=etcd",
        // The state is thrown away, so it need not survive a power cut.
        "--unsafe-no-fsync",
        "--log-level=error",
        // Unix sockets, named `etcd:0` and `etcd:1`, in the working folder: no port to find, and
        // no unauthenticated store on loopback.
        "--listen-client-urls=unix://etcd:0",
        "--advertise-client-urls=unix://etcd:0",
        "--listen-peer-urls=unix://etcd:1",
        "--initial-advertise-peer-urls=unix://etcd:1",
        "--initial-cluster=default=unix://etcd:1",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn api_server_flags(port: u16, options: &Options) -> Vec<String> {
    let mut flags = [
        "--etcd-servers=unix://etcd:0",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        // A loopback address may not be an endpoint of the `kubernetes` Service.
        "--endpoint-reconciler-type=none",
        "--cert-dir=certs",
        "--token-auth-file=tokens.csv",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        "--service-account-key-file=sa.pub",
        "--service-account-signing-key-file=sa.key",
        // The default range holds 254 Services.
        "--service-cluster-ip-range=10.0.0.0/16",
        // Only the node lifecycle controller would take the taint of a new node away again.
        "--disable-admission-plugins=TaintNodesByCondition",
        // As installers of clusters set it; the program's own default refuses storage and network drivers.
        "--allow-privileged=true",
        "--audit-policy-file=audit-policy.json",
        "--audit-log-path=audit.log",
        // No rotation in the middle of a test.
        "--audit-log-maxsize=2000",
    ]
    .map(str::to_owned)
    .to_vec();
    flags.push(format!("--secure-port={port}"));
    flags.extend(options.api_server_flags.iter().cloned());
    flags
}

fn controller_flags(list: &str) -> Vec<String> {
    vec![
        format!("--kubeconfig=kubeconfig-{CONTROLLERS_USER}"),
        "--leader-elect=false".to_owned(),
        "--secure-port=0".to_owned(),
        "--kube-api-qps=500".to_owned(),
        "--kube-api-burst=1000".to_owned(),
        "--service-account-private-key-file=sa.key".to_owned(),
        "--root-ca-file=certs/apiserver.crt".to_owned(),
        format!("--controllers={list}"),
    ]
}

/// The server writes its certificate a good second before it listens.
async fn wait_for_certificate(
    folder: &Path,
    programs: &mut Programs,
    deadline: Instant,
    options: &Options,
) -> Result<()> {
    let certificate = folder.join("certs/apiserver.crt");
    loop {
        programs.check()?;
        let text = std::fs::read_to_string(&certificate).unwrap_or_default();
        if text.trim_end().ends_with("-----END CERTIFICATE-----")
            && folder.join("certs/apiserver.key").is_file()
        {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(not_ready(
                options,
                "it has not written its certificate".to_owned(),
            ));
        }
        sleep(POLL).await;
    }
}

/// Polls `/readyz`, which answers 500 with a list while the server starts.
async fn wait_until_ready(
    folder: &Path,
    description: &Description,
    programs: &mut Programs,
    deadline: Instant,
    options: &Options,
) -> Result<()> {
    let client = Identity::load(folder, description, "admin")
        .await?
        .client()?;
    loop {
        programs.check()?;
        // Whoever has taken the port may never answer.
        let last = match timeout(ANSWER_WITHIN, ready(&client)).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "no answer".to_owned(),
        };
        if Instant::now() >= deadline {
            return Err(not_ready(options, last));
        }
        sleep(POLL).await;
    }
}

/// Asks `/readyz` once.
pub(crate) async fn ready(client: &kube::Client) -> Result<()> {
    let action = "ask whether the API server is ready";
    let request = http::Request::get("/readyz")
        .body(Vec::new())
        .map_err(|error| SandboxError::request(action)(kube::Error::HttpError(error)))?;
    client
        .request_text(request)
        .await
        .map(|_| ())
        .map_err(SandboxError::request(action))
}

fn not_ready(options: &Options, last: String) -> SandboxError {
    SandboxError::NotReady {
        seconds: options.ready_within.as_secs(),
        last,
    }
}
