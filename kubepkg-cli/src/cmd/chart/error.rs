//! What can go wrong with a chart on its way: the errors of the libraries, one variant each.

use std::path::{Path, PathBuf};

use kubepkg_charts::dependencies::DependencyError;
use kubepkg_charts::{IndexFileError, PullError, PushError, RepositoriesError};
use kubepkg_helm::PackageError;
use kubepkg_source::{FetchError, SourceError, StoreError};

/// Why a `chart` command failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChartError {
    /// A file can't be read or written.
    #[error("cannot use {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// There is no place for logins.
    #[error("there is no home folder to keep logins in")]
    NoHome,
    /// A chart can't be packed.
    #[error("cannot pack the chart")]
    Package(#[from] PackageError),
    /// A chart can't be pushed.
    #[error("cannot push the chart")]
    Push(#[from] PushError),
    /// A chart can't be pulled.
    #[error("cannot pull the chart")]
    Pull(#[from] PullError),
    /// A registry does not take a login.
    #[error("cannot log in")]
    Login(#[from] FetchError),
    /// A login can't be kept or forgotten.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The options of the network can't be used.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The file of repositories can't be read.
    #[error(transparent)]
    Repositories(#[from] RepositoriesError),
    /// Dependencies can't be brought.
    #[error("cannot bring the dependencies")]
    Dependencies(#[from] DependencyError),
    /// A chart can't be read.
    #[error("cannot read the chart")]
    Chart(#[from] kubepkg_helm::ChartError),
    /// An index can't be made.
    #[error("cannot make the index")]
    Index(#[from] IndexFileError),
    /// A signature can't be made or does not count.
    #[cfg(feature = "provenance")]
    #[error("cannot vouch for the archive")]
    Provenance(#[from] kubepkg_charts::ProvenanceError),
}

impl ChartError {
    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }

    /// What to try next.
    pub(crate) fn hint(&self, program: &str) -> Option<String> {
        match self {
            Self::Dependencies(DependencyError::OutOfSync { .. }) => {
                Some(format!("{program} chart dependency update"))
            }
            Self::NoHome => Some("name a file with --registry-config".to_owned()),
            _ => None,
        }
    }
}
