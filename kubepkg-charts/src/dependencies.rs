//! The dependencies of a chart in a folder: choosing them, locking them, fetching them into `charts/`. To
//! list them there is [`kubepkg_helm::list_dependencies`].
//!
//! [`update`] chooses versions for what `Chart.yaml` asks for and writes the lock; [`build`] fetches what the lock says
//! and refuses one that does not belong to `Chart.yaml`. Locks, digests and archives are those of `helm dependency`.
//! Nothing in the folder changes before everything was fetched and read: the new `charts/` is made aside and takes the
//! place of the old one in one step (see `place`), and the lock is written last.
//!
//! Unlike Helm, a repository need not be added first, and no index is kept from an earlier day: each update asks.

mod offers;
mod place;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use kubepkg_api::ChartRef;
use kubepkg_helm::{
    ArchiveTimes, Chart, ChartError, ChartLimits, Dependency, Lock, ResolveContext, ResolveError,
    SaveError, local_folder, lock_digest, lock_digest_v2, resolve,
};
use kubepkg_resolve::{Constraint, Version};
use kubepkg_source::{Charts, FetchError};

use crate::pull::{ChartAddress, ProvenanceWish, PullError, PullOptions, pull, write_aside};
use crate::push::provenance_path;
use crate::repositories::Repositories;

/// Dependencies can't be brought.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DependencyError {
    /// The chart can't be read.
    #[error("reading the chart in {}", path.display())]
    Chart {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: ChartError,
    },
    /// A dependency names a repository that nobody named.
    #[error("no repository definition for {}", repositories.join(", "))]
    Repositories {
        /// What is not known.
        repositories: Vec<String>,
    },
    /// The lock does not belong to what is asked for.
    #[error("the lock file ({lock}) is out of sync with the dependencies file ({file})")]
    OutOfSync {
        /// `Chart.lock` or `requirements.lock`.
        lock: &'static str,
        /// `Chart.yaml` or `requirements.yaml`.
        file: &'static str,
    },
    /// Versions can't be chosen.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// A repository does not answer.
    #[error(transparent)]
    Fetch(#[from] Box<FetchError>),
    /// A chart can't be pulled.
    #[error("dependency {name}")]
    Pull {
        /// The dependency.
        name: String,
        /// Why.
        #[source]
        source: Box<PullError>,
    },
    /// A local chart has another version than is asked for.
    #[error("dependency {name} at version {version} does not satisfy the constraint {constraint}")]
    Unsatisfied {
        /// The dependency.
        name: String,
        /// The version that is there.
        version: String,
        /// What is asked for.
        constraint: String,
    },
    /// A local chart can't be packed.
    #[error("packing dependency {name}")]
    Save {
        /// The dependency.
        name: String,
        /// Why.
        #[source]
        source: SaveError,
    },
    /// What was fetched is no chart.
    #[error("dependency {name}: {file} is no chart")]
    NoChart {
        /// The dependency.
        name: String,
        /// The archive.
        file: String,
        /// Why.
        #[source]
        source: ChartError,
    },
    /// Two dependencies are different archives of one name.
    #[error("two dependencies are both {file}, and differ")]
    Clash {
        /// The archive.
        file: String,
    },
    /// The lock file is a link, which may lead anywhere.
    #[error("the {file} file is a symlink")]
    LockLink {
        /// The file.
        file: &'static str,
    },
    /// A file or folder can't be read or written.
    #[error("{}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: std::io::Error,
    },
    /// The lock can't be written.
    #[error("writing the lock")]
    Lock(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Something in this process ended early.
    #[error("the work was cut short")]
    Cancelled,
}

impl From<FetchError> for DependencyError {
    fn from(error: FetchError) -> Self {
        Self::Fetch(Box::new(error))
    }
}

