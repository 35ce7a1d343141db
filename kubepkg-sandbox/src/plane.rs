//! A running control plane, as a test sees it.
//!
//! [`ControlPlane::shared`] is what most tests want: one plane for the test binary, or for the
//! whole suite when `cargo xtask test` has started one and names it in
//! [`PLANE_VARIABLE`]. Tests isolate themselves by names: [`ControlPlane::namespace`] and
//! [`ControlPlane::unique`].

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule};
use kube::api::{Api, PostParams};
use kube::{Client, Config};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

use crate::assets::Assets;
use crate::audit::AuditLog;
use crate::error::{Result, SandboxError};
use crate::folder::{self, Description, Folder};
use crate::identity::Identity;
use crate::keeper::{self, Keeper};
use crate::options::Options;
use crate::pods::Pods;
use crate::wait::eventually;

/// The variable with the folder of a plane that runs already.
pub const PLANE_VARIABLE: &str = "KUBEPKG_TEST_PLANE";
/// How long a new namespace may take to get its `default` ServiceAccount.
const ACCOUNT_WITHIN: Duration = Duration::from_secs(30);

/// A control plane: etcd, kube-apiserver, kube-controller-manager, and pods that are played.
///
/// The process that started it ends it when this value is dropped; a plane that was joined goes
/// on.
#[derive(Debug)]
pub struct ControlPlane {
    folder: PathBuf,
    description: Description,
    admin: Identity,
    assets: Assets,
    processes: Vec<u32>,
    _keeper: Option<Keeper>,
}

impl ControlPlane {
    /// Starts a plane of its own and waits until it is ready, two to four seconds.
    ///
    /// # Errors
    ///
    /// [`SandboxError::NoAssets`] and [`SandboxError::MissingProgram`] when the programs are not
    /// there, otherwise what went wrong with one of them.
    pub async fn start(options: Options) -> Result<Self> {
        let assets = Assets::find()?;
        Self::start_with(options, assets).await
    }

    /// As [`ControlPlane::start`], with the programs of a given folder.
    ///
    /// # Errors
    ///
    /// As [`ControlPlane::start`].
    pub async fn start_with(options: Options, assets: Assets) -> Result<Self> {
        let folder = Folder::create(options.folder.as_deref())?;
        let path = folder.path().to_owned();
        let (keeper, answer) = Keeper::launch(options, assets.clone(), folder)?;
        let started = answer.await.map_err(|_| SandboxError::KeeperGone)??;
        let admin = Identity::load(&path, &started.description, "admin").await?;
        Ok(Self {
            folder: path,
            description: started.description,
            admin,
            assets,
            processes: started.processes,
            _keeper: Some(keeper),
        })
    }

    /// Joins the plane whose folder this is.
    ///
    /// # Errors
    ///
    /// [`SandboxError::File`] or [`SandboxError::Description`] when there is no plane,
    /// [`SandboxError::Request`] when it does not answer.
    pub async fn join(folder: impl AsRef<Path>) -> Result<Self> {
        let path = folder.as_ref();
        let path = std::fs::canonicalize(path).map_err(SandboxError::file("resolve", path))?;
        let description = folder::describe(&path)?;
        let admin = Identity::load(&path, &description, "admin").await?;
        keeper::ready(&admin.client()?).await?;
        Ok(Self {
            folder: path,
            description,
            admin,
            assets: Assets::find()?,
            processes: Vec::new(),
            _keeper: None,
        })
    }

