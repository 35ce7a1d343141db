//! The command line: global options, and the arguments of each command as its module declares them.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use kubepkg_api::{ApiGroup, GoDuration};

use crate::cmd;
use crate::out::Color;

const AFTER_HELP: &str = "\
Exit codes: 0 done, 1 error, 2 wrong usage, 3 a dry run found changes, 4 not ready in time.";

/// Versioned packages on Kubernetes.
#[derive(Debug, Parser)]
#[command(after_help = AFTER_HELP, max_term_width = 80)]
pub(crate) struct CommandLine {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Context of the kubeconfig; the current one by default
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Kubeconfig file
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// API group that the cluster serves the kinds under
    #[arg(long, global = true, value_name = "GROUP")]
    pub(crate) api_group: Option<ApiGroup>,
    /// How the result is written; a table by default
    #[arg(short, long, global = true, value_name = "FORMAT")]
    pub(crate) output: Option<Format>,
    /// When to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
}

/// How a result is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for people.
    #[default]
    #[value(skip)]
    Table,
    /// A table with more columns.
    Wide,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// Names of objects only, one a line.
    Name,
}

impl Format {
    /// Whether the result is for a program.
    pub const fn is_data(self) -> bool {
        matches!(self, Self::Json | Self::Yaml)
    }

    /// Whether a table is written.
    pub const fn is_table(self) -> bool {
        matches!(self, Self::Table | Self::Wide)
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Install packages with what they require, or change what is installed
    Install(cmd::install::Arguments),
    /// List the installed packages
    List,
    /// Show the revisions of a package
    History(cmd::history::Arguments),
    /// Go back to an earlier revision of a package
    Rollback(cmd::rollback::Arguments),
    /// Remove packages
    Remove(cmd::remove::Arguments),
    /// Start a cluster of simulated pods in this process, with an operator in it
    #[cfg(feature = "sandbox")]
    Sandbox(cmd::sandbox::Arguments),
    /// Try a package before it is published: install, upgrade, roll back, remove
    #[cfg(feature = "sandbox")]
    Test(cmd::test::Arguments),
    /// Show the main job on a cluster of simulated pods in this process
    #[cfg(feature = "sandbox")]
    Demo(cmd::demo::Arguments),
    /// Pack, push, pull and sign charts; no cluster is needed
    Chart(Box<cmd::chart::Arguments>),
    /// Print the version of this program
    Version,
    /// Print the completion script of a shell
    Completions(cmd::completions::Arguments),
}

/// Options of commands that write.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct WriteOptions {
    /// Let the server check everything, write nothing; ends with 3 when there would be changes
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Wait until the packages are as wanted
    #[arg(long)]
    pub(crate) wait: bool,
    /// How long to wait
    #[arg(long, value_name = "DURATION", default_value = "10m", requires = "wait", value_parser = positive)]
    pub(crate) timeout: GoDuration,
}

impl WriteOptions {
    /// How long to wait.
    pub(crate) fn limit(&self) -> Duration {
        self.timeout.to_std().unwrap_or_default()
    }
}

/// A duration above zero.
pub(crate) fn positive(text: &str) -> Result<GoDuration, String> {
    let duration = GoDuration::parse(text).map_err(|error| error.to_string())?;
    if duration.as_nanos() > 0 {
        Ok(duration)
    } else {
        Err("must be above zero".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn global_options_stand_before_or_after_the_command() {
        for line in [
            ["kubepkg", "-o", "json", "list"],
            ["kubepkg", "list", "-o", "json"],
        ] {
            let parsed = CommandLine::try_parse_from(line).unwrap();
            assert_eq!(parsed.global.output, Some(Format::Json));
        }
        assert!(CommandLine::try_parse_from(["kubepkg", "list", "-o", "table"]).is_err());
        assert!(CommandLine::try_parse_from(["kubepkg", "list", "--api-group", "nodots"]).is_err());
    }

    #[test]
    fn timeouts_are_go_durations_above_zero() {
        let parse = |timeout| {
            CommandLine::try_parse_from(["kubepkg", "remove", "a", "--wait", "--timeout", timeout])
        };
        assert!(parse("1h30m").is_ok());
        for bad in ["0", "-1m", "10", "ten"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
