//! Which version each dependency of a chart comes in: lock digests, and choosing versions from what repositories offer.
//!
//! The rules are Helm's resolver's: an empty repository is a folder below `charts/`, `file://` another folder, a
//! repository that nobody named is left to the download, an index offers its versions from the highest down, a registry
//! its tags. Nothing is fetched here: [`Dependency::origin`] says what will be asked for, and [`Offers`] answers.
//! Digests are over Go's JSON of both lists.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use kubepkg_resolve::{Constraint, ConstraintError, Version};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::chart::{Chart, ChartError, ChartLimits, Dependency, Lock};
use crate::go::json::to_go_json;
use crate::go::path::clean;
use crate::go::text::quote;

/// Where a dependency comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// A folder below the chart's own `charts/`.
    Subchart,
    /// A folder; the path is relative to the chart unless it begins with `/`.
    Folder {
        /// The path.
        path: String,
    },
    /// A repository that has no name here: the constraint stays, and the download chooses.
    Unnamed,
    /// A repository with an index.
    Index {
        /// The repository's name here.
        repository: String,
    },
    /// A registry, and the version is exact.
    Exact,
    /// A registry that is asked for its tags.
    Tags {
        /// Registry and path, without the scheme.
        reference: String,
    },
}

impl Dependency {
    /// Where the dependency comes from. `repositories` has the local name of each dependency's repository, by the
    /// dependency's name.
    pub fn origin(&self, repositories: &BTreeMap<String, String>) -> Origin {
        if self.repository.is_empty() {
            return Origin::Subchart;
        }
        if let Some(path) = self.repository.strip_prefix("file://") {
            return Origin::Folder {
                path: path.to_owned(),
            };
        }
        let named = repositories.get(&self.name).filter(|name| !name.is_empty());
        let Some(repository) = named else {
            return Origin::Unnamed;
        };
        let Some(registry) = self.repository.strip_prefix("oci://") else {
            return Origin::Index {
                repository: repository.clone(),
            };
        };
        if Version::parse(&self.version).is_ok() {
            return Origin::Exact;
        }
        Origin::Tags {
            reference: format!("{registry}/{}", self.name),
        }
    }
}

/// A version in a repository's index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OfferedVersion {
    /// The version as it is written.
    pub version: String,
    /// Whether there is an address to fetch it from; what has none is passed over.
    pub has_address: bool,
}

/// Why a repository has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct OfferError {
    /// What the repository or the way to it says.
    pub message: String,
}

/// What repositories offer.
pub trait Offers {
    /// The versions of a chart in the index that is kept for a repository, in the order of the index: the highest
    /// first. `None` when the index has no such chart.
    ///
    /// # Errors
    /// [`OfferError`] when there is no index.
    fn index(
        &self,
        repository: &str,
        chart: &str,
    ) -> Result<Option<Vec<OfferedVersion>>, OfferError>;

    /// The tags of a chart in a registry, the highest first.
    ///
    /// # Errors
    /// [`OfferError`] when the registry does not say.
    fn tags(&self, reference: &str) -> Result<Vec<String>, OfferError>;
}

