//! Talking to a cluster: which one, whether kubepkg is there, and the few requests that commands make.
//!
//! Every request names what it was for in its error. Objects that cannot be read are reported and left out, so
//! that one of them does not stop a command over the others.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::path::PathBuf;

use kube::api::{
    DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions, ValidationDirective,
};
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Api, Client, Config, Resource, ResourceExt as _};
use kubepkg_api::{ApiGroup, Guarded, Package, PackageRevision, PackageSource, VERSION, keys};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::CliError;
use crate::view::View;

/// The name under which writes are recorded.
const FIELD_MANAGER: &str = "kubepkg";
/// Objects asked for in one request.
const PAGE: u32 = 500;

/// Which cluster to talk to.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    /// A kubeconfig file; without it `KUBECONFIG`, the cluster the program runs in, or the file in the home.
    pub kubeconfig: Option<PathBuf>,
    /// A context of the kubeconfig; the current one without it.
    pub context: Option<String>,
}

/// A cluster that serves kubepkg's kinds.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    group: ApiGroup,
    served: BTreeSet<String>,
}

impl Debug for Cluster {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cluster")
            .field("group", &self.group)
            .finish_non_exhaustive()
    }
}

/// Objects of a kind by name, and what to warn about.
pub struct Listed<K> {
    /// The objects.
    pub objects: BTreeMap<String, K>,
    /// One sentence for each object that cannot be read.
    pub warnings: Vec<String>,
}

impl Connection {
    /// A client of the cluster.
    ///
    /// # Errors
    /// [`CliError::Kubeconfig`] when there is no usable kubeconfig or no such context.
    pub async fn client(&self) -> Result<Client, CliError> {
        let config = self
            .config()
            .await
            .map_err(|error| CliError::Kubeconfig(Box::new(error)))?;
        Client::try_from(config).map_err(|error| CliError::Client(Box::new(error)))
    }

    async fn config(&self) -> Result<Config, KubeconfigError> {
        let options = KubeConfigOptions {
            context: self.context.clone(),
            ..KubeConfigOptions::default()
        };
        if let Some(path) = &self.kubeconfig {
            return Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &options).await;
        }
        let inside = std::env::var_os("KUBECONFIG").is_none() && self.context.is_none();
        match inside.then(Config::incluster) {
            Some(Ok(config)) => Ok(config),
            Some(Err(_)) | None => Config::from_kubeconfig(&options).await,
        }
    }
}

fn failed(action: impl Into<String>) -> impl FnOnce(kube::Error) -> CliError {
    let action = action.into();
    move |source| CliError::Request {
        action,
        source: Box::new(source),
    }
}

impl Cluster {
    /// Asks a cluster which APIs it serves, and refuses one without kubepkg. A cluster that does not answer this
    /// question, to this user, is taken at its word when the real request follows.
    ///
    /// # Errors
    /// [`CliError::NotInstalled`], [`CliError::TooOld`], or the error of the request.
    pub async fn open(client: Client, group: ApiGroup) -> Result<Self, CliError> {
        let groups = match client.list_api_groups().await {
            Ok(groups) => groups,
            Err(kube::Error::Api(_)) => {
                let served = BTreeSet::new();
                return Ok(Self {
                    client,
                    group,
                    served,
                });
            }
            Err(error) => return Err(failed("ask the cluster which APIs it serves")(error)),
        };
        let mut served = BTreeSet::new();
        let mut ours = None;
        for found in groups.groups {
            let versions: Vec<String> = found
                .versions
                .iter()
                .map(|version| version.version.clone())
                .collect();
            served.extend(
                versions
                    .iter()
                    .map(|version| format!("{}/{version}", found.name)),
            );
            if found.name == group.as_str() {
                ours = Some(versions);
            }
        }
        match ours {
            None => Err(CliError::NotInstalled { group }),
            Some(served) if !served.iter().any(|version| version == VERSION) => {
                Err(CliError::TooOld { group, served })
            }
            Some(_) => Ok(Self {
                client,
                group,
                served,
            }),
        }
    }

    /// The client, for commands of a distribution.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// The group whose kinds are used.
    pub fn group(&self) -> &ApiGroup {
        &self.group
    }

    /// The objects of a kind of kubepkg's.
    pub fn api<K: Resource<DynamicType = ApiGroup>>(&self) -> Api<K> {
        Api::all_with(self.client.clone(), &self.group)
    }

    /// Reads what a plan is made from.
    ///
    /// # Errors
    /// [`CliError::Request`].
    pub async fn view(&self) -> Result<(View, Vec<String>), CliError> {
        let packages = self.list::<Package>(ListParams::default()).await?;
        let sources = self.list::<PackageSource>(ListParams::default()).await?;
        let warnings = packages
            .warnings
            .into_iter()
            .chain(sources.warnings)
            .collect();
        let view = View {
            packages: packages.objects,
            sources: sources.objects,
            served: self.served.clone(),
        };
        Ok((view, warnings))
    }