/// How dependencies are brought.
#[derive(Debug, Clone, Default)]
pub struct DependencyOptions {
    /// Repositories with names.
    pub repositories: Repositories,
    /// What becomes of provenance files.
    pub provenance: ProvenanceWish,
    /// One time for everything in archives of local charts, in seconds since 1970 (`SOURCE_DATE_EPOCH`).
    pub stamp: Option<i64>,
    /// The clock: seconds since 1970 and nanoseconds. The machine's when `None`.
    pub now: Option<(i64, i32)>,
    /// What is read of charts.
    pub limits: ChartLimits,
}

/// What was done.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Brought {
    /// The lock that `charts/` now is.
    pub lock: Option<Lock>,
    /// Whether the lock file was written.
    pub lock_written: bool,
    /// The archives in `charts/`, by dependency.
    pub archives: Vec<String>,
    /// Archives that were removed.
    pub removed: Vec<String>,
}

/// A chart's folder and what stands in it.
struct Project {
    folder: PathBuf,
    chart: Chart,
    /// What is asked for, with the addresses of named repositories.
    requested: Vec<Option<Dependency>>,
}

/// An archive that goes into `charts/`.
struct Archive {
    file: String,
    content: Vec<u8>,
    provenance: Option<Vec<u8>>,
}

/// Chooses a version for each dependency of a chart, fetches them all and writes the lock, as
/// `helm dependency update` does.
///
/// # Errors
/// [`DependencyError`]; the folder is as it was.
pub async fn update(
    charts: &Charts,
    folder: &Path,
    options: &DependencyOptions,
) -> Result<Brought, DependencyError> {
    let project = Project::read(folder, options).await?;
    if project.chart.metadata.dependencies.is_empty() {
        return Ok(Brought {
            lock: project.chart.lock,
            lock_written: false,
            archives: Vec::new(),
            removed: Vec::new(),
        });
    }
    let names = project.repositories();
    let offers = offers::gather(charts, &project.requested, &names).await?;
    let (folder, requested) = (project.folder.clone(), project.requested.clone());
    let (limits, now) = (options.limits.clone(), options.now);
    let mut lock = blocking(move || {
        let context = ResolveContext {
            chart: &folder,
            repositories: &names,
            now,
            limits: &limits,
        };
        resolve(&requested, &context, &offers)
    })
    .await??;
    let mut locked = lock.dependencies.take().unwrap_or_default();
    let archives = fetch_all(charts, &project, &mut locked, options).await?;
    lock.digest = lock_digest(Some(&project.requested), Some(&locked)).map_err(lock_error)?;
    lock.dependencies = Some(locked);
    let same = project.chart.lock.as_ref().map(|old| &old.digest) == Some(&lock.digest);
    let text = (!same).then(|| lock_text(&lock)).transpose()?;
    project.put(archives, lock, text, options).await
}

/// Fetches what the lock of a chart says, as `helm dependency build` does; without a lock it is [`update`].
///
/// # Errors
/// [`DependencyError`]; the folder is as it was.
pub async fn build(
    charts: &Charts,
    folder: &Path,
    options: &DependencyOptions,
) -> Result<Brought, DependencyError> {
    let project = Project::read(folder, options).await?;
    let Some(lock) = project.chart.lock.clone() else {
        return update(charts, folder, options).await;
    };
    project.check(&lock)?;
    let mut locked = lock.dependencies.clone().unwrap_or_default();
    let archives = fetch_all(charts, &project, &mut locked, options).await?;
    project.put(archives, lock, None, options).await
}

impl Project {
    async fn read(folder: &Path, options: &DependencyOptions) -> Result<Self, DependencyError> {
        let folder = folder.to_owned();
        let limits = options.limits.clone();
        let loading = folder.clone();
        let chart = blocking(move || Chart::load_dir(&loading, &limits))
            .await?
            .map_err(|source| DependencyError::Chart {
                path: folder.clone(),
                source,
            })?;
        let mut unknown = Vec::new();
        let mut requested = chart.metadata.dependencies.clone();
        for dependency in requested.iter_mut().flatten() {
            match options.repositories.address(&dependency.repository) {
                Some(address) => dependency.repository = address.to_owned(),
                None => unknown.push(dependency.repository.clone()),
            }
        }
        if !unknown.is_empty() {
            return Err(DependencyError::Repositories {
                repositories: unknown,
            });
        }
        Ok(Self {
            folder,
            chart,
            requested,
        })
    }

