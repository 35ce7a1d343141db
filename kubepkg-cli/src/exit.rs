//! How a command ends: the five exit codes, which scripts may rely on, and that of a command that was run.

use std::process::ExitCode;

/// The result of a command, as the shell sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: what was asked for is done, or there was nothing to do.
    Done,
    /// 1: an error, a refusal, or a declined confirmation.
    Error,
    /// 2: the command line itself is wrong.
    Usage,
    /// 3: a dry run found changes that a real run would make.
    Pending,
    /// 4: the change was made, but not everything got ready within `--timeout`.
    NotReady,
    /// The code of a command that was run, as `sandbox` does.
    Command(u8),
}

impl Exit {
    /// The number that the process ends with.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Error => 1,
            Self::Usage => 2,
            Self::Pending => 3,
            Self::NotReady => 4,
            Self::Command(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The codes are documented in the reference and in `--help`.
    #[test]
    fn codes_are_the_documented_ones() {
        let codes = [
            Exit::Done,
            Exit::Error,
            Exit::Usage,
            Exit::Pending,
            Exit::NotReady,
        ]
        .map(Exit::code);
        assert_eq!(codes, [0, 1, 2, 3, 4]);
    }
}
