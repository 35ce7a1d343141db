//! `completions`: the completion script of a shell.

use clap::Args;
use clap_complete::Shell;

use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(
    arguments: &Arguments,
    mut command: clap::Command,
    context: &mut Context,
) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut command,
        context.program.as_str(),
        &mut script,
    );
    context.out.result(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
