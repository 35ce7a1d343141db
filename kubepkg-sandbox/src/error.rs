//! What can go wrong when a control plane is started, joined or asked.
//!
//! Every variant names the program, the file or the request it is about. Tokens and keys never
//! appear in a message.

use std::path::PathBuf;

use thiserror::Error;

/// Result of the operations of this crate.
pub type Result<T, E = SandboxError> = std::result::Result<T, E>;

/// A failure of the sandbox itself, not of the code under test.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// No folder with the programs of a control plane was found.
    #[error(
        "no control plane programs found ({searched}); run `cargo xtask assets`, \
         or set KUBEBUILDER_ASSETS to a folder that holds them"
    )]
    NoAssets {
        /// The places that were looked at.
        searched: String,
    },
    /// The folder exists, but lacks a program.
    #[error("{program} is missing in {}; run `cargo xtask assets`", folder.display())]
    MissingProgram {
        /// Name of the program.
        program: String,
        /// The folder that was searched.
        folder: PathBuf,
    },
    /// A program of the system is not installed.
    #[error("{program} is missing; install it with `apt-get install {program}`")]
    NotInstalled {
        /// The program, which is in a package of its own name.
        program: &'static str,
    },
    /// A file operation failed.
    #[error("failed to {action} {}", path.display())]
    File {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A program could not be started.
    #[error("failed to start {program}")]
    Spawn {
        /// Name of the program.
        program: String,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A program ended while the control plane was starting.
    #[error("{program} ended during the start with {status}; its last words:\n{log}")]
    Ended {
        /// Name of the program.
        program: String,
        /// How it ended.
        status: String,
        /// The last lines of its log.
        log: String,
    },
    /// The API server did not get ready in time.
    #[error("the API server is not ready after {seconds} s: {last}")]
    NotReady {
        /// The time that was allowed, in seconds.
        seconds: u64,
        /// The last answer or error.
        last: String,
    },
    /// A running plane was named, but its description cannot be used.
    #[error("{} does not describe a running control plane: {reason}", path.display())]
    Description {
        /// The description file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The plane has no such user.
    #[error("the plane has no user {user:?}; it has {known}")]
    UnknownUser {
        /// The user asked for.
        user: String,
        /// The users that exist, comma separated.
        known: String,
    },
    /// The signing key could not be made.
    #[error("failed to make the service account signing key: {reason}")]
    Key {
        /// The cause.
        reason: String,
    },
    /// A request of the sandbox to its API server failed.
    #[error("failed to {action}")]
    Request {
        /// What was tried, as a verb.
        action: &'static str,
        /// The cause.
        #[source]
        source: Box<kube::Error>,
    },
    /// A wait of the sandbox ran out of time.
    #[error("{what} did not happen within {seconds} s")]
    Timeout {
        /// What was waited for.
        what: String,
        /// The time that was allowed, in seconds.
        seconds: u64,
    },
    /// The thread that keeps the programs ended without an answer.
    #[error("the keeper of the control plane ended early")]
    KeeperGone,
}

impl SandboxError {
    /// A closure that turns an I/O error into [`SandboxError::File`].
    pub(crate) fn file(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File {
            action,
            path,
            source,
        }
    }

    /// A closure that turns a client error into [`SandboxError::Request`].
    pub(crate) fn request(action: &'static str) -> impl FnOnce(kube::Error) -> Self {
        move |source| Self::Request {
            action,
            source: Box::new(source),
        }
    }
}
