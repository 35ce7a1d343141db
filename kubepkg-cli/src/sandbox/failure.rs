//! What keeps a sandbox from working, as data.

use std::io;
use std::path::PathBuf;

use kubepkg_sandbox::StateError;

/// Why a sandbox, or the command in it, could not be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxFailure {
    /// The API server cannot be reached by other programs.
    #[error("cannot open the API server of the sandbox")]
    Listen(#[from] kubepkg_sandbox::ListenError),
    /// The folder of `--dir` cannot be used.
    #[error(transparent)]
    State(#[from] StateError),
    /// A folder or a file of the sandbox cannot be written.
    #[error("cannot write {}", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The kinds cannot be installed.
    #[error("cannot install {kind}")]
    Kinds {
        /// The CustomResourceDefinition.
        kind: String,
        /// What the API server said.
        #[source]
        source: Box<kube::Error>,
    },
    /// A part of the start did not come to its end.
    #[error("the start was interrupted")]
    Interrupted(#[source] tokio::task::JoinError),
    /// Charts cannot be fetched.
    #[error("cannot set up the fetching of charts")]
    Charts(#[from] kubepkg_source::SourceError),
    /// The charts of the demonstration cannot be served.
    #[error("cannot serve charts")]
    ChartServer(#[from] kubepkg_sandbox::ChartServerError),
    /// The command cannot be started.
    #[error("cannot run {program}")]
    Command {
        /// The program.
        program: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The signals of the process cannot be waited for.
    #[error("cannot wait for the end")]
    Signals(#[source] io::Error),
}

impl SandboxFailure {
    /// What to try next.
    pub(crate) fn hint(&self, program: &str) -> Option<String> {
        match self {
            Self::Listen(_) => Some(format!("{program} sandbox, without --port")),
            Self::State(error) => Some(state(error, program)),
            Self::Command { program, .. } => Some(format!("which {program}")),
            _ => None,
        }
    }
}

/// What to do about a folder. It is never emptied, so what it holds can be looked at.
fn state(error: &StateError, program: &str) -> String {
    match error {
        StateError::InUse { .. } => "end the other sandbox, or give another --dir".to_owned(),
        StateError::Foreign { .. } => format!("{program} sandbox --dir with a new folder"),
        StateError::Form { .. } => {
            format!("the {program} that wrote it, or give another --dir")
        }
        StateError::Missing { .. } | StateError::Damaged { .. } | StateError::TooLarge { .. } => {
            "put a copy of the folder back, or move it away to begin anew; nothing in it was changed"
                .to_owned()
        }
        _ => "give a --dir that you can write".to_owned(),
    }
}
