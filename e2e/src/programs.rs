//! The binaries of this workspace, built once, and what a finished command left behind.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use crate::stage::Error;

/// Where the built binaries are.
#[derive(Debug, Clone)]
pub struct Programs {
    folder: PathBuf,
}

impl Programs {
    /// Builds the binaries of the workspace, unless they are up to date. The same command as `cargo xtask demo` uses, so that
    /// nothing is compiled twice.
    ///
    /// # Errors
    ///
    /// The build failed.
    pub fn build() -> Result<&'static Self, Error> {
        static BUILT: OnceLock<Result<Programs, String>> = OnceLock::new();
        BUILT
            .get_or_init(build)
            .as_ref()
            .map_err(|why| Error::Build { why: why.clone() })
    }

    /// The path of a binary.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

fn build() -> Result<Programs, String> {
    let own = std::env::current_exe().map_err(|e| e.to_string())?;
    // target/debug/deps/test-hash, or target/debug/kubepkg-demo
    let folder = own
        .ancestors()
        .skip(1)
        .find(|folder| folder.file_name().is_none_or(|name| name != "deps"))
        .ok_or("the test binary is in no folder")?
        .to_path_buf();
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args([
            "build",
            "--quiet",
            "--workspace",
            "--bins",
            "--manifest-path",
        ])
        .arg(manifest);
    if folder.file_name().is_some_and(|name| name == "release") {
        command.arg("--release");
    }
    if let Some(target) = folder.parent() {
        command.arg("--target-dir").arg(target);
    }
    let done = command
        .output()
        .map_err(|e| format!("cargo cannot be started: {e}"))?;
    if done.status.success() {
        Ok(Programs { folder })
    } else {
        Err(String::from_utf8_lossy(&done.stderr).into_owned())
    }
}

/// A command that ended.
#[derive(Debug, Clone)]
pub struct Finished {
    /// The command as a person would type it.
    pub line: String,
    /// Its exit code; -1 when a signal ended it.
    pub code: i32,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

impl Finished {
    pub(crate) fn new(line: String, output: &Output) -> Self {
        Self {
            line,
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Its standard output, if it succeeded.
    ///
    /// # Errors
    ///
    /// [`Error::Command`] with everything it said.
    pub fn ok(self) -> Result<String, Error> {
        if self.code == 0 {
            Ok(self.out)
        } else {
            Err(Error::Command(Box::new(self)))
        }
    }
}
