//! The programs of a plane as child processes that cannot outlive their keeper.
//!
//! Each child gets its own process group, so that an interrupt at the terminal does not end etcd
//! under a running API server, and where `setpriv` (util-linux) exists the kernel kills it when
//! the thread that started it ends, however that happens. They are stopped with SIGKILL in
//! reverse order of their start: an API server that is asked politely while its store is gone
//! does not end, and the state is thrown away anyway.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use crate::error::{Result, SandboxError};

/// How much of a log is quoted in an error, in bytes.
const LOG_TAIL: usize = 2_000;

#[derive(Debug)]
struct Program {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

/// The running programs, in the order of their start.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    running: Vec<Program>,
}

impl Programs {
    /// Starts `path` in `folder`; its output goes to `NAME.log` there.
    pub(crate) fn start(
        &mut self,
        name: &'static str,
        path: &Path,
        folder: &Path,
        arguments: &[String],
    ) -> Result<()> {
        let log = folder.join(format!("{name}.log"));
        let out = File::create(&log).map_err(SandboxError::file("create", &log))?;
        let err = out.try_clone().map_err(SandboxError::file("open", &log))?;
        let mut command = if dies_with_parent() {
            let mut command = Command::new("setpriv");
            command.args(["--pdeathsig", "KILL", "--"]).arg(path);
            command
        } else {
            Command::new(path)
        };
        command
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = command.spawn().map_err(|source| SandboxError::Spawn {
            program: name.to_owned(),
            source,
        })?;
        self.running.push(Program { name, child, log });
        Ok(())
    }

    /// Fails when a program has ended by itself.
    pub(crate) fn check(&mut self) -> Result<()> {
        for program in &mut self.running {
            if let Ok(Some(status)) = program.child.try_wait() {
                return Err(SandboxError::Ended {
                    program: program.name.to_owned(),
                    status: status.to_string(),
                    log: tail(&program.log),
                });
            }
        }
        Ok(())
    }

    /// Ends everything, last started first, and waits for each.
    pub(crate) fn stop(&mut self) {
        while let Some(mut program) = self.running.pop() {
            // It may have ended by itself; then there is nothing to kill.
            let _ = program.child.kill();
            let _ = program.child.wait();
        }
    }

    /// Process ids, in the order of the start.
    pub(crate) fn ids(&self) -> Vec<u32> {
        self.running
            .iter()
            .map(|program| program.child.id())
            .collect()
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Whether `setpriv --pdeathsig` works here. It is part of util-linux; other systems lack it, and
/// there a plane whose process is killed by force leaves its programs behind.
fn dies_with_parent() -> bool {
    static WORKS: OnceLock<bool> = OnceLock::new();
    *WORKS.get_or_init(|| {
        Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "--", "true"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    })
}

/// The last part of a log, from the start of a line.
fn tail(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(
        bytes
            .get(bytes.len().saturating_sub(LOG_TAIL)..)
            .unwrap_or_default(),
    )
    .into_owned();
    match text.split_once('\n') {
        Some((_, rest)) if bytes.len() > LOG_TAIL => rest.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn early_end_is_reported_with_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let mut programs = Programs::default();
        let script = ["-c".to_owned(), "echo cannot bind; exit 3".to_owned()];
        programs
            .start("sh", Path::new("/bin/sh"), folder.path(), &script)
            .unwrap();
        let error = loop {
            match programs.check() {
                Ok(()) => std::thread::sleep(std::time::Duration::from_millis(5)),
                Err(error) => break error.to_string(),
            }
        };
        assert!(error.contains("exit status: 3"), "{error}");
        assert!(error.contains("cannot bind"), "{error}");
    }

    #[test]
    fn stop_ends_what_was_started() {
        let folder = tempfile::tempdir().unwrap();
        let mut programs = Programs::default();
        let arguments = ["60".to_owned()];
        programs
            .start("sleep", Path::new("/bin/sleep"), folder.path(), &arguments)
            .unwrap();
        programs.check().unwrap();
        programs.stop();
        assert!(programs.ids().is_empty());
    }

    #[test]
    fn long_logs_are_cut_at_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.log");
        std::fs::write(&path, "0123456789\n".repeat(1000)).unwrap();
        let text = tail(&path);
        assert!(text.len() <= LOG_TAIL && text.starts_with("0123"), "{text}");
    }
}
