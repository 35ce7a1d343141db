//! From the arguments of the process to its exit code.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _};

use crate::args::{Command, CommandLine};
use crate::cluster::Connection;
use crate::cmd;
use crate::context::Context;
use crate::error::CliError;
use crate::exit::Exit;
use crate::options::Options;
use crate::out::{Color, Out};
use crate::report::Report;

/// Runs the command line of the process. The whole `main` of a program.
pub fn main(options: &Options) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            Out::process(Color::Auto).message(&format!("error: cannot start: {error}"));
            return Exit::Error.into();
        }
    };
    runtime
        .block_on(run(options, std::env::args_os(), Out::process))
        .into()
}

/// Runs one command line; `out` makes the streams once it is known whether colours are wanted.
pub async fn run(
    options: &Options,
    arguments: impl IntoIterator<Item = OsString>,
    out: impl FnOnce(Color) -> Out,
) -> Exit {
    perform(options, arguments, out).await.0
}

/// As [`run`], and gives the streams back.
pub(crate) async fn perform(
    options: &Options,
    arguments: impl IntoIterator<Item = OsString>,
    out: impl FnOnce(Color) -> Out,
) -> (Exit, Out) {
    let matches = match command(options).try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => {
            let mut out = out(Color::Auto);
            return (usage(&error, &mut out), out);
        }
    };
    let color = matches
        .get_one::<Color>("color")
        .copied()
        .unwrap_or_default();
    let mut context = context(options, &matches, out(color));
    let exit = match dispatch(options, &matches, &mut context).await {
        Ok(exit) => exit,
        // A reader that has seen enough, such as `head`, is no error worth a word.
        Err(CliError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            Exit::Done
        }
        Err(error) => {
            context.out.message(&Report::of(&error, options).render());
            error.exit()
        }
    };
    (exit, context.out)
}

/// The command line with the program's own name, version and extra commands.
fn command(options: &Options) -> clap::Command {
    let command = CommandLine::command()
        .name(options.name.clone())
        .version(options.version.clone());
    command.subcommands(options.extra.iter().map(|extra| extra.command()))
}

fn usage(error: &clap::Error, out: &mut Out) -> Exit {
    let text = error.render().ansi().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // Nobody reads it any more: nothing to tell.
            let _ = out.result(&text);
            Exit::Done
        }
        _ => {
            out.message(&text);
            Exit::Usage
        }
    }
}

fn context(options: &Options, matches: &ArgMatches, out: Out) -> Context {
    Context {
        program: options.name.clone(),
        version: options.version.clone(),
        group: matches
            .get_one("api_group")
            .cloned()
            .unwrap_or_else(|| options.group.clone()),
        connection: Connection {
            kubeconfig: matches.get_one("kubeconfig").cloned(),
            context: matches.get_one("context").cloned(),
        },
        format: matches.get_one("output").copied().unwrap_or_default(),
        out,
    }
}

async fn dispatch(
    options: &Options,
    matches: &ArgMatches,
    context: &mut Context,
) -> Result<Exit, CliError> {
    if let Some((name, arguments)) = matches.subcommand()
        && let Some(extra) = options
            .extra
            .iter()
            .find(|extra| extra.command().get_name() == name)
    {
        return extra.run(arguments, context).await;
    }
    let parsed = match CommandLine::from_arg_matches(matches) {
        Ok(parsed) => parsed,
        Err(error) => {
            context.out.message(&error.render().ansi().to_string());
            return Ok(Exit::Usage);
        }
    };
    match &parsed.command {
        Command::Install(arguments) => cmd::install::run(arguments, context).await,
        Command::List => cmd::list::run(context).await,
        Command::History(arguments) => cmd::history::run(arguments, context).await,
        Command::Rollback(arguments) => cmd::rollback::run(arguments, context).await,
        Command::Remove(arguments) => cmd::remove::run(arguments, context).await,
        #[cfg(feature = "sandbox")]
        Command::Sandbox(arguments) => cmd::sandbox::run(arguments, context).await,
        #[cfg(feature = "sandbox")]
        Command::Test(arguments) => cmd::test::run(arguments, context).await,
        #[cfg(feature = "sandbox")]
        Command::Demo(arguments) => cmd::demo::run(arguments, options, context).await,
        Command::Chart(arguments) => cmd::chart::run(arguments, context).await,
        Command::Version => {
            context.out.result(&context.version.clone())?;
            Ok(Exit::Done)
        }
        Command::Completions(arguments) => {
            cmd::completions::run(arguments, command(options), context)
        }
    }
}
