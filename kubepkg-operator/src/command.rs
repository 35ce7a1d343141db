//! The command line of an operator: run, or print the CRDs.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use kubepkg_api::{ApiGroup, chain, crd};
use tracing_subscriber::EnvFilter;

use crate::options::{Flags, Options};
use crate::run::run;

#[derive(Debug, Parser)]
#[command(
    about = "Installs, upgrades, rolls back and removes packages",
    disable_help_subcommand = true,
    args_override_self = true
)]
struct Command {
    #[command(flatten)]
    flags: Flags,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print the CustomResourceDefinitions, for `kubectl apply --server-side -f -`.
    Crds(Crds),
}

#[derive(Debug, Args)]
struct Crds {
    /// The API group to serve the kinds under.
    #[arg(long, value_name = "GROUP", default_value_t = ApiGroup::default())]
    api_group: ApiGroup,
}

/// Reads the command line and does what it says. A distribution's `main` is this call with options of its own.
///
/// Exit codes: 0 done, 1 failed, 2 the command line cannot be understood.
pub fn main(mut options: Options) -> ExitCode {
    let command = options.flags.as_defaults(
        Command::command()
            .name(options.name)
            .version(options.version),
    );
    let parsed = command
        .try_get_matches()
        .and_then(|m| Command::from_arg_matches(&m));
    let command = match parsed {
        Ok(command) => command,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let done = match command.verb {
        Some(Verb::Crds(verb)) => crds(&verb.api_group),
        None => {
            options.flags = command.flags;
            work(&options)
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "error: {}", chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

type Failure = Box<dyn std::error::Error>;

fn crds(group: &ApiGroup) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    for definition in crd::crds(group) {
        write!(out, "---\n{}", crd::to_yaml(&definition)?)?;
    }
    Ok(())
}

fn work(options: &Options) -> Result<(), Failure> {
    log(options.flags.log_json);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(run(options))?;
    Ok(())
}

/// The log goes to standard error; `RUST_LOG` chooses what is in it.
fn log(json: bool) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let colours = std::io::stderr().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let to = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(colours)
        .with_writer(std::io::stderr);
    if json {
        to.json().init();
    } else {
        to.init();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(flags: &Flags, arguments: &[&str]) -> Command {
        let command = flags.as_defaults(Command::command().name("acme-operator"));
        let all = std::iter::once("acme-operator").chain(arguments.iter().copied());
        Command::from_arg_matches(&command.try_get_matches_from(all).unwrap()).unwrap()
    }

    #[test]
    fn a_distribution_sets_defaults_that_flags_override() {
        let group: ApiGroup = "packages.acme.example".parse().unwrap();
        let flags = Flags {
            api_group: group.clone(),
            package_workers: 9,
            ..Flags::default()
        };
        let command = parse(&flags, &[]);
        assert_eq!(
            (command.flags.api_group, command.flags.package_workers),
            (group.clone(), 9)
        );
        assert_eq!(
            parse(&flags, &["--package-workers", "2"])
                .flags
                .package_workers,
            2
        );
        let Some(Verb::Crds(crds)) = parse(&flags, &["crds"]).verb else {
            panic!("no crds")
        };
        assert_eq!(crds.api_group, group);
    }

    #[test]
    fn every_default_can_be_given_as_a_flag() {
        let flags = Flags::default();
        assert_eq!(
            parse(&flags, &[]).flags.metrics_bind_address,
            flags.metrics_bind_address
        );
        assert_eq!(parse(&flags, &[]).flags.retry_backoff, flags.retry_backoff);
        assert_eq!(
            parse(&flags, &[]).flags.retry_backoff_max,
            flags.retry_backoff_max
        );
        assert_eq!(
            parse(&flags, &[]).flags.recheck_interval,
            flags.recheck_interval
        );
    }
}