    /// Each repository goes by its address: none needs a name here.
    fn repositories(&self) -> BTreeMap<String, String> {
        let named =
            |dependency: &Dependency| (dependency.name.clone(), dependency.repository.clone());
        self.requested.iter().flatten().map(named).collect()
    }

    fn is_v1(&self) -> bool {
        self.chart.metadata.api_version == "v1"
    }

    fn lock_file(&self) -> &'static str {
        if self.is_v1() {
            "requirements.lock"
        } else {
            "Chart.lock"
        }
    }

    /// Refuses a lock that is for something else.
    fn check(&self, lock: &Lock) -> Result<(), DependencyError> {
        let requested = |list: &[Option<Dependency>]| (!list.is_empty()).then(|| list.to_vec());
        let now = requested(&self.requested);
        let digest = lock_digest(now.as_deref(), lock.dependencies.as_deref());
        if digest.map_err(lock_error)? == lock.digest {
            return Ok(());
        }
        // Locks of Helm 2 are over what is asked for alone, as it is written.
        let written = requested(&self.chart.metadata.dependencies);
        if self.is_v1() && lock_digest_v2(written.as_deref()).map_err(lock_error)? == lock.digest {
            return Ok(());
        }
        Err(DependencyError::OutOfSync {
            lock: self.lock_file(),
            file: if self.is_v1() {
                "requirements.yaml"
            } else {
                "Chart.yaml"
            },
        })
    }

    /// Puts archives and lock in their places.
    async fn put(
        self,
        archives: Vec<Archive>,
        lock: Lock,
        text: Option<String>,
        options: &DependencyOptions,
    ) -> Result<Brought, DependencyError> {
        let limits = options.limits.clone();
        blocking(move || {
            let lock_path = self.folder.join(self.lock_file());
            let linked = |found: std::fs::Metadata| found.file_type().is_symlink();
            if text.is_some() && lock_path.symlink_metadata().is_ok_and(linked) {
                return Err(DependencyError::LockLink {
                    file: self.lock_file(),
                });
            }
            let local: BTreeSet<&str> = self
                .requested
                .iter()
                .flatten()
                .filter(|dependency| dependency.repository.is_empty())
                .map(|dependency| dependency.name.as_str())
                .collect();
            let removed = place::replace(&self.folder, &archives, &local, &limits)?;
            if let Some(text) = &text {
                let path = lock_path.clone();
                write_aside(&lock_path, text.as_bytes())
                    .map_err(|source| DependencyError::Io { path, source })?;
            }
            Ok(Brought {
                lock: Some(lock),
                lock_written: text.is_some(),
                archives: archives.into_iter().map(|archive| archive.file).collect(),
                removed,
            })
        })
        .await?
    }
}

/// Fetches or packs every dependency of a lock; what local charts really are goes into the lock.
async fn fetch_all(
    charts: &Charts,
    project: &Project,
    locked: &mut [Option<Dependency>],
    options: &DependencyOptions,
) -> Result<Vec<Archive>, DependencyError> {
    let mut archives: Vec<Archive> = Vec::new();
    for dependency in locked.iter_mut().flatten() {
        let archive = if dependency.repository.is_empty() {
            in_charts(project, dependency, options).await?;
            continue;
        } else if dependency.repository.starts_with("file://") {
            pack(project, dependency, options).await?
        } else {
            fetch(charts, dependency, options).await?
        };
        // One chart under two aliases is one archive.
        match archives.iter().find(|known| known.file == archive.file) {
            None => archives.push(archive),
            Some(known) if known.content == archive.content => {}
            Some(_) => return Err(DependencyError::Clash { file: archive.file }),
        }
    }
    Ok(archives)
}

/// A dependency without a repository is a folder below `charts/` already.
async fn in_charts(
    project: &Project,
    dependency: &Dependency,
    options: &DependencyOptions,
) -> Result<(), DependencyError> {
    let path = project.folder.join("charts").join(&dependency.name);
    let chart = load(&path, options).await?;
    satisfied(dependency, &chart)
}

