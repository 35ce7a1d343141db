//! Running programs, and the one error type of this tool.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use thiserror::Error;

/// Result of a developer command.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why a developer command failed.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// A program is not installed.
    #[error("{program} cannot be started: {hint}")]
    Missing { program: String, hint: String },
    /// A program reported failure; its own output says why.
    #[error("{command} failed with {status}")]
    Program { command: String, status: String },
    /// A file operation failed.
    #[error("failed to {action} {}: {source}", path.display())]
    File {
        action: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    /// Something that a person has to put right.
    #[error("{0}")]
    Message(String),
}

/// A closure that turns an I/O error into [`Failure::File`].
pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Failure {
    let path = path.to_owned();
    move |source| Failure::File {
        action,
        path,
        source,
    }
}

/// The cargo that runs this tool, for another command in the workspace.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// The folder with the programs that cargo built for this profile.
pub(crate) fn built() -> Result<PathBuf> {
    let here = std::env::current_exe().map_err(file("find", Path::new("this program")))?;
    Ok(here.parent().map(Path::to_owned).unwrap_or_default())
}

/// Runs a command to its end; its output goes to the terminal.
pub(crate) fn run(command: &mut Command, hint: &str) -> Result<()> {
    let status = command
        .status()
        .map_err(|error| missing(command, &error, hint))?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::Program {
            command: show(command),
            status: status.to_string(),
        })
    }
}

/// Runs a command and returns what it printed.
pub(crate) fn output(command: &mut Command, hint: &str) -> Result<String> {
    let output = command
        .output()
        .map_err(|error| missing(command, &error, hint))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(Failure::Program {
            command: show(command),
            status: format!("{}: {said}", output.status),
        })
    }
}

fn missing(command: &Command, error: &std::io::Error, hint: &str) -> Failure {
    let hint = if hint.is_empty() {
        error.to_string()
    } else {
        format!("{error}; {hint}")
    };
    Failure::Missing {
        program: command.get_program().to_string_lossy().into_owned(),
        hint,
    }
}

/// A command as it would be typed, without its environment.
pub(crate) fn show(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or_else(|| OsStr::new("?"));
    std::iter::once(name)
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}
