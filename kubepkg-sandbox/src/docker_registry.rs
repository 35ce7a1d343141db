//! Debian's `docker-registry` on loopback: the reference implementation of the
//! [distribution specification](https://github.com/opencontainers/distribution-spec), for what the
//! server in this process only imitates.
//!
//! Each registry has a folder and a port of its own and ends with the value that owns it, which must
//! live on the thread that made it. It can ask for a password: the one user is [`DockerRegistry::USER`].

use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::error::{Result, SandboxError};
use crate::process::Programs;

const PROGRAM: &str = "docker-registry";
/// bcrypt of [`DockerRegistry::PASSWORD`] at the least cost, made by `htpasswd -nbB -C 4`.
const HASH: &str = "$2y$04$j0jyGQ/kveydhRSRu/Qqu.otL5JaaS55wgjHloRK0Eote9KcMLJe6";
/// How long a start may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// Another process may take the port first.
const ATTEMPTS: usize = 5;

/// A running registry.
#[derive(Debug)]
pub struct DockerRegistry {
    address: SocketAddr,
    // Dropped before the folder.
    _programs: Programs,
    _folder: TempDir,
}

impl DockerRegistry {
    /// The user of a registry that asks for one.
    pub const USER: &str = "me";
    /// The user's password.
    pub const PASSWORD: &str = "s3cret";

    /// Starts a registry that anybody may read and write.
    ///
    /// # Errors
    ///
    /// [`SandboxError::NotInstalled`] with the command that installs it, or it does not start.
    pub fn start() -> Result<Self> {
        Self::with(false)
    }

    /// Starts a registry that asks for the password of its one user.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_with_password() -> Result<Self> {
        Self::with(true)
    }

    /// `127.0.0.1:PORT`.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `oci://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("oci://{}", self.address)
    }

    fn with(password: bool) -> Result<Self> {
        let program = find().ok_or(SandboxError::NotInstalled { program: PROGRAM })?;
        let mut outcome = Self::attempt(&program, password);
        for _ in 1..ATTEMPTS {
            if outcome.is_ok() {
                break;
            }
            outcome = Self::attempt(&program, password);
        }
        outcome
    }

    fn attempt(program: &Path, password: bool) -> Result<Self> {
        let here = Path::new("loopback");
        let folder =
            tempfile::tempdir().map_err(SandboxError::file("make", &std::env::temp_dir()))?;
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|listener| listener.local_addr())
            .map_err(SandboxError::file("listen on", here))?;
        let path = |name: &str| folder.path().join(name);
        let write = |name: &str, text: String| {
            let path = path(name);
            std::fs::write(&path, text).map_err(SandboxError::file("write", &path))
        };
        let auth = if password {
            write("users", format!("{}:{HASH}\n", Self::USER))?;
            let users = path("users").display().to_string();
            format!("auth: {{htpasswd: {{realm: sandbox, path: {users:?}}}}}\n")
        } else {
            String::new()
        };
        let data = path("data").display().to_string();
        write(
            "config.yml",
            format!(
                "version: 0.1\nlog: {{level: warn}}\nstorage: {{filesystem: {{rootdirectory: {data:?}}}}}\n\
                 http: {{addr: \"{address}\"}}\n{auth}"
            ),
        )?;
        let mut programs = Programs::default();
        let arguments = ["serve".to_owned(), path("config.yml").display().to_string()];
        programs.start(PROGRAM, program, folder.path(), &arguments)?;
        let begun = Instant::now();
        while TcpStream::connect(address).is_err() {
            programs.check()?;
            if begun.elapsed() > PATIENCE {
                let source = std::io::ErrorKind::TimedOut.into();
                return Err(SandboxError::file("connect to", here)(source));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(Self {
            address,
            _programs: programs,
            _folder: folder,
        })
    }
}

fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(PROGRAM))
        .find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registries_run_beside_each_other_and_end_with_their_values() {
        let (one, two) = (
            DockerRegistry::start().unwrap(),
            DockerRegistry::start_with_password().unwrap(),
        );
        assert_ne!(one.address(), two.address());
        let address = one.address();
        drop(one);
        assert!(TcpStream::connect(address).is_err());
        assert!(TcpStream::connect(two.address()).is_ok());
    }
}