    /// All objects of a kind.
    ///
    /// # Errors
    /// [`CliError::Request`].
    pub async fn list<K>(&self, params: ListParams) -> Result<Listed<K>, CliError>
    where
        K: Resource<DynamicType = ApiGroup> + Clone + Debug + DeserializeOwned,
    {
        let plural = K::plural(&self.group).into_owned();
        let api = self.api::<Guarded<K>>();
        let mut listed = Listed {
            objects: BTreeMap::new(),
            warnings: Vec::new(),
        };
        let mut params = params.limit(PAGE);
        loop {
            let page = api
                .list(&params)
                .await
                .map_err(failed(format!("list {plural}")))?;
            for object in page.items {
                let name = object.name_any();
                match object.0 {
                    Ok(object) => {
                        listed.objects.insert(name, object);
                    }
                    Err(invalid) => {
                        let kind = K::kind(&self.group);
                        listed.warnings.push(format!(
                            "{kind} {name} cannot be read and is left out: {}",
                            invalid.error
                        ));
                    }
                }
            }
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => return Ok(listed),
            }
        }
    }

    /// A Package, or none.
    ///
    /// # Errors
    /// [`CliError::Request`].
    pub async fn package(&self, name: &str) -> Result<Option<Package>, CliError> {
        self.api()
            .get_opt(name)
            .await
            .map_err(failed(format!("get package {name}")))
    }

    /// The revisions of a package, oldest first.
    ///
    /// # Errors
    /// [`CliError::Request`].
    pub async fn revisions(
        &self,
        package: &str,
    ) -> Result<(Vec<PackageRevision>, Vec<String>), CliError> {
        let selector = format!("{}={package}", keys::PACKAGE_LABEL);
        let listed = self
            .list::<PackageRevision>(ListParams::default().labels(&selector))
            .await?;
        let mut revisions: Vec<PackageRevision> = listed.objects.into_values().collect();
        crate::revisions::sort(&mut revisions);
        Ok((revisions, listed.warnings))
    }

    /// Creates a Package; a dry run lets the server check it and writes nothing.
    ///
    /// # Errors
    /// [`CliError::Request`].
    pub async fn create(&self, package: &Package, dry_run: bool) -> Result<Package, CliError> {
        let params = PostParams {
            dry_run,
            field_manager: Some(FIELD_MANAGER.to_owned()),
        };
        let name = package.name_any();
        self.api()
            .create(&params, package)
            .await
            .map_err(failed(format!("create package {name}")))
    }

    /// Changes fields of a Package, unless someone else changed it since it was read.
    ///
    /// # Errors
    /// [`CliError::Request`].
    pub async fn patch(
        &self,
        package: &Package,
        mut fields: Value,
        dry_run: bool,
    ) -> Result<Package, CliError> {
        let name = package.name_any();
        if let Some(object) = fields.as_object_mut() {
            let metadata = object.entry("metadata").or_insert_with(|| json!({}));
            if let Some(metadata) = metadata.as_object_mut() {
                metadata.insert(
                    "resourceVersion".to_owned(),
                    json!(package.metadata.resource_version),
                );
            }
        }
        let params = PatchParams {
            dry_run,
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patched = self
            .api()
            .patch(&name, &params, &Patch::Merge(fields))
            .await;
        patched.map_err(failed(format!("change package {name}")))
    }

    /// Deletes the very Package that was read.
    ///
    /// # Errors
    /// [`CliError::Request`].
    pub async fn delete(&self, package: &Package, dry_run: bool) -> Result<(), CliError> {
        let name = package.name_any();
        let preconditions = package.metadata.uid.clone().map(|uid| Preconditions {
            uid: Some(uid),
            resource_version: None,
        });
        let params = DeleteParams {
            dry_run,
            preconditions,
            ..DeleteParams::default()
        };
        let deleted = self.api::<Package>().delete(&name, &params).await;
        deleted
            .map(|_| ())
            .map_err(failed(format!("remove package {name}")))
    }

    /// Applies a PackageSource as it stands in a file. Fields that the kind does not have are refused.
    ///
    /// # Errors
    /// [`CliError::Request`].
    pub async fn apply_source(
        &self,
        name: &str,
        document: &Value,
        dry_run: bool,
    ) -> Result<PackageSource, CliError> {
        let params = PatchParams {
            dry_run,
            force: true,
            field_manager: Some(FIELD_MANAGER.to_owned()),
            field_validation: Some(ValidationDirective::Strict),
        };
        let applied = self
            .api()
            .patch(name, &params, &Patch::Apply(document))
            .await;
        applied.map_err(failed(format!("apply PackageSource {name}")))
    }
}
