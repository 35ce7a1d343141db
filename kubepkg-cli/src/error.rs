//! What can go wrong in a command, as data. The words that follow, hints included, are [`report`](crate::report)'s
//! part.

use std::path::PathBuf;

use kubepkg_api::ApiGroup;

use crate::exit::Exit;
use crate::plan::PlanError;
use crate::removal::RemovalError;
use crate::revisions::RollbackError;

/// Why a command ended without doing what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CliError {
    /// The kubeconfig cannot be read, or names no such context.
    #[error("cannot tell which cluster to talk to")]
    Kubeconfig(#[source] Box<kube::config::KubeconfigError>),
    /// The cluster cannot be talked to at all.
    #[error("cannot make a client for the cluster")]
    Client(#[source] Box<kube::Error>),
    /// A request to the cluster failed.
    #[error("cannot {action}")]
    Request {
        /// What was tried, such as `list packages`.
        action: String,
        /// Why it failed.
        #[source]
        source: Box<kube::Error>,
    },
    /// The cluster does not serve the API group.
    #[error("kubepkg is not installed there: the cluster does not serve {group}")]
    NotInstalled {
        /// The group.
        group: ApiGroup,
    },
    /// The cluster serves the group, but not the version this program speaks.
    #[error("the cluster's kubepkg is older than this program: it serves {group} {}, not v1", served.join(", "))]
    TooOld {
        /// The group.
        group: ApiGroup,
        /// The versions that are served.
        served: Vec<String>,
    },
    /// The plan cannot be made.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The packages cannot be removed.
    #[error(transparent)]
    Removal(#[from] RemovalError),
    /// There is nothing to roll back to.
    #[error(transparent)]
    Rollback(#[from] RollbackError),
    /// Something with a chart did not work.
    #[error(transparent)]
    Chart(#[from] Box<crate::cmd::chart::ChartError>),
    /// The sandbox cannot be started.
    #[cfg(feature = "sandbox")]
    #[error(transparent)]
    Sandbox(#[from] Box<crate::sandbox::SandboxFailure>),
    /// A command of the demonstration did not end as it should.
    #[error("{command} ended with {code}, not with {expected}")]
    Demo {
        /// The command.
        command: String,
        /// Its exit code.
        code: u8,
        /// The one that it should have.
        expected: u8,
    },
    /// There is no such package.
    #[error("there is no package {package} in the cluster")]
    NoPackage {
        /// The name that was given.
        package: String,
    },
    /// The package has no revisions.
    #[error("{package} has no revisions yet")]
    NoRevisions {
        /// The package.
        package: String,
    },
    /// A file that was given cannot be read.
    #[error("cannot read {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    WriteFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// A document in a file is not a PackageSource.
    #[error("{}, document {number}: {problem}", path.display())]
    Document {
        /// The file.
        path: PathBuf,
        /// Which document of the file, from 1 on.
        number: usize,
        /// What is wrong with it.
        problem: String,
    },
    /// A file holds a package that a repository supplies.
    #[error("PackageSource {package} comes from repository {repository}; a file cannot change it")]
    FromRepository {
        /// The package.
        package: String,
        /// The repository.
        repository: String,
    },
    /// Neither packages nor files were given.
    #[error("nothing to install: name a package or give a file")]
    NothingNamed,
    /// The answer to the confirmation was not yes.
    #[error("aborted")]
    Aborted,
    /// A package failed while it was waited for.
    #[error("{}", failed(packages))]
    Failed {
        /// Each package with its reason and message.
        packages: Vec<(String, String)>,
    },
    /// Not everything got there in time.
    #[error("not ready in time: {}", listed(packages))]
    NotReady {
        /// Each package with what it waits for.
        packages: Vec<(String, String)>,
    },
    /// Standard output is closed.
    #[error("cannot write the result")]
    Output(#[from] std::io::Error),
    /// A result has no JSON or YAML form.
    #[error("cannot write the result as {format}")]
    Format {
        /// The format.
        format: &'static str,
        /// Why not.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl CliError {
    /// The exit code of a command that ends with this error.
    pub const fn exit(&self) -> Exit {
        match self {
            Self::NothingNamed => Exit::Usage,
            Self::NotReady { .. } => Exit::NotReady,
            _ => Exit::Error,
        }
    }
}

fn listed(packages: &[(String, String)]) -> String {
    let parts: Vec<String> = packages
        .iter()
        .map(|(package, state)| format!("{package} ({state})"))
        .collect();
    parts.join(", ")
}

fn failed(packages: &[(String, String)]) -> String {
    match packages {
        [(package, state)] => format!("{package} failed: {state}"),
        several => format!("{} packages failed: {}", several.len(), listed(several)),
    }
}
