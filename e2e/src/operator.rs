//! A running operator process.
//!
//! Its log goes to a file; when a test fails, the file is named and its end is shown.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::stage::Error;

/// An operator; it is killed when this is dropped.
#[derive(Debug)]
pub struct Operator {
    child: Child,
    log: PathBuf,
}

impl Operator {
    pub(crate) fn start(command: &mut Command, log: PathBuf) -> Result<Self, Error> {
        let file = |error| Error::File {
            path: log.clone(),
            source: error,
        };
        let out = File::create(&log).map_err(file)?;
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(out)
            .spawn()
            .map_err(file)?;
        Ok(Self { child, log })
    }

    /// Kills it, as `kill -9` does: it has no time to put anything in order.
    pub fn kill(&mut self) {
        // It may have ended already, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it to end, as Kubernetes does, and says whether it did so by itself and without an error.
    pub fn stop(&mut self, within: Duration) -> bool {
        let asked = Command::new("kill")
            .arg("-TERM")
            .arg(self.child.id().to_string())
            .status();
        if !asked.is_ok_and(|status| status.success()) {
            return false;
        }
        let until = std::time::Instant::now() + within;
        while std::time::Instant::now() < until {
            if let Ok(Some(status)) = self.child.try_wait() {
                return status.success();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it logged so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The file it logs to.
    pub fn log_file(&self) -> &Path {
        &self.log
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        self.kill();
    }
}