/// A dependency in another folder is packed.
async fn pack(
    project: &Project,
    dependency: &mut Dependency,
    options: &DependencyOptions,
) -> Result<Archive, DependencyError> {
    let folder = local_folder(&dependency.repository, &project.folder)?;
    let mut chart = load(&folder, options).await?;
    satisfied(dependency, &chart)?;
    if let Some(seconds) = options.stamp {
        chart.stamp_times(seconds);
    }
    dependency.version.clone_from(&chart.metadata.version);
    let name = dependency.name.clone();
    let file = chart.archive_name();
    let content = blocking(move || chart.to_archive(ArchiveTimes::default()))
        .await?
        .map_err(|source| DependencyError::Save { name, source })?;
    Ok(Archive {
        file,
        content,
        provenance: None,
    })
}

async fn load(path: &Path, options: &DependencyOptions) -> Result<Chart, DependencyError> {
    let (path, limits) = (path.to_owned(), options.limits.clone());
    blocking(move || {
        Chart::load_dir_with_times(&path, &limits)
            .map_err(|source| DependencyError::Chart { path, source })
    })
    .await?
}

fn satisfied(dependency: &Dependency, chart: &Chart) -> Result<(), DependencyError> {
    let fits = Constraint::parse(&dependency.version)
        .ok()
        .zip(Version::parse(&chart.metadata.version).ok())
        .is_some_and(|(constraint, version)| constraint.matches(&version));
    if fits {
        return Ok(());
    }
    Err(DependencyError::Unsatisfied {
        name: dependency.name.clone(),
        version: chart.metadata.version.clone(),
        constraint: dependency.version.clone(),
    })
}

async fn fetch(
    charts: &Charts,
    dependency: &Dependency,
    options: &DependencyOptions,
) -> Result<Archive, DependencyError> {
    let name = dependency.name.clone();
    let address = ChartAddress::In {
        repository: dependency.repository.clone(),
        name: name.clone(),
    };
    let wanted = PullOptions {
        version: dependency.version.clone(),
        provenance: options.provenance.clone(),
        limits: options.limits.clone(),
    };
    let pulled = match pull(charts, &address, &wanted).await {
        Ok(pulled) => pulled,
        Err(source) => {
            let source = Box::new(source);
            return Err(DependencyError::Pull { name, source });
        }
    };
    let (file, limits) = (pulled.file, options.limits.clone());
    let archive = pulled.archive.to_vec();
    let (archive, loaded) = blocking(move || {
        let loaded = Chart::load_archive(&archive, &limits).map(drop);
        (archive, loaded)
    })
    .await?;
    if let Err(source) = loaded {
        return Err(DependencyError::NoChart { name, file, source });
    }
    Ok(Archive {
        file,
        content: archive,
        provenance: pulled.provenance.map(|text| text.to_vec()),
    })
}

/// The reference of a dependency's chart.
fn chart_ref(repository: &str, name: &str) -> ChartRef {
    ChartRef {
        repository: repository.to_owned(),
        name: name.to_owned(),
        ..ChartRef::default()
    }
}

/// A lock as Helm writes it.
fn lock_text(lock: &Lock) -> Result<String, DependencyError> {
    let value = serde_json::to_value(lock).map_err(lock_error)?;
    kubepkg_yaml::to_yaml(&value).map_err(lock_error)
}

fn lock_error(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> DependencyError {
    DependencyError::Lock(error.into())
}

/// Runs what may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, DependencyError> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| DependencyError::Cancelled)
}

impl Archive {
    /// The files that it is in a folder.
    fn files(&self) -> Vec<(PathBuf, &[u8])> {
        let path = PathBuf::from(&self.file);
        let beside = self
            .provenance
            .as_deref()
            .map(|text| (provenance_path(&path), text));
        [(path, self.content.as_slice())]
            .into_iter()
            .chain(beside)
            .collect()
    }
}