    /// The plane of this test binary: the one named by [`PLANE_VARIABLE`], else one that is
    /// started now and ends with the process.
    ///
    /// # Errors
    ///
    /// As [`ControlPlane::start`] and [`ControlPlane::join`].
    pub async fn shared() -> Result<&'static Self> {
        static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
        SHARED
            .get_or_try_init(|| async {
                match std::env::var_os(PLANE_VARIABLE).filter(|folder| !folder.is_empty()) {
                    Some(folder) => Self::join(PathBuf::from(folder)).await,
                    None => Self::start(Options::default()).await,
                }
            })
            .await
    }

    /// A new client of the administrator `admin`, for the runtime of the caller.
    ///
    /// # Errors
    ///
    /// As [`Identity::client`].
    pub fn client(&self) -> Result<Client> {
        self.admin.client()
    }

    /// A new client of a well-known user, see [`Options::WELL_KNOWN_USERS`].
    ///
    /// # Errors
    ///
    /// [`SandboxError::UnknownUser`] when the plane has no such user.
    pub fn client_as(&self, user: &str) -> Result<Client> {
        self.identity(user)?.client()
    }

    /// A well-known user; all of them are administrators.
    ///
    /// # Errors
    ///
    /// [`SandboxError::UnknownUser`] when the plane has no such user.
    pub fn identity(&self, user: &str) -> Result<Identity> {
        self.admin
            .with_static_token(&self.folder, &self.description, user)
    }

    /// Makes a ServiceAccount and a token for it. It may do nothing until it is granted
    /// something, and the audit log names it `system:serviceaccount:NAMESPACE:NAME`.
    ///
    /// # Errors
    ///
    /// [`SandboxError::Request`] when the server refuses.
    pub async fn service_account(&self, namespace: &str, name: &str) -> Result<Identity> {
        const ACTION: &str = "create a service account";
        let api: Api<ServiceAccount> = Api::namespaced(self.client()?, namespace);
        let account = ServiceAccount {
            metadata: kube::api::ObjectMeta {
                name: Some(name.to_owned()),
                ..Default::default()
            },
            ..ServiceAccount::default()
        };
        match api.create(&PostParams::default(), &account).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(SandboxError::request(ACTION)(error)),
        }
        let request: TokenRequest = decode(
            json!({"spec": {"audiences": [], "expirationSeconds": 24 * 3600}}),
            ACTION,
        )?;
        let answer = api
            .create_token_request(name, &PostParams::default(), &request)
            .await
            .map_err(SandboxError::request(ACTION))?;
        let token = answer
            .status
            .and_then(|status| status.token)
            .unwrap_or_default();
        let user = format!("system:serviceaccount:{namespace}:{name}");
        self.admin
            .with_issued_token(&self.folder, &self.description.server, user, &token)
    }

    /// Grants cluster-wide rights to a ServiceAccount made by
    /// [`ControlPlane::service_account`].
    ///
    /// # Errors
    ///
    /// [`SandboxError::Request`] when the server refuses.
    pub async fn grant(&self, identity: &Identity, rules: Vec<PolicyRule>) -> Result<()> {
        const ACTION: &str = "grant rights";
        let client = self.client()?;
        let name = self.unique("sandbox-grant");
        let metadata = json!({"name": name});
        let role: ClusterRole = decode(json!({"metadata": metadata, "rules": rules}), ACTION)?;
        let binding: ClusterRoleBinding = decode(
            json!({
                "metadata": metadata,
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name,
                },
                "subjects": [{
                    "apiGroup": "rbac.authorization.k8s.io", "kind": "User",
                    "name": identity.user(),
                }],
            }),
            ACTION,
        )?;
        let parameters = PostParams::default();
        Api::all(client.clone())
            .create(&parameters, &role)
            .await
            .map_err(SandboxError::request(ACTION))?;
        Api::all(client)
            .create(&parameters, &binding)
            .await
            .map_err(SandboxError::request(ACTION))?;
        Ok(())
    }

    /// Makes a namespace whose name starts with `prefix`, and waits for its `default`
    /// ServiceAccount, without which no pod can be made in it.
    ///
    /// Nobody removes it: a plane is thrown away as a whole, and removal takes five seconds.
    ///
    /// # Errors
    ///
    /// [`SandboxError::Request`] when the server refuses, [`SandboxError::Timeout`] when no
    /// account appears.
    pub async fn namespace(&self, prefix: &str) -> Result<String> {
        const ACTION: &str = "create a namespace";
        let client = self.client()?;
        let name = self.unique(prefix);
        let namespace: Namespace = decode(json!({"metadata": {"name": name}}), ACTION)?;
        Api::all(client.clone())
            .create(&PostParams::default(), &namespace)
            .await
            .map_err(SandboxError::request(ACTION))?;
        if self.description.service_accounts {
            let accounts: Api<ServiceAccount> = Api::namespaced(client, &name);
            let what = format!("service account default in namespace {name}");
            eventually(&what, ACCOUNT_WITHIN, || async {
                accounts.get_opt("default").await.ok().flatten()
            })
            .await?;
        }
        Ok(name)
    }

    /// A name that no other test of the suite uses: `prefix`, a hyphen and ten characters of
    /// `0-9a-f`. Fit for namespaces, objects and API groups.
    #[must_use]
    pub fn unique(&self, prefix: &str) -> String {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let time = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_nanos();
        let count = COUNTER.fetch_add(1, Ordering::Relaxed);
        let digest = Sha256::digest(format!("{}/{time}/{count}", std::process::id()));
        let suffix = folder::hex(digest.get(..5).unwrap_or_default());
        format!("{prefix}-{suffix}")
    }

    /// The fates of pods.
    #[must_use]
    pub fn pods(&self) -> Pods {
        Pods::in_folder(self.folder.join("pods"))
    }

    /// The audit log.
    #[must_use]
    pub fn audit(&self) -> AuditLog {
        AuditLog::at(self.folder.join("audit.log"))
    }

    /// Client configuration of `admin`.
    #[must_use]
    pub fn config(&self) -> &Config {
        self.admin.config()
    }

    /// Kubeconfig of `admin`.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        self.admin.kubeconfig()
    }

    /// Address of the API server.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.description.server
    }

    /// The working folder; the logs of the programs are in it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder of programs.
    #[must_use]
    pub fn assets(&self) -> &Assets {
        &self.assets
    }

    /// Process ids of etcd, kube-apiserver and kube-controller-manager, in this order; empty for
    /// a plane that was joined.
    #[must_use]
    pub fn processes(&self) -> &[u32] {
        &self.processes
    }

    /// A command of the assets folder (`kubectl`, `helm`) that talks to this plane as `user`, and
    /// keeps its caches in the plane's folder.
    ///
    /// # Errors
    ///
    /// [`SandboxError::MissingProgram`] and [`SandboxError::UnknownUser`].
    pub fn command(&self, program: &str, user: &str) -> Result<Command> {
        let identity = self.identity(user)?;
        let home = self.folder.join("home");
        std::fs::create_dir_all(&home).map_err(SandboxError::file("create", &home))?;
        let mut command = Command::new(self.assets.program(program)?);
        command
            .env("KUBECONFIG", identity.kubeconfig())
            .env("HOME", home);
        for name in [
            "HELM_CACHE_HOME",
            "HELM_CONFIG_HOME",
            "HELM_DATA_HOME",
            "HELM_NAMESPACE",
        ] {
            command.env_remove(name);
        }
        for name in ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
            command.env_remove(name);
        }
        Ok(command)
    }
}

fn decode<T: serde::de::DeserializeOwned>(
    value: serde_json::Value,
    action: &'static str,
) -> Result<T> {
    serde_json::from_value(value)
        .map_err(|error| SandboxError::request(action)(kube::Error::SerdeError(error)))
}