/// Why dependencies have no lock. The words are Helm's.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// A null in the list.
    #[error("dependencies must not contain empty or null nodes")]
    Null,
    /// A version that is no constraint.
    #[error(
        "dependency {} has an invalid version/constraint format: {source}",
        quote(name)
    )]
    Constraint {
        /// The dependency.
        name: String,
        /// What is wrong with its version.
        source: ConstraintError,
    },
    /// A folder is not there.
    #[error("directory {} not found", path.display())]
    NoFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The chart in a folder can't be read.
    #[error(transparent)]
    Chart(#[from] ChartError),
    /// There is no index of a repository.
    #[error("no cached repository for {repository} found. (try 'helm repo update'): {source}")]
    NoIndex {
        /// The repository's name.
        repository: String,
        /// Why not.
        source: OfferError,
    },
    /// The index has no such chart.
    #[error("{chart} chart not found in repo {repository}")]
    NoChart {
        /// The chart.
        chart: String,
        /// The repository's address.
        repository: String,
    },
    /// The registry does not say which tags there are.
    #[error("could not retrieve list of tags for repository {repository}: {source}")]
    NoTags {
        /// The repository's address.
        repository: String,
        /// Why not.
        source: OfferError,
    },
    /// No version fits.
    #[error("{}", no_version(missing))]
    NoVersion {
        /// The dependencies that have none.
        missing: Vec<Dependency>,
    },
    /// A dependency can't be written as JSON.
    #[error(transparent)]
    Digest(#[from] serde_json::Error),
}

fn no_version(missing: &[Dependency]) -> String {
    let named = |wanted: &Dependency| {
        let (name, repository) = (quote(&wanted.name), quote(&wanted.repository));
        format!(
            "{name} (repository {repository}, version {})",
            quote(&wanted.version)
        )
    };
    let list: Vec<String> = missing.iter().map(named).collect();
    format!(
        "can't get a valid version for {} subchart(s): {}. Make sure a matching chart version exists in the repo, \
         or change the version constraint in Chart.yaml",
        list.len(),
        list.join(", ")
    )
}

/// The digest that a lock file holds: over what `Chart.yaml` asks for and what was chosen. `None` is a list that is
/// absent, which Go writes as `null`.
///
/// # Errors
/// When a dependency can't be written as JSON.
pub fn lock_digest(
    requested: Option<&[Option<Dependency>]>,
    locked: Option<&[Option<Dependency>]>,
) -> Result<String, serde_json::Error> {
    digest(&[requested, locked])
}

/// The digest of a lock file of Helm 2, over what is asked for alone. Helm takes it for valid in `requirements.lock`.
///
/// # Errors
/// As [`lock_digest`].
pub fn lock_digest_v2(
    requested: Option<&[Option<Dependency>]>,
) -> Result<String, serde_json::Error> {
    digest(&BTreeMap::from([("dependencies", requested)]))
}

fn digest<T: Serialize>(value: &T) -> Result<String, serde_json::Error> {
    let mut text = "sha256:".to_owned();
    for byte in Sha256::digest(to_go_json(value)?) {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

/// What resolving is told beside the dependencies.
#[derive(Debug, Clone, Copy)]
pub struct ResolveContext<'a> {
    /// The chart's folder.
    pub chart: &'a Path,
    /// The local name of each dependency's repository, by the dependency's name.
    pub repositories: &'a BTreeMap<String, String>,
    /// The clock: seconds since 1970 and nanoseconds. The machine's when `None`.
    pub now: Option<(i64, i32)>,
    /// What is read of charts in folders.
    pub limits: &'a ChartLimits,
}

/// Chooses a version for each dependency, and makes the lock.
///
/// # Errors
/// [`ResolveError`] for the first dependency that can't be resolved; those that no version fits come together.
pub fn resolve(
    requested: &[Option<Dependency>],
    context: &ResolveContext<'_>,
    offers: &dyn Offers,
) -> Result<Lock, ResolveError> {
    let mut locked = Vec::new();
    let mut missing = Vec::new();
    for wanted in requested {
        let wanted = wanted.as_ref().ok_or(ResolveError::Null)?;
        let constraint =
            Constraint::parse(&wanted.version).map_err(|source| ResolveError::Constraint {
                name: wanted.name.clone(),
                source,
            })?;
        match choose(wanted, &constraint, context, offers)? {
            Some(version) => locked.push(Some(Dependency {
                name: wanted.name.clone(),
                repository: wanted.repository.clone(),
                version,
                ..Dependency::default()
            })),
            None => missing.push(wanted.clone()),
        }
    }
    if !missing.is_empty() {
        return Err(ResolveError::NoVersion { missing });
    }
    let now = context.now.map_or_else(
        || Ok(Timestamp::now()),
        |(seconds, nanos)| Timestamp::new(seconds, nanos),
    );
    Ok(Lock {
        generated: now.unwrap_or_default().to_string(),
        digest: lock_digest(Some(requested), Some(&locked))?,
        dependencies: Some(locked),
    })
}

/// The version that a lock gets; `None` when none fits.
fn choose(
    wanted: &Dependency,
    constraint: &Constraint,
    context: &ResolveContext<'_>,
    offers: &dyn Offers,
) -> Result<Option<String>, ResolveError> {
    let fits = |text: &str| Version::parse(text).is_ok_and(|version| constraint.matches(&version));
    match wanted.origin(context.repositories) {
        Origin::Subchart => {
            local_folder(&format!("charts/{}", wanted.name), context.chart)?;
            Ok(Some(wanted.version.clone()))
        }
        Origin::Folder { path } => {
            let folder = local_folder(&path, context.chart)?;
            let version = Chart::load_known_dir(&folder, context.limits)?
                .metadata
                .version;
            Ok(Some(version).filter(|version| fits(version)))
        }
        Origin::Unnamed | Origin::Exact => Ok(Some(wanted.version.clone())),
        Origin::Index { repository } => {
            let found = offers.index(&repository, &wanted.name);
            let found = found.map_err(|source| ResolveError::NoIndex { repository, source })?;
            let versions = found.ok_or_else(|| ResolveError::NoChart {
                chart: wanted.name.clone(),
                repository: wanted.repository.clone(),
            })?;
            let versions = versions.into_iter().filter(|offered| offered.has_address);
            Ok(versions
                .map(|offered| offered.version)
                .find(|version| fits(version)))
        }
        Origin::Tags { reference } => {
            let tags = offers.tags(&reference);
            let tags = tags.map_err(|source| ResolveError::NoTags {
                repository: wanted.repository.clone(),
                source,
            })?;
            // Helm does not mind that no tag fits: the constraint stays.
            let found = tags.into_iter().find(|tag| fits(tag));
            Ok(Some(found.unwrap_or_else(|| wanted.version.clone())))
        }
    }
}

/// The folder of a local dependency: `path` (with or without `file://`) relative to the chart's folder, unless it is
/// absolute.
///
/// # Errors
/// [`ResolveError::NoFolder`] when nothing is there.
pub fn local_folder(path: &str, chart: &Path) -> Result<PathBuf, ResolveError> {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let joined = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{}/{path}", chart.display())
    };
    let path = PathBuf::from(clean(&joined));
    if path.exists() {
        Ok(path)
    } else {
        Err(ResolveError::NoFolder { path })
    }
}
