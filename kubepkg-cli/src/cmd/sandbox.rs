//! `sandbox`: a cluster of simulated pods for a person, or around one command.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitStatus;

use clap::Args;
use kubepkg_sandbox::Found;
use serde_json::json;
use tokio::process::Command;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::Format;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Label;
use crate::sandbox::{Sandbox, SandboxFailure, Settings, log};

/// Arguments of `sandbox`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Start the API server alone: no kinds of this program, no operator
    #[arg(long)]
    bare: bool,
    /// Keep everything in this folder, and go on with what it holds
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Show the log of the operator on standard error; twice for more. With --dir it is in
    /// operator.log of the folder, too
    #[arg(short, long, action = clap::ArgAction::Count, conflicts_with = "bare")]
    verbose: u8,
    /// The port to listen on; a free one by default
    #[arg(
        long,
        value_name = "PORT",
        default_value_t = 0,
        hide_default_value = true
    )]
    port: u16,
    /// A command to run with KUBECONFIG set; the sandbox ends with it, and with its exit code
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) async fn run(arguments: &Arguments, context: &mut Context) -> Result<Exit, CliError> {
    let settings = Settings {
        group: context.group.clone(),
        bare: arguments.bare,
        port: arguments.port,
        dir: arguments.dir.clone(),
        verbose: arguments.verbose,
    };
    let mut ends = Ends::new().map_err(failed)?;
    let sandbox = Sandbox::start(&settings).await.map_err(failed)?;
    if let Found::Torn { log } = sandbox.found() {
        context.out.warning(&format!(
            "{} ended in the middle of a change, as a crash leaves it; that change is left out",
            log.display()
        ));
    }
    let exit = if let Some((program, rest)) = arguments.command.split_first() {
        run_command(&sandbox, program, rest, &mut ends).await?
    } else {
        describe(&sandbox, &settings, context)?;
        ends.first().await;
        Exit::Done
    };
    sandbox.end().await;
    Ok(exit)
}

fn failed(failure: SandboxFailure) -> CliError {
    CliError::Sandbox(Box::new(failure))
}

/// Tells how to use it: what a script needs on standard output, the rest beside it.
fn describe(sandbox: &Sandbox, settings: &Settings, context: &mut Context) -> Result<(), CliError> {
    let kubeconfig = sandbox.kubeconfig().display().to_string();
    match context.format {
        Format::Json | Format::Yaml => {
            let server = sandbox.url();
            context.write(&json!({ "kubeconfig": kubeconfig, "server": server }))?;
        }
        Format::Name => context.out.result(&kubeconfig)?,
        Format::Table | Format::Wide => {
            context
                .out
                .result(&format!("export KUBECONFIG={kubeconfig}"))?;
        }
    }
    let head = |text: &str| Label::Head.paint(text);
    let program = &context.program;
    let operator = if settings.bare {
        "none; the API server alone".to_owned()
    } else {
        format!("at work on packages of {}", settings.group)
    };
    let state = match &settings.dir {
        Some(dir) => format!("kept in {}", dir.display()),
        None => "in memory, gone at the end; --dir keeps it".to_owned(),
    };
    let log = match &settings.dir {
        _ if settings.bare => None,
        Some(dir) => Some(log::file(dir).display().to_string()),
        None => Some("not kept; -v shows it".to_owned()),
    };
    let first = if settings.bare {
        "kubectl get namespaces".to_owned()
    } else {
        format!("{program} list")
    };
    let mut text = vec![
        format!("{} {}", head("API server:"), sandbox.url()),
        format!("{} {operator}", head("operator:")),
    ];
    text.extend(log.map(|log| format!("{} {log}", head("log:"))));
    text.extend([
        format!(
            "{} pods; nothing runs in them, they get ready by themselves",
            head("simulated:")
        ),
        format!("{} {state}", head("state:")),
        format!(
            "{} {first}, in another shell, with the line above; Ctrl-C here ends it",
            head("try:")
        ),
    ]);
    context.out.message(&text.join("\n"));
    Ok(())
}

/// Runs a command to its end and gives its exit code.
async fn run_command(
    sandbox: &Sandbox,
    program: &OsString,
    arguments: &[OsString],
    ends: &mut Ends,
) -> Result<Exit, CliError> {
    let mut child = Command::new(program)
        .args(arguments)
        .env("KUBECONFIG", sandbox.kubeconfig())
        .kill_on_drop(true)
        .spawn()
        .map_err(|source| {
            failed(SandboxFailure::Command {
                program: program.to_string_lossy().into_owned(),
                source,
            })
        })?;
    loop {
        tokio::select! {
            ended = child.wait() => {
                let status = ended.map_err(|source| failed(SandboxFailure::Signals(source)))?;
                return Ok(Exit::Command(code(status)));
            }
            // A terminal sends Ctrl-C to the command, too, which ends or does not as it likes.
            _ = ends.interrupted.recv() => {}
            _ = ends.terminated.recv() => {
                child.kill().await.map_err(|source| failed(SandboxFailure::Signals(source)))?;
            }
        }
    }
}

/// The exit code as a shell has it: 128 and the signal for a command that was killed.
fn code(status: ExitStatus) -> u8 {
    use std::os::unix::process::ExitStatusExt as _;
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// What ends a sandbox.
pub(crate) struct Ends {
    interrupted: Signal,
    terminated: Signal,
}

impl Ends {
    pub(crate) fn new() -> Result<Self, SandboxFailure> {
        Ok(Self {
            interrupted: signal(SignalKind::interrupt()).map_err(SandboxFailure::Signals)?,
            terminated: signal(SignalKind::terminate()).map_err(SandboxFailure::Signals)?,
        })
    }

    /// Waits for the first of them.
    pub(crate) async fn first(&mut self) {
        tokio::select! {
            _ = self.interrupted.recv() => {}
            _ = self.terminated.recv() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    /// POSIX: a command that a signal ended is reported as 128 and the signal's number.
    #[test]
    fn exit_codes_are_those_of_a_shell() {
        assert_eq!(code(ExitStatus::from_raw(7 << 8)), 7);
        assert_eq!(code(ExitStatus::from_raw(9)), 137);
    }
}
